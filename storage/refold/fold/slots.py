"""Where a value begins and where it ends: each kind of slot, filled at one place in a sentence.

A filling is one or several word ranges ("tea and coffee" is two values). A kind that does not fit fills nothing; the pattern is then not
there. Everything walks forward over the words once.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable

from refold.fold import english
from refold.fold.grammar import WordList
from refold.fold.nouns import article, is_clause, joint, phrases
from refold.fold.patterns import Slot
from refold.fold.scene import CLAUSE_ENDS, Filled, Range, Scene
from refold.fold.sentences import Sentence

REST_WORDS_MAX = 60
_AT_HAND = frozenset(("this", "that", "these", "those", "it", "the"))
_QUOTES = ('"', "'")


def fill(slot: Slot, scene: Scene, at: int, until: str | None = None) -> Filled:
    """Fill a slot from word `at` on; return the values' word ranges and the word behind, or None if the kind does not fit there.

    `until` is the literal that the pattern goes on with: a noun phrase ends before it.
    """
    at += scene.word(at) in _QUOTES
    if at >= len(scene.words):
        return None
    filled = _FILLERS.get(slot.kind, _listed)(slot, scene, at, until)
    if filled is None:
        return None
    ranges, after = filled
    if slot.unless and len(ranges) > 1 and _bounded_by(scene, ranges[0], scene.grammar.words[slot.unless]):
        return None  # "a daughter, Lena": what follows may only say more of it
    if slot.unless:
        ranges = [one for one in ranges if not _bounded_by(scene, one, scene.grammar.words[slot.unless])]
    if slot.only:
        ranges = [
            one
            for one in ranges
            if (slot.kind != "Rest" or _is_standing(scene, one)) and _bounded_by(scene, one, scene.grammar.words[slot.only])
        ]
    ranges = [(first, end) for first, end in ranges if _is_whole(scene.sentence, first, end)]
    return (ranges, after + (scene.word(after) in _QUOTES)) if ranges else None


def _bounded_by(scene: Scene, words: Range, listed: WordList) -> bool:
    """Whether a range begins or ends with a word (or begins with a group of words) of a list."""
    first, end = words
    if scene.words[first] in listed or scene.words[end - 1] in listed:
        return True
    return listed.group_at(scene.words, first) > 0


def _is_standing(scene: Scene, words: Range) -> bool:
    """Whether an order is about more than what lies at hand: "use metric units", not "answer" or "use this file"."""
    first, end = words
    return end - first > 1 and scene.words[first + 1] not in _AT_HAND


def _is_whole(sentence: Sentence, first: int, end: int) -> bool:
    """Whether a range begins and ends as a reader sees it: at a space, a mark or the edge, not at a hidden character."""
    start, stop = sentence.span(first, end)
    edges = sentence.text[max(start - 1, 0) : start] + sentence.text[stop : stop + 1]
    return all(char.isspace() or unicodedata.category(char)[0] in "PS" for char in edges)


# Names


def _name(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with a name, or with several: "Tom, Jan and Eva"."""
    ranges: list[Range] = []
    first = at
    while scene.word(first) in (("the",) if slot.kind == "Person" else ("the", "a", "an", "my", "our")):
        first += 1
    if scene.sentence.is_caseless and scene.word(first) in scene.grammar.forms:
        return None
    links = english.NAME_PARTICLES if slot.kind == "Person" else english.NAME_LINKS
    while (end := scene.name_end(first, links=links)) > first:
        ranges.append((first, end))
        ahead = joint(scene, end)
        goes_on = _ends_in_and if slot.kind == "Place" else _goes_on
        is_list = scene.word(end) != "," or ahead == end + 2 or goes_on(scene, ahead)
        if ahead == end or until or not is_list or not scene.is_name(ahead) or is_clause(scene, ahead):
            break
        first = ahead
    if not ranges or (scene.sentence.is_caseless and not until and not _stands_alone(scene, ranges[-1][1])):
        return None
    return ranges, ranges[-1][1]


def _stands_alone(scene: Scene, at: int) -> bool:
    """Whether what comes next cannot belong to a name: where nothing has capitals, that is all that tells its end."""
    stops = english.PREPOSITIONS | english.CLOSERS | english.CONJUNCTIONS | english.ADVERBS | english.PRONOUNS
    return scene.is_closed(at) or at in scene.time_at or scene.words[at] in stops or scene.words[at] in scene.grammar.forms


def _goes_on(scene: Scene, at: int) -> bool:
    """Whether the name at a word is followed by another: the list does not end in a mere comma."""
    end = scene.name_end(at)
    return end > at and scene.word(end) in ("and", ",", "&")


def _ends_in_and(scene: Scene, at: int) -> bool:
    """Whether the places from a word on are a list that ends in `and`: else what stands behind the comma is the region of the first."""
    for _ in range(8):
        end = scene.name_end(at)
        if end == at or is_clause(scene, at):
            return False
        ahead = joint(scene, end)
        if ahead > end and scene.word(ahead - 1) != ",":
            return scene.is_name(ahead) and not is_clause(scene, ahead)
        if ahead == end:
            return False
        at = ahead
    return False


def _person(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with a person's name: at most four words, none of them in capitals as an abbreviation is."""
    filled = _name(slot, scene, at, until)
    if filled is None:
        return None
    shouting = scene.sentence.text.isupper()
    kept = [
        (first, end)
        for first, end in filled[0]
        if end - first <= (1 if scene.sentence.is_caseless else 4)
        and (end - first > 1 or shouting or len(scene.words[first]) == 1 or not scene.sentence.raw(first).isupper())
    ]
    return (kept, filled[1]) if kept else None


_REGIONS = frozenset(("northern", "southern", "eastern", "western", "central", "upper", "lower", "downtown", "inner", "greater", "rural"))


def _place(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with a place: a name, and its region behind a comma where the clause ends with it."""
    begin = at + (scene.word(at) == "the")
    inner = begin + (scene.word(begin) in _REGIONS)
    filled = _name(slot, scene, inner, until or "")
    if filled is None:
        return None
    ranges, end = [(begin if inner > begin else filled[0][0][0], filled[0][0][1]), *filled[0][1:]], filled[1]
    filled = ranges, end
    if scene.word(end) != "," or not scene.is_name(end + 1) or until:
        return filled
    stop = scene.name_end(end + 1)
    is_list = scene.word(stop) == "," and scene.is_name(stop + 1)
    closed = scene.is_closed(stop) or stop in scene.time_at or scene.words[stop] in ("and", "now", "with", "but")
    return ([*ranges[:-1], (ranges[-1][0], stop)], stop) if closed and not is_list else filled


# Phrases


def _thing(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with noun phrases, what belongs to them included: "hiking in the Alps"."""
    return phrases(scene, at, until, core=False)


def _noun(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with noun phrases up to a preposition."""
    return phrases(scene, at, until, core=True)


_BREAKS = frozenset(("when", "once", "because", "but", "so", "if", "unless", "although", "though", "while", "which", "until"))
_SUBJECTS_AND_QUESTIONS = "since i we and then please as he she they can could would will any how what do is"
_BREAKS_AFTER_COMMA = _BREAKS | frozenset(_SUBJECTS_AND_QUESTIONS.split())
_COURTESIES = frozenset(english.TAIL) | {","}


def _action(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with a verb phrase: to the end of the clause, without the time at its end."""
    words = scene.words
    if words[at] in english.POINTING or words[at] in english.ARTICLES or not words[at][0].isalpha():
        return None
    end = at
    while end < min(len(words), at + REST_WORDS_MAX) and words[end] != until:
        word = words[end]
        if (word in CLAUSE_ENDS and word != ",") or (word in _BREAKS and end > at):
            break
        if word in (",", "and") and scene.word(end + 1) in _BREAKS_AFTER_COMMA:
            break
        if word in ("before", "after") and scene.word(end + 1) in english.PRONOUNS - {"my", "our", "his", "her", "their"}:
            break
        if word in ("since", "as") and scene.word(end + 1) in _BREAKS_AFTER_COMMA | {"soon", "long", "you", "it", "the", "my"}:
            break
        end += 1
    end = _without_tail(scene, at, end)
    return ([(at, end)], end) if end > at else None


def _doing(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with what somebody is doing: a verb phrase that begins with an -ing."""
    return _action(slot, scene, at, until) if scene.words[at].endswith("ing") and len(scene.words[at]) > 4 else None


_STANDING = (("from", "now", "on"), ("in", "future"), ("in", "the", "future"), ("going", "forward"), ("at", "all", "times"), ("for", "me"))
_REST_ENDS = english.TERMINATORS | {"...", "(", ";", "\u2014", "\x01", "\x02"}


def _rest(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with everything to the end of the sentence."""
    words = scene.words
    if not words[at][0].isalpha() or words[at] in ("i", "we", "you", "he", "she", "they", "it", "that", "this"):
        return None
    end = at
    while end < min(len(words), at + REST_WORDS_MAX) and words[end] not in _REST_ENDS and words[end] != until:
        if words[end] == "because" or (words[end] == "," and scene.word(end + 1) in ("so", "since", "as", "otherwise")):
            break
        end += 1
    end = _without_standing(words, at, end)
    return ([(at, end)], end) if end > at else None


def _without_standing(words: tuple[str, ...], at: int, end: int) -> int:
    """Return `end` without "from now on" and courtesies at the end of a range: an instruction holds from now on anyway."""
    while end > at:
        tail = next((len(group) for group in _STANDING if words[end - len(group) : end] == group), 0)
        if not tail and words[end - 1] not in _COURTESIES | {"thank", "you"}:
            break
        end -= tail or 1
    return end


def _without_tail(scene: Scene, at: int, end: int) -> int:
    """Return `end` without the time phrases and courtesies at the end of a range."""
    while end > at:
        time = next((first for first, stop in scene.times if stop == end and first > at), None)
        if time is not None:
            end = time
        elif scene.words[end - 1] in _COURTESIES:
            end -= 1
        elif scene.words[end - 2 : end] in (("for", "me"), ("any", "more"), ("after", "all")):
            end -= 2
        else:
            break
    return end


# The rest


_CONTACT = re.compile(
    r"[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}|(?<![\w@])@[\w.-]{1,40}|\+?\(?\d[\d ()/.-]{4,24}\d"
    r"|https?://[^\s<>()]{1,200}|(?:[\w-]{1,63}\.){1,4}[a-z]{2,12}/[\w./-]{1,80}"
)


def _contact(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with an e-mail address, a number, a web address or a handle with its @."""
    sentence = scene.sentence
    match = _CONTACT.match(sentence.text, sentence.starts[at])
    if match is None:
        return None
    stop = match.start() + len(match.group().rstrip(".-/ ("))
    end = bisect_left(sentence.ends, stop) + 1
    return ([(at, end)], end) if end <= len(sentence.ends) and sentence.ends[end - 1] == stop else None


def _words(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with up to eight words of any kind."""
    end = at
    while end < min(len(scene.words), at + 8) and scene.words[end] != until and not scene.is_closed(end) and end not in scene.time_at:
        end += 1
    return ([(at, end)], end) if end > at else None


_LISTED_STOPS = (
    english.AUXILIARIES
    | {"been", "being", "to"}
    | english.PREPOSITIONS
    | english.CLOSERS
    | english.PRONOUNS
    | CLAUSE_ENDS
    | {"and", "or", "of", "'s"}
)


_BY_THEMSELVES = frozenset(("Trait", "Ornament"))  # "five months pregnant" is pregnant
_MODIFIERS = frozenset(("best", "right"))  # "my best friend"


def _listed(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with phrases whose last word is in a word list. A value keeps the words before that one, a qualifier does not."""
    words, listed = scene.words, scene.grammar.words[slot.kind]
    ranges: list[Range] = []
    after = at
    while len(ranges) < 8:
        begin = article(scene, at)
        found = None
        for index in range(begin, min(begin + 6, len(words))):
            group = listed.group_at(words, index) if words[index] in listed.groups else 0
            if group or words[index] in listed:
                found = (index, index + max(group, 1))
            elif slot.role == "q" and found:
                break
            if words[index] in _LISTED_STOPS and words[index] not in _MODIFIERS:
                break
        if found is None:
            break
        if slot.role == "q":
            return [found], found[1]
        after = _with_field(scene, found[1])
        ranges.append((found[0] if slot.kind in _BY_THEMSELVES else begin, after))
        at = joint(scene, after)
        if at == after or is_clause(scene, at):
            break
    return (ranges, after) if ranges else None


def _with_field(scene: Scene, at: int) -> int:
    """Return the word behind "of design": a field belongs to what it follows, the name of an employer does not."""
    if scene.word(at) != "of" or scene.is_closed(at + 1) or scene.is_name(at + 1):
        return at
    filled = phrases(scene, at + 1, None, core=True)
    return filled[0][0][1] if filled and scene.word(at + 1) not in english.ARTICLES else at


def _handle(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with one word that is none of the language: a handle or user name."""
    word = scene.words[at]
    if word == "@" and not scene.is_closed(at + 1):
        return [(at, at + 2)], at + 2
    barred = english.NOT_NAMES | english.ARTICLES | english.ADVERBS
    return ([(at, at + 1)], at + 1) if word not in barred and any(char.isalnum() for char in word) else None


def _address(slot: Slot, scene: Scene, at: int, until: str | None) -> Filled:
    """Fill with a postal address: names, numbers and commas, with a number in it."""
    end = at
    while end < min(len(scene.words), at + 14) and (
        scene.is_name(end) or scene.words[end][0].isdigit() or (scene.words[end] == "," and end > at)
    ):
        end += 1
    while end > at and scene.words[end - 1] == ",":
        end -= 1
    has_number = any(word[0].isdigit() for word in scene.words[at:end])
    return ([(at, end)], end) if has_number and end - at > 1 else None


_FILLERS: dict[str, Callable[[Slot, Scene, int, str | None], Filled]] = {
    "Thing": _thing,
    "Noun": _noun,
    "Name": _name,
    "Person": _person,
    "Place": _place,
    "Action": _action,
    "Doing": _doing,
    "Rest": _rest,
    "Contact": _contact,
    "Handle": _handle,
    "Address": _address,
    "Words": _words,
}
