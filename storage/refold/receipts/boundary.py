"""The signature of a boundary: a verdict on a log, with all damaged ranges and the digest of everything it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from refold import verdict
from refold.log.note import Verifier
from refold.receipts.form import Body, Kind, count, each, flag, form, hash_hex, one_of, optional, text
from refold.verdict import Verdict

DAMAGE = {"first": count, "end": count, "class": one_of(*verdict.DamageKind), "path": text, "version": optional(count)}
POLICY = {"require_checkpoint": flag, "allow_partial_replay": flag, "require_witness": flag}
NUMBERS = ("replay_from", "replay_until", "first_bad", "last_good")


def said(found: Verdict) -> Body:
    """Return what the receipt says of a verdict."""
    return {
        "completeness": found.completeness.value,
        "damage": [
            {"first": one.first, "end": one.end, "class": one.kind.value, "path": one.path, "version": one.version} for one in found.damage
        ],
        "digest": found.digest.hex(),
        "directive": found.directive.value,
        "policy": {name: getattr(found.policy, name) for name in POLICY},
        "reason": found.reason,
        "root": found.root.hex() if found.root is not None else None,
        "size": found.size,
        "verdict": found.kind.value,
        **{name: getattr(found, name) for name in NUMBERS},
    }


def check(body: Body, known: Sequence[Verifier]) -> list[str]:
    """Check that the verdict does not contradict itself. Raises ValueError."""
    damage, intact = body["damage"], body["verdict"] == verdict.Kind.INTACT
    if any(one["first"] > one["end"] for one in damage) or (intact and (damage or body["first_bad"] is not None)):
        raise ValueError("a verdict that contradicts itself")
    last, bad = body["last_good"], body["first_bad"]
    where = "nowhere" if bad is None else f"first at entry {bad}" + ("" if last is None else f", after the good entry {last}")
    lines = [
        f"{body['verdict']}: a log of {body['size']:,} entries, damaged in {len(damage)} ranges, {where}",
        f"{body['directive']}: {body['reason']}",
    ]
    if body["replay_from"] is not None:
        lines.append(f"replay from {body['replay_from']} until {body['replay_until']}")
    return [*lines, f"completeness: {body['completeness']}"]


KIND = Kind(
    "wal_corruption_boundary_signature",
    {
        "verdict": one_of(*verdict.Kind),
        "size": count,
        "root": optional(hash_hex),
        **dict.fromkeys(NUMBERS, optional(count)),
        "damage": each(form(DAMAGE)),
        "completeness": one_of(*verdict.Completeness),
        "directive": one_of(*verdict.Directive),
        "reason": text,
        "policy": form(POLICY),
        "digest": hash_hex,
    },
    check,
)
