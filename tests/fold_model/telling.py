"""A model that also writes profiles: a sentence for each fact that it is told; and recipes that ask for them."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from refold import settings
from refold.fold.recipe import ModelRecipe, Profiles
from refold.fold.request import Template
from refold.model import View
from refold.reading import Profile
from refold.state.generation import State
from refold.state.profiles import profiles
from refold.store import Store
from tests.fold_model.scripted import asking, reads
from tests.openai_server import Asked, Reply, Server, answer

MARK = "zyxprofile"  # in every sentence that the model writes
RULES = Profiles(Template("profile-1.md", settings.text("prompts/profile-1.md")), facts=8, facts_min=1, sentences=4, characters=200)
SEES_ALL = View()


def is_profile(asked: Asked) -> bool:
    return asked.json["response_format"]["json_schema"]["name"] == "profile"


def told(asked: Asked) -> list[tuple[str, dict[str, str]]]:
    """Return the alias of each fact of a request, and what is said of it."""
    lines = [line.partition(" ") for line in asked.text.splitlines() if re.match(r"f\d+ \{", line)]
    return [(alias, json.loads(form)) for alias, _, form in lines]


def sentences(*said: object) -> str:
    return json.dumps({"sentences": said})


def sentence(text: str, *facts: str) -> dict[str, object]:
    return {"text": text, "facts": facts}


def tells(asked: Asked) -> Reply:
    """Answer with a sentence for each fact; where events are asked about, as the model does that only reads."""
    if not is_profile(asked):
        return reads(asked)
    said = [sentence(f"{MARK} {fact['of']} {fact['relation']} {fact['value']}.", alias) for alias, fact in told(asked)]
    return answer(sentences(*said))


def telling(server: Server, **rules: int) -> ModelRecipe:
    """Return a recipe that asks the server for profiles too."""
    return replace(asking(server, parts=1, context=1), profile=replace(RULES, **rules))


def asked_for(server: Server) -> list[list[str]]:
    """Return the facts of each request for a profile, as `who value`, sorted."""
    found = [sorted(f"{fact['of']} {fact['value']}" for _, fact in told(asked)) for asked in server.asked if is_profile(asked)]
    return sorted(found)


def shown(store: Store, entity: str, view: View = SEES_ALL) -> list[str]:
    """Return the sentences that a view is shown of an entity."""
    state = State.open(store)
    found = [said.text.removeprefix(f"{MARK} ") for profile in profiles(state, view, entity=entity) for said in profile.sentences]
    state.close()
    return sorted(found)


def only(store: Store, entity: str, view: View = SEES_ALL) -> Profile:
    (profile,) = profiles(State.open(store), view, entity=entity)
    return profile
