"""Clauses: where one may begin in a sentence, what leads into it, and who its subject is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from refold.fold import english
from refold.fold.english import Lead
from refold.fold.scene import Range, Scene
from refold.fold.verb_group import FINITE_FIRST, FINITE_THIRD, aside
from refold.fold.verbs import Form
from refold.model import Modality, Span

_LEADS = {phrase: lead for lead, phrases in english.LEADS.items() for phrase in phrases}
_LEADS_BY_WORD = english.by_first(list(_LEADS))
LEAD_STEPS_MAX = 6
FRONTED_MAX = 8  # words of a phrase that stands before its clause without a comma
_FRONTED = english.PREPOSITIONS - {"without", "until", "till"}


@dataclass(frozen=True, slots=True)
class Subject:
    """Of whom a clause speaks: `people` are the places of third persons, `names` their words where they stand here as the subject.

    `is_first` adds whoever speaks.
    """

    is_first: bool
    people: tuple[Span, ...]
    names: tuple[Range, ...]
    begin: int
    after: int
    forms: frozenset[Form]


@dataclass(frozen=True, slots=True)
class Opening:
    """A place in a sentence where a clause may begin, and what the words before it do to it."""

    at: int
    begin: int  # where its first lead begins
    modality: Modality = Modality.ASSERTED
    is_doubted: bool = False
    needs_past: bool = False
    time: Range | None = None
    teller: Span | None = None  # whose word it is: "Ruth told me that"


def starts(words: tuple[str, ...]) -> Iterator[int]:
    """Yield the words at which a clause may begin: the first, and what follows a mark or a conjunction."""
    fresh, begin = True, 0
    for index, word in enumerate(words):
        if word in english.BOUNDARIES or word in english.CONJUNCTIONS:
            if fresh and word in english.CONJUNCTIONS and index == 0:
                yield index
            fresh = True
        elif fresh:
            yield index
            fresh, begin = False, index
        elif word in ("i", "we") and words[begin] in _FRONTED and index - begin <= FRONTED_MAX:
            yield index  # "After years in Rome I moved"


def openings(scene: Scene, opening: Opening) -> Iterator[Opening]:
    """Yield the place itself, and the place behind each lead: "Well, I think | that | since March ..."."""
    yield opening
    for _ in range(LEAD_STEPS_MAX):
        following = _led(scene, opening)
        if following is None:
            return
        yield following
        opening = following


def _led(scene: Scene, opening: Opening) -> Opening | None:
    """Return the opening behind one lead, or None where no lead stands."""
    words, at = scene.words, opening.at
    if at >= len(words):
        return None
    if at in scene.time_at:
        end = scene.time_at[at]
        return replace(opening, at=_comma(words, end), time=opening.time or (at, end))
    phrase = english.longest(words, at, _LEADS_BY_WORD)
    if phrase:
        behind = at + len(phrase)
        return _after_phrase(replace(opening, at=_comma(words, behind + (scene.word(behind) == "that"))), _LEADS[phrase])
    if words[at] in ("i", "we") and scene.word(at + 1) in ("told", "texted", "informed") and (named := _named(scene, at + 2)):
        return replace(opening, at=named[1] + (scene.word(named[1]) == "that"))
    told = told_by(scene, at)
    if told:
        return replace(
            opening, at=_comma(words, told[1]), modality=Modality.REPORTED, teller=scene.sentence.span(*told[0]) if told[0] else None
        )
    if words[at].endswith("ly") and len(words[at]) > 4 and at + 1 < len(words) and words[at] not in english.SELDOM:
        hedged = words[at] in english.HEDGES
        return replace(opening, at=_comma(words, at + 1), modality=Modality.HEDGED if hedged else opening.modality)
    return None


def _after_phrase(opening: Opening, lead: Lead) -> Opening:
    if lead is Lead.HEDGED:
        return replace(opening, modality=max(opening.modality, Modality.HEDGED))
    if lead is Lead.REPORTED:
        return replace(opening, modality=Modality.REPORTED)
    if lead is Lead.DOUBTED:
        return replace(opening, modality=max(opening.modality, Modality.HEDGED), is_doubted=True)
    return replace(opening, needs_past=opening.needs_past or lead is Lead.AFTER)


def _comma(words: tuple[str, ...], at: int) -> int:
    """Pass over a mark that sets a lead off."""
    return at + 1 if at < len(words) and words[at] in (",", ":", "\u2014", "-", "...") else at


def told_by(scene: Scene, at: int) -> tuple[Range | None, int] | None:
    """Return who says it (None: somebody without a name) and the word behind "Ruth told me that", "according to Ruth"."""
    words = scene.words
    if words[at] == "according" and scene.word(at + 1) == "to":
        name = _named(scene, at + 2)
        return (name[0], name[1]) if name else None
    name = _named(scene, at) or _unnamed(scene, at)
    if name is None or name[1] >= len(words):
        return None
    after = name[1] + (words[name[1]] in ("just", "also", "once", "recently", "always", "then", "has", "had"))
    if scene.word(after) not in english.SAYING:
        return None
    after += 1
    after += scene.word(after) in english.ADDRESSEES
    that = next((index for index in range(after, after + 5) if scene.word(index) == "that"), after - 1)  # "told me on the phone that"
    return name[0], that + 1 if that >= after else after


def _unnamed(scene: Scene, at: int) -> tuple[None, int] | None:
    """Return the word behind somebody without a name who says something: "my mother", "the new doctor"."""
    if scene.word(at) not in ("my", "our", "the", "a"):
        return None
    end = next((end for end in range(at + 2, at + 5) if scene.word(end) in english.SAYING), None)
    return (None, end) if end and not english.AUXILIARIES & set(scene.words[at:end]) else None


def _named(scene: Scene, at: int) -> tuple[Range, int] | None:
    """Return a third person named at a word, with or without "my sister" before it, and the word behind."""
    words = scene.words
    begin = at
    owner = scene.name_end(at) if "'s" in scene.has else at
    if at < owner and scene.word(owner) == "'s" and scene.word(owner + 1) in scene.grammar.phrase_words:
        at = owner  # "Ruth's husband Karl"
    if scene.word(at) in ("my", "our", "his", "her", "their", "the", "'s"):
        begin = at + 1 + (scene.sentence.is_caseless and scene.word(at + 1) in scene.grammar.phrase_words)
        while begin < min(at + 4, len(words)) and not scene.is_name(begin) and _describes(scene, begin):
            begin += 1
        if begin == at + 1 or begin >= len(words):
            return None
        begin += words[begin] == "," and scene.is_name(begin + 1) and _closed(words, begin + 1)
    titled = scene.word(begin) in english.TITLES and scene.is_name(begin + 1)
    end = scene.name_end(begin + 1) if titled else scene.name_end(begin)
    return ((begin, end), end) if begin < end <= begin + 4 else None


def _describes(scene: Scene, at: int) -> bool:
    """Whether a word may stand between `my` and a name: "my eldest sister Ruth", not "my sister says Ruth"."""
    word = scene.words[at]
    return word.isalpha() and not (word in scene.grammar.forms or word in english.SAYING or word in english.AUXILIARIES)


def _closed(words: tuple[str, ...], at: int) -> bool:
    """Whether an apposition that begins at a word is closed by a comma."""
    return "," in words[at : at + 4]


def subject(scene: Scene, at: int, antecedent: Span | None) -> Subject | None:
    """Return the subject that stands at a word, or None: I, we, a name, names, "my sister Ruth", he or she, who."""
    words = scene.words
    if at >= len(words):
        return None
    word = words[at]
    if word in ("i", "we"):
        return Subject(True, (), (), at, at + 1, FINITE_FIRST)
    if word in ("he", "she"):
        after = _and_theirs(scene, at + 1)
        return Subject(False, (antecedent,), (), at, after, FINITE_THIRD if after == at + 1 else FINITE_FIRST) if antecedent else None
    if word == "who":
        return _relative(scene, at)
    if word == "my" or word == "our":
        shared = _and_i(words, at)
        if shared:
            return Subject(True, (), (), at, shared, FINITE_FIRST)
    name = _named(scene, at)
    return _named_subject(scene, at, name) if name else None


NOTE = Subject(True, (), (), 0, 0, FINITE_FIRST)  # whoever writes a note without a subject


def dropped(scene: Scene, at: int) -> Subject | None:
    """Return the speaker as the subject that a note leaves out: "Moved to Munich", "been vegan since", "allergic to nuts"."""
    beyond = _behind_adverbs(scene, at)
    word = scene.word(beyond)
    forms = {form for _, form in scene.grammar.forms.get(word, ())}
    if Form.PAST in forms:
        return Subject(True, (), (), at, at, frozenset((Form.PAST,)))
    if word in ("do", "can", "will") and not scene.may_be_base(_behind_adverbs(scene, beyond + 1)):
        return None  # "Will said he may join"
    if Form.BASE in forms or word in ("do", "can", "will", "am"):
        return Subject(True, (), (), at, at, FINITE_FIRST)
    if Form.ING in forms and {"is", "was", "are", "were", "'s"}.isdisjoint(scene.words):
        return Subject(True, (), (), at, at, frozenset((Form.ING,)))
    return Subject(True, (), (), at, at, frozenset((Form.PARTICIPLE,))) if word == "been" else None


def _behind_adverbs(scene: Scene, at: int) -> int:
    while scene.word(at) in english.ADVERBS or scene.word(at) in ("not", "never", "no"):
        at += 1
    return at


def _relative(scene: Scene, at: int) -> Subject | None:
    """Return the name that `who` goes back to: "my friend Kim, who works at Acme"."""
    end = at - (scene.word(at - 1) == ",")
    begin = end
    while begin > 0 and end - begin < 4 and scene.is_name(begin - 1):
        begin -= 1
    return Subject(False, (scene.sentence.span(begin, end),), (), at, at + 1, FINITE_THIRD) if begin < end else None


def _and_i(words: tuple[str, ...], at: int) -> int | None:
    """Return the word behind "my wife and I"."""
    for end in range(at + 2, min(at + 5, len(words))):
        if words[end : end + 2] == ("and", "i"):
            return end + 2
    return None


def _named_subject(scene: Scene, at: int, name: tuple[Range, int]) -> Subject | None:
    words = scene.words
    names, after = [name[0]], name[1]
    while after + 1 < len(words) and words[after] in ("and", "&", ",") and len(names) < 6:
        if words[after + 1] == "i" and words[after] != ",":
            return Subject(True, _places(scene, names), tuple(names), at, after + 2, FINITE_FIRST)
        more = _named(scene, after + 1 + (words[after] == "," and words[after + 1] == "and"))
        if more is None:
            break
        names.append(more[0])
        after = more[1]
    theirs = _and_theirs(scene, after)
    is_plural = len(names) > 1 or theirs > after
    after = _behind_comma(scene, theirs)
    if after < len(words) and words[after] == "who":
        after += 1
    weak = scene.sentence.is_caseless or at == 0  # a capital at the beginning of a sentence makes no name: "Moved to Munich"
    if not (_is_verb(scene, after) or scene.word(after) == ",") or (
        weak and any(words[begin] in scene.grammar.forms for begin, _ in names)
    ):
        return None
    return Subject(False, _places(scene, names), tuple(names), at, after, FINITE_FIRST if is_plural else FINITE_THIRD)


def _and_theirs(scene: Scene, at: int) -> int:
    """Return the word behind "and his wife", which makes a subject plural; `at` where it does not stand."""
    if (
        scene.word(at) == "and"
        and scene.word(at + 1) in ("his", "her", "their", "my", "our")
        and scene.word(at + 2) in scene.grammar.phrase_words
    ):
        return at + 3
    return at


def _behind_comma(scene: Scene, at: int) -> int:
    """Return the word behind the comma and the apposition that follow a name; a remark ("Nora, I think, lives") is left to the verb."""
    words = scene.words
    if scene.word(at) != "," or aside(words, at + 1):
        return at
    if scene.word(at + 1) in ("my", "our", "the", "a") and "," in words[at + 1 : at + 6]:
        return words.index(",", at + 1) + 1
    return at + 1


def _is_verb(scene: Scene, at: int) -> bool:
    """Whether a verb stands at a word, adverbs and denials passed over."""
    for _ in range(4):
        word = scene.word(at)
        if word in english.AUXILIARIES or word in scene.grammar.forms:
            return True
        if (
            word not in english.ADVERBS | english.HEDGES | english.REPORTS | english.NEVER | english.SELDOM
            and not word.endswith("ly")
            and word not in ("no", "longer")
        ):
            return False
        at += 1
    return False


def _places(scene: Scene, names: list[Range]) -> tuple[Span, ...]:
    return tuple(scene.sentence.span(*name) for name in names)
