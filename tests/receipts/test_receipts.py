"""A receipt is checked with the public key alone, says nothing about anybody, and proves nothing once a byte of it is another."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.resources import files as packaged
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold import canonical
from refold.errors import Corrupt, Drifted, KeyMissing, RefoldError, UnsupportedVersion, Usage
from refold.heads import proof
from refold.heads.checkpoint import known_keys
from refold.keys.crypto import Signer
from refold.log.note import Verifier, log_name
from refold.memory import Memory
from refold.receipts import boundary, checkpoint, entry, form, replay, verify
from refold.receipts.refolded import refolded
from refold.verdict import Completeness, Damage, DamageKind, Directive, Kind, Policy, Verdict
from tests.conftest import now

SIGNER = Signer(b"r" * 32)
STRANGER = Signer(b"s" * 32)
ORIGIN = "0f" * 16
KNOWN = [Verifier(log_name(ORIGIN), SIGNER.public_key)]
PRIVATE = ("sister", "Berlin", "Munich", "chat:7")

VERDICT = Verdict(
    kind=Kind.BOUNDARY,
    size=9,
    root=None,
    replay_from=2,
    replay_until=5,
    first_bad=5,
    last_good=4,
    damage=(Damage(5, 7, DamageKind.PAYLOAD, "log/parts/a.parquet", 3), Damage(8, 8, DamageKind.COMMIT, "log/commits/b.json")),
    completeness=Completeness.LOCAL,
    directive=Directive.HALT,
    reason="an entry is damaged and no replica has it",
    policy=Policy(),
    digest=b"d" * 32,
    next="refold recover --log",
)
REPLAY = {
    "size": 3,
    "last_hash": "ab" * 32,
    "epoch": 1,
    "relations": "cd" * 32,
    "recipe": "ef" * 32,
    "model_calls": 0,
    "folds": [{"generation": 1, "hash_seed": "drawn", "attested": "11" * 32}, {"generation": 2, "hash_seed": "1", "attested": "11" * 32}],
}  # fmt: skip


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, list[Verifier]]]:
    """Make one paper of every kind, from a real memory where that is what it is about."""
    folder = tmp_path_factory.mktemp("papers")
    with Memory.create(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
        for each in ("I live in Berlin.", "My sister is called Ruth.", "I've been living in Munich since 2023."):
            memory.add(each, user_id="ada", source="chat:7#1", said_at="2024-01-10")
        memory.fold()
        done, store = memory.checkpoint(), memory.store
        proofs = proof.inclusion(store, 2)
        signer, keys = store.log.signer(), known_keys(store)
        said: dict[str, tuple[form.Kind, Any]] = {
            "entry": (entry.KIND, entry.said(proofs, store.origin)),
            "first entry": (entry.KIND, entry.said(proof.inclusion(store, 0), store.origin)),
            "checkpoint": (checkpoint.KIND, checkpoint.said(done)),
            "boundary": (boundary.KIND, boundary.said(VERDICT)),
            "replay": (replay.KIND, refolded(store)),
        }
        made = {name: (form.sign(kind, body, origin=store.origin, signer=signer, made_at=7), keys) for name, (kind, body) in said.items()}
        return made | {"head": (done.note.raw, keys), "proof": (str(proofs[0]).encode(), keys)}


NAMES = ("entry", "first entry", "checkpoint", "boundary", "replay", "head", "proof")
SIGNED = NAMES[:5]


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_holds_with_the_public_key_alone(papers, name):
    raw, keys = papers[name]
    assert verify.verify(raw, keys).lines


@pytest.mark.parametrize("name", NAMES)
def test_no_paper_says_anything_about_anybody(papers, name):
    text = papers[name][0].decode()
    assert not [word for word in PRIVATE if word in text]


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_under_another_key_is_not_taken(papers, name):
    raw, keys = papers[name]
    with pytest.raises(KeyMissing):
        verify.verify(raw, [Verifier(keys[0].name, STRANGER.public_key)])


@given(st.data())
def test_a_paper_with_another_byte_is_refused(papers, data):
    raw, keys = papers[data.draw(st.sampled_from(NAMES))]
    spoiled = bytearray(raw)
    spoiled[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(RefoldError) as refused:
        verify.verify(bytes(spoiled), keys)
    assert refused.value.exit_class in ("corrupt", "key", "usage")


@given(st.data())
def test_a_paper_that_was_cut_is_refused(papers, data):
    raw, keys = papers[data.draw(st.sampled_from(NAMES))]
    with pytest.raises((Corrupt, KeyMissing)):
        verify.verify(raw[: data.draw(st.integers(0, len(raw) - 1))], keys)


def test_a_receipt_passes_for_no_other_kind():
    raw = form.sign(replay.KIND, REPLAY, origin=ORIGIN, signer=SIGNER, made_at=7)
    document = json.loads(raw)
    document["body"]["kind"] = boundary.KIND.name
    with pytest.raises(Corrupt, match="signature"):
        verify.verify(canonical.encode(document), KNOWN)
    document["body"]["kind"] = "lottery_ticket"
    with pytest.raises(UnsupportedVersion, match="lottery_ticket"):
        verify.verify(canonical.encode(document), KNOWN)


def signed(kind: form.Kind, said: dict[str, Any]) -> bytes:
    """Sign whatever is said: the holder of a key lies."""
    key = str(Verifier(log_name(ORIGIN), SIGNER.public_key))
    body = {"format": form.FORMAT, "kind": kind.name, "key": key, "made_at": 7, "origin": ORIGIN, **said}
    raw = canonical.encode(body)
    return canonical.encode({"body": body, "sig": SIGNER.sign(kind.label + raw).hex()})


def lied(body: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    copy = json.loads(json.dumps(body))
    change(copy)
    return copy


LIES: list[tuple[form.Kind, Any, Callable[[dict[str, Any]], object]]] = [
    (replay.KIND, REPLAY, lambda body: body["folds"][1].update(attested="22" * 32)),
    (replay.KIND, REPLAY, lambda body: body["folds"][1].update(hash_seed="drawn")),
    (replay.KIND, REPLAY, lambda body: body["folds"].pop()),
    (replay.KIND, REPLAY, lambda body: body.update(more=1)),
    (replay.KIND, REPLAY, lambda body: body.pop("epoch")),
    (replay.KIND, REPLAY, lambda body: body.update(epoch=True)),
    (replay.KIND, REPLAY, lambda body: body["folds"][0].update(more=1)),
    (replay.KIND, REPLAY, lambda body: body.update(origin="1f" * 16)),
    (boundary.KIND, boundary.said(VERDICT), lambda body: body["damage"][0].update(first=8)),
    (boundary.KIND, boundary.said(VERDICT), lambda body: body.update(verdict=Kind.INTACT)),
    (boundary.KIND, boundary.said(VERDICT), lambda body: body.update(verdict="FINE")),
    (boundary.KIND, boundary.said(VERDICT), lambda body: body["damage"][0].update({"class": "rust"})),
]


@pytest.mark.parametrize("number", range(len(LIES)))
def test_a_signed_lie_is_a_lie(number):
    kind, body, change = LIES[number]
    assert verify.verify(signed(kind, body), KNOWN).kind == kind.name
    with pytest.raises(Corrupt, match="does not prove"):
        verify.verify(signed(kind, lied(body, change)), KNOWN)


LIES_OF_THE_LOG: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("entry", lambda body: body.update(seq=1)),
    ("entry", lambda body: body.update(entry_hash=body["prev_hash"])),
    ("entry", lambda body: body.update(prev_hash=body["entry_hash"])),
    ("entry", lambda body: body.update(prev_proof=[])),
    ("first entry", lambda body: body.update(prev_hash="00" * 32)),
    ("first entry", lambda body: body.update(prev_proof=["00" * 32])),
    ("checkpoint", lambda body: body.update(size=body["size"] + 1)),
    ("checkpoint", lambda body: body.update(root="00" * 32)),
    ("checkpoint", lambda body: body["state"].update(size=body["size"] + 1)),
    ("checkpoint", lambda body: body.update(stands_on=body["size"] + 1)),
    ("checkpoint", lambda body: body.update(checkpoint=body["checkpoint"].replace("\n\n", "\nmore\n\n"))),
]


@pytest.mark.parametrize("number", range(len(LIES_OF_THE_LOG)))
def test_a_signed_lie_about_the_log_is_a_lie(papers, number):
    name, change = LIES_OF_THE_LOG[number]
    raw, keys = papers[name]
    document = json.loads(raw)
    kind, body = verify.KINDS[document["body"]["kind"]], document["body"]
    assert kind.check(body, keys)
    with pytest.raises(ValueError, match=r"."):
        kind.check(lied(body, change), keys)


@pytest.mark.parametrize("name", SIGNED)
def test_a_receipt_is_one_of_its_schema_which_is_closed(papers, name):
    document = json.loads(papers[name][0])
    kind = document["body"]["kind"]
    schema = json.loads((packaged("refold") / "schemas" / f"{kind}.1.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(document)
    assert set(schema["properties"]["body"]["properties"]) == {*form.COMMON, *verify.KINDS[kind].fields}
    for at in (document, document["body"], *(each for value in document["body"].values() for each in _objects(value))):
        at["more"] = 1
        assert not validator.is_valid(document)
        del at["more"]
        for field in [*at]:
            was = at.pop(field)
            assert not validator.is_valid(document)
            at[field] = was


def _objects(value: object) -> list[dict[str, Any]]:
    return [value] if isinstance(value, dict) else [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def test_every_kind_has_a_schema():
    assert {f"{kind}.1.json" for kind in verify.KINDS} <= {path.name for path in (packaged("refold") / "schemas").iterdir()}


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"[]", b"{", b'{"body":{},"sig":""}', b"\xff", b"c2sp.org/tlog-proof@v1\n", b"x" * 100, b"{" * 9999]
)
def test_what_is_no_paper_is_refused_as_that(raw):
    with pytest.raises(Corrupt, match="cut, changed"):
        verify.verify(raw, KNOWN)


def test_a_proof_that_is_signed_and_wrong_proves_nothing(papers):
    raw, keys = papers["proof"]
    with pytest.raises(Corrupt):
        verify.verify(raw.replace(b"\nindex 2\n", b"\nindex 1\n"), keys)


def test_a_file_of_keys_holds_keys(papers):
    _, keys = papers["entry"]
    assert verify.keys(f"\n{keys[0]}\n  {KNOWN[0]}\n") == [*keys, *KNOWN]
    for text in ("", "nothing", f"{keys[0]}\nnothing"):
        with pytest.raises(Usage):
            verify.keys(text)


def test_a_state_that_the_log_does_not_give_gets_no_receipt(places):
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1")
        memory.fold()
        state = memory.store
        _fold_wrongly(state)
        with pytest.raises(Corrupt, match="another state"):
            refolded(state)


def _fold_wrongly(store) -> None:
    """Publish a state whose assertions are those of another log, though it names this one."""
    from refold import recipes
    from refold.folding import recipe_digest
    from refold.state.builder import Builder

    relations, recipe = recipes.relations(), recipes.search()
    builder = Builder(store, None, relations=recipe_digest(relations), recipe=recipe, random=lambda size: b"w" * size)
    builder.publish(store.log.refresh()[0], now=now)


def test_an_epoch_that_is_over_is_destroyed_only_where_its_root_is_gone(places):
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        store = memory.store
        store.vault.prepare(store.keyring.succeed([], random=os.urandom), random=os.urandom)
        store.vault.seal(2)
        paper = verify.Verified("checkpoint", {}, [], frozenset({1, 2}))
        assert verify.over(paper, store.vault) == {1: False}
        store.vault.roots.destroy(1)
        assert verify.over(paper, store.vault) == {1: True}
        places.root.rename(places.root.with_name("not-mounted"))
        assert verify.over(paper, store.vault) == {1: False}, "nothing is claimed of roots that are not at hand"


@pytest.mark.slow
def test_what_the_other_process_failed_with_is_said_here(places):
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1")
        memory.fold()
        (root,) = places.root.glob("root.*")
        root.rename(root.with_name("elsewhere"))
        with pytest.raises(KeyMissing, match="root of epoch 1") as raised:
            refolded(memory.store)
    assert (raised.value.code, raised.value.hint, raised.value.path) == ("RF-MISSING-001", "refold help keys", str(root))


def test_a_state_of_less_than_the_log_is_not_compared(places):
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1")
        memory.fold()
        memory.add("I like tea.", user_id="ada", source="chat:7#2")
        with pytest.raises(Drifted):
            refolded(memory.store)
