"""`refold demo`: the whole path once, on a shipped example, in a folder of its own.

Ids, keys and times of a demo come from a fixed seed, so that its output is the same everywhere. Its keys are therefore public, and
its three places lie side by side, where a real memory keeps them apart.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from refold import files, settings, store, times
from refold.cli import explained, forgetting, imports, remember, shown
from refold.cli.command import FORMAT_VERSION, Command
from refold.cli.envelope import Outcome
from refold.cli.orchestrator import Home, child
from refold.cli.progress import progress
from refold.cli.visible import from_here, plural, table, visible
from refold.errors import ModelFailed, RefoldError, Usage
from refold.outside import Clock, Random

if TYPE_CHECKING:
    from refold.cli.forgetting import Forgotten
    from refold.extractors import Choice
    from refold.imports.driver import ImportReport
    from refold.memory import Memory

FOLDER = Path("memory-demo")
SEED = b"refold demo"
BEGINS_AT = times.parse("2025-01-15T09:00Z")
WHO = "Ada"
FORGOTTEN = "Ruth Brandt"
PAPERS = ("certificate.json", "certificate.html")
PLACES = ("store", "vault", "root")
MARK = b"A demo of Refold. Its keys are public: put nothing of yours into it. `refold demo` removes it.\n"
QUESTION = "where does Ada live?"
SETTINGS = "refold.toml"  # of a demo that asks a model
NEXT = (
    "status",
    "facts Ada --as operator --history",
    'search "boathouse" --as operator --explain',
    'context "plan a dinner for Ada" --as operator --tokens 300',
    'sql "select kind, count(*) from log group by kind"',
)


def _configure(command: ArgumentParser) -> None:
    command.epilog = "Without --store the demo lies in ./memory-demo. A demo that is there already is made anew."
    command.add_argument("--recipe", metavar="FILE", help="let a model read the example: a recipe's file or name (`refold help recipes`)")
    command.add_argument("--model", metavar="NAME", help="the model, such as openai/NAME; without, patterns read it")
    command.add_argument("--api-base", metavar="URL", help="where the model is asked")


def _run(given: Namespace) -> Outcome:
    from refold.extractors import Choice
    from refold.memory import Memory

    folder = (given.store or FOLDER).absolute()
    choice = Choice.of(given.recipe, model=given.model, api_base=given.api_base)
    if choice.recipe is not None:
        choice.recipe.require_model()
    imported, home = fill(folder)
    night = _nightly(home, _with_model(folder, choice.said) if given.recipe or given.model else {})
    require_answers(night["counts"], folder)
    with progress() as show:
        show("forgetting somebody in a copy of it")
        done = forget(folder, choice)
    with Memory.open(folder, principal="operator") as memory:
        return shown_to(folder, memory, imported, night, done)


def fill(folder: Path) -> tuple[ImportReport, Home]:
    """Make the demo's memory anew, and import the example. Raises Usage where the folder is something else."""
    from refold.memory import Memory

    _make_room(folder)
    random, now = _seeded()
    places = store.places(folder)
    with Memory.create(places.store, vault=places.vault, root=places.root, now=now, random=random) as memory:
        return memory.import_files([settings.folder() / "demo"]), Home.of(memory.places)


def forget(folder: Path, choice: Choice) -> Forgotten:
    """Forget somebody in a copy of the demo, which then goes: what the README asks stays as it is. Leaves the certificate in the demo.

    A vault has one store, so that the keys are copied too.
    """
    with TemporaryDirectory(prefix="refold-demo-") as elsewhere:
        copy = Path(elsewhere) / "memory"
        files.make_folder(copy)
        for name in PLACES:
            shutil.copytree(folder / name, copy / name, ignore=shutil.ignore_patterns("prefect"))
        files.link_new(copy / store.DEMO, MARK)
        done = forgetting.forget(copy, Path(elsewhere) / "backup", FORGOTTEN, choice)
    for name, data in zip(PAPERS, done.papers, strict=True):
        files.link_new(folder / name, data)
    return done


def _with_model(folder: Path, said: tuple[str, ...]) -> dict[str, str]:
    """Write the settings by which the flow, in its own process, asks the model; return the environment that names them."""
    path = folder / SETTINGS
    lines = [f"{key} = {json.dumps(value)}" for key, value in zip(("recipe", "model", "api_base"), said, strict=True)]
    files.link_new(path, "\n".join(["[fold]", *lines, ""]).encode())
    return {"REFOLD_CONFIG": str(path)}


def _make_room(folder: Path) -> None:
    """Remove the demo that is there; refuse a folder that is anything else."""
    marker = folder / store.DEMO
    if marker.is_file() and not folder.is_symlink():
        for name in PLACES:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
        for name in (SETTINGS, *PAPERS):
            if (folder / name).is_file():
                files.remove(folder / name)
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Usage("this place is taken by something that is no demo", path=folder, hint="refold demo --store ANOTHER")
    else:
        files.make_folder(folder)
        files.link_new(marker, MARK)
        files.link_new(folder / ".gitignore", b"*\n")


def _seeded() -> tuple[Random, Clock]:
    """Return a stream of bytes that is always the same, and a clock that ticks a second with every look."""
    drawn = looks = 0

    def random(size: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.shake_128(SEED + drawn.to_bytes(8)).digest(size)

    def now() -> int:
        nonlocal looks
        looks += 1
        return BEGINS_AT + looks * 1_000_000

    return random, now


def _nightly(home: Home, settled: Mapping[str, str]) -> dict[str, Any]:
    """Run the nightly flow once in a process with a Prefect server of its own. Raises RefoldError where it does not complete."""
    environment = home.environment(os.environ | dict(settled))
    with progress() as show, child(home, ["-m", "flows.nightly"], environment, out=subprocess.PIPE) as process:
        while process.poll() is None:
            show("running the nightly flow in Prefect, which takes about twenty seconds to start")
            _wait(process)
        printed, _ = process.communicate()
    try:
        ended: dict[str, Any] = json.loads(printed)
    except ValueError:
        raise RefoldError("the nightly flow ended without a word", path=home.log, details={"exit_code": process.returncode}) from None
    if ended["counts"] is None:
        raise RefoldError(f"the nightly flow failed: {ended['message']}", path=home.log)
    return ended


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(0.2)
    except subprocess.TimeoutExpired:
        return


def shown_to(folder: Path, memory: Memory, imported: ImportReport, night: dict[str, Any], done: Forgotten) -> Outcome:
    """Ask what a newcomer would ask."""
    from refold.state.why import as_data

    facts = memory.facts(entity=WHO)
    hits = memory.search(QUESTION, limit=3)
    explanation = memory.why(facts[0]) if facts else None
    status = memory.status()
    counts = night["counts"]
    where = from_here(folder)
    lines = [
        f"log      {plural(status.events, 'event')} from {plural(imported.files, 'file')}, {plural(status.subjects, 'person', 'people')}",
        f"fold     {remember.facts_line(status)}, {counts['rejected']:,} rejected; {read_by(counts)}",
        f"nightly  {night['state'].lower()} in Prefect: generation {counts['generation']}",
        "",
        f"facts about {WHO}",
        *(shown.fact_table(facts, entity=False) or ["none: the model stated nothing that its answers prove"]),
        "",
        f"search   {QUESTION}",
        *shown.hit_table(hits),
        "",
        *([f"why      {facts[0].relation} {visible(facts[0].value)}", *explained.lines(explanation), ""] if explanation else []),
        *forgetting.lines(done),
        "",
        *_where(where),
        "",
        "next",
        *(f"  {typed(sys.argv[0])} {command} --store {shlex.quote(where)}" for command in NEXT),
    ]
    data = {
        "folder": str(folder),
        "import": imports.imported(imported).data,
        "nightly": night,
        "facts": [shown.fact_data(fact) for fact in facts],
        "results": [shown.hit_data(hit) for hit in hits],
        "forgotten": done.data,
        "why": as_data(explanation, shown.fact_data) if explanation else None,
    }
    return Outcome(data, lines, format_version=FORMAT_VERSION)


def require_answers(counts: Mapping[str, int], folder: Path) -> None:
    """Go on only where something came of what the model was asked: without it there is nothing to show. Raises ModelFailed."""
    if counts.get("pending") and not counts["assertions"] and not counts["rejected"]:
        said = f"the model did not answer about {plural(counts['pending'], 'event')} of the example: is it served at --api-base?"
        raise ModelFailed(said, hint=f"refold calls list --store {shlex.quote(from_here(folder))}")


def read_by(counts: Mapping[str, int]) -> str:
    """Return what read the example."""
    if "calls" not in counts:
        return "read by patterns, no model was asked"
    pending = f", {plural(counts['pending'], 'event')} pending" if counts["pending"] else ""
    return f"read by a model in {plural(counts['calls'], 'call')}{pending}: refold calls list"


def _where(where: str) -> list[str]:
    rows = [
        (f"{where}/store/log", "what was said: sealed, signed, append-only"),
        (f"{where}/store/state", "what was made of it: encrypted, can be made again"),
        (f"{where}/store/prefect", "what Prefect recorded: ids and counts"),
        (f"{where}/vault", "the keys, wrapped"),
        (f"{where}/root", "what opens them"),
        (f"{where}/{PAPERS[1]}", "what is certified of the forgetting, as a page"),
    ]
    return [
        "where everything lies",
        *table(rows),
        "A real memory keeps store, vault and root apart (refold init). The keys of this one are public: put nothing of yours into it.",
    ]


def typed(argv0: str, env: Mapping[str, str] = os.environ) -> str:
    """Return how whoever ran this command names `refold`: by its name where their shell finds it, else by its path."""
    found = shutil.which("refold", path=env.get("PATH"))
    if Path(argv0).name != "refold" or (found and Path(found).absolute() == Path(argv0).absolute() and not _is_run_by_uv(env)):
        return "refold"
    return shlex.quote(from_here(Path(argv0).absolute()))


def _is_run_by_uv(env: Mapping[str, str]) -> bool:
    # `uv run` puts the venv on the PATH of this process alone.
    return "UV_RUN_RECURSION_DEPTH" in env


RUNS = {"demo": Command(_configure, _run)}
