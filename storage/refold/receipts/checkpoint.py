"""The receipt of a checkpoint: the signed head, what was attested of the state beside it, how much was read, and how many took it."""

from __future__ import annotations

from collections.abc import Sequence

from refold import canonical
from refold.heads import kept
from refold.heads.checkpoint import Checkpointed
from refold.heads.kept import Attestation
from refold.log.note import Verifier, log_name
from refold.log.tree import HASH_BYTES
from refold.receipts.form import Body, Kind, count, each, flag, form, hash_hex, optional, text

STATE = {"size": count, "generation": count, "epoch": count, "attested": hash_hex}
WITNESS = {"external": flag, "taken": flag}


def said(done: Checkpointed) -> Body:
    """Return what the receipt says of a checkpoint."""
    state = done.attestation
    return {
        "checkpoint": str(done.note),
        "root": done.head.root.hex(),
        "size": done.head.size,
        "stands_on": done.stands_on,
        "state": state and attested(state),
        "witnesses": [{"external": answer.is_external, "taken": answer.is_taken} for answer in done.answers],
    }


def attested(state: Attestation) -> dict[str, object]:
    """Return what was attested of a state, as receipts say it."""
    return {name: value for name, value in state.body.items() if name in STATE}


def check(body: Body, known: Sequence[Verifier]) -> list[str]:
    """Check the head, and that the state is none of a later log. Raises ValueError."""
    head, _ = kept.opened(body["checkpoint"].encode(), known)
    if (head.name, head.size, head.root) != (log_name(body["origin"]), body["size"], canonical.unhex(body["root"], HASH_BYTES)):
        raise ValueError("another head than the one that is named")
    state, base = body["state"], body["stands_on"]
    if (state is not None and state["size"] > head.size) or (base is not None and base > head.size):
        raise ValueError("a state or a base that is larger than the log")
    taken = [each["external"] for each in body["witnesses"] if each["taken"]]
    lines = [
        f"the log had {head.size:,} entries, of root {body['root']}",
        "every entry was read again" if base is None else f"what follows entry {base:,} was read; it stands on the head signed there",
        f"taken by {len(taken)} of {len(body['witnesses'])} witnesses, {sum(taken)} of them external",
    ]
    if state is not None:
        lines.append(
            f"the state of generation {state['generation']}, of {state['size']:,} entries, was attested under epoch {state['epoch']}"
        )
    return lines


KIND = Kind(
    "wal_checkpoint_receipt",
    {
        "checkpoint": text,
        "size": count,
        "root": hash_hex,
        "stands_on": optional(count),
        "state": optional(form(STATE)),
        "witnesses": each(form(WITNESS)),
    },
    check,
    lambda body: {body["state"]["epoch"]} if body["state"] else set(),
)
