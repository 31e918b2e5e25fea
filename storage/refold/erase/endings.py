"""Endings that a name takes in a sentence: the cases of Slavic, Baltic, Finnish, Turkish and Greek names, diminutives, a plural. Pure.

They are written in the letters of the plain form, Cyrillic and Greek ones as Latin ones. English endings of words are none of them: a
"Brandted" names nobody.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from refold.erase.letters import romanised

_TABLE = """
a ach ai aj akh am ami an ar as at bal ban bel ben bol cal ce cel chen ci cie cita cito da dal dan de del den dzie e ech ego ei eiu ej ek
em emu en enko ens er es et ev evi evoi evym ey fal fel gal gel hal hel hez ho hoz i ia iakh iami ich ie iho ii im imu in ina inha inho
inn ino ir is ita ito iu je ka kal ke kel ko kou ksi ku la lal lar lari larin le lein lel ler leri lerin lla lle lta m mal mel mu n nak
nal nek nel nin nun o ogo oi oiu oj om omu on os ot ou ov ova ove ovej ovi ovie ovna ovo ovoi ovou ovu ovym ow owa owej owi owie owna oy
pal pel ral rel ri rol rze s sal sek sel si ssa sta t ta tal tan te tel ten ti tje tjes tol u um ur us val vel y ya ye yi yla yle ym ymu
zal zel zi
"""
ENDINGS = frozenset(_TABLE.split())
OF_FAMILIES = frozenset(("ov", "ow", "ev", "ova", "owa", "eva", "enko"))  # of last names: Petrov is no Petr
SHORT = frozenset("aeimouy")  # endings of one letter that a name of four has
FORM_MIN, STEM_MIN = 5, 4  # letters of a name in Latin letters, and of what is left before its ending
FOREIGN_STEM_MIN = 3  # of one in Cyrillic or Greek letters, where a name looks like few words
_STEMS = ((re.compile("nen$"), "se"), (re.compile("(?<=[^aeiouy])e([^aeiouy])$"), r"\1"))  # Virtanen: Virtasen; Marek: Marka


class Endings:
    """The forms of a name, and which of them a word is with an ending."""

    def __init__(self, forms: Iterable[str], families: Collection[str]) -> None:
        """Take the forms of all parts of a name, and those that are last names."""
        self._families = families
        self._stems: dict[str, list[tuple[str, str]]] = {}
        for form in forms:
            changed = {ending.sub(other, form) for ending, other in _STEMS} - {form}
            for stem in (form, form[:-1], form[:-2], *changed):
                self._stems.setdefault(stem[:FOREIGN_STEM_MIN], []).append((stem, form))

    def form(self, word: str) -> str | None:
        """Return the form that a word is with an ending; None where it is none."""
        plain = romanised(word)
        is_foreign = plain != word
        stems = [
            *self._stems.get(plain[:FOREIGN_STEM_MIN], ()),
            *(self._stems.get(plain[: FOREIGN_STEM_MIN - 1], ()) if is_foreign else ()),
        ]
        for stem, form in stems:
            ending = plain[len(stem) :]
            if not plain.startswith(stem) or ending not in ENDINGS or (ending in OF_FAMILIES and form not in self._families):
                continue
            least = FOREIGN_STEM_MIN - (form == f"{stem}ia")  # one letter in Cyrillic: Olia, with Olei
            if len(stem) >= least if is_foreign else _is_enough(stem, form, ending):
                return form
        return None


def _is_enough(stem: str, form: str, ending: str) -> bool:
    """Whether what a word has of a name in Latin letters is enough to know it by."""
    if len(form) < FORM_MIN:
        return stem == form and len(form) >= STEM_MIN and (len(ending) > 1 or ending in SHORT)
    return len(stem) >= STEM_MIN + (len(form) - len(stem) > 1)
