"""Restore: a store made of a backup or a mirror, at an empty place, with the vault that is there.

Everything is checked before anything is written. Then the files are copied, which means nothing as long as there is no store.json; and
one transaction, which holds all appends, commits the `restored` entry where the copy is older than what is known of the log, brings it
through the epochs that came since, without what was erased in them, and writes store.json. The entry names what is given up, (size, root),
so that a witness takes the shorter log for a successor and not for a fork.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refold import canonical, files, journal
from refold.copies import backup
from refold.copies.backup import Listed
from refold.copies.folder import HINT, Copy, files_in, kind_of
from refold.erase import again
from refold.errors import Blocked, Corrupt, KeyMissing, Usage
from refold.heads import kept
from refold.heads.witness import HEADS
from refold.journal import Condition, Direction, Intent, LogCommit, OpenStore, Place, Step, Target
from refold.keys.signing import statement_path
from refold.keys.vault import PIN, Vault, open_vault
from refold.log import append, parts, tree
from refold.log import commit as commits
from refold.log.head import Head, key_after, newest
from refold.log.head import Place as LogPlace
from refold.log.log import COPY
from refold.model import EntryKind
from refold.outside import Clock, Random
from refold.store import AUTHORITY, FOLDERS, Places, Store, open_store
from refold.verdict import SeenHead

RESTORE = journal.Kind("restore", blocks_appends=True)
INTENT = "restored"
PREFIX_LETTERS_MIN = 6
WITNESS = PIN.parent.name
ABANDONED = "abandoned"
DIGEST_LETTERS = 16
GITIGNORE = b"*\n"
KEYS_FIRST = "refold restore --keys FILE --identity FILE"


@dataclass(frozen=True, slots=True)
class Restoration:
    """What a restore would do, or did."""

    source: Path
    kind: Copy
    origin: str
    head: Head  # of the copy
    files: tuple[Listed, ...]
    given_up: tuple[SeenHead, ...]  # what is known of the log beyond the copy, the largest last
    keys: tuple[bytes, ...] = ()  # the statements of the signing keys that came since: the log says them again
    epochs: int = 0  # that came since: what was erased then is erased from the copy too, before there is a store
    erased: int = 0  # entries, of the log and of the calls, that were

    @property
    def abandoned(self) -> SeenHead | None:
        return self.given_up[-1] if self.given_up else None

    @property
    def lost(self) -> tuple[int, int] | None:
        """Return the sequence numbers [first, end) that are known to be lost."""
        return (self.head.size, self.abandoned.size) if self.abandoned and self.abandoned.size > self.head.size else None

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def origin_of(source: Path) -> str:
    """Return whose copy a folder is, as it says itself. Raises Usage, Corrupt."""
    try:
        return str(canonical.decode(files.read(source / COPY))["origin"])
    except FileNotFoundError:
        raise Usage("this is neither a backup nor a mirror", path=source, hint=HINT) from None
    except (ValueError, TypeError, KeyError):
        raise Corrupt("the file that says whose copy this is is damaged", path=source / COPY, hint=HINT) from None


def plan(places: Places, source: Path, *, seen: Sequence[SeenHead], random: Random) -> Restoration:
    """Check a copy whole, the target and the vault; return what a restore would do. Changes nothing.

    `seen` are the heads that are remembered of this log. Raises Usage, Corrupt, KeyMissing, Blocked.
    """
    kind = kind_of(source, places.origin)
    if kind is None:
        raise Usage("this is neither a backup nor a mirror", path=source, hint=HINT)
    require_keys(places)
    vault = open_vault(places.vault, places.root, random=random)
    if vault.origin != places.origin:
        raise Usage("the vault holds the keys of another store", path=places.vault, hint="refold help keys")
    keyring = vault.live_keyring()
    vault.signer()
    if kind is Copy.BACKUP:
        backup.check(source, public_keys=vault.public_keys)
    head = backup.check_log(source, places.origin, vault.public_keys)
    if keyring.epoch < head.epoch:
        raise Blocked(f"the copy is of epoch {head.epoch}, the newest keys of epoch {keyring.epoch}", path=source, hint=HINT)
    place = LogPlace(source / "log", places.origin, vault.public_keys)
    given_up = _beyond(place, head, seen)
    listed = tuple(backup.listed(source, vault.public_keys, places.origin))
    _require_empty(places.store, listed)
    since = keys_since(vault, head)
    if since and not given_up:  # nobody saw what came with them: then the log goes on from its own end, under the newest key
        given_up = (SeenHead(head.size, root_at(place, head, head.size), is_external=False),)
    return Restoration(source, kind, places.origin, head, listed, given_up, keys=since, epochs=keyring.epoch - head.epoch)


def require_keys(places: Places) -> None:
    """Refuse to restore a store where no vault is: the keys come first. Raises KeyMissing."""
    if files.look(places.vault / PIN) is None:
        message = "no keys of this copy are here: they come back first, from a backup of the keys, or --vault and --root name them"
        raise KeyMissing(message, path=places.vault, hint=KEYS_FIRST)


def keys_since(vault: Vault, head: Head) -> tuple[bytes, ...]:
    """Return the statements of the signing keys that a copy does not know yet, each signed by the key before it."""
    return tuple(files.read(vault.path / statement_path(each)) for each in range(key_after(head.commit) + 1, len(vault.public_keys) + 1))


def restore(places: Places, source: Path, *, confirm: str, seen: Sequence[SeenHead], now: Clock, random: Random) -> Restoration | None:
    """Make the store of a copy. None: an interrupted restore was completed. Raises as `plan` does, and WriteFailed, Locked.

    `confirm` is the beginning of the origin.
    """
    if len(confirm) < PREFIX_LETTERS_MIN or not places.origin.startswith(confirm.lower()):
        raise Usage(f"this is not the beginning of the store's origin (at least {PREFIX_LETTERS_MIN} letters)", hint=HINT)
    require_keys(places)
    if unfinished := _unfinished(places):
        _require_same(places, source)
        journal.recover(places, unfinished, Direction.COMPLETE, open_store=lambda: half_open(places, random), intents=INTENTS)
        return None
    with journal.mutating(places, wait_seconds=0, random=random) as turn:
        found = plan(places, source, seen=seen, random=random)
        for folder in FOLDERS:
            files.make_folder(places.store / folder)
        files.link_new(places.store / ".gitignore", GITIGNORE)
        for file in found.files:
            if file.path != AUTHORITY:
                _copy(source, places.store, file)
        authority = files.read(source / AUTHORITY)
        entries = [entry_of(each, keys=found.keys if not at else (), now=now, random=random) for at, each in enumerate(found.given_up)]
        let_go = forgotten(places, found.head.size) if found.given_up else ()
        steps: list[Step] = [*entries, *let_go]
        with half_open(places, random) as store:
            gone = again.returned(store) if found.epochs else again.Returned((), ())
            steps += [again.commit(gone, now=now, random=random)] if found.epochs else []
            steps += [journal.write(Target(Place.STORE, AUTHORITY), authority), *again.removals(store, gone)]
            turn.commit(RESTORE, steps, store=store, intents=INTENTS)
        found = replace(found, erased=len(gone.seqs) + len(gone.calls))
    open_store(places, random=random).close()
    return found


def forgotten(places: Places, size: int) -> Iterator[Step]:
    """Yield the steps by which the vault's witness lets go of the heads that are given up: they are kept beside those that count."""
    folder = places.vault / WITNESS / HEADS
    newer = [each for each in kept.sizes(folder) if each > size]
    if newer and files.look(places.vault / WITNESS / ABANDONED) is None:
        yield journal.add_folder(Target(Place.VAULT, f"{WITNESS}/{ABANDONED}"))
    for each in newer:
        name = kept.note_name(each)
        raw = files.read(folder / name)
        there = Target(Place.VAULT, f"{WITNESS}/{ABANDONED}/{name}.{journal.digest(raw).hex()[:DIGEST_LETTERS]}")
        if files.look(places.vault / there.path) is None:
            yield journal.write(there, raw)
        yield journal.remove(Target(Place.VAULT, f"{WITNESS}/{HEADS}/{name}"), before=journal.digest(raw))


def run(store: OpenStore, txn: str, data: bytes) -> None:
    """Commit the entry that says what was given up."""
    assert isinstance(store, Store)
    said: Any = canonical.decode(data)

    def stays(head: Head, keyring: object) -> int | bool:
        return head.fence

    body = {"abandoned_root": said["root"], "abandoned_size": said["size"], **({"keys": said["keys"]} if said.get("keys") else {})}
    epoch = store.log.head.epoch  # of the copy: it is brought to the live one after this
    propose = append.controlling(EntryKind.RESTORED, body, fence=stays, epoch=epoch, now=lambda: said["time"], random=os.urandom)
    append.run(store.log, propose, now=lambda: said["time"], random=os.urandom, txn=txn)


def heads_seen(places: Places, mirrors: Sequence[Path]) -> list[SeenHead]:
    """Return the heads of this log that are remembered outside of its store: those of mirrors. Raises Corrupt, KeyMissing."""
    vault = open_vault(places.vault, places.root, random=os.urandom)
    found = []
    for folder in mirrors:
        if files.look(folder / COPY) is not None and kind_of(folder, places.origin) is Copy.MIRROR:
            place = LogPlace(folder / "log", places.origin, vault.public_keys)
            head = newest(place)
            found.append(SeenHead(head.size, root_at(place, head, head.size), is_external=False))
    return found


def root_at(place: LogPlace, head: Head, size: int) -> bytes:
    """Return the root of the first `size` entries below a head. Raises Corrupt."""
    grown = tree.Tree()
    for part in head.parts_over(0, size):
        grown.extend(parts.read(place.folder, part).cut(grown.size, size).hashes())
    return grown.root()


def entry_of(abandoned: SeenHead, *, keys: Sequence[bytes] = (), now: Clock, random: Random) -> LogCommit:
    """Return the step that says of one head that it was given up: a witness takes what follows for its successor.

    `keys` are the statements of the signing keys that came with what was given up.
    """
    again = {"keys": [canonical.decode(statement) for statement in keys]} if keys else {}
    said = {"root": abandoned.root.hex(), "size": abandoned.size, "time": now(), **again}
    return LogCommit(txn=random(16).hex(), intent=INTENT, data=canonical.encode(said))


def _beyond(place: LogPlace, head: Head, seen: Sequence[SeenHead]) -> tuple[SeenHead, ...]:
    """Return the heads that the copy does not reach, the largest last.

    Raises Corrupt where the copy is of another history than a head seen.
    """
    below = sorted((each for each in seen if each.size <= head.size), key=lambda each: each.size)
    grown = tree.Tree()
    for each in below:
        for part in head.parts_over(grown.size, each.size):
            grown.extend(parts.read(place.folder, part).cut(grown.size, each.size).hashes())
        if grown.root() != each.root:
            raise Corrupt(
                f"the copy is of another history than the head that was seen at {each.size} entries", path=place.folder, hint=HINT
            )
    return beyond(head.size, seen)


def beyond(size: int, seen: Sequence[SeenHead]) -> tuple[SeenHead, ...]:
    """Return the heads of more than `size` entries, each once, the largest last."""
    longer = {(each.size, each.root): each for each in seen if each.size > size}
    return tuple(longer[each] for each in sorted(longer))


def _copy(source: Path, target: Path, file: Listed) -> None:
    path = target / file.path
    files.make_folder(path.parent)
    raw = files.read(source / file.path)
    files.link_new(path, raw)
    if backup.seen(target, file.path) != file:
        raise Corrupt("what arrived is not what the copy holds", path=path, hint=HINT)


def _require_empty(target: Path, listed: Sequence[Listed]) -> None:
    """Refuse a target in which anything stands that an interrupted restore of this very copy would not have left there. Raises Usage."""
    known = {file.path: file for file in listed} | {".gitignore": Listed(".gitignore", len(GITIGNORE), "")}
    for path in files_in(target):
        name = path.rpartition("/")[2]
        mine = path in known and path != AUTHORITY and (path == ".gitignore" or backup.seen(target, path) == known[path])
        if not mine and not name.startswith(files.TEMPORARY) and path != "log/turn":
            raise Usage("a copy is restored to an empty place, and something is there", path=target / path, hint=HINT)


def half_open(places: Places, random: Random) -> Store:
    """Open a store before its store.json is there, or whose log ends before the newest key: it is about to be gone on with."""
    return Store(places, open_vault(places.vault, places.root, random=random), random=random, is_restored=True)


def _require_same(places: Places, source: Path) -> None:
    """Refuse to go on with the restore of another copy: what is there has to be this one, and what was added to it. Raises Usage."""
    keys = open_vault(places.vault, places.root, random=os.urandom).public_keys
    head, mine = newest(LogPlace(source / "log", places.origin, keys)), LogPlace(places.store / "log", places.origin, keys)
    path = mine.commit(head.version + 1)
    added = commits.decode(files.read(path), path).control if files.look(path) is not None else ((0, EntryKind.RESTORED),)
    path = mine.commit(head.version)
    is_there = files.look(path) is not None and commits.digest(files.read(path)) == head.digest
    if not is_there or not {kind for _, kind in added} & {EntryKind.RESTORED, EntryKind.FENCE}:
        message = "the restore of another copy was interrupted here: name that one, or end it first"
        raise Usage(message, path=places.store, hint="refold recover")


def _unfinished(places: Places) -> str | None:
    """Return the transaction of a restore that was interrupted."""
    for entry in journal.entries(places):
        ours = entry.journal is not None and entry.journal.kind == RESTORE.name
        if ours and entry.condition in (Condition.UNFINISHED, Condition.ENDED):
            return None if journal.is_running(places) else entry.id
    return None


INTENTS = {INTENT: Intent(run), **again.INTENTS}
