"""Verify: a paper of any kind, with the public key alone. What it says beyond that needs a store: whether an epoch was destroyed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from refold import canonical
from refold.errors import Corrupt, KeyMissing, Usage
from refold.heads import kept
from refold.heads.proof import FIRST_LINE, Inclusion
from refold.keys import crypto, signing
from refold.keys.vault import Vault
from refold.log import note
from refold.log.note import Unsigned, Verifier
from refold.log.tree import is_included
from refold.receipts import boundary, certificate, checkpoint, entry, form, replay
from refold.receipts.form import Body

KINDS = {kind.name: kind for kind in (entry.KIND, checkpoint.KIND, boundary.KIND, replay.KIND, certificate.KIND)}
EPOCH_DESTROYED = "EPOCH_DESTROYED"
EPOCH_OVER = "EPOCH_OVER"
HINT = "refold help receipts"


@dataclass(frozen=True, slots=True)
class Verified:
    """A paper that holds, and what it says."""

    kind: str
    body: Body
    lines: list[str]
    epochs: frozenset[int] = field(default=frozenset())  # of the keyed digests in it


def verify(raw: bytes, known: Sequence[Verifier]) -> Verified:
    """Check a receipt, a signed head, a proof of inclusion or the statement of a key. Raises Corrupt, KeyMissing, UnsupportedVersion."""
    if raw.startswith(b'{"body":{"format":"' + signing.FORMAT.encode()):
        return _statement(raw, known)
    if raw.startswith(b"{"):
        receipt = form.read(raw, KINDS, known)
        return Verified(receipt.kind.name, receipt.body, receipt.lines, frozenset(receipt.kind.epochs(receipt.body)))
    try:
        return _proof(raw, known) if raw.startswith(FIRST_LINE.encode()) else _head(raw, known)
    except Unsigned as error:
        if str(error) == "no known key has signed":
            raise KeyMissing("no key that was given has signed this", hint=HINT) from None
        raise Corrupt("the signature does not hold", hint=HINT) from None
    except ValueError:
        raise Corrupt("this is no whole receipt, head or proof: it was cut, changed, or is something else", hint=HINT) from None


def over(paper: Verified, vault: Vault) -> dict[int, bool]:
    """Return the epochs of the keyed digests in a paper that are over, each with whether its root is gone.

    Of a root that is not there is only said that it is gone where the live one's is: else the place of the roots is not at hand. Raises
    KeyMissing without a keyring.
    """
    live = vault.live_epoch()
    try:
        there = vault.roots.epochs()
    except KeyMissing:  # a token that is not there
        there = frozenset()
    return {epoch: live in there and epoch not in there for epoch in sorted(paper.epochs) if epoch < live}


def keys(text: str) -> list[Verifier]:
    """Read verifier keys, one a line. Raises Usage."""
    try:
        found = [Verifier.parse(line.strip()) for line in text.splitlines() if line.strip()]
    except ValueError:
        found = []
    if not found:
        raise Usage("the file of keys holds none, or something else", hint=HINT)
    return found


def _head(raw: bytes, known: Sequence[Verifier]) -> Verified:
    head, _ = kept.opened(raw, known)
    return Verified("checkpoint", _named(head), [f"the log had {head.size:,} entries, of root {head.root.hex()}"])


def _proof(raw: bytes, known: Sequence[Verifier]) -> Verified:
    proof = Inclusion.parse(raw)
    head, _ = kept.opened(proof.signed.raw, known)
    if not is_included(proof.entry_hash, proof.index, head.size, proof.proof, head.root):
        raise ValueError("the entry is not in this head")
    body = _named(head) | {"seq": proof.index, "entry_hash": proof.entry_hash.hex()}
    return Verified("inclusion", body, [f"entry {proof.index} is in the log of {head.size:,} entries that was signed"])


def _statement(raw: bytes, known: Sequence[Verifier]) -> Verified:
    """Check that one key follows another, of which one is known: both have signed it."""
    try:
        body = canonical.decode(raw)["body"]
        origin, number, old = str(body["origin"]), canonical.count(body["number"]), canonical.unhex(body["old"], crypto.PUBLIC_KEY_BYTES)
        new = signing.follower(raw, origin, number, old)
    except (ValueError, TypeError, KeyError):
        raise Corrupt(
            "this is no statement of a key that both keys have signed: it was cut, changed, or is something else", hint=HINT
        ) from None
    if not any(each.name == note.log_name(origin) and each.public_key in (old, new) for each in known):
        raise KeyMissing("no key that was given has signed this", hint=HINT)
    follows = Verifier(note.log_name(origin), new)
    return Verified("key", dict(body), [f"key {number} follows the one before it: {follows}"])


def _named(head: note.TreeHead) -> dict[str, object]:
    return {"name": head.name, "size": head.size, "root": head.root.hex()}
