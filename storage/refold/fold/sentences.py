"""An event's text as sentences of words, each word with its exact place.

What is not the speaker's own plain speech is taken out first, character for character, so that places stay: code, quoted lines and
quoted speech. Quoted speech comes back as sentences of whoever is said to have said it, and is dropped where nobody is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from refold.fold import english
from refold.model import Span

WORDS_MAX = 300  # a longer "sentence" is a listing or noise: nothing is read from it


def _marks() -> str:
    """Return a character class of the combining marks and joiners: they belong to the word they follow, and are no word characters."""
    codes = [code for code in range(0x300, 0x1E950) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    ranges: list[list[int]] = []
    for code in [*codes, 0x200C, 0x200D]:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_LETTERS = rf"(?:[^\W_]|[{_marks()}])"
_TOKEN = re.compile(
    rf"[\w.+%-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}"  # an e-mail address
    r"|https?://[^\s<>()]+"
    rf"|(?<!\w)(?:Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|Inc|Ltd|Corp|Co|vs|etc|approx|[eE]\.g|[iI]\.e|a\.k\.a)\.(?=\W)"
    rf"|(?<!\w)[A-HJ-Z]\.(?=\ [A-Z])"  # an initial
    rf"|{_LETTERS}+(?:[.'-]{_LETTERS}+)*"
    r"|\n[ \t]*\n\s*|\n|\.\.\.+|[\x01\x02]+|\S"
)
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02", '"'),
        **dict.fromkeys("\u2010\u2011", "-"),
        **dict.fromkeys("\u2012\u2013\u2014\u2015", "\u2014"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000\t", " "),
        "\r": "\n",
        "\u2028": "\n",
        "\u2029": "\n",
        "\u3002": ".",
        "\uff01": "!",
        "\uff1f": "?",
    }
)
_FENCED = re.compile(r"(`{3,}).*?(?:\1|\Z)|^[ ]{0,3}(~{3,}).*?(?:^[ ]{0,3}\2|\Z)", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"(?:\A|(?<=\n)[ \t\r]*\n)(?:(?: {4}|[ ]{0,3}\t)[^\n]*(?:\n|\Z))+")  # behind an empty line, or first
_CODE = re.compile(r"`[^`\n]+`")
_QUOTED_LINE = re.compile(r"^[ ]{0,3}>[^\n]*", re.MULTILINE)
_QUOTE = re.compile(r'"([^"\n]{3,600})"')
_SINGLE = re.compile(r"(?<!\w)'(?=\w)|(?<=[\w.,!?])'(?!\w)")  # an opening or closing single quote, not an apostrophe within a word
_SINGLE_MAX = 400  # characters between two single quotes that belong together
_SPEECH = re.compile(r"\S+\s+\S+\s+\S")  # three words: a quoted name is not speech
_DECORATION = frozenset("*_#~\u2022|")
_WRAPPED_MIN = 40  # characters: a shorter line that ends is meant to end


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of one sentence. `words` are lower-cased with contractions opened; the places are those of the text.

    `voice` is the quoted speaker's place where the sentence is quoted speech.
    """

    text: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    end_mark: str
    is_caseless: bool
    voice: Span | None = None

    def span(self, first: int, end: int) -> Span:
        """Return the place of the words [first, end)."""
        return self.starts[first], self.ends[end - 1]

    def raw(self, index: int) -> str:
        """Return a word as written."""
        return self.text[self.starts[index] : self.ends[index]]


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text in order; quoted speech follows the sentence-wise reading of what surrounds it."""
    plain = text if text.isascii() and "\t" not in text and "\r" not in text else text.translate(_PLAIN)
    plain = without_listings(plain, text)
    if "`" in plain:
        plain = _CODE.sub(_blank, plain)
    if ">" in plain:
        plain = _QUOTED_LINE.sub(_blank, plain)
    caseless = plain == plain.lower()
    inside, speeches = plain, []
    if '"' in plain or "'" in plain:
        plain, speeches = _without_speech(inside)
    yield from _split(text, plain, _lowered(plain), (0, len(plain)), caseless, None)
    lowered = _lowered(inside) if speeches else ""
    for first, end in speeches:
        voice = _speaker(plain, first, end)
        if voice:
            yield from _split(text, inside, lowered, (first, end), caseless, voice)


def without_listings(plain: str, text: str) -> str:
    """Return `plain` without the blocks of code that `text`, of the same length, has: fenced or indented."""
    if "```" in plain or "~~~" in plain:
        plain = _FENCED.sub(_blank, plain)
    if "    " not in text and "\t" not in text:
        return plain
    pieces, at = [], 0
    for match in _INDENTED.finditer(text):
        pieces += [plain[at : match.start()], _blank(match)]
        at = match.end()
    return "".join(pieces) + plain[at:]


def _blank(match: re.Match[str]) -> str:
    return "\x01" * (match.end() - match.start())


def _without_speech(plain: str) -> tuple[str, list[Span]]:
    """Blank quoted speech out; return the rest and where each speech stands."""
    quoted = [match.span(1) for match in _QUOTE.finditer(plain)] if '"' in plain else list(_single_quoted(plain))
    found = [(first, end) for first, end in quoted if _SPEECH.search(plain, first, end)]
    if not found:
        return plain, []
    pieces, at = [], 0
    for first, end in found:
        pieces += [plain[at : first - 1], "\x02" * (end - first + 2)]
        at = end + 1
    return "".join(pieces) + plain[at:], found


def _single_quoted(plain: str) -> Iterator[Span]:
    """Yield what stands between single quotes; an apostrophe that opens nothing ("the students' room") is passed over."""
    opened: int | None = None
    for match in _SINGLE.finditer(plain):
        at = match.start()
        if plain[at + 1 : at + 2].isalnum():
            opened = at + 1 if opened is None or at - opened > _SINGLE_MAX else opened
        elif opened is not None:
            if at - opened <= _SINGLE_MAX and "\n" not in plain[opened:at]:
                yield opened, at
            opened = None


_NAME = r"[^\W\d_a-z][\w'-]{0,40}(?: [^\W\d_a-z][\w'-]{0,40}){0,2}"
_SAYS = r"(?:said|says|told me|tells me|told us|wrote|writes|replied|answered|texted me|texted|announced|insisted|added|explained)"
_BEFORE = re.compile(rf"(?P<name>{_NAME})(?: (?:just|then|also|once|recently|always))? {_SAYS}(?: to me| to us| back)?[:,]? ?$")
_AFTER = re.compile(rf"[,.!]? ?(?:{_SAYS} (?P<last>{_NAME})|(?P<name>{_NAME}) {_SAYS})(?=\W|$)")


def _speaker(plain: str, first: int, end: int) -> Span | None:
    """Return the place of the name that a speech is ascribed to: `Ruth said "..."`, `"...", said Ruth`."""
    window = max(0, first - 1 - 160)
    before = _BEFORE.search(plain[window : first - 1])
    if before and before.group("name").split()[0].lower() not in english.NOT_NAMES:
        return before.start("name") + window, before.end("name") + window
    after = _AFTER.match(plain, end + 1)
    if after:
        group = "last" if after.group("last") else "name"
        if after.group(group).split()[0].lower() not in english.NOT_NAMES:
            return after.span(group)
    return None


def _lowered(plain: str) -> str:
    """Return a text in small letters, as long as it was: a letter whose small form is longer would shift every place behind it."""
    lowered = plain.lower()
    return lowered if len(lowered) == len(plain) else "".join(low if len(low := char.lower()) == 1 else char for char in plain)


class _Words:
    """The words of the sentence that is being read, and where each stands."""

    __slots__ = ("ends", "is_overlong", "starts", "words")

    def __init__(self, *, is_overlong: bool = False) -> None:
        self.words: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.is_overlong = is_overlong  # it had more words than a sentence may have: nothing is read of it

    def add(self, word: str, at: int, stop: int) -> None:
        self.words.append(word), self.starts.append(at), self.ends.append(stop)


def _split(text: str, plain: str, lowered: str, bounds: Span, caseless: bool, voice: Span | None) -> Iterator[Sentence]:
    said = _Words()
    for match in _TOKEN.finditer(plain, *bounds):
        mark = _take(said, lowered[match.start() : match.end()], match.span(), plain)
        if mark and said.words:
            if not said.is_overlong:
                yield Sentence(text, tuple(said.words), tuple(said.starts), tuple(said.ends), mark, caseless, voice)
            said = _Words()
        elif len(said.words) > WORDS_MAX:
            said = _Words(is_overlong=True)
    if said.words and not said.is_overlong:
        yield Sentence(text, tuple(said.words), tuple(said.starts), tuple(said.ends), "", caseless, voice)


def _take(said: _Words, word: str, place: Span, plain: str) -> str:
    """Take one token into a sentence; return the mark that ends the sentence, or nothing where it goes on."""
    at, stop = place
    if word in english.TERMINATORS:
        if word == "." and said.words and plain[stop : stop + 1].isalnum():
            return ""
        said.add(word, at, stop)
        return "?" if "?" in plain[at : stop + 1] else word
    if word[0] == "\n":
        return word[0] if said.words and (len(word) > 1 or not _is_wrapped(plain, at, stop)) else ""
    if "'" in word or word in english.WITHOUT_APOSTROPHE:
        _add_contracted(word, at, said)
    elif word not in _DECORATION:
        said.add(english.SLANG.get(word, word), at, stop)
        if word[-1] == "." and word in english.COMPANY_ENDINGS and plain[stop : stop + 2].strip()[:1].isupper():
            return "."
    return ""


def _is_wrapped(plain: str, at: int, stop: int) -> bool:
    """Whether a line break only wraps a paragraph: the line is long, and the next one goes on in lower case."""
    begin = plain.rfind("\n", max(0, at - 200), at) + 1
    return at - begin >= _WRAPPED_MIN and plain[stop : stop + 1].islower()


def _add_contracted(word: str, at: int, said: _Words) -> None:
    """Append a token with its contraction opened: don't is do + not, I'm is i + am, Ruth's is ruth + 's."""
    parts: list[tuple[str, int]] = [(word, len(word))]
    if "'" in word:
        cut = len(word) - 3 if word.endswith("n't") and len(word) > 3 else word.rfind("'")
        tail = word[cut:]
        if tail == "n't":
            parts = [(english.NEGATIVE_STEMS.get(word[:cut], word[:cut]), cut), ("not", len(word))]
        elif tail in ("'s", "'d", "'ll", "'m", "'re", "'ve") and cut:
            parts = [(word[:cut], cut), (english.CONTRACTED.get(tail, tail), len(word))]
    else:
        length, head, tail = english.WITHOUT_APOSTROPHE[word]
        parts = [(head, length), (tail, len(word))]
    begin = 0
    for part, finish in parts:
        said.add(part, at + begin, at + finish)
        begin = finish
