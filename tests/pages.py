"""`python -m tests.pages FOLDER`: draw pages in headless Chromium, at two widths, by day and by night: the report of a lively store, of an
empty one at a place with a long name, and a certificate.

It needs Debian's package chromium, and leaves the pictures in FOLDER, to be looked at.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from refold import register, times
from refold.erase import page as certificate
from refold.erase.model import Selector
from refold.heads.checkpoint import known_keys
from refold.memory import Memory
from refold.model import AliasKind
from refold.receipts.verify import verify
from tests.calls import recorded
from tests.journal import unsynced

CHROMIUM = "/usr/bin/chromium"
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars"),
)
WIDTHS = (480, 1280)  # of a telephone, near the least that headless Chromium draws, and of a desk
SCHEMES = {"light": "1", "dark": "0"}
DAY = times.DAY


def lively(folder: Path) -> str:
    """Return the report of a store in which much has happened."""
    start = times.parse("2026-01-05")
    clock = itertools.count(start, DAY // 3)
    with (
        unsynced(),
        Memory.create(folder / "store", vault=folder / "vault", root=folder / "root", now=lambda: next(clock)) as memory,
    ):
        for number in range(90):
            for turn in range(1 + number * number % 7):
                said = f"I like number {number * 10 + turn}."
                memory.add(said, user_id=f"user{number % 5}", source=f"chat:{number}#{turn}", said_at="2025-12-01")
        memory.fold()
        memory.checkpoint()
        for event in next(memory.store.log.events())[:6]:
            recorded(memory.store, "http://127.0.0.1:8123/v1", event)
        memory.erase_request(Selector(aliases=((AliasKind.HANDLE, "user1"),)), received=start, due=start + 30 * DAY)
        memory.erase(memory.plan_erasure(user_id="user2"))
        memory.export(folder / "out", seen_by="operator", owner="recipient", due=start + 40 * DAY)
        register.add(memory.store, register.Kind.ESCROW, "a safe", now=lambda: start, random=lambda size: b"4" * size)
        return memory.report()


def bare(folder: Path) -> str:
    """Return the report of an empty store that says where it lies, which takes more than a line."""
    deep = folder / ("<b>" + "long" * 50)
    with unsynced(), Memory.create(deep / "store", vault=deep / "vault", root=deep / "root") as memory:
        return memory.report(names=True)


def certified(folder: Path) -> str:
    """Return the certificate of an erasure, with a copy that is not confirmed."""
    with unsynced(), Memory.create(folder / "store", vault=folder / "vault", root=folder / "root") as memory:
        for user in ("ada", "ben"):
            memory.add("I live in Berlin.", user_id=user)
        memory.fold()
        memory.copy_add("export", "a drawer")
        memory.erase(memory.plan_erasure(user_id="ada"))
        (request,) = memory.erase_requests()
        raw = memory.erase_certificate(request.request_id)
        return certificate.page(raw, verify(raw, known_keys(memory.store)).body)


PAGES: dict[str, Callable[[Path], str]] = {"report": lively, "empty": bare, "certificate": certified}


def draw(page: Path, picture: Path, *, width: int, scheme: str, profile: Path) -> None:
    """Draw a page, which itself forbids every script and everything from outside."""
    seen = ("--blink-settings=preferredColorScheme=" + SCHEMES[scheme], f"--window-size={width},2600")
    where = (f"--user-data-dir={profile}", f"--screenshot={picture}", page.as_uri())
    subprocess.run([CHROMIUM, *QUIET, *seen, *where], check=True, capture_output=True, timeout=120)
    if not picture.is_file():
        raise SystemExit(f"no picture was drawn: {picture.name}")


def main() -> int:
    """Draw the pages and say where."""
    parser = argparse.ArgumentParser(prog="python -m tests.pages", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        for name, made in PAGES.items():
            page = folder / f"{name}.html"
            page.write_text(made(Path(scratch, name)), encoding="utf-8")
            for width, scheme in itertools.product(WIDTHS, SCHEMES):
                picture = folder / f"{name}-{width}-{scheme}.png"
                profile = Path(scratch, f"{name}{width}{scheme}")
                draw(page.absolute(), picture.absolute(), width=width, scheme=scheme, profile=profile)
                print(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
