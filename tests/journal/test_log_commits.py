"""Commits to the log as steps: found by their transaction id, made once, and answered where the transaction goes back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refold import ingest, journal
from refold.errors import Drifted, Locked
from refold.journal import Direction, Intent, LogCommit, OpenStore
from refold.model import Draft, EntryKind, EventId
from refold.store import Places, Store, create, open_store
from refold.store import places as find_places
from tests.conftest import now
from tests.journal import CALLS, KILLED, SAMPLE, changes_of, in_child, killing, left, on, picture, unsynced
from tests.log import Disk

TXN, OTHER = "11" * 16, "22" * 16


def fence(store: OpenStore, txn: str, data: bytes) -> None:
    assert isinstance(store, Store)
    store.log.fence(now=now, random=os.urandom, txn=txn)


def lift(store: OpenStore, txn: str, data: bytes) -> None:
    assert isinstance(store, Store)
    store.log.lift(now=now, random=os.urandom, txn=txn)


def note(store: OpenStore, txn: str, data: bytes) -> None:
    """Append a subject entry: something that can be counted."""
    one = ingest._subject_entry(EventId(data), (), recorded_at=now(), ingest=bytes(16), random=os.urandom)  # ty: ignore[invalid-argument-type]
    assert isinstance(store, Store)
    store.log.append(lambda head, keyring: [one], now=now, random=os.urandom, txn=txn)


INTENTS = {"fence": Intent(fence, lift), "note": Intent(note)}


def made(folder: Path) -> Places:
    places = find_places(folder / "store", folder / "vault", folder / "root", env={})
    with unsynced():
        create(places, now=now, random=os.urandom).close()
    return places


def fenced(places: Places) -> None:
    """A fence, a file, and the lift of the fence as what cannot be taken back."""
    steps = [
        LogCommit(txn=TXN, intent="fence"),
        journal.write(on("store", "state/one"), b"signed"),
        LogCommit(txn=OTHER, intent="note", data=bytes(16), point_of_no_return=True),
    ]
    with open_store(places) as store:
        journal.commit(places, SAMPLE, steps[:2], store=store, intents=INTENTS)


def noted(places: Places) -> None:
    steps = [journal.write(on("store", "state/one"), b"signed"), LogCommit(txn=OTHER, intent="note", data=b"n" * 16)]
    with open_store(places) as store:
        journal.commit(places, SAMPLE, steps, store=store, intents=INTENTS)


def kinds(places: Places) -> list[int]:
    """Return the kinds of all entries of the log."""
    with open_store(places) as store:
        return [header[1] for rows in store.log.rows() for header in rows.headers()]


def recover(places: Places, direction: Direction) -> None:
    (entry,) = left(places)
    with unsynced():
        journal.recover(places, entry.id, direction, open_store=lambda: open_store(places), intents=INTENTS)


def test_a_fence_is_one_commit_however_often_it_is_interrupted(tmp_path: Path):
    count = changes_of(lambda: fenced(made(tmp_path / "model")))
    for at in range(1, count + 1, 2):
        places = made(tmp_path / f"{at}")
        assert in_child(lambda: fenced(places), Disk(killing(at), calls=CALLS)) in (KILLED, 0)  # noqa: B023
        if left(places):
            recover(places, Direction.COMPLETE)
        if (places.store / "state/one").exists():
            assert kinds(places) == [EntryKind.FENCE]
        else:
            assert kinds(places) == []


def test_a_transaction_that_goes_back_lifts_the_fence_it_made_once(tmp_path: Path):
    count = changes_of(lambda: fenced(made(tmp_path / "model")))
    seen = set()
    for at in range(1, count + 1, 2):
        places = made(tmp_path / f"{at}")
        before = sorted(name for name in picture(places) if name.startswith("store/state"))
        in_child(lambda: fenced(places), Disk(killing(at), calls=CALLS))  # noqa: B023
        if not left(places) or left(places)[0].condition is journal.Condition.ENDED:
            continue
        recover(places, Direction.ROLL_BACK)
        assert sorted(name for name in picture(places) if name.startswith("store/state")) == before
        seen.add(tuple(kinds(places)))
    assert seen == {(), (EntryKind.FENCE, EntryKind.LIFT)}


@pytest.mark.slow
def test_going_back_over_a_fence_may_itself_be_killed(tmp_path: Path):
    model = made(tmp_path / "model")
    stop_after_the_fence(model)
    (entry,) = left(model)
    count = changes_of(lambda: journal.recover(model, entry.id, Direction.ROLL_BACK, open_store=lambda: open_store(model), intents=INTENTS))
    for at in range(1, count + 1, 2):
        places = made(tmp_path / f"{at}")
        stop_after_the_fence(places)
        (entry,) = left(places)

        def back() -> None:
            journal.recover(places, entry.id, Direction.ROLL_BACK, open_store=lambda: open_store(places), intents=INTENTS)  # noqa: B023

        in_child(back, Disk(killing(at), calls=CALLS))
        if left(places):
            recover(places, Direction.ROLL_BACK)
        assert kinds(places) == [EntryKind.FENCE, EntryKind.LIFT]


def stop_after_the_fence(places: Places) -> None:
    """Leave a transaction behind whose fence stands and whose file is not written."""
    (places.store / "state").chmod(0o700)

    def work() -> None:
        from refold.journal import carry

        carry._move = lambda *rest: os._exit(0)  # ty: ignore[invalid-assignment]
        fenced(places)

    assert in_child(work, Disk(killing(0), calls=CALLS)) == 0


def test_a_commit_that_the_log_has_and_nothing_answers_can_only_be_completed(tmp_path: Path):
    places = made(tmp_path)

    def work() -> None:
        from refold.journal import carry

        real = carry._commit

        def commit(*rest) -> None:
            real(*rest)
            os._exit(0)

        carry._commit = commit  # ty: ignore[invalid-assignment]
        noted(places)

    assert in_child(work, Disk(killing(0), calls=CALLS)) == 0
    assert kinds(places) == [EntryKind.SUBJECT]
    with pytest.raises(Drifted):
        recover(places, Direction.ROLL_BACK)
    recover(places, Direction.COMPLETE)
    assert kinds(places) == [EntryKind.SUBJECT]


def test_a_commit_is_found_by_its_transaction_id_alone(tmp_path: Path):
    places = made(tmp_path)
    noted(places)
    with open_store(places) as store:
        assert store.log.committed(OTHER)
        assert not store.log.committed(OTHER, after=store.log.head.version)
        assert not store.log.committed(TXN)


def test_an_intent_that_nobody_knows_cannot_be_completed(tmp_path: Path):
    places = made(tmp_path)
    stop_after_the_fence(places)
    (entry,) = left(places)
    inspection = journal.inspect(places, entry.id, open_store=lambda: open_store(places))
    assert not inspection.is_safe(Direction.COMPLETE)
    assert not inspection.is_safe(Direction.ROLL_BACK)


def test_a_log_that_cannot_be_opened_stops_recovery(tmp_path: Path):
    places = made(tmp_path)
    stop_after_the_fence(places)
    (entry,) = left(places)
    (places.root / "root.000001").rename(tmp_path / "hidden")
    for direction in Direction:
        with pytest.raises(Drifted, match="cannot be opened"):
            journal.recover(places, entry.id, direction, open_store=lambda: open_store(places), intents=INTENTS)
    (tmp_path / "hidden").rename(places.root / "root.000001")
    recover(places, Direction.ROLL_BACK)


def test_an_event_says_nothing_under_a_fence_that_a_transaction_left(tmp_path: Path):
    places = made(tmp_path)
    stop_after_the_fence(places)
    with open_store(places) as store, pytest.raises(Locked):
        ingest.add(store, [Draft("words", author="ada")], now=now, random=os.urandom)


def test_a_target_is_looked_at_again_right_before_it_is_touched(tmp_path: Path):
    places = made(tmp_path)

    def meddle(store: OpenStore, txn: str, data: bytes) -> None:
        note(store, txn, bytes(16))
        (places.store / "state/one").write_bytes(b"somebody else's")

    steps = [LogCommit(txn=TXN, intent="meddle"), journal.write(on("store", "state/one"), b"ours")]
    with open_store(places) as store, pytest.raises(Drifted) as caught:
        journal.commit(places, SAMPLE, steps, store=store, intents={"meddle": Intent(meddle)})
    assert (places.store / "state/one").read_bytes() == b"somebody else's"
    (entry,) = left(places)
    assert caught.value.hint == f"refold recover --transaction-id {entry.id}"
