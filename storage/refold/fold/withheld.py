"""What a pattern finds and a reader would not take as said: alternatives, a denial of the reason or degree only, another sense of the verb.

- "in Berlin or Potsdam": alternatives assert neither; denied, they deny each
- "in Berlin and Potsdam": where one value may hold at a time, a list says no single one: nothing is read, rather than the last
- "don't ... because I must" denies the reason, "don't ... as much as" the degree: whether it holds stays open
- "left Acme a voicemail": what comes behind the name makes it another sense of the verb
- "at Tom's company": the possessor is not the value
"""

from __future__ import annotations

from itertools import pairwise

from refold.fold import english
from refold.fold.matching import Binding
from refold.fold.patterns import Slot
from refold.fold.relations import Cardinality, Relation
from refold.fold.scene import Range, Scene
from refold.fold.slots import fill
from refold.model import Act

_NAMED = frozenset(("Name", "Place", "Person"))
_VERBAL = frozenset(("Action", "Doing", "Rest"))  # their alternatives are part of the value: "learn Greek or Latin"
_OR = frozenset(("or", "/"))
_AND = frozenset(("and", "&"))
_SUBJECTS = frozenset(("i", "we", "he", "she", "they", "you", "it", "there"))
_OVER = (
    english.PREPOSITIONS | english.CLOSERS | english.CONJUNCTIONS | english.ADVERBS | _SUBJECTS | {"to", "as", "any", "no", "altogether"}
)
_TIME_REACH = 4  # words: "an hour ago", "the day before yesterday"
_LIST_REACH = 8
_DEGREES = (("that", "much"), ("so", "much"), ("all", "that", "much"), ("more", "than"), ("better", "than"), ("half", "as"))


def kept(values: list[Range], binding: Binding, scene: Scene, relation: Relation, act: Act) -> list[Range]:
    """Return those of a statement's values that it asserts, denies or ends."""
    slot = binding.slot
    if slot is None or slot.kind in _VERBAL or not values:
        return values
    if act is not Act.DENY and _are_alternatives(values, scene):
        return []
    if act is Act.SAY and relation.cardinality is Cardinality.ONE and (len(values) > 1 or _goes_on(values[-1], slot, scene)):
        return []
    if slot.kind not in _NAMED:
        return values
    return [one for one in values if not _possesses(one, scene) and (act is not Act.END or binding.end > one[1] or _is_over(one[1], scene))]


def is_open(binding: Binding, scene: Scene, begin: int) -> bool:
    """Whether a denial, by what follows it, denies a reason or a degree only."""
    words, at = scene.words, scene.time_at.get(binding.end, binding.end)
    while scene.word(at) in english.MERELY:
        at += 1
    if "longer" in words[begin : binding.end]:  # what is no longer so is not, whatever the reason
        return False
    if scene.word(at) == "because" or (at > binding.end and scene.word(at) in ("for", "to", "since", "as")):
        return True
    if scene.word(at) == "as" and "as" in words[at + 1 : at + 4]:
        return True
    return any(words[at : at + len(degree)] == degree for degree in _DEGREES)


def _are_alternatives(values: list[Range], scene: Scene) -> bool:
    """Whether an `or` stands between the values, or goes on with another behind the last one."""
    if any(not _OR.isdisjoint(scene.words[before[1] : after[0]]) for before, after in pairwise(values)):
        return True
    at = values[-1][1]
    for _ in range(_LIST_REACH):
        if scene.word(at) in _OR:
            return scene.word(at + 1) != "rather" and not english.longest(scene.words, at, _HEDGES)
        if scene.word(at) != ",":
            return False
        at = max(scene.name_end(at + 1), at + 1)
    return False


_HEDGES = english.by_first(english.TRAILING_HEDGES)


def _goes_on(value: Range, slot: Slot, scene: Scene) -> bool:
    """Whether another value follows with its own preposition: "in Berlin and in Potsdam"."""
    first, end = value
    if scene.word(end) not in _AND or scene.word(end + 1) != scene.word(first - 1) or scene.word(end + 1) not in english.PREPOSITIONS:
        return False
    return fill(slot, scene, end + 2) is not None


def _possesses(value: Range, scene: Scene) -> bool:
    """Whether a name only says whose something is: "Tom's company", "Siemens' office", "Acme's Berlin office"."""
    first, end = value
    if scene.word(end) == "'s":
        return True
    sentence = scene.sentence
    is_plural = scene.word(end) == "'" and scene.words[end - 1].endswith("s") and sentence.ends[end - 1] == sentence.starts[end]
    if is_plural and scene.word(first - 1) != "'":
        return not scene.is_closed(end + 1)
    return "'s" in scene.words[first : end - 1] and not _is_over(end, scene)


def _is_over(at: int, scene: Scene) -> bool:
    """Whether nothing more belongs to the verb at a word: its clause ends, or a time, a preposition or another clause follows."""
    word = scene.word(at)
    if scene.is_closed(at) or at in scene.time_at or word in _OVER or word in ('"', "'") or word.endswith("ly"):
        return True
    return not english.TIME_WORDS.isdisjoint(scene.words[at : at + _TIME_REACH])
