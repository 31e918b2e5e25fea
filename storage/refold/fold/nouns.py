"""Noun phrases and lists of them: "tea and dark chocolate" is two values, "tea and I work" is one."""

from __future__ import annotations

from refold.fold import english
from refold.fold.scene import CLAUSE_ENDS, Filled, Range, Scene
from refold.fold.verbs import Form

VALUE_WORDS_MAX = 14
ITEMS_MAX = 8
_AND = frozenset(("and", "or", "&"))
_POSSESSIVE = frozenset(("my", "our", "his", "her", "their", "your", "this", "these"))
_FINITE = frozenset((Form.BASE, Form.THIRD, Form.PAST))
_TAIL = english.PREPOSITIONS | english.ARTICLES | english.ADVERBS
_POINTING_WITHIN = english.POINTING - {"so", "as", "to", "how", "not", "such"}


def phrases(scene: Scene, at: int, until: str | None, *, core: bool) -> Filled:
    """Return the items of a list of noun phrases. `core` ends each at a preposition other than `of`; `until` is a word that ends it."""
    ranges: list[Range] = []
    first, after = at, at
    while first < len(scene.words) and len(ranges) < ITEMS_MAX:
        first = article(scene, first)
        end = _item_end(scene, first, until, core=core)
        if end == first:
            break
        ranges.append((first, end))
        after = end
        ahead = joint(scene, end)
        if ahead == end or is_clause(scene, ahead):
            break
        if scene.word(end) == "," and ahead == end + 1 and not _list_goes_on(scene, ahead, core=core):
            break
        first = ahead
    return (ranges, after) if ranges else None


def article(scene: Scene, at: int) -> int:
    """Return the first word behind articles, possessives and numbers: "two of my cats" is "cats"."""
    words = scene.words
    while at + 1 < len(words) and (words[at] in english.ARTICLES or words[at] in english.COUNTING or words[at].isdigit()):
        if scene.is_closed(at + 1) or words[at + 1] in _AND or at in scene.time_at:
            break
        at += 1 + (words[at + 1] == "of")
    return at


def joint(scene: Scene, at: int) -> int:
    """Return the word behind a `,` `and` `or` or `, and`; `at` itself where no list goes on."""
    if scene.word(at) == "," and scene.word(at + 1) in _AND:
        return at + 2
    return at + 1 if scene.word(at) == "," or scene.word(at) in _AND else at


def is_clause(scene: Scene, at: int) -> bool:
    """Whether a new clause begins at a word: a subject, or a verb that shares the one before."""
    words = scene.words
    if at >= len(words):
        return True
    word = words[at]
    if word in english.PRONOUNS:
        return not (word in _POSSESSIVE and not _verb_within(scene, at + 1))
    if word in english.ACTIONS or word in scene.grammar.openers:
        return True
    if word in english.ADVERBS and (scene.word(at + 1) in english.ACTIONS or scene.word(at + 1) in scene.grammar.forms):
        return True
    if _is_finite(scene, at) and not _ends_here(scene, at + 1):
        return True
    return scene.is_name(at) and not scene.sentence.is_caseless and _is_verb(scene, scene.name_end(at))


def _verb_within(scene: Scene, at: int) -> bool:
    return any(word in scene.grammar.forms or word in ("is", "are") for word in scene.words[at : at + 3])


def _is_finite(scene: Scene, at: int) -> bool:
    return any(form in _FINITE for _, form in scene.grammar.forms.get(scene.word(at), ()))


def _is_verb(scene: Scene, at: int) -> bool:
    word = scene.word(at)
    if word in ("is", "was", "has", "'s", "does", "did", "will", "would", "can"):
        return True
    return any(form in (Form.THIRD, Form.PAST) for _, form in scene.grammar.forms.get(word, ()))


def _ends_here(scene: Scene, at: int) -> bool:
    return scene.is_closed(at) or scene.words[at] in _AND or at in scene.time_at


def _item_end(scene: Scene, first: int, until: str | None, *, core: bool) -> int:
    """Return where one noun phrase ends; `first` itself where none begins."""
    word = scene.word(first)
    if not word or word in english.POINTING or word in english.PREPOSITIONS or not word[0].isalnum():
        return first
    if core and not scene.sentence.is_caseless:
        name = scene.name_end(first)
        if name > first and (_ends_here(scene, name) or scene.words[name] in english.PREPOSITIONS | english.CLOSERS):
            return name
    end = _phrase_end(scene, first, until, core=core)
    return first if any(word in _POINTING_WITHIN for word in scene.words[first:end]) else end


def _phrase_end(scene: Scene, at: int, until: str | None, *, core: bool) -> int:
    words = scene.words
    end = at
    while end < min(len(words), at + VALUE_WORDS_MAX) and not _stops(scene, end, until):
        if core and end > at and (words[end] in english.PREPOSITIONS or words[end] in ("called", "named", "to")):
            break
        end += 1
    while end > at and words[end - 1] in _TAIL:
        end -= 1
    return end


_DEGREES = {"any": ("more", "longer"), "a": ("lot", "bit"), "the": ("most", "best")}  # "any more", "a lot", "the most"


def _stops(scene: Scene, at: int, until: str | None) -> bool:
    """Whether a noun phrase ends before a word, whatever it began with."""
    word = scene.words[at]
    if word == until or word in CLAUSE_ENDS or word in english.CLOSERS or word in _AND or at in scene.time_at:
        return True
    if word in english.PRONOUNS and word not in _POSSESSIVE:
        return True
    return scene.word(at + 1) in _DEGREES.get(word, ())


def _list_goes_on(scene: Scene, at: int, *, core: bool) -> bool:
    """Whether `a, b` is a list: further on, `and c` or `or c` ends it before the sentence does."""
    for _ in range(ITEMS_MAX):
        begin = article(scene, at)
        end = _phrase_end(scene, begin, None, core=core)
        if end == begin or is_clause(scene, begin):
            return False
        if scene.word(end) in _AND or (scene.word(end) == "," and scene.word(end + 1) in _AND):
            return True
        if scene.word(end) != ",":
            return False
        at = end + 1
    return False
