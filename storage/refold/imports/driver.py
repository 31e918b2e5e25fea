"""The verb that imports: files are recognised, read and added in batches; what cannot be read is reported and the rest goes in.

Every batch is one commit. An import that was interrupted is resumed by running it again: what is in the log already is known by its
source, its scope, its speaker and its words, and nothing is added twice; it keeps the time, the metadata, the audience and the people
it was first added with, and where those named now are others, the report says so.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from refold import ingest
from refold.errors import NotAllowed, Usage
from refold.imports import mapping, recognise
from refold.imports.reader import ATTACHMENTS, File, Malformed, Options, Reader, Said
from refold.model import Draft, Role, Source, normalise
from refold.outside import Clock, Random
from refold.store import Store, is_place
from refold.times import DAY

Check = Callable[[Draft], None]

BATCH_CHARACTERS_MAX = 8 << 20
AUTHORS_KEPT_MAX = 10_000
MALFORMED_KEPT_MAX = 1_000
MISSING = "there is no such file"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is."""

    files: int  # read to their end
    files_found: int
    events: int  # in the log by now, new or not
    malformed: int


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    ingest: bytes  # the 16 bytes that all events of this run carry
    files: int  # that a reader read
    added: int
    already: int  # were in the log before
    empty: int  # had no words: pictures, calls of tools
    malformed: tuple[Malformed, ...]  # the first thousand
    malformed_count: int
    sources: tuple[str, ...]  # `chat:7`, sorted
    undated: int = 0  # of those added: nobody said when, so that they count as said at the import
    conflicts: tuple[str, ...] = ()  # those where something was there for another audience, or without a person named now; sorted
    suppressed: int = 0  # left out: they would have brought back what was erased
    attachments: int = 0  # files that came with what was read, and are not read themselves
    alike: tuple[str, ...] = ()  # authors with another name than the user's who share a word with it; sorted


def import_files(
    store: Store,
    paths: Sequence[Path],
    *,
    reader: str = recognise.AUTO,
    mapped: Path | None = None,
    options: Options | None = None,
    index: Callable[[], AbstractContextManager[ingest.Index | None]] = nullcontext,
    check: Check = lambda draft: None,
    sees_all: bool = True,
    now: Clock,
    random: Random = os.urandom,
    progress: Callable[[Progress], None] | None = None,
    batch: int = 1_000,
) -> ImportReport:
    """Import files, and the files in folders. Raises Usage or NotAllowed where nothing at all could go in.

    `mapped` names a mapping (`imports.mapping`), by which all of them are read. `check` raises NotAllowed for a draft that may not be
    added: such a record is left out, and all of them where it concerns the options.
    """
    chosen = mapping.reader(mapped) if mapped else None if reader == recognise.AUTO else recognise.named(reader)
    started = now()
    options = replace(options or Options(), latest=started + DAY)
    anything = options.draft(Said("x", Source("chat", "x"), Role.USER))
    ingest.check(anything, recorded_at=started)  # before it refuses every record
    check(anything)
    files = [*found(paths)]
    run = random(16)
    add = partial(ingest.add, store, ingest=run, sees_all=sees_all, now=now, random=random)
    tally = _Tally()
    for group in _batches(_records(files, chosen=chosen, options=options, started=started, check=check), batch):
        drafts = [each for each in group if isinstance(each, Draft) and each.text.strip()]
        with index() as known:  # for each batch anew: an import takes long, and nobody waits for it
            tally.note(group, add(drafts, index=known) if drafts else ())
        if progress:
            progress(Progress(tally.files, len(files), tally.added + tally.already, tally.malformed_count))
    if not tally.files or tally.is_all_malformed:
        raise _nothing(tally)
    return replace(tally.report(run), alike=_alike(tally.authors, options.user))


def found(paths: Iterable[Path]) -> Iterator[File | Malformed]:
    """Yield the files named, and in folders those that are neither hidden nor of a memory, sorted, with their names within the folder."""
    for path in paths:
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except OSError as error:
            yield _unreadable(path, error)
            continue
        if is_folder:
            yield from _within(path)
        else:
            yield File(path, path.name)


def _within(folder: Path) -> Iterator[File | Malformed]:
    """Yield what a folder holds; neither what is hidden nor a memory, which may well lie in it."""
    closed: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not is_place(Path(place, name)))
        for path in (Path(place, name) for name in sorted(names) if not name.startswith(".")):
            yield File(path, path.relative_to(folder).as_posix())
    yield from (_unreadable(Path(error.filename or folder), error) for error in closed)


class _Read(NamedTuple):
    """A file was read to its end."""

    file: File


_Record = Draft | Malformed | _Read


def _records(
    files: Iterable[File | Malformed], *, chosen: Reader | None, options: Options, started: int, check: Check
) -> Iterator[_Record]:
    """Yield what all files hold, one after the other; a file that cannot be read is one Malformed."""
    for file in files:
        if isinstance(file, Malformed):
            yield file
            continue
        try:
            reader = _reader_of(file.path, chosen)
            for record in reader.read(file, options):
                yield (
                    replace(record, path=str(file.path))
                    if isinstance(record, Malformed)
                    else _checked(record, path=file.path, started=started, check=check)
                )
            yield _Read(file)
        except Usage as error:
            yield Malformed("", error.message, str(file.path))
        except OSError as error:
            yield _unreadable(file.path, error)


def _reader_of(path: Path, chosen: Reader | None) -> Reader:
    """Return the reader for a file. Raises Usage where there is none, OSError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise Usage("not a regular file")
    with path.open("rb") as handle:
        head = handle.read(recognise.HEAD_BYTES)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Usage("UTF-16, where UTF-8 is expected")
    if b"\0" in head:
        raise Usage("not a text")
    reader = chosen or recognise.recognise(path, head)
    if reader is None:
        raise Usage("no reader knows this file: name one with --reader")
    return reader


def _checked(draft: Draft, *, path: Path, started: int, check: Check) -> Draft | Malformed:
    """Refuse by itself what would be refused with its whole batch."""
    try:
        if draft.text.strip():
            ingest.check(draft, recorded_at=started)
            check(draft)
    except (Usage, NotAllowed) as error:
        return Malformed(_place(draft), error.message, str(path), isinstance(error, NotAllowed))
    return draft


def _place(draft: Draft) -> str:
    line = draft.metadata.get("line")
    part = draft.source.part if draft.source else ""
    return f"part {part}" if line is None else f"line {line}"


def _unreadable(path: Path, error: OSError) -> Malformed:
    if isinstance(error, FileNotFoundError):
        reason = MISSING
    elif isinstance(error, PermissionError):
        reason = "it may not be read"
    else:
        reason = f"it could not be read ({errno.errorcode.get(error.errno or 0, 'unknown error')})"
    return Malformed("", reason, str(path), isinstance(error, PermissionError))


def _batches(records: Iterable[_Record], size: int) -> Iterator[list[_Record]]:
    """Group records, so that a group is neither more than `size` nor very long."""
    group: list[_Record] = []
    characters = 0
    for record in records:
        group.append(record)
        characters += len(record.text) if isinstance(record, Draft) else 0
        if len(group) >= size or characters >= BATCH_CHARACTERS_MAX:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _alike(authors: Iterable[str], user: str | None) -> tuple[str, ...]:
    """Return the authors who may be the user under a longer name, which is another person as long as nobody joins the two."""
    name = normalise(user or "")
    words = set(re.findall(r"\w+", name))
    return tuple(sorted(each for each in authors if normalise(each) != name and words.intersection(re.findall(r"\w+", normalise(each)))))


class _Tally:
    """What an import has done so far."""

    def __init__(self) -> None:
        self.files = self.added = self.already = self.empty = self.undated = self.suppressed = self.malformed_count = self.attachments = 0
        self.malformed: list[Malformed] = []
        self.sources: set[str] = set()
        self.conflicts: set[str] = set()
        self.authors: set[str] = set()

    @property
    def is_all_malformed(self) -> bool:
        """Whether there were records, and every single one had to be left out."""
        return self.malformed_count > 0 and not self.added + self.already + self.empty + self.suppressed

    def note(self, group: Sequence[_Record], added: Sequence[ingest.Added]) -> None:
        """Count a group and what became of its drafts."""
        new = sum(each.new for each in added)
        self.added += new
        suppressed = sum(each.suppressed for each in added)
        self.suppressed += suppressed
        self.already += len(added) - new - suppressed
        drafts = [record for record in group if isinstance(record, Draft) and record.text.strip()]
        self.authors.update(draft.author for draft in drafts if draft.author and len(self.authors) < AUTHORS_KEPT_MAX)
        self.undated += sum(one.new and draft.said_at is None for draft, one in zip(drafts, added, strict=True))
        self.conflicts.update(draft.source.document for draft, one in zip(drafts, added, strict=True) if one.differs and draft.source)
        for record in group:
            if isinstance(record, Draft):
                count = record.metadata.get(ATTACHMENTS)
                self.attachments += count if isinstance(count, int) else 0
            if isinstance(record, Draft) and not record.text.strip():
                self.empty += 1
            elif isinstance(record, Draft) and record.source:
                self.sources.add(record.source.document)
            elif isinstance(record, Malformed):
                self.malformed_count += 1
                self.malformed += [record] if len(self.malformed) < MALFORMED_KEPT_MAX else []
            elif isinstance(record, _Read):
                self.files += 1

    def report(self, run: bytes) -> ImportReport:
        """Return the whole."""
        malformed, sources, conflicts = tuple(self.malformed), tuple(sorted(self.sources)), tuple(sorted(self.conflicts))
        counts = (self.files, self.added, self.already, self.empty)
        more = (self.undated, conflicts, self.suppressed, self.attachments)
        return ImportReport(run, *counts, malformed, self.malformed_count, sources, *more)


def _nothing(tally: _Tally) -> Usage | NotAllowed:
    """Return the error of an import in which nothing could go in."""
    if not tally.malformed:
        return Usage("there is no file in the folders named: hidden ones are left out", hint="refold help import")
    first, count = tally.malformed[0], tally.malformed_count
    what = f"{count:,} records" if tally.files else f"{count:,} files"
    about = first.reason if count == 1 else f"none of {what} could be imported; the first: {first.reason}"
    kind = NotAllowed if all(each.forbidden for each in tally.malformed) else Usage
    return kind(about, path=first.path, hint="refold help import", details={"place": first.place} if first.place else {})
