"""Every command, on everything that can be wrong around it: one clear error, the right exit code, both formats, nothing half-written."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refold.cli import catalogue
from tests.cli.conftest import Printed

# One call of each command that opens a store.
CALLS = {
    "add": ("add", "I like tea.", "--user", "ada"),
    "import": ("import", "{file}", "--user", "ada"),
    "fold": ("fold",),
    "fold --plan": ("fold", "--plan"),
    "status": ("status",),
    "search": ("search", "Munich", "--user", "ada"),
    "context": ("context", "Munich", "--user", "ada"),
    "facts": ("facts", "--user", "ada"),
    "why": ("why", "00", "--user", "ada"),
    "why --not": ("why", "--not", "ada", "lives_in", "Oslo", "--user", "ada"),
    "diff": ("diff", "--since", "2024-01-01", "--user", "ada"),
    "eval": ("eval", "{file}", "--user", "ada"),
    "sql": ("sql", "select count(*) from log"),
    "calls list": ("calls", "list"),
    "calls show": ("calls", "show", "00"),
    "subject add": ("subject", "add", "Ruth"),
    "subject list": ("subject", "list"),
    "subject show": ("subject", "show", "ada"),
    "subject find": ("subject", "find", "ada"),
    "subject alias": ("subject", "alias", "ada", "Ada Brandt"),
    "subject readmit": ("subject", "readmit", "Zoe"),
    "subject report": ("subject", "report", "--user", "ada"),
    "erase request": ("erase", "request", "--user", "ada"),
    "erase find": ("erase", "find", "00"),
    "erase review": ("erase", "review", "00"),
    "erase plan": ("erase", "plan", "00"),
    "erase approve": ("erase", "approve", "00"),
    "erase run": ("erase", "run", "00"),
    "erase status": ("erase", "status"),
    "erase certificate": ("erase", "certificate", "00"),
    "erase refuse": ("erase", "refuse", "00", "--reason", "a court"),
    "erase hold": ("erase", "hold", "--user", "ada", "--reason", "a court"),
    "erase release": ("erase", "release", "00"),
    "erase due": ("erase", "due"),
    "migrate prepare": ("migrate", "prepare", "{file}"),
    "migrate canonicalize": ("migrate", "canonicalize", "00"),
    "migrate finalize": ("migrate", "finalize", "00"),
    "migrate list": ("migrate", "list"),
    "migrate drop": ("migrate", "drop", "00"),
    "checkpoint": ("checkpoint",),
    "proof": ("proof", "0"),
    "key show": ("key", "show"),
    "key rotate": ("key", "rotate"),
    "mirror": ("mirror", "{elsewhere}"),
    "backup": ("backup", "{elsewhere}"),
    "export": ("export", "{elsewhere}", "--user", "ada"),
    "report": ("report", "{elsewhere}.html"),
    "copies add": ("copies", "add", "export", "a drawer"),
    "copies list": ("copies", "list"),
    "copies confirm": ("copies", "confirm", "00", "--evidence", "seen"),
    "mcp": ("mcp", "--user", "ada"),
    "mcp token": ("mcp", "token", "laptop", "--for", "operator"),
    "mcp tokens": ("mcp", "tokens"),
    "mcp revoke": ("mcp", "revoke", "laptop"),
    "serve": ("serve", "--port", "4999"),
}


def test_every_command_is_called_here():
    apart = {"init", "demo", "help"}
    apart |= {"audit", "recover", "reset", "restore", "verify"}  # they look at what cannot be opened: tests/recover, copies, receipts
    apart |= {"scan"}  # it needs no memory: tests/scan
    apart |= {"mcp config"}  # it opens a memory as `mcp token` does
    assert {name.partition(" --")[0] for name in CALLS} | apart == set(catalogue.COMMANDS)


@pytest.fixture(params=["text", "json"])
def form(request):
    return request.param


@pytest.fixture(params=CALLS)
def call(request, tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n\nI like tea.\n", encoding="utf-8")
    return [word.format(file=file, elsewhere=tmp_path.with_name(f"{tmp_path.name}-elsewhere")) for word in CALLS[request.param]]


def listing(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock"}


def refused(printed, form, code, exit_class, *, finding=None):
    """Hold that a command ended with one error, said in the form that was asked for."""
    assert printed.code == code, printed
    if form == "json":
        assert printed.err == ""
        envelope = printed.envelope
        assert (envelope["status"], envelope["exit_class"], len(envelope["findings"])) == ("FAIL", exit_class, 1)
        assert finding is None or envelope["findings"][0]["code"] == finding
    else:
        assert printed.out == ""
        assert printed.err.startswith("refold: ")
        assert printed.err.count("refold: ") == 1
        assert max(map(len, printed.err.splitlines())) < 300
    return printed


def test_no_store(empty_shell, call, form, tmp_path):
    refused(empty_shell(*call, form=form), form, 2, "usage", finding="RF-USAGE-002")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


def test_a_store_of_another_vault(shell, filled, call, form, tmp_path):
    from refold.memory import Memory

    Memory.create(tmp_path / "s", vault=tmp_path / "v", root=tmp_path / "r").close()
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "s").rename(tmp_path / "store")
    before = listing(tmp_path)
    refused(shell(*call, form=form), form, 2, "usage", finding="RF-USAGE-001")
    assert listing(tmp_path) == before


def test_a_store_of_a_later_version(shell, call, form, tmp_path):
    path = tmp_path / "store" / "store.json"
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps(document | {"format": "refold.store/2"}, sort_keys=True, separators=(",", ":")))
    refused(shell(*call, form=form), form, 2, "usage", finding="RF-USAGE-003")


def test_a_store_json_that_is_no_json(shell, call, form, tmp_path):
    (tmp_path / "store" / "store.json").write_text("{")
    refused(shell(*call, form=form), form, 13, "corrupt")


def test_a_store_that_is_a_file(empty_shell, call, form, tmp_path):
    (tmp_path / "store").write_text("x")
    refused(empty_shell(*call, form=form), form, 2, "usage")


def test_a_folder_that_holds_something_else_is_not_made_a_store(empty_shell, form, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "thesis.tex").write_text("x")
    before = listing(tmp_path)
    refused(empty_shell("init", form=form), form, 2, "usage")
    assert listing(tmp_path) == before
    assert not (tmp_path / "vault").exists()


def test_an_init_that_was_interrupted_is_run_again(empty_shell, form, tmp_path):
    assert empty_shell("init").code == 0
    (tmp_path / "store" / "store.json").unlink()
    shutil.rmtree(tmp_path / "vault")
    shutil.rmtree(tmp_path / "root")
    shutil.rmtree(tmp_path / "store" / "log")
    assert empty_shell("init", form=form).code == 0
    assert empty_shell("status").code == 0


def test_a_lost_vault(shell, call, form, tmp_path):
    shutil.rmtree(tmp_path / "vault")
    refused(shell(*call, form=form), form, 12, "key")
    assert not (tmp_path / "vault").exists()


def test_a_lost_root(shell, call, form, tmp_path):
    shutil.rmtree(tmp_path / "root")
    if call[0] in ("mirror", "backup") or call[:2] == ["key", "show"]:
        assert shell(*call, form=form).code == 0  # what is sealed is copied as it is
    else:
        refused(shell(*call, form=form), form, 12, "key")
    assert not (tmp_path / "root").exists()


def test_a_principal_that_nobody_knows(shell, call, form):
    if call[0] != "serve":
        refused(
            shell(call[0], "--as", "mallory", *call[1:], form=form)
            if call[0] not in ("subject", "erase", "migrate", "calls")
            else shell(*call, "--as", "mallory", form=form),
            form,
            2,
            "usage",
        )


@pytest.mark.parametrize(
    "argv",
    [
        ("add", ""),
        ("add", " \n\t"),
        ("add", "x", "--said-at", "yesterday"),
        ("add", "x", "--said-at", "2999-01-01"),
        ("add", "x", "--said-at", "0000-10-14"),
        ("add", "x", "--source", "somewhere"),
        ("add", "x", "--source", ":#"),
        ("add", "x", "--role", "king"),
        ("add", "x", "--metadata", "{"),
        ("add", "x", "--metadata", "[1]"),
        ("add", "x", "--metadata", "[" * 100_000),
        ("add", "x", "--user", ""),
        ("add", "x", "--subject", ""),
        ("add", "x", "--author", " "),
        ("add", "x\ud800"),
        ("add", "x", "--user", "a\udcff"),
        ("facts",),
        ("search", "Munich"),
        ("context", "Munich"),
        ("search", "", "--user", "ada"),
        ("facts", "--user", "ada", "--as-of", "then"),
        ("facts", "--user", "ada", "--as-of", "2024"),
        ("facts", "--user", "ada", "--valid-at", "2024-13-01"),
        ("facts", "--user", "ada", "--limit", "0"),
        ("facts", "--user", "ada", "--limit", "-1"),
        ("facts", "--user", "ada", "--relation", "'; drop table facts"),
        ("why", "not-hex", "--user", "ada"),
        ("why", "00" * 16, "--user", "ada"),
        ("sql", "drop table log"),
        ("sql", "copy log to '/tmp/x'"),
        ("sql", "select * from read_csv('/etc/passwd')"),
        ("sql", "selekt"),
        ("sql", ""),
        ("subject", "add", ""),
        ("subject", "show", "nobody"),
        ("import", "nowhere.jsonl"),
        ("import", "/dev/null"),
        ("import", "{tmp}"),
        ("import", "x", "--reader", "magic"),
        ("init",),
    ],
    ids=lambda argv: " ".join(argv)[:40].encode("ascii", "replace").decode(),
)
def test_what_cannot_be_meant(shell, form, argv, tmp_path):
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    before = listing(tmp_path / "store")
    refused(shell(*(word.format(tmp=nothing) if word == "{tmp}" else word for word in argv), form=form), form, 2, "usage")
    assert listing(tmp_path / "store") == before


@pytest.mark.parametrize(
    "text",
    [
        "x" * (10 << 20),
        "a\x1b[2Jb\u202ec\0d",
        "Robert'); DROP TABLE facts;--",
        'He said "no" \\ and %s {0}',
        "👩‍🚀 Łukasz ירושלים",
        "-rf",
        "\ufeffx",
    ],
    ids=["10 MB", "control and bidi", "SQL", "quotes", "scripts", "a dash", "a byte order mark"],
)
def test_what_may_look_wrong_and_is_right(shell, form, text):
    added = shell("add", "--user", "Ada O'Brien\"; --", f"--subject={text[:99]}", "--", text, form=form)
    assert (added.code, added.err) == (0, "")
    listed = shell.json("sql", "select text(seq) from log where kind = 'event' order by seq desc limit 1")
    assert listed.data["rows"] == [[text]]
    shown = shell("subject", "list")
    assert all(each.isprintable() or each in "\n\u200d" for each in shown.out)
    found = shell("search", "no", "--user", "Ada O'Brien\"; --")
    assert found.code == 0
    assert all(each.isprintable() or each in "\n\u200d" for each in found.out)


@pytest.mark.parametrize("path", ["a\0b", "x\ud800", "n" * 5_000, "d/" * 3_000], ids=["NUL", "surrogate", "long name", "long path"])
@pytest.mark.parametrize(
    "argv", [("import",), ("migrate", "prepare"), ("init", "--store"), ("status", "--vault"), ("audit", "--store"), ("demo", "--store")]
)
def test_a_path_that_no_system_can_have(shell, form, argv, path):
    printed = refused(shell(*argv, path, form=form), form, 2, "usage", finding="RF-USAGE-001")
    assert path[:3] * 9 not in printed.out + printed.err


@pytest.mark.parametrize(("size", "code"), [(10 << 20, 0), (17 << 20, 2), (65 << 20, 2)])
def test_a_long_text_from_standard_input(shell, monkeypatch, size, code):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * size)))
    printed = shell("add", "-", "--user", "ada")
    assert printed.code == code
    assert len(printed.out + printed.err) < 500


@pytest.mark.slow
def test_an_import_that_is_interrupted_is_resumed_by_running_it_again(shell, tmp_path):
    lines = ({"role": "user", "content": f"I like tea number {number}."} for number in range(12_000))
    (tmp_path / "chat.jsonl").write_text("\n".join(map(json.dumps, lines)))
    code = "import sys; from refold.cli import main; print('up', file=sys.stderr, flush=True); sys.exit(main())"
    argv = [sys.executable, "-c", code, "import", str(tmp_path / "chat.jsonl"), "--user", "ada", *shell.places, "--format", "json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        commits = tmp_path / "store" / "log" / "commits"  # where names of other files come and go too
        before = len(list(commits.glob("*.json")))
        while len(list(commits.glob("*.json"))) < before + 2 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["exit_class"]) == (catalogue.INTERRUPTED, "interrupted")
    report = shell.json("import", str(tmp_path / "chat.jsonl"), "--user", "ada").data
    assert report["already"] >= 1_000
    assert report["added"] + report["already"] == 12_000
    assert report["added"] > 0


@pytest.mark.slow
def test_ten_thousand_subjects(shell):
    names = [word for number in range(10_000) for word in ("--subject", f"person {number}")]
    assert shell("add", "a party", "--user", "ada", *names).code == 0
    assert shell.json("subject", "list", "--limit", "3").data["total"] > 10_000


def run(folder, *argv, **options):
    """Run a command in a process of its own."""
    places = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(folder / name))]
    command = [sys.executable, "-c", "import sys; from refold.cli import main; sys.exit(main())", *argv, *places]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def mortal():
    """Take from root what lets it pass by file modes, so that these tests mean the same for everybody."""
    import ctypes

    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: it counts from the next exec on


def full_disk():
    """Let every write to a file fail."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("call", [("add", "x", "--user", "ada"), ("fold",), ("subject", "add", "Zoe")], ids=lambda call: call[0])
def test_a_full_disk(shell, form, call, tmp_path):
    before = listing(tmp_path)
    printed = run(tmp_path, *call, "--format", form, preexec_fn=full_disk)
    assert printed.returncode == 1, printed
    assert (json.loads(printed.stdout)["findings"][0]["code"] if form == "json" else "RF-WRITE-001") == "RF-WRITE-001"
    assert "refuses" in printed.stdout + printed.stderr or "space" in printed.stdout + printed.stderr
    after = listing(tmp_path)
    assert {path: after[path] for path in before} == before
    assert [path for path in after if "commits" in path.parts] == [path for path in before if "commits" in path.parts]
    assert shell("status").code == 0


def without_permission():
    """Take from this process, if it is root's, what lets it pass by file modes."""
    import ctypes

    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # version 3: effective, permitted, inheritable, twice
    system = ctypes.CDLL(None, use_errno=True)
    assert system.capget(header, data) == 0
    data[0] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert system.capset(header, data) == 0


def apart(shell, before, *argv):
    """Run a command line in a child of this process that has lost something `before`."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            before()
            said = shell.json(*argv)
            os.write(writer, json.dumps([said.code, said.out, said.err]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = Printed(*json.loads(file.read()))
    os.waitpid(pid, 0)
    return said


def test_a_place_that_may_not_be_read(shell, call, tmp_path):
    for place in ("store", "vault", "root"):
        (tmp_path / place).chmod(0)
        try:
            printed = apart(shell, without_permission, *call)
        finally:
            (tmp_path / place).chmod(0o700)
        if place == "root" and (call[0] in ("mirror", "backup") or call[:2] == ["key", "show"]):
            assert printed.code == 0  # what is sealed is copied as it is
        else:
            refused(printed, "json", 16, "not-allowed")


@pytest.mark.parametrize("call", [name for name in CALLS if name not in ("serve", "mcp")], indirect=True)  # those go on until stopped
def test_a_disk_that_takes_nothing(shell, call, tmp_path):
    before = listing(tmp_path)
    printed = apart(shell, full_disk, *call)
    after = listing(tmp_path)
    assert {path: after[path] for path in before} == before
    assert [path for path in after if "commits" in path.parts] == [path for path in before if "commits" in path.parts]
    assert printed.code in (0, 1, 2, 10), printed
    if printed.code == 1:
        assert printed.envelope["findings"][0]["code"] == "RF-WRITE-001"


@pytest.mark.parametrize("place", ["store", "vault", "root"])
def test_no_permission(shell, form, place, tmp_path):
    (tmp_path / place).chmod(0)
    try:
        printed = run(tmp_path, "status", "--format", form, preexec_fn=mortal)
    finally:
        (tmp_path / place).chmod(0o700)
    assert printed.returncode == 16, printed
    assert "Traceback" not in printed.stderr


def test_no_permission_to_write(shell, form, tmp_path):
    folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
    for path in folders:
        path.chmod(0o500)
    try:
        printed = run(tmp_path, "add", "x", "--user", "ada", "--format", form, preexec_fn=mortal)
    finally:
        for path in folders:
            path.chmod(0o700)
    assert printed.returncode == 16, printed


def test_a_reader_who_leaves(shell, tmp_path):
    """What was added stays added, though nobody hears of it."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [
        sys.executable,
        "-c",
        "import sys; from refold.cli import main; sys.exit(main())",
        "add",
        "I like tea.",
        "--user",
        "ada",
        *shell.places,
    ]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (catalogue.PIPE_CLOSED, b"")
    assert "I like tea." in shell("search", "tea", "--user", "ada").out


@pytest.mark.parametrize("name", ["log/parts", "log/commits", "state"])
def test_a_damaged_file_is_named(shell, form, name, tmp_path):
    folder: Path = tmp_path / "store" / name
    victim = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "CURRENT")[0]
    raw = bytearray(victim.read_bytes())
    raw[len(raw) // 2] ^= 1
    victim.write_bytes(raw)
    printed = shell("fold", "--full", form=form)
    if name == "state":
        assert printed.code == 0
    else:
        refused(printed, form, 13, "corrupt")
        assert victim.name in printed.out + printed.err


@pytest.mark.parametrize("what", [["verify", "."], ["verify", "/dev/null"], ["mirror", "/proc/x"], ["backup", "/proc/x"]])
def test_a_place_that_is_none_for_what_is_asked_is_a_mistake_of_usage(what, shell):
    said = shell.json(*what)
    assert (said.code, said.envelope["findings"][0]["code"]) == (2, "RF-USAGE-001")


def test_a_name_that_stands_twice_in_metadata_is_refused_before_one_is_lost(shell):
    for twice in ('{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 2}}'):
        assert shell.json("add", "I like tea.", "--user", "ada", "--metadata", twice).code == 2
