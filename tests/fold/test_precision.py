"""How right the symbolic extractor is on sentences that were written and labelled without it. `python -m tests.fold.score` shows more."""

from __future__ import annotations

from functools import cache

from tests.fold.said import shipped
from tests.fold.score import Report, items, score, table

PRECISION_MIN = 0.85
RECALL_MIN = 0.65  # what was measured, rounded down to a twentieth
FALSE_ALARMS_MAX = 0.05  # of the items that state nothing


@cache
def report() -> Report:
    return score(items(), shipped())


def test_the_labelled_set_is_large_enough_to_mean_something():
    assert report().items >= 200
    assert report().total.labelled >= 200


def test_what_is_read_is_right():
    assert report().total.precision >= PRECISION_MIN, table(report())


def test_what_is_stated_is_mostly_read():
    assert report().total.recall >= RECALL_MIN, table(report())


def test_what_states_nothing_is_left_alone():
    silent = sum(not item["facts"] for item in items())
    assert report().false_alarms <= FALSE_ALARMS_MAX * silent, table(report())


def test_what_is_right_has_the_right_modality():
    assert report().total.firm >= 0.95 * report().total.right, table(report())


def test_a_wrong_reading_would_lower_the_score():
    items_with_facts = [item for item in items() if item["facts"]]
    wrong = [{**item, "facts": [{**fact, "value": "elsewhere"} for fact in item["facts"]]} for item in items_with_facts]
    assert score(wrong, shipped()).total.right <= 1
    assert score(items_with_facts, shipped()).total.right == report().total.right
