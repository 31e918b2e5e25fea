"""Spelled: what stands in some bytes in another spelling: escapes, base64, hexadecimal, UTF-16, the digits of a number."""

from __future__ import annotations

import binascii
import html
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from refold.scan.joined import BASE64, DIGITS, HEX, TEXT, Data, Joined, New, Stretches, pairs_of, places_of

WIDE_SHARE = 8  # of so many bytes one is zero where UTF-16 is looked for
OPAQUE_MIN = 48
OPAQUE_SHARE = 0.92
OPAQUE_RUN_MIN = 1_400  # characters of base64

NAMED = rb"&(?:[a-zA-Z][a-zA-Z0-9]{1,8}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});"
BY_LEAD = {
    b"%": rb"%[0-9a-fA-F]{2}",
    b"\\": rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbf/\"\\'])",
    b"&": NAMED,
    b"=": rb"=[0-9A-F]{2}",
}
ESCAPE = re.compile(b"|".join(BY_LEAD.values()) + rb"|=\r?\n")
SOFT_BREAKS = (b"=\n", b"=\r\n")  # no escapes by themselves: they stand in other text too
HEXDIGITS = string.hexdigits.encode()
SECOND = {b"%": HEXDIGITS, b"\\": b"uxnrtbf/\"\\'", b"&": string.ascii_letters.encode() + b"#", b"=": HEXDIGITS}
ESCAPES = pairs_of(lead + bytes([letter]) for lead, letters in SECOND.items() for letter in letters)  # how an escape begins
BREAKS = ESCAPES | pairs_of((b"=\n", b"=\r"))
KINDS_MAX = 64  # escapes whose kinds are named
NAMES = {b"%": "url", b"\\": "json", b"&": "html", b"=": "quoted-printable"}
SINGLE = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b" ", b"f": b" "}
WIDE = {"utf-16-le": re.compile(rb"(?:[\t\n\r -~]\x00){6,}"), "utf-16-be": re.compile(rb"(?:\x00[\t\n\r -~]){6,}")}
URL_SAFE = BASE64.to(b"A").translate(bytes.maketrans(b"-_=", b"+/A"))
AS_LINES, APART = TEXT.to(b"\n"), DIGITS.to(b"x")
HEX_VALUES = np.array([int(chr(byte), 16) if chr(byte) in string.hexdigits else 0x80 for byte in range(256)], dtype=np.uint8)
NOT_HEX = b"%\\x: "
NOT_DIGITS = b" ()./+-\t"


@dataclass(frozen=True, slots=True)
class Spelling:
    """Bytes that stood there in another spelling, and where, for an offset of these, the stretch began that spelled it."""

    encoding: str
    raw: bytes
    origin: Callable[[int], int]
    new: New | None = None  # where nearly all of it stood there as it is: what did not
    place: Callable[[int], int] | None = None  # where, for an offset of these, the very letters stand that spell it


def spellings(found: Stretches) -> Iterator[Spelling]:
    """Yield everything that some bytes spell."""
    yield from _escapes(found)
    yield from _base64(found)
    yield from _hex(found)
    yield from _wide(found.data)


def _escapes(found: Stretches) -> Iterator[Spelling]:
    """Undo escapes of URLs, JSON, Python, HTML and quoted-printable, wherever text has some."""
    places = places_of(found.data, ESCAPES)
    runs = found.joined(TEXT, holding=places) if len(places) else None
    if runs is None:
        return
    text = runs.raw.translate(AS_LINES)
    pieces = _apart(text)
    kinds = _kinds(pieces[1::2])
    if kinds:
        pieces[1::2] = map(_Unescaped().__getitem__, pieces[1::2])
        plain, ends = b"".join(pieces), np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))
        yield Spelling(kinds, plain, _scaled(runs, len(text) / max(len(plain), 1)), New(ends[:-1:2], ends[1::2]))


def _apart(text: bytes) -> list[bytes]:
    """Take a text apart: what stands between escapes, and every second time an escape."""
    pieces, past, match = [], 0, ESCAPE.match
    for at in places_of(text, BREAKS).tolist():
        if at >= past and (found := match(text, at)):
            pieces += (text[past:at], found[0])
            past = found.end()
    return [*pieces, text[past:]]


class _Unescaped(dict[bytes, bytes]):
    """What each escape stands for, worked out once: a text repeats few of them often."""

    def __missing__(self, raw: bytes) -> bytes:
        self[raw] = _unescaped(raw)
        return self[raw]


def _kinds(escapes: Sequence[bytes]) -> str:
    """Name the kinds of escapes among some; nothing where there are but soft breaks."""
    first = next((at for at, each in enumerate(escapes) if each not in SOFT_BREAKS), len(escapes))
    return "+".join(sorted({NAMES[each[:1]] for each in escapes[first : first + KINDS_MAX]}))


def _unescaped(raw: bytes) -> bytes:
    if raw[:1] == b"&":
        return html.unescape(raw.decode()).replace("\xa0", " ").encode(errors="replace")
    if raw[:1] in b"%=" or raw[:2] == b"\\x":
        return bytes.fromhex(raw[-2:].decode()) if raw[-1:] != b"\n" else b""
    if raw[:2] == b"\\u" and len(raw) > 6:  # two halves of one character
        return bytes.fromhex((raw[2:6] + raw[8:]).decode()).decode("utf-16-be").encode()
    if raw[:2] == b"\\u":
        return chr(int(raw[2:], 16)).encode(errors="replace")
    return SINGLE.get(raw[1:], raw[1:])


def _base64(found: Stretches) -> Iterator[Spelling]:
    """Decode base64 and its URL-safe form, with or without line breaks, wherever in a stretch it begins.

    The gap of an `A`, which padding becomes too, ends what was before it with a byte that is no letter, and begins what is after it so.
    """
    runs = found.joined(BASE64)
    if runs:
        raw = runs.raw.translate(URL_SAFE, b"\r\n") + b"AAAAAAA"
        pieces = [binascii.a2b_base64(raw[skipped : skipped + (len(raw) - skipped) // 4 * 4]) for skipped in range(4)]
        yield _together("base64", pieces, runs, (4, 3), b"\r\n")


def _hex(found: Stretches) -> Iterator[Spelling]:
    """Decode hexadecimal digits, also with percent signs, backslashes or colons between them.

    A gap is more than a digit can be, so that what is made with one is told from a byte.
    """
    runs = found.joined(HEX)
    if runs:
        values = HEX_VALUES[np.frombuffer(runs.raw.translate(None, NOT_HEX) + b"0", dtype=np.uint8)]
        yield _together("hex", [_paired(values[skipped:]).tobytes() for skipped in range(2)], runs, (2, 1), NOT_HEX)


def _paired(values: np.ndarray) -> np.ndarray:
    """Return the bytes of pairs of hexadecimal digits, and zero where one of two is none."""
    high, low = values[: len(values) // 2 * 2 : 2], values[1::2]
    return ((high << 4) | low) & (((high | low) >> 7) - 1)


def _together(encoding: str, pieces: list[bytes], runs: Joined, share: tuple[int, int], left_out: bytes) -> Spelling:
    """Put the readings from each place where a stretch may begin one after the other. So many letters spell so many bytes."""
    size, (letters, bytes_of) = len(pieces[0]), share
    placed = _Placed(runs, left_out)
    return Spelling(
        encoding,
        b"".join(piece.ljust(size, b"\0") for piece in pieces),
        lambda at: runs.origin(at % size * letters // bytes_of),
        place=lambda at: placed.letter(at // size + at % size * letters // bytes_of),
    )


class _Placed:
    """Where each letter of some stretches stood, worked out once something is met that may be chance."""

    def __init__(self, runs: Joined, left_out: bytes) -> None:
        self._runs = runs
        self._left_out = left_out
        self._letters: np.ndarray | None = None

    def letter(self, number: int) -> int:
        """Return where a letter stood, by its number among all that are not left out."""
        if self._letters is None:
            kept = np.ones(256, dtype=bool)
            kept[list(self._left_out)] = False
            self._letters = np.flatnonzero(kept[np.frombuffer(self._runs.raw, np.uint8)])
        at = int(self._letters[min(number, len(self._letters) - 1)])
        run = max(int(np.searchsorted(self._runs.starts, at, side="right")) - 1, 0)
        return int(self._runs.origins[run]) + at - int(self._runs.starts[run])


def _scaled(runs: Joined, share: float) -> Callable[[int], int]:
    return lambda at: runs.origin(int(at * share))


def _wide(data: Data) -> Iterator[Spelling]:
    """Narrow plain text that stands in UTF-16, for what is escaped or encoded in it."""
    raw = bytes(data)
    if raw.count(0) * WIDE_SHARE < len(raw) or not _alternates(raw):
        return
    for encoding, pattern in WIDE.items():
        found = [each[0][(encoding == "utf-16-be") :: 2] for each in pattern.finditer(raw)]
        if found:
            first = pattern.search(raw)
            start = first.start() if first else 0
            yield Spelling(encoding, b"\n".join(found), lambda at, start=start: start)


def _alternates(raw: bytes) -> bool:
    """Whether zeros stand by themselves, two bytes apart, often enough to be UTF-16."""
    zero = np.frombuffer(raw, dtype=np.uint8) == 0
    return int(np.count_nonzero(zero[:-2] & ~zero[1:-1] & zero[2:])) * WIDE_SHARE >= len(raw) // 4


def digits(found: Stretches) -> tuple[bytes, Callable[[int], int]] | None:
    """Return the digits of everything that could be a phone number, apart from one another; None where there is nothing."""
    runs = found.joined(DIGITS)
    if runs is None:
        return None
    only = runs.raw.translate(APART, NOT_DIGITS)
    return only, _scaled(runs, len(runs.raw) / max(len(only), 1))


def is_text(data: Data) -> bool:
    """Whether bytes read as text of some kind: UTF-8, or with many zeros UTF-16."""
    sample = bytes(memoryview(data)[:65536])
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(sample) - 4 and len(sample) == 65536
    return True


def is_opaque(data: Data) -> bool:
    """Whether bytes look compressed or encrypted: every value about as frequent as every other."""
    sample = np.frombuffer(memoryview(data)[: 1 << 16], dtype=np.uint8)
    if len(sample) < OPAQUE_MIN or is_text(data):
        return False
    shares = np.bincount(sample, minlength=256) / len(sample)
    entropy = -float(np.sum(shares[shares > 0] * np.log2(shares[shares > 0])))
    return entropy > OPAQUE_SHARE * min(8.0, float(np.log2(len(sample))))


def has_opaque_base64(found: Stretches) -> bool:
    """Whether a long run of base64 holds something that cannot be looked into, and is of no known kind."""
    runs = found.joined(BASE64, least=OPAQUE_RUN_MIN)
    if runs is None:
        return False
    for start, length in zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True):
        raw = runs.raw[start : start + length].translate(URL_SAFE, b"\r\n")
        plain = binascii.a2b_base64(raw[: len(raw) // 4 * 4])
        if is_opaque(plain) and not plain.startswith(KNOWN):
            return True
    return False


KNOWN = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK", b"\x78", b"BZh", b"\xfd7zXZ", b"PAR1", b"ARROW1", b"SQLite")
