"""Search as a plain program over a list of events: slow; shared with the real one are words, cues, vectors of texts and the recipe."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from refold.model import Event, part_key
from refold.search_recipe import Recipe, fixed
from refold.state.cues import Cue, Dates, asks_when, cues_of, date_words
from refold.state.embedding import embedder
from refold.state.postings import caption_words
from refold.state.rows import is_spoken
from refold.times import DAY
from refold.words import Stems, words_of

UNIT = 4096


def ranking(events: Sequence[Event], query: str, recipe: Recipe) -> list[tuple[int, int]]:
    """Return (seq, score in 1/4096) of every event that matches, best first. The events are those that the view may see."""
    stems = Stems(recipe.index.stop)

    def kept(words):
        return [stem for word in words if (stem := stems.of(word)) is not None]

    sessions = defaultdict(list)
    for event in events:
        sessions[event.scope, event.audience, event.source.document].append(event)
    near = {}
    for session in sessions.values():
        session.sort(key=lambda event: (part_key(event.source.part), event.seq))
        for at, event in enumerate(session):
            near[event.seq] = [session[at + step] if 0 <= at + step < len(session) else None for step in (-1, -2, 1, 2)]

    own = {event.seq: _impacts(kept(words_of(event.text)), recipe.index.fields.text, recipe, floor=1) for event in events}
    other = {event.seq: _others(event, kept, recipe) for event in events}

    words = [word for word in words_of(query) if stems.of(word) is not None]
    speakers = {event.seq: tuple(words_of(event.speaker_name)) if is_spoken(event) else None for event in events}
    persons = {person for person in speakers.values() if person}
    named = {person for person in persons if any(word in person and len(word) > 1 and not word.isdecimal() for word in words)}
    weight = {}
    for word in words:
        is_name = len(word) > 1 and not word.isdecimal() and any(word in person for person in persons)
        stem = stems.of(word)
        weight[stem] = min(weight.get(stem, UNIT), fixed(recipe.query.names) if is_name else UNIT)
    idf = {}
    for stem, factor in weight.items():
        if any(stem in own[event.seq] or stem in other[event.seq] for event in events):
            df = sum(stem in own[event.seq] for event in events)
            idf[stem] = fixed(math.log1p((len(events) - df + 0.5) / (df + 0.5))) * factor // UNIT

    scores, totals = [], {}
    for event in events:
        total = totals[event.seq] = sum(
            rarity * _impact(_tf(stem, event, own, other, near, recipe), recipe.query.saturation) for stem, rarity in idf.items()
        )
        if total > 0:
            scores.append((event, total))
    scores.sort(key=lambda one: (-one[1], one[0].seq))
    scores = scores[: recipe.query.candidates]
    vectors = recipe.vectors
    alike = _likenesses(events, words, speakers, persons, query, near, recipe) if vectors else {}
    best = sorted((seq for seq, one in alike.items() if one.mixed > 0), key=lambda seq: (-alike[seq].mixed, seq))
    for event in events:
        found = event.seq in best[: recipe.query.candidates] and totals[event.seq] == 0
        if vectors and found and alike[event.seq].cosine >= fixed(vectors.least):
            scores.append((event, 0))
    result = []
    for event, total in scores:
        score = _coverage(total, idf, recipe.query.saturation) * fixed(recipe.query.coverage) // UNIT
        score += _context(event, idf, own, near, recipe) if idf else 0
        score += alike[event.seq].cosine * fixed(vectors.weight) // UNIT if vectors and alike else 0
        score += _cues(event, query, named, speakers[event.seq], near[event.seq][0] is None, recipe)
        result.append((event.seq, score))
    return sorted(result, key=lambda one: (-one[1], one[0]))


@dataclass
class Alike:
    """The likeness of one event: before it is divided by a length, and after."""

    mixed: int
    cosine: int


def _likenesses(events, words, speakers, persons, query, near, recipe):
    """Return the likeness of every event, by its number; of none where the query says nothing but names."""
    names = {word for word in words if len(word) > 1 and not word.isdecimal() and any(word in person for person in persons)}
    asked = _vector([word for word in words_of(query) if word not in names]) if words else [0]
    if not any(asked):
        return {}
    own = {event.seq: _vector([word for word in words_of(event.text) if word not in (speakers[event.seq] or ())]) for event in events}
    found = {}
    for event in events:
        previous, following = near[event.seq][0], near[event.seq][2]
        shares = [(1.0, own[event.seq])]
        shares += [(recipe.vectors.previous, own[previous.seq])] if previous else []
        shares += [(recipe.vectors.next, own[following.seq])] if following else []
        total = sum(share * _cosine(asked, one) for share, one in shares)
        square = sum(share * other * _cosine(one, two) for share, one in shares for other, two in shares)
        found[event.seq] = Alike(round(total * UNIT * UNIT), round(UNIT * total / (math.sqrt(square) or 1)))
    return found


def _vector(words):
    return [byte - 256 if byte > 127 else byte for byte in embedder().vector(words)]


def _cosine(one, other):
    lengths = math.sqrt(sum(x * x for x in one)) * math.sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _impacts(stems, field, recipe, *, floor=0):
    b = recipe.index.b
    scale = UNIT * field.weight / (1.0 - b + b * (len(stems) / field.average))
    return {stem: min(max(math.floor(count * scale + 0.5), floor), 0xFFFF) for stem, count in Counter(stems).items()}


def _others(event, kept, recipe):
    fields = recipe.index.fields
    speaker = words_of(event.speaker_name) if is_spoken(event) else []
    total = Counter()
    for words, field in (
        (caption_words(event), fields.caption),
        (speaker, fields.speaker),
        (date_words(event.said_at).split(), fields.date),
    ):
        total.update(_impacts(kept(words), field, recipe))
    return {stem: min(value, 0xFFFF) for stem, value in total.items()}


def _tf(stem, event, own, other, near, recipe):
    weights = recipe.query.neighbours
    tf = own[event.seq].get(stem, 0) + other[event.seq].get(stem, 0)
    for neighbour, weight in zip(
        near[event.seq], (weights.previous, weights.second_previous, weights.next, weights.second_next), strict=True
    ):
        if neighbour is not None:
            tf += own[neighbour.seq].get(stem, 0) * fixed(weight) // UNIT
    return min(tf, 0xFFFF)


def _impact(tf, saturation):
    return (UNIT + fixed(saturation)) * tf // (fixed(saturation) + tf)


def _coverage(total, idf, saturation):
    return 10 * UNIT * total // ((UNIT + fixed(saturation)) * max(sum(idf.values()), 1))


def _context(event, idf, own, near, recipe):
    context = recipe.query.context
    total = 0
    for stem, rarity in idf.items():
        tf = 0
        for neighbour, weight in zip(near[event.seq], (context.previous, context.second_previous), strict=False):
            if neighbour is not None:
                tf += own[neighbour.seq].get(stem, 0) * fixed(weight) // UNIT
        total += rarity * _impact(min(tf, 0xFFFF), context.saturation)
    return _coverage(total, idf, context.saturation) * fixed(context.weight) // UNIT


def _cues(event, query, named, speaker, first, recipe):
    weights = recipe.query.cues
    words = words_of(event.text)
    shows = cues_of(event.text, words, spoken=True)
    score = fixed(weights.length * (math.log1p(min(len(words), 0xFFFF)) - weights.length_centre))
    score += fixed(weights.speaker) if len(named) == 1 and speaker in named else 0
    score += fixed(weights.when) if asks_when(query) and shows & Cue.TIME else 0
    score += fixed(weights.question) if shows & Cue.ASKS else 0
    score += fixed(weights.first) if first and event.role.asserts else 0
    score += 0 if event.role.asserts else fixed(weights.context_only)
    distance = Dates(query).distance(event.said_at)
    if distance is not None and distance < weights.days * DAY:
        score += fixed(weights.date * (1 - distance / (weights.days * DAY)))
    return score
