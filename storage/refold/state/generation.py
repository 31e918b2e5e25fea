"""The state as a reader sees it: one generation, opened without reading its rows, or the empty state that says why there is none.

A generation counts only if its epoch is live and its size and last hash lie on the log. Anything else is absent: it is folded again,
never repaired, and nothing of it is removed by looking.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from refold import files, journal
from refold.errors import Corrupt, KeyMissing, RefoldError, Usage
from refold.files import Kind
from refold.fold.entities import Edge
from refold.model import Mention, SubjectId, View
from refold.reading import Claim
from refold.recent import Recent
from refold.state import claims, segments
from refold.state.manifest import CURRENT, REBUILD, RUNS, Manifest, Pointer, file_name
from refold.state.runs import Groups, Run
from refold.state.tables import TABLES
from refold.state.tags import Tags
from refold.state.visible import Labels, Visible

if TYPE_CHECKING:
    from refold.store import Store

STATE = "state"  # within the store
EMPTY = Pointer(0, 0, 0, b"")
PUBLISHED_SECONDS_MAX = 5.0  # between SEALED and CURRENT an erasure syncs one file
POLL_SECONDS = 0.005
RECENT_BYTES_MAX = 64 << 20  # of row groups that were read last


class Absence(StrEnum):
    """Why there is no state to read."""

    NEVER = "nothing was folded yet"
    EPOCH = "the state belongs to an epoch that is not live"
    LOG = "the state does not lie on this log"
    DAMAGED = "a file of the state is missing or damaged"


class State:
    """One generation. Rows are read from disk when they are asked for; what was read does not change."""

    def __init__(self, store: Store, manifest: Manifest, *, current: bytes | None) -> None:
        self.store = store
        self.manifest = manifest
        self.current = current  # the bytes of CURRENT that led here
        self.absent: Absence | None = None
        self.finding: RefoldError | None = None  # what is damaged, where the absence is damage
        self.epoch = store.keyring.epoch
        self._key = store.keyring.state_key
        self.tags = Tags(self._key)
        self._runs: dict[str, list[Run]] = {}
        self._recent: Groups = Recent(bytes_max=RECENT_BYTES_MAX)
        self.kept: dict[str, object] = {}  # what readers keep in memory with this generation
        self._mutex = threading.Lock()
        self._readers = 0
        self._retired = False
        self._labels: Labels | None = None
        self._subjects: frozenset[bytes] | None = None

    @classmethod
    def open(cls, store: Store) -> State:
        """Open the current generation, or the empty state with its `absent` reason. Raises only what is not about the state."""
        folder = state_folder(store)
        current = read_current(folder)
        if current is None:
            return cls.empty(store, Absence.NEVER, current=current)
        try:
            pointer = Pointer.read(current, path=folder / CURRENT)
        except Corrupt as error:
            return cls.empty(store, Absence.DAMAGED, current=current, finding=error)
        if pointer.epoch != store.keyring.epoch:
            return cls.empty(store, Absence.EPOCH, current=current)
        try:
            manifest = _manifest(folder, pointer, store.keyring.state_key)
        except Corrupt as error:
            return cls.empty(store, Absence.DAMAGED, current=current, finding=error)
        if not _on_log(store, pointer):  # the sealed manifest says so too: it is the log that is not what it was
            return cls.empty(store, Absence.LOG, current=current)
        return cls(store, manifest, current=current)

    @classmethod
    def empty(cls, store: Store, absent: Absence, *, current: bytes | None, finding: RefoldError | None = None) -> State:
        """Return the state of a log of which nothing is folded."""
        state = cls(store, Manifest(EMPTY, b"", b""), current=current)
        state.absent, state.finding = absent, finding
        return state

    def require_rows(self) -> None:
        """Refuse to answer from a state that is not readable, rather than with nothing. Raises Corrupt, KeyMissing."""
        self.require_its_log()
        if self.absent is Absence.DAMAGED:
            path = self.finding.path if self.finding else self._current_path
            raise Corrupt(f"the state cannot be read: {self.absent.value}", path=path, hint=REBUILD)
        if self.absent is Absence.EPOCH:
            raise KeyMissing(self.absent.value, path=self._current_path, hint="refold fold")

    def require_its_log(self) -> None:
        """Refuse to go on where the log has lost what was folded from it: its numbers would be given twice. Raises Corrupt."""
        if self.absent is Absence.LOG:
            raise Corrupt("the log has lost entries that the state was folded from", path=self._current_path, hint="refold recover --log")

    @property
    def _current_path(self) -> Path:
        return state_folder(self.store) / CURRENT

    def close(self) -> None:
        """Let go of files and of everything read from them."""
        for runs in self._runs.values():
            for run in runs:
                run.close()
        self._runs = {}
        self._recent.clear()
        self.kept.clear()
        self._labels = self._subjects = None

    def retire(self) -> None:
        """Close the state as soon as no thread reads it any more."""
        with self._mutex:
            self._retired = True
            unused = not self._readers
        if unused:
            self.close()

    @contextmanager
    def in_use(self) -> Generator[Self]:
        """Keep the state open while it is read."""
        with self._mutex:
            self._readers += 1
        try:
            yield self
        finally:
            with self._mutex:
                self._readers -= 1
                over = self._retired and not self._readers
            if over:
                self.close()

    @property
    def number(self) -> int:
        return self.manifest.pointer.number

    @property
    def size(self) -> int:
        """Return how many entries of the log are folded: sequence numbers below this one."""
        return self.manifest.pointer.size

    def size_at(self, generation: int) -> int:
        """Return how many entries an earlier generation had folded, or this one; 0 for generation 0, before any fold.

        Raises Usage where that is not known any more.
        """
        sizes = {0: 0, **dict(self.manifest.chain)}
        if generation not in sizes:
            message = "of that generation it is not known what it had folded: it is none, or was before a full fold or an erasure"
            raise Usage(message, hint="refold help diff", details={"known_since": self.manifest.chain[0][0]})
        return sizes[generation]

    @property
    def counts(self) -> dict[str, int]:
        """Return the rows of each table; of a set, rows that came in several folds count each time."""
        counts = dict.fromkeys(TABLES, 0)
        for table, run in self.manifest.listed:
            counts[table] += run.rows
        if any(segment.voids for segment in self.manifest.segments):
            counts |= {name: self.table(name, [table.key]).num_rows for name, table in TABLES.items() if table.is_read}
        return counts

    @property
    def pending(self) -> tuple[int, ...]:
        """Return the events that are folded but for what a model would read out of them: it has not answered yet."""
        return self.manifest.pending

    def runs(self, table: str) -> list[Run]:
        """Return the open runs of a table, oldest first."""
        runs = self._runs.get(table)
        if runs is None:
            folder = state_folder(self.store) / RUNS
            runs = self._runs[table] = [
                Run(folder / run.name, state_key=self._key, table=TABLES[table], voided=gone, recent=self._recent)
                for run, gone in self.manifest.runs_of(table)
            ]
        return runs

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a whole table in its order."""
        return segments.whole(self.runs(name), TABLES[name], columns)

    def lookup(self, table: str, keys: Sequence[Any], columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of a table whose first column is among `keys`."""
        return segments.lookup(self.runs(table), TABLES[table], keys, columns)

    def having(self, table: str, column: str, values: Collection[int], columns: Sequence[str]) -> pa.Table:
        """Return the rows of a table of which a column of tags is among `values`, in no promised order."""
        return segments.having(self.runs(table), TABLES[table], column, values, columns)

    def claims(self, mentions: Iterable[int], relations: Collection[str] | None = None) -> list[Claim]:
        """Return what is stated about some mentions, of some relations or all, in no promised order."""
        if relations is None:
            return claims.claims(self.lookup("assertions", list(mentions)))
        return claims.claims(segments.lookup_where(self.runs("assertions"), TABLES["assertions"], list(mentions), "relation", relations))

    def mentions_valuing(self, mentions: Iterable[int]) -> dict[int, list[int]]:
        """Return for each of some mentions about which others something is stated with it as the value."""
        found: dict[int, list[int]] = {mention: [] for mention in mentions}
        for value, mention in zip(*(column.to_pylist() for column in self.lookup("valued", list(found)).columns), strict=True):
            found[value].append(mention)
        return found

    def claims_with_id(self, prefix: bytes) -> list[Claim]:
        """Return the claims whose fact id starts with `prefix`. Reads one column of all row groups, then the rows."""
        found: list[Claim] = []
        for run in self.runs("assertions"):
            for group in range(run.groups):
                ids = run.read([group], ["fact_id"])["fact_id"].to_pylist()
                places = [place for place, fact_id in enumerate(ids) if fact_id.startswith(prefix)]
                if places:
                    found += claims.claims(run.read([group]).take(places))
        return found

    def edges_of(self, mentions: Iterable[int]) -> list[Edge]:
        """Return the alias statements in which one of the mentions is `a`; each stands in both directions."""
        return claims.edges(self.lookup("edges", list(mentions)))

    def all_edges(self) -> list[Edge]:
        """Return every alias statement, in both directions, in the order of the table."""
        return claims.edges(self.table("edges"))

    def mentions_named(self, name: str) -> dict[int, Mention]:
        """Return the mentions that go by a name, and first persons that speak under it, by their tags."""
        rows = self.lookup("mentions", [self.tags.name(name)], ["mention", "owner", "name"])
        return {row["mention"]: Mention(row["owner"], row["name"]) for row in rows.to_pylist()}

    def visible(self, view: View) -> Visible:
        """Return which scopes and audiences a view may see, of those that are folded."""
        if self._labels is None:
            self._labels = Labels(self.table("labels"))
        return self._labels.visible(view)

    def subjects_of(self, alias_tags: Sequence[bytes]) -> dict[bytes, SubjectId]:
        """Return the data subject of each alias that is known: the one that had it first."""
        rows = self.lookup("aliases", alias_tags, ["alias_tag", "subject", "seq"]).to_pylist()
        return {row["alias_tag"]: SubjectId(row["subject"]) for row in sorted(rows, key=lambda row: row["seq"], reverse=True)}

    def seen(self, tags: Sequence[bytes]) -> dict[bytes, int]:
        """Return the first event of each tag that was added before."""
        rows = self.lookup("seen", tags).to_pylist()
        return {row["tag"]: row["seq"] for row in sorted(rows, key=lambda row: row["seq"], reverse=True)}

    def knows(self, subjects: Iterable[SubjectId]) -> set[SubjectId]:
        """Return those of the subjects that have an entry in the live epoch."""
        if self._subjects is None:
            rows = self.table("aliases", ["subject", "epoch"])
            pairs = zip(rows["subject"].to_pylist(), rows["epoch"].to_pylist(), strict=True)
            self._subjects = frozenset(subject for subject, epoch in pairs if epoch == self.epoch)
        return {subject for subject in subjects if subject in self._subjects}


def state_folder(store: Store) -> Path:
    return store.places.store / STATE


def read_current(folder: Path) -> bytes | None:
    """Return the bytes of CURRENT; None where there is none yet."""
    try:
        return files.read(folder / CURRENT)
    except FileNotFoundError:
        return None


def is_current(store: Store, state: State) -> bool:
    """Whether a state is still what CURRENT and the live epoch say."""
    return state.current == read_current(state_folder(store)) and state.epoch == store.log.recheck_keys().epoch


@contextmanager
def reading(store: Store, state: State) -> Generator[State]:
    """Hold off whoever removes generations, and give the state to read: this one, or a newer one if CURRENT has moved.

    The state that is given may be kept for the next call; one that is out of date is closed once no other thread reads it.
    """
    with files.lock(store.vault.readers_lock, exclusive=False):
        if not is_current(store, state):
            state.retire()
            state = _newest(store)
        with state.in_use():
            yield state


def _newest(store: Store) -> State:
    """Open the current generation; where an erasure has sealed an epoch and not published its state yet, wait for that."""
    until = time.monotonic() + PUBLISHED_SECONDS_MAX
    while True:
        store.log.refresh()
        state = State.open(store)
        is_coming = state.absent is Absence.EPOCH and store.log.head.fence is not False and journal.is_running(store.places)
        if not is_coming or time.monotonic() > until:
            return state
        time.sleep(POLL_SECONDS)


def _manifest(folder: Path, pointer: Pointer, state_key: bytes) -> Manifest:
    """Open the manifest that CURRENT names, and see that all of its runs are there whole. Raises Corrupt."""
    path = folder / file_name(pointer.number)
    try:
        manifest = Manifest.unseal(files.read(path), state_key, number=pointer.number, path=path)
    except FileNotFoundError:
        raise Corrupt("the manifest that CURRENT names is missing", path=path, hint=REBUILD) from None
    if manifest.pointer != pointer:
        raise Corrupt("CURRENT does not say what its manifest says", path=folder / CURRENT, hint=REBUILD)
    for _, run in manifest.listed:
        found = files.look(folder / RUNS / run.name)
        if found is None or found.kind is not Kind.FILE or found.size != run.size:
            raise Corrupt(f"a run of the state is {_what(found)} instead of {run.size} bytes", path=folder / RUNS / run.name, hint=REBUILD)
    return manifest


def _what(found: files.Seen | None) -> str:
    if found is None:
        return "missing"
    return f"{found.size} bytes" if found.kind is Kind.FILE else f"a {found.kind}"


def _on_log(store: Store, pointer: Pointer) -> bool:
    """Whether the log has the entry up to which was folded."""
    head = store.log.head
    if pointer.size == 0 or pointer.size > head.size:
        return pointer.size == 0
    if pointer.size == head.size:
        return pointer.last_hash == head.last_hash
    rows = next(iter(store.log.rows(pointer.size - 1, pointer.size)))
    return rows.batch.column("entry_hash")[-1].as_py() == pointer.last_hash
