"""Decisions: what the operator answers where the sources do not say. A JSON file; the nearest answer counts.

    {"default": ANSWER, "sources": {"0": ANSWER}, "groups": {"GROUP": ANSWER}, "records": {"0/result 3": ANSWER}}

An ANSWER has any of: `user` (null: it belongs to no user), `agent`, `run`, `author`, `said_at`, `person` (whether the names that a record
may concern are people's), `subjects` (further people), `audience`, `user_is_group` (the system's group ids are users) and `leave_out`
(of a record: it stays behind; elsewhere: what still lacks something stays behind).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from refold import times
from refold.errors import Usage
from refold.imports import records

HINT = "refold help migrate"
TEXTS = ("user", "agent", "run", "author")
FLAGS = ("person", "leave_out", "user_is_group")
LISTS = ("subjects", "audience")
LEVELS = ("default", "sources", "groups", "records")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one record, or of many. None: nothing is."""

    user: str | None = None
    no_user: bool | None = None
    agent: str | None = None
    run: str | None = None
    author: str | None = None
    said_at: int | None = None
    person: bool | None = None
    subjects: tuple[str, ...] | None = None
    audience: tuple[str, ...] | None = None
    user_is_group: bool | None = None
    leave_out: bool | None = None

    def over(self, farther: Answer) -> Answer:
        """Return both, this one where both answer the same question."""
        said = {each.name: value for each in fields(Answer) if (value := getattr(self, each.name)) is not None}
        if self.user is not None:
            said["no_user"] = None
        if self.no_user:
            said["user"] = None
        return replace(farther, **said)


NOTHING = Answer()


@dataclass(frozen=True, slots=True)
class Decisions:
    """All answers. `raw` is what they were read from, as the records keep it."""

    default: Answer = NOTHING
    sources: Mapping[str, Answer] = field(default_factory=dict)
    groups: Mapping[str, Answer] = field(default_factory=dict)
    records: Mapping[str, Answer] = field(default_factory=dict)
    raw: Mapping[str, object] = field(default_factory=dict)

    def of(self, source: int, place: str, group: str | None) -> tuple[Answer, bool]:
        """Return the answer for a record, and whether it is to be left out whatever it lacks."""
        nearest = self.records.get(f"{source}/{place}", NOTHING)
        of_group = self.groups.get(group, NOTHING) if group else NOTHING
        answer = nearest.over(of_group.over(self.sources.get(str(source), NOTHING).over(self.default)))
        return answer, bool(nearest.leave_out)


def read(raw: bytes) -> Decisions:
    """Read a decisions file. Raises Usage, which quotes nothing of it."""
    try:
        return parse(records.parse(raw))
    except Usage as error:
        raise Usage(f"the decisions cannot be used: {error.message}", hint=HINT) from None


def parse(document: object) -> Decisions:
    """Read decisions. Raises Usage."""
    whole = records.as_object(document, "the whole")
    if not set(whole) <= set(LEVELS):
        raise Usage(f"at the top stand only {', '.join(LEVELS)}")
    listed = {level: records.as_object(whole.get(level, {}), f"what stands under {level}") for level in LEVELS[1:]}
    return Decisions(
        default=_answer(whole.get("default", {})),
        **{level: {key: _answer(value) for key, value in answers.items()} for level, answers in listed.items()},
        raw=whole,
    )


def _answer(value: object) -> Answer:
    given = records.as_object(value, "an answer")
    known = (*TEXTS, "said_at", *FLAGS, *LISTS)
    if not set(given) <= set(known):
        raise Usage(f"an answer has only {', '.join(known)}")
    said: dict[str, Any] = {}
    for key, one in given.items():
        if key == "user" and one is None:
            said["no_user"] = True
        elif key in FLAGS:
            said[key] = _flag(key, one)
        elif key in LISTS:
            said[key] = _list(key, one)
        else:
            said[key] = times.parse(_text(key, one)) if key == "said_at" else _text(key, one)
    return Answer(**said)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Usage(f"{key} is not a text")
    return value


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise Usage(f"{key} is neither true nor false")
    return value


def _list(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise Usage(f"{key} is not a list of texts")
    return tuple(value)
