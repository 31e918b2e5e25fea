"""checkpoint, proof, verify and key as an operator and a stranger use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refold.log import note, tree
from refold.log.note import TreeHead, Verifier


def papers(shell, folder: Path) -> Path:
    for call in (("checkpoint", "--receipt", "checkpoint"), ("proof", "1", "--receipt", "entry"), ("fold", "--receipt", "replay")):
        assert shell(*call[:-1], str(folder / call[-1])).code == 0
    (folder / "proof").write_text(shell("proof", "1").out, encoding="utf-8")
    (folder / "keys").write_text(shell("key", "show").out, encoding="utf-8")
    return folder


def test_a_stranger_checks_every_paper_with_the_key_and_without_the_store(shell, tmp_path):
    folder = papers(shell, tmp_path)
    for name in ("checkpoint", "entry", "replay", "proof"):
        alone = ("verify", str(folder / name), "--key", str(folder / "keys"), "--store", str(tmp_path / "nowhere"))
        found = shell.json(*alone)
        assert (found.code, found.data["epochs_destroyed"]) == (0, [])
        spoiled = folder / "spoiled"
        spoiled.write_bytes((folder / name).read_bytes()[:-20])
        assert shell(*alone[:1], str(spoiled), *alone[2:]).code in (12, 13)


def test_what_is_printed_is_what_public_tools_read(shell):
    printed, key = shell("proof", "1").out, Verifier.parse(shell("key", "show").out.strip())
    said, _, signed = printed.partition("\n\n")
    first, extra, index, *proof = said.split("\n")
    head = TreeHead.parse(note.parse(signed.encode()).text)
    assert note.parse(signed.encode()).signed_by([key]) == [key]
    assert (first, index) == ("c2sp.org/tlog-proof@v1", "index 1")
    assert tree.is_included(note.unbase64(extra.split()[1]), 1, head.size, [note.unbase64(each) for each in proof], head.root)


def test_growth_is_proven_from_what_a_reader_has(shell):
    before = TreeHead.parse(note.parse(shell("proof", "0").out.partition("\n\n")[2].encode()).text)
    shell("add", "I like tea.", "--user", "ada")
    shell("checkpoint")
    grown = shell.json("proof", "--from", str(before.size)).data
    after = TreeHead.parse(note.parse(grown["text"].partition("\n\n")[2].encode()).text)
    assert grown["root"] == before.root.hex()
    proof = [bytes.fromhex(each) for each in grown["proof"]]
    assert tree.is_consistent(before.size, before.root, after.size, after.root, proof)


UNPROVABLE = [
    ("proof", "0", "--from", "1"),
    ("proof", "--from", "1", "--receipt", "new"),
    ("proof",),
    ("proof", "99"),
    ("proof", "--from", "99"),
]


@pytest.mark.parametrize("call", UNPROVABLE, ids=" ".join)
def test_what_cannot_be_proven_is_a_usage_error(shell, call):
    assert shell(*call).code == 2


def test_a_receipt_is_never_written_over_a_file(shell, tmp_path):
    taken = tmp_path / "taken"
    taken.write_bytes(b"mine")
    for call in (("checkpoint",), ("fold",), ("proof", "0")):
        assert shell(*call, "--receipt", str(taken)).code == 2
        assert shell(*call, "--receipt", str(tmp_path / "no/where")).code == 2
    assert taken.read_bytes() == b"mine"


def test_a_fold_says_which_head_was_signed(shell):
    shell("add", "I like tea.", "--user", "ada")
    head = shell.json("fold").data["head"]
    assert 0 < head["stands_on"] < head["size"]
    assert head["taken"] == 1


def test_a_paper_under_keys_that_were_not_given_is_told_from_one_that_was_changed(shell, tmp_path):
    folder = papers(shell, tmp_path)
    (folder / "others").write_text("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n", encoding="utf-8")
    for name in ("entry", "proof"):
        assert shell.json("verify", str(folder / name), "--key", str(folder / "others")).code == 12
    raw = json.loads((folder / "entry").read_bytes())
    raw["body"]["seq"] = 0
    (folder / "changed").write_text(json.dumps(raw, separators=(",", ":"), sort_keys=True), encoding="utf-8")
    assert shell("verify", str(folder / "changed"), "--key", str(folder / "keys")).code == 13


def test_a_witness_that_is_not_reached_is_a_warning(shell, tmp_path, monkeypatch):
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[witness]\nfolders = [{{ path = "{tmp_path}/gone" }}]\n', encoding="utf-8")
    monkeypatch.setenv("REFOLD_CONFIG", str(settings))
    (finding,) = shell.json("checkpoint").envelope["findings"]
    assert finding["code"] == "RF-WITNESS-001"
    (tmp_path / "gone").mkdir()
    assert [each["code"] for each in shell.json("checkpoint").envelope["findings"]] == ["RF-WITNESS-002"]
    assert shell.json("checkpoint").envelope["findings"] == []
