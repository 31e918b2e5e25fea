"""Blocks: which events are asked about together. Pure, and a function of the session's own events alone.

A session is what one source holds for the same scope and audience, ordered by part (digit runs as numbers), then seq. A block is the run
of its events whose part number, divided by the recipe's `parts`, gives the same; an event whose part has no number is a block of its own.
So an event that goes, or comes late, moves no other from its block: only its own block changes, and those that had it as context.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from refold.model import part_key

_FIRST_NUMBER = re.compile(r"([^0-9]*)([0-9]+)")


@dataclass(frozen=True, slots=True)
class Turn:
    """An event's place."""

    session: int
    part: str
    seq: int


@dataclass(frozen=True, slots=True)
class Block:
    """Events that are asked about together, in the order of their session, and those before them."""

    seqs: tuple[int, ...]
    context: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        return self.context + self.seqs

    def singles(self, reach: int) -> tuple[Block, ...]:
        """Return a block for each event, with up to `reach` of those that stand before it here."""
        at = len(self.context)
        return tuple(Block((seq,), self.all[max(0, at + place - reach) : at + place]) for place, seq in enumerate(self.seqs))


def blocks(turns: Iterable[Turn], *, parts: int, context: int) -> Iterator[Block]:
    """Yield the blocks of whole sessions, in their order. The turns may come in any order."""
    ordered = sorted(turns, key=lambda turn: (turn.session, part_key(turn.part), turn.seq))
    for _, session in groupby(ordered, key=lambda turn: turn.session):
        told: list[int] = []
        for _, run in groupby(session, key=lambda turn: _place(turn, parts)):
            seqs = tuple(turn.seq for turn in run)
            yield Block(seqs, tuple(told[-context:]) if context else ())
            told = [*told, *seqs][-max(context, 1) :]


def touched(found: Iterable[Block], seqs: Collection[int]) -> list[Block]:
    """Return the blocks that hold one of these events, or have one as context."""
    return [block for block in found if not block_is_free(block.all, seqs)]


def block_is_free(members: Sequence[int], seqs: Collection[int]) -> bool:
    """Whether none of the members is among these."""
    return all(seq not in seqs for seq in members)


def _place(turn: Turn, parts: int) -> tuple[str, int]:
    found = _FIRST_NUMBER.match(turn.part)
    return (found[1], int(found[2]) // parts) if found else (turn.part, -1 - turn.seq)
