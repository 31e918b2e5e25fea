"""A profile: what a model says of one entity in sentences, each of which names the facts that it rests on. Pure.

A request is made of facts alone, in the order of their digests: no event, no number, no date of today, and nothing that a model made. So it
is the same as long as the facts are. A sentence that names no fact, or one that was not told, is dropped and counted.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refold import times
from refold.fold import forms
from refold.fold.merge import Stance, order
from refold.fold.prompt import MODALITIES, shown
from refold.fold.recipe import ModelRecipe, Profiles
from refold.fold.request import (
    Config,
    Declared,
    FactRef,
    Message,
    Request,
    Schema,
    Segment,
    Template,
    Voice,
    fact_digest,
    json_text,
    word_digest,
)
from refold.model import EventId, Modality
from refold.reading import Claim, Fate, Standing

SCHEMA = "profile"
BOUND = Template("bound", "\nAs many sentences at most: ")
HEAD = Template("facts", "The facts:\n\n")
GAP = Template("gap", " ")
END = Template("end", "\n")
JOB = b"profiles"  # how a job for the worker begins that is not about events
ANSWERED_MAX = 1_000  # sentences in one answer
ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Premise:
    """A fact as a model is told it, by the saying that it is told from, and the events under that."""

    claim: Claim
    text: str
    support: tuple[EventId, ...]

    @property
    def ref(self) -> FactRef:
        return FactRef(self.claim.fact_id, fact_digest(self.claim.fact_id, self.text), self.text, self.support)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and how many facts its request told."""

    content: str
    facts: int


@dataclass(frozen=True, slots=True)
class Job:
    """Answers for the worker, with the bounds of their recipe."""

    sentences: int
    characters: int
    answers: tuple[Answered, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the places of its premises among the facts told; or why there is none."""

    fate: Fate
    text: str = ""
    premises: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer came to; nothing where it was not in the form that was asked for."""

    readable: bool
    sentences: tuple[Sentence, ...] = ()


# What is told


def tellable(stances: Iterable[Stance]) -> list[Claim]:
    """Return the saying by which each fact is told that holds and that nobody disputes, in the order in which they were said."""
    held = (stance for stance in stances if stance.standing is Standing.HOLDS and not stance.contested)
    return sorted(map(_told_by, held), key=order)


def told(claim: Claim) -> str:
    """Return a fact as a line of JSON. It depends on the words of this saying alone, so it goes dark with their events."""
    validity = claim.validity
    form = {
        "of": claim.entity,
        "relation": claim.relation,
        "which": claim.qualifier,
        "value": claim.value,
        "said_as": "" if claim.modality is Modality.ASSERTED else MODALITIES[claim.modality],
        "when": times.span(validity.start, validity.end, validity.precision),
    }
    return shown(json_text({name: value for name, value in form.items() if value}))


def _told_by(stance: Stance) -> Claim:
    """Return the first saying of a fact in the words that say most of it: to say it again changes nothing then."""
    full = told(next((claim for claim in stance.sayings if _says_when(claim, stance.shown)), stance.shown))
    return min((claim for claim in stance.sayings if told(claim) == full), key=order)


def _says_when(claim: Claim, latest: Claim) -> bool:
    """Whether a saying gives a time, as firmly as the latest does, and not one that was over before that."""
    start, end = claim.validity.start, claim.validity.end
    past = end is not None and end <= latest.said_at and claim != latest
    return claim.modality is latest.modality and (start is not None or end is not None) and not past


# The request


def ordered(premises: Iterable[Premise]) -> tuple[Premise, ...]:
    """Return facts in the order in which they are told."""
    return tuple(sorted(premises, key=lambda premise: premise.ref.digest))


def request(recipe: ModelRecipe, premises: Sequence[Premise]) -> Request:
    """Return the request for a profile from facts in their order."""
    rules = _rules(recipe)
    lines: list[Segment] = [HEAD]
    for alias, premise in zip(aliases(len(premises)), premises, strict=True):
        lines += [Config("alias", alias), GAP, premise.ref, END]
    return Request(
        adapter=recipe.adapter,
        api_base=recipe.api_base,
        model=recipe.model,
        messages=(Message(Voice.SYSTEM, (rules.prompt, BOUND, _bound(rules), END)), Message(Voice.USER, tuple(lines))),
        schema=schema(len(premises)),
        parameters=recipe.parameters,
        extra_body=recipe.extra_body,
        headers=recipe.headers,
    )


def aliases(count: int) -> tuple[str, ...]:
    """Return the aliases of so many facts."""
    return tuple(f"f{number}" for number in range(1, count + 1))


def schema(facts: int) -> Schema:
    """Return the form of an answer about so many facts."""
    cited = {"type": "array", "items": {"type": "string", "enum": list(aliases(facts))}}
    sentence = _closed({"text": {"type": "string"}, "facts": cited})
    return Schema(SCHEMA, json_text(_closed({"sentences": {"type": "array", "items": sentence}})))


def declared(recipe: ModelRecipe, premises: Iterable[Premise]) -> Declared:
    """Return what requests about these facts may be made of: no event at all."""
    rules = _rules(recipe)
    words = [rules.prompt, BOUND, _bound(rules), HEAD, GAP, END, *(Config("alias", alias) for alias in aliases(rules.facts))]
    known = {premise.claim.fact_id: (premise.ref.digest, premise.support) for premise in premises}
    return Declared({}, frozenset(map(word_digest, words)), known)


def sentence_id(recipe: ModelRecipe, place: int, text: str, premises: Sequence[bytes]) -> bytes:
    """Return HMAC(sorted premise ids, recipe digest ‖ place in the answer ‖ text)[:16]: it goes dark with any of its premises."""
    message = recipe.digest + place.to_bytes(4, "big") + text.encode()
    return hmac.digest(b"".join(sorted(premises)), message, "sha256")[:ID_BYTES]


def _rules(recipe: ModelRecipe) -> Profiles:
    assert recipe.profile is not None, "the recipe asks for no profiles"
    return recipe.profile


def _bound(rules: Profiles) -> Config:
    return Config("sentences", str(rules.sentences))


def _closed(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# The answer, read by the worker


def encode_job(job: Job) -> bytes:
    """Return a job as bytes."""
    return JOB + forms.encode(Job, job)


def decode_result(raw: bytes) -> tuple[Reading, ...]:
    """Read what a job came to. Raises ValueError, TypeError where the bytes are none."""
    return forms.decode(tuple[Reading, ...], raw)


def answer(raw: bytes) -> bytes:
    """Return what the answers of a job come to, bytes in and bytes out."""
    job = forms.decode(Job, raw.removeprefix(JOB))
    return forms.encode(tuple[Reading, ...], tuple(read(one, job) for one in job.answers))


def read(answered: Answered, job: Job) -> Reading:
    """Return the sentences of an answer, those that are dropped too, in their order."""
    said = _parsed(answered.content)
    if said is None:
        return Reading(False)
    places = {alias: place for place, alias in enumerate(aliases(answered.facts))}
    sentences: list[Sentence] = []
    stand = 0
    for form in said:
        one = _sentence(form, places, job.characters)
        stand += one.fate is Fate.STANDS
        sentences.append(Sentence(Fate.BEYOND_LIMIT) if stand > job.sentences else one)
    return Reading(True, tuple(sentences))


def _parsed(content: str) -> list[object] | None:
    try:
        form = json.loads(content)
    except (ValueError, RecursionError):
        return None
    said = form["sentences"] if isinstance(form, dict) and form.keys() == {"sentences"} else None
    return said if isinstance(said, list) and len(said) <= ANSWERED_MAX else None


def _sentence(form: object, places: dict[str, int], characters: int) -> Sentence:
    if not isinstance(form, dict) or form.keys() != {"text", "facts"}:
        return Sentence(Fate.BAD_SHAPE)
    text, cited = form["text"], form["facts"]
    if not isinstance(text, str) or not isinstance(cited, list) or not all(isinstance(alias, str) for alias in cited):
        return Sentence(Fate.BAD_SHAPE)
    text = " ".join(text.split())
    if not text or any("\ud800" <= char <= "\udfff" for char in text):
        return Sentence(Fate.BAD_SHAPE)
    if len(text) > characters:
        return Sentence(Fate.TOO_LONG)
    if not cited:
        return Sentence(Fate.UNCITED)
    if not places.keys() >= set(cited):
        return Sentence(Fate.UNKNOWN_PREMISE)
    return Sentence(Fate.STANDS, text, tuple(sorted({places[alias] for alias in cited})))
