"""The checkpoint: the log is opened anew and recomputed from disk, its head is signed and kept, and the witnesses take it.

In full, every entry is read again, and every head that was ever signed or seen is compared with what is found. Else only what is new since
the newest signed head is read, and the new head stands on that one: its frontier is used only where its root is the one that was signed.
Nothing is signed where anything differs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from refold import journal
from refold.errors import Corrupt, RefoldError, VerificationIncomplete
from refold.heads import kept
from refold.heads.kept import CHECKPOINTS, HINT, Attestation, SignedHead
from refold.heads.walk import Report, Walked, walk
from refold.heads.witness import HEADS, Answer, Witness
from refold.keys.vault import PIN, Vault
from refold.log import note, witnessed
from refold.log.entry import given_up
from refold.log.log import Log
from refold.log.note import Note, TreeHead, Verifier
from refold.log.tree import EMPTY, Range, Tree, consistency_ranges
from refold.model import EntryKind
from refold.state.digest import attested
from refold.state.generation import State
from refold.store import Store

WITNESS = PIN.parent.name
Random = Callable[[int], bytes]
Seen = tuple[Witness, SignedHead | VerificationIncomplete | None]


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """What was signed, and who took it."""

    head: TreeHead
    note: Note
    path: Path
    is_new: bool
    stands_on: int | None  # the size of the signed head below which nothing was read again; None: everything was
    attestation: Attestation | None
    answers: tuple[Answer, ...]

    @property
    def taken(self) -> int:
        """How many witnesses have this head."""
        return sum(answer.is_taken for answer in self.answers)


def vault_keys(vault: Vault) -> list[Verifier]:
    """Return the keys whose signature of a head counts, the newest last."""
    return [Verifier(note.log_name(vault.origin), key) for key in vault.public_keys]


def known_keys(store: Store) -> list[Verifier]:
    """Return the keys whose signature of a head of this store counts."""
    return vault_keys(store.vault)


def checkpoint(
    store: Store,
    witnesses: Sequence[Witness] = (),
    *,
    state: State | None = None,
    full: bool = True,
    required: int = 0,
    random: Random = os.urandom,
    progress: Report | None = None,
) -> Checkpointed:
    """Sign the head of the log as it lies on disk, attest `state` beside it, and let the witnesses take it.

    To attest a state, all is read. `required` is how many witnesses, the vault's own not counted, have to take the head. Raises Corrupt
    where what was signed or seen before is not what is found, VerificationIncomplete, Blocked, KeyMissing, Usage.
    """
    store.log.refuse_copy()
    journal.require_clear(store.places)
    known, folder = known_keys(store), store.places.store / CHECKPOINTS
    state = state if state is not None and state.absent is None and state.size else None
    log = Log(store.log.place, store.vault, random=random)  # opened anew: nothing that is kept in memory vouches for a disk
    try:
        seen = _without_given_up(log, kept.newest(folder, known), [(witness, _seen(witness, known)) for witness in witnesses])
        base, tree = (None, Tree()) if full or state else _base(folder, seen, known)
        signed = [base] if base else [kept.read(folder, size, known) for size in kept.sizes(folder)]
        taken = [head for _, head in seen if isinstance(head, SignedHead)]
        walked = _walked(log, tree, signed, taken, state, progress)
        _compare([*signed, *taken], walked)
    finally:
        log.close()
    signer, name = store.log.signer(), note.log_name(store.origin)
    for size in sorted({walked.tree.size, *([state.size] if state else [])}):
        head = TreeHead(name, size, walked.roots[size])
        written = note.sign(str(head), name, signer)
        path, is_new = kept.keep(folder, head, written, known)
    kept.keep_frontier(folder, walked.tree)
    attestation = _attest(store, state, folder, known) if state else None
    answers = tuple(_handed(witness, before, written, head, walked, known) for witness, before in seen)
    done = Checkpointed(head, written, path, is_new, base.head.size if base else None, attestation, answers)
    _require(done, required)
    return done


def _seen(witness: Witness, known: Sequence[Verifier]) -> SignedHead | VerificationIncomplete | None:
    """Return what a witness saw last, or why it cannot be asked."""
    try:
        return witness.seen(known)
    except VerificationIncomplete as unanswered:
        return unanswered


def _without_given_up(log: Log, base: SignedHead | None, seen: Sequence[Seen]) -> list[Seen]:
    """Let each witness begin anew whose last head the log itself says was given up: what is kept of it is set aside.

    Only one that saw another head than was signed last can have seen that.
    """
    others = [head for _, head in seen if isinstance(head, SignedHead) and (base is None or head.head != base.head)]
    gone = given_up_by(log) if others else frozenset()
    left: list[Seen] = []
    for witness, head in seen:
        if isinstance(head, SignedHead) and (head.head.size, head.head.root) in gone:
            witness.set_aside(head)
            left.append((witness, None))
        else:
            left.append((witness, head))
    return left


def given_up_by(log: Log) -> frozenset[tuple[int, bytes]]:
    """Return size and root of each head that `restored` entries of a log say was given up. Reads all of it."""
    found = set()
    for rows in log.rows():
        for at, (header, payload) in enumerate(zip(rows.headers(), rows.payloads(), strict=True), rows.first):
            if header[1] == EntryKind.RESTORED:
                size, root = given_up(payload or b"", at)
                found |= {(size, root)} if size > at else set()
    return frozenset(found)


def require_uncut(store: Store) -> None:
    """Refuse to go on with a log that is shorter than a head that was signed of it, beside it or in the vault. Raises Corrupt."""
    size, known = store.log.head.size, known_keys(store)
    for folder in (store.places.store / CHECKPOINTS, store.vault.path / WITNESS / HEADS):
        for longer in kept.sizes(folder)[-1:]:
            if longer > size:
                _refuse_cut(size, kept.read(folder, longer, known))


def _refuse_cut(size: int, signed: SignedHead) -> NoReturn:
    raise witnessed.cut(size, signed.head.size, signed.path)


def _base(folder: Path, seen: Sequence[Seen], known: Sequence[Verifier]) -> tuple[SignedHead | None, Tree]:
    """Return the newest signed head and its tree, if every witness that answers has seen exactly it, or nothing."""
    base = kept.newest(folder, known)
    tree = kept.resumed(folder, base.head) if base else None
    if base is None or tree is None or any(isinstance(each, SignedHead) and each.head != base.head for _, each in seen):
        return None, Tree()
    return base, tree


def _walked(
    log: Log, tree: Tree, signed: Sequence[SignedHead], taken: Sequence[SignedHead], state: State | None, progress: Report | None
) -> Walked:
    """Read the log to its end, with the roots that are to be compared and the ranges that prove a continuation to whoever took a head."""
    end, heads = log.head.size, [*signed, *taken]
    for each in heads:
        if each.head.size > end:
            _refuse_cut(end, each)
    peaks = dict(zip(whole_ranges(tree.size), tree.frontier, strict=True))
    ranges = {each for head in taken for each in consistency_ranges(head.head.size, end)} - peaks.keys()
    sizes = {end, *(each.head.size for each in heads), *([state.size] if state else [])}
    found = walk(log, tree, end, sizes=sizes, ranges=ranges, progress=progress)
    return Walked(found.tree, found.roots, found.ranges | peaks)


def whole_ranges(size: int) -> list[Range]:
    """Return the ranges of the whole subtrees of a tree, the largest first."""
    ranges, first = [], 0
    for height in reversed(range(size.bit_length())):
        if size >> height & 1:
            ranges.append((first, first + (1 << height)))
            first += 1 << height
    return ranges


def _compare(heads: Sequence[SignedHead], walked: Walked) -> None:
    for each in heads:
        if walked.roots[each.head.size] != each.head.root:
            message = f"the first {each.head.size} entries are not those of the head that was signed: the log has two histories"
            raise Corrupt(message, path=each.path, hint="refold audit --log")


def _attest(store: Store, state: State, folder: Path, known: Sequence[Verifier]) -> Attestation:
    made = Attestation(store.origin, state.size, state.number, state.epoch, attested(state))
    kept.keep_attestation(folder, made, store.log.signer(), known)
    return made


def _handed(
    witness: Witness,
    before: SignedHead | VerificationIncomplete | None,
    signed: Note,
    head: TreeHead,
    walked: Walked,
    known: Sequence[Verifier],
) -> Answer:
    """Let one witness take the head. One that cannot be reached has not taken it; one that has seen another history raises Corrupt."""
    name, external = witness.name, witness.is_external
    if isinstance(before, RefoldError):
        return Answer(name, external, is_taken=False, found=before.message)
    size, root = (before.head.size, before.head.root) if before else (0, EMPTY)
    if (size, root) != (head.size, head.root) or before is None:
        proof = [walked.ranges[each] for each in consistency_ranges(size, head.size)]
        try:
            witness.take(signed, size, proof, known)
        except VerificationIncomplete as unanswered:
            return Answer(name, external, is_taken=False, found=unanswered.message)
    return Answer(name, external, is_taken=True, began=before is None)


def _require(done: Checkpointed, required: int) -> None:
    others = done.answers[1:]  # the first is the vault's own
    taken = sum(answer.is_taken for answer in others)
    if taken < required:
        message = f"{taken} of {len(others)} witnesses took the head; the settings require {required}"
        raise VerificationIncomplete(message, path=done.path, hint=HINT)
