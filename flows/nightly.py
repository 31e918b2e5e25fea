"""The nightly flow: verify the log, plan, fold in batches, publish, compact the log, sign its head, bring what is new to the mirrors.

Prefect starts it on time and shows what it does; it holds nothing that matters. The store is found through REFOLD_STORE, REFOLD_VAULT
and REFOLD_ROOT, because a path can contain a name; the parameters are the log's random origin and a switch. Nothing is seen by anybody
before it is published as a whole, so a run that was killed is simply run again. A failure is a code and a place: Prefect stores
parameters, results, logs and exception texts, and none of them says anything about anybody.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import UUID

from prefect import Task, flow, task
from prefect.artifacts import create_markdown_artifact, create_progress_artifact, create_table_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State as RunState
from prefect.exceptions import FailedRun
from prefect.logging import get_run_logger
from prefect.states import Failed

from flows.quiet import quiet
from flows.runner import runner
from flows.verdicts import damaged, tell
from refold import folding, given, recipes, settings, times
from refold.calls.mode import Mode
from refold.copies.mirror import mirror
from refold.errors import RefoldError, Usage, fault
from refold.extractors import Choice, Means, means
from refold.folding import BatchDone, Fold, FoldReport
from refold.heads.configured import sign
from refold.outside import clock
from refold.recover.remember import judged
from refold.state.builder import Moved
from refold.state.generation import State, reading
from refold.store import Places, Store, open_store, places
from refold.verdict import Verdict

quiet()
T = TypeVar("T")


def called(flow_name: str) -> Callable[[], str]:
    """Return what calls a run by its flow and when it began: the names that Prefect draws say nothing."""
    return lambda: f"{flow_name} {times.short(clock())}"


Counts = dict[str, int]
INPUTS = "recorded-inputs"  # the table of what a model was sent
INPUTS_MAX = 10_000  # listed: a row is 150 bytes of the server's database
UNSTORED: dict[str, Any] = {"persist_result": False, "retries": 0, "log_prints": False}


@flow(
    name="nightly",
    flow_run_name=called("nightly"),
    description="Verify the log, fold what is new in it, publish it, compact the log, bring what is new to the mirrors.",
    validate_parameters=True,
    **UNSTORED,
)
def nightly(origin: str, full: bool = False) -> Counts:
    """Fold the store that the environment names; it must be the one of that origin. Ends Completed with counts, or Failed with a code."""
    return coded(lambda: night(origin, full=full))


def night(origin: str, *, full: bool, fresh: bool = False) -> Counts:
    """Carry out the steps of one night: here, for each builds on the one before, but the mirrors, which the runner brings.

    `fresh` asks a model anew.
    """
    chosen, where = settings.load(), places()
    runner(chosen.nightly.runner)  # before anything is done, where it is not installed
    if where.origin != origin:
        raise Usage("the store that the environment names has another origin")
    verdict = step(verify, where, chosen.nightly.deep)
    tell(verdict, {})
    if not verdict.is_whole:
        raise FailedRun(damaged(verdict))
    with open_store(where) as store:
        require = given.closure_level(chosen.fold.require_closure or None)
        with means(store, choice(fresh=fresh), require=require, now=clock) as by:
            work = step(plan, store, full, by)
            bar = cast("UUID", create_progress_artifact(0.0, key="fold-progress", description="entries folded"))
            for first, end in work.plan.batches:
                step(fold_batch, work, first, end)
                update_progress_artifact(bar, 100.0 * (end - work.plan.first) / max(work.plan.entries, 1))
            update_progress_artifact(bar, 100.0)
            report = step(publish, work) or step(catch_up, store, full, by)
        counts = totals(report, compacted=step(compact, store))
        receipt(work, counts)
        step(sign_head, store)
        mirrors(chosen)
        return counts


def choice(*, fresh: bool) -> Choice:
    """Return what the settings say reads the events."""
    by = Choice.of()
    return replace(by, mode=Mode.REFRESH) if fresh else by


def mirrors(chosen: settings.Settings) -> None:
    """Bring what is new to every mirror that the settings name: one that cannot be had does not keep the others back."""
    if not chosen.mirror.folders:
        return
    with runner(chosen.nightly.runner) as tasks:
        ended = [tasks.submit(bring, {"at": at}) for at in range(len(chosen.mirror.folders))]
        for future in ended:
            future.wait()
    for future in ended:
        if not future.state.is_completed():
            raise FailedRun(future.state.message)


def step(do: Task[..., T], *arguments: object) -> T:
    """Run a task and return its result. A task that returns a failed state does not raise by itself: what follows must not go on."""
    ended = cast("Callable[..., RunState[T]]", do)(*arguments, return_state=True)
    if not ended.is_completed():
        raise FailedRun(ended.message)
    return ended.result()


@task(name="verify", task_run_name="verify", cache_policy=NO_CACHE, **UNSTORED)
def verify(where: Places, deep: bool) -> Verdict:
    """Hold the log against what was signed and seen of it, and leave the verdict for those who append."""
    return coded(lambda: judged(where, settings.load(), deep=deep))


@task(name="plan", task_run_name="plan", cache_policy=NO_CACHE, **UNSTORED)
def plan(store: Store, full: bool, by: Means) -> Fold:
    """Decide what has to be folded."""

    def planned() -> Fold:
        work = Fold(
            store,
            State.open(store),
            relations=recipes.relations(),
            recipe=recipes.search(),
            full=full,
            fold_events=by.fold_events,
            closure_level=by.level,
            model=by.model,
            vectors=by.vectors,
        )
        get_run_logger().info("%d entries in %d batches: %s", work.plan.entries, len(work.plan.batches), work.plan.reason.value)
        return work

    return coded(planned)


@task(name="fold", task_run_name="fold {first} to {end}", cache_policy=NO_CACHE, **UNSTORED)
def fold_batch(work: Fold, first: int, end: int) -> BatchDone:
    """Fold one batch of entries."""
    return coded(lambda: work.batch(first, end))


@task(name="publish", task_run_name="publish", cache_policy=NO_CACHE, **UNSTORED)
def publish(work: Fold) -> FoldReport | None:
    """Make what was folded the current generation; None where another fold published first."""

    def published() -> FoldReport | None:
        try:
            return work.report(work.publish(now=clock), compacted_parts=0)
        except Moved:
            return None

    return coded(published)


@task(name="catch-up", task_run_name="catch-up", cache_policy=NO_CACHE, **UNSTORED)
def catch_up(store: Store, full: bool, by: Means) -> FoldReport:
    """Fold what is left after another fold published first."""

    def caught_up() -> FoldReport:
        get_run_logger().info("another fold published first: folding what it left")
        relations, recipe = recipes.relations(), recipes.search()
        return folding.fold(
            store,
            State.open(store),
            relations=relations,
            recipe=recipe,
            full=full,
            now=clock,
            require_closure=None if by.model else by.level,
            model=by.model,
            vectors=by.vectors,
        )

    return coded(caught_up)


@task(name="compact", task_run_name="compact", cache_policy=NO_CACHE, **UNSTORED)
def compact(store: Store) -> int:
    """Merge small parts of the log."""
    return coded(lambda: folding.compact_log(store, now=clock))


@task(name="mirror", task_run_name="mirror {at}", cache_policy=NO_CACHE, **UNSTORED)
def bring(at: int) -> int:
    """Bring what is new to a mirror, named by its place in the settings, for a path can contain a name; return how many files came."""
    return coded(lambda: mirror(places(), Path(settings.load().mirror.folders[at]), must_exist=True).files)


@task(name="checkpoint", task_run_name="checkpoint", cache_policy=NO_CACHE, **UNSTORED)
def sign_head(store: Store) -> int:
    """Read the whole log anew, sign its head, attest the state; return how many witnesses took the head."""

    def signed() -> int:
        with reading(store, State.open(store)) as state:
            done = sign(store, state=state)
        get_run_logger().info("head of %d entries, taken by %d of %d witnesses", done.head.size, done.taken, len(done.answers))
        return done.taken

    return coded(signed)


def coded(work: Callable[[], T]) -> T:
    """Do the work. An error becomes a failed state, which Prefect takes for the result of the task or flow: no exception reaches it."""
    try:
        return work()
    except FailedRun as failed:  # a task has failed, and said so in this form
        message = str(failed)
    except RefoldError as error:
        message = f"{error.code} {error.exit_class}"
    except Exception as error:
        message = f"{RefoldError.code} {fault(error)}"
    state: Any = Failed(message=message)
    return state


def totals(report: FoldReport, *, compacted: int) -> Counts:
    """Return the counts of a night."""
    whole = replace(report, compacted_parts=report.compacted_parts + compacted)
    counts = {"generation": whole.generation, "size": whole.size, **whole.counts}
    spent, vectors = report.spent, report.vectors
    if vectors is not None:
        counts |= {"pending": report.pending, "vector_calls": vectors.spent.calls, "vector_calls_reused": vectors.spent.reused}
    if spent is None:
        return counts
    asked = ("calls", "reused", "prompt_tokens", "completion_tokens", "cost")  # the cost in 10⁻⁹ of the price table's currency
    told = {} if report.profiles is None else {"sentences": report.profiles.sentences, "profiles_pending": report.profiles.pending}
    return {**counts, "pending": report.pending, **told, **{name: getattr(spent, name) for name in asked}}


def receipt(work: Fold, counts: Counts) -> None:
    """Record what each batch gave, the sum, and what a model was sent: by ids and keyed digests, never by a word of it."""
    inputs = list(map(asdict, work.inputs))
    if inputs:
        told = f"{len(inputs)} requests to a model" + (f", the first {INPUTS_MAX} of them" if len(inputs) > INPUTS_MAX else "")
        create_table_artifact(inputs[:INPUTS_MAX], key=INPUTS, description=told)
    fields = ("first", "end", "events", "context_events", "assertions", "edges", "rejected", "dark")
    batches = "what each batch of entries gave" if work.done else "nothing was new, so nothing was folded"
    create_table_artifact([{name: getattr(done, name) for name in fields} for done in work.done], key="fold-receipt", description=batches)
    lines = [f"| {name.replace('_', ' ')} | {count:,} |" for name, count in counts.items()]
    heading = f"Origin `{work.store.origin}`: {work.plan.reason.value}; closure_level {work.closure_level}"
    text = "\n".join([heading, "", "| | |", "|---|---:|", *lines])
    create_markdown_artifact(text, key="nightly-summary", description="what the night did, in counts")


def main() -> int:
    """Run the flow once and print how it ended, as one JSON object."""
    return say(cast("Callable[..., RunState[Counts]]", nightly)(places().origin, return_state=True))


def say(ended: RunState[Counts]) -> int:
    """Print how a flow ended and return the exit code."""
    done = ended.is_completed()
    print(json.dumps({"state": ended.name, "message": ended.message, "counts": ended.result() if done else None}))
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
