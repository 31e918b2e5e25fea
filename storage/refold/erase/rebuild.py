"""Rebuild: the state without what is erased, under the next epoch's key: fold(log without X), at the cost of what X touched.

Every surviving event is read from the log anew, through the next keyring, and what it shows itself (its row, its words, aliases, labels)
is made anew. What was read out of it is carried from the generation before where nothing it follows from changed: the event, the relations,
the extractor, and with a model the whole block it was asked about. The rest is read again: with a model by a recording, or a new call.
Profiles are all made again from what is left, in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from refold import profiling, recipes
from refold.asking import Asking, Model
from refold.errors import ModelFailed, Usage
from refold.fold.blocks import Block, Turn, blocks
from refold.fold.ground import fold_batch
from refold.fold.recipe import ModelRecipe
from refold.folding import recipe_digest
from refold.model import Event
from refold.outside import Random
from refold.state.builder import Builder, can_extend
from refold.state.generation import Absence, State
from refold.state.manifest import Manifest
from refold.state.rekeyed import rekeyed
from refold.state.tags import Tags
from refold.store import Store

Report = Callable[[int, int], None]
Watch = Callable[[Sequence[Event]], None]  # shown every event that stays, at least once, while it can still be taken back


@dataclass(frozen=True, slots=True)
class _Folded:
    """Up to where was folded."""

    size: int
    last_hash: bytes


def require_same(base: State, recipe: ModelRecipe | None) -> None:
    """Refuse to go on by something else than a state was folded by: everybody's memory would be another. Raises Usage."""
    if base.absent is None and not can_extend(base, relations=recipe_digest(recipes.relations(), recipe), recipe=recipes.search()):
        message = "the state was folded by another recipe, model or search recipe than is named here or in the settings"
        raise Usage(message, hint="refold erase run --help")


class Rebuild:
    """The next generation while it is made. Nothing is seen by anybody before it is made current."""

    def __init__(self, successor: Store, store: Store, recipe: ModelRecipe | None, *, watch: Watch, random: Random) -> None:
        """Begin on the generation that is current; `watch` is shown every event that is read.

        Raises Usage where that was folded by something else than is asked for now.
        """
        relations, search = recipes.relations(), recipes.search()
        self._recipe = recipe
        self._by_model = search.vectors is not None and search.vectors.model is not None
        self._watch = watch
        self._builder = Builder(successor, None, relations=recipe_digest(relations, recipe), recipe=search, random=random)
        self._fold = partial(fold_batch, relations=relations)
        self.base = State.open(store)  # after the builder, which must not take a newer generation for what it began with
        self._vectored = self.base.size if self.base.absent is None else 0  # entries of which there are vectors, but for those pending
        self.end = 0
        self.inputs: Counter[bool] = Counter()  # of the model: whether each request was made, or answered by a recording
        require_same(self.base, recipe)

    @property
    def is_needed(self) -> bool:
        """Whether there is to be a state at all: not where nothing was folded yet."""
        return self.base.absent is not Absence.NEVER

    def carry(self, successor: Store, gone: Collection[int], *, ask: Model | None, progress: Report) -> None:
        """Take in all that the generation before holds, without the seqs that are gone. Raises ModelFailed."""
        carries = self.base.absent is None
        changed = changed_blocks(self.base, self._recipe, gone) if carries and self._recipe else []
        reread = {seq for block in changed for seq in block.seqs}
        if carries:
            tags = Tags(successor.keyring.state_key)
            self._builder.add_rows(rekeyed(self.base, tags, without={*gone, *reread}))
            if self._by_model:  # each follows from its event alone, and has no tag in it
                vectors = self.base.table("vectors")
                there = ~np.isin(vectors["seq"].to_numpy(), np.array(sorted(gone), np.uint64))
                self._builder.add_rows({"vectors": vectors.filter(pa.array(there))})
        size = self.base.size if carries else successor.log.head.size
        self._read(successor, size, extract=not carries and not self._recipe, progress=progress)
        kept = [seq for seq in self.base.pending if seq not in gone]
        if self._by_model:
            self._builder.leave_pending(kept)
        if self._recipe:
            if not carries:
                changed = _all_blocks(successor, size, self._recipe)
            self._ask(successor, changed, ask)
            self._builder.leave_pending(seq for seq in kept if seq not in reread)
            self._tell(ask)

    def extend(self, successor: Store, end: int, *, progress: Report) -> None:
        """Fold on, up to `end`: by the patterns alone. What a model would read stays unfolded, as it is."""
        if not self._recipe:
            self._read(successor, end, extract=True, progress=progress)

    def finish(self, successor: Store) -> Manifest:
        """Write the manifest, up to where was folded. Raises Moved."""
        return self._builder.prepare(_Folded(self.end, successor.log.row(self.end - 1).hashes()[0] if self.end else b""))

    def discard(self) -> None:
        """Remove what was written."""
        self._builder.discard()

    def _read(self, successor: Store, end: int, *, extract: bool, progress: Report) -> None:
        first, log = self.end, successor.log
        for events, subjects in log.entries(first, end) if first < end else ():
            asserting = [event for event in events if event.asserts] if extract else []
            self._builder.add(events, self._fold([(event, log.fact_key(event)) for event in asserting]), subjects=subjects)
            if self._by_model:  # an erasure waits for no model: what has no vector yet gets it in the next fold
                self._builder.leave_pending(event.seq for event in events if event.seq >= self._vectored)
            self._watch(events)
            if events:
                progress(events[-1].seq + 1 - first, end - first)
        self.end = max(end, first)

    def _ask(self, successor: Store, changed: Sequence[Block], model: Model | None) -> None:
        if not changed or self._recipe is None:
            return
        assert model is not None, "a model recipe needs its model"
        asking = Asking(successor, None, self._recipe, recipes.relations(), first=0, end=self.end, chosen=changed)
        for outcome in asking.ask(model, changed):
            self.inputs.update(one.made for one in outcome.inputs)
            if outcome.folded is None:
                said = "the model did not answer about what it has to read anew without the erased; nothing was changed"
                raise ModelFailed(said, hint="refold calls list")
            self._builder.add_folded(outcome.events, outcome.folded)

    def _tell(self, model: Model | None) -> None:
        """Make the profiles anew: those of whom nothing went by their recordings, the others by new calls, or by none and pending."""
        if self._recipe is None or self._recipe.profile is None:
            return
        assert model is not None, "a model recipe needs its model"
        told = profiling.tell(self._builder, None, model, recipes.relations())
        self.inputs.update(one.made for one in told.inputs)


def changed_blocks(base: State, recipe: ModelRecipe, gone: Collection[int]) -> list[Block]:
    """Return the blocks that are not what they were, because an event of theirs, or one that they were told, is gone."""
    events = base.table("events", ["session", "part", "seq"]).to_pydict()
    turns = [Turn(*row) for row in zip(*events.values(), strict=True)]
    sessions = {turn.session for turn in turns if turn.seq in gone}
    turns = [turn for turn in turns if turn.session in sessions]
    cut = partial(blocks, parts=recipe.blocks.parts, context=recipe.blocks.context)
    before = set(cut(turns))
    return [block for block in cut([turn for turn in turns if turn.seq not in gone]) if block not in before]


def _all_blocks(successor: Store, size: int, recipe: ModelRecipe) -> list[Block]:
    tags = Tags(successor.keyring.state_key)
    turns = [_turn(tags, event) for events in successor.log.events(0, size) for event in events]
    return [*blocks(turns, parts=recipe.blocks.parts, context=recipe.blocks.context)]


def _turn(tags: Tags, event: Event) -> Turn:
    return Turn(tags.session(event), event.source.part, event.seq)
