"""The README is true: its commands print what it shows, its Python runs, its figures and disclaimers are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from refold import disclaimers
from tests.readme import ROOT, blocks, shown

README = blocks(ROOT / "README.md")
COMMANDS = [each for block in README if block.language == "console" for each in shown(block)]


def run(command: str, folder: Path) -> str:
    """Run a shell line as a reader would, in a folder of its own, with the venv's commands at hand."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("REFOLD_", "PREFECT_"))}
    env |= {"PATH": f"{Path(sys.executable).parent}:{env['PATH']}", "HOME": str(folder), "COLUMNS": "100"}
    env |= {"XDG_STATE_HOME": str(folder / ".state"), "XDG_CONFIG_HOME": str(folder / ".config")}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace(str(folder), ".").strip("\n")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the demo once, where the README's commands find it."""
    folder = tmp_path_factory.mktemp("readme")
    run("refold demo", folder)
    return folder


@pytest.mark.slow
@pytest.mark.prefect
@pytest.mark.parametrize("promised", COMMANDS, ids=lambda each: each.command)
def test_a_command_prints_what_the_readme_shows(demo, promised):
    printed = run(promised.command, demo)
    assert [line.rstrip() for line in printed.splitlines()] == [line.rstrip() for line in promised.output.splitlines()]


@pytest.mark.parametrize("block", [block for block in README if block.language == "python"], ids=lambda block: f"line {block.line}")
def test_the_python_of_the_readme_runs(tmp_path, block):
    (tmp_path / "example.py").write_text(block.text)
    printed = run(f"{sys.executable} example.py", tmp_path)
    for comment in re.findall(r"print\(.*?\)  # (.*)", block.text):
        assert comment in printed


def test_the_readme_says_what_cannot_be_claimed_in_the_words_of_the_code():
    text = " ".join((ROOT / "README.md").read_text().replace("`", "").split())
    assert [sentence for sentence in disclaimers.ALL if sentence.lower() not in text.lower()] == []


def test_ci_runs_the_two_commands_of_the_readme():
    setup, test = [block.text.strip() for block in README if block.language == "sh"][:2]
    assert setup.startswith("python3 -m venv .venv && ")
    assert setup.endswith("/refold demo")
    assert test == ".venv/bin/pytest"
    script = (ROOT / ".ci" / "run").read_text()
    assert '"$(command 1)"' in script
    assert '"$(command 2)"' in script
