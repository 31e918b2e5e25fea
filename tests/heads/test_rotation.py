"""Another signing key: what the old one signed holds, what it signs afterwards does not, and an interruption leaves one way on."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import replace

import pytest

from refold import canonical, journal
from refold.errors import Blocked, Corrupt, KeyMissing
from refold.heads import proof, rotation
from refold.heads.checkpoint import checkpoint, known_keys
from refold.journal import Direction
from refold.keys import signing
from refold.keys.crypto import Signer
from refold.keys.signing import seed_path, statement, statement_path
from refold.log import commit as commits
from refold.log import entry
from refold.log.head import newest
from refold.log.note import Verifier
from refold.model import EntryKind
from refold.outside import clock
from refold.receipts import entry as entries
from refold.receipts import form, verify
from refold.recover import heads as recovering
from refold.recover.intents import KNOWN
from refold.recover.verify import verify as verify_log
from refold.settings import load
from refold.store import Places, Store, open_store
from refold.verdict import DamageKind
from refold.verdict import Kind as VerdictKind
from tests.journal import stopped_after
from tests.log import say

OLD, NEW, STRANGER = (Signer(bytes([each]) * 32) for each in b"ons")
ORIGIN = "0f" * 16


def rotate(store: Store) -> Verifier:
    return rotation.rotate(store, random=os.urandom)


def forged(store: Store, signer: Signer, *, number: int, full: bool = False) -> None:
    """Link a commit without entries, as the holder of a key would who writes past everything else."""
    head = store.log.head
    last = head.commit
    made = replace(
        last, version=last.version + 1, first_seq=head.size, prev_hash=last.last_hash, previous=head.digest, parts=(), control=(),
        live=commits.Live(head.parts, head.erasures) if full else None, key=number, txn="ff" * 16,
    )  # fmt: skip
    store.log.place.commit(made.version).write_bytes(commits.encode(made, signer))


def test_from_the_entry_of_the_key_on_only_the_new_key_signs(said):
    first = known_keys(said)
    new = rotate(said)
    say(said, "I like coffee.")
    assert known_keys(said) == [*first, new]
    with open_store(said.places) as again:
        assert again.log.head.commit.key == 2
        assert newest(again.log.place).size == said.log.head.size
        kinds = {rows.headers()[0][1] for rows in again.log.rows(again.log.head.size - 2)}
        assert EntryKind.KEY in kinds
        say(again, "I like tea.")


def test_the_old_seed_is_gone_and_the_statement_stands_in_log_and_vault(said):
    rotate(said)
    vault = said.places.vault
    assert not (vault / seed_path(1)).exists()
    raw = (vault / statement_path(2)).read_bytes()
    (at,) = [seq for seq, kind in said.log.head.commit.control if kind == EntryKind.KEY]
    payload = next(iter(said.log.rows(at, at + 1))).payloads()[0]
    assert entry.control_body(payload or b"", at) == canonical.decode(raw)


def test_key_after_key(said):
    keys = [known_keys(said)[0], *(rotate(said) for _ in range(3))]
    say(said, "I like coffee.")
    with open_store(said.places) as again:
        assert known_keys(again) == keys
        assert again.log.head.commit.key == 4


def test_what_was_signed_before_stays_verifiable(said):
    done = checkpoint(said)
    proofs = proof.inclusion(said, 1)
    receipt = form.sign(entries.KIND, entries.said(proofs, said.origin), origin=said.origin, signer=said.log.signer(), made_at=1)
    rotate(said)
    later = checkpoint(said, full=False)
    assert later.stands_on == done.head.size
    papers = (receipt, done.note.raw, str(proofs[0]).encode(), later.note.raw)
    assert [verify.verify(paper, known_keys(said)).lines != [] for paper in papers] == [True] * 4
    with pytest.raises(KeyMissing):
        verify.verify(later.note.raw, known_keys(said)[:1])
    assert [each.head.size for each in recovering.signed(said.places)] == [done.head.size, later.head.size]
    checkpoint(said)


def test_witnesses_take_heads_of_the_new_key(said, own, elsewhere):
    checkpoint(said, [own, elsewhere])
    rotate(said)
    done = checkpoint(said, [own, elsewhere], full=False)
    assert [answer.is_taken for answer in done.answers] == [True, True]
    assert {each.size for each in recovering.known(said.places, load({})).seen} == {done.head.size}


@pytest.mark.parametrize("full", [False, True])
def test_a_commit_that_the_replaced_key_signs_is_refused(said, full):
    old = said.log.signer()
    rotate(said)
    forged(said, old, number=1, full=full)
    with pytest.raises(Corrupt, match="replaced before"):
        open_store(said.places)
    with pytest.raises(Corrupt, match="replaced before"):
        say(said, "I like coffee.")


def test_an_audit_locates_a_commit_that_a_replaced_key_signed(said):
    old = said.log.signer()
    rotate(said)
    say(said, "I like coffee.")
    version, here = said.log.head.version + 1, said.log.head.size
    forged(said, old, number=1)
    found = verify_log(said.places)
    assert {(each.version, each.kind) for each in found.damage} == {(version, DamageKind.SIGNATURE)}
    assert found.size == here


def test_an_audit_of_a_log_whose_key_changed_is_intact(said):
    rotate(said)
    say(said, "I like coffee.")
    rotate(said)
    assert verify_log(said.places, deep=True).kind is VerdictKind.INTACT


def test_a_commit_that_names_the_new_key_and_is_signed_by_the_old_is_refused(said):
    old = said.log.signer()
    rotate(said)
    forged(said, old, number=2)
    with pytest.raises(Corrupt, match="not signed"):
        open_store(said.places)


def test_a_commit_of_a_key_that_nobody_vouched_for_is_refused(said):
    forged(said, STRANGER, number=2)
    with pytest.raises(Corrupt, match="does not know"):
        open_store(said.places)


def test_a_log_that_was_cut_before_the_change_is_refused(said, tmp_path):
    shutil.copytree(said.places.store, tmp_path / "copy")
    rotate(said)
    with pytest.raises(Corrupt, match="replaced before"):
        open_store(Places(tmp_path / "copy", said.places.vault, said.places.root, said.origin))


def test_a_process_that_was_open_meanwhile_signs_with_the_new_key(said):
    with open_store(said.places) as other:
        say(other, "I like coffee.")
        rotate(said)
        say(other, "I like tea.")
        assert other.log.head.commit.key == 2
        say(said, "I like water.")
        assert say(other, "I like milk.")


def test_a_log_of_calls_that_begins_after_a_change_names_the_key_that_signs_it(said):
    rotate(said)
    assert said.begin_calls(now=clock).head.commit.key == 2
    with open_store(said.places) as again:
        assert again.calls is not None
        rotate(again)
        assert again.calls.head.size == 0


def test_a_log_of_calls_can_begin_in_a_process_that_was_open_when_the_key_changed(said):
    with open_store(said.places) as other:
        other.log.signer()
        rotate(said)
        assert other.begin_calls(now=clock).head.commit.key == 2


def test_writers_go_on_while_the_key_changes(said):
    failed: list[Exception] = []
    stop = threading.Event()

    def write() -> None:
        with open_store(said.places) as other:
            while not stop.is_set():
                try:
                    say(other, "I like coffee.")
                except Blocked:
                    continue  # while the transaction is there
                except Exception as error:
                    failed.append(error)
                    return

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    for _ in range(3):
        rotate(said)
    stop.set()
    for writer in writers:
        writer.join()
    assert failed == []
    with open_store(said.places) as again:
        say(again, "I like tea.")
        checkpoint(again)
        assert again.log.head.commit.key == 4


STEPS = 4  # the entry, the folder of statements, the statement, the old seed


@pytest.mark.parametrize("step", range(STEPS + 1))
def test_killed_after_any_step_it_is_completed_and_everything_holds(said, step):
    before = checkpoint(said)
    places = said.places

    def work() -> None:
        with open_store(places) as mine:
            rotate(mine)

    stopped_after(work, step)
    unfinished = [each for each in journal.entries(places) if each.forbids_changes]
    if unfinished:
        with pytest.raises(Blocked):
            checkpoint(said)
        with open_store(places) as reader:
            assert reader.log.head.size >= before.head.size
        journal.recover(places, unfinished[0].id, Direction.COMPLETE, open_store=lambda: open_store(places), intents=KNOWN)
    with open_store(places) as again:
        say(again, "I like coffee.")
        done = checkpoint(again, full=False)
        assert again.log.head.commit.key == len(again.vault.public_keys) == 2
        assert verify.verify(before.note.raw, known_keys(again)).lines
        assert done.stands_on == before.head.size
        assert sorted(path.name for path in (places.vault / "signing").iterdir()) == ["000002.key"]


def test_the_seed_of_an_attempt_that_never_began_is_used_by_the_next(said):
    (said.places.vault / seed_path(2)).write_bytes(b"n" * 32)
    assert rotate(said).public_key == NEW.public_key


def test_a_damaged_seed_of_the_next_key_is_named(said):
    (said.places.vault / seed_path(2)).write_bytes(b"n")
    with pytest.raises(Corrupt, match="next signing key"):
        rotate(said)
    assert len(known_keys(said)) == 1


def changed(raw: bytes, **change: object) -> bytes:
    document = canonical.decode(raw)
    return canonical.encode({**document, "body": document["body"] | change})


def test_a_statement_holds_for_its_own_place_only():
    raw = statement(ORIGIN, 2, OLD, NEW)
    assert signing.follower(raw, ORIGIN, 2, OLD.public_key) == NEW.public_key
    refused = [
        (raw, "1f" * 16, 2, OLD),
        (raw, ORIGIN, 3, OLD),
        (raw, ORIGIN, 2, STRANGER),
        (raw[:-1], ORIGIN, 2, OLD),
        (b"{}", ORIGIN, 2, OLD),
        (changed(raw, more=1), ORIGIN, 2, OLD),
        (changed(raw, new=STRANGER.public_key.hex()), ORIGIN, 2, OLD),
        (canonical.encode({**canonical.decode(raw), "old": canonical.decode(raw)["new"]}), ORIGIN, 2, OLD),
        (canonical.encode({**canonical.decode(raw), "new": canonical.decode(raw)["old"]}), ORIGIN, 2, OLD),
        (canonical.encode({**canonical.decode(raw), "more": 1}), ORIGIN, 2, OLD),
    ]
    for spoiled, origin, number, old in refused:
        with pytest.raises(ValueError, match=r"."):
            signing.follower(spoiled, origin, number, old.public_key)


def test_a_statement_in_the_vault_that_does_not_hold_is_damage(said):
    rotate(said)
    path = said.places.vault / statement_path(2)
    path.write_bytes(statement(said.origin, 2, OLD, NEW))
    with pytest.raises(Corrupt, match="both keys"):
        open_store(said.places)


def test_a_statement_of_a_key_is_a_paper_that_either_key_verifies_and_no_other(said):
    first = known_keys(said)
    new = rotate(said)
    raw = (said.vault.path / statement_path(2)).read_bytes()
    for known in (first, [new]):
        paper = verify.verify(raw, known)
        assert (paper.kind, paper.body["number"]) == ("key", 2)
        assert str(new) in paper.lines[0], "the key as whoever verifies next needs it"
    with pytest.raises(KeyMissing):
        verify.verify(raw, [Verifier(new.name, STRANGER.public_key)])
    with pytest.raises(KeyMissing):
        verify.verify(raw, [Verifier("refold.log/" + ORIGIN, new.public_key)])
    for spoilt in (raw[:-2], raw.replace(b'"number":2', b'"number":3'), raw[:-4] + b'ff"}'):
        with pytest.raises(Corrupt):
            verify.verify(spoilt, first)
