"""The symbolic fold in a closed worker: events and their fact keys go in, assertions, edges and rejections come out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from refold.closed.closure import Level
from refold.closed.worker import Worker
from refold.errors import WorkerFailed
from refold.fold import forms
from refold.fold.ground import fold_batch
from refold.fold.job import needed
from refold.fold.relations import Relations
from refold.model import Event
from refold.reading import Folded

FoldEvents = Callable[[Sequence[tuple[Event, bytes]]], Folded]
Batch = tuple[tuple[Event, bytes], ...]


@contextmanager
def folding(relations: Relations, *, require: Level | None) -> Generator[tuple[FoldEvents, Level]]:
    """Yield what folds events, and how far it is closed: in this process unless something is required. Raises NotAllowed, WorkerFailed."""
    if require is None or require is Level.DECLARED:
        yield lambda events: fold_batch(events, relations), Level.DECLARED
        return
    with Worker("refold.closed.fold:answering", require=require, given=forms.encode(Relations, relations)) as worker:
        yield lambda events: _folded(worker, events), worker.closure.level


def _folded(worker: Worker, events: Sequence[tuple[Event, bytes]]) -> Folded:
    answered = worker.ask(forms.encode(Batch, tuple((needed(event), fact_key) for event, fact_key in events)))
    try:
        return forms.decode(Folded, answered)
    except (ValueError, TypeError):
        raise WorkerFailed("the closed worker answered in another form than was asked for") from None


def answering(given: bytes) -> Callable[[bytes], bytes]:
    """Return what answers in the worker, made before it closes."""
    relations = forms.decode(Relations, given)
    relations.grammar  # noqa: B018  # compiled on first use, which takes longer than a small job

    def answer(job: bytes) -> bytes:
        return forms.encode(Folded, fold_batch(forms.decode(Batch, job), relations))

    answer(forms.encode(Batch, ()))  # the forms of types are made on first use, by compiling code, which a closed worker may not do
    return answer
