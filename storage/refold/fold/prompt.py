"""The prompt of extraction: what a model is told of an event, and the form in which it must answer. Pure.

An event is told as one line of JSON, in which nothing that was said can end the line or look like something else. Nothing of its place in
the log, of the day on which it is asked, or of what was made of other events is in a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from refold.fold.patterns import Pattern, Shape
from refold.fold.recipe import ModelRecipe
from refold.fold.relations import About, Relation, Relations, SaidBy, Value
from refold.fold.request import Config, Declared, EventRef, Message, Request, Schema, Segment, Template, Voice, json_text, word_digest
from refold.model import Act, Event, EventId, Modality

SCHEMA = "statements"
LISTED = Template("list", "The relations are\n\n")
HEAD = Template("head", "The events, oldest first:\n\n")
END = Template("end", "\n")
GAP = Template("gap", " ")
ACTS = tuple(act.name.lower() for act in Act)
MODALITIES = tuple(modality.name.lower() for modality in Modality)

Refs = Mapping[EventId, EventRef]  # of each event, as `ref` tells it


@dataclass(frozen=True, slots=True)
class Wording:
    """What all requests of one fold have in common, written once: by a recipe, of relations. Each takes longer than all the rest of one."""

    recipe: ModelRecipe
    relations: Relations
    listed: Config  # the vocabulary
    forms: dict[tuple[str, ...], Schema] = field(default_factory=dict)  # of answers, by the aliases of their events

    @classmethod
    def of(cls, recipe: ModelRecipe, relations: Relations) -> Wording:
        return cls(recipe, relations, Config("relations", vocabulary(relations)))

    def form(self, named: tuple[str, ...]) -> Schema:
        """Return the form of an answer about events of these aliases."""
        if named not in self.forms:
            self.forms[named] = schema(self.relations, named)
        return self.forms[named]


def told(event: Event, characters: int) -> bytes:
    """Return what a model is told of an event: one line of JSON, with whatever does not show spelled out."""
    form: dict[str, object] = {"role": event.role.value, "speaker": event.speaker_name}
    form |= {key: event.metadata[key] for key in ("title", "heading") if isinstance(event.metadata.get(key), str)}
    form["text"] = event.text[:characters]
    return shown(json_text(form)).encode()


def ref(wording: Wording, event: Event, digest: bytes) -> EventRef:
    """Return an event as it is told in every request that it is in; `digest` is the payload_commit of its entry."""
    return EventRef(event.event_id, digest, told(event, wording.recipe.blocks.event_characters))


def request(wording: Wording, context: Sequence[Event], events: Sequence[Event], refs: Refs) -> Request:
    """Return the request about some events of a block, in order; those that assert nothing are told as context."""
    recipe, named = wording.recipe, aliases(context, events)
    lines: list[Segment] = [HEAD]
    for alias, event in named.items():
        lines += [Config("alias", alias), GAP, refs[event.event_id], END]
    return Request(
        adapter=recipe.adapter,
        api_base=recipe.api_base,
        model=recipe.model,
        messages=(
            Message(Voice.SYSTEM, (recipe.prompt, LISTED, wording.listed)),
            Message(Voice.USER, tuple(lines)),
        ),
        schema=wording.form(tuple(named)),
        parameters=recipe.parameters,
        extra_body=recipe.extra_body,
        headers=recipe.headers,
    )


def aliases(context: Sequence[Event], events: Sequence[Event]) -> dict[str, Event]:
    """Return the alias under which each event of a request is cited, in their order: e1, e2 for what is read, c1, c2 for what is told."""
    counts = {"c": 0, "e": 0}
    named: dict[str, Event] = {}
    for event, kind in [(event, "c") for event in context] + [(event, "e" if event.asserts else "c") for event in events]:
        counts[kind] += 1
        named[f"{kind}{counts[kind]}"] = event
    return named


def declared(wording: Wording, events: Iterable[tuple[Event, bytes]], aliases_max: int) -> Declared:
    """Return what requests about these events, each with its digest, may be made of; `aliases_max` is of the events of one request."""
    words = [wording.recipe.prompt, LISTED, HEAD, END, GAP, wording.listed]
    words += [Config("alias", f"{kind}{number}") for kind in "ce" for number in range(1, aliases_max + 1)]
    known = {event.event_id: (digest, told(event, wording.recipe.blocks.event_characters)) for event, digest in events}
    return Declared(known, frozenset(map(word_digest, words)), {})


def vocabulary(relations: Relations) -> str:
    """Return the relations as lines: whose they are, what their value is, and sentences that state, deny and end them."""
    return "".join(f"{name}: {_policy(relation)}. {_examples(relations, name)}\n" for name, relation in relations.by_name.items())


def schema(relations: Relations, named: Sequence[str]) -> Schema:
    """Return the form of an answer about events of these aliases: every string in it is one of a list, or a quote."""
    read = {"enum": [alias for alias in named if alias.startswith("e")]}
    quote, quoted = {"type": "string"}, {"type": ["string", "null"]}
    fact = {
        "event": read,
        "relation": {"enum": list(relations.names)},
        "act": {"enum": list(ACTS)},
        "modality": {"enum": list(MODALITIES)},
        "entity": quoted,
        "entity_in": {"enum": list(named)},
        "value": quoted,
        "qualifier": quoted,
        "words": quote,
        "when": quoted,
    }
    edge = {"event": read, "act": {"enum": [act for act in ACTS if act != "end"]}, "a": quoted, "b": quote, "words": quote}
    return Schema(SCHEMA, json_text(_closed({"facts": _list(_closed(fact)), "aliases": _list(_closed(edge))})))


def _list(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


def _closed(properties: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    typed = {key: {"type": "string"} | dict(form) if "enum" in form else form for key, form in properties.items()}
    return {"type": "object", "properties": typed, "required": list(properties), "additionalProperties": False}


def _policy(relation: Relation) -> str:
    whose = "of the speaker" if relation.about is About.SPEAKER else "of anyone"
    if relation.said_by is SaidBy.DOCUMENT:
        whose = "of a document, whose title or heading is the entity"
    value = "the value is a person" if relation.value is Value.PERSON else "the value is text"
    return f"{whose}; {value}" + ("; has a qualifier" if relation.is_qualified else "")


def _examples(relations: Relations, name: str) -> str:
    told = []
    for act in Act:
        patterns = [pattern for pattern in relations.patterns[name] if pattern.act is act]
        if patterns:
            told.append(f'{ACTS[act]}: "{min(patterns, key=_obscurity).example(relations.word_lists)[0]}"')
    return "; ".join(told)


def _obscurity(pattern: Pattern) -> tuple[bool, int, int]:
    """Return by what a pattern makes a worse example: no plain clause, gaps that are not kept, words."""
    plain = pattern.shape in (Shape.SUBJECT, Shape.POSSESSIVE, Shape.LINE)
    return not plain, sum(slot.role not in ("x", "q") for slot in pattern.slots), len(pattern.elements)


def shown(text: str) -> str:
    """Spell out what does not show, as JSON does: a line separator, a change of direction, a space that is none."""
    if text.isprintable():
        return text
    hidden = {char for char in text if not char.isprintable()}
    return reduce(lambda told, char: told.replace(char, _spelled(char)), sorted(hidden), text)


def _spelled(char: str) -> str:
    raw = char.encode("utf-16-be")
    return "".join(f"\\u{raw[at : at + 2].hex()}" for at in range(0, len(raw), 2))
