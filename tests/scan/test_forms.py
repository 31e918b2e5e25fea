"""The words that the forms of our own files prescribe are no trace where they are prescribed, and one anywhere else."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from refold import canonical
from refold.disclaimers import PRESCRIBED
from refold.erase.model import Stage
from refold.erase.prove import path_of
from refold.memory import Memory
from refold.receipts.verify import KINDS
from refold.scan.forms import BY_PLACE, STAGES, VERDICTS, without_words
from refold.scan.needles import Needles
from refold.scan.walk import scan
from refold.store import Places
from refold.verdict import Kind
from tests.erase.small import approved, draft, filled, say
from tests.journal import unsynced

NAMES = ("store", "suppressed", "handle", "symbolic")
DISTINCT_MIN = 3


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    """Return a store in which files of most forms lie: folded, signed, with one person erased and another asked for."""
    with unsynced():
        places = filled(tmp_path_factory.mktemp("forms"))
        with opened(places) as memory:
            memory.erase_run(approved(memory))
            approved(memory, "ben")
            memory.checkpoint()
        yield places


@pytest.fixture
def places(whole: Places, tmp_path: Path) -> Places:
    """Return a copy of it, to plant something in."""
    shutil.copytree(whole.store.parent, tmp_path / "copy")
    return Places(*(tmp_path / "copy" / each.name for each in (whole.store, whole.vault, whole.root)), whole.origin)


def opened(places: Places) -> Memory:
    return Memory.open(places.store, vault=places.vault, root=places.root)


def below(places: Places) -> list[Path]:
    return [path for top in (places.store, places.vault, places.root) for path in sorted(top.rglob("*")) if path.is_file()]


def words_of(raw: bytes) -> set[str]:
    """Return the words in what can be read of a file: no stretches of base64 and digits."""
    text = re.sub(rb"[A-Za-z0-9+/]{21,}={0,2}|[0-9a-f]{16,}", b" ", raw)
    return {word.decode().lower() for word in re.findall(rb"[A-Za-z]{3,}", text)}


def test_no_word_that_stands_in_the_clear_in_every_store_is_a_trace(whole: Places):
    words = {word for path in below(whole) if (raw := path.read_bytes()).isascii() for word in words_of(raw)}
    words |= {word for path in (whole.store / "log" / "parts").iterdir() for word in words_of(path.read_bytes()[-400:])}
    assert words >= {"certified", "keyring", "replaces", "parquet", "disclaimers"}
    tops = [whole.store, whole.vault, whole.root]
    found = scan(tops, Needles.of(sorted(words)), unnamed=tops)
    assert [(hit.path, sorted(words)[hit.needle]) for hit in found.hits if len(sorted(words)[hit.needle]) > DISTINCT_MIN] == []
    assert found.prescribed > len(words) / 2


def test_somebody_who_is_called_as_our_files_say_can_be_erased(places: Places):
    with unsynced(), opened(places) as memory:
        say(memory.store, *(draft(name, f"6{at}", f"I like tea number {at}.") for at, name in enumerate(NAMES)))
        memory.fold()
        for name in NAMES:
            request_id = approved(memory, name)
            memory.erase_run(request_id)
            said = json.loads(path_of(memory.store, request_id).read_bytes())["body"]
            assert (said["state"], PRESCRIBED in said["disclaimers"]) == ("certified", True)


PLANTED = (
    ("store/store.json", lambda said: said | {"parts": 1}),
    ("store/state/CURRENT", lambda said: said | {"format": "parts"}),
    ("vault/witness/log.json", lambda said: said | {"origin": "of parts"}),
    ("vault/cache/verdict", lambda said: said | {"kind": "WAL_INTACT parts"}),
    ("vault/keys/epoch-000002/SEALED", lambda said: said | {"body": said["body"] | {"files": [["parts", 1, "00"]]}}),
)


@pytest.mark.parametrize(("name", "planted"), PLANTED, ids=[name for name, _ in PLANTED])
def test_the_same_word_is_a_trace_where_the_form_has_none(places: Places, name: str, planted):
    path = places.store.parent / name
    before = scan([places.store.parent], Needles.of(["parts"]))
    assert not [hit for hit in before.hits if hit.path == str(path)]
    path.write_bytes(canonical.encode(planted(json.loads(path.read_bytes()))))
    assert [hit.needle for hit in scan([places.store.parent], Needles.of(["parts"])).hits if hit.path == str(path)] == [0]


def test_a_paper_with_a_sentence_that_is_none_of_ours_is_looked_into(places: Places):
    (path,) = (places.store / "receipts").iterdir()
    said = json.loads(path.read_bytes())
    said["body"]["disclaimers"].append("the copies of Parts are elsewhere")
    path.write_bytes(canonical.encode(said))
    assert {hit.needle for hit in scan([path.parent.parent], Needles.of(["Parts", "disclaimers"])).hits if hit.path == str(path)} == {0}


@pytest.mark.parametrize("name", ["commits/00000000000000000001.json", "x.json"])
def test_what_is_no_file_of_its_form_is_looked_into_whole(places: Places, name: str):
    path = places.store / "log" / name
    path.write_bytes(b'{"body": {"parts": []}}')
    assert [hit.needle for hit in scan([places.store], Needles.of(["parts"])).hits if hit.path == str(path)] == [0]


def test_a_part_whose_footer_says_more_than_a_part_does_is_looked_into(places: Places):
    path = sorted((places.store / "log" / "parts").iterdir())[0]
    assert not scan([path], Needles.of(["Payload"])).hits
    said = pq.read_table(path)
    with pq.ParquetWriter(path, said.schema, use_dictionary=False, write_statistics=False, store_schema=False) as writer:
        writer.write_table(said)
        writer.add_key_value_metadata({"note": "of payload"})
    assert {hit.needle for hit in scan([path], Needles.of(["Payload"])).hits} == {0}


def test_what_the_forms_say_is_what_is_written():
    assert set(Stage) == STAGES
    assert set(Kind) == VERDICTS
    assert {form for *_, form in BY_PLACE if isinstance(form, str)} <= set(KINDS)


def test_all_else_keeps_its_place(whole: Places):
    for path in below(whole):
        raw = path.read_bytes()
        plain = without_words(path, raw)
        assert len(plain) == len(raw)
        assert all(now in (0, was) for now, was in zip(plain, raw, strict=True))
