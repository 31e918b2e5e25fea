"""Erased: what an erasure came to, and whether the disk still says so."""

from __future__ import annotations

from dataclasses import dataclass

from refold.erase.check import require_done, unlike
from refold.erase.model import Reached
from refold.log.entry import control_body
from refold.recover.verify import verify
from refold.state.generation import State, state_folder
from refold.store import Places, open_store


@dataclass(frozen=True, slots=True)
class Erased:
    """An erasure that was carried out, and where that can be looked at."""

    reached: Reached
    places: Places

    def verify(self) -> Reached:
        """Look at the disk again, as another process would: the whole log, the keys, the generations. Raises Corrupt, KeyMissing."""
        verdict = verify(self.places, deep=True)
        if not verdict.is_whole:
            raise unlike(f"the log is not whole ({verdict.kind.value})", self.places.store / "log")
        with open_store(self.places) as store:
            named = frozenset(self.reached.erasure_seqs)
            seqs = [seq for at in named for seq in control_body(store.log.row(at).payloads()[0] or b"", at)["seqs"]]
            require_done(store, self.reached, seqs, is_kept=not self.reached.parts_replaced)
            if State.open(store).number != self.reached.generation:
                raise unlike("another generation is current, or none", state_folder(store))
        return self.reached
