"""The receipt of a replay: the log was folded again in another process, under another hash seed, and gave the same state.

What is compared and shown is HMAC(attest_key, state hash): equal where the states are, and no oracle for anybody without the key.
"""

from __future__ import annotations

from collections.abc import Sequence

from refold.log.note import Verifier
from refold.receipts.form import Body, Kind, count, each, form, hash_hex, text

FOLD = {"generation": count, "hash_seed": text, "attested": hash_hex}


def check(body: Body, known: Sequence[Verifier]) -> list[str]:
    """Check that there are several folds, under different seeds, of one outcome. Raises ValueError."""
    folds = body["folds"]
    if len(folds) < 2 or len({one["attested"] for one in folds}) != 1 or len({one["hash_seed"] for one in folds}) != len(folds):
        raise ValueError("no replay that gave the same")
    if body["model_calls"]:
        raise ValueError("a replay asks no model")
    return [
        f"{len(folds)} folds of {body['size']:,} entries, each in a process of its own, gave the same state under epoch {body['epoch']}"
    ]


KIND = Kind(
    "replay_determinism_receipt",
    {
        "size": count,
        "last_hash": hash_hex,
        "epoch": count,
        "relations": hash_hex,
        "recipe": hash_hex,
        "model_calls": count,
        "folds": each(form(FOLD)),
    },
    check,
    lambda body: {body["epoch"]},
)
