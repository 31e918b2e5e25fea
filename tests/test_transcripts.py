"""What every command says, word for word, to people and to programs: golden transcripts in tests/data/transcripts.

`python -m tests.test_transcripts` writes them anew; what changed in them is what changed for whoever reads or parses the output.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files as packaged
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pytest
from jsonschema.protocols import Validator

from refold import disclaimers, register, times
from refold.calls.recordings import Recordings
from refold.cli import main
from refold.cli.catalogue import COMMANDS, EXIT_CODES, PIPE_CLOSED
from refold.cli.envelope import OUTPUT_SCHEMA_VERSION
from refold.copies.backup import backup
from refold.erase.model import Decision, Selector, Stage
from refold.erase.requests import outlines
from refold.heads import proof
from refold.heads.checkpoint import known_keys
from refold.memory import Memory
from refold.model import AliasKind
from refold.receipts import entry
from refold.receipts.form import sign
from refold.recover.audit import AUDIT_SCHEMA_VERSION, Area
from refold.recover.findings import Severity
from refold.store import Places, open_store
from refold.store import places as find_places
from tests.calls import recorded
from tests.conftest import now
from tests.journal import unsynced
from tests.migrate import ANSWERS, canonicalized, prepared, written
from tests.recover import spoils
from tests.recover.damage import flip_payload

TRANSCRIPTS = Path(__file__).parent / "data/transcripts"
SCHEMAS = packaged("refold") / "schemas"
PRIVATE = ("Ada", "ada", "Ruth", "Berlin", "Munich", "Siemens")  # said by the memory's people: in no finding, ever

# RFC 7748, 6.1: Alice's public key.
PUBLIC = b"""-----BEGIN PUBLIC KEY-----
MCowBQYDK2VuAyEAhSDwCYkwp1R0i33ctD73Wg2/OgOM61FHhkfgB4xvTWo=
-----END PUBLIC KEY-----
"""

Prepare = Callable[[Places], object]


def nothing(places: Places) -> None:
    """Leave the memory as it is."""


def no_store(places: Places) -> None:
    for place in (places.store, places.vault, places.root):
        shutil.rmtree(place)


def add_a_note(places: Places) -> None:
    (places.store.parent / "notes.md").write_text("# Offsite\n\nOwner: Ada Brandt\n", encoding="utf-8")


def ask_questions(places: Places) -> None:
    asked = [
        {"question": "Where does Ada live?", "evidence": ["chat:7#2"], "category": "single", "answer": "Munich"},
        {"question": "Who is her sister?", "evidence": ["chat:7#3", "chat:7#9"], "category": "person"},
    ]
    lines = "".join(json.dumps(each) + "\n" for each in asked)
    (places.store.parent / "questions.jsonl").write_text(lines, encoding="utf-8")


def add_what_is_not_folded(places: Places) -> None:
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I work at Siemens.", user_id="ben", source="chat:8#1", said_at="2024-06-03")


def add_a_file_of_mine(places: Places) -> None:
    (places.store / "notes.txt").write_bytes(b"mine")


def take_the_place_of_a_demo(places: Places) -> None:
    (places.store.parent / "taken").mkdir()
    (places.store.parent / "taken/thesis.tex").write_bytes(b"")


def add_an_export(places: Places) -> None:
    written(places.store.parent, "mcp")


def prepare_a_move(places: Places) -> None:
    with open_store(places) as store:
        prepared(store, places.store.parent, "mcp")


def canonicalize_a_move(places: Places) -> None:
    with open_store(places) as store:
        canonicalized(store, prepared(store, places.store.parent, "mcp"), ANSWERS)


def ask_a_model(places: Places) -> None:
    with open_store(places) as store:
        first = next(store.log.events())[0]
        recorded(store, "http://127.0.0.1:8123/v1", first)


def make_a_token(places: Places) -> None:
    with Memory.open(places.store, vault=places.vault, root=places.root, now=lambda: times.parse("2024-12-01")) as memory:
        memory.token_add("laptop", principal="operator")


def _with_ruth(places: Places, *steps: Callable[[Memory, bytes], object]) -> None:
    with unsynced(), Memory.open(places.store, vault=places.vault, root=places.root, now=lambda: times.parse("2024-12-02")) as memory:
        made = memory.erase_request(Selector(aliases=((AliasKind.NAME, "Ruth"),)))
        for step in steps:
            step(memory, made.request_id)


def _find(memory: Memory, request_id: bytes) -> None:
    memory.erase_find(request_id)


def _decide(memory: Memory, request_id: bytes) -> None:
    found = memory.erase_show(request_id).found
    assert found is not None
    memory.erase_decide(request_id, {(one.seq, *one.span): Decision.CONCERNS for one in found.candidates})


def _plan(memory: Memory, request_id: bytes) -> None:
    memory.erase_plan(request_id)


def _approve(memory: Memory, request_id: bytes) -> None:
    memory.erase_approve(request_id)


def request_ruth(places: Places) -> None:
    _with_ruth(places)


def find_ruth(places: Places) -> None:
    _with_ruth(places, _find)


def review_ruth(places: Places) -> None:
    _with_ruth(places, _find, _decide)


def plan_ruth(places: Places) -> None:
    _with_ruth(places, _find, _decide, _plan)


def approve_ruth(places: Places) -> None:
    _with_ruth(places, _find, _decide, _plan, _approve)


def hold_ruth(places: Places) -> None:
    _with_ruth(places, _find, _decide, _plan, lambda memory, _: memory.erase_hold(Selector(aliases=((AliasKind.NAME, "Ruth"),)), "a court"))


def beside_a_backup(places: Places) -> None:
    """Make a backup, and the public key of somebody who is to keep the keys."""
    (places.store.parent / "public.pem").write_bytes(PUBLIC)
    with unsynced():
        backup(places, places.store.parent / "disk/backup", now=now, random=os.urandom)


def note_a_copy(places: Places) -> None:
    added, due = times.parse("2024-12-01"), times.parse("2025-01-10")
    with open_store(places) as store:
        kind, owner = register.Kind.EXPORT, register.Owner.RECIPIENT
        register.add(store, kind, "with the auditors", owner=owner, due=due, now=lambda: added, random=lambda size: b"7" * size)


def lose_a_payload(places: Places) -> None:
    flip_payload(places, 2)


def lose_a_payload_that_a_backup_has(places: Places) -> None:
    beside_a_backup(places)
    flip_payload(places, 2)


def lost_after_a_backup(places: Places) -> None:
    beside_a_backup(places)
    shutil.rmtree(places.store)


def write_papers(places: Places) -> None:
    with open_store(places) as store:
        proofs, folder = proof.inclusion(store, 2), places.store.parent
        (folder / "keys").write_text(f"{known_keys(store)[0]}\n", encoding="utf-8")
        (folder / "proof").write_text(str(proofs[0]), encoding="utf-8")
        said = entry.said(proofs, store.origin)
        (folder / "receipt").write_bytes(sign(entry.KIND, said, origin=store.origin, signer=store.log.signer(), made_at=0))


def spoil_papers(places: Places) -> None:
    write_papers(places)
    path = places.store.parent / "receipt"
    path.write_bytes(path.read_bytes().replace(b'"seq":2', b'"seq":1'))


# Command lines by the name of their transcript. Words in capitals are looked up; ~ is the folder of the three places.
LINES: dict[str, list[tuple[Prepare, str]]] = {
    "init": [(no_store, "init"), (nothing, "init")],
    "add": [(nothing, "add 'I like Darjeeling.' --user ada --source chat:9#1 --said-at 2024-07-01"), (nothing, "add ' ' --user ada")],
    "import": [(add_a_note, "import ~/notes.md --user ada"), (nothing, "import ~/missing.md")],
    "fold": [
        (add_what_is_not_folded, "fold --plan"),
        (add_what_is_not_folded, "fold"),
        (spoils.unfinished, "fold"),
        (nothing, "fold --without --source chat:7#2"),
        (nothing, "fold --source chat:7#2"),
    ],
    "status": [(nothing, "status"), (spoils.unfinished, "status"), (spoils.root_missing, "status")],
    "search": [(nothing, "search 'where does Ada live' --user ada --explain"), (nothing, "search Munich")],
    "context": [(nothing, "context 'where does Ada live' --user ada --tokens 60")],
    "facts": [(nothing, "facts --user ada --history"), (nothing, "facts --user ada --as-of 2024")],
    "why": [
        (nothing, "why FACT --user ada"),
        (nothing, "why 00 --user ada"),
        (nothing, "why --not ada lives_in Munich --user ada"),
        (nothing, "why --not ada lives_in Berlin --user ada"),
        (nothing, "why --not ada lives_in Oslo --user ada"),
        (add_what_is_not_folded, "why --not ben works_at Siemens --as operator"),
        (nothing, "why --not ada lives_in --user ada"),
    ],
    "diff": [
        (nothing, "diff --since 2 --user ada"),
        (nothing, "diff --since 2024-12-01T00:02:30Z --user ada"),
        (nothing, "diff --since generation:0 --user ada"),
        (nothing, "diff --since generation:7 --user ada"),
        (nothing, "diff --user ada"),
    ],
    "eval": [(ask_questions, "eval ~/questions.jsonl --user ada"), (add_a_note, "eval ~/notes.md --user ada")],
    "sql": [(nothing, "sql 'select kind, count(*) as entries from log group by kind order by kind'"), (nothing, "sql 'drop table log'")],
    "calls": [
        (ask_a_model, "calls list"),
        (ask_a_model, "calls show CALL"),
        (nothing, "calls list"),
        (nothing, "calls show 00"),
        (ask_a_model, "status"),
    ],
    "subject": [
        (nothing, "subject list"),
        (nothing, "subject show ada"),
        (nothing, "subject add 'Ada Brandt' ada"),
        (nothing, "subject"),
        (nothing, "subject find Ada"),
        (nothing, "subject add --from-entity Ruth"),
        (nothing, "subject report --user ada"),
    ],
    "erase": [
        (nothing, "erase request --user ada --received 2024-12-01 --due 2024-12-31"),
        (request_ruth, "erase find REQUEST"),
        (find_ruth, "erase review REQUEST"),
        (find_ruth, "erase review REQUEST --all concerns"),
        (find_ruth, "erase plan REQUEST"),
        (review_ruth, "erase plan REQUEST"),
        (review_ruth, "erase approve REQUEST"),
        (plan_ruth, "erase approve REQUEST"),
        (approve_ruth, "erase run REQUEST"),
        (approve_ruth, "erase run REQUEST --confirm REQUEST"),
        (approve_ruth, "erase status"),
        (approve_ruth, "erase certificate REQUEST"),
        (hold_ruth, "erase approve REQUEST"),
        (request_ruth, "erase refuse REQUEST --reason 'a court asked to keep it'"),
        (nothing, "erase hold --user ada --reason 'a court asked to keep it'"),
        (nothing, "erase due"),
        (nothing, "erase status"),
        (nothing, "erase release 00"),
    ],
    "audit": [
        (nothing, "audit"),
        (nothing, "audit --log"),
        (spoils.log_part, "audit --log"),
        (nothing, "audit --residue --for 'Ben Abel'"),
        (nothing, "audit --residue --for 'sister is called'"),
        (nothing, "audit --residue"),
        (spoils.unfinished, "audit --transactions"),
        (spoils.drifted, "audit"),
        (spoils.root_missing, "audit --keys --state"),
        (spoils.open_to_others, "audit --keys --deep"),
    ],
    "recover": [
        (nothing, "recover"),
        (spoils.unfinished, "recover"),
        (spoils.unfinished, "recover --transaction-id TRANSACTION"),
        (spoils.unfinished, "recover --transaction-id TRANSACTION --complete"),
        (spoils.unfinished, "recover --transaction-id TRANSACTION --rollback"),
        (spoils.drifted, "recover --transaction-id TRANSACTION"),
        (spoils.drifted, "recover --transaction-id TRANSACTION --rollback"),
        (spoils.malformed, "recover --transaction-id TRANSACTION --complete"),
        (nothing, "recover --log"),
        (lose_a_payload, "recover --log"),
        (lose_a_payload, "recover --log --past-damage --confirm ORIGIN"),
        (lose_a_payload_that_a_backup_has, "recover --log --from ~/disk/backup"),
        (lose_a_payload_that_a_backup_has, "recover --log --from ~/disk/backup --confirm ORIGIN"),
    ],
    "checkpoint": [(nothing, "checkpoint"), (add_what_is_not_folded, "checkpoint --receipt ~/receipt"), (spoils.unfinished, "checkpoint")],
    "proof": [(nothing, "proof 2"), (nothing, "proof --from 2"), (nothing, "proof 9"), (nothing, "proof")],
    "verify": [(write_papers, "verify ~/proof --key ~/keys"), (write_papers, "verify ~/receipt"), (spoil_papers, "verify ~/receipt")],
    "scan": [
        (add_a_note, "scan ~ --for 'Ben Abel' --control 'Ada Brandt'"),
        (add_a_note, "scan ~ --for 'Ada Brandt'"),
        (add_a_note, "scan ~ --for Ruth --control 'Ben Abel'"),
        (nothing, "scan ~/missing --for Ruth"),
        (nothing, "scan ~ --for me"),
    ],
    "key": [(nothing, "key show"), (nothing, "key rotate"), (spoils.unfinished, "key rotate"), (nothing, "key")],
    "reset": [
        (nothing, "reset"),
        (add_a_file_of_mine, "reset"),
        (add_a_file_of_mine, "reset --confirm ORIGIN"),
        (nothing, "reset --confirm 000000"),
        (nothing, "reset --confirm ORIGIN"),
    ],
    "mirror": [(nothing, "mirror ~/elsewhere"), (nothing, "mirror"), (nothing, "mirror ~/store/inside")],
    "backup": [
        (nothing, "backup ~/disk/backup"),
        (nothing, "backup"),
        (beside_a_backup, "backup --keys ~/disk/keys --recipient ~/public.pem"),
        (beside_a_backup, "backup --keys ~/safe/keys --recipient ~/public.pem"),
    ],
    "copies": [
        (note_a_copy, "copies list"),
        (nothing, "copies list"),
        (nothing, "copies add nonsense 'a drawer'"),
        (note_a_copy, "copies confirm COPY --state beyond-use --evidence 'locked away until it is overwritten'"),
        (nothing, "copies confirm 00 --evidence seen"),
        (nothing, "copies"),
    ],
    "restore": [
        (lost_after_a_backup, "restore ~/disk/backup"),
        (lost_after_a_backup, "restore ~/disk/backup --confirm ORIGIN"),
        (beside_a_backup, "restore ~/disk/backup --confirm ORIGIN"),
        (nothing, "restore ~/safe"),
    ],
    "migrate": [
        (add_an_export, "migrate prepare ~/mcp.json"),
        (prepare_a_move, "migrate canonicalize MOVE"),
        (prepare_a_move, "migrate list"),
        (canonicalize_a_move, "migrate finalize MOVE"),
        (canonicalize_a_move, "migrate finalize MOVE --confirm MOVE"),
        (prepare_a_move, "migrate finalize MOVE --confirm MOVE"),
        (prepare_a_move, "migrate drop MOVE"),
        (nothing, "migrate list"),
    ],
    "serve": [(nothing, "serve --port 70000")],
    "mcp": [
        (nothing, "mcp"),
        (nothing, "mcp --http 0 --user ada"),
        (nothing, "mcp token laptop --for operator"),
        (make_a_token, "mcp token laptop --for operator"),
        (nothing, "mcp token laptop --for nobody"),
        (make_a_token, "mcp tokens"),
        (make_a_token, "mcp revoke laptop"),
        (nothing, "mcp revoke laptop"),
        (nothing, "mcp config generic --user ada"),
        (nothing, "mcp config codex"),
    ],
    "export": [
        (nothing, "export ~/out --user ada --events --due 2025-12-31"),
        (nothing, "export ~/store/out --user ada"),
        (nothing, "export ~/out"),
    ],
    "report": [(nothing, "report ~/report.html"), (nothing, "report ~/nowhere/report.html")],
    "demo": [(take_the_place_of_a_demo, "demo --store ~/taken")],
    "help": [(nothing, "help"), (nothing, "help limits"), (nothing, "help json"), (nothing, "help nonsense")],
    "none": [(nothing, ""), (nothing, "remember"), (nothing, "audit --nonsense")],
}


def fill(folder: Path) -> Places:
    """Make a memory of three statements whose ids, keys and times are always the same."""
    numbers, minutes = count(), count(times.parse("2024-12-01"), 60_000_000)

    def drawn(size: int) -> bytes:
        return hashlib.shake_256(f"transcripts {next(numbers)}".encode()).digest(size)

    made = find_places(folder / "store", folder / "vault", folder / "root", env={}, random=drawn)
    with unsynced(), Memory.create(made.store, vault=made.vault, root=made.root, now=lambda: next(minutes), random=drawn) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1", said_at="2024-01-10")
        memory.add("I've been living in Munich since 2023.", user_id="ada", source="chat:7#2", said_at="2024-06-01")
        memory.add("My sister is called Ruth.", user_id="ada", source="chat:7#3", said_at="2024-06-02")
        memory.fold()
        return memory.places


def spoken(folder: Path, base: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run the command lines of a transcript, each in both forms on a copy of its own; yield text and envelope."""
    for number, (prepare, line) in enumerate(LINES[name]):
        said = {form: said_by(folder / f"{number}{form}", base, prepare, line, form) for form in ("text", "json")}
        code, out, err = said["text"]
        code_of_json, raw, nothing_else = said["json"]
        assert (code_of_json, nothing_else) == (code, "")
        envelope = json.loads(raw)
        shown = [f"$ refold {line}", out, *(f"! {each}\n" for each in err.splitlines()), f"exit {code}\n", json.dumps(envelope, indent=1)]
        yield "\n".join(part.rstrip("\n") for part in shown if part) + "\n", envelope


def said_by(folder: Path, base: Path, prepare: Prepare, line: str, form: str) -> tuple[int, str, str]:
    """Run one command line on a copy of the memory; return how it ended and what it printed, without what changes from run to run."""
    for name in ("store", "vault", "root"):
        shutil.copytree(base / name, folder / name)
    places = find_places(folder / "store", folder / "vault", folder / "root", env={})
    prepare(places)
    words = [word.replace("~", str(folder)) for word in shlex.split(filled_in(line, places))]
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root)]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*where[: 0 if "--store" in words else None], "--format", form, *words])
    return code, settled(out.getvalue(), folder), settled(err.getvalue(), folder)


def filled_in(line: str, places: Places) -> str:
    if "FACT" in line:
        with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
            line = line.replace("FACT", memory.facts(user_id="ada", relation="lives_in")[0].fact_id.hex())
    line = line.replace("COPY", b"7777".hex())
    if "CALL" in line:
        with open_store(places) as store:
            line = line.replace("CALL", next(Recordings(store, now=now, random=os.urandom).all()).call_id.hex())
    if "REQUEST" in line:
        with open_store(places) as store:
            asked = [one.request_id.hex() for one in outlines(store) if one.stage is not Stage.HELD]
        line = line.replace("REQUEST", asked[0])
    if "TRANSACTION" in line:
        line = line.replace("TRANSACTION", next(path.name for path in (places.vault / "journal").iterdir()))
    if "MOVE" in line:
        line = line.replace("MOVE", next(path.name for path in (places.vault / "migrate").iterdir()))
    return line.replace("ORIGIN", places.origin)


def settled(text: str, folder: Path) -> str:
    """Replace what is another in every run: ids that were drawn, the folder, today, and sizes of what was compressed."""
    ids: dict[str, str] = {}
    text = text.replace(str(folder), "~").replace(str(Path(sys.executable).parent), "BIN")
    text = re.sub(r"refold_[0-9A-Za-z_-]{43}", "<token>", text)
    text = re.sub(r"[0-9a-f]{32}", lambda found: ids.setdefault(found[0], f"<id {len(ids) + 1}>"), text)
    text = re.sub(r'(copy |copy_id": ")(?!37)[0-9a-f]{16}\b', r"\1<16 letters>", text)  # one that is noted here begins with 37
    text = re.sub(r"\b[0-9a-f]{8}\b", "<8 letters>", text)
    today = times.day(now())
    text = re.sub(rf"{today}T[0-9:.]+Z|{today}(?: \d\d:\d\d)?", "<now>", text)
    text = re.sub(r'(?<=bytes": )\d+', "0", text)
    text = re.sub(r'(?<=_seconds": )[0-9.e-]+', "0", text)
    text = re.sub(r" +[0-9.]+ ms", "  <ms>", text)
    text = re.sub(r" +p50 +p95", "  p50  p95", text)
    return re.sub(r"[0-9,]+(?= bytes)|[0-9.,]+(?= KiB)", "<size>", text)


def transcript(folder: Path, base: Path, name: str) -> str:
    return "\n".join(text for text, _ in spoken(folder, base, name))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transcripts")
    fill(folder)
    return folder


@pytest.mark.parametrize("name", LINES)
def test_a_command_says_what_its_transcript_says(name: str, base: Path, tmp_path: Path):
    assert transcript(tmp_path, base, name) == (TRANSCRIPTS / f"{name}.txt").read_text(encoding="utf-8")


def test_every_command_has_a_transcript():
    assert {name.split()[0] for name in COMMANDS} == set(LINES) - {"none"}
    assert {path.stem for path in TRANSCRIPTS.iterdir()} == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_every_envelope_is_one_of_the_schema_and_its_findings_name_nobody(name: str, base: Path, tmp_path: Path):
    for _, envelope in spoken(tmp_path, base, name):
        validator("envelope", OUTPUT_SCHEMA_VERSION).validate(envelope)
        if name == "audit" and "audit_schema_version" in envelope["data"]:
            validator("audit", AUDIT_SCHEMA_VERSION).validate(envelope["data"])
        findings = json.dumps(envelope["findings"])
        assert not [word for word in PRIVATE if word in findings]
        assert set(envelope["disclaimers"]) <= set(disclaimers.ALL)


def schema(name: str, version: int) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{name}.{version}.json").read_text(encoding="utf-8"))


def validator(name: str, version: int) -> Validator:
    jsonschema.Draft202012Validator.check_schema(schema(name, version))
    return jsonschema.Draft202012Validator(schema(name, version))


def test_the_schemas_know_every_class_severity_and_area():
    envelope, audit = schema("envelope", OUTPUT_SCHEMA_VERSION), schema("audit", AUDIT_SCHEMA_VERSION)
    assert envelope["properties"]["exit_class"]["enum"] == [name for code, name, _ in EXIT_CODES if code != PIPE_CLOSED]
    assert set(envelope["$defs"]["finding"]["properties"]["severity"]["enum"]) == {"error", *Severity}
    assert audit["properties"]["areas"]["items"]["enum"] == list(Area)
    assert list(audit["properties"]["counts"]["properties"]) == list(Severity)


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"status": "PASS", "exit_class": "usage"},
        {"status": "FAIL", "exit_class": "ok"},
        {"output_schema_version": 2},
        {"data": []},
        {"findings": [{"code": "RF-X-001"}]},
    ],
)
def test_the_schema_refuses_what_is_no_envelope(change: dict[str, Any], base: Path, tmp_path: Path):
    _, envelope = next(iter(spoken(tmp_path, base, "status")))
    with pytest.raises(jsonschema.ValidationError):
        validator("envelope", OUTPUT_SCHEMA_VERSION).validate(envelope | change)


if __name__ == "__main__":
    os.umask(0o077)
    with TemporaryDirectory() as scratch:
        fill(Path(scratch, "base"))
        for each in LINES:
            (TRANSCRIPTS / f"{each}.txt").write_text(transcript(Path(scratch, each), Path(scratch, "base"), each), encoding="utf-8")
