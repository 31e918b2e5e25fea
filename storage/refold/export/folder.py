"""The folder of an export: written down in the register of copies before its first byte is on the disk.

export.json                        format, origin, the copy's id in the register, the time, and the rows of each file; written last
facts.jsonl, entities.jsonl, ...   see forms.py; nothing in them is encrypted, and only whoever made them may read them
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from refold import files, register, times
from refold.copies.folder import require_outside
from refold.errors import Usage
from refold.export.forms import Form, written
from refold.export.rows import Rows
from refold.outside import Clock, Random
from refold.register import Copy, Kind, Owner
from refold.store import Store

FORMAT = "refold.export/1"
MARK = "export.json"
HINT = "refold help export"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written where, and as which copy it stands in the register."""

    folder: Path
    copy: Copy
    rows: dict[str, int]  # of each table
    files: dict[str, int]  # bytes of each file


def require_empty(store: Store, folder: Path) -> None:
    """Refuse a folder that lies within the three places or a copy, or holds anything. Raises Usage."""
    require_outside(folder, store.places)
    seen = files.look(folder)
    if seen is not None and (seen.kind is not files.Kind.FOLDER or files.names(folder)):
        raise Usage("an export takes a new or empty folder", path=folder, hint=HINT)


def write(
    store: Store, folder: Path, tables: Sequence[Rows], *, forms: Sequence[Form], owner: Owner, due: int | None, now: Clock, random: Random
) -> Exported:
    """Write tables down as files of some forms. Raises Usage, WriteFailed; then the copy stands in the register all the same."""
    require_empty(store, folder)
    contents = [file for form in dict.fromkeys(forms) for file in written(form, tables)]
    copy = register.add(store, Kind.EXPORT, str(folder), owner=owner, due=due, now=now, random=random)
    done = Exported(folder, copy, {table.name: len(table.rows) for table in tables}, {name: len(data) for name, data in contents})
    mark = {"format": FORMAT, "origin": store.origin, "copy_id": copy.copy_id, "made_at": times.iso(copy.added_at), "rows": done.rows}
    files.make_folder(folder)
    files.create_all(folder, [(folder / name, data) for name, data in [*contents, (MARK, f"{json.dumps(mark)}\n".encode())]])
    return done
