"""A checkpoint says what lies on the disk, reads what it claims to have read, and contradicts nothing that was signed before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from refold import canonical, files
from refold.errors import Blocked, Corrupt
from refold.heads import kept
from refold.heads.checkpoint import checkpoint, known_keys
from refold.heads.kept import CHECKPOINTS, Attestation
from refold.log import note, tree
from refold.log.note import TreeHead
from refold.memory import Memory
from refold.recover import heads as recovering
from refold.settings import load
from refold.store import Store, open_store
from tests.log import say


def hashes(store: Store) -> list[bytes]:
    return [each for rows in store.log.rows() for each in rows.hashes()]


def notes(store: Store) -> Path:
    return store.places.store / CHECKPOINTS


def spoil(path: Path, at: int = -3) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.chmod(0o600)
    path.write_bytes(raw)


def part_with(store: Store, seq: int) -> Path:
    return store.log.place.folder / store.log.head.parts_over(seq, seq + 1)[0].path


def test_the_head_that_is_signed_is_the_tree_over_all_entries(said):
    done = checkpoint(said)
    assert done.head == TreeHead(note.log_name(said.origin), len(hashes(said)), tree.root(hashes(said)))
    assert kept.opened(files.read(done.path), known_keys(said))[0] == done.head
    assert (done.is_new, done.stands_on) == (True, None)


def test_an_empty_log_has_a_head_too(store):
    assert checkpoint(store).head.root == tree.EMPTY


def test_signing_the_same_head_again_changes_no_file(said):
    first = checkpoint(said)
    before = {path.name: path.read_bytes() for path in notes(said).iterdir()}
    again = checkpoint(said)
    assert (again.head, again.is_new) == (first.head, False)
    assert {path.name: path.read_bytes() for path in notes(said).iterdir()} == before


def test_a_head_that_stands_on_an_older_one_is_the_head_that_a_full_walk_finds(said):
    for count in range(1, 6):
        before = checkpoint(said, full=False).head.size
        say(said, *(f"I like number {each}." for each in range(count)))
        done = checkpoint(said, full=False)
        assert done.stands_on == before
        assert done.head.root == tree.root(hashes(said))
    newest = [kept.frontier_name(size) for size in kept.sizes(notes(said))[-2:]]
    assert sorted(path.name for path in notes(said).glob("*.frontier")) == newest, "what none will stand on is taken away"


def test_a_checkpoint_that_stands_on_an_older_one_reads_nothing_below_it(said):
    old = part_with(said, 0)
    checkpoint(said, full=False)
    say(said, "I like coffee.")
    spoil(old, at=8)
    assert checkpoint(said, full=False).stands_on
    with pytest.raises(Corrupt):
        checkpoint(said)


def test_what_is_new_is_read_from_disk_though_this_process_wrote_it(said):
    checkpoint(said, full=False)
    say(said, "I like coffee.")
    spoil(part_with(said, said.log.head.size - 1), at=8)
    with pytest.raises(Corrupt):
        checkpoint(said, full=False)
    assert len(kept.sizes(notes(said))) == 1


@pytest.mark.parametrize("how", ["missing", "spoiled", "of another tree", "no list"])
def test_a_frontier_that_is_not_the_signed_one_is_not_stood_on(said, how):
    done = checkpoint(said, full=False)
    path = notes(said) / kept.frontier_name(done.head.size)
    other = tree.Tree()
    other.extend([b"x" * 32] * done.head.size)
    spoiled = {
        "spoiled": path.read_bytes()[:-9],
        "of another tree": canonical.encode([each.hex() for each in other.frontier]),
        "no list": b"7",
    }
    path.unlink() if how == "missing" else path.write_bytes(spoiled[how])
    say(said, "I like coffee.")
    again = checkpoint(said, full=False)
    assert (again.stands_on, again.head.root) == (None, tree.root(hashes(said)))


def test_two_histories_are_never_signed(said, tmp_path):
    """A key that signs whatever it is asked to: on a copy of the store the log goes another way."""
    copy = tmp_path / "copy"
    shutil.copytree(said.places.store, copy)
    say(said, "I live in Berlin.")
    signed = checkpoint(said)
    with open_store(type(said.places)(copy, said.places.vault, said.places.root, said.origin)) as other:
        say(other, "I live in Munich.")
        (copy / CHECKPOINTS).mkdir(exist_ok=True)
        shutil.copy(signed.path, copy / CHECKPOINTS)
        for full in (True, False):
            with pytest.raises(Corrupt, match="two histories"):
                checkpoint(other, full=full)
        say(other, "I like tea.")
        with pytest.raises(Corrupt, match="two histories"):
            checkpoint(other)


def test_a_log_that_is_shorter_than_its_signed_head_gets_no_new_one(said, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(said.places.store, copy)
    say(said, "I live in Berlin.")
    signed = checkpoint(said)
    with open_store(type(said.places)(copy, said.places.vault, said.places.root, said.origin)) as other:
        (copy / CHECKPOINTS).mkdir(exist_ok=True)
        shutil.copy(signed.path, copy / CHECKPOINTS)
        with pytest.raises(Corrupt, match="a head of"):
            checkpoint(other)


def test_a_witness_that_has_seen_more_stops_the_signature(said, elsewhere, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(said.places.store, copy)
    say(said, "I live in Berlin.")
    checkpoint(said, [elsewhere])
    with open_store(type(said.places)(copy, said.places.vault, said.places.root, said.origin)) as other:
        with pytest.raises(Corrupt, match="a head of"):
            checkpoint(other, [elsewhere])
        say(other, "I live in Munich.")
        with pytest.raises(Corrupt, match="two histories"):
            checkpoint(other, [elsewhere])
        assert kept.sizes(copy / CHECKPOINTS) == []


def test_a_head_that_nobody_signed_stops_the_next(said):
    done = checkpoint(said)
    spoil(done.path)
    say(said, "I like coffee.")
    for full in (True, False):
        with pytest.raises(Corrupt, match="signed"):
            checkpoint(said, full=full)


def test_a_head_under_another_size_is_refused(said):
    done = checkpoint(said)
    done.path.rename(done.path.with_name(kept.note_name(3)))
    with pytest.raises(Corrupt, match="another size"):
        checkpoint(said)


def test_a_second_head_of_a_size_is_refused_even_where_the_first_came_in_between(said):
    done, known = checkpoint(said), known_keys(said)
    other = TreeHead(done.head.name, done.head.size, b"r" * 32)
    with pytest.raises(Corrupt, match="two histories"):
        kept.keep(notes(said), other, note.sign(str(other), other.name, said.log.signer()), known)


def test_an_attestation_under_another_name_attests_nothing(said):
    made = Attestation(said.origin, 3, 1, 1, b"x" * 32)
    kept.keep_attestation(notes(said), made, said.log.signer(), known_keys(said))
    (notes(said) / made.name).rename(notes(said) / made.name.replace("3-", "4-"))
    assert list(kept.attestations(notes(said), known_keys(said))) == []


def test_a_head_of_another_log_is_refused(said):
    signed = note.sign(f"{TreeHead('refold.log/other', 3, b'r' * 32)}", note.log_name(said.origin), said.log.signer())
    with pytest.raises(ValueError, match="another log"):
        kept.opened(signed.raw, known_keys(said))


def test_nothing_is_signed_while_a_change_is_unfinished(said, places):
    (places.vault / "journal" / ("0" * 32)).mkdir(parents=True)
    with pytest.raises(Blocked):
        checkpoint(said)


def test_an_attestation_lies_beside_the_head_of_the_same_size(said, places):
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()
        memory.add("I like coffee.", user_id="ada", source="chat:7#9")
        done = memory.checkpoint()
        assert done.attestation is not None
        assert done.attestation.size < done.head.size
        (found,) = recovering.checkpoints(places)
        assert (found.size, found.generation, found.epoch) == (done.attestation.size, 1, 1)
        assert found.root == tree.root(hashes(memory.store)[: found.size])
        assert found.attested == done.attestation.attested
        assert (places.store / found.path).is_file()
        assert {each.head.size for each in recovering.signed(places)} == {found.size, done.head.size}


def test_a_generation_that_is_not_what_was_attested_is_found(said, places):
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        memory.fold()
        done = memory.checkpoint()
        assert done.attestation is not None
        other = Attestation(said.origin, done.attestation.size, 1, 1, b"x" * 32)
        path = notes(said) / other.name
        path.write_bytes(other.encode(said.log.signer()))
        with pytest.raises(Corrupt, match="generation 1"):
            memory.checkpoint()
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(Corrupt, match="generation 1"):
            memory.checkpoint()
    assert recovering.checkpoints(places) == ()


@pytest.mark.parametrize("change", [{"size": 3}, {"generation": -1}, {"epoch": True}, {"more": 1}, {"attested": "00"}])
def test_an_attestation_of_another_form_attests_nothing(said, change):
    made = Attestation(said.origin, 2, 1, 1, b"x" * 32)
    body = made.body | change
    signature = said.log.signer().sign(kept.ATTESTED + canonical.encode(made.body)).hex()
    with pytest.raises(ValueError, match=r"attestation|not signed|hex"):
        Attestation.decode(canonical.encode({"body": body, "sig": signature}), known_keys(said))


def test_a_fold_signs_the_head_and_reads_only_what_is_new(places, said):
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        first = memory.fold().checkpoint
        assert first is not None
        memory.add("I like coffee.", user_id="ada", source="chat:7#9")
        second = memory.fold().checkpoint
        assert second is not None
        assert (first.stands_on, second.stands_on, second.attestation) == (None, first.head.size, None)
        assert [each.size for each in recovering.known(places, load({})).seen] == [second.head.size]
