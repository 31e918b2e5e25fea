"""Going past damaged entries: fold(log without d), under a signed gap entry that names them, and never silently.

Allowed only where every later link is authenticated, the headers of the lost entries are intact, and none of them is a control entry. The
commit of the gap entry replaces the damaged parts by parts with the same entries, whose lost payloads are NULL.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from refold import canonical, files, quarantine
from refold.errors import Corrupt, Usage
from refold.journal import Intent, LogCommit, OpenStore, Step
from refold.keys.keyring import Keyring
from refold.log import append, entry, parts
from refold.log.append import Proposal
from refold.log.commit import Replacement
from refold.log.entry import CLEAR, VERSION, Header
from refold.log.head import Head, Place
from refold.log.parts import Part
from refold.model import BLANKING, EntryKind
from refold.outside import Clock, Random
from refold.recover.history import History, history
from refold.recover.salvage import Salvaged, control_of, salvage
from refold.recover.survey import read_file, survey
from refold.recover.tiers import parse
from refold.store import Places, Store

INTENT = "gap"


def passable(place: Place, damaged: Sequence[str]) -> dict[str, Salvaged]:
    """Return the damaged parts that can be gone past, by their paths within the log. Raises VerificationIncomplete."""
    told = history(survey(place), entry.genesis(place.origin), keys=len(place.public_keys))
    found = salvage(place, told, damaged, erased=blank(place, told))
    return {path: each for path, each in found.items() if not control_of(each)}


def blank(place: Place, told: History) -> frozenset[int]:
    """Return the seqs whose payloads are gone by an entry of the log that says so, as far as these can be read."""
    seqs: set[int] = set()
    for listed in told.parts:
        inside = [seq for seq in told.erasures if listed.part.first <= seq < listed.part.end]
        raw = read_file(place.folder / listed.part.path) if inside else None
        rows = None if raw is None else parse(raw, listed.part)
        if rows is not None and len(rows) == listed.part.count:
            for seq in inside:
                seqs.update(_named(rows.cut(seq, seq + 1), seq))
    return frozenset(seqs)


def _named(row: parts.Rows, seq: int) -> Sequence[int]:
    payload = row.payloads()[0]
    if payload is None or row.headers()[0][1] not in BLANKING or entry.payload_commit(payload) != row.commits()[0]:
        return ()
    return entry.control_body(payload, seq)["seqs"]


def steps(places: Places, passed: Sequence[Salvaged], *, now: Clock, random: Random) -> Iterator[Step]:
    """Yield the steps that go past damaged parts: keep them, commit the gap entry, take them away."""
    said = {"parts": [each.part.path for each in passed], "seqs": sorted(seq for each in passed for seq in each.lost), "time": now()}
    yield LogCommit(txn=random(16).hex(), intent=INTENT, data=canonical.encode(said))
    for each in passed:
        yield from quarantine.remove(places, f"log/{each.part.path}")


def run(store: OpenStore, txn: str, data: bytes) -> None:
    """Make the commit of a gap entry: the entries are told apart again, and have to be those that were to be gone past."""
    assert isinstance(store, Store)
    said: Any = canonical.decode(data)
    place = store.log.place
    found = passable(place, said["parts"])
    lost = sorted(seq for each in found.values() for seq in each.lost)
    if set(found) != set(said["parts"]) or lost != said["seqs"]:
        raise Corrupt("what is damaged is not what was to be gone past", path=place.folder, hint="refold recover --log")
    added = tuple(_write(place.folder, found[path]) for path in said["parts"])
    change = Replacement(tuple(said["parts"]), added)

    def propose(head: Head, keyring: Keyring) -> Proposal:
        append.refuse_fence(head, keyring)
        if not {part.path for part in head.parts}.issuperset(change.removed):
            raise Usage("a part to be gone past is not live any more", path=place.folder, hint="refold recover --log")
        header = Header(VERSION, EntryKind.GAP, CLEAR, keyring.epoch, said["time"], os.urandom(16), os.urandom(16)).raw
        payload = entry.control_payload({"seqs": lost})
        return Proposal([header], [payload], keyring.epoch, head.fence, ((0, EntryKind.GAP),), change)

    append.run(store.log, propose, now=lambda: said["time"], random=os.urandom, txn=txn)


def _write(folder: Path, salvaged: Salvaged) -> Part:
    raw = salvaged.raw
    part = parts.describe(parts.name(salvaged.rows.first, os.urandom(8)), raw, salvaged.rows)
    files.create(folder / part.path, raw)
    return part


INTENTS = {INTENT: Intent(run)}
