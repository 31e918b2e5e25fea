"""Whatever call of a verb the system refuses, or a kill comes before: an audit says nothing worse than is so, and the same call ends it.

In CI some of the calls, spread over each verb; with REFOLD_EXHAUSTIVE all of them.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refold.errors import VerificationIncomplete, WriteFailed
from refold.recover.audit import Area, audit
from refold.recover.findings import Severity
from refold.store import Places
from tests.journal import in_child, killing, unsynced
from tests.log import CALLS, Disk
from tests.recover.alice import EXHAUSTIVE
from tests.recover.verbs import VERBS, Verb

TRIES = 4  # calls of a verb at which it is stopped in each way
SAID = {WriteFailed.exit_code, VerificationIncomplete.exit_code}  # by which a verb owns that the system refused
Step = Callable[[int, str, Callable[[], Any]], Any]


class EveryCall(Disk):
    """A disk that counts the opening of files for reading, too."""

    def counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            self.count += 1
            return self._step(self.count, name, lambda: real(*given, **named))

        return called


def refusing(code: int) -> Callable[[int], Step]:
    """Return what makes the step that refuses one call; fsync is refused too, and costs nothing else."""

    def at(number: int) -> Step:
        def step(count: int, name: str, call: Callable[[], Any]) -> Any:
            if count == number:
                raise OSError(code, os.strerror(code))
            return None if name == "fsync" else call()

        return step

    return at


WAYS = {"killed": killing, "no space": refusing(errno.ENOSPC), "input/output error": refusing(errno.EIO)}


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    with unsynced():
        yield


def copied(like: Places, folder: Path) -> Places:
    shutil.copytree(like.store.parent / "base", folder)
    return Places(folder / "store", folder / "vault", folder / "root", like.origin)


def calls_of(verb: Verb, where: Places) -> int:
    """Return how many calls of the system a verb makes, by letting it make them."""
    read, write = os.pipe()
    disk = EveryCall(lambda count, name, call: None if name == "fsync" else call(), CALLS)

    def counted() -> None:
        verb.run(where)
        os.write(write, str(disk.count).encode())

    assert in_child(counted, disk) == 0
    os.close(write)
    with os.fdopen(read) as answer:
        return int(answer.read())


def chosen(count: int, way: int) -> list[int]:
    """Return the calls to stop at: all, or some that are others in each way."""
    return (
        list(range(1, count + 1)) if EXHAUSTIVE else [1 + (count * at // TRIES + way * count // (TRIES * len(WAYS))) for at in range(TRIES)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VERBS)
def test_stopped_at_any_call_an_audit_says_what_is_so_and_the_same_call_ends_it(name: str, way: str, places: Places, tmp_path: Path):
    verb = VERBS[name]
    verb.prepare(places)
    base = tmp_path / "base"
    base.mkdir()
    for each in [path for path in tmp_path.iterdir() if path != base]:
        each.rename(base / each.name)
    stopped = 0
    for at in chosen(calls_of(verb, copied(places, tmp_path / "model")), list(WAYS).index(way)):
        where = copied(places, tmp_path / "stopped")
        code = in_child(lambda: verb.run(where), EveryCall(WAYS[way](at), CALLS))  # noqa: B023
        assert code in ({-signal.SIGKILL} if way == "killed" else SAID | {0}), (at, code)
        stopped += code != 0
        audited(name, where)
        verb.check(where)
        verb.run(where)
        verb.ended(where)
        audited(name, where, ended=True)
        shutil.rmtree(where.store.parent)
    assert stopped > TRIES // 2


def audited(name: str, where: Places, *, ended: bool = False) -> None:
    """Look at everything: nothing is wrong but what was before the verb, or what it has not ended yet."""
    found = [
        each for each in audit(where, tuple(Area), deep=True).findings if each.code.severity in (Severity.BLOCKER, Severity.INCOMPLETE)
    ]
    assert not found or (name == "recover" and not ended), [(each.code.code, each.path) for each in found]
