"""Every command while a transaction is unfinished: reading goes on, what is said is added, nothing else of the store is changed."""

from __future__ import annotations

import pytest

from refold import journal
from refold.memory import Memory
from refold.store import places
from tests.cli.conftest import Shell
from tests.cli.test_bad_input import CALLS, listing
from tests.journal import KILLED, SAMPLE, on, stopped_after

SAYS = {"add", "import"}
# One file each, that no transaction has among its targets: a request has a date it counts from, a copy that is made is made, and a token
# that is to go goes at once.
BESIDE = {f"erase {verb}" for verb in ("request", "find", "review", "plan", "approve", "refuse", "hold", "release")}
BESIDE |= {"mirror", "backup", "export", "copies add", "copies confirm", "mcp token", "mcp revoke"}
STAYS = {"serve", "mcp"}  # they answer until they are stopped: what they carry out is what stands here
CHANGES = {
    "fold": ("fold",),
    "subject add": CALLS["subject add"],
    "subject alias": CALLS["subject alias"],
    "subject readmit": CALLS["subject readmit"],
    "erase run": ("erase", "run", "{request}", "--confirm", "{request}"),
    "migrate prepare": ("migrate", "prepare", "{moved}"),
    "migrate canonicalize": ("migrate", "canonicalize", "{move}"),
    "migrate finalize": ("migrate", "finalize", "{move}", "--confirm", "{move}"),
    "migrate drop": ("migrate", "drop", "{move}"),
    "checkpoint": ("checkpoint",),
    "key rotate": ("key", "rotate"),
}


@pytest.fixture
def words(shell: Shell) -> dict[str, str]:
    """Make what commands name, and leave a transaction unfinished; return the words that they name it by."""
    moved, file = shell.folder / "memory.jsonl", shell.folder / "notes.md"
    moved.write_text('{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"]}\n', encoding="utf-8")
    file.write_text("# Notes\n\nI like tea.\n", encoding="utf-8")
    where = places(*(shell.folder / name for name in ("store", "vault", "root")), env={})
    with Memory.open(where.store, vault=where.vault, root=where.root) as memory:
        memory.fold()
        request = memory.plan_erasure(user_id="ben").target.request_id
        memory.erase_approve(request)
    move = shell.json("migrate", "prepare", str(moved)).data["move"]["move_id"]
    steps = [journal.write(on("store", f"note-{number}"), b"x") for number in range(2)]
    assert stopped_after(lambda: journal.commit(where, SAMPLE, steps), 1) == KILLED
    return {"request": request.hex(), "move": move, "moved": str(moved), "file": str(file), "elsewhere": ""}


def test_what_changes_the_store_refuses_and_leaves_everything_as_it_is(shell: Shell, words: dict[str, str]):
    was = listing(shell.folder)
    for name, argv in CHANGES.items():
        said = shell.json(*[word.format(**words) for word in argv])
        assert (said.code, said.envelope["exit_class"]) == (10, "blocker"), (name, said)
        assert said.envelope["findings"][0]["remediation"] == "refold recover", name
        assert listing(shell.folder) == was, name


def test_every_other_command_goes_on_and_only_those_write_that_say_something_or_write_beside_the_store(shell: Shell, words: dict[str, str]):
    for name in CALLS.keys() - CHANGES.keys() - SAYS - STAYS - BESIDE:
        was = listing(shell.folder)
        target = str(shell.folder.with_name(f"{shell.folder.name}-{name.replace(' ', '-')}"))
        said = shell.json(*[word.format(**words | {"elsewhere": target}) for word in CALLS[name]])
        assert said.code in (0, 2), (name, said)  # 2: what is named is not there
        assert listing(shell.folder) == was, name
    for name in SAYS:
        assert shell.json(*[word.format(**words) for word in CALLS[name]]).code == 0
