"""The tripwire: what Python itself can refuse, and record so that swallowing the refusal hides nothing.

The audit hook sees files, sockets, processes, imports, frames and libraries. It does not see clocks, chance, `stat` and their kind: these
functions are replaced wherever a module holds them. A violation is written out at the moment it happens; nothing is kept that could be
taken back.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType

from refold.closed.closure import Measure
from refold.errors import NotAllowed

Record = Callable[[str], None]

# Events that a pure computation raises too, and that tell it nothing.
HARMLESS_EVENTS = frozenset(("object.__getattr__", "object.__setattr__", "object.__delattr__"))

# Modules whose functions reach outside, or tell what differs from run to run, each with what is kept of it.
REACHING: dict[str, frozenset[str]] = {
    "posix": frozenset(("fspath", "strerror", "_exit", "_path_normpath")),
    "time": frozenset(),
    "select": frozenset(),
    "fcntl": frozenset(),
    "resource": frozenset(),
    "_posixsubprocess": frozenset(),
    "_posixshmem": frozenset(),
    "_multiprocessing": frozenset(),
    "_signal": frozenset(),
    "_socket": frozenset(("htonl", "htons", "ntohl", "ntohs", "inet_aton", "inet_ntoa", "inet_pton", "inet_ntop")),
    "_ssl": frozenset(),
    "_uuid": frozenset(),
    "pwd": frozenset(),
    "grp": frozenset(),
    "syslog": frozenset(),
    "faulthandler": frozenset(),
    "_thread": frozenset(("allocate_lock", "allocate", "get_ident", "_set_sentinel", "RLock", "_count")),
}
_CLOCK_METHODS = (("datetime", "now"), ("datetime", "utcnow"), ("date", "today"))


def disarm(record: Record) -> Iterator[Measure]:
    """Replace, in all modules, every function that reaches outside and raises no audit event; seed what is seeded by chance."""
    replaced = {id(function): _refusal(function.__module__ or "", function.__name__, record) for function in _reaching()}
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        for name, value in list(names.items()):
            if id(value) in replaced and isinstance(value, BuiltinFunctionType):
                names[name] = replaced[id(value)]
    _seed_only(record)
    yield Measure("functions", holds=True)
    yield _stop_clock(record)


def _reaching() -> list[BuiltinFunctionType]:
    return [
        value
        for name, kept in REACHING.items()
        for attribute, value in vars(sys.modules.get(name, object)).items()
        if isinstance(value, BuiltinFunctionType) and attribute not in kept
    ]


def _seed_only(record: Record) -> None:
    """Refuse generators that seed themselves by chance."""
    module = sys.modules.get("random")
    if module is None:
        return
    seeded, refuse = module.Random.seed, _refusal("random", "seed", record)
    module.Random.seed = lambda self, a=None, version=2: refuse() if a is None else seeded(self, a, version)
    vars(module)["seed"] = module._inst.seed


def _refusal(module: str, name: str, record: Record) -> Callable[..., None]:
    what = f"{module}.{name}"

    def refuse(*_: object, **__: object) -> None:
        record(what)
        raise NotAllowed(f"{what} reaches out of the closed worker")

    return refuse


def _stop_clock(record: Record) -> Measure:
    """Replace the clock of datetime's types, which no module holds: they are written in C, and take no attribute."""
    module = sys.modules.get("datetime")
    if module is None:
        return Measure("clock", holds=True)
    for owner, name in _CLOCK_METHODS:
        kind = getattr(module, owner)
        (names,) = (each for each in gc.get_referents(vars(kind)) if isinstance(each, dict))
        names[name] = staticmethod(_refusal("datetime", f"{owner}.{name}", record))
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
    running = [name for owner, name in _CLOCK_METHODS if not _refuses(getattr(getattr(module, owner), name))]
    return Measure("clock", holds=not running, why=", ".join(running))


def _refuses(function: Callable[..., object]) -> bool:
    return getattr(function, "__module__", "") == __name__


def arm(record: Record) -> None:
    """Refuse and record from here on whatever raises an audit event. There is no way back."""

    def hook(event: str, _: tuple[object, ...]) -> None:
        if event not in HARMLESS_EVENTS:
            record(event)
            raise NotAllowed(f"{event} reaches out of the closed worker")

    sys.addaudithook(hook)
