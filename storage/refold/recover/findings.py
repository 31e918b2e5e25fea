"""Findings: what an audit can find. A code never changes its meaning; the table of all of them is in this folder's README."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Severity(StrEnum):
    """What a finding means for whoever runs an audit."""

    BLOCKER = "blocker"  # a person must act; the audit fails
    INCOMPLETE = "incomplete"  # something could not be read, so nothing is claimed of it; the audit does not pass
    WARNING = "warning"  # nothing is lost, but it should not stay so
    NOTICE = "notice"  # harmless, and it goes away by itself


@dataclass(frozen=True, slots=True)
class Code:
    """One line of the table. `remediation` is a command, in which words in capitals stand for what the finding names."""

    code: str
    severity: Severity
    title: str
    remediation: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    code: Code
    path: Path | None = None
    transaction_id: str | None = None
    details: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def remediation(self) -> str:
        """Return the command to run next."""
        path = shlex.quote(str(self.path)) if self.path else "PATH"
        which = self.transaction_id or str(self.details.get("call_id", "ID"))
        return self.code.remediation.replace("ID", which).replace("PATH", path)


B, I, W, N = Severity.BLOCKER, Severity.INCOMPLETE, Severity.WARNING, Severity.NOTICE  # noqa: E741
LIST = "refold recover"
INSPECT = "refold recover --transaction-id ID"
KEYS = "refold help keys"
REQUESTS = "refold help requests"
DAMAGE = "refold help damage"

UNFINISHED = Code("RF-TRANSACTION-001", B, "a transaction is unfinished", INSPECT)
MALFORMED = Code("RF-TRANSACTION-002", B, "a journal is malformed", INSPECT)
UNSUPPORTED = Code("RF-TRANSACTION-003", B, "a journal has a format version that this release does not know", INSPECT)
ORPHANED = Code("RF-TRANSACTION-004", B, "the artifacts of a transaction lie without its journal", INSPECT)
UNSAFE = Code("RF-TRANSACTION-005", B, "a symbolic link, or no folder, stands where a transaction should be", LIST)
FOREIGN = Code("RF-TRANSACTION-006", B, "a journal is not this store's, not under its own name, or not in its own folder", INSPECT)
KEPT = Code("RF-TRANSACTION-007", B, "what an unfinished transaction kept is missing, or not what was kept", INSPECT)
DRIFTED = Code("RF-TRANSACTION-008", B, "a target of an unfinished transaction is not as it was recorded", INSPECT)
STRANGE = Code("RF-TRANSACTION-009", B, "something is in the folder of a transaction that does not belong there", INSPECT)
OUTLIVED = Code("RF-TRANSACTION-010", B, "a target has changed since a transaction ended: its record cannot be cleared away", INSPECT)
ENDED = Code("RF-TRANSACTION-011", W, "the record of a transaction that has ended was not cleared away: the next change does it", LIST)
UNNAMED = Code("RF-TRANSACTION-012", N, "the folder of a transaction that never began, or is over: the next change clears it away", LIST)
RUNNING = Code("RF-TRANSACTION-013", N, "a transaction is at work in another process", LIST)

VAULT_MISSING = Code("RF-KEYS-001", B, "the vault of this store is not there, or not whole", KEYS)
PIN_DAMAGED = Code("RF-KEYS-002", B, "the pinned public key of the log is damaged", KEYS)
VAULT_FOREIGN = Code("RF-KEYS-003", B, "the vault belongs to another store", KEYS)
SIGNING_MISSING = Code("RF-KEYS-004", B, "the signing key is missing or damaged", KEYS)
SIGNING_OTHER = Code("RF-KEYS-005", B, "the signing key is not the one whose public key is pinned", KEYS)
NEVER_SEALED = Code("RF-KEYS-006", B, "no epoch of the keyring has a valid seal", KEYS)
SEAL_INVALID = Code("RF-KEYS-007", B, "the seal of an epoch of the keyring is not valid", KEYS)
KEYRING_DAMAGED = Code("RF-KEYS-008", B, "a file of the keyring is missing, or not what was sealed", KEYS)
ROOT_MISSING = Code("RF-KEYS-009", B, "the root of the live epoch is missing or damaged", KEYS)
ROOT_OTHER = Code("RF-KEYS-010", B, "the root is not the one that wrapped the keyring", KEYS)
KEYS_UNSUPPORTED = Code("RF-KEYS-011", B, "vault or keyring have a format version that this release does not know", "refold --version")
EPOCH_BEHIND = Code("RF-KEYS-012", B, "the newest keyring is of an older epoch than the log", KEYS)
KEYS_UNSAFE = Code("RF-KEYS-013", B, "a symbolic link, or no file, stands where a key should be", KEYS)
OPEN_TO_OTHERS = Code("RF-KEYS-014", W, "others than its owner may read or change what only its owner should", "chmod go-rwx PATH")
UNSEALED_FILE = Code("RF-KEYS-015", W, "a file lies in an epoch of the keyring that nobody sealed", KEYS)
ROOT_OUTLIVED = Code("RF-KEYS-016", W, "the root of an epoch that is over is still there", KEYS)
ROOT_APART = Code("RF-KEYS-018", B, "what keeps the roots of this store cannot be reached, or is not what its vault says", KEYS)
PAPER_DAMAGED = Code("RF-KEYS-019", B, "a request for erasure, a hold, a docket or the register of copies is damaged", REQUESTS)
PAPER_LOST = Code("RF-KEYS-020", W, "requests that certificates answer are not in the vault: holds may be lost with them", REQUESTS)
NEVER_LIVE = Code("RF-KEYS-017", N, "an epoch of the keyring was prepared and never sealed", KEYS)

HEAL = "refold recover --log"
LOG_PAYLOAD = Code("RF-LOG-001", B, "payloads of the log are not what was committed to, or are gone without an erasure", HEAL)
LOG_HEADER = Code("RF-LOG-002", B, "headers of the log are not what was committed to, or cannot be", HEAL)
LOG_LINK = Code("RF-LOG-003", B, "entries of the log do not follow the ones before them", HEAL)
LOG_GAP = Code("RF-LOG-004", B, "entries of the log are left out", HEAL)
LOG_DUPLICATE = Code("RF-LOG-005", B, "entries of the log stand there twice", HEAL)
LOG_ORDER = Code("RF-LOG-006", B, "entries of the log were exchanged, or its commits are not in the order of time", HEAL)
LOG_PART = Code("RF-LOG-007", B, "a part of the log is not what was signed, and it does not tell which entry is to blame", HEAL)
LOG_MISSING = Code("RF-LOG-008", B, "a file of the log is missing", HEAL)
LOG_COMMIT = Code("RF-LOG-009", B, "a commit of the log is damaged, or does not belong where it stands", HEAL)
LOG_SIGNATURE = Code("RF-LOG-010", B, "a commit of the log is not signed by its key", HEAL)
LOG_CUT = Code("RF-LOG-011", B, "the log was longer when it was witnessed: its end was cut off", HEAL)
LOG_FORK = Code("RF-LOG-012", B, "the log is another history than the one that was witnessed or signed", HEAL)
LOG_OTHER = Code("RF-LOG-013", B, "store.json names another log than the vault's", DAMAGE)
LOG_POLICY = Code("RF-LOG-014", B, "the log is whole, but the settings demand more before a machine goes on", "refold help settings")
LOG_HEAD = Code("RF-LOG-015", W, "a signed head, or what was attested beside it, is damaged: it counts for nothing", "refold checkpoint")
LOG_NOT_JUDGED = Code("RF-LOG-016", I, "the log is not judged, because its pinned key cannot be had", "refold audit --keys")
LOG_UNASKED = Code("RF-LOG-017", W, "a witness could not be asked: what it has seen of the log was not compared", "refold help witness")
LOG_REFUSED = Code("RF-LOG-018", B, "nothing is added to the log, because of what was kept of the last verdict on it", HEAL)
LOG_BEHIND = Code(
    "RF-LOG-019", W, "this is a copy, and behind its store: what the store has beyond it is not missed here", "refold help copies"
)

CURRENT_DAMAGED = Code("RF-STATE-001", B, "CURRENT is damaged: the next fold starts anew", "refold fold")
MANIFEST_DAMAGED = Code("RF-STATE-002", B, "the manifest of the state is missing or damaged: the next fold starts anew", "refold fold")
RUN_DAMAGED = Code("RF-STATE-003", B, "a run of the state is missing, or not what was written", "refold fold --full")
AHEAD = Code("RF-STATE-004", B, "the state is newer than the log: the log has lost its end", DAMAGE)
OTHER_HISTORY = Code("RF-STATE-005", B, "the state was folded from another history than this log's", DAMAGE)
STATE_UNSUPPORTED = Code("RF-STATE-006", B, "the state has a format version that this release does not know", "refold --version")
STATE_UNSAFE = Code("RF-STATE-007", B, "a symbolic link, or no file, stands where a file of the state should be", DAMAGE)
LOG_DAMAGED = Code("RF-STATE-008", B, "the log that the state was folded from cannot be read", DAMAGE)
NOT_JUDGED = Code("RF-STATE-009", I, "the state is not judged, because its keys cannot be had", "refold audit --keys")
STATE_DARK = Code("RF-STATE-010", W, "the state belongs to an epoch that is over: the next fold starts anew", "refold fold")
DEBRIS = Code("RF-STATE-011", N, "files lie in the state that nothing names: a fold sweeps those of its own after a day", "refold fold")

SHOW = "refold calls show ID"
CLOSURE_UNTILED = Code("RF-CLOSURE-002", B, "a byte of a recorded request belongs to no segment, or to two", SHOW)
CLOSURE_UNDECLARED = Code("RF-CLOSURE-003", B, "a recorded request holds an event that the log does not have as it is named there", SHOW)
CLOSURE_BYTES = Code("RF-CLOSURE-004", B, "bytes of a recorded request are not what the digest of their segment stands for", SHOW)
CLOSURE_FRAME = Code("RF-CLOSURE-005", B, "a recorded request is another than what its parts render to", SHOW)
CLOSURE_INPUTS = Code("RF-CLOSURE-006", B, "a recording is sealed under other events than its request is made of", SHOW)
CLOSURE_TAG = Code("RF-CLOSURE-007", B, "the keyed digest of a recording is not that of its request", SHOW)
CLOSURE_WIRE = Code("RF-CLOSURE-008", B, "what was about to leave for a recorded call says something else than its request", SHOW)
CLOSURE_DAMAGED = Code("RF-CLOSURE-009", B, "the recorded calls cannot be read", HEAL)
CLOSURE_NOT_JUDGED = Code("RF-CLOSURE-010", I, "the recorded calls are not judged, because their keys cannot be had", "refold audit --keys")
CLOSURE_DARK = Code("RF-CLOSURE-011", N, "recorded calls are dark, so nothing is claimed of what they were made of", "refold calls list")
CLOSURE_WORDS = Code(
    "RF-CLOSURE-012", N, "recorded calls hold words that no recipe here has: it changed since, or lies elsewhere", "refold help recipes"
)
CLOSURE_CALL = Code("RF-CLOSURE-013", N, "of recorded calls the own bytes of litellm to the provider were not seen", "refold help recipes")

UNREADABLE = Code("RF-VERIFY-001", I, "something could not be read, so nothing is claimed of it", "refold audit")

CODES = tuple(value for value in list(globals().values()) if isinstance(value, Code))
