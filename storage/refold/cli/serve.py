"""`refold serve`: a local Prefect server, and the nightly fold on its schedule."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from refold import settings
from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Outcome, failure, finding_lines, say
from refold.cli.orchestrator import Home, address, child, wait_until_answers
from refold.cli.visible import from_here
from refold.errors import Locked, RefoldError, Usage

Process = subprocess.Popen[bytes]


def _configure(command: ArgumentParser) -> None:
    command.add_argument("--port", type=arguments.count(1, 65535), metavar="N", help="the port; else the setting serve.port")


def _run(given: Namespace) -> Outcome:
    from flows.runner import runner

    chosen = settings.load()
    serve = replace(chosen.serve, port=given.port or chosen.serve.port)
    _refuse_taken_port(serve)
    runner(chosen.nightly.runner)  # at once, where what it needs is not installed, and not at night
    with opened(given) as memory:
        home = Home.of(memory.places)
    signal.signal(signal.SIGTERM, interrupt)
    if given.format == "text":
        print("\n".join(starting(home, serve)), file=sys.stderr, flush=True)
    with _served(home, serve) as processes:
        say("serve", ready(home, serve, chosen), given.format)
        return _until_stopped(processes, home)


@contextmanager
def _served(home: Home, serve: settings.Serve) -> Generator[tuple[Process, ...]]:
    with ExitStack() as running:
        page = running.enter_context(TemporaryDirectory(prefix="refold-page-"))
        env = home.serving(serve, page=Path(page))
        server = running.enter_context(
            child(home, ["-m", "prefect", "server", "start", "--host", serve.host, "--port", str(serve.port)], env)
        )
        wait_until_answers(serve, "/api/health", server, home.log)
        worker = running.enter_context(child(home, ["-m", "flows.deploy"], env))
        wait_until_answers(serve, "/api/deployments/name/nightly/nightly", worker, home.log)
        yield server, worker


def _until_stopped(processes: tuple[Process, ...], home: Home) -> Outcome:
    """Wait for Ctrl-C or SIGTERM, which is how this command ends well, or for a process of ours to end, which is not."""
    try:
        while all(process.poll() is None for process in processes):
            time.sleep(0.5)
    except KeyboardInterrupt:
        return Outcome(said=True)
    ended = failure(RefoldError("a Prefect process ended by itself", path=home.log, hint="refold serve"))
    print("\n".join(line for finding in ended.findings for line in finding_lines(finding)), file=sys.stderr)
    return replace(ended, said=True)


def starting(home: Home, serve: settings.Serve) -> list[str]:
    """Return what is said at once, because a server takes its time to be ready."""
    return [
        f"starting Prefect, which takes half a minute or so; the web page will be at {address(serve)}/",
        f"log        {from_here(home.log)}",
    ]


def ready(home: Home, serve: settings.Serve, chosen: settings.Settings) -> Outcome:
    """Return what is said once all of it runs: where, and when which flow does."""
    url, nightly = address(serve), chosen.nightly
    crons = {"nightly": nightly.cron, "recover": chosen.recover.cron, "erase": chosen.erase.cron}
    data = {
        "ui": f"{url}/",
        "api": f"{url}/api",
        "deployment": "nightly/nightly",
        "cron": nightly.cron,
        "timezone": nightly.timezone,
        "schedules": crons,
        "prefect_home": str(home.folder),
    }
    lines = [
        f"web page   {url}/",
        *(f"{name:9}  {cron}  {nightly.timezone}" for name, cron in crons.items()),
        f"records    {from_here(home.folder)}",
        "",
        "Ctrl-C stops it.",
    ]
    return Outcome(data, lines, format_version=FORMAT_VERSION)


def _refuse_taken_port(serve: settings.Serve) -> None:
    family = socket.AF_INET6 if ":" in serve.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((serve.host, serve.port))
        except socket.gaierror:
            raise Usage("the setting serve.host is not a name or address of this host", hint="refold help settings") from None
        except OSError:
            raise Locked(
                f"port {serve.port} cannot be had on {serve.host}: another process holds it, perhaps `refold serve` itself",
                hint="refold serve --port N",
            ) from None


def interrupt(*_: object) -> NoReturn:
    """Take SIGTERM as Ctrl-C."""
    raise KeyboardInterrupt


RUNS = {"serve": Command(_configure, _run)}
