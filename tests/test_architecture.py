"""The structure holds: imports point one way, every outside thing has one owner, the fold is pure, files stay small.

Each rule is a pure function from parsed modules to faults, and each is shown to catch a planted fault.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Lower may not import higher. A module's layer is that of its longest prefix here.
LAYERS = {
    "refold.disclaimers": 0,
    "refold.errors": 0,
    "refold.outside": 0,
    "refold.units": 0,
    "refold.model": 1,
    "refold.permitted": 1,
    "refold.reading": 1,
    "refold.verdict": 1,
    "refold.words": 1,
    "refold.canonical": 2,
    "refold.files": 2,
    "refold.given": 3,
    "refold.html": 1,
    "refold.search_recipe": 3,
    "refold.recent": 2,
    "refold.settings": 2,
    "refold.times": 2,
    "refold.fold": 2,
    "refold.closed": 3,
    "refold.scan": 3,
    "refold.keys": 3,
    "refold.journal": 4,
    "refold.log": 4,
    "refold.store": 5,
    "refold.quarantine": 6,
    "refold.state": 6,
    "refold.calls": 6,
    "refold.ingest": 6,
    "refold.recipes": 6,
    "refold.asking": 7,
    "refold.corrections": 7,
    "refold.evaluation": 7,
    "refold.extractors": 7,
    "refold.imports": 7,
    "refold.copies": 7,
    "refold.folding": 7,
    "refold.profiling": 7,
    "refold.heads": 7,
    "refold.register": 7,
    "refold.report": 7,
    "refold.migrate": 7,
    "refold.receipts": 7,
    "refold.recover": 7,
    "refold.erase": 7,
    "refold.export": 7,
    "refold.status": 7,
    "refold.vectors": 7,
    "refold.memory": 8,
    "refold.mcp": 9,
    "refold": 9,
    "flows": 10,
    "refold.cli": 10,
}

# Who alone may import what.
OWNERS = {
    "cryptography": {"refold.keys.crypto"},
    "duckdb": {"refold.state.views", "refold.scan.databases"},  # the scan opens other programs' files
    "litellm": {"refold.calls.provider"},
    "openai": {"refold.calls.provider"},
    "httpx": {"refold.calls.wire", "refold.calls.provider"},
    "fastmcp": {"refold.mcp"},
    "fcntl": {"refold.files"},
    "mcp": {"refold.mcp"},
    "networkx": {"refold.export.forms"},
    "pkcs11": {"refold.keys.hsm"},
    "prefect": {"flows"},
    "pyarrow.parquet.encryption": {"refold.state.runs"},
    "wordllama": {"refold.state.embedding"},
}

# What only files.py may call: everything that makes a name or its bytes durable.
DURABLE_OF_OS = {
    *("fsync", "fdatasync", "link", "symlink", "rename", "renames", "replace", "unlink", "remove", "rmdir", "mkdir", "makedirs", "rmtree"),
    *("chmod", "truncate", "move", "copy", "copy2", "copyfile", "copytree"),
}
DURABLE_OF_PATH = {"unlink", "rmdir", "mkdir", "write_bytes", "write_text", "touch", "hardlink_to", "symlink_to", "rename", "chmod"}
DURABLE_OWNERS = {"refold.files", "refold.cli.demo"}
LOG_OWNERS = {"refold.cli.orchestrator"}  # what its children print is appended to a log, and is no part of a store

# Who alone may keep something for the life of the process: nothing of what anybody said, nor a key.
CACHE_OWNERS = {
    "refold.fold.forms",  # how types are written
    "refold.fold.request",  # digests of the recipes' words
    "refold.keys.crypto",  # labels, public keys
    "refold.keys.epochs",  # seals that were checked: signed lists of digests
    "refold.recipes",  # the shipped configs
    "refold.scan.forms",  # the schemas of the package
    "refold.search_recipe",
    "refold.settings",  # where they lie
    "refold.state.embedding",  # the weights of its wheel
    "refold.state.score",  # tables of numbers
    "refold.state.search",
    "refold.words",  # a pattern
}

IMPURE_MODULES = {
    "os",
    "sys",
    "io",
    "time",
    "random",
    "secrets",
    "uuid",
    "pathlib",
    "shutil",
    "tempfile",
    "socket",
    "subprocess",
    "threading",
}
IMPURE_CALLS = {"open", "input", "print", "now", "today", "utcnow", "urandom"}


@dataclass(frozen=True)
class Module:
    """One parsed module."""

    name: str
    nodes: tuple[ast.AST, ...]  # all of its tree, walked once for all rules
    lines: int


def parse(name: str, code: str) -> Module:
    return Module(name, tuple(ast.walk(ast.parse(code))), code.count("\n"))


@pytest.fixture(scope="module")
def modules() -> tuple[Module, ...]:
    """Return every module, parsed once for all rules.

    The collector would look through the growing trees again and again, and find nothing to free: without it, parsing takes a third.
    """
    gc.disable()
    try:
        return tuple(_parsed())
    finally:
        gc.enable()


def _parsed() -> Iterator[Module]:
    for base, folder in ((ROOT / "storage", "refold"), (ROOT, "flows")):
        for path in sorted((base / folder).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield parse(name, path.read_text(encoding="utf-8"))


def imported(module: Module) -> Iterator[str]:
    """Yield the full names a module imports; `from refold import model` yields both `refold` and `refold.model`."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module != "refold":
                yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(name: str) -> int | None:
    """Return the layer of a module's longest listed prefix."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        prefix = ".".join(parts[:end])
        if prefix in LAYERS and (prefix != "refold" or end == len(parts)):
            return LAYERS[prefix]
    return None


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def upward_imports(module: Module) -> Iterator[str]:
    mine = layer(module.name)
    if mine is None:
        yield f"{module.name} has no layer: give it one in LAYERS"
        return
    for name in imported(module):
        theirs = layer(name)
        if theirs is not None and theirs > mine:
            yield f"{module.name} (layer {mine}) imports {name} (layer {theirs})"


def foreign_owners(module: Module) -> Iterator[str]:
    for name in imported(module):
        for thing, owners in OWNERS.items():
            if (name == thing or name.startswith(thing + ".")) and not any(
                module.name == o or module.name.startswith(o + ".") for o in owners
            ):
                yield f"{module.name} imports {thing}, which belongs to {', '.join(sorted(owners)) or 'nobody yet'}"


def durable_writes(module: Module) -> Iterator[str]:
    if module.name in DURABLE_OWNERS:
        return
    for node in module.nodes:
        if isinstance(node, ast.Call) and (what := _durable(node)) and not (what == "open to write" and module.name in LOG_OWNERS):
            yield f"{module.name}:{node.lineno} calls {what}, which belongs to refold.files"


def _durable(call: ast.Call) -> str | None:
    """Return what a call does to a disk: make, replace or take away a name, or open a file to write."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    base = function.value if isinstance(function, ast.Attribute) else None
    of_os = isinstance(base, ast.Name) and base.id in ("os", "shutil")
    if name == "open":
        creates = of_os and any(flag in ast.unparse(call) for flag in ("O_CREAT", "O_TRUNC"))
        return "open to write" if creates or any(map(_writes, _modes(call))) else None
    if base is None or name in (DURABLE_OF_OS if of_os else DURABLE_OF_PATH):
        return name if base is not None else None
    # Of a text it takes two arguments, of a time named ones; of a path the target alone.
    return name if name == "replace" and len(call.args) == 1 and not call.keywords else None


def _modes(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what may be the mode of a call of `open`: of the built-in the second argument, of a path the first."""
    yield from call.args[1:2] if isinstance(call.func, ast.Name) else call.args[:2]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "mode")


def _writes(mode: ast.expr) -> bool:
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and bool(re.fullmatch(r"[rbt]*[wax+][wax+rbt]*", mode.value))


def everlasting_caches(module: Module) -> Iterator[str]:
    if any(within(module.name, owner) for owner in CACHE_OWNERS):
        return
    kept = {"functools.cache", "functools.lru_cache"}
    used = {ast.unparse(node) for node in module.nodes if isinstance(node, ast.Attribute) and node.attr in ("cache", "lru_cache")}
    for name in kept & {*imported(module), *used}:
        yield f"{module.name} uses {name}, which keeps what it was asked for while the process lives, also when a memory was closed"


def impurities(module: Module) -> Iterator[str]:
    if not module.name.startswith("refold.fold.") and module.name not in ("refold.fold", "refold.model", "refold.reading"):
        return
    for name in imported(module):
        if name.split(".")[0] in IMPURE_MODULES:
            yield f"{module.name} imports {name}: the fold reads nothing but what it is handed"
    for node in module.nodes:
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if called in IMPURE_CALLS:
                yield f"{module.name}:{node.lineno} calls {called}: the fold has no clock, no chance and no files"


def sizes(module: Module) -> Iterator[str]:
    if module.lines > 400:
        yield f"{module.name} has {module.lines} lines: at most 400"
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > 60:
                yield f"{module.name}:{node.lineno} {node.name} has {length} lines: about 10, rarely over 40, never over 60"


def silent_handlers(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.ExceptHandler) and len(node.body) == 1 and isinstance(node.body[0], ast.Pass):
            yield f"{module.name}:{node.lineno} swallows an exception"
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield f"{module.name}:{node.lineno} catches everything"


def uncoded(module: Module) -> Iterator[str]:
    """Yield what a flow or task does outside of `coded`: an exception that leaves it is stored by Prefect with its words."""
    for node in module.nodes if within(module.name, "flows") else ():
        if isinstance(node, ast.FunctionDef) and any("flow(" in text or "task(" in text for text in map(ast.unparse, node.decorator_list)):
            for statement in node.body[1:] if ast.get_docstring(node) else node.body:
                is_coded = isinstance(statement, ast.Return) and ast.unparse(statement).startswith("return coded(")
                if not (is_coded or isinstance(statement, ast.FunctionDef)):
                    yield f"{module.name}:{statement.lineno} {node.name} does this outside of coded()"


RULES = (uncoded, upward_imports, foreign_owners, durable_writes, everlasting_caches, impurities, sizes, silent_handlers)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_module_breaks_the_rule(rule, modules):
    assert [fault for module in modules for fault in rule(module)] == []


PLANTED = [
    (
        uncoded,
        "flows.recover",
        "@task(name='heal')\ndef mend(where):\n    known(where)\n    return coded(lambda: repair())\n",
    ),
    (uncoded, "flows.recover", "@flow(name='recover')\ndef recover(origin):\n    return check(origin)\n"),
    (upward_imports, "refold.log.read", "from refold.state import search\n"),
    (upward_imports, "refold.fold.merge", "from refold.log.read import Log\n"),
    (upward_imports, "refold.novelty", "x = 1\n"),
    (foreign_owners, "refold.log.commit", "from cryptography.hazmat.primitives import hashes\n"),
    (foreign_owners, "refold.state.search", "def f():\n    import duckdb\n"),
    (foreign_owners, "refold.memory", "import prefect\n"),
    (foreign_owners, "refold.keys.custody", "def f():\n    from pkcs11 import lib\n"),
    (foreign_owners, "refold.keys.roots", "import fcntl\n"),
    (foreign_owners, "refold.state.rows", "from wordllama import WordLlama\n"),
    (durable_writes, "refold.log.append", "import os\nos.link('a', 'b')\n"),
    (durable_writes, "refold.state.runs", "from pathlib import Path\nPath('a').unlink()\n"),
    (durable_writes, "refold.state.runs", "from pathlib import Path\nPath('a').rename('b')\n"),
    (durable_writes, "refold.state.runs", "from pathlib import Path\nPath('a').replace('b')\n"),
    (durable_writes, "refold.state.runs", "from pathlib import Path\nPath('a').open('wb')\n"),
    (durable_writes, "refold.state.runs", "from pathlib import Path\nPath('a').open(encoding='utf-8', mode='r+')\n"),
    (durable_writes, "refold.state.runs", "open('a', 'w')\n"),
    (durable_writes, "refold.state.runs", "open('a', 'xb')\n"),
    (durable_writes, "refold.state.runs", "open('a', mode='a')\n"),
    (durable_writes, "refold.state.runs", "import gzip\ngzip.open('a', 'wt')\n"),
    (durable_writes, "refold.state.runs", "import os\nos.open('a', os.O_WRONLY | os.O_CREAT)\n"),
    (durable_writes, "refold.cli.orchestrator", "from pathlib import Path\nPath('a').unlink()\n"),
    (everlasting_caches, "refold.fold.merge", "from functools import lru_cache\nnormal = lru_cache(9)(str)\n"),
    (everlasting_caches, "refold.state.facts", "import functools\n@functools.cache\ndef f(x):\n    return x\n"),
    (impurities, "refold.fold.symbolic", "import time\n"),
    (impurities, "refold.fold.ground", "def f():\n    return open('x').read()\n"),
    (impurities, "refold.fold.dates", "from datetime import datetime\nx = datetime.now()\n"),
    (sizes, "refold.memory", "x = 1\n" * 401),
    (sizes, "refold.memory", "def f():\n" + "    x = 1\n" * 61),
    (silent_handlers, "refold.ingest", "try:\n    x = 1\nexcept OSError:\n    pass\n"),
    (silent_handlers, "refold.ingest", "try:\n    x = 1\nexcept:\n    raise\n"),
]


@pytest.mark.parametrize(("rule", "name", "code"), PLANTED, ids=lambda v: getattr(v, "__name__", None))
def test_a_planted_fault_is_caught(rule, name, code):
    assert list(rule(parse(name, code)))


def test_a_clean_module_is_not_accused():
    clean = parse(
        "refold.log.read",
        "from refold.files import read\nfrom refold.model import Event\n\n\ndef f():\n"
        "    return read('a'), Event, open('a'), open('a', 'rb'), Event.open('r'), 'a'.replace('a', 'b'), now.replace(tzinfo=None)\n",
    )
    assert [fault for rule in RULES for fault in rule(clean)] == []


def room(name: str) -> str:
    """Return the room of a module: the folder of the library that it lies in, or itself where it lies in none."""
    return ".".join(name.split(".")[:2])


def circles(some: Iterable[Module]) -> Iterator[str]:
    """Yield every import from one room to another from which, over however many rooms, imports lead back."""
    found = {module.name: module for module in some}
    into: dict[str, set[str]] = {}
    for module in found.values():
        named = {next((name[:end] for end in _ends(name) if name[:end] in found), None) for name in imported(module)}
        into.setdefault(room(module.name), set()).update(room(name) for name in named if name)
    for start, rooms in into.items():
        yield from (f"{start} imports {other}, from which imports lead back" for other in rooms - {start} if start in _reached(into, other))


def _ends(name: str) -> Iterator[int]:
    yield len(name)
    yield from (at for at in range(len(name) - 1, 0, -1) if name[at] == ".")


def _reached(into: dict[str, set[str]], start: str) -> set[str]:
    seen, left = {start}, [start]
    while left:
        new = into.get(left.pop(), set()) - seen
        seen |= new
        left += new
    return seen


def test_no_rooms_point_in_a_circle(modules):
    assert list(circles(modules)) == []


def test_a_circle_of_rooms_is_caught_also_over_a_third_one():
    planted = [
        parse("refold.copies.restore", "from refold.recover.repair import repair\n"),
        parse("refold.recover.repair", "def f():\n    from refold import receipts\n"),
        parse("refold.receipts", "from refold.copies import restore\n"),
        parse("refold.log.read", "from refold.log.entry import header\n"),
        parse("refold.log.entry", "from refold.log import read\n"),
    ]
    assert len(list(circles(planted))) == 3


# What of refold.files makes, replaces or takes away a name.
WRITING = {
    *("create", "create_all", "link_new", "replace", "put", "remove", "remove_folder", "rename_folder", "add_folder", "make_folder"),
}


def test_what_writes_without_a_transaction_stands_in_the_table_with_its_reason(modules):
    """The journal carries out every change of several files, except those that storage/README.md lists and gives a reason for."""
    text = (ROOT / "storage" / "README.md").read_text()
    table = text.split("\n| what | why an interruption leaves no half of it | written by |\n")[1].split("\n\n")[0]
    listed = {f"refold.{name}" for row in table.splitlines() for name in re.findall(r"`([a-z_.]+)`", row.split(" | ")[-1])}
    writing = {module.name for module in modules if any(_is_durable(node) for node in module.nodes)}
    assert {name for name in writing if not within(name, "refold.journal")} == listed


def _is_durable(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    is_of_files = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "files"
    return is_of_files and function.attr in WRITING
