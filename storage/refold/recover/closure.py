"""Auditing the closure: every recorded call that can be opened is made of what the log and the recipes declare, and of nothing else.

What cannot be checked is said: calls that are dark, words of recipes that are not here, calls whose bytes on the wire nobody saw.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from refold import files, recipes, settings
from refold.calls import closure
from refold.calls.closure import Breach
from refold.calls.keys import material
from refold.calls.recording import Form
from refold.calls.recordings import Recorded, Recordings
from refold.errors import Corrupt, KeyMissing, StoreMissing, Usage
from refold.fold import profile, prompt
from refold.model import Event, EventId
from refold.outside import clock
from refold.recover import findings
from refold.recover.findings import Finding
from refold.store import Places, Store, open_store

CODES = {
    Breach.UNTILED: findings.CLOSURE_UNTILED,
    Breach.UNDECLARED: findings.CLOSURE_UNDECLARED,
    Breach.OTHER_BYTES: findings.CLOSURE_BYTES,
    Breach.OTHER_FRAME: findings.CLOSURE_FRAME,
    Breach.OTHER_INPUTS: findings.CLOSURE_INPUTS,
    Breach.OTHER_TAG: findings.CLOSURE_TAG,
    Breach.OTHER_WIRE: findings.CLOSURE_WIRE,
}
ALIAS = re.compile("[cef][1-9][0-9]*")  # under which a request names an event or a fact


@dataclass(slots=True)
class Checked:
    """How much of the recorded calls was checked, and what could not be."""

    calls: int = 0  # that were opened and held against the log
    dark: int = 0  # an event that they saw was erased
    by_call: int = 0  # handed to litellm, whose own bytes were not seen
    unknown_words: int = 0  # with words that no recipe here has


def look(places: Places, checked: Checked) -> Iterator[Finding]:
    """Yield what is wrong with the recorded calls, and count in `checked` what was looked at. Raises VerificationIncomplete, NotAllowed."""
    folder = places.store / "calls"
    if files.look(folder) is None:
        return  # no model was ever asked
    try:
        store = open_store(places)
    except (KeyMissing, Usage, StoreMissing):
        yield Finding(findings.CLOSURE_NOT_JUDGED, folder)
        return
    except Corrupt as error:
        yield _damaged(places, error)
        return
    with store:
        try:
            yield from _judge(store, checked)
        except Corrupt as error:
            yield _damaged(places, error)
    for count, code in (
        (checked.dark, findings.CLOSURE_DARK),
        (checked.unknown_words, findings.CLOSURE_WORDS),
        (checked.by_call, findings.CLOSURE_CALL),
    ):
        if count:
            yield Finding(code, folder, details={"calls": count})


def _judge(store: Store, checked: Checked) -> Iterator[Finding]:
    recordings = Recordings(store, now=clock, random=bytes)  # nothing is written
    inputs, words, tally = recordings.inputs(), known_words(), Counter[str]()

    def declared(event_id: EventId) -> tuple[Event, bytes] | None:
        if event_id not in inputs:
            return None
        seq = inputs[event_id][0]
        return store.log.event(seq), store.log.row(seq).commits()[0]

    for one in recordings.all(tally=tally, inputs=inputs):
        joined = material(store.keyring, [inputs[event_id][1] for event_id in one.inputs])
        wrong = closure.breaches(one, declared=declared, joined=joined)
        checked.calls += 1
        checked.by_call += one.recording.form is Form.CALL
        checked.unknown_words += not wrong and not _is_known(one, words)
        yield from (_finding(store.places, one, breach) for breach in wrong)
    checked.dark = tally["dark"]


def known_words() -> frozenset[bytes]:
    """Return the digests of all words that the recipes in the configs, and that of the settings, put into requests."""
    own, shipped = settings.load().fold, sorted((settings.folder() / "recipes").glob("*.toml"))
    found = [recipe for path in [*shipped, own.recipe] if (recipe := recipes.model(path)) is not None]
    of_events = (prompt.declared(prompt.Wording.of(recipe, recipes.relations()), (), 0) for recipe in found)
    of_profiles = (profile.declared(recipe, ()) for recipe in found if recipe.profile is not None)
    return frozenset(word for declared in (*of_events, *of_profiles) for word in declared.words)


def _is_known(one: Recorded, words: frozenset[bytes]) -> bool:
    return all(digest in words or ALIAS.fullmatch(text) for digest, text in closure.words(one.recording))


def _finding(places: Places, one: Recorded, breach: Breach) -> Finding:
    return Finding(CODES[breach], places.store / "calls", details={"call_id": one.call_id.hex(), "seq": one.seq})


def _damaged(places: Places, error: Corrupt) -> Finding:
    path = Path(error.path) if error.path else places.store / "calls"
    return Finding(findings.CLOSURE_DAMAGED, path, details={"found": error.message})
