"""Commits: exact signed bytes, and a chain of them in which nothing can be changed, left out or slipped in."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from refold import canonical
from refold.errors import Corrupt, UnsupportedVersion
from refold.keys import crypto
from refold.log import commit as commits
from refold.log.commit import Commit, Live, Replacement
from refold.log.entry import genesis
from refold.log.head import Head, follow
from refold.log.parts import Part
from refold.model import EntryKind
from refold.store import Store
from tests.log import say

ORIGIN = "ab" * 16
SIGNER = crypto.Signer(bytes(range(32)))
PATH = Path("00000000000000000001.json")


def part(first: int, count: int, name: int = 0) -> Part:
    return Part(f"parts/{first:020d}-{name:016x}.parquet", 100, "0" * 64, first, count)


def base(**changes: object) -> Head:
    live = (part(0, 2), part(2, 3))
    commit = replace(
        commits.first_commit(ORIGIN, writer="w", txn="t", time=5), next_seq=5, last_hash="11" * 32, parts=live, live=Live(live, ())
    )
    commit = replace(commit, **changes)
    return Head(commit, "dd" * 32, live, ())


def after(head: Head, **changes: object) -> Commit:
    """Return a commit that follows, of one part of two rows, unless changed."""
    made = Commit(
        origin=ORIGIN, version=1, txn="t", epoch=head.epoch, first_seq=5, next_seq=7, prev_hash="11" * 32, last_hash="22" * 32,
        previous="dd" * 32, parts=(part(5, 2),), writer="w", time=6, fence=head.fence,
    )  # fmt: skip
    return replace(made, **changes)


def test_a_commit_file_is_canonical_json_signed_over_its_label_and_body(store: Store):
    say(store, "hello")
    raw = store.log.place.commit(1).read_bytes()
    document = canonical.decode(raw)
    assert set(document) == {"body", "sig"}
    body = canonical.encode(document["body"])
    label = hashlib.sha256(b"refold.log/commit/v1").digest()
    Ed25519PublicKey.from_public_bytes(store.vault.public_keys[0]).verify(bytes.fromhex(document["sig"]), label + body)
    assert set(document["body"]) == {
        "format", "origin", "version", "txn", "epoch", "first_seq", "next_seq", "prev_hash", "last_hash", "previous", "parts",
        "replaces", "fence", "control", "writer", "time", "live",
    }  # fmt: skip


def test_a_commit_names_the_digest_of_the_whole_file_before_it(store: Store):
    say(store, "hello")
    say(store, "again")
    first = store.log.place.commit(1).read_bytes()
    second = canonical.decode(store.log.place.commit(2).read_bytes())["body"]
    assert second["previous"] == hashlib.sha256(first).hexdigest()
    assert second["prev_hash"] == canonical.decode(first)["body"]["last_hash"]


def test_an_empty_log_begins_with_the_genesis_hash():
    first = commits.first_commit(ORIGIN, writer="w", txn="t", time=5)
    assert (first.version, first.next_seq, first.last_hash, first.live) == (0, 0, genesis(ORIGIN).hex(), Live((), ()))


def test_a_commit_is_read_as_it_was_written():
    full = after(base(), replaces=Replacement((part(0, 2).path,), (part(0, 2, 9),)), control=((5, 17),), live=Live((part(0, 7),), (5,)))
    for commit in (after(base()), full):
        raw = commits.encode(commit, SIGNER)
        assert commits.decode(raw, PATH) == commit
        commits.check_signature(raw, (SIGNER.public_key,), PATH)


@pytest.mark.parametrize(
    "harm",
    [
        lambda raw: b"",
        lambda raw: raw[:-1],
        lambda raw: raw + b"\n",
        lambda raw: raw.replace(b'":', b'": ', 1),
        lambda raw: raw.replace(b'"epoch":1', b'"epoch":1.0'),
        lambda raw: raw.replace(b'"epoch":1', b'"epoch":true'),
        lambda raw: raw.replace(b'"epoch":1', b'"epoch":-1'),
        lambda raw: raw.replace(b'"epoch":1', b'"epoch":1,"extra":0'),
        lambda raw: raw.replace(b'"epoch":1,', b""),
        lambda raw: raw.replace(b"parts/0", b"../../0"),
        lambda raw: raw.replace(b'"body"', b'"bodi"'),
        lambda raw: raw.replace(b'"sig":"', b'"sig":"zz'),
        lambda raw: b"\xff" + raw,
        lambda raw: b"[" * 100_000,
        lambda raw: raw[:-512] + bytes(512),
    ],
)
def test_what_is_not_exactly_a_commit_is_damage(harm):
    with pytest.raises(Corrupt):
        commits.decode(harm(commits.encode(after(base()), SIGNER)), PATH)


def test_a_commit_of_a_later_format_is_refused_by_name():
    raw = commits.encode(replace(after(base()), format="refold.log/9"), SIGNER)
    with pytest.raises(UnsupportedVersion, match=r"refold\.log/9"):
        commits.decode(raw, PATH)


def test_a_commit_of_another_signer_is_damage():
    raw = commits.encode(after(base()), crypto.Signer(bytes(32)))
    with pytest.raises(Corrupt, match="not signed"):
        commits.check_signature(raw, (SIGNER.public_key,), PATH)


def test_a_changed_body_is_not_what_was_signed():
    raw = commits.encode(after(base()), SIGNER).replace(b'"writer":"w"', b'"writer":"x"')
    commits.decode(raw, PATH)
    with pytest.raises(Corrupt, match="not signed"):
        commits.check_signature(raw, (SIGNER.public_key,), PATH)


def test_a_commit_that_follows_extends_the_list():
    head = follow(base(), after(base()), "ee" * 32, PATH)
    assert (head.version, head.size, head.digest) == (1, 7, "ee" * 32)
    assert [part.first for part in head.parts] == [0, 2, 5]


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "cd" * 16},
        {"version": 2},
        {"previous": "00" * 32},
        {"prev_hash": "00" * 32},
        {"first_seq": 4},
        {"first_seq": 6},
        {"time": 4},
        {"next_seq": 8},
        {"parts": ()},
        {"parts": (part(6, 1),)},
        {"parts": (part(5, 1), part(7, 1))},
        {"parts": (part(5, 2), part(7, 0))},
        {"live": Live((part(0, 7),), ())},
        {"live": Live((part(0, 2), part(2, 3), part(5, 2)), (9,))},
    ],
)
def test_a_commit_that_does_not_follow_is_damage(changes: dict[str, object]):
    with pytest.raises(Corrupt):
        follow(base(), after(base(), **changes), "", PATH)


FENCE, LIFT = ((5, EntryKind.FENCE),), ((5, EntryKind.LIFT),)


@pytest.mark.parametrize(
    ("standing", "epoch", "fence", "control"),
    [
        (False, 1, False, ()),
        (False, 1, 2, FENCE),
        (2, 1, 2, ()),
        (2, 2, 2, ()),
        (2, 1, False, LIFT),
        (2, 2, False, LIFT),
    ],
)
def test_an_epoch_may_rise_by_one_inside_a_fence(standing: int | bool, epoch: int, fence: int | bool, control):
    head = base(fence=standing)
    assert follow(head, after(head, epoch=epoch, fence=fence, control=control), "", PATH).epoch == epoch


@pytest.mark.parametrize(
    ("standing", "epoch", "fence", "control"),
    [
        (False, 2, False, ()),  # an epoch that rises without a fence
        (False, 2, 2, FENCE),  # in the commit that opens the fence
        (False, 1, 2, ()),  # a fence without an entry that says so
        (False, 1, 3, FENCE),  # towards an epoch too far
        (False, 1, 1, FENCE),  # or the same
        (2, 1, False, ()),  # gone without a lift
        (2, 3, 2, ()),  # above its target
        (2, 2, 3, FENCE),  # changed while it stands
        (2, 0, 2, ()),  # an epoch that falls
    ],
)
def test_a_commit_of_another_epoch_than_its_fence_allows_is_damage(standing: int | bool, epoch: int, fence: int | bool, control):
    head = base(fence=standing)
    with pytest.raises(Corrupt, match="does not allow"):
        follow(head, after(head, epoch=epoch, fence=fence, control=control), "", PATH)


def swap(removed: tuple[str, ...], added: tuple[Part, ...]) -> dict[str, object]:
    return {"parts": (), "next_seq": 5, "last_hash": "11" * 32, "replaces": Replacement(removed, added)}


def test_a_replacement_swaps_parts_of_the_same_range():
    old = base().parts
    head = follow(base(), after(base(), **swap((old[0].path, old[1].path), (part(0, 5, 1),))), "", PATH)
    assert head.parts == (part(0, 5, 1),)


@pytest.mark.parametrize(
    ("removed", "added"),
    [
        ((part(0, 2).path,), (part(0, 3, 1),)),  # another range
        ((part(0, 2).path,), ()),
        ((), (part(0, 2, 1),)),
        ((part(0, 2).path, part(0, 2).path), (part(0, 2, 1),)),  # one part twice
        ((part(9, 2).path,), (part(9, 2, 1),)),  # not live
    ],
)
def test_a_replacement_of_other_entries_is_damage(removed: tuple[str, ...], added: tuple[Part, ...]):
    with pytest.raises(Corrupt):
        follow(base(), after(base(), **swap(removed, added)), "", PATH)


def test_erasure_entries_are_listed_by_the_head():
    head = follow(base(), after(base(), control=((6, EntryKind.ERASURE),)), "", PATH)
    assert head.erasures == (6,)


def test_every_128th_commit_carries_the_full_list(store: Store):
    for number in range(130):
        say(store, f"line {number}")
    full = [version for version in range(131) if canonical.decode(store.log.place.commit(version).read_bytes())["body"]["live"]]
    assert full == [0, 128]


def test_parts_over_a_range_are_those_that_hold_it():
    head = base()
    assert [part.first for part in head.parts_over(0, 5)] == [0, 2]
    assert [part.first for part in head.parts_over(1, 2)] == [0]
    assert [part.first for part in head.parts_over(2, 3)] == [2]
    assert [part.first for part in head.parts_over(4, 5)] == [2]
    assert head.parts_over(3, 3) == ()
