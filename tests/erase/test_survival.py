"""Where erased data could outlive its erasure, for those of the listed ways that no other file of these tests is about."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from refold import journal
from refold.erase.model import Selector, Stage
from refold.errors import KeyMissing
from refold.log.entry import control_body
from refold.memory import Memory
from refold.model import AliasKind
from refold.recover import findings
from refold.recover.audit import Area, audit
from refold.store import Places, open_store
from tests.erase.small import CANARY, approved, draft, everything_under, filled, fold, person, say
from tests.journal import CALLS, KILLED, in_child, killing, unsynced
from tests.log import Disk


@pytest.fixture
def places(tmp_path: Path) -> Places:
    with unsynced():
        return filled(tmp_path)


def opened(places: Places) -> Memory:
    return Memory.open(places.store, vault=places.vault, root=places.root)


def folded(places: Places) -> None:
    with open_store(places) as store:
        fold(store)


def test_e14_a_fold_that_is_killed_spills_nothing_and_what_it_leaves_goes_with_an_erasure(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setenv("TMPDIR", str(spilled))
    monkeypatch.setenv("DUCKDB_TEMP_DIRECTORY", str(spilled))
    with unsynced(), open_store(places) as store:
        say(store, draft("ruth", "60", f"I like {CANARY}."))
    for at in (4, 9, 14):
        assert in_child(lambda: folded(places), Disk(killing(at), calls=CALLS)) == KILLED
    assert [*spilled.iterdir()] == []
    assert CANARY.encode() not in everything_under(places)
    assert findings.DEBRIS in {each.code for each in audit(places, (Area.STATE,)).findings}
    with unsynced(), opened(places) as memory:
        memory.erase_run(approved(memory))
        assert [one.stage for one in memory.erase_requests()] == [Stage.CERTIFIED]
    assert findings.DEBRIS not in {each.code for each in audit(places, (Area.STATE,)).findings}


def test_e32_what_an_erasure_writes_of_itself_names_nobody(places: Places):
    with unsynced(), opened(places) as memory:
        subject, before = person(memory.store, "ruth"), {path for top in (places.store, places.vault) for path in top.rglob("*")}
        reached = memory.erase_run(approved(memory))
        written = [path for top in (places.store, places.vault) for path in top.rglob("*") if path not in before and path.is_file()]
        assert written
        assert not [path for path in written if CANARY.encode() in path.read_bytes() or subject in path.read_bytes()]
        assert not [path for path in written if subject.hex().encode() in path.read_bytes()]
        (seq,) = reached.erasure_seqs
        assert control_body(memory.store.log.row(seq).payloads()[0] or b"", seq).keys() == {"seqs"}
        assert "ruth" not in json.dumps(json.loads(next(path for path in written if "certificate" in path.name).read_bytes())["body"])


def test_without_a_signing_key_nothing_is_begun(places: Places):
    with unsynced(), opened(places) as memory:
        request_id = approved(memory)
    (key,) = (places.vault / "signing").glob("*.key")
    kept = key.read_bytes()
    key.unlink()
    with unsynced(), opened(places) as memory, pytest.raises(KeyMissing, match="signing key"):
        memory.erase_run(request_id)
    assert journal.entries(places) == []
    key.write_bytes(kept)
    with unsynced(), opened(places) as memory:
        assert memory.erase_show(request_id).stage is Stage.APPROVED
        memory.erase_run(request_id)


def test_requests_and_holds_that_are_taken_away_are_missed(places: Places):
    with unsynced(), opened(places) as memory:
        memory.erase_run(approved(memory))
        memory.erase_hold(Selector(aliases=((AliasKind.HANDLE, "ben"),)), reason="a lawsuit")
    assert findings.PAPER_LOST not in {each.code for each in audit(places, (Area.KEYS,)).findings}
    shutil.rmtree(places.vault / "requests")
    assert findings.PAPER_LOST in {each.code for each in audit(places, (Area.KEYS,)).findings}
