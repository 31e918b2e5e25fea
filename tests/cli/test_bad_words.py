"""Every option of every command, on words that it cannot mean: refused as a mistake of usage, never quoted, and nothing is written.

The walk follows the catalogue and the parsers, so no command and no option is forgotten. Everything here is refused, so that one
memory serves all of it.
"""

from __future__ import annotations

import shutil
from argparse import Action
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from refold.cli import arguments, catalogue
from tests.cli.conftest import Shell
from tests.cli.test_bad_input import CALLS, listing

# What CALLS lacks, because it needs no memory that opens.
REST = {
    "init": ("init",),
    "demo": ("demo",),
    "help": ("help",),
    "audit": ("audit",),
    "recover": ("recover",),
    "reset": ("reset",),
    "restore": ("restore", "{file}"),
    "verify": ("verify", "{file}"),
    "scan": ("scan", "{elsewhere}", "--for", "Zoe"),
    "mcp config": ("mcp", "config", "generic"),
}
WALK = {name: call for name, call in (CALLS | REST).items() if name in catalogue.COMMANDS}
STRANGE = "\x1b[2J\u202eZoe'); drop table facts;--"
SAID_AT = ("2024-13-45", "then", "", "2024-01-01T25:00", "9" * 30)
NUMBERS = ("-1", "0x10", "", "1e3", "9" * 30)

# Words that a parser lets through, and that mean nothing all the same.
MEANT_BY_NOBODY = {
    "add": [("add", "x", "--user", ""), ("add", "x", "--agent", ""), ("add", "x", "--run", " "), ("add", "x", "--user", "a", "--key", "")],
    "import": [("import", "{file}", "--agent", ""), ("import", "{file}", "--mapping", "{folder}")],
    "fold": [("fold", "--recipe", "a\0b"), ("fold", "--recipe", "{folder}"), ("fold", "--recipe", "{file}")],
    "search": [("search", "tea", "--user", ""), ("search", "tea", "--run", "\t")],
    "context": [("context", "tea", "--user", "")],
    "facts": [("facts", "--user", ""), ("facts", "--user", "ada", "--relation", "lives")],
    "why": [("why", "lives_in", "--user", "ada"), ("why", "", "--user", "ada"), ("why", "0" * 65, "--user", "ada")],
    "calls show": [("calls", "show", "zz"), ("calls", "show", "")],
    "subject alias": [("subject", "alias", "nobody", "Nobody at all")],
    "subject report": [("subject", "report"), ("subject", "report", "--user", ""), ("subject", "report", "--aliases", "{folder}")],
    "erase request": [
        ("erase", "request"),
        ("erase", "request", "--user", " "),
        ("erase", "request", "--subject", "ada"),
        ("erase", "request", "--event", "00"),
        ("erase", "request", "--ingest", "zz" * 16),
        ("erase", "request", "--source", "somewhere"),
        ("erase", "request", "--kind", "chat"),
        ("erase", "request", "--aliases", "{gone}"),
        ("erase", "request", "--user", "ada", "--received", "soon"),
    ],
    "erase find": [("erase", "find", "zz"), ("erase", "find", "")],
    "erase review": [("erase", "review", "zz"), ("erase", "review", "00", "--decide", "{folder}")],
    "erase plan": [("erase", "plan", "zz")],
    "erase approve": [("erase", "approve", "zz")],
    "erase run": [("erase", "run", "zz"), ("erase", "run", "00", "--confirm", "01")],
    "erase certificate": [("erase", "certificate", "zz")],
    "erase refuse": [("erase", "refuse", "zz", "--reason", "x")],
    "erase hold": [("erase", "hold", "--reason", "x"), ("erase", "hold", "--user", "", "--reason", "x")],
    "erase release": [("erase", "release", "zz"), ("erase", "release", "00")],
    "audit": [
        ("audit", "--from", ""),
        ("audit", "--from", "nowhere"),
        ("audit", "--for", "Zoe"),
        ("audit", "--extra", "{folder}"),
        ("audit", "--residue"),
        ("audit", "--residue", "--for", "{file}"),
    ],
    "recover": [
        ("recover", "--transaction-id", "zz"),
        ("recover", "--transaction-id", ""),
        ("recover", "--complete"),
        ("recover", "--from", "{folder}"),
        ("recover", "--log", "--from", "{gone}"),
        ("recover", "--log", "--from", "{file}"),
    ],
    "mirror": [("mirror", "{file}"), ("mirror", "{busy}"), ("mirror", "{store}")],
    "backup": [("backup", "{file}"), ("backup", "{busy}"), ("backup", "{store}"), ("backup", "--keys", "{folder}/keys")],
    "copies add": [
        ("copies", "add", "elsewhere", "a drawer"),
        ("copies", "add", "export", ""),
        ("copies", "add", "export", "x", "--due", "x"),
    ],
    "copies confirm": [("copies", "confirm", "zz", "--evidence", "seen"), ("copies", "confirm", "00", "--evidence", "")],
    "restore": [("restore", "{folder}"), ("restore", "{file}"), ("restore", "{gone}"), ("restore", "{store}")],
    "checkpoint": [("checkpoint", "--receipt", "{folder}")],
    "proof": [("proof",), ("proof", "99"), ("proof", "--from", "99"), ("proof", "0", "--receipt", "{folder}")],
    "scan": [
        ("scan", "{gone}", "--for", "Zoe"),
        ("scan", "{folder}", "--for", ""),
        ("scan", "{folder}", "--for", "I"),
        ("scan", "{folder}", "--for", "{file}"),
    ],
    "verify": [("verify", "{folder}"), ("verify", "{gone}"), ("verify", "/dev/null"), ("verify", "{file}", "--key", "{folder}")],
    "key rotate": [("key", "rotate", "--confirm", "")],
    "migrate prepare": [("migrate", "prepare", "{gone}"), ("migrate", "prepare", "/dev/null"), ("migrate", "prepare", "{folder}")],
    "migrate canonicalize": [("migrate", "canonicalize", "zz"), ("migrate", "canonicalize", "")],
    "migrate finalize": [("migrate", "finalize", "zz"), ("migrate", "finalize", "00", "--confirm", "00")],
    "migrate drop": [("migrate", "drop", "zz"), ("migrate", "drop", "../..")],
    "reset": [("reset", "--confirm", ""), ("reset", "--confirm", "00")],
    "serve": [("serve", "--port", "0"), ("serve", "--port", "99999")],
    "mcp": [("mcp",), ("mcp", "--user", ""), ("mcp", "--user", "ada", "--port", "-1")],
    "mcp token": [
        ("mcp", "token", "", "--for", "operator"),
        ("mcp", "token", "../x", "--for", "operator"),
        ("mcp", "token", "x", "--for", ""),
    ],
    "mcp revoke": [("mcp", "revoke", "nobody"), ("mcp", "revoke", "../x")],
    "mcp config": [("mcp", "config", "notepad"), ("mcp", "config", "generic")],
    "demo": [("demo", "--store", "{busy}")],
    "init": [("init", "--store", "{busy}"), ("init", "--store", "{file}")],
    "help": [("help", "nothing of that name")],
}


def test_every_command_of_the_catalogue_is_in_the_walk():
    assert set(WALK) == set(catalogue.COMMANDS)


@pytest.fixture(scope="module")
def folder(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the filled memory, with a file, an empty folder and one that holds something beside it."""
    made = tmp_path_factory.mktemp("words")
    for name in ("store", "vault", "root"):
        shutil.copytree(filled / name, made / name)
    (made / "notes.md").write_text("# Notes\n\nI like tea.\n", encoding="utf-8")
    (made / "empty").mkdir()
    (made / "busy").mkdir()
    (made / "busy" / "thesis.tex").write_text("x")
    return made


@pytest.fixture
def unhurt(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """Give a shell on the shared memory, and hold that nothing was written anywhere."""
    monkeypatch.chdir(folder / "busy")
    before = listing(folder)
    yield Shell(folder, capsys)
    assert listing(folder) == before


def filled_in(folder: Path, words: tuple[str, ...]) -> list[str]:
    places = {"file": "notes.md", "folder": "empty", "elsewhere": "gone", "gone": "gone", "busy": "busy", "store": "store"}
    named = {name: str(folder / place) for name, place in places.items()}
    return [word.format(**named) if word.startswith("{") else word for word in words]


def options(name: str) -> list[Action]:
    entry = catalogue.COMMANDS[name]
    command = import_module(f"refold.cli.{entry.module}").RUNS[entry.name]
    made = arguments.parser(entry, command.configure)
    return [action for action in made._actions if action.option_strings and action.nargs != 0]


def assert_refused(shell: Shell, words: list[str]) -> None:
    said = shell.json(*words)
    assert (said.code, said.err) == (2, ""), (words, said)
    assert (said.envelope["exit_class"], len(said.envelope["findings"])) == ("usage", 1), (words, said)
    assert "Zoe" not in said.out, words


@pytest.mark.parametrize("name", WALK)
def test_an_option_refuses_what_is_no_text_and_what_is_not_of_its_type(name: str, unhurt: Shell):
    call = filled_in(unhurt.folder, WALK[name])
    for action in options(name):
        option = action.option_strings[-1]
        if option in ("--store", "--vault", "--root", "--format"):
            continue  # the shell names them; without a form the answer is text
        typed = action.type is not None and action.type is not Path
        numbers = NUMBERS if typed and action.metavar == "N" else ()
        times = SAID_AT if typed and action.metavar in ("TIME", "DATE") else ()
        for word in ("Zoe\ud800", *([STRANGE] if typed else ()), *numbers, *times):
            assert_refused(unhurt, [*call, f"{option}={word}"])


@pytest.mark.parametrize("name", [name for name in WALK if name != "help"])
def test_a_command_refuses_an_argument_that_it_does_not_take(name: str, unhurt: Shell):
    assert_refused(unhurt, [*filled_in(unhurt.folder, WALK[name]), "--Zoe"])


@pytest.mark.parametrize(
    "words", [words for name in WALK for words in MEANT_BY_NOBODY.get(name, ())], ids=lambda words: " ".join(words)[:60]
)
def test_what_no_command_can_mean(words: tuple[str, ...], unhurt: Shell):
    assert_refused(unhurt, filled_in(unhurt.folder, words))
