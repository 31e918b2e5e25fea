"""Drafting: records and answers become drafts, and a list of what is still open. Pure: the same sources and answers give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from refold import canonical, ingest
from refold.errors import Usage
from refold.migrate.decisions import Answer, Decisions
from refold.migrate.record import Need, Record, Unreadable
from refold.model import Draft, Role, Scope, Source

FORMAT = "refold.records/1"


@dataclass(frozen=True, slots=True)
class Open:
    """A record that waits for an answer: where it stands, and what is missing."""

    place: str  # as the decisions name it: `0/result 3`
    needs: tuple[Need, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the sources of a move became."""

    drafts: tuple[Draft, ...]
    open: tuple[Open, ...]
    left_out: int  # because the operator said so
    empty: int  # had no words

    def encode(self, decisions: Decisions) -> bytes:
        """Return what is kept of it: the drafts, what is open, and the answers that led here."""
        return canonical.encode(
            {
                "decisions": decisions.raw,
                "drafts": [as_json(draft) for draft in self.drafts],
                "empty": self.empty,
                "format": FORMAT,
                "left_out": self.left_out,
                "open": [[each.place, list(each.needs), each.reason] for each in self.open],
            }
        )


def draft(sources: Sequence[Iterable[Record | Unreadable]], decisions: Decisions, *, prepared_at: int) -> Outcome:
    """Turn the records of all sources into drafts, as far as they and the answers say enough.

    Raises Usage where an answer is for a record, a source or a group that is not there: it was meant for something.
    """
    drafts: list[Draft] = []
    waiting: list[Open] = []
    left_out = empty = 0
    unused = {("source", key) for key in decisions.sources} | {("record", key) for key in decisions.records}
    unused |= {("group", key) for key in decisions.groups}
    for at, records in enumerate(sources):
        unused.discard(("source", str(at)))
        for record in records:
            group = record.group if isinstance(record, Record) else None
            unused -= {("record", f"{at}/{record.place}"), ("group", group)}
            answer, goes = decisions.of(at, record.place, group)
            made = _one(record, answer, f"{at}/{record.place}", prepared_at=prepared_at)
            if goes or (isinstance(made, Open) and answer.leave_out):
                left_out += 1
            elif made is None:
                empty += 1
            elif isinstance(made, Open):
                waiting.append(made)
            else:
                drafts.append(made)
    if unused:
        raise Usage(f"{len(unused)} of the answers are for a record, source or group that is not there", hint="refold help migrate")
    return Outcome(tuple(drafts), tuple(waiting), left_out, empty)


def _one(record: Record | Unreadable, answer: Answer, place: str, *, prepared_at: int) -> Draft | Open | None:
    if isinstance(record, Unreadable):
        return Open(place, (Need.FORM,), record.reason)
    if not record.text.strip():
        return None
    made = _draft(record, answer)
    needs = tuple(_needs(record, answer, made))
    if needs:
        return Open(place, needs)
    try:
        ingest.check(made, recorded_at=prepared_at)
    except Usage as error:
        return Open(place, (Need.FORM,), error.message)
    return made


def _draft(record: Record, answer: Answer) -> Draft:
    """Return the draft; what the record says itself counts before any answer."""
    user = record.user or answer.user or (record.group if answer.user_is_group else None)
    people = (*record.subjects, *(record.perhaps if answer.person else ()), *(answer.subjects or ()))
    return Draft(
        text=record.text,
        source=record.source,
        said_at=answer.said_at if record.said_at is None else record.said_at,
        author=record.author or (answer.author if record.role.asserts else None),
        role=record.role,
        scope=Scope(user, record.agent or answer.agent, record.run or answer.run),
        audience=answer.audience or (),
        subjects=tuple(dict.fromkeys(people)),
        metadata=record.metadata,
    )


def _needs(record: Record, answer: Answer, made: Draft) -> Iterable[Need]:
    is_nobodys = answer.no_user and not made.scope.is_empty
    if record.asks_user and made.scope.user is None and not is_nobodys:
        yield Need.USER
    if made.said_at is None:
        yield Need.TIME
    if record.perhaps and answer.person is None and answer.subjects is None:
        yield Need.SUBJECTS


def as_json(draft: Draft) -> dict[str, Any]:
    """Return a draft as JSON has it."""
    assert draft.source is not None
    return {
        "audience": list(draft.audience),
        "author": draft.author,
        "metadata": draft.metadata,
        "role": draft.role.value,
        "said_at": draft.said_at,
        "scope": [draft.scope.user, draft.scope.agent, draft.scope.run],
        "source": [draft.source.kind, draft.source.ref, draft.source.part],
        "subjects": list(draft.subjects),
        "text": draft.text,
    }


def from_json(said: dict[str, Any]) -> Draft:
    """Undo `as_json`."""
    return Draft(
        text=said["text"],
        source=Source(*said["source"]),
        said_at=said["said_at"],
        author=said["author"],
        role=Role(said["role"]),
        scope=Scope(*said["scope"]),
        audience=tuple(said["audience"]),
        subjects=tuple(said["subjects"]),
        metadata=said["metadata"],
    )
