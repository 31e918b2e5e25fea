"""Without: what memory would be if some events had never been said. Nothing is published, and no model is asked.

It is the difference that the plan of an erasure shows, for whatever a selector names, without a request for it. Of a person the declared
events are left out; what others say of them undeclared stays, and is counted. Where a model reads, the blocks that would be other ones are
answered by recordings alone: one that nobody asked about yet is said to be missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from refold import extractors, recipes
from refold.asking import Asking, Model
from refold.calls.gateway import Mode
from refold.closed.closure import Level
from refold.erase.difference import PlanDiff, Reread, diff, seqs_of
from refold.erase.find import find
from refold.erase.model import Selector, Target
from refold.erase.rebuild import changed_blocks, require_same
from refold.errors import ModelFailed, Usage
from refold.extractors import Choice
from refold.outside import Clock
from refold.state.claims import claims, edges
from refold.state.generation import State
from refold.state.rows import Rows
from refold.store import Store

NOBODY = bytes(16)  # asked for it: there is no request


@dataclass(frozen=True, slots=True)
class Supposed:
    """What everybody would know and not know."""

    diff: PlanDiff
    events: int  # folded ones, that are left out
    mentions: int  # of the people meant, that nobody declared: they stay
    reread: int  # events that a model would read otherwise, for it was told of others beside them


def without(store: Store, state: State, selector: Selector, *, choice: Choice, now: Clock) -> Supposed:
    """Return what memory would be without what a selector names. Raises Usage, and NotRecorded where a model would have to be asked."""
    if selector.is_empty:
        raise Usage("what memory would be without is not said", hint="refold help requests")
    require_same(state, choice.recipe)
    found = find(store, state, selector)
    target = Target(NOBODY, found.subjects, found.events, frozenset(), found.size, found.last_hash)
    gone = frozenset(seqs_of(state, target).tolist()) if state.absent is None else frozenset()
    reread = Reread()
    if gone and choice.recipe is not None:
        # Read in this process: recorded answers become nothing that is kept, so there is nothing to close off.
        with extractors.modelled(store, replace(choice, mode=Mode.REPLAY), require=Level.DECLARED, now=now) as (model, _):
            assert model is not None, "a model recipe needs its model"
            reread = _reread(store, state, gone, model)
    return Supposed(diff(state, target, reread=reread), len(gone), len(found.candidates), len(reread.seqs))


def _reread(store: Store, state: State, gone: frozenset[int], model: Model) -> Reread:
    """Let the recorded answers be read about the blocks that are other ones. Raises NotRecorded, ModelFailed."""
    changed = changed_blocks(state, model.recipe, gone)
    asking = Asking(store, None, model.recipe, recipes.relations(), first=0, end=state.size, chosen=changed)
    rows = Rows(state.tags, recipes.search())
    for outcome in asking.ask(model, changed):
        if outcome.folded is None:
            raise ModelFailed("what is recorded of a request is that it failed: refold fold asks again", hint="refold calls list")
        rows.add_folded(outcome.events, outcome.folded)
    taken = rows.take()
    seqs = frozenset(seq for block in changed for seq in block.seqs)
    return Reread(seqs, tuple(claims(taken["assertions"])), tuple(edges(taken["edges"])))
