"""The table in storage/README.md: what was done to each kind of file, and that every time it was found, and found there.

`python -m tests.verify.test_table` writes it anew. It is of a sample of the places in each file; with REFOLD_FUZZ=all in the environment
the test tries two bits of every byte and every length, which takes about an hour.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import refold
from refold.store import Places
from tests.verify import where
from tests.verify.fuzz import HARMS, KINDS, MIXED, Exchange, Kind, memory

README = Path(refold.__file__).parents[1] / "README.md"
BEGIN, END = "<!-- damage: written by tests/verify/test_table.py -->", "<!-- end of damage -->"
HEAD = "| file | harm | tried | found | at that file |\n|---|---|---|---|---|"
Mix = Callable[[list[Path], list[Path]], Iterator[Exchange]]
EVERY = os.environ.get("REFOLD_FUZZ") == "all"


def tried(kind: Kind, harm: Callable[[bytes, int | None], Iterator[bytes]], places: Places, *, every: bool) -> tuple[int, int, int]:
    """Do one harm to the files of a kind, place by place; return how often, how often it was found, and found in that file alone."""
    done = found = there = 0
    paths = kind.files(places)
    for path in paths:
        raw = path.read_bytes()
        tries = None if every else -(-kind.tries // len(paths))
        for damaged in harm(raw, tries):
            path.write_bytes(damaged)
            blamed = kind.found(places)
            done, found, there = done + 1, found + bool(blamed), there + (path in blamed)
        path.write_bytes(raw)
    assert not kind.found(places), "the memory is as it was"
    return done, found, there


def mixed(kind: Kind, mix: Mix, places: Places, strange: Places) -> tuple[int, int, int]:
    """Mix up the files of a kind in one way; return how often, how often it was found, and found at every file that was touched."""
    done = found = there = 0
    paths = kind.files(places)
    for exchange in list(mix(paths, kind.files(strange))):
        before = {path: path.read_bytes() for path in exchange}
        for path, raw in exchange.items():
            path.unlink() if raw is None else path.write_bytes(raw)
        blamed = kind.found(places)
        done, found, there = done + 1, found + bool(blamed), there + (exchange.keys() <= blamed)
        for path, raw in before.items():
            path.write_bytes(raw)
    assert not kind.found(places), "the memory is as it was"
    return done, found, there


def rows(places: Places, strange: Places) -> Iterator[tuple[str, str, tuple[int, int, int]]]:
    for kind in KINDS:
        for name, harm in HARMS.items():
            yield kind.name, name, tried(kind, harm, places, every=False)
        for name, mix in MIXED.items() if kind.mixed else ():
            yield kind.name, name, mixed(kind, mix, places, strange)


def written() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the table that stands in the documentation, by kind and harm."""
    text = README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    cells = [tuple(cell.strip() for cell in line.strip("| ").split("|")) for line in text.strip().splitlines()[2:]]
    return {(kind, harm): tuple(rest) for kind, harm, *rest in cells}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_whatever_happens_to_a_file_is_found_at_that_file(kind: Kind, fuzzed: Path, tmp_path: Path):
    for name in ("store", "vault", "root"):
        shutil.copytree(fuzzed / name, tmp_path / name)
    table = written()
    for name, harm in HARMS.items():
        done, found, there = tried(kind, harm, where(tmp_path), every=EVERY)
        assert done == found, name
        assert found == there or kind.name == "pinned key", name  # a pin that names another log says that the vault is another's
        if done and not EVERY:
            assert table[kind.name, name] == (str(done), str(found), str(there)), name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.mixed], ids=lambda kind: kind.name)
def test_files_that_are_mixed_up_are_found(kind: Kind, fuzzed: Path, strange: Path, tmp_path: Path):
    for name in ("store", "vault", "root"):
        shutil.copytree(fuzzed / name, tmp_path / name)
    table = written()
    for name, mix in MIXED.items():
        counts = mixed(kind, mix, where(tmp_path), where(strange))
        # Of the end of the recorded calls nothing is known: no head of them is signed.
        assert counts[0] - counts[1] == ((kind.name, name) == ("commit of the calls", "removed")), name
        assert table[kind.name, name] == tuple(map(str, counts)), name


def main() -> None:
    with TemporaryDirectory() as folder:
        made = memory(Path(folder)), memory(Path(folder) / "strange", seed="strange")
        counted = [f"| {kind} | {harm} | {done} | {found} | {there} |" for kind, harm, (done, found, there) in rows(*made) if done]
    text = README.read_text(encoding="utf-8")
    start, _, rest = text.partition(BEGIN)
    README.write_text(start + BEGIN + "\n" + "\n".join([HEAD, *counted]) + "\n" + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
