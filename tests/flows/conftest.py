"""One `refold serve` for the session: a server, a deployment and runs of every kind, on a store full of planted names.

What happened is collected once, because a server takes half a minute; each test then looks at one thing.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from refold.cli.orchestrator import Home
from refold.copies.mirror import mirror
from refold.erase.model import Decision
from refold.memory import Memory
from refold.model import Draft, Scope, Source
from refold.settings import load
from refold.status import Status

BUSY_SECONDS_MAX = 60
NAMES = ("Zebulon", "Quistgaard")
TEXTS = ("lives in Ouagadougou", "is allergic to cashews", "ledger:4711", "confidential-label")


@dataclass(frozen=True)
class Night:
    """How one run of the flow in a process of its own ended."""

    code: int
    said: dict[str, Any]


@dataclass(frozen=True)
class Evidence:
    """What a session of `refold serve` showed."""

    folder: Path
    ready: dict[str, Any]  # the envelope
    page: bytes
    page_settings: dict[str, Any]
    deployment: dict[str, Any]
    scheduled: dict[str, Any]  # a run that serve started by itself
    status: Status  # after it
    artifacts: list[dict[str, Any]]
    again: Night  # with nothing new
    mirrored: Night  # with two mirrors in the settings
    files: list[int]  # how many files more each of them then had
    unknown: Night  # with a runner that is not installed
    killed: int  # the exit code of a run that was killed
    after_kill: Status
    repaired: Night  # the run after it
    corrupt: Night  # with a damaged part
    keyless: Night  # without the root
    check: dict[str, Any]  # the deployment of the recover flow
    checked: dict[str, Any]  # a run of it that serve started by itself
    found: Night  # a run of it with a damaged part
    told: list[dict[str, Any]]  # the artifacts of both
    undecided: (
        Night  # the erase flow, for a request that something came in after, that may be about the same person; logged in every detail
    )
    erasing: dict[str, Any]  # the deployment of the erase flow
    erased: dict[str, Any]  # a run of it that serve started by itself, when the request was approved again
    certified: dict[str, Any]  # the request afterwards
    papers: list[dict[str, Any]]  # the artifacts of it
    certificate: bytes
    stopped: int  # the exit code of serve
    left_over: list[str]  # processes

    @property
    def home(self) -> Path:
        return self.folder / "store" / "prefect"


def call(url: str, body: object = None) -> Any:
    """Ask the server; again where it says that its database is busy, as its own clients do."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    until = time.monotonic() + BUSY_SECONDS_MAX
    while True:
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > until:
                raise
            time.sleep(0.5)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def planted(session: Session, count: int) -> None:
    """Add what must not be found outside of the store."""
    first = session.status().entries
    drafts = [
        Draft(
            f"Zebulon Quistgaard lives in Ouagadougou and is allergic to cashews, note {number}.",
            source=Source("ledger", "4711", str(number)),
            author="Quistgaard",
            scope=Scope(user="Zebulon"),
            audience=("confidential-label",),
        )
        for number in range(first, first + count)
    ]
    with session.open() as memory:
        memory.add_many(drafts)


def processes_about(folder: Path) -> list[str]:
    """Return the command lines of processes that were told of this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


class Session:
    """Drives one `refold serve` and collects evidence."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with Memory.create(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
            self.origin = memory.store.origin
            self.home = Home.of(memory.places)
        self.port = free_port()
        self.api = f"http://127.0.0.1:{self.port}/api"

    def serve(self) -> subprocess.Popen[str]:
        places = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(self.folder / name))]
        command = [sys.executable, "-c", "import sys; from refold.cli import main; sys.exit(main())", "serve", *places]
        return subprocess.Popen([*command, "--port", str(self.port), "--format", "json"], stdout=subprocess.PIPE, text=True)

    def scheduled(self, deployment: dict[str, Any]) -> dict[str, Any]:
        """Let the server start a run by itself, and wait until it ends."""
        run = call(f"{self.api}/deployments/{deployment['id']}/create_flow_run", {"state": {"type": "SCHEDULED"}})
        until = time.monotonic() + 90
        while time.monotonic() < until and run["state_type"] not in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
            time.sleep(0.5)
            run = call(f"{self.api}/flow_runs/{run['id']}")
        return run

    def start(self, env: dict[str, str] | None = None, flow: str = "flows.nightly", argv: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """Start a run in a process of its own, against the same server."""
        env = self.home.serving(replace(load({}).serve, port=self.port)) | (env or {})
        command = [sys.executable, "-m", flow, *argv]
        return subprocess.Popen(command, env=env, cwd=self.home.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def run(self, flow: str = "flows.nightly", argv: tuple[str, ...] = (), **env: str) -> Night:
        process = self.start(env, flow, argv)
        out, _ = process.communicate(timeout=120)
        return Night(process.returncode, json.loads(out.splitlines()[-1]))

    def kill_one(self) -> int:
        """Start a run and kill it as soon as the server knows that it runs."""
        process = self.start()
        running = {"flow_runs": {"state": {"type": {"any_": ["RUNNING"]}}}}
        while not call(f"{self.api}/flow_runs/filter", running) and process.poll() is None:
            time.sleep(0.02)
        process.kill()
        process.communicate()
        return process.returncode

    def open(self) -> Memory:
        return Memory.open(self.folder / "store", vault=self.folder / "vault", root=self.folder / "root")

    def status(self) -> Status:
        with self.open() as memory:
            return memory.status()


def approved(session: Session) -> str:
    """Ask for the erasure of whoever was planted, as far as its approval; return the request's id."""
    with session.open() as memory:
        memory.add("I like rye bread.", user_id="bystander", source="chat:9#1")
        request_id = memory.plan_erasure(user_id=NAMES[0], mentions=Decision.CONCERNS).target.request_id
        memory.erase_approve(request_id)
    return request_id.hex()


def erasing(session: Session) -> dict[str, Any]:
    """Let the erase flow fail, then carry out what is approved."""
    request = approved(session)
    with session.open() as memory:
        memory.add(f"I met {' '.join(NAMES)}.", user_id="bystander", source="chat:9#2")
    debug = {f"PREFECT_LOGGING_{each}": "DEBUG" for each in ("LEVEL", "ROOT_LEVEL", "INTERNAL_LEVEL")}
    undecided = session.run("flows.erase", argv=(request,), **debug)
    with session.open() as memory:
        memory.erase_refuse(bytes.fromhex(request), "asked for anew")
    request = approved(session)
    deployment = call(f"{session.api}/deployments/name/erase/erase")
    ended = session.scheduled(deployment)
    with session.open() as memory:
        outline = next(one for one in memory.erase_requests() if one.request_id.hex() == request)
        certificate = memory.erase_certificate(outline.request_id)
    return {
        "undecided": undecided,
        "erasing": deployment,
        "erased": ended,
        "certified": {"request": request, "stage": outline.stage.value},
        "papers": [each for each in call(f"{session.api}/artifacts/filter", {}) if each["key"].startswith("erasure-")],
        "certificate": certificate,
    }


def mirroring(session: Session) -> tuple[Night, list[int], Night]:
    """Run with two mirrors that are behind, carried by threads; then with a runner that is not there."""
    mirrors = [session.folder / "first", session.folder / "second"]
    with session.open() as memory:
        for folder in mirrors:
            mirror(memory.places, folder)
    before = [sum(1 for _ in folder.rglob("*")) for folder in mirrors]
    planted(session, 1)
    own = session.folder / "own.toml"
    text = f"[mirror]\nfolders = {json.dumps([str(folder) for folder in mirrors])}\n[nightly]\nrunner = "
    own.write_text(text + '"threads"\n')
    night = session.run(REFOLD_CONFIG=str(own))
    grown = [sum(1 for _ in folder.rglob("*")) - count for folder, count in zip(mirrors, before, strict=True)]
    own.write_text(text + '"ray"\n')
    return night, grown, session.run(REFOLD_CONFIG=str(own))


@contextmanager
def moved_away(path: Path) -> Generator[None]:
    """Take a folder away for a while."""
    away = path.with_name(path.name + "-away")
    path.rename(away)
    try:
        yield
    finally:
        away.rename(path)


@contextmanager
def damaged(path: Path) -> Generator[None]:
    """Flip one bit of a file for a while."""
    raw = path.read_bytes()
    path.write_bytes(raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:])
    try:
        yield
    finally:
        path.write_bytes(raw)


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evidence]:
    session = Session(tmp_path_factory.mktemp("session") / " ".join(NAMES))
    planted(session, 300)
    serve = session.serve()
    assert serve.stdout is not None
    try:
        yield collect(session, serve)
    finally:
        serve.kill()
        serve.wait()
        serve.stdout.close()


def collect(session: Session, serve: subprocess.Popen[str]) -> Evidence:
    """Let everything happen once."""
    assert serve.stdout is not None
    ready = json.loads(serve.stdout.readline())
    assert ready["status"] == "PASS", (ready["findings"], session.home.log.read_text())
    with urllib.request.urlopen(ready["data"]["ui"], timeout=30) as answer:
        page = answer.read()
    page_settings = call(f"http://127.0.0.1:{session.port}/ui-settings")
    deployment = call(f"{session.api}/deployments/name/nightly/nightly")
    scheduled = session.scheduled(deployment)
    status = session.status()
    artifacts = call(f"{session.api}/artifacts/filter", {})
    again = session.run()
    planted(session, 300)
    killed, after_kill = session.kill_one(), session.status()
    repaired = session.run()
    mirrored, files, unknown = mirroring(session)
    planted(session, 1)
    newest = max((session.folder / "store" / "log" / "parts").glob("*.parquet"))
    check = call(f"{session.api}/deployments/name/recover/recover")
    checked = session.scheduled(check)
    with damaged(newest):
        corrupt = session.run()
        found = session.run("flows.recover")
    told = [each for each in call(f"{session.api}/artifacts/filter", {}) if each["key"].startswith("log-")]
    with moved_away(session.folder / "root"):
        keyless = session.run()
    erasure = erasing(session)
    serve.send_signal(signal.SIGTERM)
    stopped = serve.wait(60)
    left_over = processes_about(session.home.folder)
    return Evidence(
        session.folder,
        ready,
        page,
        page_settings,
        deployment,
        scheduled,
        status,
        artifacts,
        again,
        mirrored,
        files,
        unknown,
        killed,
        after_kill,
        repaired,
        corrupt,
        keyless,
        check,
        checked,
        found,
        told,
        **erasure,
        stopped=stopped,
        left_over=left_over,
    )
