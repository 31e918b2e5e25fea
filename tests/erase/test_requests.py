"""The life of a request: written down sealed, changed one step after the other, and dark with whom it was about."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace

import pytest

from refold import canonical
from refold.erase import form, requests
from refold.erase.model import Candidate, Decision, Found, Request, Selector, Stage, Target
from refold.errors import Blocked, Corrupt, KeyMissing, NotAllowed, Usage
from refold.model import AliasKind, EventId, SubjectId
from refold.recover.reset import survey
from refold.store import Store
from refold.times import DAY
from tests.conftest import now
from tests.log import say

ADA, BEN = SubjectId(b"a" * 16), SubjectId(b"b" * 16)
OF_ADA = Selector(aliases=((AliasKind.NAME, "Ada Brandt"),))


def asked(store: Store, selector: Selector = OF_ADA, **fields) -> Request:
    return requests.ask(store, selector, now=now, random=os.urandom, **fields)


def found(*subjects: SubjectId, candidates: int = 1) -> Found:
    made = tuple(Candidate(EventId(bytes([at]) * 16), at, (0, 3), "name") for at in range(candidates))
    return Found(frozenset(subjects), frozenset(), 3, made, frozenset(), 0, 9, b"h" * 32)


def target(request: Request, *subjects: SubjectId) -> Target:
    return Target(request.request_id, frozenset(subjects), frozenset(), frozenset({b"t" * 16}), 9, b"h" * 32)


def changed(store: Store, request: Request, how: requests.Change) -> Request:
    return requests.change(store, request.request_id, how, now=now, random=os.urandom)


def planned(store: Store, **fields) -> Request:
    request = changed(store, asked(store, **fields), lambda one: requests.search(one, found(ADA)))
    request = changed(store, request, lambda one: requests.decide(one, {(0, 0, 3): Decision.CONCERNS}))
    return changed(store, request, lambda one: requests.planned(one, target(one, ADA)))


def next_epoch(store: Store, *, without: Iterable[bytes] = (), carried: Iterable[bytes] = ()) -> None:
    """Seal a keyring that carries everybody over but some, as an erasure does."""
    known = {entry.subject for entry in store.log.subjects()} | set(carried)
    store.log.fence(now=now, random=os.urandom)
    secrets = store.keyring.succeed(known, dark=set(without), random=os.urandom)
    store.vault.prepare(secrets, random=os.urandom)
    store.vault.seal(secrets.epoch)
    store.log.lift(now=now, random=os.urandom)


def test_a_request_is_read_as_it_was_written(store: Store):
    request = planned(store, asked_by="officer", suppresses_aliases=True)
    assert requests.read(store, request.request_id) == request
    assert [stage for stage, _ in request.history] == [Stage.REQUESTED, Stage.FOUND, Stage.REVIEWED, Stage.PLANNED]
    assert request.due == request.received + 30 * DAY


def test_nothing_personal_is_in_clear_and_sizes_are_rounded(store: Store):
    short, long = asked(store), asked(store, Selector(aliases=((AliasKind.NAME, "Ada Brandtt"),)))
    paths = [store.vault.path / "requests" / one.request_id.hex() for one in (short, long)]
    raws = [path.read_bytes() for path in paths]
    assert all(b"Brandt" not in bytes.fromhex(raw.decode().partition('"sealed":"')[2].partition('"')[0]) for raw in raws)
    assert not any(b"Brandt" in raw for raw in raws)
    assert len(raws[0]) == len(raws[1])


def test_it_does_not_open_after_its_own_erasure_and_says_how_it_ended(store: Store):
    say(store, "I live in Berlin.")
    request, other = planned(store), asked(store, Selector(before=1))
    next_epoch(store, without=[request.request_id], carried=requests.carried(store, target(request, ADA))[0])
    with pytest.raises(KeyMissing, match="went dark"):
        requests.read(store, request.request_id)
    requests.end(store, request.request_id, Stage.CERTIFIED, now=now, random=os.urandom)
    ended = next(one for one in requests.outlines(store) if one.request_id == request.request_id)
    assert (ended.stage, ended.history[-1][0]) == (Stage.CERTIFIED, Stage.CERTIFIED)
    assert requests.read(store, other.request_id) == other
    assert [one.request_id for one in requests.living(store)] == [other.request_id]


def test_it_opens_in_every_later_epoch_that_carries_it_over(store: Store):
    say(store, "I live in Berlin.")
    request = asked(store)
    for _ in range(2):
        next_epoch(store, carried=[request.request_id])
        assert requests.read(store, request.request_id) == request


def test_what_another_request_knows_of_the_person_goes_with_them(store: Store):
    first, second, third = planned(store), planned(store), asked(store, Selector(subjects=(BEN,)))
    assert requests.carried(store, target(first, ADA)) == ({third.request_id}, {first.request_id, second.request_id})


def test_the_keyring_holds_no_copy_of_its_key_before_an_erasure(store: Store):
    request = asked(store)
    assert not store.keyring.has_explicit(request.request_id)
    for path in store.vault.keys.rglob("*"):
        assert path.is_dir() or store.keyring.request_key(request.request_id) not in path.read_bytes()


def test_an_outline_that_was_changed_does_not_open(store: Store):
    request = asked(store)
    path = store.vault.path / "requests" / request.request_id.hex()
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b'"stage":"requested"', b'"stage":"certified"'))
    with pytest.raises(Corrupt, match="damaged"):
        requests.read(store, request.request_id)
    path.write_bytes(replace(form.Outline.read(raw), stage=Stage.CERTIFIED).raw)
    with pytest.raises(KeyMissing):
        requests.read(store, request.request_id)
    path.write_bytes(b"{}")
    with pytest.raises(Corrupt, match="damaged"):
        requests.outlines(store)


def of_before(raw: bytes) -> bytes:
    """Return a request as releases wrote it that put no digest of it beside it."""
    return canonical.encode({name: value for name, value in json.loads(raw).items() if name != form.DIGEST})


def test_one_that_an_earlier_release_wrote_without_its_digest_is_read_and_gets_it_when_it_changes(store: Store):
    request, held = planned(store), requests.hold(store, OF_ADA, reason="a court", now=now, random=os.urandom)
    for one in (request, held):
        path = store.vault.path / "requests" / one.request_id.hex()
        path.write_bytes(of_before(path.read_bytes()))
    assert {one.request_id for one in requests.living(store)} == {request.request_id, held.request_id}
    approved = changed(store, request, lambda one: requests.approve(one, by="", needed=1))
    assert form.DIGEST in json.loads((store.vault.path / "requests" / request.request_id.hex()).read_bytes())
    assert requests.read(store, request.request_id) == approved


def test_a_changed_letter_in_the_name_of_its_digest_makes_it_none_of_an_earlier_release(store: Store):
    path = store.vault.path / "requests" / asked(store).request_id.hex()
    path.write_bytes(path.read_bytes().replace(b'"sha256"', b'"sha257"'))
    with pytest.raises(Corrupt, match="damaged"):
        requests.outlines(store)


def flipped(raw: bytes) -> bytes:
    """Return a request with one digit of what is sealed in it changed."""
    at = raw.index(b'"sealed":"') + 50
    return raw[:at] + (b"1" if raw[at : at + 1] == b"0" else b"0") + raw[at + 1 :]


HARMS = [("flipped", False), ("another in its place", False), ("flipped", True), ("another in its place", True), ("of a lost key", True)]


@pytest.mark.parametrize(("harm", "is_hold"), HARMS)
def test_one_that_was_changed_and_a_hold_that_does_not_open_are_damaged_and_forbid_every_erasure(store: Store, harm: str, is_hold: bool):
    other = planned(store)
    made = requests.hold(store, OF_ADA, reason="a court", now=now, random=os.urandom) if is_hold else asked(store)
    path = store.vault.path / "requests" / made.request_id.hex()
    damaged = {
        "flipped": flipped(path.read_bytes()),
        "another in its place": (path.parent / other.request_id.hex()).read_bytes(),
        "of a lost key": form.sealed(made, bytes(32), origin=store.origin, nonce=bytes(12)).raw,
    }
    path.write_bytes(damaged[harm])
    with pytest.raises(Corrupt, match="damaged"):
        requests.read(store, made.request_id)
    with pytest.raises(Corrupt, match="damaged"):
        requests.carried(store, target(other, ADA))


def test_undecided_mentions_stop_it(store: Store):
    request = changed(store, asked(store), lambda one: requests.search(one, found(ADA)))
    request = changed(store, request, lambda one: requests.planned(one, target(one, ADA)))
    with pytest.raises(Blocked, match="undecided"):
        requests.approve(request, by="", needed=1)
    with pytest.raises(Blocked, match="undecided"):
        requests.start(replace(request, stage=Stage.APPROVED))


def test_a_decision_about_no_candidate_is_refused(store: Store):
    request = changed(store, asked(store), lambda one: requests.search(one, found(ADA)))
    with pytest.raises(Usage, match="about no candidate"):
        changed(store, request, lambda one: requests.decide(one, {(7, 0, 1): Decision.CONCERNS}))


def test_two_people_approve_where_two_have_to(store: Store):
    request = planned(store)
    with pytest.raises(NotAllowed, match="--as"):
        requests.approve(request, by="", needed=2)
    once = changed(store, request, lambda one: requests.approve(one, by="officer", needed=2))
    assert once.stage is Stage.PLANNED
    with pytest.raises(Usage):
        requests.start(once)
    with pytest.raises(NotAllowed, match="already"):
        requests.approve(once, by="officer", needed=2)
    twice = changed(store, once, lambda one: requests.approve(one, by="operator", needed=2))
    assert requests.start(twice) == twice.target


def test_a_new_search_or_plan_needs_a_new_approval(store: Store):
    request = changed(store, planned(store), lambda one: requests.approve(one, by="", needed=1))
    assert requests.search(request, found(ADA)).approved_by == ()
    assert requests.planned(request, target(request, ADA)).stage is Stage.PLANNED


def test_what_is_over_is_not_changed(store: Store):
    request = changed(store, planned(store), lambda one: requests.refuse(one, "a court asked to keep it"))
    for step in (
        lambda one: requests.search(one, found(ADA)),
        lambda one: requests.planned(one, target(one, ADA)),
        lambda one: requests.refuse(one, "again"),
    ):
        with pytest.raises(Usage, match="refused"):
            changed(store, request, step)
    with pytest.raises(Usage):
        requests.start(replace(request))


def test_a_hold_needs_a_reason_and_is_released_once(store: Store):
    with pytest.raises(Usage, match="reason"):
        requests.hold(store, OF_ADA, reason=" ", now=now, random=os.urandom)
    held = requests.hold(store, OF_ADA, reason="a lawsuit", now=now, random=os.urandom)
    released = changed(store, held, requests.release)
    assert released.stage is Stage.RELEASED
    with pytest.raises(Usage):
        requests.release(released)


def test_nothing_is_asked_for_nobody_nor_from_the_future(store: Store):
    with pytest.raises(Usage, match="nothing is selected"):
        asked(store, Selector())
    with pytest.raises(Usage, match="before it is due"):
        asked(store, received=now(), due=now() - DAY)
    with pytest.raises(Usage, match="time to come"):
        asked(store, received=now() + 3 * DAY)


def test_a_day_that_has_begun_in_the_east_alone_is_received_when_it_is_written_down(store: Store):
    request = asked(store, received=now() + DAY // 2)
    assert request.received == request.history[0][1]
    assert request.due == request.received + 30 * DAY


def test_ids_are_found_by_how_they_begin(store: Store):
    request = asked(store)
    assert requests.chosen(store, request.request_id.hex()[:8]) == request.request_id
    with pytest.raises(Usage):
        requests.chosen(store, "")


def test_a_reset_takes_requests_away(store: Store):
    asked(store)
    assert not survey(store.places).unexpected
