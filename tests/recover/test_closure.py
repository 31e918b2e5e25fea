"""P3, looked at afterwards: every recorded call is made of what was declared, or the audit says which is not, and what it cannot say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from refold.recover import findings
from refold.recover.audit import Area, audit
from refold.recover.closure import Checked
from refold.recover.findings import Code
from refold.store import Places
from tests.journal import tree
from tests.recover import untrue

PLANTED: list[tuple[Callable[[Places], None], Code]] = [
    (untrue.untiled, findings.CLOSURE_UNTILED),
    (untrue.overlapping, findings.CLOSURE_UNTILED),
    (untrue.another_digest, findings.CLOSURE_UNDECLARED),
    (untrue.of_no_event, findings.CLOSURE_UNDECLARED),
    (untrue.other_text, findings.CLOSURE_BYTES),
    (untrue.no_line_of_an_event, findings.CLOSURE_BYTES),
    (untrue.other_words, findings.CLOSURE_BYTES),
    (untrue.other_parameter, findings.CLOSURE_FRAME),
    (untrue.more_inputs, findings.CLOSURE_INPUTS),
    (untrue.other_tag, findings.CLOSURE_TAG),
    (untrue.other_wire, findings.CLOSURE_WIRE),
    (untrue.of_no_recipe, findings.CLOSURE_WORDS),
    (untrue.by_call, findings.CLOSURE_CALL),
    (untrue.dark, findings.CLOSURE_DARK),
    (untrue.damaged, findings.CLOSURE_DAMAGED),
    (untrue.without_keys, findings.CLOSURE_NOT_JUDGED),
]


def test_p3_a_call_made_of_what_was_declared_is_counted_and_nothing_is_found(places: Places):
    untrue.declared(places)
    was = tree(places.store.parent)
    done = audit(places, (Area.CLOSURE,))
    assert (done.findings, done.checked) == ((), Checked(calls=1))
    assert tree(places.store.parent) == was


@pytest.mark.parametrize(("plant", "code"), PLANTED, ids=lambda each: getattr(each, "__name__", getattr(each, "code", "")))
def test_p3_what_is_not_as_it_must_be_is_found_and_nothing_else_is(plant: Callable[[Places], None], code: Code, places: Places):
    plant(places)
    assert {finding.code for finding in audit(places, (Area.CLOSURE,)).findings} == {code}


def test_a_form_that_nobody_wrote_is_found(places: Places):
    untrue.other_form(places)
    assert audit(places, (Area.CLOSURE,)).findings


def test_p10_what_could_not_be_checked_is_counted(places: Places, run):
    for plant in (untrue.declared, untrue.by_call, untrue.of_no_recipe):
        plant(places)
    assert "closure" not in run("audit").data
    said = run("audit", "--closure")
    assert (said.code, said.data["areas"]) == (0, ["closure"])
    assert said.data["closure"] == {"calls": 3, "dark": 0, "by_call": 1, "unknown_words": 1}
    untrue.dark(places)
    assert run("audit", "--closure").data["closure"] == {"calls": 0, "dark": 4, "by_call": 0, "unknown_words": 0}


def test_a_finding_names_the_call_that_it_is_about(places: Places, run):
    untrue.other_tag(places)
    (found,) = run("audit", "--closure").envelope["findings"]
    assert found["remediation"] == f"refold calls show {found['details']['call_id']}"
    assert run("calls", "show", found["details"]["call_id"]).data["call"]["seq"] == found["details"]["seq"]


def test_a_deep_audit_reads_the_recorded_calls_too(places: Places, run):
    untrue.other_tag(places)
    assert (run("audit").code, run("audit", "--deep").code) == (0, 10)
