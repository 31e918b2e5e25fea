"""Precision and recall of `symbolic/en-1` on the labelled sentences: `python -m tests.fold.score` prints them per relation.

A fact that was read is right if its entity, relation, act and value are those of a label (compared normalised, a leading article
ignored), and for kin and property its qualifier too. Modality is counted beside it. The sentences are not written for the patterns, nor the
patterns for them; so nothing here prints a sentence.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from refold.fold.ground import fold_event
from refold.fold.relations import Relations
from refold.model import Act, Event, EventId, Modality, Role, Scope, Source, SubjectId, normalise
from refold.reading import Assertion
from refold.times import parse

ROOT = Path(__file__).parent.parent.parent
LABELLED = ROOT / "tests" / "data" / "labelled.jsonl"
QUALIFIED = ("kin", "property")
Key = tuple[str, str, str, str, str]  # relation, entity, act, value, qualifier


@dataclass
class Score:
    """How many facts of a relation were read, labelled and right; `firm` of the right ones also have the labelled modality."""

    read: int = 0
    labelled: int = 0
    right: int = 0
    firm: int = 0

    @property
    def precision(self) -> float:
        return self.right / self.read if self.read else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.labelled if self.labelled else 1.0


@dataclass
class Report:
    """Scores by relation, and over all."""

    by_relation: dict[str, Score] = field(default_factory=dict)
    items: int = 0
    false_alarms: int = 0  # items without a fact from which something was read

    @property
    def total(self) -> Score:
        scores = list(self.by_relation.values())
        return Score(*(sum(getattr(score, name) for score in scores) for name in ("read", "labelled", "right", "firm")))


def relations() -> Relations:
    """Return the relations as shipped."""
    return Relations.load((ROOT / "configs" / "relations.toml").read_text(encoding="utf-8"))


def items(path: Path = LABELLED) -> Iterator[dict]:
    """Yield the labelled items."""
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def event_of(item: dict) -> Event:
    """Return the event that an item stands for."""
    return Event(
        event_id=EventId(item["id"].encode().ljust(16, b"\0")),
        seq=0,
        recorded_at=0,
        ingest=bytes(16),
        text=item["text"],
        source=Source("doc" if item["role"] == "document" else "chat", item["id"]),
        said_at=parse(item["said_at"]),
        author=item["author"],
        speaker=SubjectId(item["author"].encode().ljust(16, b"\0")) if item["author"] else None,
        role=Role(item["role"]),
        scope=Scope(),
        audience=(),
        subjects=(),
        metadata=item.get("metadata", {}),
    )


def score(labelled: Iterable[dict], relations: Relations) -> Report:
    """Read every item and compare with its labels."""
    report = Report({name: Score() for name in relations.names})
    for item in labelled:
        report.items += 1
        read = {_key_of(fact): fact.modality for fact in fold_event(event_of(item), b"\0" * 32, relations).assertions}
        expected = {_key(**label): Modality[label["modality"].upper()] for label in item["facts"]}
        report.false_alarms += bool(read) and not expected
        _count(report, read, expected)
    return report


def _count(report: Report, read: dict[Key, Modality], expected: dict[Key, Modality]) -> None:
    for name, number in Counter(key[0] for key in read).items():
        report.by_relation[name].read += number
    for key, modality in expected.items():
        mine = report.by_relation[key[0]]
        mine.labelled += 1
        mine.right += key in read
        mine.firm += read.get(key) == modality


def _key_of(fact: Assertion) -> Key:
    return _key(fact.entity_text, fact.relation, fact.value, fact.qualifier, Act(fact.act).name.lower())


def _key(entity: str, relation: str, value: str, qualifier: str, act: str, modality: str = "") -> Key:
    bare = re.sub(r"^(?:the|an?) (?=.)", "", normalise(value))
    return relation, normalise(entity), act, bare, normalise(qualifier) if relation in QUALIFIED else ""


def table(report: Report) -> str:
    """Return the report as a table."""
    lines = [f"{'relation':<12} {'read':>5} {'labelled':>9} {'right':>6} {'precision':>10} {'recall':>7} {'modality':>9}"]
    for name, one in [*report.by_relation.items(), ("all", report.total)]:
        firm = one.firm / one.right if one.right else 1.0
        lines.append(f"{name:<12} {one.read:>5} {one.labelled:>9} {one.right:>6} {one.precision:>10.2f} {one.recall:>7.2f} {firm:>9.2f}")
    return "\n".join([*lines, f"{report.items} items; from {report.false_alarms} without a fact something was read"])


if __name__ == "__main__":
    print(table(score(items(), relations())))
