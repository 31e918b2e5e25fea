"""Corrections: an event that puts a fact right. It wins as any later word does, by the policy of the relation, and keeps what it corrects.

Who corrects speaks as the one who was read wrongly: in the same memory, for the same readers, as the same author, and later. So neither
the rank of a source nor the order of time is against it, and `why` tells both facts.
"""

from __future__ import annotations

from dataclasses import replace

from refold import recipes
from refold.errors import Usage
from refold.fold.ground import fold_batch
from refold.log.log import Log
from refold.model import Draft, Event
from refold.state.why import Explanation

CORRECTS = "corrects"  # the member of the metadata that names the fact


def correcting(draft: Draft, explained: Explanation, corrected: Event, *, recorded_at: int) -> Draft:
    """Return a draft as the correction of a fact that the event `corrected` states. Raises Usage where it could not win."""
    said_at = draft.said_at if draft.said_at is not None else max(recorded_at, explained.fact.said_at + 1)
    if said_at <= explained.fact.said_at:
        raise Usage("a correction is said after what it corrects: an earlier word does not win", hint="leave out --said-at")
    return replace(
        draft,
        said_at=said_at,
        scope=corrected.scope if draft.scope.is_empty else draft.scope,
        author=corrected.author if draft.author is None else draft.author,
        audience=draft.audience or corrected.audience,
        metadata={**draft.metadata, CORRECTS: explained.fact.fact_id.hex()},
    )


def source_of(explained: Explanation, log: Log) -> Event:
    """Return the event that states a fact most newly. Raises Usage for one that follows by a rule."""
    if not explained.sayings:
        raise Usage("this fact follows from others by a rule: correct one of them", hint="refold why")
    return log.event(explained.sayings[0].seq)


def is_read(log: Log, seq: int, relation: str) -> bool:
    """Whether the patterns read a statement of a relation in an event: only then does it correct anything by itself."""
    event = log.event(seq)
    folded = fold_batch([(event, log.fact_key(event))], relations=recipes.relations())
    return any(one.relation == relation for one in folded.assertions)
