"""mirror, backup, restore: the commands that copy a store to other places, and make one of a copy."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers
from refold.cli.command import FORMAT_VERSION, Command
from refold.cli.envelope import Finding, Outcome
from refold.cli.register import noted
from refold.cli.trust import need_operator, places_of
from refold.cli.visible import plural, visible
from refold.errors import Usage, VerificationIncomplete
from refold.outside import clock

if TYPE_CHECKING:
    from refold.copies.mirror import Mirrored
    from refold.copies.restore import Restoration
    from refold.store import Places


def _configure_mirror(command: ArgumentParser) -> None:
    command.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="the mirror; else all that the settings name")
    command.add_argument("--deep", action="store_true", help="also read again what the mirror holds already")


def _mirror(given: Namespace) -> Outcome:
    from refold import settings
    from refold.copies.mirror import mirror

    places = places_of(given)
    folders = [given.folder] if given.folder else [Path(each) for each in settings.load().mirror.folders]
    if not folders:
        raise Usage("no mirror is named, here or in the settings", hint="refold help copies")
    done = [mirror(places, folder.absolute(), deep=given.deep, must_exist=given.folder is None) for folder in folders]
    lines = [
        visible(f"{each.path}: {plural(each.entries, 'entry', 'entries')}, {plural(each.files, 'new file')} of {each.size:,} bytes")
        for each in done
    ]
    unnoted = [finding for each in done for finding in noted(places, "mirror", str(each.path))]
    return Outcome({"mirrors": [_mirrored(each) for each in done]}, lines, unnoted, format_version=FORMAT_VERSION)


def _mirrored(done: Mirrored) -> dict[str, object]:
    return {"path": str(done.path), "entries": done.entries, "commits": done.version, "new_files": done.files, "bytes": done.size}


def _configure_backup(command: ArgumentParser) -> None:
    command.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="a new or empty folder for this backup of the store")
    command.add_argument("--keys", type=Path, metavar="FILE", help="instead of the store: a new file for the keys, sealed to a recipient")
    command.add_argument("--recipient", type=Path, metavar="FILE", help="with --keys: the recipient's X25519 public key, in PEM")


def _backup(given: Namespace) -> Outcome:
    _require_pair(given, "recipient")
    places = places_of(given)
    return _backup_of_keys(given, places) if given.keys else _backup_of_store(given, places)


def _backup_of_store(given: Namespace, places: Places) -> Outcome:
    from refold.copies.backup import backup

    made = backup(places, given.folder.absolute(), now=clock, random=os.urandom)
    data = {"path": str(made.path), "entries": made.entries, "commits": made.version, "files": len(made.files), "bytes": made.size}
    what = f"{plural(made.entries, 'entry', 'entries')} in {plural(len(made.files), 'file')}, {made.size:,} bytes"
    lines = [visible(f"{made.path}: {what}, read again and whole"), "the keys are not in it: refold backup --keys FILE --recipient FILE"]
    return Outcome({"backup": data}, lines, noted(places, "backup", str(made.path)), format_version=FORMAT_VERSION)


def _backup_of_keys(given: Namespace, places: Places) -> Outcome:
    from refold.copies import escrow

    made = escrow.make(places, given.keys.absolute(), _text_of(given.recipient), now=clock, random=os.urandom)
    data = {
        "path": str(made.path),
        "epoch": made.epoch,
        "recipient": made.recipient.hex(),
        "left_out": [str(path) for path in made.left_out],
    }
    lines = [
        visible(f"{made.path}: the keys of epoch {made.epoch}, for whoever holds the private key of {made.recipient.hex()[:16]}"),
        "after an erasure it has to be made again, and this one destroyed",
    ]
    stray = "it lies among the keys, is no file of theirs, and is not in the copy"
    left_out = [Finding("RF-ESCROW-001", "warning", stray, str(path), remediation="refold help copies") for path in made.left_out]
    left_out += noted(places, "escrow", str(made.path))
    return Outcome({"keys": data}, lines, left_out, (disclaimers.ESCROW,), format_version=FORMAT_VERSION)


def _configure_restore(command: ArgumentParser) -> None:
    command.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="the backup or mirror to make a store of")
    command.add_argument("--confirm", metavar="ORIGIN-PREFIX", help="do it; the first letters of the origin confirm it")
    command.add_argument("--keys", type=Path, metavar="FILE", help="instead of the store: make vault and root of a backup of the keys")
    command.add_argument("--identity", type=Path, metavar="FILE", help="with --keys: the recipient's X25519 private key, in PEM")


def _restore(given: Namespace) -> Outcome:
    _require_pair(given, "identity")
    return _restore_keys(given) if given.keys else _restore_store(given)


def _restore_store(given: Namespace) -> Outcome:
    from refold import settings
    from refold.copies import restore
    from refold.recover.audit import known
    from refold.store import places

    need_operator(given)
    source = given.folder.absolute()
    where = places(given.store, given.vault, given.root, origin=restore.origin_of(source))
    restore.require_keys(where)
    chosen = settings.load()
    told = known(where, chosen)
    seen = [*told.seen, *restore.heads_seen(where, [Path(each) for each in chosen.mirror.folders])]
    if chosen.verify.require_witness and told.unasked and not told.seen:
        raise VerificationIncomplete(f"the policy requires a witness: {told.unasked[0].found}", hint="refold help witness")
    unasked = [
        Finding("RF-WITNESS-003", "warning", f"a witness could not be asked: {each.found}", each.name, remediation="refold help witness")
        for each in told.unasked
    ]
    if given.confirm is None:
        planned = restore.plan(where, source, seen=seen, random=os.urandom)
        return replace(_restored(where, planned, done=False), findings=[*unasked, _takes_over()])
    done = restore.restore(where, source, confirm=given.confirm, seen=seen, now=clock, random=os.urandom)
    if done is None:
        return Outcome(
            {"restore": {"origin": where.origin, "done": True}}, ["the interrupted restore is completed"], format_version=FORMAT_VERSION
        )
    return replace(_restored(where, done, done=True), findings=[*unasked, _takes_over()])


def _takes_over() -> Finding:
    """Return the warning that the store which a copy was made of, if it is still there, is none any more under this vault."""
    message = (
        "this store takes the place of any other under this vault: one that goes on elsewhere is another history, to be written no more; "
        "to try a restore, bring a copy of the vault (--vault)"
    )
    return Finding("RF-RESTORE-001", "warning", message, remediation="refold help copies")


def _restored(where: Places, found: Restoration, *, done: bool) -> Outcome:
    from refold.copies.folder import Copy

    first, end = found.lost or (found.head.size, found.head.size)
    data = {
        "origin": found.origin,
        "done": done,
        "source": str(found.source),
        "kind": found.kind.value,
        "store": str(where.store),
        "entries": found.head.size,
        "files": len(found.files),
        "bytes": found.size,
        "lost": {"first": first, "end": end},
        "epochs": found.epochs,
        "erased": found.erased,
    }
    verb = "made" if done else "would make"
    lines = [visible(f"{verb} {where.store} of the {found.kind}: {plural(found.head.size, 'entry', 'entries')}, {found.size:,} bytes")]
    if found.lost:
        lines.append(
            f"lost: {plural(end - first, 'entry', 'entries')}, {first} to {end - 1}, which were in the log once and are not in this copy"
        )
    if found.epochs and done:
        lines.append(f"erased again: {plural(found.erased, 'entry', 'entries')} that were erased since the copy was made")
    elif found.epochs:
        lines.append(f"{plural(found.epochs, 'erasure')} came since the copy was made: what went then goes from it too, before it opens")
    if done:
        lines.append("there is no state yet: refold fold")
    else:
        lines += [] if found.kind is Copy.BACKUP else ["a mirror is checked by its digests alone, a backup also by its list"]
        lines += ["", f"to do it: the same with --confirm {found.origin[:8]}"]
    return Outcome({"restore": data}, lines, format_version=FORMAT_VERSION)


def _restore_keys(given: Namespace) -> Outcome:
    from refold.copies import escrow
    from refold.store import places

    need_operator(given)
    copy, _ = escrow.read(given.keys.absolute())
    where = places(given.store, given.vault, given.root, origin=copy.origin)
    done = escrow.restore(where, copy.path, _text_of(given.identity), random=os.urandom)
    data = {"origin": done.origin, "epoch": done.epoch, "vault": str(where.vault), "root": str(where.root)}
    lines = [visible(f"made {where.vault} and {where.root}: the keys of epoch {done.epoch}")]
    return Outcome({"keys": data}, lines, disclaimers=(disclaimers.ESCROW,), format_version=FORMAT_VERSION)


def _require_pair(given: Namespace, key: str) -> None:
    """Refuse a call that names neither a folder nor keys with whose key, or both. Raises Usage."""
    other = getattr(given, key)
    if (given.folder is None) == (given.keys is None) or (given.keys is None) != (other is None):
        raise Usage(f"either DIR, for the store, or --keys with --{key}: they are never copied into one place", hint="refold help copies")


def _text_of(path: Path) -> bytes:
    from refold import files

    try:
        return files.read(path)
    except FileNotFoundError:
        raise Usage("there is no such file", path=path, hint="refold help copies") from None


RUNS = {
    "mirror": Command(_configure_mirror, _mirror),
    "backup": Command(_configure_backup, _backup),
    "restore": Command(_configure_restore, _restore),
}
