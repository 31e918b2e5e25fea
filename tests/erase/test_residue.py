"""What a scan sees of the rows that a store opens with its keys: all that an event says, whichever field it is in."""

from __future__ import annotations

import os

from refold import ingest
from refold.erase.residue import residue
from refold.model import Draft, Scope, Source
from refold.scan.needles import Needles
from refold.store import Store
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
