"""mirror: the commands that copy a store to other places."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from refold.cli.command import FORMAT_VERSION, Command
from refold.cli.envelope import Outcome
from refold.cli.trust import places_of
from refold.cli.visible import plural, visible
from refold.errors import Usage

if TYPE_CHECKING:
    from refold.copies.mirror import Mirrored


def _configure_mirror(command: ArgumentParser) -> None:
    command.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="the mirror; else all that the settings name")
    command.add_argument("--deep", action="store_true", help="also read again what the mirror holds already")


def _mirror(given: Namespace) -> Outcome:
    from refold import settings
    from refold.copies.mirror import mirror

    places = places_of(given)
    folders = [given.folder] if given.folder else [Path(each) for each in settings.load().mirror.folders]
    if not folders:
        raise Usage("no mirror is named, here or in the settings", hint="refold help copies")
    done = [mirror(places, folder.absolute(), deep=given.deep, must_exist=given.folder is None) for folder in folders]
    lines = [
        visible(f"{each.path}: {plural(each.entries, 'entry', 'entries')}, {plural(each.files, 'new file')} of {each.size:,} bytes")
        for each in done
    ]
    return Outcome({"mirrors": [_mirrored(each) for each in done]}, lines, format_version=FORMAT_VERSION)


def _mirrored(done: Mirrored) -> dict[str, object]:
    return {"path": str(done.path), "entries": done.entries, "commits": done.version, "new_files": done.files, "bytes": done.size}


RUNS = {"mirror": Command(_configure_mirror, _mirror)}
