"""What a language model adds to a fold: waiting for it and little else, and nothing at all for what was asked before."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from refold import folding, ingest, recipes
from refold.asking import Asking, Model
from refold.calls.gateway import Gateway
from refold.calls.index import Index
from refold.calls.keys import Input
from refold.calls.mode import Mode
from refold.calls.recordings import Recordings, Unrecorded
from refold.fold import worker
from refold.fold.recipe import ModelRecipe
from refold.model import Draft, Event, EventId, Scope, Source
from refold.state.generation import State
from refold.store import Store, create, open_store, places
from tests.benchmarks import Row
from tests.benchmarks.corpus import BATCH, START, chats
from tests.calls import about, digests, limits, made_up, manifest
from tests.conftest import now
from tests.log import heard, pass_a_fence
from tests.openai_server import answer

SIZES = {"small": (250, 600, 500, 2_000), "full": (1_000, 2_000, 1_000, 10_000)}  # events folded, events of 300 people, calls replayed
SECONDS = 0.05  # that the model takes
IN_FLIGHT = 8
PEOPLE = 300
SEEDS = 7
GROUP_TURNS, GROUP_PEOPLE, GROUP_SHARE = 8, 4, 10  # one event in ten is said in a group
NOWHERE = "http://127.0.0.1:1/v1"
ROUND = 16
ANSWER = answer("x" * 8_000).body


def rows(size: str) -> Iterator[Row]:
    events, peopled, few, many = SIZES[size]
    with TemporaryDirectory() as name, served() as url:
        yield from folding_with_a_model(Path(name), url, events)
        yield from removing(Path(name), url, peopled)
        yield recording(Path(name))
        yield knowing(Path(name), many)
        yield memory(Path(name), few, many)


@contextmanager
def served() -> Generator[str]:
    """Give the address of a model in another process, which takes its time."""
    command = [sys.executable, "-m", "tests.openai_server", "--seconds", str(SECONDS), "--content", '{"facts":[],"aliases":[]}']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def reading(url: str, *, parts: int = 8) -> ModelRecipe:
    made = recipes.model("openai", model="openai/scripted", api_base=url)
    assert made is not None
    return replace(made, blocks=replace(made.blocks, parts=parts), limits=replace(made.limits, concurrency=IN_FLIGHT))


def fold(store: Store, by: ModelRecipe | None, mode: Mode = Mode.LIVE) -> tuple[float, float, Gateway | None]:
    """Fold all there is; return the seconds it took, those of the CPU, both without importing litellm, and the gateway."""
    relations, search = recipes.relations(), recipes.search()
    gateway = None if by is None else Gateway(store, limits=by.limits, mode=mode, now=now, env={})
    if gateway is not None and by is not None and mode is Mode.LIVE:
        gateway._provider(about(store, by.api_base))
    model = None if by is None or gateway is None else Model(by, gateway, worker.answering(relations.text.encode()))
    start, begun = time.perf_counter(), time.process_time()
    folding.fold(store, State.open(store), relations=relations, recipe=search, full=True, now=now, model=model)
    seconds, busy = time.perf_counter() - start, time.process_time() - begun
    if gateway is not None:
        gateway.close()
    return seconds, busy, gateway


def folding_with_a_model(folder: Path, url: str, events: int) -> Iterator[Row]:
    """The time to fold against the time that the model takes, and a second fold of the same."""
    for name, parts in (("one event to a call", 1), ("as shipped", 8)):
        store = filled(folder / str(parts), chats(events, people=PEOPLE, seed=7))
        by = reading(url, parts=parts)
        seconds, busy, gateway = fold(store, by)
        assert gateway is not None
        ideal = gateway.spent.calls * SECONDS / IN_FLIGHT
        note = f"{gateway.spent.calls:,} calls, {seconds:.2f} s, {busy:.2f} s of them of the CPU, against {ideal:.2f} s"
        yield Row(f"folding {events:,} events with a model, {name}, against its own time", seconds / ideal, 1.25, note=note)
    again = [fold(store, by) for _ in range(3)]
    assert all(gateway is not None for _, _, gateway in again)
    yield Row("calls of a second full fold", sum(gateway.spent.calls for _, _, gateway in again if gateway), 0, "count")
    with_model = statistics.median(seconds for seconds, _, _ in again)
    patterns = statistics.median(fold(store, None)[0] for _ in range(3))
    note = f"{with_model:.2f} s against {patterns:.2f} s"
    yield Row("a second full fold with a model, against one with patterns", with_model / patterns, 3, note=note)
    store.close()


def removing(folder: Path, url: str, events: int) -> Iterator[Row]:
    """The calls that are made again once the events of one person are gone."""
    drafts = [*chats(events - events // GROUP_SHARE, people=PEOPLE, seed=3), *groups(events // GROUP_SHARE, Random(3))]
    whole, by = filled(folder / "whole", drafts), reading(url)
    _, _, gateway = fold(whole, by)
    assert gateway is not None
    calls = gateway.spent.calls
    users = sorted({draft.scope.user or "" for draft in drafts} | {draft.author or "" for draft in drafts} - {""})
    whole.close()
    shares, more = [], 0
    for seed in range(SEEDS):
        user = Random(seed).choice(users)
        again, changed = without(folder / f"without-{seed}", folder / "whole", by, user)
        shares.append(100 * again / calls)
        more = max(more, again - changed)
    note = f"{calls:,} calls; {min(shares):.2f} to {max(shares):.2f} % over {SEEDS} people"
    yield Row(f"calls made again without one of {PEOPLE} people, of 100", statistics.median(shares), 1, "count", note=note)
    yield Row("calls made again beyond those whose inputs changed", max(more, 0), 0, "count")


def without(copy: Path, whole: Path, by: ModelRecipe, user: str) -> tuple[int, int]:
    """Return how many calls a fold without somebody's events makes again, and in how many sessions others spoke with them."""
    shutil.copytree(whole, copy)
    with open_store(places(copy / "store", copy / "vault", copy / "root", env={})) as store:
        gone = next(entry.subject for entry in store.log.subjects() if entry.aliases[0][1] == user)
        before = heard(store)
        sessions = {event.source.ref for event in before if gone in event.subjects}
        changed = {event.source.ref for event in before if event.source.ref in sessions and gone not in event.subjects}
        pass_a_fence(store, keep=lambda subject: subject != gone)
        asking = Asking(store, None, by, recipes.relations(), first=0, end=store.log.head.size)
        gateway = Gateway(store, limits=by.limits, now=now, env={})
        return asking.estimate(gateway).calls, len(changed)


def groups(events: int, random: Random) -> Iterator[Draft]:
    """Yield what several people say to each other, a block to a session."""
    for number in range(events):
        session = number // GROUP_TURNS
        if number % GROUP_TURNS == 0:
            people = random.sample(range(PEOPLE), GROUP_PEOPLE)
        user = f"user-{random.choice(people)}"
        text = f"I like {random.choice(('chess', 'jazz', 'rye bread'))}."
        yield Draft(text, source=Source("chat", f"group-{session}", str(number % GROUP_TURNS)), said_at=START, author=user, scope=Scope())


def recording(folder: Path) -> Row:
    """Sealing and recording, in the rounds in which a gateway does it."""
    store = filled(folder / "recording", chats(ROUND, people=4, seed=1))
    events, found = heard(store), digests(store)
    recordings = Recordings(store, now=now, random=os.urandom)
    rounds = []
    for draw in range(20):
        attempts = [attempt(store, event, found, draw) for event in events]
        start = time.perf_counter()
        recordings.record(attempts, run=bytes(16))
        rounds.append((time.perf_counter() - start) / len(attempts) * 1e3)
    store.close()
    return Row("sealing and recording, for one call", statistics.median(rounds), 2, "ms", note=f"{ROUND} to a commit, of 9 KB each")


def knowing(folder: Path, count: int) -> Row:
    """Reading which recordings there are, as every process that asks does once: it is why no index of them is kept on disk."""
    store = filled(folder / "knowing", chats(PEOPLE, people=PEOPLE, seed=4))
    recordings, found = Recordings(store, now=now, random=os.urandom), digests(store)
    attempts = [attempt(store, event, found) for event in heard(store)]
    for _ in range(-(-count // len(attempts))):
        recordings.record(attempts, run=bytes(16))
    assert store.calls is not None
    start = time.perf_counter()
    Index().follow(store.calls)
    seconds = time.perf_counter() - start
    size = sum(part.size for part in store.calls.refresh()[0].parts)
    store.close()
    note = f"{seconds:.2f} s for {count:,} of {size / count / 1e3:.0f} KB each; a call takes a thousand times as long"
    return Row("knowing which recordings there are, for each", seconds / count * 1e6, 60, "µs", note=note)


def attempt(store: Store, event: Event, found: Mapping[EventId, bytes], draw: int = 0) -> Unrecorded:
    request = about(store, NOWHERE, event, found=found, draw=draw)
    return made_up(store, request, (Input.of(event),), answer_bytes=ANSWER)


def memory(folder: Path, few: int, many: int) -> Row:
    """The peak of a process that replays many calls, against one that replays few."""
    peaks = []
    for count in (few, many):
        place = folder / f"replay-{count}"
        store = filled(place, chats(count, people=PEOPLE, seed=2))
        recordings, events, found = Recordings(store, now=now, random=os.urandom), heard(store), digests(store)
        for first in range(0, len(events), 256):
            recordings.record([attempt(store, event, found) for event in events[first : first + 256]], run=bytes(16))
        store.close()
        command = [sys.executable, "-m", "tests.benchmarks.calls", str(place)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1024)
    note = f"{peaks[1]:.0f} MiB for {many:,} against {peaks[0]:.0f} MiB for {few:,}"
    return Row(f"peak memory of replaying {many:,} calls against {few:,}", peaks[1] / peaks[0], 1.25, note=note)


def replay(folder: Path) -> None:
    """Replay all calls of a store, as many at a time as a fold does."""
    with open_store(places(folder / "store", folder / "vault", folder / "root", env={})) as store:
        gateway, found = Gateway(store, limits=limits(), mode=Mode.REPLAY, now=now, env={}), digests(store)
        for events in store.log.events():
            for first in range(0, len(events), 256):
                some: Sequence[Event] = events[first : first + 256]
                declared = manifest(store, some)
                for one in gateway.answer((about(store, NOWHERE, event, found=found), declared) for event in some):
                    assert one.call_id


def filled(folder: Path, drafts: Iterator[Draft] | Sequence[Draft]) -> Store:
    store = create(places(folder / "store", folder / "vault", folder / "root", env={}), now=now)
    told = list(drafts)
    for first in range(0, len(told), BATCH):
        ingest.add(store, told[first : first + BATCH], now=now, random=os.urandom)
    return store


if __name__ == "__main__":
    replay(Path(sys.argv[1]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
