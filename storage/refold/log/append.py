"""Append: how entries become part of the log.

    1  seal the entries, under the live epoch
    2  queue for the turn (an advisory lock: it spares lost races, it decides nothing)
    3  read every commit up to the newest: a fence, an erased id or a known alias changes what is to be written
    4  write the part, fsync, fsync parts/
    5  write the commit to a temporary name, fsync, link it to the next number; taken = somebody else was first: back to 3
    6  fsync commits/, acknowledge

Neither sequence number nor place in the chain is bound into a cell, so a lost race costs a new part, not new seals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import files
from refold.errors import Blocked, Locked, RefoldError, Usage
from refold.keys import crypto
from refold.keys.keyring import Keyring
from refold.log import commit as commits
from refold.log import entry, parts, stored
from refold.log.commit import Commit, Replacement
from refold.log.entry import AES_GCM, CLEAR, VERSION, Header
from refold.log.head import Head, follow
from refold.log.parts import Part, Rows
from refold.model import EntryKind, EventId, SubjectId
from refold.outside import Clock, Random

if TYPE_CHECKING:
    from refold.log.log import Log

TURN_SECONDS_MAX = 2.0  # a paused holder must not stop the others: link alone decides
ATTEMPTS_MAX = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Sealable:
    """An entry before it is sealed. `subjects` are sorted and distinct; of a call they are the ids of its input events.

    `key_of` gives the key of an entry that has none of its own: a call's follows from those of its inputs.
    """

    kind: EntryKind
    event_id: EventId
    subjects: tuple[SubjectId, ...]
    plaintext: bytes
    recorded_at: int
    ingest: bytes
    key_of: Callable[[Keyring], bytes] | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to be committed on top of one head."""

    headers: Sequence[bytes] = ()
    payloads: Sequence[bytes] = ()
    epoch: int = 1
    fence: int | bool = False
    control: tuple[tuple[int, int], ...] = ()  # (row, kind)
    replaces: Replacement | None = None


Cell = tuple[bytes, bytes]  # header, payload
# What a recovery adds to a damaged log, and nothing else may.
HEALING = (EntryKind.GAP, EntryKind.RESTORED)

Propose = Callable[[Head, Keyring], Proposal | None]


@dataclass(frozen=True, slots=True)
class Appended:
    """An acknowledged commit: entries [first, first + count)."""

    version: int
    txn: str
    first: int
    count: int


def sealing(
    plan: Callable[[Head, Keyring], Sequence[Sealable]], *, origin: str, random: Random, even_empty: bool = False
) -> Callable[[Head, Keyring], Proposal | None]:
    """Return what proposes the plan's entries, each sealed once as long as neither it nor the epoch changes.

    Where there are none, nothing is proposed, or with `even_empty` a commit without entries.
    """
    cells: dict[int, dict[Sealable, Cell]] = {}  # by epoch; an entry is equal to itself alone
    bound_to = entry.aad_prefix(origin)

    def propose(head: Head, keyring: Keyring) -> Proposal | None:
        refuse_fence(head, keyring)
        epoch = keyring.epoch
        entries = plan(head, keyring)
        sealed = cells.setdefault(epoch, {})
        new = [one for one in entries if one not in sealed]
        sealed.update(zip(new, seal(new, keyring, bound_to, random=random), strict=True))
        if not entries:
            return Proposal(epoch=epoch) if even_empty else None
        headers, payloads = zip(*[sealed[one] for one in entries], strict=True)
        return Proposal(headers, payloads, epoch)

    return propose


def seal(entries: Sequence[Sealable], keyring: Keyring, bound_to: bytes, *, random: Random) -> Iterator[Cell]:
    """Yield header and payload of each entry under the keys of an epoch. Raises Usage."""
    epoch, size = keyring.epoch, crypto.NONCE_BYTES
    nonces = random(size * len(entries))
    for start, one in zip(range(0, len(nonces), size), entries, strict=True):
        subjects = one.subjects
        if len(subjects) > entry.IDS_MAX:
            raise Usage(f"an entry concerns {len(subjects)} subjects; at most {entry.IDS_MAX} are possible")
        header = entry.HEADER.pack(VERSION, one.kind, AES_GCM, epoch, one.recorded_at, one.event_id, one.ingest)
        key = keyring.event_key(epoch, one.event_id, subjects) if one.key_of is None else one.key_of(keyring)
        ids = entry.ids_prefix(subjects)
        yield header, entry.seal(key, nonces[start : start + size], one.plaintext, bound_to=bound_to + header + ids, ids=ids)


def controlling(
    kind: EntryKind,
    body: dict[str, object],
    *,
    fence: Callable[[Head, Keyring], int | bool],
    epoch: int | None = None,
    now: Clock,
    random: Random,
) -> Propose:
    """Return what proposes one control entry, under the keyring's epoch or another; `fence` says which fence stands after it."""

    def propose(head: Head, keyring: Keyring) -> Proposal:
        under = keyring.epoch if epoch is None else epoch
        header = Header(VERSION, kind, CLEAR, under, now(), random(entry.ID_BYTES), random(entry.ID_BYTES))
        return Proposal([header.raw], [entry.control_payload(body)], under, fence(head, keyring), ((0, kind),))

    return propose


def refuse_fence(head: Head, keyring: Keyring) -> None:
    """Raise Locked under a fence, Blocked where keyring and log are of different epochs."""
    if head.fence is not False:
        raise Locked("an erasure holds the log under a fence; nothing can be added until it ends", hint="refold status")
    if keyring.epoch != head.epoch:
        raise Blocked(f"the newest keyring is of epoch {keyring.epoch}, the log of epoch {head.epoch}", hint="refold help keys")


def run(log: Log, propose: Propose, *, now: Clock, random: Random, txn: str | None = None) -> Appended | None:
    """Commit what is proposed on the newest head; None if nothing is to be committed any more.

    `txn` is the transaction id by which the caller looks for the commit after an interruption; else it is drawn. Raises Blocked
    where the log was found damaged, unless the proposal is a recovery's; Corrupt where it lost entries that its vault has seen, or a part
    is not what was committed, unless a transaction that began before goes on.
    """
    snapshot = log.refresh()
    proposal = propose(*snapshot)
    if proposal is None:
        return None
    if not any(kind in HEALING for _, kind in proposal.control):
        stored.require_intact(log.vault.path, log.place.folder.parent)
        if txn is None:
            log.require_unchanged()
    if txn is None:
        log.require_reached()
    log.probe()
    with _turn(log):
        for attempt in range(ATTEMPTS_MAX):
            newer = log.refresh()
            if newer[0] is not snapshot[0] or newer[1] is not snapshot[1]:
                snapshot = newer
                proposal = propose(*snapshot)
                if proposal is None:
                    return None
            done = _commit(log, snapshot[0], proposal, now=now, random=random, txn=txn)
            if done is not None:
                return done
            time.sleep(min(0.0005 * 2 ** min(attempt, 6), 0.05) * (0.5 + random(1)[0] / 256))
    raise Locked(f"lost {ATTEMPTS_MAX} races for the next commit in a row", path=log.place.folder)


@contextmanager
def _turn(log: Log) -> Generator[None, None, None]:
    with ExitStack() as held:
        with suppress(Locked):  # whoever holds the turn is stuck; the link decides without it
            held.enter_context(files.lock(log.place.folder / "turn", wait_seconds=TURN_SECONDS_MAX))
        yield


def _commit(log: Log, head: Head, proposal: Proposal, *, now: Clock, random: Random, txn: str | None) -> Appended | None:
    """Write the parts and link the commit; None if another one took the number."""
    folder = log.place.folder
    number, signer = log.signing(head)
    hashes, written = _write_parts(log, head, proposal, random=random)
    commit = Commit(
        format=log.place.format,
        origin=log.place.origin,
        version=head.version + 1,
        txn=txn or random(16).hex(),
        epoch=proposal.epoch,
        first_seq=head.size,
        next_seq=head.size + len(proposal.headers),
        prev_hash=head.commit.last_hash,
        last_hash=hashes[-1].hex() if hashes else head.commit.last_hash,
        previous=head.digest,
        parts=tuple(written),
        replaces=proposal.replaces,
        fence=proposal.fence,
        control=tuple((head.size + row, kind) for row, kind in proposal.control),
        writer=log.writer,
        time=max(now(), head.commit.time),
        key=number,
    )
    path = log.place.commit(commit.version)
    commit = with_full_list(head, commit)
    raw = commits.encode(commit, signer)
    after = follow(head, commit, commits.digest(raw), path)
    if _link(log, path, raw):
        log.advance(after)
        return Appended(commit.version, commit.txn, commit.first_seq, len(hashes))
    for part in written:
        files.remove(folder / part.path)
    return None


def with_full_list(head: Head, commit: Commit) -> Commit:
    """Return the commit with the full list where one is due."""
    if commit.version % commits.FULL_EVERY and commit.replaces is None:
        return commit
    after = follow(head, replace(commit, live=None), "", Path(commits.file_name(commit.version)))
    return replace(commit, live=commits.Live(after.parts, after.erasures))


def _write_parts(log: Log, head: Head, proposal: Proposal, *, random: Random) -> tuple[list[bytes], list[Part]]:
    payload_commits = [entry.payload_commit(payload) for payload in proposal.payloads]
    hashes = entry.chain(head.size, head.last_hash, proposal.headers, payload_commits)
    described: list[Part] = []

    def contents() -> Iterator[tuple[Path, bytes]]:
        for cut in parts.split([len(payload) for payload in proposal.payloads]):
            first = head.size + cut.start
            rows = Rows.of(first, proposal.headers[cut], proposal.payloads[cut], payload_commits[cut], hashes[cut])
            raw = parts.encode(rows)
            described.append(parts.describe(parts.name(rows.first, random(8)), raw, rows))
            yield log.place.folder / described[-1].path, raw

    if hashes:
        files.create_all(log.place.parts, contents())
    return hashes, described


def _link(log: Log, path: Path, raw: bytes) -> bool:
    """Link the commit. After an unclear answer, what is there decides: our own transaction, or another's."""
    try:
        linked = files.link_new(path, raw)
    except (RefoldError, OSError):
        if not _is_ours(path, raw):
            raise
        files.sync_folder(path.parent)
        return True
    return linked or _is_ours(path, raw)


def _is_ours(path: Path, raw: bytes) -> bool:
    try:
        return files.read(path) == raw
    except FileNotFoundError:
        return False
