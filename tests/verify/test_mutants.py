"""Each check of the verifier is needed: with that check made to accept everything, a case that it finds is found no more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from refold.heads.rotation import rotate
from refold.keys import crypto
from refold.log import commit as commits
from refold.log import parts
from refold.log.commit import Commit
from refold.recover import history, judge, located, survey, tiers
from refold.store import Places, open_store
from refold.verdict import Kind, SeenHead, Verdict
from tests.log import say
from tests.verify import (
    change,
    checkpoint_of,
    commit_path,
    flipped,
    forge,
    head_of,
    ordered,
    part_path,
    resign,
    spots,
    verify,
    with_value,
)

Harm = Callable[[Places], dict[str, Any]]  # it returns what a verification is given beside the places


def at_two(**fields: Any) -> Callable[[Commit], Commit]:
    return lambda commit: replace(commit, **fields) if commit.version == 2 else commit


def signed_by_another(places: Places) -> dict[str, Any]:
    path = commit_path(places, 3)
    path.write_bytes(commits.encode(commits.decode(path.read_bytes(), path), crypto.Signer(bytes(32))))
    return {}


def under_another_number(places: Places) -> dict[str, Any]:
    shutil.copy(commit_path(places, 3), commit_path(places, 4))
    return {}


def another_of_the_same_number(places: Places) -> dict[str, Any]:
    """Put a commit that the key signed, too, in the place of one: the next one does not follow it."""
    path = commit_path(places, 2)
    with open_store(places) as store:
        path.write_bytes(commits.encode(replace(commits.decode(path.read_bytes(), path), txn="00" * 16), store.vault.signer()))
    return {}


def entries_left_out(places: Places) -> dict[str, Any]:
    def later(commit: Commit) -> Commit:
        if commit.version < 3:
            return commit
        moved = tuple(replace(part, first=part.first + 1) for part in commit.parts)
        return replace(commit, first_seq=commit.first_seq + 1, next_seq=commit.next_seq + 1, parts=moved)

    resign(places, later)
    return {}


def resigned(deep: bool = False, **fields: Any) -> Harm:
    def case(places: Places) -> dict[str, Any]:
        resign(places, at_two(**fields))
        return {"deep": deep}

    return case


def forged(number: int, edit: Any, *, deep: bool = True) -> Harm:
    def case(places: Places) -> dict[str, Any]:
        forge(places, number, edit)
        return {"deep": deep}

    return case


def a_wrong_full_list(places: Places) -> dict[str, Any]:
    resign(places, lambda commit: replace(commit, live=commits.Live((), ())) if commit.version == 3 else commit)
    return {}


def changed_without_the_key(places: Places) -> dict[str, Any]:
    change(places, 0, with_value(1, "payload", flipped(60)))
    return {}


def between_two_parts_of_one_commit(places: Places) -> dict[str, Any]:
    forge(places, 4, with_value(0, "header", flipped(12)))
    return {"deep": True}


def cut_against_a_witness(places: Places) -> dict[str, Any]:
    seen = head_of(places)
    commit_path(places, 3).unlink()
    return {"seen": [seen]}


def replaced_history(places: Places) -> dict[str, Any]:
    return {"seen": [SeenHead(7, bytes(32), is_external=True)]}


def with_checkpoint(size: int, **fields: Any) -> Harm:
    """Damage the first part, with a checkpoint above it that is not to be used."""

    def case(places: Places) -> dict[str, Any]:
        checkpoint = checkpoint_of(places, size, **fields)
        part_path(places, 0).unlink()
        return {"checkpoints": [checkpoint]}

    return case


def cut_before_the_key_was_replaced(places: Places) -> dict[str, Any]:
    with open_store(places) as store:
        rotate(store, random=os.urandom)
        top = store.log.head.version
    for version in range(4, top + 1):
        commit_path(places, version).unlink()
    return {}


def signed_by_a_replaced_key(places: Places) -> dict[str, Any]:
    """Add a commit under the key that was left behind, as whoever it leaked to can, and one under the new key that follows it."""
    with open_store(places) as store:
        old = store.vault.signer()
        rotate(store, random=os.urandom)
    with open_store(places) as store:
        head, new = store.log.head, store.vault.signer()
    last = head.commit
    forged = replace(
        last,
        version=last.version + 1,
        key=1,
        previous=head.digest,
        first_seq=last.next_seq,
        prev_hash=last.last_hash,
        parts=(),
        control=(),
        live=None,
        replaces=None,
    )
    raw = commits.encode(forged, old)
    commit_path(places, forged.version).write_bytes(raw)
    after = replace(forged, version=forged.version + 1, key=2, previous=commits.digest(raw))
    commit_path(places, after.version).write_bytes(commits.encode(after, new))
    return {}


@dataclass(frozen=True)
class Mutant:
    """A check, what takes its place, and the harm that it alone finds."""

    module: Any
    check: str
    accepts: Callable[..., Any]
    harm: Harm
    expected: tuple[int, int, str] | Kind


def always(*given: Any, **named: Any) -> bool:
    return True


def never(*given: Any, **named: Any) -> None:
    return None


def nothing(*given: Any, **named: Any) -> tuple[()]:
    return ()


def all_rows(columns: located.Columns, *given: Any, **named: Any) -> np.ndarray:
    return np.ones(len(columns), bool)


MUTANTS = [
    Mutant(survey, "is_signed", always, signed_by_another, (5, 5, "signature")),
    Mutant(survey, "is_in_place", always, under_another_number, (7, 7, "commit")),
    Mutant(history, "is_followed", always, another_of_the_same_number, (3, 5, "commit")),
    Mutant(history, "begins_where_the_last_ends", never, entries_left_out, (5, 6, "gap")),
    Mutant(history, "continues_the_chain", always, resigned(prev_hash="00" * 32), (3, 5, "link")),
    Mutant(history, "covers_its_entries", always, resigned(parts=()), (3, 5, "gap")),
    Mutant(history, "is_dated_after", always, resigned(time=1), (3, 5, "order")),
    Mutant(history, "has_an_allowed_epoch", always, resigned(epoch=2), (3, 5, "commit")),
    Mutant(history, "has_an_allowed_key", always, signed_by_a_replaced_key, (8, 8, "signature")),
    Mutant(history, "is_signed_by_the_newest_key", always, cut_before_the_key_was_replaced, (7, 7, "signature")),
    Mutant(history, "lists_what_is_live", always, a_wrong_full_list, (5, 7, "commit")),
    Mutant(history, "has_its_control_entries", always, resigned(control=((6, 16),)), (3, 5, "commit")),
    Mutant(tiers, "is_what_was_signed", always, changed_without_the_key, (1, 2, "payload")),
    Mutant(tiers, "is_counted", always, forged(0, ordered(0, 2)), (1, 2, "gap")),
    Mutant(tiers, "hashes_at_anchors", nothing, forged(0, with_value(2, "hash", flipped(0)), deep=False), (2, 3, "link")),
    Mutant(tiers, "payloads", all_rows, forged(0, with_value(1, "payload", flipped(60))), (1, 2, "payload")),
    Mutant(located, "links", all_rows, forged(0, with_value(1, "header", flipped(12))), (1, 2, "header")),
    Mutant(tiers, "headers", nothing, resigned(deep=True, control=((3, 17),)), (3, 4, "header")),
    Mutant(located, "moved", lambda *given: {}, forged(0, ordered(1, 0, 2)), (0, 2, "order")),
    Mutant(located, "twice", lambda *given: set(), forged(0, ordered(0, 0, 2)), (1, 2, "duplicate")),
    Mutant(judge, "follows", always, between_two_parts_of_one_commit, (9, 10, "link")),
    Mutant(judge, "unexplained_nulls", nothing, forged(0, with_value(1, "payload", lambda _: None)), (1, 2, "payload")),
    Mutant(judge, "cut", nothing, cut_against_a_witness, (5, 7, "cut against witness")),
    Mutant(judge, "forked", nothing, replaced_history, (0, 7, "fork")),
    Mutant(judge, "lies_on", always, with_checkpoint(5, last_hash=bytes(32)), Kind.UNRECOVERABLE),
    Mutant(judge, "is_live", always, with_checkpoint(5, epoch=0), Kind.UNRECOVERABLE),
]


def test_every_check_of_the_verifier_has_its_mutant():
    """A check is what says yes or no, or yields damage, under a public name."""
    modules = (survey, history, tiers, located, judge)
    public = {
        name: each for module in modules for name, each in vars(module).items() if callable(each) and each.__module__ == module.__name__
    }
    says_so = {"bool", "DamageKind | None", "Iterator[Damage]", "list[Fault]"}
    checks = {name for name, each in public.items() if not name.startswith("_") and each.__annotations__.get("return") in says_so}
    assert len(checks) >= 20
    assert checks <= {mutant.check for mutant in MUTANTS}


@pytest.fixture
def split(places: Places, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Return a log whose newest commit has two parts, 7 to 8 and 9 to 10."""
    with monkeypatch.context() as small:
        small.setattr(parts, "ROWS_MAX", 2)
        with open_store(places) as store:
            say(store, *"abcd")
    return places


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.check)
def test_with_a_check_made_to_accept_everything_its_case_is_not_found(
    mutant: Mutant, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    places = request.getfixturevalue("split" if mutant.check == "follows" else "places")
    given = mutant.harm(places)
    assert mutant.expected in said(verify(places, **given)), said(verify(places, **given))
    monkeypatch.setattr(mutant.module, mutant.check, mutant.accepts)
    assert mutant.expected not in said(verify(places, **given))


def said(verdict: Verdict) -> list[Any]:
    return [verdict.kind, *spots(verdict)]
