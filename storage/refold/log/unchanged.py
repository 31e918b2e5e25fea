"""Unchanged: whether the parts of a log are still the files that were committed, as far as their sizes and times tell.

An append does not read the log. But a part is written before the commit that lists it, and never again: one that is missing or of another
size is damaged, and one that was written to after the newest commit is read and held against the digest that was signed. Both times are
of one file system, so no clock matters. A bit that turned on the disk leaves no trace in them: that is what verifications are for.
"""

from __future__ import annotations

import hashlib

from refold import files
from refold.errors import Corrupt
from refold.log.head import Head, Place
from refold.log.parts import Part

HINT = "refold recover --log"


def require_unchanged(place: Place, head: Head) -> None:
    """Refuse a log with a part that is not what was committed. Raises Corrupt; VerificationIncomplete where one cannot be read."""
    committed = files.look(place.commit(head.version))
    for part in head.parts:
        found = _difference(place, part, since=0 if committed is None else committed.written_at)
        if found is not None:
            raise Corrupt(f"a part of the log {found}, so nothing is added", path=place.folder / part.path, hint=HINT)


def _difference(place: Place, part: Part, *, since: int) -> str | None:
    """Return how a file is not what was committed; None where nothing tells so. `since` is when the commit was written, in ns."""
    path = place.folder / part.path
    seen = files.look(path)
    if seen is None:
        return "is missing"
    if seen.size != part.size:
        return f"has {seen.size:,} bytes, and {part.size:,} were committed"
    if seen.written_at > since and hashlib.sha256(files.read(path)).hexdigest() != part.sha256:
        return "is not what was committed"
    return None
