"""The verb group: from a clause's subject to the verb that says something, and what stands between them does to the statement.

"I'm not planning to move" has two readings, outer to inner: the plan, and the (denied, planned) move. The innermost one that states a
relation is the one that counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from refold.fold import english
from refold.fold.scene import Scene
from refold.fold.verbs import BE_PAST, BE_PRESENT, Form
from refold.model import Modality


class Tense(IntEnum):
    """How the verb stands in time."""

    PRESENT = 0
    PROGRESSIVE = 1
    PAST = 2
    PAST_PROGRESSIVE = 3
    PERFECT = 4
    PERFECT_PROGRESSIVE = 5
    BEGUN = 6  # started living
    PLUPERFECT = 7  # had lived


@dataclass(frozen=True, slots=True)
class Reading:
    """One verb of a group as the verb of a statement. `after` is the word behind it, adverbs and denial passed over."""

    key: str
    after: int
    tense: Tense
    denied: bool = False
    ended: bool = False  # used to, stopped
    modality: Modality = Modality.ASSERTED
    always: bool = False


_BASE, _ING, _PARTICIPLE = frozenset((Form.BASE,)), frozenset((Form.ING,)), frozenset((Form.PARTICIPLE,))
FINITE_FIRST = frozenset((Form.BASE, Form.PAST))
FINITE_THIRD = frozenset((Form.THIRD, Form.PAST))
_VERBS_MAX = 5
_GIVING_UP = frozenset(("stop", "stops", "stopped", "stopping", "quit", "quits", "quitting", "ceased", "gave"))
_BEGINNING = frozenset(
    ("start", "starts", "started", "starting", "begin", "begins", "began", "beginning", "continue", "continued", "keep", "kept", "keeps")
)
_PLANNING = {"planning": ("to", "on"), "intending": ("to",), "about": ("to",), "set": ("to",), "aiming": ("to",), "due": ("to",)}
_INTENDING = frozenset(("plan", "plans", "intend", "intends", "planned", "intended", "decided"))
_COMING = frozenset(("come", "came", "grown", "grew", "learned", "learnt"))
_CONSIDERING = frozenset(("thinking", "considering", "contemplating"))
_RUMOURED = frozenset(("said", "reported", "rumoured", "rumored", "believed", "thought"))
_ASIDES = english.by_first([("however",), ("though",), ("actually",), ("by", "the", "way"), *english.TRAILING_HEDGES])
_PERFECT_ONLY = frozenset(("called", "named", "married", "engaged", "known"))  # "she's called": is, not has


def readings(scene: Scene, at: int, *, forms: frozenset[Form]) -> list[Reading]:
    """Return the verbs that the words from `at` on can be read as, outer to inner. `forms` are those the first may have."""
    walk = _Walk(scene, at, forms)
    while walk.verbs < _VERBS_MAX and walk.step():
        walk.verbs += 1
    return walk.found


def aside(words: tuple[str, ...], at: int) -> tuple[int, Modality] | None:
    """Return the comma behind a remark between subject and verb ("Nora, I think, lives"), and what it does."""
    phrase = english.longest(words, at, _ASIDES)
    if not phrase or words[at + len(phrase) : at + len(phrase) + 1] != (",",):
        return None
    return at + len(phrase), Modality.HEDGED if phrase in english.TRAILING_HEDGES else Modality.ASSERTED


class _Walk:
    """A walk along the verb group: the next word, the form it must have, and what the words so far have done."""

    __slots__ = ("always", "at", "denied", "ended", "forms", "found", "modality", "scene", "tense", "verbs", "words")

    def __init__(self, scene: Scene, at: int, forms: frozenset[Form]) -> None:
        self.scene, self.words, self.at, self.forms = scene, scene.words, at, forms
        self.tense, self.modality = Tense.PRESENT, Modality.ASSERTED
        self.denied = self.ended = self.always = False
        self.verbs = 0
        self.found: list[Reading] = []

    def word(self, at: int) -> str:
        return self.words[at] if at < len(self.words) else ""

    def pass_adverbs(self) -> None:
        """Walk over adverbs, denials and hedges."""
        words, forms = self.words, self.scene.grammar.forms
        while self.at < len(words):
            word = words[self.at]
            if word in english.SELDOM or (self.denied and word in english.MERELY):
                self.at = len(words)  # "I hardly ever", "I don't just": neither that it is so nor that it is not
                return
            if word in english.NEVER:
                self.denied = True
            elif word == "no" and self.word(self.at + 1) == "longer":
                self.denied, self.at = True, self.at + 1
            elif word in english.HEDGES:
                self.modality = Modality.HEDGED
            elif word in english.REPORTS:
                self.modality = Modality.REPORTED
            elif word == "always":
                self.always = True
            elif word in ("almost", "nearly"):
                self.at = len(words)  # what almost happened did not
                return
            elif word == "," and (remark := aside(words, self.at + 1)):
                self.modality = max(self.modality, remark[1])
                self.at = remark[0]
            elif word not in english.ADVERBS and not (word.endswith("ly") and word not in forms and self.at + 1 < len(words)):
                return
            self.at += 1

    def record(self, key: str, tense: Tense) -> None:
        """Record the verb at the walk's place; the walk goes on behind it and what follows of adverbs and denials."""
        self.at += 1
        self.pass_adverbs()
        self.found.append(Reading(key, self.at, tense, self.denied, self.ended, self.modality, self.always))

    def go(self, words: int, forms: frozenset[Form], *, tense: Tense | None = None, modality: Modality = Modality.ASSERTED) -> bool:
        """Go on behind `words` more words to a verb of these forms."""
        self.at += words
        self.forms = forms
        self.tense = self.tense if tense is None else tense
        self.modality = max(self.modality, modality)
        return True

    def step(self) -> bool:
        """Read one verb: record what it may state by itself, and say whether the walk goes on."""
        self.pass_adverbs()
        word = self.word(self.at)
        if not word:
            return False
        if Form.PAST in self.forms and self.forms & {Form.BASE, Form.THIRD}:
            finite = self.finite(word)
            if finite is not None:
                return finite
        if word == {Form.BASE: "be", Form.ING: "being", Form.PARTICIPLE: "been"}.get(next(iter(self.forms))):
            return self.be()
        if word == "going" and Form.ING in self.forms and self.word(self.at + 1) == "to":
            self.record_forms(word, move=False)
            return self.go(2, _BASE, modality=Modality.PLANNED)
        if word == "have" and Form.BASE in self.forms:
            return self.perfect()
        return self.main(word)

    def finite(self, word: str) -> bool | None:
        """Read an auxiliary in a finite form; None where the word is none."""
        following = self.word(self.at + 1)
        if word in ("do", "does", "did"):
            self.record_forms(word, move=False)
            return self.go(1, _BASE, tense=Tense.PAST if word == "did" else Tense.PRESENT)
        if word in ("will", "shall", "gonna"):
            self.record("will", Tense.PRESENT)
            return self.go(0, _BASE, modality=Modality.PLANNED)
        if word in ("may", "might") or (word == "could" and following == "be"):
            return self.go(1, _BASE, modality=Modality.HEDGED)
        if word in ("can", "must", "should", "would", "'d"):
            self.found.append(Reading("would" if word == "'d" else word, self.at + 1, Tense.PRESENT, modality=self.modality))
            return False
        if word == "used" and following == "to":
            self.ended = True
            return self.go(2, _BASE)
        if word in ("have", "has", "had") or (word == "'s" and self.is_perfect()):
            return self.perfect()
        if word in BE_PRESENT or word in BE_PAST or word == "'s":
            self.tense = Tense.PAST if word in BE_PAST else Tense.PRESENT
            return self.be()
        if word in ("seem", "seems", "appear", "appears") and following == "to":
            return self.go(2, _BASE, modality=Modality.HEDGED)
        return None

    def is_perfect(self) -> bool:
        """Whether the 's at the walk's place is `has`: a participle follows that is nothing else."""
        ahead = _Walk(self.scene, self.at + 1, _BASE)
        ahead.pass_adverbs()
        word = self.word(ahead.at)
        forms = {form for _, form in self.scene.grammar.forms.get(word, ())}
        return word in ("been", "got", "had") or (Form.PARTICIPLE in forms and word not in _PERFECT_ONLY)

    def be(self) -> bool:
        """Record `be`, and go on to what is planned, considered or going on."""
        tense = self.tense
        self.record("be", tense)
        word, following = self.word(self.at), self.word(self.at + 1)
        if word == "going" and following == "to":
            return tense is Tense.PRESENT and self.go(2, _BASE, modality=Modality.PLANNED)
        if following in _PLANNING.get(word, ()):
            return self.go(2, _ING if following == "on" else _BASE, tense=Tense.PRESENT, modality=Modality.PLANNED)
        if word in _RUMOURED and following == "to":
            return self.go(2, _BASE, tense=Tense.PRESENT, modality=Modality.REPORTED)
        if word in _CONSIDERING:
            return self.go(1 + (following in ("of", "about")), _ING, tense=Tense.PRESENT, modality=Modality.HEDGED)
        progressive = {Tense.PAST: Tense.PAST_PROGRESSIVE, Tense.PERFECT: Tense.PERFECT_PROGRESSIVE}
        return self.go(0, _ING, tense=progressive.get(tense, Tense.PROGRESSIVE))

    def perfect(self) -> bool:
        """Record `have`, and go on to a participle; what had been is past."""
        word = self.word(self.at)
        if word == "had":
            self.record_forms(word, move=False)
            self.record("have", Tense.PAST)
            return self.go(0, _PARTICIPLE, tense=Tense.PLUPERFECT)
        if word == "'s":
            self.at += 1
        else:
            self.record("have", self.tense)
        return self.go(0, _PARTICIPLE, tense=Tense.PERFECT)

    def main(self, word: str) -> bool:
        """Record a verb that patterns are made of; go on behind one that only says what becomes of the next."""
        following = self.word(self.at + 1)
        at = self.at
        tense = self.tense
        self.record_forms(word)
        if self.at == at:
            self.at += 1
        if word in _GIVING_UP:
            self.ended = True
            return self.go(word == "gave" and following == "up", _ING, tense=Tense.PRESENT)
        if word in _BEGINNING:
            return self.go(1, _BASE, tense=Tense.BEGUN) if following == "to" else self.go(0, _ING, tense=Tense.BEGUN)
        if word in _COMING and following == "to":
            return self.go(1, _BASE, tense=Tense.PRESENT)
        is_over = tense in (Tense.PAST_PROGRESSIVE, Tense.PLUPERFECT) or (word in ("planned", "intended") and tense is Tense.PRESENT)
        if word in _INTENDING and following in ("to", "on") and not is_over:
            return self.go(1, _BASE if following == "to" else _ING, tense=Tense.PRESENT, modality=Modality.PLANNED)
        return False

    def record_forms(self, word: str, *, move: bool = True) -> None:
        """Record the verb at the walk's place under every key that it may be a form of; `have` is recorded by the perfect."""
        at, denied, modality, always = self.at, self.denied, self.modality, self.always
        for key, form in self.scene.grammar.forms.get(word, ()):
            if form in self.forms and key != "have":
                self.at = at
                self.record(key, Tense.PAST if form is Form.PAST and self.tense is Tense.PRESENT else self.tense)
        if not move:
            self.at, self.denied, self.modality, self.always = at, denied, modality, always
