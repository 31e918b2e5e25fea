"""Every code of the table can be made to appear, by what it stands for, and every audit leaves the store as it was."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from refold import files, journal, settings, times
from refold.cli import main
from refold.cli.catalogue import COMMANDS
from refold.cli.topics import TOPICS
from refold.erase import dockets
from refold.errors import Corrupt, RefoldError, VerificationIncomplete
from refold.log import stored
from refold.memory import Memory
from refold.recover import findings
from refold.recover.audit import Area, audit
from refold.recover.findings import CODES, Code, Severity
from refold.recover.remember import judged
from refold.store import Places, open_store
from tests.journal import SAMPLE, on, tree
from tests.recover import spoils, untrue
from tests.recover.spoils import CASES, ahead, current_damaged, open_to_others, run_of, unfinished

ALL = tuple(f"--{area}" for area in Area)  # by name: the log is read, and not only listed
README = Path(findings.__file__).with_name("README.md")

# A process at work, a disk that refuses, a witness, settings that demand more, a copy: tests of their own.
ELSEWHERE = {
    findings.RUNNING,
    findings.UNREADABLE,
    findings.LOG_CUT,
    findings.LOG_FORK,
    findings.LOG_POLICY,
    findings.LOG_UNASKED,
    findings.LOG_BEHIND,
}


def test_every_code_has_a_case():
    assert set(CASES) | ELSEWHERE == set(CODES)
    assert len({code.code for code in CODES}) == len(CODES)


@pytest.mark.parametrize(
    ("code", "spoil"),
    [(code, each) for code, several in CASES.items() for each in several],
    ids=lambda each: getattr(each, "__name__", getattr(each, "code", "")),
)
def test_a_code_appears_for_what_it_stands_for_and_the_audit_writes_nothing(code: Code, spoil: Callable[[Places], None], places: Places):
    assert not audit(places, tuple(Area)).findings
    spoil(places)
    was = tree(places.store.parent)
    found = audit(places, tuple(Area))
    assert code in {finding.code for finding in found.findings}
    assert tree(places.store.parent) == was


@pytest.mark.parametrize(
    ("code", "spoil"),
    [(code, several[0]) for code, several in CASES.items()],
    ids=lambda each: getattr(each, "__name__", getattr(each, "code", "")),
)
def test_the_command_says_it_and_its_exit_code_says_how_bad_it_is(code: Code, spoil: Callable[[Places], None], places: Places, run):
    spoil(places)
    was = tree(places.store.parent)
    said = run("audit", *ALL)
    assert code.code in said.codes
    severities = {finding["severity"] for finding in said.envelope["findings"]}
    assert said.code == (10 if "blocker" in severities else 17 if "incomplete" in severities else 0)
    assert said.envelope["status"] == ("PASS" if said.code == 0 else "FAIL")
    assert said.data["audit_schema_version"] == 1
    assert sum(said.data["counts"].values()) == len(said.codes)
    assert tree(places.store.parent) == was


def test_under_the_vault_of_another_store_one_thing_is_wrong_and_the_rest_is_not_judged(places: Places, run):
    spoils.vault_foreign(places)
    said = run("audit", "--deep")
    wrong = [finding for finding in said.envelope["findings"] if finding["severity"] == "blocker"]
    assert [finding["code"] for finding in wrong] == [findings.VAULT_FOREIGN.code]
    assert set(said.codes) - {findings.VAULT_FOREIGN.code} == {findings.LOG_NOT_JUDGED.code, findings.NOT_JUDGED.code}


def test_a_store_json_that_names_another_log_is_not_the_vaults_fault(places: Places):
    spoils.log_other(places)
    assert findings.VAULT_FOREIGN not in {finding.code for finding in audit(places).findings}


@pytest.mark.parametrize("spoil", [spoils.verdict_of_another_time, spoils.verdict_damaged])
def test_where_additions_are_refused_the_command_that_is_named_ends_that(spoil: Callable[[Places], None], places: Places, run):
    spoil(places)
    (finding,) = run("audit", "--log").envelope["findings"]
    assert (finding["code"], finding["remediation"]) == (findings.LOG_REFUSED.code, "refold recover --log")
    assert run("recover", "--log").data["held"] == finding["details"]["found"]
    assert run("add", "I like tea.", "--user", "ada").code == 10
    assert run("recover", "--log", "--confirm", places.origin[:8]).code == 0
    assert run("audit").codes == []
    assert run("add", "I like tea.", "--user", "ada").code == 0


def test_a_healthy_store_passes(run):
    said = run("audit", *ALL)
    assert (said.code, said.codes, said.data["areas"]) == (0, [], ["transactions", "keys", "log", "state", "closure"])
    begins = "looked at transactions, keys, log, state, closure: nothing found\nroot      kept as a file\nlog       WAL_INTACT, "
    assert said.data["text"].startswith(begins)


def test_p10_an_audit_that_only_lists_the_log_says_so_and_when_it_was_last_read(places: Places, run):
    said = run("audit")
    assert (said.code, said.data["areas"], "verdict" in said.data) == (0, ["transactions", "keys", "state"], False)
    assert said.data["listed"] == {"files": 3, "size": 4, "last": None, "next": "refold audit --log"}
    assert "log       not read, only listed: 3 files of 4 entries there" in said.data["text"]
    assert "no verdict on it is kept\n          next: refold audit --log" in said.data["text"]
    judged(places, settings.load(), now=lambda: times.parse("2025-01-16T03:00Z"))
    said = run("audit")
    assert said.data["listed"]["last"] == {"kind": "WAL_INTACT", "size": 4, "tier": 1, "at": "2025-01-16T03:00:00Z"}
    assert "last verdict: WAL_INTACT, 4 entries, every file compared, 2025-01-16 03:00" in said.data["text"]


@pytest.mark.parametrize("asked", [("--log",), ("--deep",), ALL])
def test_a_log_that_is_asked_for_is_read(asked: tuple[str, ...], run):
    said = run("audit", *asked)
    assert "listed" not in said.data
    assert "log" in said.data["areas"]
    assert said.data["verdict"]["kind"] == "WAL_INTACT"


@pytest.mark.parametrize(
    "spoil", [spoils.log_part, spoils.log_missing, spoils.log_damaged, spoils.ahead, spoils.log_other, *CASES[findings.LOG_REFUSED]]
)
def test_what_a_listing_of_the_log_sees_makes_it_read(spoil: Callable[[Places], None], places: Places, run):
    spoil(places)
    shutil.rmtree(places.store / "state")  # which has a word on it too
    said = run("audit")
    assert said.code == 10
    assert "listed" not in said.data
    assert {code for code in said.codes if code.startswith("RF-LOG")}


@pytest.mark.parametrize("area", list(Area))
def test_an_area_can_be_looked_at_by_itself(area: Area, places: Places, run):
    untrue.declared(places)
    unfinished(places)
    open_to_others(places)
    spoils.log_part(places)
    current_damaged(places)
    said = run("audit", f"--{area}")
    assert said.data["areas"] == [area]
    assert said.codes
    assert {code.split("-")[1].lower().removesuffix("s") for code in said.codes} == {area.value.removesuffix("s")}


def test_the_text_of_the_envelope_is_what_a_person_is_told(places: Places, run, capsys: pytest.CaptureFixture[str]):
    unfinished(places)
    said = run("audit")
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root)]
    assert main(["audit", *where]) == 10
    printed = capsys.readouterr()
    assert said.data["text"] == (printed.out + printed.err).rstrip("\n")
    assert "refold: blocker: a transaction is unfinished" in printed.err


def test_a_transaction_at_work_is_no_blocker(places: Places):
    begin, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go[1])  # so that it ends with its parent, whatever happens there
        with journal.mutating(places) as turn:
            turn.begin(SAMPLE).carry_out([journal.write(on("store", "note-one"), b"")], last=False)
            os.write(begin[1], b"x")
            os.read(go[0], 1)
        os._exit(0)
    os.read(begin[0], 1)
    found = audit(places, [Area.TRANSACTIONS]).findings
    os.write(go[1], b"x")
    os.waitpid(pid, 0)
    assert [finding.code for finding in found] == [findings.RUNNING]
    assert [finding.code for finding in audit(places, [Area.TRANSACTIONS]).findings] == [findings.UNFINISHED]


def test_a_docket_that_goes_while_an_audit_lists_it_is_not_damaged(places: Places, monkeypatch: pytest.MonkeyPatch):
    kept = files.names
    folder = places.vault / dockets.FOLDER
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(files, "names", lambda path: ["ab" * 16] if path == folder else kept(path))
    assert findings.PAPER_DAMAGED not in [finding.code for finding in audit(places, [Area.KEYS]).findings]


@pytest.mark.parametrize("name", ["CURRENT", "artifacts", "000001.key"])
def test_r5_what_cannot_be_read_is_incomplete_and_not_called_damaged(name: str, places: Places, run, monkeypatch: pytest.MonkeyPatch):
    unfinished(places)
    real = files.read

    def read(path: Path | str) -> bytes:
        if Path(path).name == name:
            raise VerificationIncomplete("a file could not be read (EIO)", path=path)
        return real(path)

    monkeypatch.setattr(files, "read", read)
    said = run("audit", "--keys", "--state") if name != "artifacts" else run("audit")
    assert findings.UNREADABLE.code in said.codes
    assert said.code == (17 if name != "artifacts" else said.code)
    assert not {findings.CURRENT_DAMAGED.code, findings.SIGNING_MISSING.code, findings.KEPT.code} & set(said.codes)


def test_r6_a_state_newer_than_its_log_is_found_and_not_served(places: Places, run):
    ahead(places)
    said = run("audit", "--state")
    assert (said.code, said.codes) == (10, [findings.AHEAD.code])
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        assert memory.status().absent
        with pytest.raises(Corrupt, match="the log has lost entries"):
            memory.facts(user_id="ada")


@pytest.mark.parametrize("spoil", [current_damaged, spoils.manifest_damaged, spoils.manifest_missing, spoils.run_cut])
def test_r9_what_is_damaged_makes_no_orphans_and_is_folded_again(spoil: Callable[[Places], None], places: Places, run):
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        expected = [(fact.relation, fact.value) for fact in memory.facts(user_id="ada")]
    spoil(places)
    was = set(places.store.rglob("*"))
    assert findings.DEBRIS.code not in run("audit").codes or spoil is spoils.run_cut
    run("status")
    run("search", "Munich", "--user", "ada")
    assert set(places.store.rglob("*")) == was
    assert run("fold").code == 0
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        assert [(fact.relation, fact.value) for fact in memory.facts(user_id="ada")] == expected
    assert run("audit").code == 0


@pytest.mark.parametrize("flip", range(5))
def test_a_flipped_bit_in_a_run_is_found_where_it_is_read_whole(flip: int, places: Places, run):
    path = run_of(places)
    raw = bytearray(path.read_bytes())
    raw[len(raw) * flip // 5 + 10] ^= 4
    path.write_bytes(raw)
    assert run("audit", "--deep").codes == [findings.RUN_DAMAGED.code]


@pytest.mark.parametrize("spoil", [each for several in CASES.values() for each in several], ids=lambda spoil: spoil.__name__)
def test_r16_looking_at_a_damaged_store_changes_no_byte_and_no_time(spoil: Callable[[Places], None], places: Places, run):
    spoil(places)
    was = tree(places.store.parent)
    for area in Area:
        run("audit", f"--{area}", "--deep")
    run("recover")
    for entry in journal.entries(places):
        run("recover", "--transaction-id", entry.id)
    run("reset")
    with suppress(RefoldError):
        open_store(places).close()
    assert tree(places.store.parent) == was


def test_a_remediation_is_a_command_that_exists():
    for code in CODES:
        words = code.remediation.split()
        assert words[0] in ("refold", "chmod"), code
        if words[0] == "refold" and words[1] != "--version":
            assert words[1] in COMMANDS or " ".join(words[1:3]) in COMMANDS, code
        if words[:2] == ["refold", "help"]:
            assert words[2] in TOPICS, code
        if words[0] == "refold" and words[1] in ("audit", "recover") and words[2:]:
            assert words[2] in ("--keys", "--transaction-id", "--log"), code


def test_a_path_in_a_remediation_is_one_word_of_a_shell():
    found = findings.Finding(findings.OPEN_TO_OTHERS, path=Path("/a b/it's; rm -r x"))
    assert shlex.split(found.remediation) == ["chmod", "go-rwx", "/a b/it's; rm -r x"]


def test_the_time_of_a_verdict_is_kept_and_one_of_an_earlier_release_has_none(places: Places, run):
    judged(places, settings.load())
    path = places.vault / stored.PATH
    kept = stored.read(places.vault)
    assert kept is not None
    for at, shown in ((None, "at a time that was not kept"), (0, "1970-01-01")):
        path.write_bytes(replace(kept, at=at).raw)
        assert shown in run("audit").data["text"]
    path.write_bytes(replace(kept, at=1 << 62).raw)
    assert run("audit").codes == [findings.LOG_REFUSED.code]


def test_the_table_in_the_documentation_is_the_table():
    rows = re.findall(r"^\| (RF-[A-Z]+-\d+) \| (\w+) \| (.+?) \| `(.+?)` \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(code.code, code.severity.value, code.title, code.remediation) for code in CODES]
    assert {severity.value for severity in Severity} == {row[1] for row in rows}
