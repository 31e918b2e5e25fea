"""eval: how well search finds what questions rest on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, opened, shortfalls
from refold.cli.envelope import Finding, Outcome
from refold.cli.visible import plural, table, visible
from refold.errors import ModelFailed

if TYPE_CHECKING:
    from refold.evaluation import Evaluation, Scores


def _configure(command: ArgumentParser) -> None:
    command.add_argument("file", type=Path, metavar="FILE", help="questions with their evidence, as JSON lines or a JSON list")
    arguments.add_scope(command)


def _run(given: Namespace) -> Outcome:
    with opened(given) as memory:
        missing = shortfalls(memory)
        found = memory.evaluate(given.file, **arguments.scope(given))
    rows = [(visible(name), *_cells(each)) for name, each in {**_shown(found.categories), "total": found.total}.items()]
    head = ("category", "questions", *(f"recall@{k}" for k in found.total.recall), "answer@10", "p50", "p95")
    lines = [*table(rows, head=head), "", f"{plural(len(found.missed), 'question')} whose evidence is not all among the first twenty"]
    return Outcome(_data(found), lines, [*missing, *_unknown(found), *_unaided(found)], format_version=FORMAT_VERSION)


def _shown(categories: Mapping[str, Scores]) -> Mapping[str, Scores]:
    return categories if len(categories) > 1 else {}


def _cells(scores: Scores) -> tuple[str, ...]:
    recalls = [f"{100 * recall:.1f}" for recall in scores.recall.values()]
    answer = "" if scores.answer is None else f"{100 * scores.answer:.1f}"
    return (f"{scores.questions:,}", *recalls, answer, _milliseconds(scores.p50_seconds), _milliseconds(scores.p95_seconds))


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def _unknown(found: Evaluation) -> list[Finding]:
    if not found.unknown:
        return []
    message = f"of the evidence, {found.unknown:,} cannot be found: no event of this memory is called so"
    return [Finding("RF-EVAL-001", "warning", message, remediation="refold help eval")]


def _unaided(found: Evaluation) -> list[Finding]:
    if not found.unaided:
        return []
    message = f"a model that the search recipe names did not help in {plural(found.unaided, 'search', 'searches')}: no figures of it"
    return [Finding(ModelFailed.code, "warning", message, remediation="refold help eval")]


def _data(found: Evaluation) -> dict[str, object]:
    return {
        "total": _scores_data(found.total),
        "categories": {name: _scores_data(each) for name, each in found.categories.items()},
        "missed": list(found.missed),
        "unknown": found.unknown,
        "unaided": found.unaided,
    }


def _scores_data(scores: Scores) -> dict[str, object]:
    return {
        "questions": scores.questions,
        "recall": {str(k): round(recall, 6) for k, recall in scores.recall.items()},
        "answer": None if scores.answer is None else round(scores.answer, 6),
        "p50_seconds": scores.p50_seconds,
        "p95_seconds": scores.p95_seconds,
    }


RUNS = {"eval": Command(_configure, _run)}
