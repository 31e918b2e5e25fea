"""Transactions: changes of more than one file, which an interruption leaves completable or reversible, and never half forgotten."""

from __future__ import annotations

from refold.journal.engine import Transaction, Turn, commit, mutating
from refold.journal.record import RecordedChange, RecordedCommit
from refold.journal.recovery import Cause, Direction, Inspection, Obstacle, StepSeen, inspect, recover
from refold.journal.scan import Condition, Entry, entries, is_running, require_appendable, require_clear, settle
from refold.journal.steps import (
    ABSENT,
    AUTHORITIES,
    FOLDER,
    JOURNAL,
    LOCK,
    Change,
    Intent,
    Kind,
    LogCommit,
    Place,
    Places,
    Step,
    Target,
    add_folder,
    digest,
    register,
    remove,
    write,
)

__all__ = [
    "ABSENT",
    "AUTHORITIES",
    "FOLDER",
    "JOURNAL",
    "LOCK",
    "Cause",
    "Change",
    "Condition",
    "Direction",
    "Entry",
    "Inspection",
    "Intent",
    "Kind",
    "LogCommit",
    "Obstacle",
    "Place",
    "Places",
    "RecordedChange",
    "RecordedCommit",
    "Step",
    "StepSeen",
    "Target",
    "Transaction",
    "Turn",
    "add_folder",
    "commit",
    "digest",
    "entries",
    "inspect",
    "is_running",
    "mutating",
    "recover",
    "register",
    "remove",
    "require_appendable",
    "require_clear",
    "settle",
    "write",
]
