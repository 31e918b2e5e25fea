"""No verb, command or tool tells a principal anything of an event that it may not see: not by an answer, a score, a count or an error.

Every question is put to two memories that differ in hidden events alone. The answers are equal, to the last digit.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from refold import cli, times
from refold.cli.catalogue import COMMANDS, FOR_LIMITED
from refold.errors import RefoldError
from refold.imports.reader import Options
from refold.mcp import server
from refold.mcp.tools import Tools
from refold.memory import Memory
from tests.cli.test_bad_input import CALLS
from tests.library.test_principals import LIMITED
from tests.permissions.worlds import HOUR, PLACES, PRINCIPALS, START, STATEMENTS, empty, make, opened

QUERIES = ("where does Ada live?", "Darjeeling", "Oslo asthma Miriam", "Munich", "Siemens Ruth mother")
NAMES = (None, "ada", "Ada", "Ruth", "Miriam", "Rutt", "Miriam Oslo", "ben", "Munich", "Oslo")
MOMENTS = tuple(times.iso(START + number * HOUR + HOUR // 2) for number in range(0, len(STATEMENTS), 5))
RELATIONS = ("lives_in", "kin", "condition", "likes", "works_at")


@dataclass(frozen=True)
class Pair:
    """The memory with what is hidden, the one without, and from whom it is hidden."""

    principal: str
    full: Path
    without: Path
    memories: tuple[Memory, Memory]


@contextmanager
def pair_of(principal: str, full: Path, without: Path) -> Generator[Pair]:
    """Give the two, each open as the principal."""
    who = PRINCIPALS[principal]
    with opened(full, who) as one, opened(without, who) as other:
        yield Pair(principal, full, without, (one, other))


def answered(memory: Memory, question: Callable[[Memory], Any]) -> Any:
    try:
        return question(memory)
    except RefoldError as error:
        return type(error), error.message, error.path, error.entry_id, error.hint, error.details


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module", params=[("child", True), ("child", False), ("guest", True)], ids=str)
def pair(request: pytest.FixtureRequest, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Return two memories, all folded or only half."""
    principal, folds = request.param
    full, without = (tmp_path_factory.mktemp(name) for name in ("full", "without"))
    make(full, base, without=None, folds=folds)
    make(without, base, without=principal, folds=folds)
    with pair_of(principal, full, without) as made:
        yield made


def equal(pair: Pair, question: Callable[[Memory], Any]) -> Any:
    full, without = (answered(memory, question) for memory in pair.memories)
    assert full == without
    return full


def of_search(pair: Pair) -> list[Any]:
    return [equal(pair, lambda memory, query=query: memory.search(query, limit=50)) for query in QUERIES]


def of_find(pair: Pair) -> list[Any]:
    return [equal(pair, lambda memory, query=query: memory.find(query, limit=2, explain=True)) for query in QUERIES]


def of_context(pair: Pair) -> list[Any]:
    return [
        equal(pair, lambda memory, query=query, tokens=tokens: memory.context(query, tokens=tokens))
        for query in QUERIES
        for tokens in (40, 300)
    ]


def of_facts(pair: Pair) -> list[Any]:
    scopes: tuple[dict[str, Any], ...] = ({"user_id": "ada"}, {"user_id": "ben"})
    by_name = [
        equal(pair, lambda memory, name=name, scope=scope, more=more: memory.facts(entity=name, **scope, **more))
        for name in NAMES
        for scope in scopes
        for more in ({"history": True}, {"all": True})
    ]
    by_relation = [
        equal(pair, lambda memory, relation=relation, when=when: memory.facts(user_id="ada", relation=relation, history=True, as_of=when))
        for relation in RELATIONS
        for when in MOMENTS
    ]
    valid = equal(pair, lambda memory: memory.facts(user_id="ada", valid_at="2024-02", limit=3))
    return [*by_name, *by_relation, valid, equal(pair, lambda memory: memory.facts(user_id="ada", as_of=3))]


def of_profiles(pair: Pair) -> list[Any]:
    return [equal(pair, lambda memory, name=name: memory.profiles(user_id="ada", entity=name)) for name in NAMES]


def of_similar(pair: Pair) -> list[Any]:
    return [equal(pair, lambda memory, name=name: memory.similar(name)) for name in NAMES if name]


def of_unfolded(pair: Pair) -> list[Any]:
    return [equal(pair, lambda memory, user=user: memory.unfolded(user_id=user)) for user in (None, "ada", "ben")]


def of_why(pair: Pair) -> list[Any]:
    """Ask about every fact there is, seen and hidden, by whole and by short ids."""
    with opened(pair.full, None) as memory:
        ids = [fact.fact_id for user in ("ada", "ben") for fact in memory.seen_by(OPERATOR).facts(user_id=user, all=True)]
    return [equal(pair, lambda memory, wanted=wanted[:size]: memory.why(wanted)) for wanted in dict.fromkeys(ids) for size in (4, 16)]


def of_why_not(pair: Pair) -> list[Any]:
    """Ask about what was said in secret, what was refused, and what nobody said."""
    values = ("Oslo", "Munich", "Rome", "asthma", "Ruth", "Miriam", "Siemens", "Darjeeling", "Paris")
    return [
        equal(pair, lambda memory, name=name, relation=relation, value=value: memory.why_not(name, relation, value))
        for name in ("ada", "Ruth", "ben")
        for relation in RELATIONS
        for value in values
    ]


def of_diff(pair: Pair) -> list[Any]:
    by_number = [equal(pair, lambda memory, since=since: memory.diff(since=since, user_id="ada")) for since in (3, "generation:1")]
    by_time = [equal(pair, lambda memory, since=since: memory.diff(since=since)) for since in MOMENTS]
    return [*by_time, *by_number]


OPERATOR = PRINCIPALS["guest"].__class__("operator", None)
ADDED: tuple[dict[str, Any], ...] = (
    {"text": "I have asthma.", "key": "breath"},  # as it was said in secret, under the same key
    {"text": "I have a cold.", "key": "breath"},
    {"text": "I like Darjeeling.", "key": "tea"},
    {"text": "I like coffee.", "key": "tea"},
    {"text": "I live in Oslo.", "source": "chat:7#2", "said_at": "2024-07-10"},
    {"text": "I live in Bonn.", "corrects": "00000000"},
    {"text": "x", "audience": ["doctor"]},
    {"text": "x", "user_id": "ben", "author": "ben"},
    {"text": "x", "author": "Miriam"},
)


def copied(pair: Pair, folder: Path) -> tuple[str, Path, Path]:
    """Copy the two memories, to add to them."""
    for name, made in (("full", pair.full), ("without", pair.without)):
        shutil.copytree(made, folder / name)
    return pair.principal, folder / "full", folder / "without"


def added(memory: Memory, given: dict[str, Any]) -> Any:
    return memory.add(**given)


def test_a_limited_principal_corrects_what_it_sees(pair: Pair, tmp_path: Path):
    with pair_of(*copied(pair, tmp_path)) as copies:
        fact = equal(copies, lambda memory: memory.facts(user_id="ada", relation="lives_in")[0])
        corrected = equal(copies, lambda memory: memory.add("I live in Bonn.", user_id="ada", corrects=fact))
        assert (corrected.new, corrected.seq) == (True, -1)


def of_add(pair: Pair) -> list[Any]:
    return [equal(pair, lambda memory, given=given: added(memory, {"user_id": "ada"} | given)) for given in (*ADDED, *ADDED)]


def of_add_many(pair: Pair) -> list[Any]:
    from refold.model import Draft, Scope

    drafts = [Draft("I have asthma.", scope=Scope("ada"), key="breath"), Draft("I like tea.", scope=Scope("ada"), key="more")]
    return [equal(pair, lambda memory: memory.add_many(drafts)) for _ in range(2)]


def of_import_files(pair: Pair) -> list[Any]:
    """Import what was said in secret word for word, from where it was said."""
    hidden = [statement for statement in STATEMENTS if pair.principal in statement.hidden_from]
    file = pair.full.parent / "chat.jsonl"
    turns = [{"role": "user", "content": each.text, "created_at": "2024-06-01"} for each in hidden]
    file.write_text("".join(json.dumps(each) + "\n" for each in turns), encoding="utf-8")
    options = Options(user="ada")
    with opened(pair.full, None) as memory:  # somebody imports the file in secret
        memory.import_files([file], options=Options(user="ada", audience=("doctor",)))
    counts = [equal(pair, lambda memory: counted(memory.import_files([file], options=options))) for _ in range(2)]
    assert [each[:2] for each in counts] == [(len(hidden), 0), (0, len(hidden))]
    return counts


def counted(report: Any) -> tuple[int, int, int]:
    return report.added, report.already, report.malformed_count if hasattr(report, "malformed_count") else len(report.malformed)


ASKED = {
    "context": of_context,
    "diff": of_diff,
    "facts": of_facts,
    "find": of_find,
    "search": of_search,
    "profiles": of_profiles,
    "similar": of_similar,
    "unfolded": of_unfolded,
    "why": of_why,
    "why_not": of_why_not,
}


def of_erase_ask(pair: Pair) -> list[Any]:
    return [equal(pair, lambda memory, user=user: memory.erase_ask(user_id=user)) for user in ("ada", "ben", "nobody")]


ADDING = {"add": of_add, "erase_ask": of_erase_ask, "add_many": of_add_many, "import_files": of_import_files}


def test_every_verb_that_a_limited_principal_may_use_is_tried():
    assert ASKED.keys() | ADDING.keys() == LIMITED.keys()


@pytest.mark.parametrize("verb", ASKED)
def test_no_verb_tells_of_what_is_hidden(pair: Pair, verb: str):
    assert ASKED[verb](pair)


@pytest.mark.parametrize("verb", ADDING)
def test_adding_meets_nothing_that_is_hidden(pair: Pair, verb: str, tmp_path: Path):
    with pair_of(*copied(pair, tmp_path)) as copies:
        assert ADDING[verb](copies)
        assert of_search(copies)


def test_the_hidden_events_would_change_the_answers(pair: Pair):
    """The control: to whoever sees all, the two memories differ in every verb that is tried."""
    for question in (
        lambda memory: memory.search("Oslo asthma Miriam Siemens"),
        lambda memory: memory.context("Oslo asthma Miriam Siemens"),
        lambda memory: memory.facts(user_id="ada", all=True),
        lambda memory: memory.similar("Miriamm", user_id="ada"),
        lambda memory: memory.status().entries,
    ):
        answers = []
        for folder in (pair.full, pair.without):
            with opened(folder, None) as memory:
                answers.append(question(memory.seen_by(OPERATOR)))
        assert answers[0] != answers[1]


def test_no_answer_to_a_limited_principal_has_a_sequence_number(pair: Pair):
    with opened(pair.full, PRINCIPALS[pair.principal]) as memory:
        hits, facts = memory.search("Munich"), memory.facts(user_id="ada", history=True)
        explained = memory.why(facts[0])
    assert {each.seq for each in [*hits, *facts, explained.fact, *explained.sayings, *explained.beat]} == {-1}


LINES = (
    *(["search", query, *more] for query in QUERIES[:3] for more in ([], ["--explain", "--limit", "3"])),
    *(["context", query, "--tokens", "80"] for query in QUERIES),
    *(["facts", *([name] if name else []), *more] for name in NAMES[::3] for more in (["--history"], ["--all", "--user", "ada"])),
    *(["facts", "--user", "ada", "--as-of", moment] for moment in (*MOMENTS, "00003")),
    ["why", "00000000"],
    *(["diff", "--since", since] for since in (MOMENTS[0], "00003", "generation:1")),
    *(["why", "--not", "ada", "lives_in", value] for value in ("Oslo", "Munich", "Paris")),
)


def printed(folder: Path, principal: str, line: list[str], capture: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    places = [word for name in PLACES for word in (f"--{name}", str(folder / name))]
    code = cli.main([*line, *places, "--as", principal, "--format", "json"])
    out, err = capture.readouterr()
    return code, out.replace(str(folder), "~"), err


def test_no_command_that_asks_tells_of_what_is_hidden(pair: Pair, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REFOLD_CONFIG", str(pair.full / "refold.toml"))
    with opened(pair.full, None) as memory:
        ids = {fact.fact_id.hex() for user in ("ada", "ben") for fact in memory.seen_by(OPERATOR).facts(user_id=user, all=True)}
    codes = set()
    for line in (*LINES, *(["why", each] for each in sorted(ids)[::3])):
        full, without = (printed(folder, pair.principal, line, capsys) for folder in (pair.full, pair.without))
        assert full == without
        assert '"seq": null' in full[1] or '"seq"' not in full[1]
        codes.add(full[0])
    assert codes >= {0, 2}


def test_every_other_command_is_refused_to_a_limited_principal(
    pair: Pair, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("REFOLD_CONFIG", str(pair.full / "refold.toml"))
    without_words = {"audit", "recover", "reset", "mcp tokens"}
    others = {name: [*name.split(), *([] if name in without_words else ["x"])] for name in COMMANDS}
    lines = others | {"scan": ["scan", "x", "--for", "x"]} | {name.partition(" --")[0]: [*words] for name, words in CALLS.items()}
    for name in COMMANDS.keys() - FOR_LIMITED:
        code, out, _ = printed(pair.full, pair.principal, lines[name], capsys)
        assert (code, json.loads(out)["findings"][0]["code"]) == (16, "RF-ACCESS-001"), name


def test_every_command_that_is_not_refused_is_tried_or_asks_nothing():
    assert {line[0] for line in LINES} | {"add", "import", "init", "demo", "help", "mcp", "mcp config"} == FOR_LIMITED


def test_no_tool_tells_of_what_is_hidden(pair: Pair, tmp_path: Path):
    principal, *copies = copied(pair, tmp_path)
    with opened(pair.full, None) as memory:
        ids = {fact.fact_id.hex() for fact in memory.seen_by(OPERATOR).facts(user_id="ada", all=True)}
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("memory_search", {"query": query}) for query in QUERIES),
        *(("memory_context", {"query": query}) for query in QUERIES),
        *(("memory_facts", {"entity": name, "user_id": "ada", "history": True}) for name in NAMES),
        *(("memory_facts", {"user_id": "ada", "as_of": moment}) for moment in MOMENTS),
        *(("memory_why", {"fact_id": each}) for each in sorted(ids)),
        *(("memory_erase_request", {"user_id": user}) for user in ("ada", "ben", "nobody")),
        *(("memory_status", {"user_id": user}) for user in (None, "ada", "ben")),
        *(
            ("memory_add", {"user_id": "ada"} | given | {"key": given.get("key", "1")})
            for given in ADDED
            if given.keys().isdisjoint({"author", "corrects"})
        ),
    ]
    assert {name for name, _ in calls} == {tool.name for tool in Tools(lambda: None).catalogue()}  # ty: ignore[invalid-argument-type]
    full, without = (tool_answers(folder, principal, calls) for folder in copies)
    assert full == without
    assert any("RF-" in answer for answer in full)


def tool_answers(folder: Path, principal: str, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
    async def asked() -> list[str]:
        with opened(folder, PRINCIPALS[principal]) as memory:
            async with Client(server.tools_of(lambda: memory)) as client:
                answers = [await client.call_tool(name, given, raise_on_error=False) for name, given in calls]
        return [
            str((answer.is_error, answer.structured_content, [getattr(part, "text", "") for part in answer.content])) for answer in answers
        ]

    return asyncio.run(asked())
