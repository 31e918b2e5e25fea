"""Judging, with made-up inputs: the four verdicts, what is replayed, and what each flag of the policy changes."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from refold.log import ranges, tree
from refold.log.parts import Part
from refold.recover.history import History, Listed
from refold.recover.judge import Evidence, judge
from refold.recover.tiers import PartSeen
from refold.verdict import Checkpoint, Completeness, Damage, DamageKind, Directive, Kind, Known, Policy, SeenHead, Signed, Unasked

HASHES = [hashlib.sha256(bytes([at])).digest() for at in range(8)]
PARTS = [Part(f"parts/{first}", 1, "ab", first, 2) for first in (0, 2, 4, 6)]


def evidence(*, bad: dict[int, DamageKind] | None = None, without: tuple[int, ...] = (), **given) -> Evidence:
    """Return what four parts of two entries each come to; `bad` gives parts a fault, `without` takes their hashes away."""
    parts = [
        PartSeen(
            part,
            "ab",
            ((part.first, part.end, (bad or {})[at]),) if at in (bad or {}) else (),
            last=HASHES[part.end - 1],
            ranges=None if at in without else (ranges.of(part.first, b"".join(HASHES[part.first : part.end])),),
        )
        for at, part in enumerate(PARTS)
    ]
    history = History(
        size=8,
        epoch=1,
        is_sized=True,
        parts=tuple(Listed(part, at + 1) for at, part in enumerate(PARTS)),
        anchors={part.first: bytes(32) for part in PARTS} | {8: bytes(32)},
        erasures={},
        control={},
        told=((0, 8),),
        damage=(),
    )
    known = Known(**{name: given.pop(name, ()) for name in ("seen", "checkpoints", "signed", "unasked")})
    usual = {"history": history, "parts": parts, "known": known, "policy": Policy(), "digest": bytes(32)}
    return Evidence(**{**usual, **given})  # ty: ignore[invalid-argument-type]


def checkpoint(size: int, **fields) -> Checkpoint:
    return replace(Checkpoint(size, tree.root(HASHES[:size]), 3, 1, bytes(32), f"checkpoints/{size}"), **fields)


def seen(size: int, *, root: bytes | None = None, is_external: bool = False) -> SeenHead:
    return SeenHead(size, root or tree.root(HASHES[:size]), is_external)


PAYLOAD, MISSING = DamageKind.PAYLOAD, DamageKind.MISSING


def test_a_signed_head_counts_also_where_no_state_is_attested_beside_it():
    verdict = judge(evidence(signed=[Signed(11, bytes(32), "checkpoints/11.note")]))
    assert (verdict.size, [(each.first, each.end, each.kind) for each in verdict.damage]) == (11, [(8, 11, DamageKind.CUT)])
    assert verdict.completeness is Completeness.UNWITNESSED, "a head beside the log is no memory outside of it"
    forked = judge(evidence(signed=[Signed(4, bytes(32), "checkpoints/4.note")]))
    assert [each.kind for each in forked.damage] == [DamageKind.FORK]
    assert judge(evidence(signed=[Signed(4, tree.root(HASHES[:4]), "checkpoints/4.note")])).kind is Kind.INTACT


def test_a_witness_that_was_not_asked_is_named_and_stops_only_who_requires_one():
    gone = Unasked("elsewhere", "the folder of a witness is not there")
    verdict = judge(evidence(unasked=[gone]))
    assert (verdict.kind, verdict.directive, verdict.unasked) == (Kind.INTACT, Directive.PROCEED, (gone,))
    required = Policy(require_witness=True)
    assert judge(evidence(unasked=[gone], policy=required)).directive is Directive.HALT
    assert judge(evidence(unasked=[gone], seen=[seen(8)], policy=required)).directive is Directive.PROCEED


def test_where_nothing_is_damaged_the_log_is_intact():
    verdict = judge(evidence())
    assert (verdict.kind, verdict.directive, verdict.root) == (Kind.INTACT, Directive.PROCEED, tree.root(HASHES))
    assert (verdict.first_bad, verdict.last_good, verdict.replay_from, verdict.replay_until) == (None, 7, None, None)


def test_damage_below_a_checkpoint_is_recovered_by_replaying_what_follows_it():
    verdict = judge(evidence(bad={0: PAYLOAD}, checkpoints=[checkpoint(2), checkpoint(4)]))
    assert (verdict.kind, verdict.replay_from, verdict.replay_until) == (Kind.RECOVERABLE, 4, 8)
    assert (verdict.first_bad, verdict.last_good, verdict.directive) == (0, None, Directive.PROCEED)


def test_damage_above_every_checkpoint_is_a_boundary():
    verdict = judge(evidence(bad={0: PAYLOAD, 2: PAYLOAD}, checkpoints=[checkpoint(4)]))
    assert verdict.kind is Kind.UNRECOVERABLE  # nothing before the first damage, and the checkpoint is above it
    verdict = judge(evidence(bad={2: PAYLOAD}, checkpoints=[checkpoint(2), checkpoint(4), checkpoint(6)]))
    assert (verdict.kind, verdict.replay_from) == (Kind.RECOVERABLE, 6)
    verdict = judge(evidence(bad={2: PAYLOAD}, checkpoints=[checkpoint(2), checkpoint(4)]))
    assert (verdict.kind, verdict.replay_from, verdict.replay_until) == (Kind.BOUNDARY, 4, 4)
    assert verdict.last_good == 3


def test_without_a_checkpoint_what_lies_before_the_damage_is_a_boundary_too():
    verdict = judge(evidence(bad={3: MISSING}))
    assert (verdict.kind, verdict.replay_from, verdict.replay_until) == (Kind.BOUNDARY, 0, 6)


def test_a_checkpoint_at_sequence_0_recovers_nothing_but_gives_a_start():
    verdict = judge(evidence(bad={0: PAYLOAD}, checkpoints=[checkpoint(0)]))
    assert (verdict.kind, verdict.replay_from, verdict.replay_until) == (Kind.BOUNDARY, 0, 0)
    verdict = judge(evidence(bad={1: PAYLOAD}, checkpoints=[checkpoint(0)]))
    assert (verdict.kind, verdict.replay_from, verdict.replay_until) == (Kind.BOUNDARY, 0, 2)
    assert judge(evidence(checkpoints=[checkpoint(0)])).kind is Kind.INTACT


def test_a_checkpoint_newer_than_the_log_says_that_the_log_was_cut_and_is_not_used():
    newer = Checkpoint(9, bytes(32), 3, 1, bytes(32), "checkpoints/9")
    verdict = judge(evidence(checkpoints=[newer]))
    assert (verdict.kind, verdict.size, verdict.root) == (Kind.BOUNDARY, 9, None)
    assert verdict.damage == (Damage(8, 9, DamageKind.CUT, "checkpoints/9"),)
    assert (verdict.replay_from, verdict.replay_until) == (0, 8)


def test_a_checkpoint_of_another_epoch_is_not_used():
    assert judge(evidence(bad={0: PAYLOAD}, checkpoints=[checkpoint(4, epoch=2)])).kind is Kind.UNRECOVERABLE


def test_a_checkpoint_with_another_root_is_a_fork():
    verdict = judge(evidence(checkpoints=[checkpoint(4, root=bytes(32))]))
    assert (verdict.kind, [each.kind for each in verdict.damage]) == (Kind.UNRECOVERABLE, [DamageKind.FORK])


@pytest.mark.parametrize(("last_hash", "kind"), [(None, Kind.RECOVERABLE), (bytes(32), Kind.RECOVERABLE), (b"x" * 32, Kind.UNRECOVERABLE)])
def test_where_hashes_are_lost_the_signed_hash_before_a_checkpoint_stands_for_its_root(last_hash: bytes | None, kind: Kind):
    given = evidence(bad={0: MISSING}, without=(0,), checkpoints=[checkpoint(4, last_hash=last_hash)])
    assert judge(given).kind is kind


def test_a_checkpoint_that_no_commit_ends_at_is_not_used_where_hashes_are_lost():
    assert judge(evidence(bad={0: MISSING}, without=(0,), checkpoints=[checkpoint(5)])).kind is Kind.UNRECOVERABLE


def test_truncation_loss_a_witness_knows_that_the_log_was_longer():
    verdict = judge(evidence(seen=[SeenHead(11, bytes(32), is_external=True)]))
    assert (verdict.kind, verdict.size, verdict.first_bad, verdict.last_good) == (Kind.BOUNDARY, 11, 8, 7)
    assert [each.kind for each in verdict.damage] == [DamageKind.CUT]


@pytest.mark.parametrize("size", [4, 8])
def test_r22_another_history_is_a_fork_whether_it_is_longer_or_of_the_same_length(size: int):
    verdict = judge(evidence(seen=[seen(2), seen(size, root=bytes(32))], policy=Policy(allow_partial_replay=True)))
    assert (verdict.kind, verdict.directive) == (Kind.UNRECOVERABLE, Directive.HALT)
    assert [(each.first, each.end, each.kind) for each in verdict.damage] == [(2, size, DamageKind.FORK)]


def test_without_any_signed_head_nothing_can_be_relied_on():
    empty = replace(evidence().history, is_sized=False, size=0, parts=(), damage=(Damage(0, 0, DamageKind.COMMIT, "x", 0),))
    assert judge(evidence(history=empty, parts=[])).kind is Kind.UNRECOVERABLE


def test_an_empty_log_is_intact_unless_a_witness_has_seen_more():
    empty = replace(evidence().history, size=0, parts=(), anchors={0: bytes(32)})
    verdict = judge(evidence(history=empty, parts=[]))
    assert (verdict.kind, verdict.size, verdict.last_good) == (Kind.INTACT, 0, None)
    assert judge(evidence(history=empty, parts=[], seen=[seen(1)])).kind is Kind.UNRECOVERABLE


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ((), Completeness.UNWITNESSED),
        ((seen(8),), Completeness.LOCAL),
        ((seen(8), seen(4, is_external=True)), Completeness.EXTERNAL),
    ],
)
def test_completeness_is_what_the_witnesses_are_worth(heads: tuple[SeenHead, ...], expected: Completeness):
    assert judge(evidence(seen=heads)).completeness is expected


BOUNDARY = {"bad": {2: PAYLOAD}, "checkpoints": [checkpoint(4)]}


@pytest.mark.parametrize(
    ("given", "policy", "directive"),
    [
        ({}, Policy(), Directive.PROCEED),
        ({}, Policy(require_witness=True), Directive.HALT),
        ({"seen": [seen(8)]}, Policy(require_witness=True), Directive.PROCEED),
        ({}, Policy(require_checkpoint=True), Directive.HALT),
        ({"checkpoints": [checkpoint(4)]}, Policy(require_checkpoint=True), Directive.PROCEED),
        (BOUNDARY, Policy(), Directive.HALT),
        (BOUNDARY, Policy(allow_partial_replay=True), Directive.PROCEED),
        (BOUNDARY, Policy(allow_partial_replay=True, require_witness=True), Directive.HALT),
        ({"bad": {2: PAYLOAD}}, Policy(allow_partial_replay=True, require_checkpoint=True), Directive.HALT),
        ({"bad": {0: PAYLOAD}}, Policy(allow_partial_replay=True), Directive.HALT),
    ],
)
def test_the_policy_decides_whether_a_machine_goes_on(given: dict, policy: Policy, directive: Directive):
    verdict = judge(evidence(policy=policy, **given))
    assert verdict.directive is directive
    assert verdict.policy == policy
    assert verdict.reason


def test_an_empty_range_at_the_end_is_not_below_a_checkpoint_of_that_size():
    """A damaged newest commit hides how much it held."""
    history = replace(evidence().history, damage=(Damage(8, 8, DamageKind.COMMIT, "log/commits/5", 5),))
    verdict = judge(evidence(history=history, checkpoints=[checkpoint(8)]))
    assert (verdict.kind, verdict.replay_from, verdict.replay_until) == (Kind.BOUNDARY, 8, 8)
