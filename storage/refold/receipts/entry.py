"""The receipt of one entry: its hash and the hash before it, both proven to be in the log of a signed head. Neither header nor content."""

from __future__ import annotations

from collections.abc import Sequence

from refold.heads import kept
from refold.heads.proof import Inclusion
from refold.log.entry import genesis
from refold.log.note import Verifier, log_name
from refold.log.tree import is_included
from refold.receipts.form import Body, Kind, count, each, hash_hex, text


def said(proofs: Sequence[Inclusion], origin: str) -> Body:
    """Return what the receipt says, from the proof of the entry and, where there is one, of the entry before it."""
    entry, *before = proofs
    return {
        "checkpoint": str(entry.signed),
        "entry_hash": entry.entry_hash.hex(),
        "prev_hash": (before[0].entry_hash if before else genesis(origin)).hex(),
        "prev_proof": [each.hex() for each in (before[0].proof if before else ())],
        "proof": [each.hex() for each in entry.proof],
        "seq": entry.index,
    }


def check(body: Body, known: Sequence[Verifier]) -> list[str]:
    """Check both entries against the head. Raises ValueError."""
    head, _ = kept.opened(body["checkpoint"].encode(), known)
    seq, found, previous = body["seq"], bytes.fromhex(body["entry_hash"]), bytes.fromhex(body["prev_hash"])
    proof, before = ([bytes.fromhex(each) for each in body[name]] for name in ("proof", "prev_proof"))
    holds = is_included(found, seq, head.size, proof, head.root)
    follows = is_included(previous, seq - 1, head.size, before, head.root) if seq else previous == genesis(body["origin"]) and not before
    if not holds or not follows or head.name != log_name(body["origin"]):
        raise ValueError("the entry is not in this head")
    return [f"entry {seq} is in the log of {head.size:,} entries that was signed, right after the entry of the hash it names"]


KIND = Kind(
    "wal_entry_integrity_receipt",
    {
        "seq": count,
        "entry_hash": hash_hex,
        "prev_hash": hash_hex,
        "proof": each(hash_hex),
        "prev_proof": each(hash_hex),
        "checkpoint": text,
    },
    check,
)
