"""The erase flow: carry out what is approved, certify it, ask for what is kept too long, and say which copies are overdue.

On its schedule it does all of that; by hand, one request. It decides nothing: somebody has found, reviewed and approved each request. It
waits for whoever holds the store, and holds it itself from the fence to the end, so that no publish ever overlaps. The parameters are the
log's random origin, the random id of a request and a mode; the artifact is the certificate, in which there is no name.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.objects import State as RunState
from prefect.exceptions import FailedRun
from prefect.settings import get_current_settings

from flows.nightly import INPUTS, UNSTORED, Counts, called, coded, say, step
from refold import register, times
from refold.erase import requests
from refold.erase.model import Stage
from refold.errors import Locked, Usage
from refold.extractors import Choice
from refold.heads.checkpoint import known_keys
from refold.memory import Memory
from refold.outside import clock
from refold.receipts.verify import verify
from refold.store import places

T = TypeVar("T")
MODES = ("due", "request")
WAIT_SECONDS_MAX = 600.0
WAIT_SECONDS = 5.0


@flow(
    name="erase",
    flow_run_name=called("erase"),
    description="Carry out what is approved, certify it, look for what is due.",
    validate_parameters=True,
    **UNSTORED,
)
def erase(origin: str, request: str = "", mode: str = "due") -> Counts:
    """Erase in the store that the environment names; it must be the one of that origin. Ends Completed with counts, or Failed with a code.

    Mode `request` carries out the one request that is named; `due` all that are approved, and looks for what is due.
    """
    return coded(lambda: carried_out(origin, request, mode))


def carried_out(origin: str, request: str, mode: str) -> Counts:
    """Carry out the steps of one run. A request that cannot be carried out keeps no other back."""
    if places().origin != origin:
        raise Usage("the store that the environment names has another origin")
    if mode not in MODES or (mode == "request") != bool(request):
        raise Usage("the mode is due, without a request, or request, with its id")
    if mode == "request":
        step(run_request, request)
        step(clean)
        return {"carried_out": 1}
    asked = step(retain)
    ready = step(find_ready)
    ended = [cast("Callable[..., RunState[str]]", run_request)(one, return_state=True) for one in ready]
    if ready:
        step(clean)
    counts = {
        "asked": asked,
        "carried_out": sum(one.is_completed() for one in ended),
        "renewed": step(renew),
        "overdue": step(look_at_copies),
    }
    failed = next((one.message for one in ended if not one.is_completed()), None)
    if failed is not None:
        raise FailedRun(failed)
    return counts


@task(name="retain", task_run_name="retain", cache_policy=NO_CACHE, **UNSTORED)
def retain() -> int:
    """Ask for the erasure of what is kept longer than the settings allow; return how many requests that made."""
    return coded(lambda: with_memory(lambda memory: len(memory.erase_due())))


@task(name="find-ready", task_run_name="find-ready", cache_policy=NO_CACHE, **UNSTORED)
def find_ready() -> list[str]:
    """Return the requests that wait for their certificate, then those that are approved."""

    def found(memory: Memory) -> list[str]:
        waiting = memory.erase_waiting()
        approved = [one.request_id for one in memory.erase_requests() if one.stage is Stage.APPROVED]
        return [one.hex() for one in [*waiting, *approved]]

    return coded(lambda: with_memory(found))


@task(name="erase", task_run_name="erase", cache_policy=NO_CACHE, **UNSTORED)
def run_request(request: str) -> str:
    """Carry out a request, or certify one that was carried out; return how far it came.

    One that went dark meanwhile, with whom another request erased, is done: there is nothing left that it asks for.
    """

    def run(memory: Memory) -> str:
        request_id = requests.chosen(memory.store, request)
        if (stage := requests.outline(memory.store, request_id).stage) is Stage.DARK:
            return stage.value
        patiently(lambda: memory.erase_run(request_id, by=Choice.of(), extra=home_elsewhere(memory)))
        tell(memory, request_id)
        return requests.outline(memory.store, request_id).stage.value

    return coded(lambda: with_memory(run))


@task(name="renew", task_run_name="renew", cache_policy=NO_CACHE, **UNSTORED)
def renew() -> int:
    """Make certificates anew that waited for what is gone since; return how many."""

    def renewed(memory: Memory) -> int:
        found = memory.erase_renew()
        for request_id in found:
            tell(memory, request_id)
        return len(found)

    return coded(lambda: with_memory(renewed))


@task(name="copies", task_run_name="copies", cache_policy=NO_CACHE, **UNSTORED)
def look_at_copies() -> int:
    """Record the copies elsewhere that are overdue, by their ids; return how many."""

    def overdue(memory: Memory) -> int:
        live, now = memory.store.keyring.epoch, clock()
        open_ones = [one for one in register.copies(memory.store) if one.standing(live) is register.Standing.OPEN]
        late = [one for one in open_ones if one.due is not None and one.due < now]
        rows = [{"copy": one.copy_id, "kind": str(one.kind), "owed by": str(one.owner), "due": times.day(one.due or 0)} for one in late]
        told = f"copies overdue: {len(late)}; refold copies list" if late else "no copy elsewhere is overdue"
        create_table_artifact(rows, key="copies-overdue", description=told)
        return len(late)

    return coded(lambda: with_memory(overdue))


@task(name="clean", task_run_name="clean", cache_policy=NO_CACHE, **UNSTORED)
def clean() -> int:
    """Delete the tables of what models were sent, for they name recordings that are gone; return how many.

    What else Prefect keeps of runs goes when the setting serve.history_days says: events have no way to be deleted.
    """

    def cleaned() -> int:
        with get_client(sync_client=True) as client:
            tables = client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[INPUTS])))
            for table in tables:
                client.delete_artifact(table.id)
        return len(tables)

    return coded(cleaned)


def tell(memory: Memory, request_id: bytes) -> None:
    """Record a certificate: as it is read, and as it is signed."""
    raw = memory.erase_certificate(request_id)
    lines = verify(raw, known_keys(memory.store)).lines
    text = "\n".join([f"Request `{request_id.hex()}`", "", *(f"- {line}" for line in lines), "", "```json", raw.decode(), "```"])
    create_markdown_artifact(text, key="erasure-certificate", description="refold verify FILE checks it")


def home_elsewhere(memory: Memory) -> list[Path]:
    """Return where Prefect keeps what it keeps, if that is not under the store, which is scanned anyway."""
    home = Path(get_current_settings().home).resolve()
    return [] if home.is_relative_to(memory.places.store.resolve()) or not home.is_dir() else [home]


def with_memory(work: Callable[[Memory], T]) -> T:
    """Do something with the memory that the environment names, as its operator."""
    where = places()
    with Memory.open(where.store, vault=where.vault, root=where.root) as memory:
        return work(memory)


def patiently(work: Callable[[], T]) -> T:
    """Do something, again while another process holds what it needs."""
    until = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        try:
            return work()
        except Locked:
            if time.monotonic() > until:
                raise
            time.sleep(WAIT_SECONDS)


def main(*argv: str) -> int:
    """Run the flow once, for the request that is named or for all that is due, and print how it ended, as one JSON object."""
    mode = "request" if argv else "due"
    return say(cast("Callable[..., RunState[Counts]]", erase)(places().origin, *argv[:1], mode=mode, return_state=True))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
