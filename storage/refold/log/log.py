"""Log: the face of one log. It holds the newest head seen and the live keyring, and hands work to append, read and compact."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from refold import canonical, files
from refold.errors import Blocked, Corrupt, KeyMissing, Usage
from refold.keys import crypto
from refold.keys.keyring import Keyring, fact_key
from refold.keys.vault import Vault
from refold.log import append, compact, read, unchanged, witnessed
from refold.log.append import Appended, Clock, Random, Sealable
from refold.log.commit import FORMAT
from refold.log.compact import Compacted
from refold.log.entry import Header
from refold.log.events import SubjectEntry
from refold.log.head import Head, Place, commit_of, forward, key_after, newest, refuse_replaced_key
from refold.log.note import TreeHead
from refold.log.parts import Rows
from refold.log.read import KINDS, Opened, Reader
from refold.log.tail import Tail
from refold.model import EntryKind, Event

COPY = "copy.json"  # beside a log that is a mirror or a backup


class Log:
    """An open log. Threads may share it; every process opens its own."""

    def __init__(self, place: Place, vault: Vault, *, random: Random, is_restored: bool = False) -> None:
        self.place = place
        self.vault = vault
        self.writer = random(8).hex()
        self._mutex = threading.RLock()
        self._signer: crypto.Signer | None = None
        self._probed = self._reached = self._compared = False
        self._head = newest(place)
        if not is_restored:  # it is about to be gone on with under the newest key
            refuse_replaced_key(place, self._head)
        self._keyring: Keyring | None = self._live_keyring(self._head)
        self._reader = Reader(self)
        self.tail = Tail(self)

    @property
    def head(self) -> Head:
        return self._head

    @property
    def keyring(self) -> Keyring:
        return self._check_open()

    def refresh(self) -> tuple[Head, Keyring]:
        """Read the commits that came since, and the keyring if a new epoch came with them."""
        with self._mutex:
            keyring = self.keyring
            try:
                self._head = forward(self.place, self._head)
            except Corrupt:
                if not self._take_new_keys():
                    raise
                self._head = forward(self.place, self._head)
            if keyring.epoch < self._head.epoch:
                keyring = self._change_keys(keyring)
            return self._head, keyring

    def recheck_keys(self) -> Keyring:
        """Read the keyring anew if the vault holds a newer sealed epoch: the old one is dropped from memory."""
        with self._mutex:
            keyring = self.keyring
            return self._change_keys(keyring) if self.vault.live_epoch() != keyring.epoch else keyring

    def append(
        self, plan: Callable[[Head, Keyring], Sequence[Sealable]], *, now: Clock, random: Random, txn: str | None = None
    ) -> Appended | None:
        """Append what `plan` returns for the newest head; it is asked again whenever the head moved. None if it returns nothing.

        A `txn` is one that will be looked for: there is a commit of it even then. Raises Locked under a fence, WriteFailed,
        KeyMissing, Corrupt.
        """
        propose = append.sealing(plan, origin=self.place.origin, random=random, even_empty=txn is not None)
        return append.run(self, propose, now=now, random=random, txn=txn)

    def committed(self, txn: str, *, after: int = 0) -> bool:
        """Whether the log has a commit of this transaction id, newer than version `after`. Raises Corrupt."""
        head, _ = self.refresh()
        return commit_of(self.place, head, txn, after=after) is not None

    def fence(self, *, now: Clock, random: Random, txn: str | None = None) -> Appended:
        """Open a fence towards the next epoch: from here nothing is added until `lift`."""

        def opens(head: Head, keyring: Keyring) -> int:
            append.refuse_fence(head, keyring)
            return head.epoch + 1

        return self._control(EntryKind.FENCE, {}, opens, now=now, random=random, txn=txn)

    def lift(self, *, now: Clock, random: Random, txn: str | None = None) -> Appended:
        """End the fence, under the epoch that is live by now: the target if it was sealed, else the old one."""

        def lifts(head: Head, keyring: Keyring) -> bool:
            if head.fence is False:
                raise Usage("no fence stands")
            return False

        self.recheck_keys()
        return self._control(EntryKind.LIFT, {}, lifts, now=now, random=random, txn=txn)

    @property
    def incomplete_since(self) -> int | None:
        """The first entry that was damaged for good and passed over: what is derived from there on lacks it. Raises Corrupt."""
        return self._reader.blank(self._head).incomplete_since

    @property
    def erased(self) -> frozenset[int]:
        """The entries that are gone, as the log says, also where their ciphertext was kept. Raises Corrupt."""
        return self._reader.blank(self._head).seqs

    @property
    def lost(self) -> tuple[int, int] | None:
        """The entries [first, end) at the end of the log that its vault has seen, and that are not there any more."""
        return None if self.is_copy else self._unreached()

    @property
    def behind(self) -> tuple[int, int] | None:
        """The entries [first, end) that the store has, as its vault knows, and this copy of it has not."""
        return self._unreached() if self.is_copy else None

    @property
    def is_copy(self) -> bool:
        """Whether this is the log of a mirror or a backup."""
        return files.look(self.place.folder.parent / COPY) is not None

    def erasures(self) -> list[tuple[int, Header]]:
        """Return the entries that say what was erased: their sequence numbers and headers. Raises Corrupt."""
        headers = [(seq, Header.of(self.row(seq).headers()[0])) for seq in self._head.erasures]
        return [(seq, header) for seq, header in headers if header.kind == EntryKind.ERASURE]

    def rows(self, first: int = 0, end: int | None = None) -> Iterator[Rows]:
        """Yield verified entries [first, end), part by part. Raises Corrupt, VerificationIncomplete."""
        return self._reader.rows(first, end)

    def row(self, seq: int) -> Rows:
        """Return one verified entry. Raises Usage where there is none, Corrupt."""
        return self._reader.row(seq)

    def events(self, first: int = 0, end: int | None = None, *, tally: Counter[str] | None = None) -> Iterator[list[Event]]:
        """Yield the readable events of [first, end) in batches.

        What else is there is counted in `tally`: `subject`, `call`, `control`, `erased`, and `dark` (a key was destroyed).
        """
        for events, _ in self._reader.entries(first, end, kinds=(EntryKind.EVENT,), tally=tally):
            yield events

    def opened(self, first: int = 0, end: int | None = None, *, kinds: Container[int] = KINDS) -> Iterator[list[Opened]]:
        """Yield the readable cells of [first, end), part by part: plaintexts with their headers and ids."""
        return self._reader.opened(first, end, kinds=kinds)

    def event(self, seq: int) -> Event:
        """Return one event. Raises Usage where `seq` is none, KeyMissing where it was erased, Corrupt."""
        return self._reader.event(seq)

    def subjects(self, first: int = 0, end: int | None = None) -> Iterator[SubjectEntry]:
        """Yield the readable subject entries of [first, end)."""
        for _, subjects in self._reader.entries(first, end, kinds=(EntryKind.SUBJECT,)):
            yield from subjects

    def entries(
        self, first: int = 0, end: int | None = None, *, tally: Counter[str] | None = None
    ) -> Iterator[tuple[list[Event], list[SubjectEntry]]]:
        """Yield the readable events and subject entries of [first, end), part by part; count the others as `events` does."""
        return self._reader.entries(first, end, tally=tally)

    def columns(self, first: int = 0, end: int | None = None) -> pa.Table:
        """Return the clear headers of [first, end) as typed columns: what SQL may see of the log without a key."""
        return read.columns(self.rows(first, end))

    def compact(self, *, now: Clock, random: Random, parts_max: int = compact.PARTS_MAX) -> Compacted:
        """Merge small parts where there are many, and sweep what has outlived its grace. Raises Locked."""
        return compact.compact(self, parts_max=parts_max, now=now, random=random)

    def debris(self) -> list[Path]:
        """Return the files of the log that no live list names. They do no harm."""
        return compact.debris(self)

    def fact_key(self, event: Event) -> bytes:
        """Return what an event lends to the ids of facts that rest on it. Raises KeyMissing."""
        return fact_key(self.keyring.event_key(event.epoch, event.event_id, event.subjects))

    def signer(self) -> crypto.Signer:
        """Return the signing key, read once. Raises KeyMissing, Blocked."""
        return self.signing(self.head)[1]

    def signing(self, head: Head) -> tuple[int, crypto.Signer]:
        """Return the number of the key that signs what follows a head, and the key. Raises KeyMissing, Blocked."""
        with self._mutex:
            self._check_open()
            if key_after(head.commit) > len(self.vault.public_keys) and not self._take_new_keys():
                message = "the change to another signing key is unfinished; nothing is signed until it is completed"
                raise Blocked(message, path=self.vault.path, hint="refold recover")
            signer = self._signer = self._signer or self.vault.signer()
            return len(self.vault.public_keys), signer

    def change_key(self, statement: bytes, *, now: Clock, random: Random, txn: str | None = None) -> Appended:
        """Append the statement that another key signs from here on."""
        body = canonical.decode(statement)
        return self._control(EntryKind.KEY, body, lambda head, keyring: False, now=now, random=random, txn=txn)

    def advance(self, head: Head) -> None:
        """Take over the head that a commit of ours made, unless a newer one was read already."""
        with self._mutex:
            if head.version == self._head.version + 1:
                self._head = head

    def probe(self) -> None:
        """Make sure, once, that this is no copy, and that its file system refuses to link onto a name that exists. Raises Usage."""
        if not self._probed:
            self.refuse_copy()
            if not files.refuses_existing_names(self.place.commits):
                raise Usage(
                    "this file system lets a link replace a file, so writers could lose each other's commits", path=self.place.folder
                )
            self._probed = True

    def refuse_copy(self) -> None:
        """Refuse to add anything to a mirror or a backup, or to make anything of it there. Raises Usage."""
        if self.is_copy:
            raise Usage("this is a copy of a store: nothing is added to it", path=self.place.folder.parent, hint="refold help copies")

    def require_reached(self) -> None:
        """Make sure, once, that this log has every entry that its vault has seen: what is open later only grows. Raises Usage, Corrupt."""
        if self._reached:
            return
        self.refuse_copy()
        if self.place.format == FORMAT and self._beyond() is not None:
            witnessed.require_reached(self.vault, self._head.size)
        self._reached = True

    def require_unchanged(self) -> None:
        """Make sure, once, that the parts are the files that were committed, as far as sizes and times tell. Raises Corrupt."""
        if self._compared:
            return
        try:
            unchanged.require_unchanged(self.place, self._head)
        except Corrupt:
            before = self._head
            if self.refresh()[0] is before:
                raise
            unchanged.require_unchanged(self.place, self._head)  # parts were replaced meanwhile, and went
        self._compared = True

    def close(self) -> None:
        """Drop all keys, what the tail knows and the parts that were kept. Whatever needs a key from now on raises Usage."""
        with self._mutex:
            if self._keyring is not None:
                self._keyring.forget()
            self._keyring = self._signer = None
        self.tail.forget()
        self._reader.cache.clear()

    def _unreached(self) -> tuple[int, int] | None:
        longer = self._beyond()
        return None if longer is None else (self._head.size, longer.size)

    def _beyond(self) -> TreeHead | None:
        """Return a head beyond the end of this log. Somebody else may have added since it was read what they signed: then it is read on."""
        longer = witnessed.beyond(self.vault, self._head.size)
        if longer is not None:
            self.refresh()
            longer = witnessed.beyond(self.vault, self._head.size)
        return longer

    def _control(
        self,
        kind: EntryKind,
        body: dict[str, object],
        fence: Callable[[Head, Keyring], int | bool],
        *,
        now: Clock,
        random: Random,
        txn: str | None,
    ) -> Appended:
        propose = append.controlling(kind, body, fence=fence, now=now, random=random)
        done = append.run(self, propose, now=now, random=random, txn=txn)
        assert done is not None  # a control entry is always proposed
        return done

    def _take_new_keys(self) -> bool:
        """Read which keys sign by now; whether there are any that this log did not know."""
        vault = self.vault.reopened()
        if vault.public_keys == self.vault.public_keys:
            return False
        self.vault, self.place, self._signer = vault, replace(self.place, public_keys=vault.public_keys), None
        return True

    def _check_open(self) -> Keyring:
        keyring = self._keyring
        if keyring is None:
            raise Usage("this memory is closed", hint="open it again")
        return keyring

    def _change_keys(self, old: Keyring) -> Keyring:
        keyring = self._keyring = self._live_keyring(self._head)
        old.forget()
        return keyring

    def _live_keyring(self, head: Head) -> Keyring:
        keyring = self.vault.live_keyring()
        if keyring.epoch < head.epoch:
            message = f"the newest keyring is of epoch {keyring.epoch}, the log of epoch {head.epoch}"
            raise KeyMissing(message, path=self.vault.keys, hint="refold help keys")
        return keyring
