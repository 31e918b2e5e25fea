"""A witness takes what continues the last head that it took, and nothing else: size and root are both compared."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from refold import files
from refold.copies.backup import backup
from refold.copies.restore import restore
from refold.errors import Corrupt, Usage, VerificationIncomplete
from refold.heads import kept
from refold.heads.checkpoint import checkpoint, given_up_by, known_keys
from refold.heads.command import CommandWitness, request
from refold.heads.configured import sign, witnesses
from refold.heads.witness import HEADS
from refold.keys.crypto import Signer
from refold.log import note, tree
from refold.log.note import KeyType, Note, TreeHead, Verifier
from refold.recover import heads as recovering
from refold.recover.reset import survey
from refold.settings import WitnessCommand, Witnesses, load
from refold.store import Store, open_store
from refold.verdict import SeenHead
from tests.conftest import now
from tests.heads.test_checkpoint import hashes
from tests.log import say

# A witness of another make: it keeps what it took in a file, and signs as tlog-cosignature says.
SCRIPT = """
import sys, json
from pathlib import Path
from refold.keys.crypto import Signer
from refold.log import note, tree
from refold.heads import kept
place, mode, vkey = Path(sys.argv[1]), sys.argv[2], note.Verifier.parse(sys.argv[3])
said = sys.stdin.buffer.read().decode()
proof, _, signed = said.partition("\\n\\n")
old, *lines = proof.split("\\n")
head, read = kept.opened(signed.encode(), [vkey])
last = json.loads(place.read_text()) if place.exists() else None
size, root = (last["size"], bytes.fromhex(last["root"])) if last else (0, tree.EMPTY)
if mode == "fails":
    sys.exit(22)
if old != f"old {size}" or not tree.is_consistent(size, root, head.size, head.root, [note.unbase64(each) for each in lines]):
    if last is None:
        sys.exit(9)
    sys.stdout.buffer.write(last["note"].encode())
    sys.exit(0)
place.write_text(json.dumps({"size": head.size, "root": head.root.hex(), "note": signed}))
if mode == "nonsense":
    print("thank you")
elif mode == "head":
    sys.stdout.buffer.write(signed.encode())
else:
    signer = Signer((b"w" if mode == "signs" else b"x") * 32)
    key = note.Verifier("witness.example/w1", Signer(b"w" * 32).public_key, note.KeyType.WITNESS)
    time = 1700000000
    raw = signer.sign(f"cosignature/v1\\ntime {time}\\n{read.text}".encode())
    sys.stdout.buffer.write(str(note.Signature(key.name, key.key_id, time.to_bytes(8, "big") + raw)).encode())
"""
KEY = Verifier("witness.example/w1", Signer(b"w" * 32).public_key, KeyType.WITNESS)


def head_of(store: Store, entries: list[bytes]) -> tuple[TreeHead, Note]:
    head = TreeHead(note.log_name(store.origin), len(entries), tree.root(entries))
    return head, note.sign(str(head), head.name, store.log.signer())


def commanded(store: Store, tmp_path: Path, mode: str = "signs", key: Verifier | None = KEY) -> CommandWitness:
    script = tmp_path / "witness.py"
    script.write_text(SCRIPT, encoding="utf-8")
    argv = (sys.executable, str(script), str(tmp_path / "remembered.json"), mode, str(known_keys(store)[0]))
    return CommandWitness("office", argv, store.vault.path / "witness/command-office", key, is_external=True)


def test_every_witness_takes_a_head_and_remembers_it(said, own, elsewhere):
    done = checkpoint(said, [own, elsewhere])
    assert [(answer.is_taken, answer.began, answer.is_external) for answer in done.answers] == [(True, True, False), (True, True, True)]
    say(said, "I like coffee.")
    done = checkpoint(said, [own, elsewhere], full=False)
    assert done.stands_on
    assert [(answer.is_taken, answer.began) for answer in done.answers] == [(True, False)] * 2
    for witness in (own, elsewhere):
        first, second = kept.sizes(witness.folder / HEADS)
        assert first < second == done.head.size


def test_a_witness_that_lags_is_brought_up_with_a_proof_from_where_it_is(said, own, elsewhere):
    for each in range(3):
        checkpoint(said, [own, *([elsewhere] if not each else [])])
        say(said, "I like coffee.", f"I like number {each}.")
    done = checkpoint(said, [own, elsewhere], full=False)
    assert done.stands_on is None, "what a lagging witness needs lies below the newest head"
    assert kept.sizes(elsewhere.folder / HEADS)[-1] == done.head.size


@pytest.mark.parametrize("how", ["another root", "shorter", "no proof", "rewritten"])
def test_a_folder_takes_nothing_that_does_not_continue_what_it_has(said, elsewhere, how):
    entries, known = hashes(said), known_keys(said)
    elsewhere.take(head_of(said, entries[:6])[1], 0, (), known)
    rewritten = [b"x" * 32, *entries[1:]]
    _, signed = head_of(said, {"another root": rewritten[:6], "shorter": entries[:5], "no proof": entries, "rewritten": rewritten}[how])
    proof = () if how != "rewritten" else tree.consistency(rewritten, 6)
    with pytest.raises(Corrupt, match="another history"):
        elsewhere.take(signed, 6, proof, known)
    assert kept.sizes(elsewhere.folder / HEADS) == [6]
    elsewhere.take(head_of(said, entries)[1], 6, tree.consistency(entries, 6), known)


def test_a_folder_takes_nothing_that_the_log_has_not_signed(said, elsewhere):
    head, _ = head_of(said, hashes(said))
    with pytest.raises(ValueError, match="no known key"):
        elsewhere.take(note.sign(str(head), head.name, Signer(b"s" * 32)), 0, (), known_keys(said))


def test_a_proof_from_another_size_than_the_witness_has_is_asked_for_again(said, elsewhere):
    entries, known = hashes(said), known_keys(said)
    elsewhere.take(head_of(said, entries[:6])[1], 0, (), known)
    with pytest.raises(VerificationIncomplete, match="by now"):
        elsewhere.take(head_of(said, entries)[1], 4, tree.consistency(entries, 4), known)


def test_a_rewritten_log_is_refused_though_only_the_other_volume_remembers(said, own, elsewhere, tmp_path):
    """A holder of every key of this machine cuts the log and forgets: the vault's witness and the heads beside the log go too."""
    shutil.copytree(said.places.store, tmp_path / "copy")
    say(said, "I live in Berlin.")
    checkpoint(said, [own, elsewhere])
    shutil.rmtree(said.places.store)
    shutil.copytree(tmp_path / "copy", said.places.store)
    shutil.rmtree(own.folder / HEADS)
    with open_store(said.places) as cut:
        with pytest.raises(Corrupt, match="a head of"):
            checkpoint(cut, [own, elsewhere])
        say(cut, "I live in Munich.", "I like tea.")
        with pytest.raises(Corrupt, match="two histories"):
            checkpoint(cut, [own, elsewhere])


def test_a_restored_log_is_taken_where_it_says_itself_what_was_given_up(said, own, elsewhere, tmp_path):
    backup(said.places, tmp_path / "copy", now=now, random=os.urandom)
    say(said, "I live in Berlin.", "I like tea.", "I like milk.")
    lost = checkpoint(said, [own, elsewhere]).head
    shutil.rmtree(said.places.store)
    seen = [SeenHead(lost.size, lost.root, is_external=True)]
    restore(said.places, tmp_path / "copy", confirm=said.origin[:6], seen=seen, now=now, random=os.urandom)
    with open_store(said.places) as restored:
        done = checkpoint(restored, [own, elsewhere])
        assert done.head.size < lost.size
        assert [answer.is_taken for answer in done.answers] == [True, True]
        for witness in (own, elsewhere):
            assert kept.sizes(witness.folder / HEADS) == [done.head.size]
        (aside,) = elsewhere.folder.glob(f"{HEADS}-*")
        assert kept.sizes(aside) == [lost.size]
        assert given_up_by(restored.log) == {(lost.size, lost.root)}


def test_a_witness_keeps_the_key_of_the_log(said, own, elsewhere):
    checkpoint(said, [own, elsewhere])
    other = replace(elsewhere, pin=elsewhere.pin.replace(b'"public_key":"', b'"public_key":"0'))
    with pytest.raises(Corrupt, match="another key"):
        checkpoint(said, [own, other])


def test_a_volume_that_is_not_there_has_taken_nothing(said, own, elsewhere):
    elsewhere.base.rmdir()
    done = checkpoint(said, [own, elsewhere])
    assert [answer.is_taken for answer in done.answers] == [True, False]
    assert not elsewhere.base.exists()
    with pytest.raises(VerificationIncomplete, match="0 of 1"):
        checkpoint(said, [own, elsewhere], required=1)


def test_the_vault_does_not_count_among_those_that_are_required(said, own):
    with pytest.raises(VerificationIncomplete, match="0 of 0"):
        checkpoint(said, [own], required=1)


def test_a_head_in_a_witness_that_nobody_signed_is_damage(said, own):
    checkpoint(said, [own])
    path = own.folder / HEADS / kept.note_name(said.log.head.size)
    path.write_bytes(path.read_bytes().replace(b"\xe2\x80\x94 ", b"\xe2\x80\x94  "))
    with pytest.raises(Corrupt, match="signed"):
        checkpoint(said, [own])


@pytest.mark.parametrize(("mode", "key"), [("signs", KEY), ("head", None), ("head", KEY)])
def test_a_command_answers_with_its_signature_or_with_the_head(said, own, tmp_path, mode, key):
    office = commanded(said, tmp_path, mode, key)
    for _ in range(2):
        done = checkpoint(said, [own, office])
        assert [answer.is_taken for answer in done.answers] == [True, True]
        say(said, "I like coffee.")
    last = office.seen(known_keys(said))
    assert last is not None
    assert last.head == done.head


@pytest.mark.parametrize(("mode", "key"), [("fails", KEY), ("nonsense", KEY), ("forges", KEY), ("signs", None)])
def test_a_command_that_gives_no_answer_has_taken_nothing(said, own, tmp_path, mode, key):
    office = commanded(said, tmp_path, mode, key)
    done = checkpoint(said, [own, office])
    assert [answer.is_taken for answer in done.answers] == [True, False]
    assert kept.sizes(office.folder) == []


def test_a_command_that_has_seen_another_history_stops_everything(said, own, tmp_path):
    entries, office = [b"x" * 32, *hashes(said)[1:]], commanded(said, tmp_path)
    head, signed = head_of(said, [*entries, b"y" * 32])
    (tmp_path / "remembered.json").write_text(json.dumps({"size": head.size, "root": head.root.hex(), "note": str(signed)}))
    with pytest.raises(Corrupt, match="another history"):
        checkpoint(said, [own, office])


def test_a_command_that_cannot_be_run_is_no_answer(said, own, tmp_path):
    office = replace(commanded(said, tmp_path), argv=(str(tmp_path / "nothing"),))
    assert [answer.is_taken for answer in checkpoint(said, [own, office]).answers] == [True, False]


def test_whoever_opens_the_log_reads_no_head_that_it_reaches(store: Store, monkeypatch):
    for number in range(3):
        say(store, f"{number}")
        checkpoint(store, witnesses(store.vault, load({}).witness))
    opened: list[Path] = []
    real = files.read
    monkeypatch.setattr(files, "read", lambda path: (opened.append(Path(path)), real(path))[1])
    with open_store(store.places) as again:
        assert again.log.lost is None
        say(again, "more")
    assert opened, "whoever opens it reads something"
    assert not [path for path in opened if path.suffix == ".note"]


def test_a_request_is_what_tlog_witness_says(said):
    _, signed = head_of(said, hashes(said))
    assert request(6, [b"a" * 32], signed) == f"old 6\n{note.base64(b'a' * 32)}\n\n{signed}"


def test_the_settings_name_the_witnesses(said, tmp_path, monkeypatch):
    base = tmp_path / "base"
    base.mkdir()
    own_settings = tmp_path / "own.toml"
    command = json.dumps(list(commanded(said, tmp_path).argv))
    own_settings.write_text(
        f'[witness]\nrequired = 2\nfolders = [{{ path = "{base}", external = true }}]\n'
        f'commands = [{{ name = "office", argv = {command}, key = "{KEY}" }}]\n'
    )
    monkeypatch.setenv("REFOLD_CONFIG", str(own_settings))
    done = sign(said)
    assert [(answer.name, answer.is_taken) for answer in done.answers] == [("the vault", True), (str(base), True), ("office", True)]
    seen = recovering.known(said.places, load({"REFOLD_CONFIG": str(own_settings)})).seen
    assert [(each.size, each.root, each.is_external) for each in seen] == [
        (done.head.size, done.head.root, external) for external in (False, True, False)
    ]


def test_a_key_in_the_settings_that_is_none_is_named(said):
    with pytest.raises(Usage, match="verifier key"):
        witnesses(said.vault, Witnesses(commands=(WitnessCommand("office", ("true",), key="nothing"),)))


@pytest.mark.parametrize(
    "lines",
    [
        'folders = ["/a"]',
        'folders = [{ path = "a" }]',
        'folders = [{ path = "/a", more = 1 }]',
        "folders = [{ external = true }]",
        'commands = [{ name = "a", argv = [] }]',
        'commands = [{ name = "A/..", argv = ["true"] }]',
        'commands = [{ argv = ["true"] }]',
        "required = -1",
    ],
)
def test_witnesses_that_are_written_otherwise_are_refused(tmp_path, lines):
    path = tmp_path / "own.toml"
    path.write_text(f"[witness]\n{lines}\n")
    with pytest.raises(Usage, match=r"witness\."):
        load({"REFOLD_CONFIG": str(path)})


def test_a_command_takes_what_follows_a_restore_once_its_keeper_lets_go_of_what_was_given_up(said, own, tmp_path):
    office = commanded(said, tmp_path, "head")
    backup(said.places, tmp_path / "copy", now=now, random=os.urandom)
    heads = []
    for each in ("I live in Berlin.", "I like tea."):
        say(said, each)
        heads.append(checkpoint(said, [own, office]).head)
    shutil.rmtree(said.places.store)
    seen = [SeenHead(each.size, each.root, is_external=True) for each in heads]
    restore(said.places, tmp_path / "copy", confirm=said.origin[:6], seen=seen, now=now, random=os.urandom)
    with open_store(said.places) as restored:
        assert given_up_by(restored.log) == {(each.size, each.root) for each in heads}, "each head that was seen is named"
        for _ in range(2):
            mine, theirs = checkpoint(restored, [own, office]).answers
            assert (mine.is_taken, theirs.is_taken) == (True, False)
            assert "its keeper has to let go" in (theirs.found or "")
        (tmp_path / "remembered.json").unlink()
        assert [answer.is_taken for answer in checkpoint(restored, [own, office]).answers] == [True, True]
        assert [answer.is_taken for answer in checkpoint(restored, [own, office]).answers] == [True, True]
    assert survey(said.places).unexpected == ()
