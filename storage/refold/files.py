"""The only durable writes: every fsync, link, rename and flock of Refold lives here.

A file that one of these functions wrote is complete under its name, or it is not there under that name. A failed
fsync is fatal: the kernel may have dropped the dirty pages, so a later success would prove nothing. From then on
every durable write of this process refuses.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import stat
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from refold.errors import Corrupt, Locked, NotAllowed, RefoldError, Usage, VerificationIncomplete, WriteFailed, gone

FILE_MODE = 0o600
FOLDER_MODE = 0o700
QUIETLY = getattr(os, "O_NOATIME", 0)  # reading changes nothing, not even when a file was last read
TEMPORARY = ".tmp-"  # the start of every name that is not yet, or no longer, the name of anything

_poisoned: Path | None = None  # where an fsync failed


class Kind(StrEnum):
    """What stands under a name."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symlink"
    OTHER = "other"  # a device, a socket, a pipe


@dataclass(frozen=True, slots=True)
class Seen:
    """What the system says of a name, without opening it."""

    kind: Kind
    mode: int  # permission bits
    size: int  # bytes
    device: int
    inode: int
    written_at: int  # ns since 1970, as the file system has it


def create(path: Path, data: bytes) -> None:
    """Write a new file durably. Raises FileExistsError if the name is taken; a half-written file is removed again."""
    create_all(path.parent, [(path, data)])


def create_all(folder: Path, contents: Iterable[tuple[Path, bytes]]) -> None:
    """Write new files of one folder durably, and their names at once at the end."""
    for path, data in contents:
        _write_new(path, data)
    sync_folder(folder)


def link_new(path: Path, data: bytes) -> bool:
    """Give complete, durable data a name that nobody has yet; False if somebody has it.

    An error leaves it unclear whether the name was taken: look what it holds before doing anything else.
    """
    temporary = _temporary(path)
    _write_new(temporary, data)
    try:
        with _writing(path):
            os.link(temporary, path)
        linked = True
    except FileExistsError:
        linked = False
    with _writing(temporary):
        os.unlink(temporary)
    if linked:
        sync_folder(path.parent)
    return linked


def replace(path: Path, data: bytes) -> None:
    """Swap the contents of a pointer file, durably and at once: a reader sees the old bytes or the new."""
    temporary = _temporary(path)
    _write_new(temporary, data)
    with _writing(path):
        os.rename(temporary, path)
    sync_folder(path.parent)


def put(path: Path, data: bytes, *, mode: int, temporary: Path, new: bool) -> None:
    """Give a file its contents at once, through a temporary name of the caller's; `new` refuses a name that is taken.

    What an interrupted attempt left under the temporary name goes first. The name lasts once the folder is synced.
    """
    with _writing(temporary), suppress(FileNotFoundError):
        os.unlink(temporary)
    _write_new(temporary, data, mode=mode)
    with _writing(path):
        if not new:
            os.rename(temporary, path)
            return
        os.link(temporary, path)
        os.unlink(temporary)


def read(path: Path | str, *, size: int | None = None) -> bytes:
    """Return the whole file, or its first `size` bytes. FileNotFoundError passes; it is the caller who knows what a missing file means.

    What stands under the name has to be the file itself: a link could lead to bytes that are not ours. Raises Corrupt.
    """
    with _telling(path, _read_error), open(path, "rb", buffering=0, opener=_itself) as file:
        return file.readall() if size is None else file.read(size)


def _itself(path: str, flags: int) -> int:
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not keep a reader waiting
    try:
        descriptor = os.open(path, flags | QUIETLY)
    except PermissionError:  # only who owns a file may leave it without a trace
        descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    return descriptor


def read_back(path: Path) -> bytes:
    """Return a file that was just written, from its disk where the system can be asked to let go of what it keeps in memory."""
    with _writing(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    return read(path)


def remove(path: Path, *, sync: bool = True) -> None:
    """Remove a file, durably if `sync`; one that is gone already is fine."""
    with _writing(path), suppress(FileNotFoundError):
        os.unlink(path)
    if sync:
        sync_folder(path.parent)


def remove_folder(path: Path, *, sync: bool = True) -> bool:
    """Remove an empty folder, durably if `sync`; False, and nothing happens, where something is in it."""
    try:
        with _writing(path):
            os.rmdir(path)
    except WriteFailed as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    if sync:
        sync_folder(path.parent)
    return True


def rename_folder(path: Path, name: Path) -> None:
    """Give a folder another name beside its old one, durably and at once, with all that is in it."""
    with _writing(name):
        os.rename(path, name)
    sync_folder(name.parent)


def add_folder(path: Path, *, mode: int) -> None:
    """Create one folder with exactly this mode. Its name lasts once its parent is synced. Raises FileExistsError."""
    with _writing(path):
        os.mkdir(path, mode)
        os.chmod(path, mode)  # whatever the umask took away


def make_folder(path: Path) -> None:
    """Create a private folder, and its parents, durably. One that exists stays as it is."""
    if path.is_dir():
        return
    make_folder(path.parent)
    try:
        with _writing(path), suppress(FileExistsError):
            os.mkdir(path, FOLDER_MODE)
    except FileNotFoundError:  # its parent is there: a file system that is none to write to, as /proc, says so
        raise Usage("no folder can be made here", path=path) from None
    if not path.is_dir():
        raise Usage("a file is where a folder is needed", path=path)
    sync_folder(path.parent)


def names(folder: Path) -> list[str]:
    """Return the names in a folder, unsorted. FileNotFoundError passes."""
    with _telling(folder, _read_error):
        return os.listdir(folder)


KINDS = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.FOLDER, stat.S_IFLNK: Kind.SYMLINK}


def look(path: Path | str, *, follow: bool = False) -> Seen | None:
    """Say what stands under a name, itself and not what a link leads to unless `follow`; None where nothing does."""
    try:
        found = os.stat(path) if follow else os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _read_error(error, path) from error
    kind = KINDS.get(stat.S_IFMT(found.st_mode), Kind.OTHER)
    return Seen(kind, stat.S_IMODE(found.st_mode), found.st_size, found.st_dev, found.st_ino, found.st_mtime_ns)


def is_folder(path: Path) -> bool:
    """Whether a folder stands under a name, itself and not what a link leads to."""
    seen = look(path)
    return seen is not None and seen.kind is Kind.FOLDER


def written_at(path: Path) -> int:
    """Return when a file was last written, µs since 1970."""
    with _telling(path, _read_error):
        return os.stat(path).st_mtime_ns // 1000


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    with _writing(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _sync(descriptor, folder)
        finally:
            os.close(descriptor)


@contextmanager
def lock(path: Path, *, exclusive: bool = True, wait_seconds: float | None = None) -> Generator[None, None, None]:
    """Hold an advisory lock on a file (created if missing) or a folder. It ends with the process.

    `wait_seconds` None waits for ever. Raises Locked when the time is over.
    """
    with _writing(path):
        descriptor = _open_lock(path)
    try:
        with _telling(path):
            _flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, path, wait_seconds)
        yield
    finally:
        with _telling(path):
            os.close(descriptor)


@contextmanager
def unlocked(path: Path) -> Generator[bool, None, None]:
    """Say whether nobody holds a lock exclusively, and keep it so, by a shared lock, as long as the block runs.

    Unlike `lock` it makes no file: a lock that is not there is held by nobody.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    except OSError as error:
        raise _read_error(error, path) from error
    try:
        with _telling(path):
            free = _is_taken(descriptor, fcntl.LOCK_SH)
        yield free
    finally:
        with _telling(path):
            os.close(descriptor)


def refuses_existing_names(folder: Path) -> bool:
    """Whether a link in this folder really refuses a name that exists (some network file systems do not)."""
    one, two = _temporary(folder / "probe"), _temporary(folder / "probe")
    with _writing(folder):
        for path in (one, two):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
        try:
            os.link(one, two)
        except FileExistsError:
            return True
        finally:
            os.unlink(one)
            os.unlink(two)
    return False


def _write_new(path: Path, data: bytes, *, mode: int = FILE_MODE) -> None:
    with _writing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            if mode != FILE_MODE:
                os.fchmod(descriptor, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            _sync(descriptor, path)
        except BaseException:
            with suppress(OSError):  # the first error is the one to tell
                os.unlink(path)
            raise
        finally:
            os.close(descriptor)


def _sync(descriptor: int, path: Path) -> None:
    global _poisoned
    try:
        os.fsync(descriptor)
    except OSError:
        _poisoned = path
        raise


def _write_error(error: OSError, path: Path | str) -> RefoldError:
    reason = errno.errorcode.get(error.errno or 0, "an unknown error")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return NotAllowed(f"the system forbids writing here ({reason})", path=path)
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG):
        return Usage(f"this place cannot be written to ({reason})", path=path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WriteFailed(f"no space is left ({reason}); what was acknowledged before is safe", path=path)
    return WriteFailed(f"the disk refuses to write ({reason})", path=path, hint="refold help damage")


def _read_error(error: OSError, path: Path | str) -> RefoldError:
    reason = errno.errorcode.get(error.errno or 0, "an unknown error")
    if error.errno in (errno.EACCES, errno.EPERM):
        return NotAllowed(f"the system forbids reading here ({reason})", path=path)
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG):
        if Path(path).is_symlink() or Path(path).exists():
            return Corrupt("a link, a folder or something else stands where a file should be", path=path, hint="refold audit")
        return Usage(f"this is not what should be read here ({reason})", path=path)
    return VerificationIncomplete(f"a file could not be read ({reason}); nothing is claimed of it", path=path)


class _telling:  # noqa: N801 (reads as a verb where it is used)
    """Turn what the system says into one of our errors. FileExistsError and FileNotFoundError pass."""

    __slots__ = ("_error", "_path")

    def __init__(self, path: Path | str, error: Callable[[OSError, Path | str], RefoldError] = _write_error) -> None:
        self._path, self._error = path, error

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, OSError) and not isinstance(error, FileExistsError | FileNotFoundError):
            raise self._error(error, self._path) from error


class _writing(_telling):  # noqa: N801
    """Refuse after a failed fsync, too."""

    __slots__ = ()

    def __enter__(self) -> None:
        if _poisoned is not None:
            raise WriteFailed("an earlier fsync failed, so this process writes no more", path=_poisoned, hint="refold help damage")


def _temporary(path: Path) -> Path:
    return path.with_name(f"{TEMPORARY}{os.urandom(8).hex()}")


def _open_lock(path: Path) -> int:
    for making in (0, os.O_CREAT):
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | making, FILE_MODE)
    raise gone(path)


def _flock(descriptor: int, operation: int, path: Path, wait_seconds: float | None) -> None:
    if wait_seconds is None:
        fcntl.flock(descriptor, operation)
        return
    until = time.monotonic() + wait_seconds
    while not _is_taken(descriptor, operation):
        if time.monotonic() >= until:
            raise Locked("another process holds this lock", path=path)
        time.sleep(random.uniform(0.0002, 0.001))  # jittered, so that no waiter is always the last


def _is_taken(descriptor: int, operation: int) -> bool:
    """Take a lock, if nobody is in the way; say whether that was so."""
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
