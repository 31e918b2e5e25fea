"""The worker: reads the answers of a model, and lets the gate refuse what is not grounded. Pure: bytes in, bytes out.

It is what runs in a closed process. Whatever a model answers, this returns: an answer that is not in the form asked for is not readable,
and a statement in it that is not becomes a rejection with a code.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from refold.fold import dates, english, profile
from refold.fold.extraction import EdgeCandidate, Extraction
from refold.fold.ground import ALIAS, Told, ground, is_quote
from refold.fold.job import Answered, Job, Reading, decode_job, encode_job, encode_result
from refold.fold.prompt import ACTS, MODALITIES
from refold.fold.relations import Kind, Relation, Relations, SaidBy
from refold.model import Act, Event, Modality, Span, Validity, normalise
from refold.reading import Candidate, Folded, Rejection, RejectionCode

FACT = frozenset(("event", "relation", "act", "modality", "entity", "entity_in", "value", "qualifier", "words", "when"))
EDGE = frozenset(("event", "act", "a", "b", "words"))
STATEMENTS_MAX = 1_000  # of one answer
FIRST_PERSON = frozenset(("i", "me", "my", "mine", "myself"))


class _Refused(Exception):
    """A statement that is no candidate: why, and which event it would rest on."""

    def __init__(self, code: RejectionCode) -> None:
        super().__init__()
        self.code = code


def answering(given: bytes) -> Callable[[bytes], bytes]:
    """Return what reads the answers of a job by these relations, the text of relations.toml. The same bytes give the same bytes."""
    read = partial(answer, Relations.load(given.decode()))
    for empty in (encode_job(Job("", 0, ())), profile.encode_job(profile.Job(0, 0, ()))):
        read(empty)  # the forms of types are made on first use, by compiling code, which a closed worker may not do
    return read


def answer(relations: Relations, job: bytes) -> bytes:
    """Return what the answers of a job come to: about events, or for profiles."""
    if job.startswith(profile.JOB):
        return profile.answer(job)
    given = decode_job(job)
    return encode_result([_read(given, relations, answered) for answered in given.answers])


def _read(job: Job, relations: Relations, answered: Answered) -> Reading:
    statements = _parsed(answered.content)
    if statements is None:
        return Reading(False, Folded())
    facts, edges = statements
    candidates: dict[str, list[Candidate]] = defaultdict(list)
    pairs: dict[str, list[EdgeCandidate]] = defaultdict(list)
    refused: list[Rejection] = []
    read = {alias: told for alias, told in answered.events.items() if alias.startswith("e")}
    for form in facts:
        try:
            alias, candidate = _candidate(form, answered.events, read, relations)
            candidates[alias].append(candidate)
        except _Refused as why:
            refused.append(_rejection(form, read, why.code, relations))
    for form in edges:
        try:
            alias, edge = _edge(form, read)
            pairs[alias].append(edge)
        except _Refused as why:
            refused.append(_rejection({**form, "relation": ALIAS} if isinstance(form, dict) else form, read, why.code, relations))
    others = {told.event.seq: told for told in answered.events.values()}
    grounded = [
        ground(
            told.event,
            Extraction(tuple(candidates[alias]), tuple(pairs[alias]), is_cut=len(told.event.text) > job.characters),
            relations,
            fact_key=told.fact_key,
            extractor=job.extractor,
            told=others,
            call_id=answered.call_id,
        )
        for alias, told in read.items()
    ]
    return Reading(True, _sum(grounded, refused))


def _sum(grounded: list[Folded], refused: list[Rejection]) -> Folded:
    return Folded(
        tuple(one for folded in grounded for one in folded.assertions),
        tuple(one for folded in grounded for one in folded.edges),
        (*refused, *(one for folded in grounded for one in folded.rejections)),
    )


def _parsed(content: str) -> tuple[list[Any], list[Any]] | None:
    """Return the statements of an answer; None where it is not the object that was asked for."""
    try:
        form = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(form, dict) or form.keys() != {"facts", "aliases"}:
        return None
    facts, edges = form["facts"], form["aliases"]
    if not isinstance(facts, list) or not isinstance(edges, list) or len(facts) + len(edges) > STATEMENTS_MAX:
        return None
    return facts, edges


def _rejection(form: object, read: Mapping[str, Told], code: RejectionCode, relations: Relations) -> Rejection:
    """Count a refused statement under its event, or the first one where it names none."""
    named = form if isinstance(form, dict) else {}
    cited, relation = named.get("event"), named.get("relation")
    told = read.get(cited) if isinstance(cited, str) else None
    known = isinstance(relation, str) and (relation in relations or relation == ALIAS)
    return Rejection((told or next(iter(read.values()))).event.seq, str(relation) if known else "", code)


def _candidate(form: object, events: Mapping[str, Told], read: Mapping[str, Told], relations: Relations) -> tuple[str, Candidate]:
    fact = _texts(form, FACT, optional=("entity", "value", "qualifier", "when"))
    alias, event = _cited(fact, read)
    if fact["relation"] not in relations:
        raise _Refused(RejectionCode.UNKNOWN_RELATION)
    relation = relations.by_name[fact["relation"]]
    act, modality = _among(fact["act"], ACTS), _among(fact["modality"], MODALITIES)
    words, value = _stated(event.text, fact["words"], fact["value"])
    qualifier = None if fact["qualifier"] is None else _near(event.text, fact["qualifier"], words, RejectionCode.UNGROUNDED_VALUE)
    entity, entity_span, entity_seq = _entity(fact, event, events, words)
    firm = relation.modality if modality == Modality.ASSERTED else Modality(modality)
    return alias, Candidate(
        relation=relation.name,
        act=Act(act),
        modality=firm,
        value=fact["value"],
        value_span=value,
        relation_span=words,
        entity=entity,
        entity_span=entity_span,
        qualifier=fact["qualifier"],
        qualifier_span=qualifier,
        value_is_entity=relation.value == "person",
        validity=_validity(fact["when"], event, relation, Act(act), firm),
        entity_seq=entity_seq,
    )


def _edge(form: object, read: Mapping[str, Told]) -> tuple[str, EdgeCandidate]:
    edge = _texts(form, EDGE, optional=("a",))
    alias, event = _cited(edge, read)
    act = Act(_among(edge["act"], ACTS))
    words = _near(event.text, edge["words"], (0, len(event.text)), RejectionCode.UNGROUNDED_VALUE)
    a = None if edge["a"] is None or normalise(edge["a"]) in FIRST_PERSON else edge["a"]
    a_span = None if a is None else _near(event.text, a, words, RejectionCode.UNGROUNDED_ENTITY)
    b_span = _near(event.text, edge["b"], words, RejectionCode.UNGROUNDED_ENTITY)
    return alias, EdgeCandidate(a, a_span, edge["b"], b_span, act, words)


def _texts(form: object, keys: frozenset[str], *, optional: tuple[str, ...]) -> dict[str, Any]:
    """Return a statement of which every value is a text, or null where that is allowed."""
    if not isinstance(form, dict) or form.keys() != keys:
        raise _Refused(RejectionCode.BAD_SHAPE)
    for key, value in form.items():
        if not (isinstance(value, str) and value) and not (value is None and key in optional):
            raise _Refused(RejectionCode.BAD_SHAPE)
    return form


def _cited(form: dict[str, Any], read: Mapping[str, Told]) -> tuple[str, Event]:
    if form["event"] not in read:
        raise _Refused(RejectionCode.UNKNOWN_EVENT)
    return form["event"], read[form["event"]].event


def _among(word: str, known: tuple[str, ...]) -> int:
    if word not in known:
        raise _Refused(RejectionCode.BAD_SHAPE)
    return known.index(word)


# Where the quotes stand


def _stated(text: str, words: str, value: str | None) -> tuple[Span, Span | None]:
    """Return where a statement stands and where its value does: in it, where that can be, else anywhere in the text."""
    places = list(_places(text, words, 0, len(text)))
    if not places:
        raise _Refused(RejectionCode.UNGROUNDED_VALUE)
    if value is None:
        return places[0], None
    for place in places:
        for inside in _places(text, value, *place):
            return place, inside
    return places[0], _near(text, value, places[0], RejectionCode.UNGROUNDED_VALUE)


def _near(text: str, words: str, place: Span, code: RejectionCode) -> Span:
    """Return where words stand: within a place, else first in the text."""
    for found in _places(text, words, *place):
        return found
    for found in _places(text, words, 0, len(text)):
        return found
    raise _Refused(code)


def _places(text: str, words: str, first: int, end: int) -> Iterator[Span]:
    """Yield where words stand between two places of a text, cutting no token in two."""
    at = text.find(words, first, end)
    while at >= 0:
        span = (at, at + len(words))
        if is_quote(text, span, words):
            yield span
        at = text.find(words, at + 1, end)


def _entity(fact: dict[str, Any], event: Event, events: Mapping[str, Told], words: Span) -> tuple[str | None, Span | None, int | None]:
    """Return the entity as written, where, and in which other event."""
    entity = fact["entity"]
    if entity is None or normalise(entity) in FIRST_PERSON:
        return None, None, None
    if normalise(entity) in english.PRONOUNS:
        raise _Refused(RejectionCode.UNGROUNDED_ENTITY)
    if fact["entity_in"] not in events:
        raise _Refused(RejectionCode.UNKNOWN_EVENT)
    named = events[fact["entity_in"]].event
    if named.seq != event.seq:
        return entity, _near(named.text, entity, (0, len(named.text)), RejectionCode.UNGROUNDED_ENTITY), named.seq
    for span in (*_places(event.text, entity, *words), *_places(event.text, entity, 0, len(event.text))):
        return entity, span, None
    if entity in (event.metadata.get("heading"), event.metadata.get("title")):
        return entity, None, None
    if normalise(entity) == normalise(event.speaker_name):
        return None, None, None
    raise _Refused(RejectionCode.UNGROUNDED_ENTITY)


def _validity(when: str | None, event: Event, relation: Relation, act: Act, modality: Modality) -> Validity:
    """Resolve the time that a statement names, by the rules that hold for all extractors."""
    if when is None:
        return Validity()
    if not any(_places(event.text, when, 0, len(event.text))):
        raise _Refused(RejectionCode.UNGROUNDED_VALUE)
    ahead = modality is Modality.PLANNED or relation.said_by is SaidBy.USER
    if act is Act.END:
        bare = dates.Bare.ENDS
    elif act is Act.DENY or relation.kind is Kind.EVENT or relation.modality is Modality.PLANNED:
        bare = dates.Bare.PERIOD
    else:
        bare = dates.Bare.BEGINS
    return dates.resolve(when, event.said_at, bare=bare, ahead=ahead)
