"""One pattern at one place: walk its elements along the words, fill its slots, and say what the verb's reading makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from refold.fold import english
from refold.fold.grammar import SPELLINGS
from refold.fold.patterns import WHEN, Element, Pattern, Slot
from refold.fold.scene import Range, Scene
from refold.fold.slots import fill
from refold.fold.verb_group import Reading, Tense
from refold.model import Act, Modality

SKIPS_MAX = 3
_CLAUSES = frozenset(("Rest", "Action", "Doing"))  # kinds of slots that take in dates and adverbs themselves
_AFTER_ALL = frozenset(
    ("and", "but", "because", "so", "since", "now", "yesterday", "today", "recently", "already", "again", "though", "when", "after")
)


@dataclass(slots=True)
class Binding:
    """What a pattern's slots were filled with."""

    end: int
    values: list[Range] = field(default_factory=list)
    slot: Slot | None = None  # the value's
    qualifier: Range | None = None
    owner: Range | str | None = None  # a third person's words, or "first", where the pattern says `my` or a name
    a: Range | None = None
    b: Range | None = None
    time: Range | None = None  # passed over on the way
    is_denied: bool = False  # "no car", "live not in"


def match(elements: Sequence[Element], scene: Scene, at: int, *, owner_is_my: bool = False, until: str | None = None) -> Binding | None:
    """Match a pattern's elements from a word on, or return None.

    With `owner_is_my`, `my` names whose statement it is; else it is any possessive. `until` is the word that must follow a part of a
    pattern; a whole one without a value must end its clause.
    """
    found = Binding(at)
    for number, element in enumerate(elements):
        following = elements[number + 1] if number + 1 < len(elements) else until
        if isinstance(element, Slot):
            if not _filled(found, element, scene, following):
                return None
        elif element in ("my", "me") and owner_is_my:
            if not _owned(found, scene, element):
                return None
        elif not _literal(found, element, scene):
            return None
    if not until and found.slot is None and found.a is None and not _is_over(scene, found.end):
        return None
    return found


def _literal(found: Binding, literal: str, scene: Scene) -> bool:
    """Pass over one word of the pattern, and over adverbs, dates and a `not` before it."""
    for _ in range(SKIPS_MAX + 1):
        word = scene.word(found.end)
        if word == literal or (literal in SPELLINGS and word in SPELLINGS[literal]):
            found.end += 1
            return True
        if literal == "." and scene.is_closed(found.end):
            return True
        if found.end in scene.time_at:
            found.time = (found.end, scene.time_at[found.end])
            found.end = scene.time_at[found.end]
        elif word == "not" and not found.is_denied:
            found.is_denied = True
            found.end += 1
        elif word in english.ADVERBS or (word.endswith("ly") and word not in scene.grammar.forms):
            found.end += 1
        else:
            return False
    return False


def _filled(found: Binding, slot: Slot, scene: Scene, following: Element | None) -> bool:
    at = found.end
    if slot is WHEN:
        found.time = found.time or ((at, scene.time_at[at]) if at in scene.time_at else None)
        return found.time is not None
    if slot.kind not in _CLAUSES:
        at = _passed(found, slot, scene, at)
    literal = following if isinstance(following, str) and following not in (",", ".") else None
    filled = fill(slot, scene, at, literal)
    if filled is None:
        return False
    ranges, found.end = filled
    _bind(found, slot, ranges)
    return True


def _passed(found: Binding, slot: Slot, scene: Scene, at: int) -> int:
    """Pass over a date before a slot, and over adverbs and a `no` before a value; return where the slot begins."""
    if at in scene.time_at:
        found.time = (at, scene.time_at[at])
        at = scene.time_at[at]
    if slot.role == "x":
        while scene.word(at) in english.ADVERBS and not scene.is_name(at):
            at += 1
        if scene.word(at) == "no" and scene.word(at + 1) not in ("one", "longer", "matter", ""):
            found.is_denied = True
            at += 1
    return at


def _bind(found: Binding, slot: Slot, ranges: list[Range]) -> None:
    """Record what a slot was filled with, by its role."""
    if slot.role == "x":
        found.values, found.slot = ranges, slot
    elif slot.role == "q":
        found.qualifier = ranges[0]
    elif slot.role == "o":
        found.owner = ranges[0]
    elif slot.role == "a":
        found.a, found.end = ranges[0], ranges[0][1]
    elif slot.role == "b":
        found.b = ranges[0]


def _owned(found: Binding, scene: Scene, element: str) -> bool:
    """Pass over `my` or `me`, or a name in its place, and record whose it is."""
    if scene.word(found.end) in (("my", "our") if element == "my" else ("me", "us")):
        found.owner, found.end = "first", found.end + 1
        return True
    end = scene.name_end(found.end)
    if end == found.end or (element == "my" and scene.word(end) != "'s"):
        return False
    found.owner, found.end = (found.end, end), end + (element == "my")
    return True


def _is_over(scene: Scene, at: int) -> bool:
    """Whether a pattern without a value ends where its clause ends: "I quit.", not "I quit smoking"."""
    return scene.is_closed(at) or at in scene.time_at or scene.words[at] in _AFTER_ALL


def stance(pattern: Pattern, reading: Reading, *, is_event: bool) -> tuple[Act, Modality] | None:
    """Return what a pattern's verb, read so, states; None where it states nothing (the past of a state, a wish).

    "I live in" is a state and "I moved to" happened: the state holds in the present, what happened stands in the past, and what happens
    in the present ("I'm moving to") lies ahead.
    """
    happened = _happened(pattern, reading)
    if happened is None:
        return None
    modality = max(reading.modality, happened)
    if is_event and Modality.PLANNED in (reading.modality, happened):
        return None
    if pattern.is_denial:
        return (pattern.act, modality) if reading.denied and not reading.ended else None
    if reading.ended:
        return (Act.END, modality) if pattern.act is Act.SAY and not pattern.is_past and not reading.denied else None
    if reading.denied:
        return (Act.DENY, modality) if pattern.act is Act.SAY else None
    return pattern.act, modality


def _happened(pattern: Pattern, reading: Reading) -> Modality | None:
    """Return ASSERTED for what is or happened, PLANNED for what lies ahead, None for what is neither."""
    if pattern.is_past:
        if reading.ended or reading.tense in (Tense.PAST_PROGRESSIVE, Tense.PERFECT_PROGRESSIVE, Tense.BEGUN):
            return None
        return Modality.ASSERTED if reading.tense in (Tense.PAST, Tense.PERFECT, Tense.PLUPERFECT) else Modality.PLANNED
    if reading.tense in (Tense.PAST, Tense.PAST_PROGRESSIVE, Tense.PLUPERFECT):
        return Modality.ASSERTED if reading.denied and pattern.verb not in ("be", "have") else None
    return Modality.ASSERTED


def needs_duration(pattern: Pattern, reading: Reading) -> bool:
    """Whether the statement is one about now only with `since` or `for`: "I have worked at Acme" may be long ago."""
    return not pattern.is_past and reading.tense is Tense.PERFECT and not reading.denied and not reading.always
