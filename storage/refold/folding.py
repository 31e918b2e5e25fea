"""The fold as a verb: plan what is new, fold it batch by batch, publish a generation. Nightly and full folds are the same program.

Computing takes no lock. Publishing does, and where another fold was faster it raises Moved, and all is planned again.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from refold import journal, profiling
from refold.asking import Asking, Estimate, Input, Model
from refold.calls.costs import Cost
from refold.calls.pace import Spent
from refold.closed import fold as closed
from refold.closed.closure import Level
from refold.errors import Locked
from refold.fold.extraction import EXTRACTOR
from refold.fold.ground import fold_batch
from refold.fold.recipe import ModelRecipe
from refold.fold.relations import Relations
from refold.heads.checkpoint import Checkpointed, require_uncut
from refold.log.compact import PARTS_MAX, compact
from refold.model import Event
from refold.outside import Clock, Random
from refold.profiling import Profiled
from refold.reading import Folded
from refold.search_recipe import Recipe
from refold.state.builder import Builder, Moved, Point, Published, can_extend
from refold.state.generation import Absence, State
from refold.state.profiles import pending as awaits_profiles
from refold.store import Store
from refold.vectors import Vectored, Vectoring, owing

BATCH_ENTRIES_MIN = 256
BATCHES_MAX = 184  # with verify, plan, publish, catch-up, compact, checkpoint and ten mirrors, a flow has at most two hundred tasks
TRIES_MIN = 5  # as often is planned again, however long that takes
TRYING_SECONDS_MAX = 120.0  # after which a fold that others were faster than every time gives way

Report = Callable[[int, int], None]


class Reason(StrEnum):
    """Why a fold starts where it starts."""

    NEW = "new entries"
    NOTHING = "nothing new"
    FIRST = "nothing was folded yet"
    ASKED = "a full fold was asked for"
    ABSENT = "the state is not usable"
    RECIPE = "relations, extractor or search recipe changed"
    PENDING = "events are pending"
    PROFILES = "profiles are pending"


UNANSWERED = (Reason.PENDING, Reason.PROFILES)  # nothing is new, and a model is asked again


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """What a fold would do: read the entries [first, end) in batches, and publish."""

    first: int
    end: int
    reason: Reason
    batches: tuple[tuple[int, int], ...]
    estimate: Estimate | None = None  # of a model, where it was asked for
    vectors: Estimate | None = None  # the same of the model that makes vectors, where the search recipe names one
    profiles: int | None = None  # requests for pending profiles; None where the recipe asks for none. How many follow, nobody can know yet

    @property
    def full(self) -> bool:
        """Whether the new generation stands on none before it."""
        return self.reason in (Reason.FIRST, Reason.ASKED, Reason.ABSENT, Reason.RECIPE)

    @property
    def entries(self) -> int:
        return self.end - self.first


@dataclass(frozen=True, slots=True)
class BatchDone:
    """What one batch added."""

    first: int
    end: int
    events: int
    context_events: int  # of assistants, systems and tools: kept and searched, never asserted from
    assertions: int
    edges: int
    rejected: int
    dark: int  # entries whose key was destroyed
    pending: int = 0  # events that a model has not answered about
    inputs: tuple[Input, ...] = ()  # the requests to a model that were made, or answered by a recording


@dataclass(frozen=True, slots=True)
class FoldReport:
    """What a fold did."""

    plan: FoldPlan
    generation: int
    size: int  # entries of the log that are folded now
    events: int
    assertions: int
    edges: int
    rejected: int
    dark: int
    merged_rows: int
    compacted_parts: int
    checkpoint: Checkpointed | None = None  # the head that was signed afterwards
    closure_level: Level = Level.DECLARED  # how far what read the events was closed
    extractor: str = EXTRACTOR
    pending: int = 0  # events that a model has not answered about
    faults: Mapping[str, int] = field(default_factory=dict)  # why, by the requests that failed
    spent: Spent | None = None  # on a model
    currency: str = ""  # of the cost; "" without a price table, where nobody can say it
    sources: Mapping[str, Cost] = field(default_factory=dict)  # the same by what was asked about, without attempts that were tried again
    profiles: Profiled | None = None  # where the recipe asks for them
    vectors: Vectored | None = None  # what they took, where a model makes them

    @property
    def counts(self) -> dict[str, int]:
        """Return what was folded and tidied up, as every face tells it."""
        names = ("events", "assertions", "edges", "rejected", "dark", "merged_rows", "compacted_parts")
        return {name: getattr(self, name) for name in names}


class Fold:
    """One fold in progress. The batches go in order; nothing is seen by anybody before `publish`."""

    def __init__(
        self,
        store: Store,
        state: State,
        *,
        relations: Relations,
        recipe: Recipe,
        full: bool = False,
        until: Point | None = None,
        random: Random = os.urandom,
        fold_events: closed.FoldEvents | None = None,
        closure_level: Level = Level.DECLARED,
        model: Model | None = None,
        vectors: Vectoring | None = None,
    ) -> None:
        store.log.refuse_copy()
        journal.require_clear(store.places)
        self.store = store
        self._state = state
        self._fold_events = fold_events or partial(fold_batch, relations=relations)
        self.closure_level = closure_level
        head, _ = store.log.refresh()
        self._end: Point = until or head
        state.require_its_log()
        require_uncut(store)
        by = model.recipe if model else None
        self.plan = make_plan(self._end, state, relations=relations, recipe=recipe, by=by, full=full)
        base = None if self.plan.full else state
        self._builder = Builder(store, base, relations=recipe_digest(relations, by), recipe=recipe, random=random)
        self._model = model
        self._asking = Asking(store, base, model.recipe, relations, first=self.plan.first, end=self.plan.end) if model else None
        self._stream = self._asking.stream(model, self._asking.of(self.plan.batches)) if self._asking and model else None
        self._base, self._relations = base, relations
        self._vectors = vectors if recipe.vectors and recipe.vectors.model else None
        assert self._vectors or not (recipe.vectors and recipe.vectors.model), "a search recipe's model is not there to be asked"
        self._owing = owing(base) if self._vectors else []
        self._pending: set[int] = set()  # of the batch
        self.done: list[BatchDone] = []
        self.profiled: Profiled | None = None  # by `publish`, where the recipe asks for profiles
        self._costs: dict[str, Cost] = {}

    def batch(self, first: int, end: int) -> BatchDone:
        """Fold the entries [first, end). Raises Corrupt, KeyMissing."""
        tally: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        log = self.store.log
        self._pending = set()
        inputs = [*self._vectored([log.event(seq) for seq in self._owing])]
        self._owing = []
        for events, subjects in log.entries(first, end, tally=tally):
            asserting = [event for event in events if event.asserts]
            folded = Folded() if self._asking else self._fold_events([(event, log.fact_key(event)) for event in asserting])
            inputs += self._vectored(events)
            self._builder.add(events, folded, subjects=subjects)
            counts.update(events=len(events), context_events=len(events) - len(asserting), **_sizes(folded))
        inputs += self._ask(counts)
        counts["pending"] = len(self._pending)
        names = ("events", "context_events", "assertions", "edges", "rejected", "pending")
        done = BatchDone(first, end, **{name: counts[name] for name in names}, dark=tally["dark"], inputs=tuple(inputs))
        self.done.append(done)
        return done

    def _ask(self, counts: Counter[str]) -> Iterator[Input]:
        """Let a model read the blocks that the batch completed, and yield what it was sent."""
        if self._stream is None:
            return
        for outcome in self._stream.group():
            if outcome.folded is None:
                self._leave_pending(outcome.pending)
            else:
                self._builder.add_folded(outcome.events, outcome.folded, voids=outcome.asked.old)
                counts.update(**_sizes(outcome.folded))
            self._count_cost(outcome.asked.source, outcome.inputs)
            yield from outcome.inputs

    def _vectored(self, events: Sequence[Event]) -> Iterator[Input]:
        """Let a model tell what events are about, where one does, and yield what it was sent."""
        for made in self._vectors.of(events) if self._vectors and events else ():
            if made.vector is None:
                self._leave_pending([made.event.seq])
            else:
                self._builder.add_vectors([(made.event.seq, made.vector)])
            if made.input is not None:
                self._count_cost(made.event.source.document, [made.input])
                yield made.input

    def _leave_pending(self, seqs: Collection[int]) -> None:
        self._builder.leave_pending(seqs)
        self._pending.update(seqs)

    def _count_cost(self, source: str, inputs: Iterable[Input]) -> None:
        own = self._costs.setdefault(source, Cost())
        for one in inputs:
            if one.made:
                own.add(one.prompt_tokens, one.completion_tokens, one.cost)
            else:
                own.reused += 1

    def publish(self, *, now: Clock) -> Published | None:
        """Make what was folded the current generation; None where there is nothing new. Raises Moved, Locked, WriteFailed."""
        assert [(done.first, done.end) for done in self.done] == [*self.plan.batches], "a batch is missing"
        if self.plan.reason is Reason.NOTHING:
            return None
        if self._model is not None and self._model.recipe.profile is not None:
            self.profiled = profiling.tell(self._builder, self._base, self._model, self._relations)
        return self._builder.publish(self._end, now=now)

    @property
    def inputs(self) -> list[Input]:
        """Return every request to a model that was made, or answered by a recording."""
        return [*(one for done in self.done for one in done.inputs), *(self.profiled.inputs if self.profiled else ())]

    def report(self, published: Published | None, *, compacted_parts: int) -> FoldReport:
        """Return the sum of what was done."""
        names = ("events", "assertions", "edges", "rejected", "dark", "pending")
        sums = {name: sum(getattr(done, name) for done in self.done) for name in names}
        state, merged_rows = (published.state, published.merged_rows) if published else (self._state, 0)
        return FoldReport(
            self.plan,
            state.number,
            state.size,
            **sums,
            merged_rows=merged_rows,
            compacted_parts=compacted_parts,
            closure_level=self.closure_level,
            extractor=self._model.recipe.extractor if self._model else EXTRACTOR,
            faults=Counter(one.fault for one in self.inputs if one.fault),
            profiles=self.profiled,
            spent=self._model.gateway.spent if self._model else None,
            currency=self._model.recipe.price.currency if self._model and self._model.recipe.price else "",
            sources=self._costs,
            vectors=self._vectors.done if self._vectors else None,
        )


def _sizes(folded: Folded) -> dict[str, int]:
    return {"assertions": len(folded.assertions), "edges": len(folded.edges), "rejected": len(folded.rejections)}


def make_plan(
    end: Point, state: State, *, relations: Relations, recipe: Recipe, by: ModelRecipe | None = None, full: bool = False
) -> FoldPlan:
    """Decide where a fold starts, and cut it into batches: as few as two hundred, however long the log."""
    if full:
        reason = Reason.ASKED
    elif state.absent is not None:
        reason = Reason.FIRST if state.absent is Absence.NEVER else Reason.ABSENT
    elif not can_extend(state, relations=recipe_digest(relations, by), recipe=recipe):
        reason = Reason.RECIPE
    elif state.size < end.size:
        reason = Reason.NEW
    else:
        reason = Reason.PENDING if state.pending else Reason.PROFILES if awaits_profiles(state) else Reason.NOTHING
    first = state.size if reason in (Reason.NEW, *UNANSWERED, Reason.NOTHING) else 0
    step = max(BATCH_ENTRIES_MIN, -(-(end.size - first) // BATCHES_MAX))
    batches = tuple((start, min(start + step, end.size)) for start in range(first, end.size, step))
    if reason in UNANSWERED:
        batches = ((first, first),)  # nothing to read, and something to ask
    return FoldPlan(first, end.size, reason, batches)


def fold(
    store: Store,
    state: State,
    *,
    relations: Relations,
    recipe: Recipe,
    full: bool = False,
    now: Clock,
    random: Random = os.urandom,
    progress: Report | None = None,
    require_closure: Level | None = None,
    timer: Callable[[], float] = time.monotonic,
    model: Model | None = None,
    vectors: Vectoring | None = None,
) -> FoldReport:
    """Fold all that is new (all there is, if `full`), publish it, and compact the log. Raises Corrupt, Locked, WriteFailed.

    With `require_closure` the events are read in a closed worker. Raises NotAllowed where less can be had, ClosureBroken, WorkerFailed.
    """
    with closed.folding(relations, require=require_closure) as (fold_events, level):
        make = partial(
            Fold,
            store,
            relations=relations,
            recipe=recipe,
            full=full,
            random=random,
            fold_events=fold_events,
            closure_level=level,
            model=model,
            vectors=vectors,
        )
        published, work = _fold(make, state, now=now, progress=progress, timer=timer)
    return work.report(published, compacted_parts=compact_log(store, now=now, random=random))


def _fold(
    make: Callable[[State], Fold], state: State, *, now: Clock, progress: Report | None, timer: Callable[[], float]
) -> tuple[Published | None, Fold]:
    """Fold and publish. Where another fold published first, plan again, on what it published: each time one of several gets through."""
    until = timer() + TRYING_SECONDS_MAX
    tried = 0
    while True:
        tried += 1
        work = make(state)
        for first, end in work.plan.batches:
            work.batch(first, end)
            if progress:
                progress(end - work.plan.first, work.plan.entries)
        try:
            return work.publish(now=now), work
        except Moved:
            if tried >= TRIES_MIN and timer() > until:
                raise Locked(f"other folds published first, {tried} times in a row", hint="refold fold") from None
            state = State.open(work.store)


def compact_log(store: Store, *, now: Clock, random: Random = os.urandom) -> int:
    """Merge small parts of the log, and of that of the calls, where there are many; return how many were merged.

    None are where somebody else is at it.
    """
    both = [log for log in (store.log, store.calls) if log is not None]
    guard = partial(journal.settle, store.places)
    try:
        return sum(compact(log, parts_max=PARTS_MAX, guard=guard, now=now, random=random).merged for log in both)
    except Locked:
        return 0  # what holds the lock publishes, compacts or erases: the next fold comes by again


def recipe_digest(relations: Relations, by: ModelRecipe | None = None) -> bytes:
    """Return what the assertions of a generation depend on besides the log: the extractor, or the model's recipe, and the relations."""
    extractor = EXTRACTOR.encode() if by is None else by.digest
    return hashlib.sha256(extractor + b"\0" + relations.digest).digest()
