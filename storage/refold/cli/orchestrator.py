"""Prefect as child processes of our own: their environment, their log, their beginning and their end. Prefect itself is not imported."""

from __future__ import annotations

import ctypes
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from refold import files
from refold.errors import RefoldError
from refold.settings import Serve
from refold.store import Places

STARTUP_SECONDS_MAX = 120
STOP_SECONDS_MAX = 20
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  recognised here, never the default
SET_PARENT_DEATH_SIGNAL = 1  # prctl(2), Linux


@dataclass(frozen=True, slots=True)
class Home:
    """Where Prefect keeps what it keeps for one store, and the three places that its processes are told of."""

    folder: Path  # PREFECT_HOME
    places: Mapping[str, str]  # REFOLD_STORE, REFOLD_VAULT, REFOLD_ROOT

    @classmethod
    def of(cls, places: Places) -> Home:
        """Return the home of a store, and make its folder."""
        folder = places.store / "prefect"
        files.make_folder(folder)
        return cls(folder, {"REFOLD_STORE": str(places.store), "REFOLD_VAULT": str(places.vault), "REFOLD_ROOT": str(places.root)})

    @property
    def log(self) -> Path:
        return self.folder / "processes.log"

    def environment(self, env: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the environment of a process that runs flows in a server of its own: quiet, offline, nothing of the user's Prefect."""
        kept = {name: value for name, value in env.items() if not name.startswith("PREFECT_")}
        local = ",".join(filter(None, (kept.get("NO_PROXY") or kept.get("no_proxy"), "127.0.0.1,localhost")))
        own = {"REFOLD_CONFIG": str(Path(kept["REFOLD_CONFIG"]).absolute())} if kept.get("REFOLD_CONFIG") else {}
        return kept | {
            **self.places,
            **own,
            "DO_NOT_TRACK": "1",
            "NO_PROXY": local,
            "PREFECT_HOME": str(self.folder),
            "PREFECT_LOGGING_LEVEL": "WARNING",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(STARTUP_SECONDS_MAX),
            "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
            "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
            "PYTHONSAFEPATH": "1",  # nothing is imported from the working folder
            "no_proxy": local,
        }

    def serving(self, serve: Serve, *, page: Path | None = None) -> dict[str, str]:
        """Return the environment of a lasting server and of the processes that speak to it.

        `page` is where the server copies its web page to: it holds pictures, of which a scan for what was erased can claim nothing.
        """
        url = address(serve)
        database = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": serve.database} if serve.database else {}
        copied = {"PREFECT_SERVER_UI_STATIC_DIRECTORY": str(page)} if page else {}
        return self.environment() | {
            **database,
            **copied,
            "PREFECT_API_URL": f"{url}/api",
            "PREFECT_LOGGING_LEVEL": "INFO",  # so that the web page shows what a night did
            "PREFECT_SERVER_API_HOST": serve.host,
            "PREFECT_SERVER_API_PORT": str(serve.port),
            "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": f"P{serve.history_days}D",
            "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
            "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(serve.history_days * 86_400),
            "PREFECT_SERVER_UI_API_URL": f"{url}/api",
            "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        }


def address(serve: Serve) -> str:
    """Return where a browser on this host finds the server."""
    host = "127.0.0.1" if serve.host in EVERY_ADDRESS else serve.host
    return f"http://[{host}]:{serve.port}" if ":" in host else f"http://{host}:{serve.port}"


@contextmanager
def child(
    home: Home, arguments: Sequence[str], env: Mapping[str, str], *, out: int | IO[bytes] | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """Run `python ARGUMENTS` in the home folder; when the block ends, so does the child, by its own process id.

    Its working folder is the home, because Prefect reads settings from files in the working folder.
    """
    came: list[int] = []
    with home.log.open("ab") as log, _held_back(came):
        started = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=home.folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=log if out is None else out,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches us alone, and we stop them in order
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
    try:
        for number in came:
            signal.raise_signal(number)
        yield started
    finally:
        stop(started)


@contextmanager
def _held_back(came: list[int]) -> Generator[None]:
    """Note Ctrl-C and SIGTERM instead of obeying: what a handler raises in the middle of a fork is lost, and nobody would stop."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is ever interrupted
        return
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, obey in before.items():
            signal.signal(number, obey)


def stop(process: subprocess.Popen[bytes], *, seconds_max: float = STOP_SECONDS_MAX) -> None:
    """End a child that `child` started, and the group it leads: politely, then not."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(seconds_max)
            except subprocess.TimeoutExpired:
                continue


def wait_until_answers(
    serve: Serve, path: str, process: subprocess.Popen[bytes], log: Path, *, seconds_max: float = STARTUP_SECONDS_MAX
) -> None:
    """Return when the server answers a GET of `path` with 200. Raises RefoldError where the process ends or time is up."""
    until = time.monotonic() + seconds_max
    while not _answers(serve, path):
        if process.poll() is not None:
            raise RefoldError("a Prefect process ended before it was ready", path=log, details={"exit_code": process.returncode})
        if time.monotonic() > until:
            raise RefoldError(f"Prefect was not ready after {seconds_max:.0f} seconds", path=log)
        time.sleep(0.2)


def _answers(serve: Serve, path: str) -> bool:
    host = address(serve).removeprefix("http://").rsplit(":", 1)[0].strip("[]")
    connection = http.client.HTTPConnection(host, serve.port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
