"""From a matched pattern to candidates: whose statement it is, how firm, for which time, and what the speaker takes back at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from refold.fold import dates, english
from refold.fold.clauses import Opening, told_by
from refold.fold.matching import Binding
from refold.fold.patterns import WHEN, Pattern, Shape, Slot
from refold.fold.relations import Cardinality, Kind, Relation, SaidBy, Value
from refold.fold.scene import CLAUSE_ENDS, Range, Scene
from refold.fold.slots import fill
from refold.fold.withheld import is_open, kept
from refold.model import Act, Modality, Span, Validity
from refold.reading import Candidate

_HEDGES = english.by_first(english.TRAILING_HEDGES)
_PARTING = frozenset((";", ".", "but", "because", "so", "and", "then", "later", "while", "i", "we", "he", "she", "they"))
_SEQUELS = frozenset(("then", "later", "afterwards", "finally", "eventually", "subsequently"))
_GAP_MAX = 6  # words between a statement and its time
_PLURALS = frozenset(("children",))
_PREPOSITIONS = english.PREPOSITIONS | {"to", "as"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A pattern that was found, before it is put into candidates."""

    scene: Scene
    relation: Relation
    pattern: Pattern
    binding: Binding
    opening: Opening
    entities: tuple[Span | None, ...]  # None: whoever speaks
    begin: int  # the first word of it
    act: Act
    modality: Modality


def candidates(statement: Statement, said_at: int) -> list[Candidate]:
    """Return what a statement claims, one candidate for each entity and value, and what it denies in the same breath."""
    binding = statement.binding
    values = kept(_values(statement), binding, statement.scene, statement.relation, statement.act)
    if (binding.slot and not values) or (statement.act is Act.DENY and is_open(binding, statement.scene, statement.begin)):
        return []
    ranges: list[Range | None] = list(values) if binding.slot else [None]
    statement = replace(statement, modality=_firmness(statement))
    found = [_candidate(statement, entity, value, said_at) for entity in statement.entities for value in ranges]
    if WHEN in statement.pattern.rest and not all((one.validity.start or 0) > said_at for one in found):
        return []
    contrast = _contrast(statement)
    if contrast:
        act, after = contrast
        other = replace(statement, act=act, binding=after)
        found += [_candidate(other, entity, value, said_at) for entity in statement.entities for value in after.values]
    for after in _sequels(statement):
        next_one = replace(statement, binding=after)
        found += [_candidate(next_one, entity, value, said_at) for entity in statement.entities for value in after.values]
    return found


def _sequels(statement: Statement) -> Iterator[Binding]:
    """Yield what came after the value of a state that has one at a time: "to Munich and then to Rome", "Acme, later Globex"."""
    scene, binding = statement.scene, statement.binding
    if statement.act is not Act.SAY or statement.relation.cardinality is not Cardinality.ONE or len(binding.values) != 1:
        return
    while binding.slot is not None and binding.slot.kind in ("Place", "Name"):
        at = scene.time_at.get(binding.end, binding.end)
        at += scene.word(at) == ","
        at += scene.word(at) in ("and", "but")
        if scene.word(at) not in _SEQUELS:
            return
        at += 1
        at += scene.word(at) in ("back", "on")
        other = refill(binding.slot, scene, at)
        if other is None:
            return
        binding = replace(binding, end=other[1], values=other[0], time=None)
        yield binding


def _values(statement: Statement) -> list[Range]:
    """Return the values; a qualifier in the singular ("my sister") takes one."""
    binding = statement.binding
    if binding.qualifier is None or len(binding.values) == 1:
        return binding.values
    word = statement.scene.words[binding.qualifier[1] - 1]
    is_plural = (word.endswith("s") and not word.endswith("ss")) or word in _PLURALS
    return binding.values if is_plural else binding.values[:1]


def _candidate(statement: Statement, entity: Span | None, value: Range | None, said_at: int) -> Candidate:
    scene, binding = statement.scene, statement.binding
    sentence = scene.sentence
    time = _time(statement)
    end = max(binding.end, value[1] if value else 0)
    if time and 0 <= time[0] - end <= 1:
        end = time[1]
    while end > statement.begin + 1 and (scene.words[end - 1] in CLAUSE_ENDS or scene.words[end - 1] in ('"', "'")):
        end -= 1
    value_span = sentence.span(*value) if value else None
    qualifier_span = sentence.span(*binding.qualifier) if binding.qualifier else None
    return Candidate(
        relation=statement.relation.name,
        act=statement.act,
        modality=statement.modality,
        value=sentence.text[slice(*value_span)] if value_span else None,
        value_span=value_span,
        relation_span=sentence.span(statement.begin, end),
        entity=sentence.text[slice(*entity)] if entity else None,
        entity_span=entity,
        qualifier=sentence.text[slice(*qualifier_span)] if qualifier_span else None,
        qualifier_span=qualifier_span,
        value_is_entity=statement.relation.value is Value.PERSON,
        validity=_validity(statement, time, said_at) if time else Validity(),
    )


# Times


def _time(statement: Statement) -> Range | None:
    """Return the words of the time that a statement names: before it, within it, or soon behind it."""
    binding, scene = statement.binding, statement.scene
    if binding.time or not scene.times or statement.pattern.shape is Shape.PHRASE:
        return binding.time
    behind = binding.end - (scene.word(binding.end - 1) == "since")  # a `since` of the pattern belongs to its time
    for first, end in scene.times:
        if first >= behind:
            between = scene.words[binding.end : first]
            if len(between) <= _GAP_MAX and _PARTING.isdisjoint(between):
                return first, end
            break
    return statement.opening.time


def _validity(statement: Statement, time: Range, said_at: int) -> Validity:
    sentence = statement.scene.sentence
    words = sentence.text[slice(*sentence.span(*time))]
    relation, slot = statement.relation, statement.binding.slot
    is_ahead = Modality.PLANNED in (statement.modality, relation.modality) or relation.said_by is SaidBy.USER
    if statement.act is Act.END:
        bare = dates.Bare.ENDS
    elif (
        statement.act is Act.DENY
        or relation.kind is Kind.EVENT
        or relation.modality is Modality.PLANNED
        or (slot and slot.kind == "Action")
    ):
        bare = dates.Bare.PERIOD
    else:
        bare = dates.Bare.BEGINS
    return dates.resolve(words, said_at, bare=bare, ahead=is_ahead)


# How firm


def _firmness(statement: Statement) -> Modality:
    """Return the weakest of what the opening, the verb and the words behind the statement make of it."""
    scene = statement.scene
    modality = max(statement.modality, statement.opening.modality, Modality.REPORTED if scene.sentence.voice else Modality.ASSERTED)
    at = statement.binding.end
    if statement.pattern.shape is Shape.PHRASE:  # what is taken for granted is as firm as it is, whatever is said of it
        return max(modality, statement.relation.modality)
    for place in (at, scene.time_at.get(at, at)):
        place += scene.word(place) == ","
        if english.longest(scene.words, place, _HEDGES):
            modality = max(modality, Modality.HEDGED)
        elif scene.word(place) in english.REPORTS or (place < len(scene.words) and scene.word(place - 1) == "," and told_by(scene, place)):
            modality = Modality.REPORTED
    if modality is Modality.ASSERTED:
        return statement.relation.modality
    return modality


def has_duration(statement: Statement) -> bool:
    """Whether a `since` or `for` carries the statement up to now."""
    words = statement.scene.words
    if "since" in (*words[max(0, statement.begin - 8) : statement.begin], statement.scene.word(statement.binding.end)):
        return True
    time = _time(statement)
    return time is not None and not english.EVER_SINCE.isdisjoint(statement.scene.words[slice(*time)])


# Taken back at once


def _contrast(statement: Statement) -> tuple[Act, Binding] | None:
    """Read "in Munich, not Berlin" and "not in Berlin but in Munich": the other value, and what is said of it."""
    scene, binding = statement.scene, statement.binding
    if binding.slot is None or binding.slot.kind in ("Action", "Doing", "Rest") or len(binding.values) != 1:
        return None
    at = scene.time_at.get(binding.end, binding.end)
    at += scene.word(at) in ("now", "anymore", "instead", "actually")
    at += scene.word(at) in (",", "\u2014", "(")
    at += scene.word(at) in ("and", "but") and scene.word(at + 1) == "not"
    if statement.act is Act.SAY and scene.word(at) == "not" and scene.word(at + 1) != "only":
        act, at = Act.DENY, at + 1
    elif statement.act is Act.DENY and scene.word(at) == "but":
        act, at = Act.SAY, at + 1
    elif statement.act is Act.DENY and scene.word(at) in ("it", "that") and scene.word(at + 1) in ("'s", "is"):
        act, at = Act.SAY, at + 2
    else:
        return None
    other = refill(binding.slot, scene, at)
    return (act, replace(binding, end=other[1], values=other[0], time=None)) if other else None


def refill(slot: Slot, scene: Scene, at: int) -> tuple[list[Range], int] | None:
    """Fill a slot once more where a correction names another value; the clause must end with it."""
    at += scene.word(at) in english.ADVERBS or scene.word(at) == "rather"
    at += scene.word(at) in _PREPOSITIONS
    filled = fill(slot, scene, at)
    if filled is None:
        return None
    after = filled[1]
    closed = (
        scene.is_closed(after)
        or after in scene.time_at
        or scene.words[after] in english.CONJUNCTIONS | {"any", "anymore", "now", "instead"}
    )
    return (filled[0][:1], filled[0][0][1]) if closed else None
