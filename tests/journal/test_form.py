"""Journals that are none: cut, empty, of a later version, with foreign ids, in the wrong place. Each is a blocker under its name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold import canonical, journal
from refold.errors import Blocked
from refold.journal import Condition, Direction, form
from refold.journal.form import Malformed, Unsupported
from refold.store import Places
from tests.journal import HOLDING, KILLED, SAMPLE, ground, half_done, left, on, reversible, stopped_after, tree


def transaction(places: Places) -> Path:
    (entry,) = journal.entries(places)
    return entry.path


def rewrite(places: Places, change: Callable[[dict], object]) -> None:
    """Change the body of a journal and give it a checksum that fits."""
    path = transaction(places) / "journal.json"
    body = json.loads(path.read_bytes())["body"]
    change(body)
    write(path, body)


def write(path: Path, body: dict) -> None:
    path.write_bytes(canonical.encode({"body": body, "checksum": form._checksum(canonical.encode(body))}))


def empty(places: Places) -> None:
    (transaction(places) / "journal.json").write_bytes(b"")


def cut(places: Places) -> None:
    path = transaction(places) / "journal.json"
    path.write_bytes(path.read_bytes()[:-40])


def not_canonical(places: Places) -> None:
    path = transaction(places) / "journal.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1))


def another_phase_without_a_checksum_that_fits(places: Places) -> None:
    path = transaction(places) / "journal.json"
    path.write_bytes(path.read_bytes().replace(b'"phase":"committing"', b'"phase":"rolled-back"'))


def a_phase_that_does_not_exist(places: Places) -> None:
    rewrite(places, lambda body: body.update(phase="perhaps"))


def a_phase_that_is_not_possible(places: Places) -> None:
    rewrite(places, lambda body: body.update(phase="completing", whole=False))


def an_unknown_field(places: Places) -> None:
    rewrite(places, lambda body: body.update(more=1))


def an_unknown_field_beside_the_body(places: Places) -> None:
    path = transaction(places) / "journal.json"
    path.write_bytes(canonical.encode(json.loads(path.read_bytes()) | {"more": 1}))


def a_missing_field(places: Places) -> None:
    rewrite(places, lambda body: body.pop("places"))


def a_path_that_leads_out(places: Places) -> None:
    rewrite(places, lambda body: body["steps"][1].update(path="../../outside"))


def a_target_of_the_journal(places: Places) -> None:
    rewrite(places, lambda body: body["steps"][1].update(place="vault", path="journal/x"))


def a_step_twice(places: Places) -> None:
    rewrite(places, lambda body: body["steps"].append(body["steps"][1]))


def nothing_nested(places: Places) -> None:
    (transaction(places) / "journal.json").write_bytes(b"[" * 100_000 + b"]" * 100_000)


def a_later_version(places: Places) -> None:
    rewrite(places, lambda body: body.update(format="refold.journal/2"))


def a_later_version_of_another_form(places: Places) -> None:
    body = {"format": "refold.journal/17", "anything": [1, 2]}
    (transaction(places) / "journal.json").write_bytes(canonical.encode({"body": body, "checksum": "other"}))


def another_id(places: Places) -> None:
    rewrite(places, lambda body: body.update(id="ab" * 16))


def another_store(places: Places) -> None:
    rewrite(places, lambda body: body.update(origin="cd" * 16))


def another_name(places: Places) -> None:
    path = transaction(places)
    path.rename(path.with_name("ef" * 16))


def a_copy_of_a_transaction(places: Places) -> None:
    path = transaction(places)
    shutil.copytree(path, path.with_name("copy"))
    shutil.rmtree(path)
    path.with_name("copy").rename(path)


def no_transaction_at_all(places: Places) -> None:
    shutil.rmtree(transaction(places))
    (places.vault / "journal/notes").mkdir()


def a_file(places: Places) -> None:
    shutil.rmtree(transaction(places))
    (places.vault / "journal" / ("ab" * 16)).write_bytes(b"")


def a_link_to_a_transaction(places: Places) -> None:
    path = transaction(places)
    path.rename(places.vault / "elsewhere")
    path.symlink_to(places.vault / "elsewhere")


def a_link_to_a_journal(places: Places) -> None:
    path = transaction(places) / "journal.json"
    path.rename(path.with_name("real.json"))
    path.symlink_to("real.json")


def a_link_to_all_transactions(places: Places) -> None:
    (places.vault / "journal").rename(places.vault / "elsewhere")
    (places.vault / "journal").symlink_to("elsewhere")


def artifacts_alone(places: Places) -> None:
    (transaction(places) / "journal.json").unlink()


def an_empty_folder(places: Places) -> None:
    for path in transaction(places).iterdir():
        path.unlink()


CASES = {
    Condition.MALFORMED: [
        empty, cut, not_canonical, another_phase_without_a_checksum_that_fits, a_phase_that_does_not_exist,
        a_phase_that_is_not_possible, an_unknown_field,
        an_unknown_field_beside_the_body, a_missing_field, a_path_that_leads_out, a_target_of_the_journal, a_step_twice,
        nothing_nested,
    ],
    Condition.UNSUPPORTED: [a_later_version, a_later_version_of_another_form],
    Condition.FOREIGN: [another_id, another_store, another_name, a_copy_of_a_transaction, no_transaction_at_all],
    Condition.UNSAFE: [a_file, a_link_to_a_transaction, a_link_to_a_journal, a_link_to_all_transactions],
    Condition.ORPHANED: [artifacts_alone, an_empty_folder],
}  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "spoil"),
    [(c, spoil) for c, spoils in CASES.items() for spoil in spoils],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_what_is_no_journal_is_named_and_blocks_and_cannot_be_recovered(
    tmp_path: Path, condition: Condition, spoil: Callable[[Places], None]
):
    places = half_done(tmp_path)
    spoil(places)
    was = tree(tmp_path)
    (entry,) = journal.entries(places)
    assert entry.condition is condition
    with pytest.raises(Blocked):
        journal.commit(places, SAMPLE, [journal.write(on("store", "next"), b"")])
    with pytest.raises(Blocked):
        journal.require_clear(places)
    for direction in Direction:
        assert not journal.inspect(places, entry.id).is_safe(direction)
        with pytest.raises(Blocked):
            journal.recover(places, entry.id, direction)
    journal.require_appendable(places)
    assert tree(tmp_path) == was


def test_every_prefix_of_a_journal_is_malformed(tmp_path: Path):
    raw = (transaction(half_done(tmp_path)) / "journal.json").read_bytes()
    for end in range(len(raw)):
        with pytest.raises(Malformed):
            form.decode(raw[:end])
    assert form.encode(form.decode(raw)) == raw


@given(st.data())
def test_a_journal_with_another_byte_is_no_journal(raw_journal: bytes, data: st.DataObject):
    at = data.draw(st.integers(0, len(raw_journal) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != raw_journal[at]))
    with pytest.raises((Malformed, Unsupported)):
        form.decode(raw_journal[:at] + bytes([byte]) + raw_journal[at + 1 :])


@given(st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), lambda some: st.lists(some)).map(canonical.encode))
def test_whatever_else_the_bytes_are_they_are_no_journal(raw: bytes):
    with pytest.raises(Malformed):
        form.decode(raw)


JSON = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({})


@given(st.data())
def test_a_field_of_another_type_is_malformed_even_under_a_fitting_checksum(raw_journal: bytes, data: st.DataObject):
    body = json.loads(raw_journal)["body"]
    where: dict | list = body
    while True:
        key = data.draw(st.sampled_from(sorted(where) if isinstance(where, dict) else list(range(len(where)))))
        if isinstance(where[key], dict | list) and where[key] and data.draw(st.booleans()):
            where = where[key]
        else:
            break
    was, where[key] = where[key], data.draw(JSON)
    raw = canonical.encode({"body": body, "checksum": form._checksum(canonical.encode(body))})
    try:
        assert form.encode(form.decode(raw)) == raw
        assert isinstance(where[key], type(was)) or None in (was, where[key])
    except (Malformed, Unsupported):
        assert where[key] != was or type(where[key]) is not type(was)


@pytest.fixture(scope="module")
def raw_journal(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return (transaction(half_done(tmp_path_factory.mktemp("journal"))) / "journal.json").read_bytes()


def test_a_transaction_in_the_store_instead_of_the_vault_is_not_believed(tmp_path: Path):
    places = half_done(tmp_path)
    path = transaction(places)
    (places.store / "journal").mkdir()
    path.rename(places.store / "journal" / path.name)
    assert journal.entries(places) == []


def test_appends_wait_for_a_kind_that_holds_them_also_where_its_journal_cannot_be_read(tmp_path: Path):
    places = ground(tmp_path)
    assert stopped_after(lambda: journal.commit(places, HOLDING, reversible(places)), 3) == KILLED
    (entry,) = left(places)
    with pytest.raises(Blocked):
        journal.require_appendable(places)
    (entry.path / "journal.json").write_bytes(b"")
    with pytest.raises(Blocked):
        journal.require_appendable(places)
