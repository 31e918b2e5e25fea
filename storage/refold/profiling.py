"""Profiling: the last step of a fold before it is published, where a recipe asks for it. A model tells each entity in sentences.

What it is told are facts of one scope and one set of labels, as these alone see them, so that nothing passes from one reader to another.
Only entities of which a statement came, went or changed are looked at; whoever is told by the same facts as before is answered by the
recording of then. What a model said is told to no model again: not here, and not where events are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from refold.asking import DRAWS_MAX, Input, Model, input_of
from refold.calls import keys
from refold.calls.checked import Manifest
from refold.calls.gateway import Answer
from refold.errors import WorkerFailed
from refold.fold import profile
from refold.fold.profile import Answered, Job, Premise, Reading, Sentence
from refold.fold.recipe import ModelRecipe, Profiles
from refold.fold.relations import Relations
from refold.fold.request import Request
from refold.log.log import Log
from refold.model import Event, EventId, View
from refold.reading import Claim, Fate
from refold.state import tables
from refold.state.builder import Builder
from refold.state.generation import State
from refold.state.sight import Sight
from refold.state.tables import PROFILES
from refold.state.visible import Visible

ENTITIES_AT_ONCE = 256  # so many requests are in memory, and are read by the worker at once
NO_ID = bytes(profile.ID_BYTES)

Class = tuple[int, int]  # tags of a scope and a set of labels
Touched = dict[Class, set[int]]  # mentions


@dataclass(frozen=True, slots=True)
class Profiled:
    """What the profiles of one fold came to."""

    entities: int  # that the model was asked about, or that a recording answered for
    fates: Mapping[Fate, int]  # of their sentences
    inputs: tuple[Input, ...]

    @property
    def sentences(self) -> int:
        return self.fates.get(Fate.STANDS, 0)

    @property
    def pending(self) -> int:
        return self.fates.get(Fate.PENDING, 0)

    @property
    def dropped(self) -> dict[str, int]:
        """Return how many sentences are not taken, by the reason."""
        return {fate.written: count for fate, count in sorted(self.fates.items()) if fate.drops}


def tell(builder: Builder, base: State | None, model: Model, relations: Relations) -> Profiled:
    """Ask for the profiles of what a fold changes, and put them in the place of older ones. Of no base all is new.

    An entity whose request fails is pending, without a profile. Raises NotRecorded, Undeclared, KeyMissing, Locked, WorkerFailed.
    """
    made: list[tuple[object, ...]] = []
    fates: Counter[Fate] = Counter()
    inputs: list[Input] = []
    entities = 0
    with ExitStack() as stack:
        whole, added = (stack.enter_context(closing(each)) for each in (builder.whole(), builder.added()))
        touched = _all(whole, relations) if base is None else _touched(whole, added, base, relations)
        for some in _batches(builder.store.log, whole, model.recipe, relations, touched):
            for one, sentences in _answers(model, some):
                made += _rows(model.recipe, one, sentences)
                fates.update(sentence.fate for sentence in sentences)
                inputs += one.inputs
                entities += 1
    if touched:
        builder.put_profiles(_put(base, touched, made))
    return Profiled(entities, fates, tuple(inputs))


class _Apart(Sight):
    """What one scope and one set of labels see of a state, and nothing beside it."""

    def __init__(self, state: State, relations: Relations, of: Class) -> None:
        super().__init__(state, View(), relations)
        self.visible = Visible(frozenset(of[:1]), frozenset(of[1:]))


# What changed


def _all(whole: State, relations: Relations) -> Touched:
    found = _by_class(whole.table("assertions", ["mention", "scope", "audience"]))
    return {of: _fellows([_Apart(whole, relations, of)], mentions) for of, mentions in found.items()}


def _touched(whole: State, added: State, base: State, relations: Relations) -> Touched:
    """Return the mentions of every entity about which something may be decided otherwise than in the base, or that is pending."""
    voided = np.array(sorted({seq for segment in added.manifest.segments for seq in segment.voids}), np.uint64)
    claims, edges = ["mention", "scope", "audience"], ["a", "scope", "audience"]
    touched = _by_class(added.table("assertions", claims))
    _join(touched, _by_class(_among(base.table("assertions", [*claims, "seq"]), "seq", voided)))
    _join(touched, _by_class(_among(base.table(PROFILES.name, [*claims, "fate"]), "fate", np.array([Fate.PENDING]))))
    named = _by_class(added.table("edges", edges), "a")
    _join(named, _by_class(_among(base.table("edges", [*edges, "seq"]), "seq", voided), "a"))
    sights = {of: (_Apart(base, relations, of), _Apart(whole, relations, of)) for of in {*touched, *named}}
    for of, mentions in named.items():
        _join(touched, {of: _resting(whole, base, _fellows(sights[of], mentions))})
    return {of: _fellows(sights[of], mentions) for of, mentions in touched.items()}


def _resting(whole: State, base: State, mentions: set[int]) -> set[int]:
    """Return some mentions, those about which something is said with one of them as the value, and those of which one of them speaks."""
    near = {about for state in (whole, base) for valuing in state.mentions_valuing(mentions).values() for about in valuing}
    said = whole.table("assertions", ["mention", "asserted_by"])
    spoken = _among(said, "asserted_by", np.array(sorted(mentions), np.uint64))["mention"].to_pylist()
    return mentions | near | set(spoken)


def _fellows(sights: Iterable[Sight], mentions: set[int]) -> set[int]:
    """Return the mentions of all entities that some mentions belong to, now or before."""
    return {mention for sight in sights for component in sight.components(mentions) for mention in component.mentions}


def _by_class(rows: pa.Table, column: str = "mention") -> Touched:
    found: Touched = {}
    for mention, scope, audience in zip(*(rows[name].to_pylist() for name in (column, "scope", "audience")), strict=True):
        found.setdefault((scope, audience), set()).add(mention)
    return found


def _join(found: Touched, more: Touched) -> None:
    for of, mentions in more.items():
        found.setdefault(of, set()).update(mentions)


def _among(rows: pa.Table, column: str, wanted: np.ndarray) -> pa.Table:
    return rows.filter(pa.array(np.isin(rows[column].to_numpy(), wanted)))


# What is asked


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of an entity in one scope under one set of labels."""

    of: Class
    mention: int  # that stands for it
    held: int  # facts that could be told
    told: tuple[Claim, ...]  # in the order in which they were said
    joins: tuple[int, ...]  # seqs of the alias statements without which these would not be told together

    @property
    def seqs(self) -> set[int]:
        """Return the entries of all events behind it."""
        return {seq for claim in self.told for seq in (claim.seq, claim.newest_seq, claim.named_seq) if seq is not None} | set(self.joins)


@dataclass(frozen=True, slots=True)
class _Asked:
    """An entity that is asked about, and what was sent so far."""

    known: _Known
    premises: tuple[Premise, ...]  # in the order in which they are told
    events: tuple[Event, ...]  # behind these
    request: Request
    inputs: tuple[Input, ...] = ()
    call_id: bytes | None = None  # that answered


def _batches(log: Log, whole: State, recipe: ModelRecipe, relations: Relations, touched: Touched) -> Iterator[list[_Asked]]:
    """Yield the entities that have enough to be told, some at a time."""
    for of in sorted(touched):
        mentions = sorted(touched[of])
        for start in range(0, len(mentions), ENTITIES_AT_ONCE):
            some = set(mentions[start : start + ENTITIES_AT_ONCE])
            sight = _Apart(whole, relations, of)  # anew: it keeps what it read
            entities = [each.entity for each in sight.components(some) if each.entity in some]
            sight.stances_each(entities)
            found = [known for entity in entities if (known := _known(sight, of, entity, _rules(recipe))) is not None]
            events = {seq: log.event(seq) for seq in sorted({seq for known in found for seq in known.seqs})}
            yield [_asked(known, recipe, events) for known in found]


def _known(sight: Sight, of: Class, entity: int, rules: Profiles) -> _Known | None:
    """Return what is known of an entity; None where that is too little for a profile."""
    held = profile.tellable(sight.stances(entity))
    if len(held) < rules.facts_min:
        return None
    mentions = sight.mentions_of(entity)
    edges = sight.edges_of(mentions) if len(mentions) > 1 else []
    joins = {edge.seq for edge in edges if edge.b in mentions}
    return _Known(of, entity, len(held), tuple(held[-rules.facts :]), tuple(sorted(joins)))


def _asked(known: _Known, recipe: ModelRecipe, events: Mapping[int, Event]) -> _Asked:
    premises = profile.ordered(_premise(claim, known.joins, events) for claim in known.told)
    behind = tuple(events[seq] for seq in sorted(known.seqs))
    return _Asked(known, premises, behind, profile.request(recipe, premises))


def _premise(claim: Claim, joins: Sequence[int], events: Mapping[int, Event]) -> Premise:
    seqs = (claim.seq, *joins) if claim.named_seq is None else (claim.seq, claim.named_seq, *joins)
    return Premise(claim, profile.told(claim), tuple(sorted({events[seq].event_id for seq in seqs})))


def _rules(recipe: ModelRecipe) -> Profiles:
    assert recipe.profile is not None, "the recipe asks for no profiles"
    return recipe.profile


# What is answered


def _answers(model: Model, some: Sequence[_Asked]) -> Iterator[tuple[_Asked, tuple[Sentence, ...]]]:
    """Ask, and yield what each entity came to: an answer in another form is asked for again."""
    manifest = _manifest(model.recipe, some)
    asked, draw = list(some), 0
    while asked:
        draw += 1
        answered: list[tuple[_Asked, Answer]] = []
        for one, answer in zip(asked, model.gateway.answer([(each.request, manifest) for each in asked]), strict=True):
            sent = replace(one, inputs=(*one.inputs, input_of(answer)), call_id=answer.call_id)
            if isinstance(answer, Answer):
                answered.append((sent, answer))
            else:
                yield sent, (Sentence(Fate.PENDING),)
        asked = []
        for (one, _), reading in zip(answered, _read(model, answered), strict=True):
            if reading.readable:
                yield one, reading.sentences
            elif draw < DRAWS_MAX:
                asked.append(replace(one, request=replace(one.request, draw=draw)))
            else:
                yield one, (Sentence(Fate.UNREADABLE_ANSWER),)


def _manifest(recipe: ModelRecipe, some: Sequence[_Asked]) -> Manifest:
    """Return what the requests may be made of: the facts, as the state has them, and the events behind those, as the log does."""
    events: dict[EventId, keys.Input] = {event.event_id: keys.Input.of(event) for one in some for event in one.events}
    return Manifest(profile.declared(recipe, (premise for one in some for premise in one.premises)), events)


def _read(model: Model, answered: Sequence[tuple[_Asked, Answer]]) -> tuple[Reading, ...]:
    if not answered:
        return ()
    rules = _rules(model.recipe)
    job = Job(rules.sentences, rules.characters, tuple(Answered(answer.content, len(one.premises)) for one, answer in answered))
    try:
        return profile.decode_result(model.read(profile.encode_job(job)))
    except (ValueError, TypeError):
        raise WorkerFailed("the worker answered in another form than was asked for") from None


# What is kept


def _rows(recipe: ModelRecipe, one: _Asked, sentences: Sequence[Sentence]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of an entity, in the order of the columns."""
    known = one.known
    newest = max(event.seq for event in one.events), max(event.recorded_at for event in one.events)
    for place, sentence in enumerate(sentences):
        premises = [one.premises[at].claim.fact_id for at in sentence.premises]
        own = profile.sentence_id(recipe, place, sentence.text, premises) if premises else NO_ID
        said = (place, int(sentence.fate), sentence.text, known.told[-1].entity, premises, own)
        yield (known.mention, *known.of, *said, len(known.told), known.held, *newest, recipe.extractor, one.call_id)


def _put(base: State | None, touched: Touched, made: Sequence[tuple[object, ...]]) -> pa.Table:
    """Return all profiles: those made now, and of the base's those of whom nothing changed."""
    schema = PROFILES.schema
    columns = [*zip(*made, strict=True)] or [()] * len(schema)
    rows = pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)
    if base is not None:
        older = base.table(PROFILES.name)
        of = zip(*(older[name].to_pylist() for name in ("mention", "scope", "audience")), strict=True)
        stays = [mention not in touched.get((scope, audience), ()) for mention, scope, audience in of]
        rows = pa.concat_tables([older.filter(pa.array(stays, pa.bool_())), rows])
    return tables.in_order(PROFILES, rows)
