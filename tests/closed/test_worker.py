"""A worker answers, fails with a code, and is believed only as far as it is closed."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.closed.closure import NEEDED, Closure, Level, Measure
from refold.closed.frames import Kind, frame, head
from refold.closed.worker import Worker
from refold.errors import NotAllowed, WorkerFailed


def worker(name: str, **how) -> Worker:
    return Worker(f"tests.closed.targets:{name}", **how)


def test_many_jobs_of_any_bytes_are_answered_by_one_process():
    with worker("echo") as echo:

        @settings(max_examples=50, deadline=None)
        @given(st.binary())
        def each(job: bytes) -> None:
            assert echo.ask(job) == job

        each()
        large = os.urandom(5 << 20)
        assert echo.ask(large) == large


def test_a_target_may_be_given_something_before_it_closes():
    with worker("with_suffix", given=b"\x00suffix") as suffixing:
        assert suffixing.ask(b"job") == b"job\x00suffix"


def test_a_target_that_raises_is_told_without_its_words_and_may_be_asked_again():
    with worker("failing") as failing:
        with pytest.raises(WorkerFailed) as caught:
            failing.ask(b"fail")
        assert "ValueError" in caught.value.message
        assert "Ruth" not in str(vars(caught.value))
        assert failing.ask(b"again") == b"again"


def test_a_computation_that_needs_memory_is_not_ended_for_it():
    with worker("growing") as growing:
        assert growing.ask(b"300000") == b"done"


def test_what_a_target_prints_reaches_neither_the_answers_nor_us(capfd):
    with worker("echo") as echo:
        assert echo.ask(b"job") == b"job"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("target", ["tests.closed.nowhere:echo", "tests.closed.targets:nothing"])
def test_a_target_that_is_not_there_is_told(target: str):
    with pytest.raises(WorkerFailed, match=r"NotFoundError|AttributeError"), Worker(target):
        pass


def test_a_stuck_worker_is_ended_and_says_so_afterwards():
    with worker("stuck", seconds_max=0.3) as stuck:
        with pytest.raises(WorkerFailed, match="in time"):
            stuck.ask(b"for ever")
        with pytest.raises(WorkerFailed, match="has ended"):
            stuck.ask(b"")


def test_a_job_and_an_answer_have_a_largest_size():
    with worker("hungry", bytes_max=1000) as hungry:
        assert hungry.ask(b"1000") == bytes(1000)
        with pytest.raises(WorkerFailed, match="at most 1,000"):
            hungry.ask(bytes(1001))
        with pytest.raises(WorkerFailed, match="at most 1,000"):
            hungry.ask(b"1001")


def test_an_answer_to_a_job_that_was_not_asked_yet_is_not_taken():
    with worker("forging") as forging:
        assert forging.ask(b"job") == b"this one"
        with pytest.raises(WorkerFailed, match="beside the protocol"):
            forging.ask(b"job")


def test_a_descriptor_that_could_be_inherited_is_not_there():
    reads, writes = os.pipe()
    try:
        os.write(writes, b"secret")
        os.set_inheritable(reads, True)
        with worker("descriptors", up_to=Level.TRIPWIRE) as looking, pytest.raises((WorkerFailed, NotAllowed)):
            looking.ask(str(reads).encode())
        assert os.read(reads, 6) == b"secret"
    finally:
        os.close(reads)
        os.close(writes)


def test_less_than_what_is_required_is_refused_and_what_is_missing_is_named():
    refused = worker("echo", require=Level.KERNEL, up_to=Level.TRIPWIRE)
    with pytest.raises(NotAllowed, match=r"allows is tripwire, expected kernel: missing .*seccomp"), refused:
        pass
    with pytest.raises(WorkerFailed, match="has ended"):
        refused.ask(b"")
    with worker("echo", require=Level.TRIPWIRE) as echo:
        assert echo.closure.level in (Level.TRIPWIRE, Level.KERNEL)


def test_a_measure_that_does_not_hold_says_why():
    with worker("echo") as echo:
        assert [measure.name for measure in echo.closure.measures if not measure.holds and not measure.why] == []
        assert {name for needed in NEEDED.values() for name in needed} <= {measure.name for measure in echo.closure.measures}
        assert Closure.read(echo.closure.rows()) == echo.closure


@pytest.mark.parametrize("lacking", NEEDED[Level.KERNEL])
def test_a_level_needs_every_one_of_its_measures(lacking: str):
    closure = Closure(tuple(Measure(name, holds=name != lacking) for name in NEEDED[Level.KERNEL]))
    assert closure.level is (Level.DECLARED if lacking in NEEDED[Level.TRIPWIRE] else Level.TRIPWIRE)
    assert [measure.name for measure in closure.missing(Level.KERNEL)] == [lacking]


def test_no_measure_is_no_closure():
    assert Closure().level is Level.DECLARED


@given(st.sampled_from(Kind), st.integers(0, (1 << 32) - 1), st.binary())
def test_a_frame_is_read_as_it_was_written(kind: Kind, job: int, body: bytes):
    assert head(frame(kind, job, body)[:9]) == (kind, job, len(body))


def test_no_process_is_left_behind():
    with worker("stuck", seconds_max=0.3) as stuck:
        process = stuck._process
        with suppress(WorkerFailed):
            stuck.ask(b"for ever")
    assert process is not None
    assert process.returncode is not None
