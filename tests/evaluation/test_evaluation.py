"""How well search finds what questions rest on: the measure itself, and what it says of the sets that are shipped."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from refold import settings
from refold.cli.glossary import MEASURED
from refold.errors import Usage
from refold.evaluation import Evaluation, Question, evaluate, read
from refold.imports.reader import Options
from refold.memory import Memory
from refold.model import EventId, Role
from refold.reading import Hit
from refold.store import Places
from refold.words import words_of
from tests.conftest import now
from tests.journal import unsynced
from tests.openai_server import Asked, Reply, scores
from tests.search import by_model, by_rerank

SETS = ("neighbours", "workshop")
KS = (1, 5, 10, 20)


@dataclass(frozen=True)
class Measured:
    """How well search does on a set."""

    name: str
    by_words: Evaluation
    with_vectors: Evaluation
    by_model: Evaluation  # the vectors
    reranked: list[Evaluation]  # by models that know less than words do


def shared(asked: Asked) -> Reply:
    """Give each text the share of its words that the query has: what a poor model would say."""
    query = set(words_of(asked.json["query"]))
    return scores([len(query.intersection(words_of(text))) / (1 + len(words_of(text))) for text in asked.json["documents"]])


def folder(name: str) -> Path:
    return settings.folder() / "eval" / name


@pytest.fixture(scope="module", params=SETS)
def measured_set(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Give how well search does on a set: by words alone, with vectors, with those of a model, and reranked."""
    at, name = tmp_path_factory.mktemp(request.param), request.param
    (at / "refold.toml").write_text("")
    (at / "search.toml").write_text(settings.text("search.toml").replace("use = false", "use = true"))
    with unsynced(), Memory.create(at / "store", vault=at / "vault", root=at / "root", now=now, random=os.urandom) as memory:
        files = [path for path in sorted(folder(name).iterdir()) if path.name != "questions.jsonl"]
        report = memory.import_files(files, options=Options(user="reader"))
        assert not report.malformed
        memory.fold()
        by_words = memory.evaluate(folder(name) / "questions.jsonl", user_id="reader")
        with by_rerank.asked(at / "reranking") as server:
            reranked = [memory.evaluate(folder(name) / "questions.jsonl", user_id="reader")]
            server.script = shared
            reranked.append(memory.evaluate(folder(name) / "questions.jsonl", user_id="reader"))
            assert [call.recording.fault for call in memory.calls()] == [None] * server.count
            assert server.count > 2 * by_words.total.questions * 3 // 4  # of few does search find less than two events
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REFOLD_CONFIG", str(at / "refold.toml"))
            memory.fold()
            with_vectors = memory.evaluate(folder(name) / "questions.jsonl", user_id="reader")
        with by_model.asked(at / "own"):
            memory.fold()
            by_a_model = memory.evaluate(folder(name) / "questions.jsonl", user_id="reader")
        return Measured(name, by_words, with_vectors, by_a_model, reranked)


def test_search_finds_what_the_shipped_questions_rest_on(measured_set: Measured):
    name = measured_set.name
    for found, how in ((measured_set.by_words, "by words"), (measured_set.with_vectors, "with vectors")):
        assert tuple(round(100 * recall, 1) for recall in found.total.recall.values()) == MEASURED[name, how]
        assert found.unknown == 0
        assert sum(scores.questions for scores in found.categories.values()) == found.total.questions
        assert found.total.recall[20] < 1 or not found.missed


def lowered(before: Evaluation, after: Evaluation, ks: Sequence[int]) -> list[tuple[str, int]]:
    """Return where recall is lower than before: in all, or in a category."""
    each = [("all", before.total, after.total), *((name, before.categories[name], one) for name, one in after.categories.items())]
    return [(name, k) for name, one, other in each for k in ks if other.recall[k] < one.recall[k]]


def test_vectors_lower_no_recall(measured_set: Measured):
    before = measured_set.by_words
    for after in (measured_set.with_vectors, measured_set.by_model):
        assert after.total.recall != before.total.recall, "no vector took part"
        assert lowered(before, after, KS[1:]) == []


def test_reranking_lowers_no_recall_even_by_poor_models(measured_set: Measured):
    for after in measured_set.reranked:
        assert lowered(measured_set.by_words, after, KS) == []


def test_the_shipped_sets_have_several_kinds_of_questions():
    kinds = [{question.category for question in read(folder(name) / "questions.jsonl")} for name in SETS]
    assert set.union(*kinds) == {"single", "temporal", "person", "document"}
    assert sum(len(read(folder(name) / "questions.jsonl")) for name in SETS) >= 90


def hit(name: int, text: str = "", source: str = "") -> Hit:
    event = EventId(name.to_bytes(16, "big"))
    return Hit(event, name, text, source or f"chat:7#{name}", 0, "ada", Role.USER, 1.0, True)


def measured(question: Question, hits: list[Hit]):
    return evaluate([question], lambda asked: hits, stop=frozenset({"the"}), timer=itertools.count().__next__)


def test_recall_is_the_share_of_the_evidence_among_the_first():
    question = Question("x", ("chat:7#2", hit(6).event_id.hex(), "doc:notes.md", "chat:7#99"))
    hits = [hit(1), hit(2), hit(3), hit(4), hit(5), hit(6), hit(7, source="doc:notes.md#p3")]
    found = measured(question, hits)
    assert found.total.recall == {1: 0, 5: 0.25, 10: 0.75, 20: 0.75}
    assert found.missed == (1,)


def test_the_recall_of_the_answer_is_the_share_of_its_words():
    found = measured(Question("x", ("chat:7#1",), answer="the blue roosters of Lisbon"), [hit(1, "A rooster, blue.")])
    assert found.total.answer == pytest.approx(2 / 4)
    assert measured(Question("x", ("chat:7#1",)), [hit(1)]).total.answer is None


def test_times_are_of_the_questions_alone():
    ticks = iter([0.0, 0.1, 1.0, 1.2, 2.0, 2.3])
    asked = [Question("x", ("a",))] * 3
    found = evaluate(asked, lambda question: [], stop=frozenset(), timer=ticks.__next__)
    assert (found.total.p50_seconds, found.total.p95_seconds) == (pytest.approx(0.2), pytest.approx(0.3))


@pytest.mark.parametrize(
    "line",
    ["{", "[1]", '{"question": "x"}', '{"question": "x", "evidence": []}', '{"question": " ", "evidence": ["a"]}', "",
     '{"question": "x", "evidence": ["a"], "answers": "y"}', '{"question": 7, "evidence": ["a"]}'],
)  # fmt: skip
def test_what_is_no_question_is_refused(tmp_path: Path, line: str):
    (tmp_path / "questions.jsonl").write_text(line)
    with pytest.raises(Usage):
        read(tmp_path / "questions.jsonl")


def test_lines_and_a_list_are_the_same(tmp_path: Path):
    asked = [{"question": "x", "evidence": ["a"]}, {"question": "y", "evidence": ["b", "b"], "category": "odd", "user": "ada"}]
    (tmp_path / "list").write_text(json.dumps(asked))
    (tmp_path / "lines").write_text("\n".join(map(json.dumps, asked)))
    assert read(tmp_path / "list") == read(tmp_path / "lines") == [Question("x", ("a",)), Question("y", ("b",), "odd", user="ada")]


def test_evidence_that_is_in_no_event_is_counted(tmp_path: Path, places: Places):
    with unsynced(), Memory.create(places.store, vault=places.vault, root=places.root, now=now, random=os.urandom) as memory:
        memory.add("I live in Berlin.", user_id="ada", source="chat:7#1")
        asked = [{"question": "Where does Ada live?", "evidence": ["chat:7#1", "chat:7#2"], "user": "ada"}]
        (tmp_path / "questions.jsonl").write_text(json.dumps(asked))
        found = memory.evaluate(tmp_path / "questions.jsonl")
        assert (found.unknown, found.total.recall[1]) == (1, 0.5)
