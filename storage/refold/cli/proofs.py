"""checkpoint, proof, verify, key: signed heads of the log, proofs against them, papers that others check, and the keys that sign."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers
from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Finding, Outcome
from refold.cli.progress import progress
from refold.cli.trust import need_operator, places_of
from refold.cli.visible import plural, table, visible
from refold.errors import Usage

if TYPE_CHECKING:
    from refold.heads.checkpoint import Checkpointed
    from refold.log.note import Verifier
    from refold.receipts.form import Body, Kind
    from refold.receipts.verify import Verified
    from refold.store import Store

SIZE_MAX = 1 << 40


def write_receipt(path: Path, kind: Kind, said: Body, store: Store) -> None:
    """Sign a receipt and write it to a file that is not there yet. Raises Usage."""
    from refold.outside import clock
    from refold.receipts.form import sign

    _write(path, sign(kind, said, origin=store.origin, signer=store.log.signer(), made_at=clock()))


def add_receipt(command: ArgumentParser, what: str) -> None:
    """Add --receipt."""
    command.add_argument("--receipt", type=Path, metavar="FILE", help=f"write a signed receipt {what} to a new file")


def check_new(path: Path | None, *, what: str = "the receipt") -> None:
    """Refuse a file that is there, before anything is done for it. Raises Usage."""
    if path is not None and (path.exists() or not path.absolute().parent.is_dir()):
        raise Usage(f"{what} needs the name of a new file in a folder that is there", path=path)


def _write(path: Path, raw: bytes) -> None:
    from refold import files

    try:
        files.create(path.absolute(), raw)
    except (FileExistsError, FileNotFoundError):
        raise Usage("the receipt needs the name of a new file in a folder that is there", path=path) from None


def _configure_checkpoint(command: ArgumentParser) -> None:
    add_receipt(command, "of the checkpoint")


def _checkpoint(given: Namespace) -> Outcome:
    from refold.receipts import checkpoint

    check_new(given.receipt)
    with opened(given) as memory:
        with progress() as show:
            done = memory.checkpoint(progress=lambda read, whole: show(f"read {read:,} of {whole:,} entries"))
        if given.receipt:
            write_receipt(given.receipt, checkpoint.KIND, checkpoint.said(done), memory.store)
    return Outcome(head_data(done), _lines(done), _unanswered(done), (disclaimers.UNWITNESSED,), FORMAT_VERSION)


def head_data(done: Checkpointed) -> dict[str, object]:
    """Return what a program is told of a signed head."""
    state = done.attestation
    return {
        "name": done.head.name,
        "size": done.head.size,
        "root": done.head.root.hex(),
        "path": str(done.path),
        "new": done.is_new,
        "stands_on": done.stands_on,
        "state": state and {"size": state.size, "generation": state.generation, "epoch": state.epoch, "attested": state.attested.hex()},
        "witnesses": [
            {"name": each.name, "external": each.is_external, "taken": each.is_taken, "began": each.began, "found": each.found}
            for each in done.answers
        ],
    }


def _lines(done: Checkpointed) -> list[str]:
    state = done.attestation
    external = sum(each.is_external and each.is_taken for each in done.answers)
    taken = f"{done.taken} of {plural(len(done.answers), 'witness', 'witnesses')}, {external} of them external"
    rows = [
        ("head", f"{plural(done.head.size, 'entry', 'entries')}, root {done.head.root.hex()}"),
        ("read", "every entry" if done.stands_on is None else f"what is new since the head of {done.stands_on:,}"),
        ("state", f"generation {state.generation}, {plural(state.size, 'entry', 'entries')}: attested" if state else "none to attest"),
        ("taken by", taken),
        ("note", visible(str(done.path))),
    ]
    return table(rows)


def _unanswered(done: Checkpointed) -> list[Finding]:
    """Return what a person should know of the witnesses: who was not reached, and who began to remember only now."""
    found = []
    for each in done.answers:
        if not each.is_taken:
            found.append(Finding("RF-WITNESS-001", "warning", f"a witness has not taken the head: {each.found}", each.name))
        elif each.began and each.name != done.answers[0].name:
            message = "a witness begins to remember this log: it had seen nothing of it before"
            found.append(Finding("RF-WITNESS-002", "warning", message, each.name, remediation="refold help witness"))
    return found


def _configure_proof(command: ArgumentParser) -> None:
    command.add_argument("seq", nargs="?", type=arguments.count(0, SIZE_MAX), metavar="SEQ", help="the entry that is in the log")
    command.add_argument(
        "--from", dest="size", type=arguments.count(0, SIZE_MAX), metavar="SIZE", help="prove that the log only grew since"
    )
    add_receipt(command, "of the entry")


def _proof(given: Namespace) -> Outcome:
    from refold.heads import proof
    from refold.receipts import entry
    from refold.store import open_store

    if (given.seq is None) == (given.size is None):
        raise Usage("what is to be proven: an entry (SEQ), or that the log grew (--from SIZE)", hint="refold proof --help")
    if given.receipt and given.seq is None:
        raise Usage("a receipt is of one entry", hint="refold proof --help")
    check_new(given.receipt)
    with open_store(places_of(given)) as store:
        if given.size is not None:
            grown = proof.consistency(store, given.size)
            data = {"from": grown.size, "root": grown.root.hex(), "proof": [each.hex() for each in grown.proof], "text": str(grown)}
            return _shown(str(grown), data)
        proofs = proof.inclusion(store, given.seq)
        if given.receipt:
            write_receipt(given.receipt, entry.KIND, entry.said(proofs, store.origin), store)
    first = proofs[0]
    data = {"seq": first.index, "entry_hash": first.entry_hash.hex(), "proof": [each.hex() for each in first.proof], "text": str(first)}
    return _shown(str(first), data)


def _shown(text: str, data: dict[str, object]) -> Outcome:
    return Outcome(data, text.rstrip("\n").split("\n"), disclaimers=(disclaimers.UNWITNESSED,), format_version=FORMAT_VERSION)


def _configure_verify(command: ArgumentParser) -> None:
    command.add_argument("file", type=Path, metavar="FILE", help="a receipt, a signed head, a proof of inclusion or the statement of a key")
    command.add_argument(
        "--key", type=Path, metavar="FILE", help="the public keys to trust, as `refold key show` prints them; else the vault's"
    )


def _verify(given: Namespace) -> Outcome:
    from refold.receipts import verify

    need_operator(given)
    known = verify.keys(_read(given.key).decode("utf-8", "replace")) if given.key else _pinned(given)
    paper = verify.verify(_read(given.file), known)
    over = _over(given, paper)
    dead = [epoch for epoch, is_gone in over.items() if is_gone]
    data = {"kind": paper.kind, "body": dict(paper.body), "epochs_destroyed": dead}
    lines = [f"holds: {paper.kind}", *(f"  {visible(line)}" for line in paper.lines)]
    found = [
        Finding(verify.EPOCH_DESTROYED, "notice", f"the keys of epoch {epoch} were destroyed: its keyed digests cannot be computed again")
        for epoch in dead
    ]
    still = "is over, and its root is still there or not at hand: its keyed digests may yet be computed again"
    found += [Finding(verify.EPOCH_OVER, "notice", f"epoch {epoch} {still}") for epoch, is_gone in over.items() if not is_gone]
    return Outcome(data, lines, found, (disclaimers.AUDIT,), FORMAT_VERSION)


def _read(path: Path) -> bytes:
    from refold import files

    there = files.look(path, follow=True)
    if there is None:
        raise Usage("there is no such file", path=path)
    if there.kind is not files.Kind.FILE:
        raise Usage("a paper is a file, and this is none", path=path)
    return files.read(path)


def _pinned(given: Namespace) -> list[Verifier]:
    from refold.heads.checkpoint import vault_keys
    from refold.store import vault_of

    return vault_keys(vault_of(places_of(given)))


def _over(given: Namespace, paper: Verified) -> dict[int, bool]:
    """Return the epochs of a paper that are over, and whether their roots are gone, where the store that it speaks of is at hand."""
    from refold import files
    from refold.receipts import verify
    from refold.store import places, vault_of

    where = places(given.store, given.vault, given.root)
    if files.look(where.store / "store.json") is None or paper.body.get("origin") != where.origin:
        return {}
    return verify.over(paper, vault_of(where))


def _key_show(given: Namespace) -> Outcome:
    from refold.heads.checkpoint import vault_keys
    from refold.store import own_vault

    keys = [str(each) for each in vault_keys(own_vault(places_of(given)))]
    return Outcome({"keys": keys}, keys, format_version=FORMAT_VERSION)


def _key_rotate(given: Namespace) -> Outcome:
    from refold.heads.rotation import rotate
    from refold.store import open_store

    with open_store(places_of(given)) as store:
        new = rotate(store, random=os.urandom)
        number = len(store.vault.public_keys)
    lines = [f"key {number} signs this log from now on, under the id {new.key_id.hex()}", "whoever verifies needs it too: refold key show"]
    return Outcome({"number": number, "key_id": new.key_id.hex()}, lines, format_version=FORMAT_VERSION)


RUNS: dict[str, Command] = {
    "checkpoint": Command(_configure_checkpoint, _checkpoint),
    "proof": Command(_configure_proof, _proof),
    "verify": Command(_configure_verify, _verify),
    "key rotate": Command(lambda command: None, _key_rotate),
    "key show": Command(lambda command: None, _key_show),
}
