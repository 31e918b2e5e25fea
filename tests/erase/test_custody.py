"""Custody: a certificate says what kept the root of the epoch that is over, and when nobody can have it back."""

from __future__ import annotations

import os
from dataclasses import replace

from refold.erase import prove
from refold.erase.model import Request, Selector, Stage
from refold.heads.checkpoint import known_keys
from refold.keys.roots import FileRoots
from refold.receipts import verify
from refold.receipts.certificate import Reason, State
from refold.store import Store, own_vault
from tests.conftest import now
from tests.erase.small import erase, filled, fold, footprint_of, ruth

DAY = 86_400_000_000


class Delayed(FileRoots):
    """Roots of a service that keeps what is destroyed for a week, in case it was a mistake."""

    def dark_at(self, epoch: int, *, destroyed_at: int) -> int:
        return destroyed_at + 7 * DAY


def test_a_root_that_is_destroyed_later_is_an_exception_until_then(tmp_path):
    places = filled(tmp_path)
    vault = replace(own_vault(places), roots=Delayed(places.root, os.urandom))
    with Store(places, vault, random=os.urandom) as store:
        state, aim = fold(store), ruth(store)
        request = Request(aim.request_id, Selector(subjects=tuple(sorted(aim.subjects))), now(), now() + DAY, Stage.RUNNING, (), target=aim)
        known = footprint_of(store, state, request, aim)
        state.close()
        reached, erased_at = erase(store, aim), now()
        first = prove.prove(store, request, reached, known, erased_at=erased_at, now=now)
        again = prove.prove(store, request, reached, known, erased_at=erased_at, now=lambda: erased_at + 8 * DAY)
        said = [verify.verify(proof.raw, known_keys(store)).body for proof in (first, again)]
    root = {"custody": "file", "destroyed_at": erased_at, "dark_at": erased_at + 7 * DAY}
    assert [body["root"] for body in said] == [root, root]
    assert (first.state, said[0]["reasons"]) == (State.CERTIFIED_EXCEPT, [Reason.ROOT.value])
    assert (again.state, said[1]["reasons"]) == (State.CERTIFIED, [])
