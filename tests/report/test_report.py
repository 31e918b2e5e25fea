"""The report is one page that needs nothing else, says what is due and wrong, and names nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from refold import register, times
from refold.erase.model import Selector
from refold.log.log import Log
from refold.memory import Memory
from refold.model import AliasKind
from refold.report.figures import PERIODS_MAX, growth
from tests.calls import recorded
from tests.journal import unsynced

START = times.parse("2026-01-05")
SAID = ("miriam", "Berlin", "Munich", "Wolfgang", "chat:7", "openai", "127.0.0.1", "a safe")
VOID = {"meta", "br"}  # what has no end in HTML; an empty part of the picture is closed at once


class Strict(HTMLParser):
    """Reads a page, and holds that every element is closed by its own end."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.refers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.refers += [name for name, _ in attrs if name in ("src", "href", "action", "srcset", "data", "background", "poster")]
        self.refers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("miriam")
    ticks = iter(range(START, START + 400 * times.DAY, times.DAY // 2))
    with unsynced(), Memory.create(folder / "s", vault=folder / "v", root=folder / "r", now=lambda: next(ticks)) as made:
        for turn, text in enumerate(("I live in Berlin.", "I live in Munich.", "My sister is called Wolfgang.")):
            made.add(text, user_id="miriam", source=f"chat:7#{turn}", said_at="2024-01-10")
        made.fold()
        made.checkpoint()
        recorded(made.store, "http://127.0.0.1:8123/v1", next(made.store.log.events())[0])
        made.erase_request(Selector(aliases=((AliasKind.HANDLE, "miriam"),)), received=START, due=START + times.DAY)
        register.add(made.store, register.Kind.ESCROW, "a safe", due=START, now=lambda: START, random=lambda size: b"4" * size)
        yield made


def strict(page: str) -> Strict:
    parser = Strict()
    parser.feed(page)
    parser.close()
    return parser


def test_a_page_is_well_formed_and_needs_no_script_and_nothing_from_outside(memory: Memory):
    page = memory.report(names=True)
    read = strict(page)
    assert (read.open, read.refers) == ([], [])
    assert not read.names & {"script", "link", "iframe", "img", "object", "embed", "base", "form"}
    assert not re.search(r"https?:|url\(|@import|//", page)
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
    assert len(page.encode()) < 2 << 20


def test_it_names_nobody_and_says_nothing_of_what_was_said(memory: Memory):
    page = memory.report()
    text = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert [word for word in (*SAID, str(memory.places.store.parent)) if word.casefold() in text.casefold()] == []
    assert str(memory.places.store) in memory.report(names=True)
    assert "a safe" in memory.report(names=True)


def test_it_says_what_is_overdue_and_what_it_cost(memory: Memory):
    page = memory.report()
    assert "requests for erasure overdue: 1; copies overdue: 1" in page
    assert page.count("(overdue)") == 2
    assert "0.000228 USD" in page
    assert "1,200 read, 80 written" in page
    assert re.search(r"WAL_INTACT: every file of \d+ entries on 2026-01-\d\d", page)


def test_a_long_place_wraps_and_one_day_is_named_once(tmp_path: Path):
    with Memory.create(tmp_path / "s", vault=tmp_path / "v", root=tmp_path / "r") as memory:
        memory.add("I live in Berlin.", user_id="miriam")
        page = memory.report(names=True)
    assert re.search(r"(?m)^th,td\{[^}]*overflow-wrap:anywhere", page)
    assert len(re.findall(r"<span>\d{4}-\d\d-\d\d</span>", page)) == 1


def test_what_a_path_or_a_copy_is_called_is_text_on_the_page(tmp_path: Path):
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    with Memory.create(folder / "s", vault=folder / "v", root=folder / "r") as memory:
        memory.copy_add("export", '<script>alert(1)</script>" onclick="x')
        page = memory.report(names=True)
    read = strict(page)
    assert (read.open, read.refers, {"img", "script"} & read.names) == ([], [], set())
    assert "&lt;img src=x" in page


def test_an_empty_memory_has_a_report_too(tmp_path: Path):
    with Memory.create(tmp_path / "s", vault=tmp_path / "v", root=tmp_path / "r") as empty:
        page = empty.report()
    assert strict(page).open == []
    assert "The log is empty" in page
    assert "nothing is known to be wrong, unfinished or overdue" in page


def test_growth_counts_every_entry_in_at_most_sixty_periods(memory: Memory):
    found = growth(memory.store.log)
    assert sum(period.entries for period in found) == memory.store.log.head.size
    assert len(found) <= PERIODS_MAX
    assert {period.days for period in found} == {1}


def test_growth_over_years_is_counted_in_longer_periods(tmp_path: Path):
    ticks = iter(range(START, START + 900_000 * times.DAY, 30 * times.DAY))
    with unsynced(), Memory.create(tmp_path / "s", vault=tmp_path / "v", root=tmp_path / "r", now=lambda: next(ticks)) as memory:
        for turn in range(40):
            memory.add("Hello.", user_id="miriam", source=f"chat:7#{turn}", said_at="2024-01-10")
        log: Log = memory.store.log
        found = growth(log)
        assert (len(found) <= PERIODS_MAX, {period.days for period in found}) == (True, {found[0].days})
        assert found[0].days > 10
        assert sum(period.entries for period in found) == log.head.size
