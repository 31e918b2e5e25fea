"""Persons: which ids are one. Two writers may mint two ids for one alias at the same moment; whatever concerns one concerns all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from refold.log.events import SubjectEntry
from refold.model import SubjectId, normalise


def persons(entries: Iterable[SubjectEntry]) -> dict[SubjectId, SubjectId]:
    """Return for each id, in the order of their minting, the first id of the same person: ids that share an alias are one."""
    before: dict[SubjectId, SubjectId] = {}
    minted: dict[SubjectId, int] = {}
    bearers: dict[str, SubjectId] = {}

    def first(subject: SubjectId) -> SubjectId:
        while before[subject] != subject:
            subject = before[subject]
        return subject

    for entry in entries:
        before.setdefault(entry.subject, entry.subject)
        minted.setdefault(entry.subject, entry.seq)
        for _, alias in entry.aliases:
            pair = first(entry.subject), first(bearers.setdefault(normalise(alias), entry.subject))
            before[max(pair, key=minted.__getitem__)] = min(pair, key=minted.__getitem__)
    return {subject: first(subject) for subject in before}


def everybody(entries: Sequence[SubjectEntry]) -> dict[SubjectId, list[SubjectEntry]]:
    """Return everybody, under the id that was minted first, with the entries of all their ids, oldest first."""
    first_of = persons(entries)
    found: dict[SubjectId, list[SubjectEntry]] = {}
    for entry in entries:
        found.setdefault(first_of[entry.subject], []).append(entry)
    return found


def minted_first(entries: Iterable[SubjectEntry], found: Collection[SubjectId]) -> tuple[SubjectId, set[SubjectId]]:
    """Return which of some ids was minted first, and those of them that are of other persons than it."""
    if len(found) == 1:
        return next(iter(found)), set()
    first_of = persons(entries)
    subject = next(one for one in first_of if one in found)
    return subject, {one for one in found if first_of[one] != first_of[subject]}
