"""How well mentions are found: recall and precision over the planted variants. `python -m tests.erase.score` prints them."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from refold.erase.find import find
from refold.erase.model import Found, Selector
from refold.memory import Memory
from tests.erase.corpus import EVENTS, START, STEP, Corpus, Person, corpus, fill
from tests.journal import unsynced


@dataclass(frozen=True)
class Score:
    """What a search for each person found, of what was there. `missed` and `wrong` are by variant."""

    planted: int
    found: int  # of the planted
    proposed: int
    missed: Counter[str]
    wrong: Counter[str]

    @property
    def recall(self) -> float:
        return self.found / self.planted

    @property
    def precision(self) -> float:
        return self.found / self.proposed


def score(memory: Memory, made: Corpus, seqs: list[int]) -> Score:
    """Search for everybody in turn, and compare with what was planted."""
    missed, wrong, proposed, found = Counter[str](), Counter[str](), 0, 0
    for person in made.people:
        planted = {seqs[at]: variant for at, variant in made.mentioned(person.user).items()}
        candidates = {one.seq: one.variant for one in found_of(memory, person).candidates}
        proposed += len(candidates)
        found += len(candidates.keys() & planted.keys())
        missed.update(variant for seq, variant in planted.items() if seq not in candidates)
        wrong.update(variant for seq, variant in candidates.items() if seq not in planted)
    return Score(len(made.mentions), found, proposed, missed, wrong)


def found_of(memory: Memory, person: Person) -> Found:
    """Search for one person, by one alias."""
    with memory._reading() as state:
        return find(memory.store, state, Selector(aliases=(person.aliases[0],)))


def folded(folder: Path, made: Corpus) -> tuple[Memory, list[int]]:
    """Make a memory of a corpus, folded; return it open, with the sequence number of each draft."""
    with unsynced():
        memory = Memory.create(folder / "store", vault=folder / "vault", root=folder / "root", now=lambda: START + EVENTS * STEP)
        seqs = fill(memory.store, made, now=lambda: START + EVENTS * STEP, random=os.urandom)
        memory.fold()
    return memory, seqs


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        made = corpus()
        memory, seqs = folded(Path(scratch), made)
        with memory:
            reached = score(memory, made, seqs)
        print(f"recall     {reached.recall:.4f}   {reached.found} of {reached.planted} planted mentions; missed: {dict(reached.missed)}")
        print(f"precision  {reached.precision:.4f}   {reached.proposed} candidates; wrong: {dict(reached.wrong)}")
