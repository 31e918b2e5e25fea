"""Proofs against a signed head, in the public text forms, which others can check without the log.

    inclusion     c2sp.org/tlog-proof: `c2sp.org/tlog-proof@v1` ‖ `extra <base64 of the entry hash>` ‖ `index <seq>` ‖ a hash a line ‖ empty
                  line ‖ the signed head
    consistency   the body of c2sp.org/tlog-witness's add-checkpoint: `old <size>` ‖ a hash a line ‖ empty line ‖ the signed head

What a reader knows of the entry is its hash: the record of the tree is the entry hash, its leaf SHA-256(0x00 ‖ entry hash).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from refold.errors import Corrupt, Usage
from refold.heads import kept
from refold.heads.checkpoint import Random, known_keys
from refold.heads.kept import CHECKPOINTS, SignedHead
from refold.heads.walk import Walked, hashed, walk
from refold.log import note
from refold.log.log import Log
from refold.log.note import NUMBER, Note
from refold.log.tree import HASH_BYTES, Range, Tree, consistency_ranges, inclusion_ranges, is_included
from refold.store import Store

FIRST_LINE = "c2sp.org/tlog-proof@v1"
EXTRA, INDEX = "extra ", "index "


@dataclass(frozen=True, slots=True)
class Inclusion:
    """That an entry is in the log whose head was signed."""

    index: int  # sequence number
    entry_hash: bytes
    proof: tuple[bytes, ...]
    signed: Note

    def __str__(self) -> str:
        lines = [FIRST_LINE, EXTRA + note.base64(self.entry_hash), f"{INDEX}{self.index}", *map(note.base64, self.proof)]
        return "\n".join(lines) + f"\n\n{self.signed}"

    @classmethod
    def parse(cls, raw: bytes) -> Inclusion:
        """Read the text form. Nothing is checked yet. Raises ValueError."""
        said, _, signed = raw.decode("utf-8").partition("\n\n")
        first, extra, index, *proof = said.split("\n")
        if first != FIRST_LINE or not extra.startswith(EXTRA) or not index.startswith(INDEX) or not NUMBER.fullmatch(index[len(INDEX) :]):
            raise ValueError("not a proof of inclusion")
        hashes = [note.unbase64(each) for each in (extra[len(EXTRA) :], *proof)]
        if any(len(each) != HASH_BYTES for each in hashes):
            raise ValueError("not a proof of inclusion")
        return cls(int(index[len(INDEX) :]), hashes[0], tuple(hashes[1:]), note.parse(signed.encode()))


@dataclass(frozen=True, slots=True)
class Consistency:
    """That the log whose head was signed begins with all that it had at an earlier size."""

    size: int
    root: bytes  # at that size
    proof: tuple[bytes, ...]
    signed: Note

    def __str__(self) -> str:
        return f"old {self.size}\n" + "".join(note.base64(each) + "\n" for each in self.proof) + f"\n{self.signed}"


def inclusion(store: Store, seq: int, *, random: Random = os.urandom) -> tuple[Inclusion, ...]:
    """Prove that the entry `seq`, and the one before it, are in the log of the newest signed head. The entry itself comes first.

    Raises Usage where no signed head has the entry, Corrupt where the log is not what was signed.
    """
    head = _newest(store)
    if not 0 <= seq < head.head.size:
        message = f"no signed head has entry {seq}; the newest has {head.head.size} entries"
        raise Usage(message, entry_id=str(seq), hint="refold checkpoint")
    seqs = [seq, *([seq - 1] if seq else [])]
    ranges = {each: inclusion_ranges(each, head.head.size) for each in seqs}
    log = Log(store.log.place, store.vault, random=random)
    try:
        walked = _walked(log, head, [each for listed in ranges.values() for each in listed])
        entries = {each: next(hashed(log, each, each + 1))[1][0] for each in seqs}
    finally:
        log.close()
    proofs = tuple(Inclusion(each, entries[each], tuple(walked.ranges[one] for one in ranges[each]), head.note) for each in seqs)
    assert all(is_included(each.entry_hash, each.index, head.head.size, each.proof, head.head.root) for each in proofs)
    return proofs


def consistency(store: Store, size: int, *, random: Random = os.urandom) -> Consistency:
    """Prove that the log of the newest signed head begins with its first `size` entries. Raises Usage, Corrupt."""
    head = _newest(store)
    if not 0 <= size <= head.head.size:
        raise Usage(f"the newest signed head has {head.head.size} entries, fewer than {size}", hint="refold checkpoint")
    ranges = consistency_ranges(size, head.head.size)
    log = Log(store.log.place, store.vault, random=random)
    try:
        walked = _walked(log, head, ranges, sizes=(size,))
    finally:
        log.close()
    return Consistency(size, walked.roots[size], tuple(walked.ranges[each] for each in ranges), head.note)


def _newest(store: Store) -> SignedHead:
    head = kept.newest(store.places.store / CHECKPOINTS, known_keys(store))
    if head is None:
        raise Usage("no head of this log was signed yet", path=store.places.store / CHECKPOINTS, hint="refold checkpoint")
    return head


def _walked(log: Log, head: SignedHead, ranges: Sequence[Range], *, sizes: Sequence[int] = ()) -> Walked:
    """Read the log up to a signed head, and see that it is the one that was signed."""
    end = head.head.size
    if end > log.head.size:
        raise Corrupt(f"the log has {log.head.size} entries; a head of {end} was signed", path=head.path, hint="refold audit --log")
    walked = walk(log, Tree(), end, ranges=ranges, sizes=sizes)
    if walked.tree.root() != head.head.root:
        raise Corrupt(f"the first {end} entries are not those of the head that was signed", path=head.path, hint="refold audit --log")
    return walked
