"""Chance: what is random by its form, in which any short name stands sooner or later although nobody wrote it.

Ciphertext, keys, digests and random ids are every value about as often as every other. Three letters stand in a MiB of such bytes with
a probability of about a quarter, and `ada` in one of two hundred digests. So short needles are looked for in all that was written, and
not in what was drawn: in a file of Refold the two are told apart by its form. In files of others ids and digests in hexadecimal digits
are, and tokens in base64, as they stand and as what they spell: a database of ten thousand ids spells any name of three letters.

A needle is short below FREE_MIN letters (below HEX_MIN where hexadecimal digits can spell it). Chance writes one that is not so with a
probability below 2^-17 in a GiB of ciphertext or keys, and in 8 MiB of digests. A stretch of PRINTABLE_MIN printable characters that
holds a given name of three letters stands in a GiB of ciphertext with a probability of about 2^-15, so there short ones are looked for.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from refold.scan.joined import Data

FREE_MIN = 8  # letters and digits from which on a match may stand inside a longer word
HEX_MIN = 10
PRINTABLE_MIN = 24
DRAWN_BYTES = (16, 32)
DISTINCT_MIN = 6  # different digits in a word of hexadecimal digits that was drawn, not written

HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")
PRINTABLE = re.compile(rb"(?:[\t\n\r -~]|[\xc3-\xc5][\x80-\xbf]){%d,}" % PRINTABLE_MIN)
DRAWN_HEX = re.compile(rb"(?<![0-9A-Za-z])[0-9a-f]{16,}(?![0-9A-Za-z])")
DRAWN_BASE64 = re.compile(rb"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,}={0,2}(?![A-Za-z0-9+/=])")
ID = re.compile(rb"(?:[0-9a-f]{16,}|[0-9A-F]{16,}|(?i:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}))")
TOKEN = re.compile(rb"[A-Za-z0-9+/_-]{40,}")
TOKEN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
REACH = 96  # bytes around a match by which it is told what it stands in
CLASSES = bytes(0 if 65 <= byte <= 90 else 1 if 97 <= byte <= 122 else 2 if 48 <= byte <= 57 else 3 for byte in range(256))
MIXED_MIN = 0.42  # of two neighbours in base64 of random bytes 0.64 are of two classes; in words and paths a third
LETTERS_MIN = 0.2  # of either case; in such base64 0.41
UNPRINTABLE_MAX = 1 / 3  # of random bytes 0.63 are not printable
PRINTED = bytes(range(32, 127)) + b"\t\n\r"
ID_BYTES = b"0123456789abcdefABCDEF-"


def is_short(text: str) -> bool:
    """Whether chance writes some letters and digits too often for them to be looked for in what is random."""
    size = sum(len(letter.encode()) if ord(letter) > 0xFF else 1 for letter in text)
    return size < FREE_MIN or (size < HEX_MIN and HEX_DIGITS.fullmatch(text) is not None)


def in_drawn(data: bytes, start: int, end: int, *, spelled: bool = False) -> bool:
    """Whether a stretch stands within an id, a digest or a token that was drawn, written in hexadecimal digits or base64.

    Where what stands there is what it spells, that has to be random too: else somebody wrote it.
    """
    ids = _around(ID, ID_BYTES, data, start, end)
    if any(len(set(each.lower())) > DISTINCT_MIN and not (spelled and _says_something(each)) for each in ids):
        return True
    return any(_is_mixed(each) and all(map(is_random, _readings(each))) for each in _around(TOKEN, TOKEN_BYTES, data, start, end))


def _around(form: re.Pattern[bytes], letters: bytes, data: bytes, start: int, end: int) -> list[bytes]:
    """Return what is of a form and holds a stretch."""
    first, last = len(data[:start].rstrip(letters)), len(data) - len(data[end:].lstrip(letters))
    return [each[0] for each in form.finditer(data, first, last) if each.start() <= start and end <= each.end()]


def _says_something(spelled: bytes) -> bool:
    digits = spelled.replace(b"-", b"")
    return not is_random(bytes.fromhex(digits[: len(digits) // 2 * 2].decode()))


def _is_mixed(token: bytes) -> bool:
    """Whether capital and small letters, digits and signs follow each other as they do in base64 of random bytes, not as in words."""
    kinds = np.frombuffer(token.translate(CLASSES), np.uint8)
    is_of_both = min(np.count_nonzero(kinds == kind) for kind in (0, 1)) >= LETTERS_MIN * len(kinds)
    return bool(is_of_both and np.count_nonzero(kinds[1:] != kinds[:-1]) >= MIXED_MIN * len(kinds))


def _readings(token: bytes) -> list[bytes]:
    """Return what a token spells in base64, wherever in it that begins."""
    plain = token.replace(b"-", b"+").replace(b"_", b"/")
    return [binascii.a2b_base64(plain[skipped : skipped + (len(plain) - skipped) // 4 * 4]) for skipped in range(4)]


def is_random(raw: bytes) -> bool:
    """Whether bytes are as random ones are: no text, and much of them cannot be printed."""
    unprintable = len(raw.translate(None, PRINTED))
    return not is_text(raw) and unprintable > UNPRINTABLE_MAX * len(raw)


def is_drawn(value: bytes) -> bool:
    """Whether the value of a cell is a random id, a tag or a digest: of their length, and no text."""
    return len(value) in DRAWN_BYTES and not is_text(value)


def are_drawn(values: np.ndarray) -> np.ndarray:
    """Return for values of one length, rows of bytes, what `is_drawn` says of each."""
    drawn = np.full(len(values), values.shape[1] in DRAWN_BYTES)
    follows, leads = (values & 0xC0) == 0x80, values >= 0xC0  # in UTF-8: after another byte beyond ASCII, and before one
    is_broken = follows[:, 0] | leads[:, -1] | (follows[:, 1:] & (values[:, :-1] < 0x80) | leads[:, :-1] & ~follows[:, 1:]).any(axis=1)
    for row in np.flatnonzero(drawn & ~is_broken).tolist():
        drawn[row] = not is_text(values[row].tobytes())
    return drawn


def is_text(value: bytes) -> bool:
    """Whether all of it is UTF-8: of more than a few random bytes it never is."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def written(data: Data) -> bytes:
    """Return a file of Refold without what is random in it, which becomes zeros: all else keeps its place."""
    raw = bytes(data)
    if is_text(raw):
        return without_drawn(raw)
    return _printable(raw, _cells(raw) if raw[:4] == b"PAR1" else [(0, len(raw))])


def without_drawn(text: bytes) -> bytes:
    """Return text without the random ids, digests, signatures and ciphertext that are spelled in it."""
    plain = DRAWN_HEX.sub(lambda found: _kept(found[0], bytes.fromhex(found[0][: len(found[0]) // 2 * 2].decode())), text)
    return DRAWN_BASE64.sub(lambda found: _kept(found[0], _unbased(found[0])), plain)


def _unbased(letters: bytes) -> bytes:
    """Return what base64 stands for; of hexadecimal digits, which may be text, themselves."""
    return letters if HEX_DIGITS.fullmatch(letters.decode()) else binascii.a2b_base64(letters.rstrip(b"=")[: len(letters) // 4 * 4 - 4])


def _kept(spelled: bytes, raw: bytes) -> bytes:
    """Keep what spells text, which was not drawn."""
    return spelled if is_text(raw) else bytes(len(spelled))


def _printable(raw: bytes, drawn: Iterable[tuple[int, int]]) -> bytes:
    """Return bytes with zeros for stretches of what was drawn, but for what is printable, which chance does not make so long."""
    plain = bytearray(raw)
    for start, size in drawn:
        plain[start : start + size] = bytes(size)
    for found in PRINTABLE.finditer(raw):
        plain[found.start() : found.end()] = without_drawn(found[0])
    return bytes(plain)


def _cells(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each cell of a part of a log stands, and how long it is; of a damaged part that all of it is one.

    Cells are not compressed, and stand column by column, each in order. What the format says around them was written.
    """
    try:
        table = pq.ParquetFile(pa.BufferReader(raw)).read()
    except (pa.ArrowException, OSError, ValueError):
        yield 0, len(raw)
        return
    for name in table.column_names:
        at = 0
        for value in table[name].to_pylist():
            place = raw.find(value, at) if value else -1
            if place >= 0:
                yield place, len(value)
                at = place + len(value)
