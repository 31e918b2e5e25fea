"""Asking: the part of a fold that a language model reads. It plans blocks, asks the gateway, and lets the worker read the answers.

A fold asks about the blocks that hold an event which is new or still pending, or have one as context; what older runs hold of their events
no longer counts then. A block without an answer leaves its events pending, with what was read of them before, if anything was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from refold.calls import keys
from refold.calls.checked import Manifest
from refold.calls.gateway import Answer, Failed, Gateway
from refold.errors import WorkerFailed
from refold.fold import prompt
from refold.fold.blocks import Block, Turn, blocks, touched
from refold.fold.ground import Told
from refold.fold.job import Answered, Job, Reading, decode_result, encode_job
from refold.fold.recipe import ModelRecipe
from refold.fold.relations import Relations
from refold.fold.request import Request, render
from refold.log.parts import Rows
from refold.model import Event
from refold.reading import Folded, Rejection, RejectionCode
from refold.state.generation import State
from refold.state.tags import Tags
from refold.store import Store
from refold.units import BYTES_OF_TOKEN

DRAWS_MAX = 3  # an answer that is not in the form asked for is asked for again, so often in all
JOB_ANSWERS = 64  # read by the worker at once

Read = Callable[[bytes], bytes]
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Model:
    """How events are read: by which recipe, through which gateway, and what reads the answers, bytes in and bytes out."""

    recipe: ModelRecipe
    gateway: Gateway
    read: Read


@dataclass(frozen=True, slots=True)
class Input:
    """One request of a fold, as it may be told to anybody: no text, and no digest that could be tested without a key."""

    call_id: str
    digest: str  # keyed: the replay tag
    size: int  # bytes of the request
    model: str
    made: bool  # now; else a recording was reused
    fault: str = ""
    prompt_tokens: int = 0  # as the provider counted them, in the answer
    completion_tokens: int = 0
    cost: int = 0  # in 10⁻⁹ of the price table's currency


@dataclass(frozen=True, slots=True)
class Asked:
    """A block that is asked about: its request, the events by alias, and which of them older runs may hold something of."""

    request: Request
    named: Mapping[str, Event]
    old: tuple[int, ...]
    earlier: tuple[Input, ...] = ()  # draws whose answers were in another form

    @property
    def source(self) -> str:
        """Return the source that it is about: a block is of one."""
        return next(iter(self.named.values())).source.document

    @property
    def read(self) -> list[Event]:
        """Return the events that are read, not only told."""
        return [event for alias, event in self.named.items() if alias.startswith("e")]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a block came to. Without an answer `folded` is None, and its events stay pending."""

    asked: Asked
    folded: Folded | None
    inputs: tuple[Input, ...]
    unreadable: bool = False  # there is an answer, and it is in another form than was asked for

    @property
    def events(self) -> list[Event]:
        return list(self.asked.named.values())

    @property
    def pending(self) -> list[int]:
        return [] if self.folded is not None else [event.seq for event in self.asked.read]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What asking would cost. `calls` is exact, but for what is asked again because an answer was in another form."""

    calls: int
    reused: int  # answered by a recording
    prompt_tokens: int  # reckoned by BYTES_OF_TOKEN
    completion_tokens: int  # reckoned by the recipe's answer_tokens for each event
    cost: float | None  # None without a price table
    currency: str

    @property
    def calls_max(self) -> int:
        """Return how many calls there are where every answer is in another form, so that each is asked for again as often as it may be.

        An attempt that fails on its way, and is tried again, is none of them.
        """
        return self.calls * DRAWS_MAX


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that the gateway has taken: of which group of blocks, about what, and what it may be made of."""

    group: int
    asked: Asked
    manifest: Manifest

    @property
    def pair(self) -> tuple[Request, Manifest]:
        return self.asked.request, self.manifest


class Asking:
    """The blocks of one fold: planned once, then asked batch by batch."""

    def __init__(
        self,
        store: Store,
        base: State | None,
        recipe: ModelRecipe,
        relations: Relations,
        *,
        first: int,
        end: int,
        chosen: Sequence[Block] | None = None,
    ) -> None:
        """Plan what the entries [first, end) bring with them, on a base that holds those before, or on none; or the `chosen` blocks."""
        self._store = store
        self._recipe = recipe
        self._wording = prompt.Wording.of(recipe, relations)
        self._first = first
        if chosen is not None:
            self._due, self.blocks = {seq for block in chosen for seq in block.all}, list(chosen)
            return
        pending = frozenset(base.pending) if base else frozenset()
        turns = _turns(store, base, first, end, pending)
        self._due = {turn.seq for turn in turns if turn.seq >= first} | pending
        self.blocks = touched(blocks(turns, parts=recipe.blocks.parts, context=recipe.blocks.context), self._due)

    def of(self, batches: Sequence[Range]) -> list[list[Block]]:
        """Return the blocks to ask about after each batch: when the last of the events that they are asked for is there."""
        starts = [first for first, _ in batches]
        found: list[list[Block]] = [[] for _ in batches]
        for block in self.blocks:
            last = max(seq for seq in block.all if seq in self._due)
            found[max(0, bisect_right(starts, last) - 1)].append(block)
        return found

    def estimate(self, gateway: Gateway) -> Estimate:
        """Return what asking would cost. Nothing is sent."""
        counts: Counter[str] = Counter()
        for block in self.blocks:
            asked, manifest = self.prepared([block])
            for one in asked:
                if gateway.recorded(one.request, manifest):
                    counts["reused"] += 1
                    continue
                counts["calls"] += 1
                counts["in"] += -(-len(render(one.request).body) // BYTES_OF_TOKEN)
                counts["out"] += self._recipe.answer_tokens * len(one.read)
        price = self._recipe.price
        cost = None if price is None else (counts["in"] * price.input + counts["out"] * price.output) / 1_000_000
        return Estimate(counts["calls"], counts["reused"], counts["in"], counts["out"], cost, price.currency if price else "")

    def ask(self, model: Model, chosen: Sequence[Block]) -> Iterator[Outcome]:
        """Ask about blocks and yield what each comes to. Raises NotRecorded, Undeclared, KeyMissing, Locked, WorkerFailed."""
        return self.stream(model, [chosen]).group()

    def stream(self, model: Model, groups: Sequence[Sequence[Block]]) -> Stream:
        """Ask about groups of blocks in one stream, so that none waits for the end of the one before."""
        return Stream(self, model, groups)

    def read(self, model: Model, held: Sequence[tuple[Asked, Answer]]) -> Iterator[Outcome]:
        """Let the worker read some answers. Raises WorkerFailed."""
        events = {event.event_id: event for one, _ in held for event in one.named.values()}
        told = {event_id: Told(event, self._store.log.fact_key(event)) for event_id, event in events.items()}
        answers = tuple(
            Answered(answer.call_id, {alias: told[event.event_id] for alias, event in one.named.items()}, answer.content)
            for one, answer in held
        )
        readings = _result(model.read, Job(model.recipe.extractor, model.recipe.blocks.event_characters, answers))
        if len(readings) != len(held):
            raise WorkerFailed("the worker answered to another number of answers than it was given")
        for (one, answer), reading in zip(held, readings, strict=True):
            inputs = (*one.earlier, input_of(answer))
            yield Outcome(one, reading.folded if reading.readable else None, inputs, unreadable=not reading.readable)

    def prepared(self, chosen: Sequence[Block]) -> tuple[Iterator[Asked], Manifest]:
        """Read the events of blocks, and give their requests and the manifest of what these may hold: the one apart from the other."""
        log = self._store.log
        seqs = sorted({seq for block in chosen for seq in block.all})
        known = {seq: (log.event(seq), _digest(log.row(seq))) for seq in seqs}
        refs = {event.event_id: prompt.ref(self._wording, event, digest) for event, digest in known.values()}
        asked = (one for block in chosen for one in self._requests(block, known, refs))
        members = max((len(block.all) for block in chosen), default=0)
        declared = prompt.declared(self._wording, known.values(), members)
        return asked, Manifest(declared, {event.event_id: keys.Input.of(event) for event, _ in known.values()})

    def _requests(self, block: Block, known: Mapping[int, tuple[Event, bytes]], refs: prompt.Refs) -> Iterator[Asked]:
        """Yield the request about a block, or one for each of its events where their texts are too long for one."""
        rules = self._recipe.blocks
        size = sum(min(len(known[seq][0].text), rules.event_characters) for seq in block.seqs)
        for part in (block,) if size <= rules.characters else block.singles(rules.context):
            context, events = ([known[seq][0] for seq in seqs if _counts(known[seq][0])] for seqs in (part.context, part.seqs))
            if any(event.asserts for event in events):
                request = prompt.request(self._wording, context, events, refs)
                old = tuple(seq for seq in part.seqs if seq < self._first)
                yield Asked(request, prompt.aliases(context, events), old)


class Stream:
    """One stream of requests about groups of blocks: while the answers about one are read, requests about the next are out."""

    def __init__(self, asking: Asking, model: Model, groups: Sequence[Sequence[Block]]) -> None:
        self._asking = asking
        self._model = model
        self._groups = groups
        self._at = -1  # the group that is told
        self._made = 0  # groups of which every request was made
        self._out: deque[Sent] = deque()  # what the gateway took and has not answered
        self._ahead: deque[tuple[Sent, Answer | Failed]] = deque()  # what came of later groups
        self._answers = model.gateway.answer(self._requests())

    def group(self) -> Iterator[Outcome]:
        """Yield what the next group comes to. Raises NotRecorded, Undeclared, KeyMissing, Locked, WorkerFailed."""
        self._at += 1
        answered = self._answered()
        for draw in range(1, DRAWS_MAX + 1):
            again: list[Sent] = []
            for sent, outcome in self._read(answered):
                if outcome.folded is not None or not outcome.unreadable:
                    yield outcome
                elif draw < DRAWS_MAX:
                    asked = replace(sent.asked, request=replace(sent.asked.request, draw=draw), earlier=outcome.inputs)
                    again.append(replace(sent, asked=asked))
                else:
                    yield replace(outcome, folded=_unread(outcome.asked))
            if not again:
                return
            answered = zip(again, self._model.gateway.answer([one.pair for one in again]), strict=True)

    def _requests(self) -> Iterator[tuple[Request, Manifest]]:
        """Yield the requests of all groups. One is made when the gateway takes it, while others are out."""
        for number, group in enumerate(self._groups):
            asked, manifest = self._asking.prepared(group)
            for one in asked:
                self._out.append(Sent(number, one, manifest))
                yield self._out[-1].pair
            self._made = number + 1

    def _answered(self) -> Iterator[tuple[Sent, Answer | Failed]]:
        """Yield what the gateway answers to the requests of the group that is told, each once."""
        while self._ahead and self._ahead[0][0].group == self._at:
            yield self._ahead.popleft()
        while not self._has_ended():
            answer = next(self._answers, None)
            if answer is None:
                assert not self._out, "a request has no answer"
                return
            sent = self._out.popleft()
            if sent.group == self._at:
                yield sent, answer
            else:
                self._ahead.append((sent, answer))

    def _has_ended(self) -> bool:
        """Whether every request of the group that is told was made and answered."""
        return self._made > self._at and not (self._out and self._out[0].group == self._at)

    def _read(self, answered: Iterable[tuple[Sent, Answer | Failed]]) -> Iterator[tuple[Sent, Outcome]]:
        """Yield what requests come to: those that failed at once, the others as soon as the worker has read enough of them."""
        held: list[tuple[Sent, Answer]] = []
        for sent, answer in answered:
            if isinstance(answer, Answer):
                held.append((sent, answer))
            else:
                yield sent, Outcome(sent.asked, None, (*sent.asked.earlier, input_of(answer)))
            if len(held) == JOB_ANSWERS:
                yield from self._outcomes(held)
                held = []
        if held:
            yield from self._outcomes(held)

    def _outcomes(self, held: Sequence[tuple[Sent, Answer]]) -> Iterator[tuple[Sent, Outcome]]:
        read = self._asking.read(self._model, [(sent.asked, answer) for sent, answer in held])
        return zip((sent for sent, _ in held), read, strict=True)


def _result(read: Read, job: Job) -> tuple[Reading, ...]:
    try:
        return decode_result(read(encode_job(job)))
    except (ValueError, TypeError):
        raise WorkerFailed("the worker answered in another form than was asked for") from None


def _unread(asked: Asked) -> Folded:
    """Count the events of a block whose answers were all in another form."""
    return Folded(rejections=tuple(Rejection(event.seq, "", RejectionCode.UNREADABLE_ANSWER) for event in asked.read))


def _counts(event: Event) -> bool:
    """Whether an event is told at all: what was taken back on another branch of a chat is not."""
    return event.metadata.get("branch") != "abandoned"


def _turns(store: Store, base: State | None, first: int, end: int, pending: frozenset[int]) -> list[Turn]:
    """Return the places of the new events, and of all older ones of their sessions and of those with pending events."""
    tags = Tags(store.keyring.state_key)
    new = [Turn(tags.session(event), event.source.part, event.seq) for events in store.log.events(first, end) for event in events]
    if base is None:
        return new
    sessions = {turn.session for turn in new} | set(base.lookup("events", sorted(pending), ["session"])["session"].to_pylist())
    rows = base.having("events", "session", sessions, ["session", "part", "seq"]).to_pydict()
    return [*map(Turn, rows["session"], rows["part"], rows["seq"]), *new]


def _digest(rows: Rows) -> bytes:
    return rows.commits()[0]


def input_of(answer: Answer | Failed) -> Input:
    """Return what may be told to anybody of a request and what it came to."""
    call_id = "" if answer.call_id is None else answer.call_id.hex()
    if isinstance(answer, Answer):
        counted = (0, 0) if answer.tokens is None else (answer.tokens.prompt, answer.tokens.completion)
        return Input(call_id, answer.tag.hex(), answer.size, answer.model, answer.made, "", *counted, answer.cost or 0)
    return Input(call_id, answer.tag.hex(), answer.size, answer.model, answer.attempts > 0, answer.fault.value)
