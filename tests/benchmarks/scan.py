"""What a scan costs against reading the files: of ciphertext, which most of a store is, and of text, all of which is decoded too."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from refold.scan.needles import Needles
from refold.scan.walk import scan
from tests.benchmarks import Row

NEEDLES = 100
LIMIT_MB_S = 100.0


def _part(path: Path, megabytes: int) -> None:
    """Write a part of a log, of random cells, as a fold's scan meets most."""
    cells = [os.urandom(300) for _ in range(megabytes * 3_495)]
    fixed = {name: [os.urandom(32)] * len(cells) for name in ("payload_commit", "entry_hash")}
    table = pa.table({"header": [os.urandom(47)] * len(cells), "payload": cells, **fixed})
    pq.write_table(table, path, use_dictionary=False, write_statistics=False, compression="none")


def _needles() -> Needles:
    drawn = random.Random(1)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(2 * NEEDLES)]
    return Needles.of([f"{first} {last}" for first, last in zip(words[::2], words[1::2], strict=True)])


def rows(size: str) -> Iterator[Row]:
    """Yield the speed of a scan over each kind of file, in CPU time, and its ratio to reading."""
    megabytes = 64 if size == "full" else 16
    drawn = random.Random(2)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 10))) for _ in range(5_000)]
    with TemporaryDirectory() as folder:
        sealed, text = Path(folder) / "part.parquet", Path(folder) / "text.txt"
        _part(sealed, megabytes)
        text.write_text(" ".join(drawn.choices(words, k=megabytes << 17)))
        lines, prose = Path(folder) / "lines.jsonl", Path(folder) / "prose.txt"
        lines.write_text("\n".join(_line(drawn, words) for _ in range(megabytes << 9)))
        longer = [*words, *("".join(drawn.choices("abcdefghijklmnopqrstuvwxyz\xe9\xfc", k=drawn.randint(11, 14))) for _ in range(200))]
        prose.write_text(" ".join(drawn.choices(longer, k=megabytes << 16)), encoding="utf-8")
        kinds = (
            (sealed, "parts of a log", LIMIT_MB_S),
            (text, "plain text", LIMIT_MB_S),
            (prose, "text with long words and accents", None),
            (lines, "JSON with escapes", None),
        )
        for path, name, limit in kinds:
            speed, share = _speed(path, _needles())
            note = f"CPU time; {share:.0f} x reading; {NEEDLES} needles"
            yield Row(f"scan {name}", speed, limit, "MB/s", at_least=True, note=note)


def _line(drawn: random.Random, words: list[str]) -> str:
    """Return a record as programs log them: an id in hexadecimal, words in quotes, escapes."""
    said = " ".join(drawn.choices(words, k=40))
    return json.dumps({"id": f"{drawn.getrandbits(128):032x}", "text": f'{said}\n"so", she said: \xe9', "at": drawn.random()})


def _speed(path: Path, needles: Needles) -> tuple[float, float]:
    begun = time.process_time()
    path.read_bytes()
    read = time.process_time() - begun
    begun = time.process_time()
    scan([path], needles)
    spent = time.process_time() - begun
    return path.stat().st_size / spent / 1e6, spent / max(read, 1e-6)
