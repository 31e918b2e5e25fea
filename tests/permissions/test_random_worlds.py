"""Whatever is said, and whatever of it is hidden: a principal is answered as if the hidden had never been said, to the last byte.

Two memories are told the same by chance, the one without what the principal may not see. The order, the sessions, who speaks, who is
meant and what is folded differ from world to world.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from refold import times
from refold.errors import RefoldError
from refold.memory import Memory
from refold.settings import Principal
from tests.journal import unsynced
from tests.permissions.worlds import CHILD, GUEST, HOUR, START, Statement, empty, opened, said, tell
from tests.recover.alice import EXHAUSTIVE

EXAMPLES = 100 if EXHAUSTIVE else 4
BOTH = Principal("both", frozenset({"family"}), ("ada", "ben"))
SAID = (
    "I live in Berlin.",
    "I live in Oslo.",
    "I've been living in Munich since 2023.",
    "I no longer live in Munich.",
    "I quit my job at Siemens.",
    "My sister is called Ruth.",
    "My sister Ruth lives in Lyon.",
    "Ruth, also known as Ruthie, works at Acme.",
    "RUTH works at Bosch.",
    "Ruthie likes chess.",
    "Ben told me that Ruth lives in Turin.",
    "Ruth is my mother.",
    "She likes jazz.",
    "I am called Addie.",
    "Addie likes rum.",
    "Me too.",
    "Owner: Ruth",
)
SPEAKERS = ("Ruth", "ben", "ada")
LABELS: tuple[list[str], ...] = ([], [], ["family"], ["doctor"], ["family", "doctor"])
QUERIES = ("where does Ada live?", "Who is Ruth?", "Oslo Siemens chess")
NAMES = ("ada", "Ruth", "Ruthie", "Rutt", "Addie", "ben")
WANTED = (("Ruth", "lives_in", "Lyon"), ("ada", "lives_in", "Oslo"), ("ada", "kin(sister)", "Ruth"), ("Ruth", "likes", "jazz"))
Question = tuple[str, tuple[Any, ...], dict[str, Any]]
EVENT = st.tuples(
    st.sampled_from(SAID),
    st.fixed_dictionaries(
        {
            "user_id": st.sampled_from(("ada", "ada", "ben")),
            "audience": st.sampled_from(LABELS),
            "role": st.sampled_from(("user", "user", "user", "assistant", "document")),
        },
        optional={"author": st.sampled_from(SPEAKERS), "run_id": st.just("r1"), "subjects": st.just(["Ruth"])},
    ),
    st.sampled_from("78"),
    st.integers(1, 20),
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a memory that knows everybody's id: those of people whom only the hidden names are drawn by chance."""
    folder = empty(tmp_path_factory.mktemp("base"))
    with unsynced(), opened(folder, None, seed="known", now=START) as memory:
        for user in ("ada", "ben"):
            for name in SPEAKERS:
                memory.add("Hello.", user_id=user, author=name, subjects=[name], role="assistant", said_at="2024-01-01")
    return folder


def world(events: list[tuple[str, dict[str, Any], str, int]]) -> list[Statement]:
    """Return what is said, each at its own place of a session and a time of its own."""
    return [
        said(text, **(how | {"source": f"chat:{chat}#{number}", "said_at": times.iso(START - (100 + hours) * HOUR + number)}))
        for number, (text, how, chat, hours) in enumerate(events)
    ]


def sees(who: Principal, statement: Statement) -> bool:
    how = dict(statement.given)
    return who.labels is not None and who.labels.issuperset(how["audience"]) and (who.users is None or how["user_id"] in who.users)


def questions(user: str, moment: str) -> Iterator[Question]:
    """Yield what is asked about a user's memory: a verb and what it is given."""
    whose = {"user_id": user}
    for query in QUERIES:
        yield "find", (query,), whose | {"limit": 3, "explain": True}
        yield "search", (query,), whose
        yield "context", (query,), whose | {"tokens": 90}
    for name in NAMES:
        yield "facts", (), whose | {"entity": name, "all": True}
        yield "similar", (name,), whose
        yield "profiles", (), whose | {"entity": name}
    yield "facts", (), whose | {"history": True, "as_of": moment}
    yield "diff", (), whose | {"since": moment}
    yield "unfolded", (), whose
    for wanted in WANTED:
        yield "why_not", wanted, whose


def answered(memory: Memory, question: Question) -> str:
    verb, given, named = question
    try:
        return repr(getattr(memory, verb)(*given, **named))
    except RefoldError as error:
        return repr((type(error), error.message, error.path, error.entry_id, error.hint, error.details))


def stated(memory: Memory) -> set[bytes]:
    """Return the id of every fact that there is."""
    everything = memory.seen_by(Principal("operator", None))
    return {fact.fact_id for user in ("ada", "ben") for name in NAMES for fact in everything.facts(user_id=user, entity=name, all=True)}


@settings(max_examples=EXAMPLES, phases=(Phase.generate,))  # to make a failing world smaller would take minutes
@given(st.lists(EVENT, min_size=6, max_size=12), st.sampled_from((CHILD, GUEST, BOTH)), st.sampled_from((1, 2)))
def test_no_answer_depends_on_what_is_hidden(base: Path, events: list[Any], who: Principal, share: int):
    require_same(base, events, who, share)


def test_the_name_of_a_hidden_assistant_leads_to_no_document_of_its_session(base: Path):
    hidden = {"user_id": "ada", "author": "Ruth", "audience": ["doctor"], "role": "assistant"}
    seen = {"user_id": "ben", "audience": [], "role": "document"}
    require_same(base, [("Hello.", hidden, "8", 4), ("I live in Berlin.", seen, "8", 5)], GUEST, 1)


def require_same(base: Path, events: list[Any], who: Principal, share: int) -> None:
    """Tell two memories the same, one without what is hidden, and hold what they answer against each other."""
    every = world(events)
    shown = [statement if sees(who, statement) else None for statement in every]
    users = who.users or ("ada", "ben")
    with TemporaryDirectory() as made:
        full, without = (tell(Path(made) / str(n), base, told, folded=len(every) // share) for n, told in enumerate((every, shown)))
        with opened(full, None) as memory:
            ids = stated(memory)
        with opened(full, who) as one, opened(without, who) as other:
            asked = [question for user in users for question in questions(user, times.iso(START + len(every) * HOUR // 2))]
            for question in (*asked, *(("why", (fact_id,), {}) for fact_id in sorted(ids))):
                assert answered(one, question) == answered(other, question)
