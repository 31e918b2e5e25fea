"""Evaluation: how well search finds what questions rest on, measured on questions whose evidence is known.

A file of questions is JSON lines, or one JSON list, of objects:

    question    what is asked
    evidence    where the answer lies: event ids (32 hex digits), sources (`chat:7#3`), or whole documents (`doc:notes.md`)
    category    optional: what kind of question it is
    answer      optional: in words
    user        optional: whose memory is asked, where the caller does not say

Recall at k is the share of a question's evidence among the first k events that are found; the recall of the answer is the share of its
words in the texts of the first ten. Both are means over questions.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refold.errors import Usage
from refold.reading import Hit
from refold.words import Stems, words_of

KS = (1, 5, 10, 20)
ANSWER_K = 10
FILE_BYTES_MAX = 64 << 20
MEMBERS = {"question", "evidence", "category", "answer", "user"}
HINT = "refold help eval"

Find = Callable[["Question"], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where its answer lies."""

    text: str
    evidence: tuple[str, ...]
    category: str = "all"
    answer: str = ""
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question."""

    question: Question
    recall: Mapping[int, float]  # by k
    answer: float | None  # None where it has no answer in words
    seconds: float


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over some questions; times as the median and as what 95 of 100 do not exceed."""

    questions: int
    recall: Mapping[int, float]  # by k
    answer: float | None
    p50_seconds: float
    p95_seconds: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well search did: in all, by category, and what it did not find."""

    total: Scores
    categories: Mapping[str, Scores]
    missed: tuple[int, ...]  # questions, counted from 1, of which some evidence is not among the first twenty
    unknown: int = 0  # pieces of evidence that are in no event: nobody could have found them
    unaided: int = 0  # searches that went without a model which the search recipe names


def read(path: Path) -> list[Question]:
    """Read a file of questions. Raises Usage."""
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise Usage("the questions are not a readable UTF-8 file", path=path, hint=HINT) from None
    if len(raw) > FILE_BYTES_MAX:
        raise Usage(f"the questions are more than {FILE_BYTES_MAX >> 20} MiB", path=path, hint=HINT)
    found = [_question(record, f"question {number}", path) for number, record in enumerate(_records(text, path), 1)]
    if not found:
        raise Usage("there is no question in the file", path=path, hint=HINT)
    return found


def _records(text: str, path: Path) -> list[Any]:
    try:
        if text.lstrip().startswith("["):
            return json.loads(text)
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        raise Usage("the questions are neither JSON lines nor a JSON list", path=path, hint=HINT) from None


def _question(record: Any, where: str, path: Path) -> Question:
    if not isinstance(record, dict) or not record.keys() <= MEMBERS:
        raise Usage(f"{where} is no object of {', '.join(sorted(MEMBERS))}", path=path, hint=HINT)
    evidence = record.get("evidence")
    if not isinstance(evidence, list) or not evidence or not all(isinstance(one, str) and one for one in evidence):
        raise Usage(f"the evidence of {where} is no list of at least one id or source", path=path, hint=HINT)
    texts = {name: record[name] for name in MEMBERS - {"evidence"} if record.get(name) is not None}
    if not all(isinstance(one, str) for one in texts.values()) or not str(texts.get("question", "")).strip():
        raise Usage(f"{where} has no question, or something that is not text", path=path, hint=HINT)
    return Question(texts.pop("question"), tuple(dict.fromkeys(evidence)), **texts)


def evaluate(questions: Sequence[Question], find: Find, *, stop: frozenset[str], timer: Callable[[], float]) -> Evaluation:
    """Ask every question, and score what `find` returns: up to the twenty best events. The first is asked once before it is timed."""
    find(questions[0])
    stems = Stems(stop)
    outcomes = [_outcome(question, find, stems, timer) for question in questions]
    names = dict.fromkeys(one.question.category for one in outcomes)
    return Evaluation(
        scores(outcomes),
        {name: scores([one for one in outcomes if one.question.category == name]) for name in names},
        tuple(number for number, one in enumerate(outcomes, 1) if one.recall[KS[-1]] < 1),
    )


def _outcome(question: Question, find: Find, stems: Stems, timer: Callable[[], float]) -> Outcome:
    start = timer()
    hits = find(question)
    seconds = timer() - start
    names = [names_of(hit) for hit in hits]
    recall = {k: sum(any(one in known for known in names[:k]) for one in question.evidence) / len(question.evidence) for k in KS}
    return Outcome(question, recall, _answered(question.answer, hits[:ANSWER_K], stems), seconds)


def names_of(hit: Hit) -> set[str]:
    """Return all that evidence may call an event: its id, its source, and its document."""
    return {hit.event_id.hex(), hit.source, hit.source.partition("#")[0]}


def _answered(answer: str, hits: Iterable[Hit], stems: Stems) -> float | None:
    wanted = _stemmed(answer, stems)
    found = {stem for hit in hits for stem in _stemmed(hit.text, stems)}
    return len(wanted & found) / len(wanted) if wanted else None


def _stemmed(text: str, stems: Stems) -> set[str]:
    return {stem for word in words_of(text) if (stem := stems.of(word)) is not None}


def scores(outcomes: Sequence[Outcome]) -> Scores:
    """Return the means over some outcomes, of which there is at least one."""
    answers = [one.answer for one in outcomes if one.answer is not None]
    seconds = sorted(one.seconds for one in outcomes)
    return Scores(
        len(outcomes),
        {k: statistics.fmean(one.recall[k] for one in outcomes) for k in KS},
        statistics.fmean(answers) if answers else None,
        statistics.median(seconds),
        seconds[-(-len(seconds) * 95 // 100) - 1],
    )
