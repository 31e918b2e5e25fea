"""Child processes: a clean environment, a certain end, and no server where a port is taken. Without Prefect."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refold import settings
from refold.cli.orchestrator import Home, address, child, stop, wait_until_answers
from refold.cli.serve import ready
from refold.errors import RefoldError
from refold.settings import Serve


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path, {"REFOLD_STORE": "/s", "REFOLD_VAULT": "/v", "REFOLD_ROOT": "/r"})


def alive(pid):
    """Whether a process runs; one that ended and was not yet fetched does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def soon(happens, seconds=10):
    until = time.monotonic() + seconds
    while not happens() and time.monotonic() < until:
        time.sleep(0.05)
    return happens()


def test_nothing_of_the_users_own_prefect_reaches_the_flows(home):
    env = home.environment(
        {"PREFECT_API_URL": "https://cloud", "PREFECT_API_KEY": "x", "PREFECT_PROFILE": "y", "PATH": "/bin", "no_proxy": "corp"}
    )
    assert "cloud" not in str(env)
    assert not {"PREFECT_API_KEY", "PREFECT_PROFILE", "PREFECT_API_URL"} & env.keys()
    assert env["PREFECT_HOME"] == str(home.folder)
    assert (env["PATH"], env["NO_PROXY"], env["REFOLD_STORE"]) == ("/bin", "corp,127.0.0.1,localhost", "/s")
    assert (env["PREFECT_SERVER_ANALYTICS_ENABLED"], env["DO_NOT_TRACK"]) == ("false", "1")


def test_settings_are_found_from_another_working_folder(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert home.environment({"REFOLD_CONFIG": "own.toml"})["REFOLD_CONFIG"] == str(tmp_path / "own.toml")
    assert "REFOLD_CONFIG" not in home.environment({})


def test_a_person_is_told_when_which_flow_runs(home):
    chosen = settings.load({})
    said = "\n".join(ready(home, chosen.serve, chosen).lines)
    for name, cron in (("nightly", chosen.nightly.cron), ("recover", chosen.recover.cron), ("erase", chosen.erase.cron)):
        assert f"\n{name:9}  {cron}  {chosen.nightly.timezone}\n" in said


def test_a_database_of_ones_own_is_handed_to_the_server(home):
    own = Serve("127.0.0.1", 4300, "postgresql+asyncpg://u@h/n", 30)
    assert home.serving(own)["PREFECT_SERVER_DATABASE_CONNECTION_URL"] == "postgresql+asyncpg://u@h/n"
    assert "PREFECT_SERVER_DATABASE_CONNECTION_URL" not in home.serving(settings.load({}).serve)


@pytest.mark.slow
def test_every_setting_that_is_handed_over_is_one_that_prefect_knows(home):
    """Prefect ignores a name that it does not know, without a word."""
    code = "import os, prefect.settings as s; known = set(s.Settings().to_environment_variables()); print(*known)"
    own = home.serving(Serve("127.0.0.1", 4300, "sqlite+aiosqlite:///x.db", 30))
    printed = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=True).stdout
    assert {name for name in own if name.startswith("PREFECT_")} <= set(printed.split())


def test_the_address_is_one_that_a_browser_here_can_open():
    assert address(Serve("0.0.0.0", 4200, "", 1)) == "http://127.0.0.1:4200"
    assert address(Serve("::1", 4200, "", 1)) == "http://[::1]:4200"


def test_a_child_ends_with_its_block_and_with_its_own_children(home, tmp_path):
    code = f"""
import pathlib, subprocess, sys, time
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(started.pid))
time.sleep(60)
"""
    with child(home, ["-c", code], os.environ) as process:
        assert soon(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    assert process.returncode == -signal.SIGTERM
    assert soon(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_a_child_that_will_not_go_is_killed(home):
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    with child(home, ["-c", code], os.environ, out=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"deaf\n"
        stop(process, seconds_max=0.2)
        process.stdout.close()
    assert process.returncode == -signal.SIGKILL


def test_children_do_not_outlive_a_parent_that_was_killed(home, tmp_path):
    code = f"""
import os, pathlib, time
from refold.cli.orchestrator import Home, child
with child(Home(pathlib.Path({str(tmp_path)!r}), {{}}), ["-c", "import time; time.sleep(60)"], os.environ) as process:
    print(process.pid, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    assert soon(lambda: not alive(pid))


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_whoever_is_told_to_stop_in_the_middle_of_a_fork_stops(tmp_path, number):
    code = f"""
import os, pathlib, signal
from refold.cli.orchestrator import Home, child
from refold.cli.serve import interrupt
signal.signal(signal.SIGTERM, interrupt)
os.register_at_fork(after_in_parent=lambda: signal.raise_signal(signal.{number}))
try:
    with child(Home(pathlib.Path({str(tmp_path)!r}), {{}}), ["-c", "import time; time.sleep(60)"], os.environ):
        print("goes on")
except KeyboardInterrupt:
    print("stops")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("stops\n", "")


def test_a_child_that_ends_too_soon_is_said_with_its_log(home):
    with child(home, ["-c", "raise SystemExit(3)"], os.environ) as process, pytest.raises(RefoldError) as raised:
        wait_until_answers(Serve("127.0.0.1", 9, "", 1), "/", process, home.log)
    assert raised.value.details == {"exit_code": 3}
    assert raised.value.path == str(home.log)


def test_a_server_that_does_not_answer_in_time_is_given_up(home):
    with child(home, ["-c", "import time; time.sleep(60)"], os.environ) as process, pytest.raises(RefoldError, match="not ready"):
        wait_until_answers(Serve("127.0.0.1", 9, "", 1), "/", process, home.log, seconds_max=0.3)


def test_a_taken_port_is_said_before_anything_starts(shell, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        printed = shell.json("serve", "--port", str(taken.getsockname()[1]))
    assert (printed.code, printed.envelope["exit_class"]) == (11, "locked")
    assert not (tmp_path / "store" / "prefect").exists()
