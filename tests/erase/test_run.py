"""An erasure takes what it was asked to take, out of every place, and leaves the memory of everybody else as it was."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from refold import files, ingest
from refold.cli import main
from refold.erase import intents, requests
from refold.erase.form import Outline
from refold.erase.model import Mode, Stage, Target
from refold.erase.reach import Census
from refold.erase.run import Undecided
from refold.errors import Drifted, KeyMissing, Locked, SubjectErased
from refold.keys import epochs
from refold.log.entry import Header, ids_of
from refold.model import AliasKind, Draft, EntryKind, EventId, Role, Source
from refold.recover.verify import verify
from refold.state.digest import state_hash
from refold.state.generation import State
from refold.state.manifest import Manifest, file_name
from refold.store import Store, open_store
from tests.conftest import now
from tests.erase.corpus import corpus, fill
from tests.erase.small import (
    CANARY,
    Heard,
    draft,
    erase,
    everything_under,
    filled,
    fold,
    folded_without,
    person,
    rows,
    ruth,
    say,
    target,
)


@pytest.fixture
def memory(tmp_path: Path):
    with open_store(filled(tmp_path)) as store:
        yield store


def texts(store: Store) -> list[str]:
    return [event.text for events in store.log.events() for event in events]


def test_the_state_after_an_erasure_is_the_fold_of_what_is_left(memory: Store):
    document = Draft("Owner: Ada Brandt\nStatus: open", Source("doc", "plan", "p1"), said_at=1_700_000_000_000_000, role=Role.DOCUMENT)
    names = draft("ben", "10", "Everyone calls me Benno. My colleague Ruth, also known as Ruthie, lives in Turin.")
    say(memory, document, names, draft("ada", "11", "My sister Ruth, also known as Ruthie, lives in Lyon.", ("ruth",)))
    assert fold(memory).table("edges").num_rows
    heard, aim = Heard.of(memory), ruth(memory)
    erase(memory, aim)
    found = State.open(memory)
    assert found.absent is None
    after, digest = rows(found), state_hash(found)
    again = folded_without(memory, heard, heard.reached(aim))
    assert rows(again) == after
    assert state_hash(again) == digest


@pytest.mark.slow
def test_of_forty_people_the_state_after_an_erasure_is_the_fold_of_what_is_left(store: Store):
    made = corpus(600)
    seqs = fill(store, made, now=now, random=os.urandom)
    fold(store)
    heard = Heard.of(store)
    ids = {event.seq: event.event_id for event, _ in heard.events}
    gone, left = made.people[0].user, made.people[1].user
    head, _ = store.log.refresh()
    mentions = frozenset(ids[seqs[at]] for at in made.mentioned(gone))
    aim = Target(os.urandom(16), frozenset({person(store, gone)}), mentions, frozenset(), head.size, head.last_hash)
    done = erase(store, aim)
    after = rows(State.open(store))
    assert rows(folded_without(store, heard, heard.reached(aim))) == after
    assert done.events == len({*made.own(gone), *made.mentioned(gone)})
    assert done.shared_events >= sum(gone in pair for pair in made.shared.values())
    assert {ids[seqs[at]] for at in made.own(left) if at not in {*made.own(gone), *made.mentioned(gone)}} <= {
        event.event_id for events in store.log.events() for event in events
    }


def test_only_what_was_meant_is_gone_from_the_log(memory: Store):
    heard, aim = Heard.of(memory), ruth(memory)
    done = erase(memory, aim)
    gone = heard.reached(aim)
    assert texts(memory) == [event.text for event, _ in heard.events if event.seq not in gone]
    payloads = [payload for batch in memory.log.rows() for payload in batch.payloads()]
    assert {seq for seq, payload in enumerate(payloads) if payload is None} == gone
    assert (done.events, done.shared_events, done.epoch_before, done.epoch_after) == (5, 2, 1, 2)
    assert verify(memory.places, deep=True).is_whole


def test_no_word_id_or_key_of_the_person_is_in_any_file(memory: Store):
    aim = ruth(memory)
    heard = Heard.of(memory)
    keys = [
        memory.keyring.event_key(event.epoch, event.event_id, event.subjects)
        for event, _ in heard.events
        if event.seq in heard.reached(aim)
    ]
    subject = person(memory, "ruth")
    erase(memory, aim)
    bytes_left = everything_under(memory.places)
    assert CANARY.encode() not in bytes_left
    assert subject not in bytes_left
    assert not any(key in bytes_left for key in keys)


def test_e1_no_survivor_opens_a_shared_event_alone_or_with_all_others(memory: Store):
    shared = [event for event, _ in Heard.of(memory).events if len(event.subjects) > 1]
    erase(memory, ruth(memory))
    assert shared
    for event in shared:
        with pytest.raises(KeyMissing):
            memory.keyring.event_key(event.epoch, event.event_id, event.subjects)


def test_the_keys_and_the_facts_of_everybody_else_stay_what_they_were(memory: Store):
    heard, aim = Heard.of(memory), ruth(memory)
    before = State.open(memory).table("assertions", ["seq", "fact_id"]).to_pylist()
    gone = heard.reached(aim)
    erase(memory, aim)
    assert all(memory.log.fact_key(event) == key for event, key in heard.events if event.seq not in gone)
    after = State.open(memory).table("assertions", ["seq", "fact_id"]).to_pylist()
    assert {row["fact_id"] for row in after} == {row["fact_id"] for row in before if row["seq"] not in gone}


def test_e3_a_keyring_of_before_does_not_open_beside_the_root_of_now(memory: Store):
    vault = memory.vault
    kept = {path.name: path.read_bytes() for path in (vault.keys / "epoch-000001").iterdir()}
    erase(memory, ruth(memory))
    (vault.keys / "epoch-000001").mkdir()
    for name, raw in kept.items():
        (vault.keys / "epoch-000001" / name).write_bytes(raw)
    with pytest.raises(KeyMissing):
        epochs.load(vault.keys, 1, origin=vault.origin, public_keys=vault.public_keys, roots=vault.roots)
    assert vault.live_epoch() == 2


def test_an_old_copy_of_the_log_is_dark_for_undeclared_mentions_too(memory: Store):
    kept = [
        (Header.of(raw), payload) for batch in memory.log.rows() for raw, payload in zip(batch.headers(), batch.payloads(), strict=True)
    ]
    erase(memory, ruth(memory))
    opened = 0
    for header, payload in kept:
        if header.kind == EntryKind.EVENT and payload is not None:
            try:
                memory.keyring.event_key(header.epoch, header.event_id, ids_of(payload)[0])
                opened += 1
            except KeyMissing:
                continue
    assert opened == 4


def test_e5_a_writer_that_began_before_cannot_bring_the_person_back(memory: Store):
    with open_store(memory.places) as early:
        early_index = State.open(early)
        say(early, draft("ada", "20", "It rains."))
        erase(memory, ruth(memory))
        with pytest.raises(SubjectErased):
            ingest.add(early, [draft("ruth", "21", "Here I am.")], index=early_index, now=now, random=os.urandom)
        assert ingest.add(early, [draft("ada", "22", "It snows.")], index=early_index, now=now, random=os.urandom)[0].new
        assert early.keyring.epoch == 2


def test_e5_without_suppression_the_name_makes_somebody_new_and_opens_nothing_old(memory: Store):
    old = person(memory, "ruth")
    erase(memory, ruth(memory, suppress=False))
    say(memory, draft("ruth", "30", "I am somebody else."))
    assert person(memory, "ruth") != old
    assert not any(CANARY in text for text in texts(memory))


def test_e6_what_arrives_after_the_plan_is_in_the_erasure_or_stops_it(memory: Store):
    aim = ruth(memory)
    say(memory, draft("ruth", "40", f"One more thing: {CANARY}."))
    say(memory, draft("ben", "41", "Ruth called again."))
    with pytest.raises(Undecided):
        erase(memory, aim, review=lambda events: any("Ruth" in event.text for event in events))
    assert memory.log.head.fence is False
    assert memory.vault.live_epoch() == 1
    done = erase(memory, aim, review=lambda events: any("nobody" in event.text for event in events))
    assert done.events == 6
    assert not any(CANARY in text for text in texts(memory))


def test_e6_what_arrives_while_the_fence_goes_up_is_reviewed_behind_it_and_the_fence_lifted(memory: Store, monkeypatch: pytest.MonkeyPatch):
    from refold.erase import run

    aim, real = ruth(memory), run._transact

    def late(work, turn, rebuild, begun):
        with open_store(memory.places) as other:
            say(other, draft("ben", "41", "Ruth called again."))
        return real(work, turn, rebuild, begun)

    monkeypatch.setattr(run, "_transact", late)
    with pytest.raises(Undecided):
        erase(memory, aim, review=lambda events: any("Ruth" in event.text for event in events))
    assert memory.log.refresh()[0].fence is False
    assert memory.vault.live_epoch() == 1
    assert not list((memory.vault.keys / "epoch-000002").iterdir())
    say(memory, draft("ada", "42", "Life goes on."))


def test_a_fold_that_was_faster_is_caught_up_with(memory: Store, monkeypatch: pytest.MonkeyPatch):
    from refold.erase import run

    heard_more, real = [], run.journal.mutating

    def late(*rest, **named):
        if not heard_more:
            heard_more.append(1)
            with open_store(memory.places) as other:
                say(other, draft("ben", "43", "I like old maps."))
                fold(other)
        return real(*rest, **named)

    monkeypatch.setattr(run.journal, "mutating", late)
    aim = ruth(memory)
    erase(memory, aim)
    values = State.open(memory).table("assertions", ["value"])["value"].to_pylist()
    assert "old maps" in values
    assert "chess" not in values


def test_e34_no_key_that_lives_opens_an_older_generation(memory: Store):
    folder = memory.places.store / "state"
    number = State.open(memory).number
    raw = (folder / file_name(number)).read_bytes()
    erase(memory, ruth(memory))
    assert not (folder / file_name(number)).exists()
    with pytest.raises(Exception, match="not what was written"):
        Manifest.unseal(raw, memory.keyring.state_key, number=number, path=folder)
    living = State.open(memory).manifest
    assert {path.name for path in (folder / "runs").iterdir()} == living.runs


def test_e26_an_older_statement_holds_again(memory: Store):
    from refold.memory import Memory

    places = memory.places
    say(memory, draft("ben", "50", "I live in Lyon now, says Ruth.", ("ruth",)))
    say(memory, draft("ben", "51", "I live in Graz.", ("ruth",)))
    fold(memory)

    def lives_in() -> list[str]:
        with Memory.open(places.store, vault=places.vault, root=places.root) as open_memory:
            return [fact.value for fact in open_memory.facts(user_id="ben", relation="lives_in")]

    assert lives_in() == ["Graz"]
    erase(memory, ruth(memory))
    assert lives_in() == ["Ghent"]


def test_keep_ciphertext_leaves_the_files_of_the_log_as_they_are_and_dark(memory: Store):
    before = {path.name: path.read_bytes() for path in (memory.places.store / "log" / "parts").iterdir()}
    heard, aim = Heard.of(memory), ruth(memory, mode=Mode.KEEP_CIPHERTEXT)
    done = erase(memory, aim)
    after = {path.name: path.read_bytes() for path in (memory.places.store / "log" / "parts").iterdir()}
    assert before.items() <= after.items()
    assert done.parts_replaced == 0
    gone = heard.reached(aim)
    assert texts(memory) == [event.text for event, _ in heard.events if event.seq not in gone]
    state = rows(State.open(memory))
    assert rows(folded_without(memory, heard, gone)) == state
    assert verify(memory.places, deep=True).is_whole


def test_a_second_erasure_finds_what_the_first_left(memory: Store):
    heard = Heard.of(memory)
    first = ruth(memory)
    erase(memory, first)
    second = target(memory, "ben")
    done = erase(memory, second)
    gone = heard.reached(first) | heard.reached(second)
    assert (done.epoch_before, done.epoch_after, done.events) == (2, 3, 2)
    assert texts(memory) == [event.text for event, _ in heard.events if event.seq not in gone] == ["I live in Berlin.", "I like rye bread."]
    state = rows(State.open(memory))
    assert rows(folded_without(memory, heard, gone)) == state
    assert set(memory.keyring.ledger) >= {event.event_id for event, _ in heard.events if event.seq in gone}


@pytest.mark.parametrize("mode", Mode)
def test_what_was_shared_with_somebody_whose_ciphertext_was_kept_can_go_too(memory: Store, mode: Mode):
    heard, first = Heard.of(memory), ruth(memory, mode=Mode.KEEP_CIPHERTEXT)
    erase(memory, first)
    second = replace(target(memory, "ben"), mode=mode)
    census = Census(second.subjects, second.events, memory.keyring.epoch, memory.log.erased)
    census.take(memory.log.rows())
    shared = set(census.reach.seqs) & heard.reached(first)
    assert [memory.log.row(seq).payloads()[0] is None for seq in shared] == [False]
    done = erase(memory, second)
    assert (done.events, done.shared_events) == (2, 0)
    assert texts(memory) == ["I live in Berlin.", "I like rye bread."]
    assert {seq for seq in shared if memory.log.row(seq).payloads()[0] is None} == (shared if mode is Mode.SHRED else set())
    assert verify(memory.places, deep=True).is_whole


def test_single_events_go_without_their_people(memory: Store):
    heard, aim = Heard.of(memory), target(memory, parts=("1", "9"))
    erase(memory, aim)
    assert "I live in Berlin." not in texts(memory)
    assert len(texts(memory)) == len(heard.events) - 2
    say(memory, draft("ada", "60", "I live in Turin."))


def test_events_that_share_a_batch_of_keys_with_one_that_goes_stay_readable(store: Store):
    ids = [EventId(b"\1\2" + bytes([number]) * 14) for number in range(6)]
    drawn = iter(ids)

    def random(size: int) -> bytes:  # event ids of one batch: their first two bytes are the same
        return b"".join(next(drawn) for _ in range(6)) if size == 16 * 6 else os.urandom(size)

    ingest.add(store, [draft("ada", str(number), f"I like number {number}.") for number in range(6)], now=now, random=random)
    fold(store)
    aim = target(store, parts=("2", "4"))
    erase(store, aim)
    assert [event.event_id for events in store.log.events() for event in events] == [ids[0], ids[1], ids[3], ids[5]]
    erase(store, target(store, parts=("3",)))
    assert [event.event_id for events in store.log.events() for event in events] == [ids[0], ids[1], ids[5]]


def test_the_key_of_another_request_goes_along_and_that_of_this_one_does_not(memory: Store):
    aim, other, alike = ruth(memory), os.urandom(16), os.urandom(16)
    keys = {one: memory.keyring.request_key(one) for one in (other, alike, aim.request_id)}
    erase(memory, aim, others=lambda: ([other, alike], []))
    assert {one: memory.keyring.request_key(one) == key for one, key in keys.items()} == {other: True, alike: True, aim.request_id: False}
    files.make_folder(memory.vault.path / requests.FOLDER)
    (memory.vault.path / requests.FOLDER / alike.hex()).write_bytes(Outline(alike, 1, 2, Stage.FOUND, ((Stage.FOUND, 1),), b"sealed").raw)
    erase(memory, target(memory, parts=("9",)), others=lambda: ([], [alike]))
    assert [(one.stage, one.sealed) for one in requests.outlines(memory)] == [(Stage.DARK, b"")]
    assert {one: memory.keyring.request_key(one) == keys[one] for one in (other, alike)} == {other: True, alike: False}


def test_nothing_folded_stays_nothing_folded(store: Store):
    say(store, draft("ada", "1", "I live in Berlin."), draft("ruth", "2", "I live in Oslo."))
    assert erase(store, target(store, "ruth")).generation == 0
    assert texts(store) == ["I live in Berlin."]
    assert fold(store).table("assertions").num_rows == 1


def test_a_plan_of_another_log_is_refused_before_anything_is_done(memory: Store):
    aim = ruth(memory)
    wrong = Target(aim.request_id, aim.subjects, aim.events, aim.suppressed, aim.size, bytes(32))
    with pytest.raises(Drifted):
        erase(memory, wrong)
    assert memory.vault.live_epoch() == 1


def test_a_reader_that_opened_before_reads_the_new_state_and_an_append_waits_for_the_fence(memory: Store):
    from refold.memory import Memory

    places = memory.places
    with Memory.open(places.store, vault=places.vault, root=places.root) as reader:
        assert reader.facts(user_id="ruth")
        memory.log.fence(now=now, random=os.urandom)
        with pytest.raises(Locked):
            reader.add("I like jazz.", user_id="ada")
        memory.log.lift(now=now, random=os.urandom)
        erase(memory, ruth(memory))
        assert reader.facts(user_id="ruth") == []
        assert [fact.value for fact in reader.facts(user_id="ada", relation="lives_in")] == ["Berlin"]
        assert not any(CANARY in hit.text for hit in reader.search(CANARY, user_id="ben"))
        with pytest.raises(SubjectErased):
            reader.subject_add([(AliasKind.HANDLE, "ruth")])


def test_e58_an_answer_about_a_time_before_an_erasure_says_how_many_came_after(memory: Store, capsys: pytest.CaptureFixture[str]):
    places = memory.places
    seq = memory.log.refresh()[0].size - 1
    erase(memory, ruth(memory))
    where = ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root)]

    def asked(*as_of: str) -> dict:
        assert main(["facts", "--user", "ada", *as_of, *where, "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)["data"]

    assert asked("--as-of", str(seq))["erasures_after"] == 1
    assert asked("--as-of", "2024-01-01")["erasures_after"] == 1
    assert asked("--as-of", str(memory.log.head.size))["erasures_after"] == 0
    assert asked()["erasures_after"] == 0


def test_a_reader_that_comes_between_the_seal_and_the_new_state_waits_for_it(memory: Store, monkeypatch: pytest.MonkeyPatch):
    from refold.journal import carry
    from refold.memory import Memory

    places, real, seen = memory.places, carry._move, []
    with Memory.open(places.store, vault=places.vault, root=places.root) as reader:

        def slow(work, at, step, goal, unsynced):
            if step.target.name == "CURRENT":
                asking = threading.Thread(target=lambda: seen.append(reader.facts(user_id="ada", relation="lives_in")))
                asking.start()
                asking.join(0.3)
                assert not seen
                monkeypatch.undo()
                real(work, at, step, goal, unsynced)
                asking.join()
                return
            real(work, at, step, goal, unsynced)

        monkeypatch.setattr(carry, "_move", slow)
        erase(memory, ruth(memory))
        assert [[fact.value for fact in facts] for facts in seen] == [["Berlin"]]


def test_what_older_compactions_and_a_damaged_disk_left_of_parts_goes_too(memory: Store):
    parts = memory.places.store / "log" / "parts"
    kept = {path.name: path.read_bytes() for path in parts.iterdir()}
    memory.log.compact(now=now, random=os.urandom, parts_max=1)
    quarantine = memory.places.vault / "quarantine"
    quarantine.mkdir(mode=0o700)
    name, raw = next(iter(kept.items()))
    for kind in (f"{name}.0123456789abcdef", "00000000000000000001.json.0123456789abcdef"):
        (quarantine / kind).write_bytes(raw)
        (quarantine / kind).chmod(0o600)
    assert kept.keys() <= {path.name for path in parts.iterdir()}
    erase(memory, ruth(memory))
    assert {path.name for path in parts.iterdir()} == {part.path.removeprefix("parts/") for part in memory.log.head.parts}
    assert [path.name for path in quarantine.iterdir()] == ["00000000000000000001.json.0123456789abcdef"]
    assert verify(memory.places, deep=True).is_whole


def test_a_query_that_does_not_end_is_told_of(memory: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(intents, "DRAIN_SECONDS_MAX", 0.05)
    with files.lock(memory.vault.readers_lock, exclusive=False):
        assert not erase(memory, ruth(memory)).readers_drained
    assert erase(memory, target(memory, parts=("9",))).readers_drained


def test_while_it_is_fenced_nothing_is_recorded_of_a_model_either(memory: Store, monkeypatch: pytest.MonkeyPatch):
    from refold.erase import run

    memory.begin_calls(now=now)
    real = run._calls
    fences = []

    def seen(store: Store, ids: Sequence[bytes]) -> list[int]:
        assert store.calls is not None
        fences.append((store.calls.refresh()[0].fence, store.log.refresh()[0].fence))
        return real(store, ids)

    monkeypatch.setattr(run, "_calls", seen)
    erase(memory, ruth(memory))
    assert fences == [(2, 2)]
    assert memory.calls is not None
    head, _ = memory.calls.refresh()
    assert (head.fence, head.epoch) == (False, 2)
