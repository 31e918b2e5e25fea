"""English verbs: every form of a verb that a pattern writes in one.

A pattern says "I live in {x}" or "I moved to {x}", and the extractor reads lives, living, lived, move, moving. Where the spelling rules
leave a doubt, both spellings are made: a form that nobody writes matches nothing.
"""

from __future__ import annotations

from enum import IntEnum


class Form(IntEnum):
    """Where in the verb group a form may stand."""

    BASE = 0  # live; after to, do, will; first persons and plurals
    THIRD = 1  # lives
    PAST = 2  # lived, went
    PARTICIPLE = 3  # lived, gone
    ING = 4  # living


BE_PRESENT = frozenset(("am", "is", "are"))
BE_PAST = frozenset(("was", "were"))
MODALS = frozenset(("will", "can", "must", "should", "would"))

# base: past, participle
IRREGULAR: dict[str, tuple[str, str]] = {
    base: (past, participle)
    for base, past, participle in (
        line.split()
        for line in """
        beat beat beaten|become became become|begin began begun|bear bore borne|bring brought brought|build built built
        break broke broken|buy bought bought|catch caught caught|choose chose chosen|come came come|cut cut cut|do did done
        draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|feel felt felt|find found found|fly flew flown
        forget forgot forgotten|get got got|give gave given|go went gone|grow grew grown|have had had|hear heard heard|hold held held
        keep kept kept|know knew known|lead led led|learn learnt learnt|leave left left|lend lent lent|lose lost lost|make made made
        mean meant meant|meet met met|pay paid paid|put put put|quit quit quit|read read read|ride rode ridden|run ran run|see saw seen
        sell sold sold|send sent sent|shut shut shut|sing sang sung|sleep slept slept|speak spoke spoken|spend spent spent
        stand stood stood|swim swam swum|take took taken|teach taught taught|tell told told|think thought thought|throw threw thrown
        wear wore worn|win won won|write wrote written""".replace("\n", "|").split("|")
        if line.strip()
    )
}
PAST = frozenset(past for base, (past, _) in IRREGULAR.items() if past != base) | {"said", "has"}
_BASE_OF_PAST = {past: base for base, (past, _) in IRREGULAR.items()}
_NOT_PAST = frozenset(("need", "feed", "breed", "speed", "embed", "heed", "seed", "weed"))
_VOWELS = frozenset("aeiou")


def conjugate(written: str, *, event: bool) -> tuple[bool, dict[str, set[Form]]]:
    """Return whether `written` is a past form, and the forms of its verb.

    `event` settles verbs whose past looks like their base (quit, read): the statement is of something that happens.
    """
    bases, past = _bases(written, event=event)
    forms: dict[str, set[Form]] = {}
    for base in bases:
        for form, texts in _forms(base):
            for text in texts:
                forms.setdefault(text, set()).add(form)
    return past, forms


def _bases(written: str, *, event: bool) -> tuple[list[str], bool]:
    if written in _BASE_OF_PAST:
        base = _BASE_OF_PAST[written]
        return [base], event if base == written else True
    if not written.endswith("ed") or written in _NOT_PAST or len(written) < 4:
        return [written], False
    stem = written[:-2]
    bases = [stem, stem + "e"]
    if stem.endswith("i"):
        bases.append(stem[:-1] + "y")
    if len(stem) > 2 and stem[-1] == stem[-2]:
        bases.append(stem[:-1])
    return bases, True


def _forms(base: str) -> list[tuple[Form, set[str]]]:
    past = IRREGULAR.get(base)
    return [
        (Form.BASE, {base}),
        (Form.THIRD, {"has"} if base == "have" else _suffixed(base, "s")),
        (Form.PAST, {past[0]} if past else _suffixed(base, "ed")),
        (Form.PARTICIPLE, {past[1]} if past else _suffixed(base, "ed")),
        (Form.ING, _suffixed(base, "ing")),
    ]


def _suffixed(base: str, suffix: str) -> set[str]:
    """Return the spellings of base + suffix: lives, watches, tries; moved, tried, stopped; moving, stopping."""
    texts = {base + suffix}
    after_consonant = len(base) > 1 and base[-2] not in _VOWELS
    if base.endswith("y") and after_consonant and suffix != "ing":
        texts.add(base[:-1] + ("ies" if suffix == "s" else "ied"))
    if suffix == "s":
        return texts | {base + "es"}
    if base.endswith("e"):
        texts.add(base[:-1] + suffix)
    if base.endswith("ie") and suffix == "ing":
        texts.add(base[:-2] + "ying")
    if len(base) > 2 and base[-1] not in _VOWELS and base[-2] in _VOWELS:
        texts.add(base + base[-1] + suffix)
    return texts
