"""What a scan sees of the rows that a store opens with its keys: all that an event says, whichever field it is in."""

from __future__ import annotations

import os
from pathlib import Path

from refold import files, ingest
from refold.erase.residue import residue
from refold.model import Draft, Scope, Source
from refold.scan.needles import Needles
from refold.store import Store, create
from refold.store import places as find_places
from tests.conftest import now

FIELDS = ("text", "ref", "part", "author", "user", "agent", "run", "label", "key", "name", "value", "inner")


def test_every_field_of_an_event_is_looked_into(store: Store):
    said = {field: f"canary{field}" for field in FIELDS}
    draft = Draft(
        said["text"],
        source=Source("chat", said["ref"], said["part"]),
        author=said["author"],
        scope=Scope(said["user"], said["agent"], said["run"]),
        audience=(said["label"],),
        metadata={said["name"]: said["value"], "list": [{"deep": said["inner"]}], "number": 491705550143},
        key=said["key"],
    )
    ingest.add(store, [draft], now=now, random=os.urandom)
    found = residue(store, Needles.of([*said.values(), "+49 170 5550143"]))
    seen = {hit.needle for hit in found.hits if hit.path == "rows of events"}
    assert seen == set(range(len(FIELDS) + 1))


def test_where_somebody_keeps_a_store_and_how_refold_names_its_files_is_no_trace_of_whoever_has_that_name(tmp_path: Path):
    places = find_places(tmp_path / "Ruth", tmp_path / "ruth-vault", tmp_path / "ruth-root", env={})
    with create(places, now=now, random=os.urandom) as store:
        ingest.add(store, [Draft("I live in Berlin.", Source("chat", "7"), author="ada")], now=now, random=os.urandom)
        sought = Needles.of(["Ruth", "commits", "runs", "SEALED", "requests"])
        named = [hit.path for hit in residue(store, sought).hits if "path name" in hit.encoding]
        assert named == []
        files.make_folder(places.vault / "requests")
        for strange in (places.store / "log" / "commits" / "Ruth.json", places.vault / "requests" / "Ruth", tmp_path / "Ruth's export"):
            strange.write_text("")
        found = residue(store, Needles.of(["Ruth"]), extra=[tmp_path / "Ruth's export"])
        assert [Path(hit.path).name for hit in found.hits] == ["Ruth.json", "Ruth", "Ruth's export"]
