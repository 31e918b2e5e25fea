"""Audit: look at a store, area by area, and say what was found. It writes nothing, not even the time of a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from refold.errors import Corrupt, KeyMissing, NotAllowed, RefoldError, Usage, VerificationIncomplete
from refold.recover import closure, findings, heads, keys, listed, logs, state, transactions
from refold.recover.closure import Checked
from refold.recover.findings import Finding, Severity
from refold.recover.listed import Listed
from refold.recover.verify import LENIENT, Progress, has_calls, verify, verify_calls
from refold.settings import Settings
from refold.store import Places, Store, open_store
from refold.verdict import Checkpoint, Known, Policy, Verdict

AUDIT_SCHEMA_VERSION = 1


class Area(StrEnum):
    """What an audit looks at, in this order."""

    TRANSACTIONS = "transactions"
    KEYS = "keys"
    LOG = "log"
    STATE = "state"
    CLOSURE = "closure"


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit looked at, and what it found."""

    areas: tuple[Area, ...]  # without the log where it was listed only, and without the recorded calls where they were not read
    findings: tuple[Finding, ...]
    verdict: Verdict | None = None  # on the log, where it was read and could be judged
    listed: Listed | None = None  # the log, where it was listed only
    custody: str | None = None  # what keeps the root, where the keys were looked at and the vault says it
    left_out: tuple[str, ...] = ()  # what was not looked at of it where it was read
    checked: Checked | None = None  # of the recorded calls, where they were read

    def count(self, severity: Severity) -> int:
        """Return how many findings have a severity."""
        return sum(finding.code.severity is severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How the log is verified, and what it is held against."""

    known: Callable[[], Known] = Known  # asked only where there is a key to judge by
    from_checkpoint: str | None = None  # the size of one, or its file
    policy: Policy = LENIENT
    workers: int = 1
    progress: Progress = lambda done, total: None


def audit(places: Places, areas: Collection[Area] = (), *, deep: bool = False, log: LogOptions | None = None) -> Audit:
    """Look at some areas, or at all. `deep` also reads what is only listed otherwise. What cannot be read is a finding.

    The log is read where it is asked for by name, `deep` or from a checkpoint; among all areas it is listed, and read only where
    that finds something. The recorded calls are read where they are asked for by name, or `deep`. Raises Usage where no checkpoint
    is the one to begin from.
    """
    how = log or LogOptions()
    verdicts: list[Verdict] = []
    checked = Checked()
    with ExitStack() as held:
        store = None if areas or deep or how.from_checkpoint is not None else _opened(places, held)
        seen = _listed(store) if store else None
        unread = {*((Area.LOG,) if seen else ()), *(() if deep else (Area.CLOSURE,))}
        wanted = tuple(area for area in Area if area in areas or (not areas and area not in unread))
        looks: dict[Area, Callable[[], Iterator[Finding]]] = {
            Area.TRANSACTIONS: lambda: transactions.look(places),
            Area.KEYS: lambda: keys.look(places),
            Area.LOG: lambda: _log(places, deep, how, verdicts),
            Area.STATE: lambda: state.look(places, deep=deep, opened=store),
            Area.CLOSURE: lambda: closure.look(places, checked),
        }
        found = tuple(finding for area in wanted for finding in _readable(looks[area]))
    custody = keys.custody_of(places) if Area.KEYS in wanted else None
    verdict = verdicts[0] if verdicts else None
    left_out = tuple(logs.left_out(verdict, has_calls=has_calls(places))) if verdict else ()
    return Audit(wanted, found, verdict, seen, custody, left_out, checked if Area.CLOSURE in wanted else None)


def _opened(places: Places, held: ExitStack) -> Store | None:
    """Open the store; where that cannot be done, whoever looks at the area that is to blame says why."""
    try:
        return held.enter_context(open_store(places))
    except (RefoldError, FileNotFoundError):
        return None


def _listed(store: Store) -> Listed | None:
    """List the log; where that cannot be done, whoever reads it says why."""
    try:
        return listed.look(store)
    except (VerificationIncomplete, NotAllowed):
        return None


def _log(places: Places, deep: bool, options: LogOptions, verdicts: list[Verdict]) -> Iterator[Finding]:
    """Verify the log, if there is a key; yield what is wrong with it, and leave the verdict."""
    verdict, found = logs.look(places, lambda: verified(places, options, deep=deep))
    verdicts += [] if verdict is None else [verdict]
    yield from found
    for each in verdict.unasked if verdict else ():
        yield Finding(findings.LOG_UNASKED, None, details={"witness": each.name, "found": each.found})
    yield from logs.look_at_calls(places, None if verdict is None else verify_calls(places, deep=deep))


def verified(places: Places, options: LogOptions, *, deep: bool) -> Verdict:
    """Return the verdict on the log, held against what is known of it. Raises VerificationIncomplete, Usage."""
    known = options.known()
    return verify(
        places,
        deep=deep,
        from_checkpoint=None if options.from_checkpoint is None else chosen(known.checkpoints, options.from_checkpoint),
        policy=options.policy,
        known=known,
        workers=options.workers,
        progress=options.progress,
    )


def options(places: Places, settings: Settings) -> LogOptions:
    """Return what a log is held against by default: what was witnessed and signed of it, and the settings' policy."""
    return LogOptions(known=lambda: known(places, settings), policy=Policy(**asdict(settings.verify)))


def chosen(checkpoints: Sequence[Checkpoint], given: str) -> Checkpoint:
    """Return the checkpoint of a size, or in a file. Raises Usage."""
    for each in checkpoints:
        if given == str(each.size) or given.rpartition("/")[2] == each.path.rpartition("/")[2]:
            return each
    raise Usage("no validly signed checkpoint has that size, or lies in that file", hint="refold checkpoint")


def known(places: Places, settings: Settings) -> Known:
    """Return the heads that were witnessed, and those that were signed. Raises VerificationIncomplete."""
    try:
        return heads.known(places, settings)
    except (Corrupt, KeyMissing) as error:
        raise VerificationIncomplete(error.message, path=error.path, hint=error.hint) from None


def _readable(look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what a look finds; where it meets what it cannot read, that is what it found last."""
    try:
        yield from look()
    except (VerificationIncomplete, NotAllowed) as error:
        path = Path(error.path) if error.path else None
        yield Finding(findings.UNREADABLE, path, details={"found": error.message})
