"""What an erasure costs: how long nothing can be added, against folding the log; what new keys cost, against writing them bare."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from refold import files, folding, recipes
from refold.erase import epoch
from refold.erase.find import concerning, find
from refold.erase.footprint import Gathering
from refold.erase.model import Selector, Target
from refold.erase.reach import Census
from refold.erase.residue import residue
from refold.erase.run import run
from refold.extractors import Choice
from refold.journal import Change
from refold.keys.keyring import Keyring
from refold.keys.records import Records
from refold.log.entry import Header
from refold.model import AliasKind, EntryKind, SubjectId
from refold.state.generation import State
from refold.store import Store, create, places
from tests.benchmarks import Row
from tests.benchmarks.corpus import big_store
from tests.benchmarks.discovery import ALIASES

SIZES = {"small": (30_000, 300), "full": (1_000_000, 10_000)}  # events, people
FENCED = {"small": 0.10, "full": 0.05}  # of a full fold: what an erasure syncs is the same however short that is
SUBJECTS = 100_000
ROUNDS = 5


def now() -> int:
    return time.time_ns() // 1000


def rows(size: str) -> Iterator[Row]:
    events, people = SIZES[size]
    with TemporaryDirectory() as name:
        yield from one_person(Path(name, "one"), events, people, FENCED[size])
        yield new_epoch(Path(name, "keys"), new=SUBJECTS // 100)
        yield new_epoch(Path(name, "first"), new=SUBJECTS)
        yield new_epoch(Path(name, "again"), new=SUBJECTS, derived=True)


def one_person(folder: Path, events: int, people: int, fenced: float) -> Iterator[Row]:
    """Erase one person: the time from fence to lift, and that of what is done before and after, against a full fold of the log."""
    store = big_store(folder, events, people=people)
    begun, worked = time.perf_counter(), time.process_time()
    folding.fold(store, State.open(store), relations=recipes.relations(), recipe=recipes.search(), now=now)
    full = time.perf_counter() - begun
    worked = time.process_time() - worked
    begun, busy = time.perf_counter(), [time.process_time()]
    target, gathering = somebody(store)
    found = time.perf_counter() - begun
    started = now()
    run(store, target, choice=Choice(), watch=gathering.read, docket=lambda coming: busy.append(time.process_time()), now=now)
    ended = now()
    begun = time.perf_counter()
    busy.append(time.process_time())
    scanned = residue(store, gathering.footprint)
    looked = time.perf_counter() - begun
    busy.append(time.process_time())
    assert scanned.is_clean
    fence, lift = (moment(store, kind) for kind in (EntryKind.FENCE, EntryKind.LIFT))
    built = (fence - started) / 1e6
    note = f"of {events:,} events, {people:,} people; full fold {full:.1f} s, {100 * worked / full:.0f} % of it CPU"
    yield Row("erasing one person: discovery, and what goes", found / full, note=note)
    yield Row("erasing one person: fence to lift", (lift - fence) / 1e6 / full, fenced, note=note)
    yield Row("erasing one person: building the state before the fence, and what a scan has to look for", built / full, note=note)
    yield Row("erasing one person: the scan for what is left", looked / full, note=f"{scanned.bytes / 1e6:.0f} MB, {scanned.rows:,} rows")
    together = f"{note}; in CPU time {(busy[3] - busy[2] + busy[1] - busy[0]) / worked:.2f} x"
    yield Row("erasing one person: discovery, building and scan together", (found + built + looked) / full, 0.6, note=together)
    yield Row("erasing one person: what is left to remove and look at", (ended - lift) / 1e6 / full, 0.2, note=note)
    store.close()


def somebody(store: Store) -> tuple[Target, Gathering]:
    """Search the log for one person; return what erases them, and what gathers what must not be found afterwards."""
    state = State.open(store)
    found = find(store, state, Selector(aliases=ALIASES))
    state.close()
    target = Target(os.urandom(16), found.subjects, concerning(found), frozenset(), found.size, found.last_hash)
    # A short handle stands in megabytes of ciphertext by chance, and the digits of a number in a time in microseconds.
    return target, Gathering(store, [alias for kind, alias in ALIASES if kind in (AliasKind.NAME, AliasKind.EMAIL)], target)


def moment(store: Store, kind: EntryKind) -> int:
    """Return when the last control entry of a kind was made."""
    headers = [Header.of(raw) for rows in store.log.rows(store.log.head.size - 4, store.log.head.size) for raw in rows.headers()]
    return next(header.recorded_at for header in reversed(headers) if header.kind == kind)


def new_epoch(folder: Path, *, new: int, derived: bool = False) -> Row:
    """Change the keys of so many people, of whom some have no secret of their own yet, against writing the same bytes durably.

    With `derived` their secrets were derived before, as they are when an erasure gets to its fence.
    """
    with create(places(folder / "store", folder / "vault", folder / "root", env={}), now=now) as store:
        ids = [SubjectId(os.urandom(16)) for _ in range(SUBJECTS)]
        explicit = Records.of({one: os.urandom(32) for one in ids[new:]}, 16)
        held = replace(store.keyring.begin(random=os.urandom), epoch=1, subjects=explicit)
        target = Target(bytes(16), frozenset(ids[-1:]), frozenset(), frozenset(), 0, b"")
        census = Census(target.subjects, target.events, 1, declared=set(ids[:new]))
        begun = epoch.begin(store, random=os.urandom)
        place = store.vault.keys / "epoch-000002"
        taken, bare, shares = [], [], []
        for number in range(ROUNDS):
            keyring = Keyring(held)  # that has derived nothing yet
            if derived:
                epoch.secrets(keyring, begun, target, census, carried=(), random=os.urandom)
            start, worked = time.perf_counter(), time.process_time()
            full = epoch.secrets(keyring, begun, target, census, carried=(), random=os.urandom)
            steps = list(epoch.steps(store, begun, full, random=os.urandom))
            for step in steps:
                assert isinstance(step, Change)
                files.put(place / step.target.name, step.data, mode=0o600, temporary=place / ".tmp-bench", new=False)
            files.sync_folder(place)
            taken.append(time.perf_counter() - start)
            shares.append((time.process_time() - worked) / taken[-1])
            raw = b"".join(path.read_bytes() for path in place.iterdir())
            for path in place.iterdir():  # as if it had only begun
                if path.name not in ("key", "seeds"):
                    path.unlink()
            (folder / "bare").mkdir(exist_ok=True)
            start = time.perf_counter()
            files.create(folder / "bare" / f"{number}", raw)
            bare.append(time.perf_counter() - start)
    ours, share = statistics.median(taken), statistics.median(shares)
    note = f"{SUBJECTS:,} people, {len(raw) / 1e6:.1f} MB, {1000 * ours:.0f} ms, {100 * share:.0f} % of it CPU"
    name = f"changing the keys of everybody, to writing them bare, {100 * new // SUBJECTS} % new{', at the fence' if derived else ''}"
    return Row(name, ours / statistics.median(bare), 20, note=note)
