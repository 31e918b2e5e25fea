"""Text for a terminal."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from refold.cli.shown import quotation
from refold.cli.visible import from_here, plural, quoted, shorten, table, visible, width


def test_what_moves_the_cursor_or_turns_the_order_is_shown_as_an_escape():
    assert visible("a\x1b[2Jb") == "a\\x1b[2Jb"
    assert visible("a\u202eb\u2066c") == "a\\u{202e}b\\u{2066}c"
    assert visible("a\nb\tc\rd\0") == "a\\nb\\tc\\rd\\x00"
    assert visible("a\ud800b\u2028c\u200bd\U000e0041e") == "a\\u{d800}b\\u{2028}c\\u{200b}d\\u{e0041}e"


def test_words_of_every_script_stay_as_they_are():
    for text in ("Zoë Łukasz", "東京", "ירושלים", "می‌خواهم", "👩‍🚀"):
        assert visible(text) == text


@given(st.text(st.characters()))
def test_nothing_unseen_gets_through(text):
    shown = visible(text)
    assert all(unicodedata.category(each) not in ("Cc", "Cs", "Zl", "Zp") for each in shown)
    assert "\u202e" not in shown


@given(st.text(max_size=60), st.integers(2, 40))
def test_a_shortened_text_fits(text, columns):
    assert width(shorten(text, columns)) <= columns


def test_columns_line_up_with_wide_and_combined_characters():
    lines = table([("東京", "x"), ("e\u0301", "x"), ("abc", "x")])
    assert lines == ["東京  x", "e\u0301     x", "abc   x"]


def test_a_long_cell_is_cut_before_a_short_one():
    rows = [("90d61c7e", "Ada", "lives_in", "Munich", "chat:" + "x" * 60, "I've been living in Munich since 2023, and like it")]
    for columns in (80, 90, 100):
        (line,) = table(rows, columns=columns)
        assert width(line) <= columns
        assert line.startswith("90d61c7e  Ada  lives_in  Munich  chat:xxxx")
        assert line.count("…") == 2


@given(st.lists(st.text(max_size=60), min_size=1, max_size=7), st.integers(40, 200))
@example(["", "0" * 13, "1" * 23, ""], 40)
def test_a_table_keeps_to_its_columns_and_cuts_only_where_it_must(row, columns):
    (line,) = table([row], columns=columns)
    (whole,) = table([row], columns=10_000)
    assert width(line) <= max(columns, len(row) * 12)
    if width(whole) <= columns:
        assert line == whole


def test_what_a_program_reads_is_not_cut_and_columns_says_how_wide_a_screen_is(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert table([("a", "b" * 900)]) == ["a  " + "b" * 900]
    monkeypatch.setenv("COLUMNS", "60")
    assert width(*table([("a", "b" * 900)])) == 60


def test_a_path_is_shown_as_it_is_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert from_here(tmp_path / "memory" / "store") == "memory/store"
    assert from_here("/elsewhere/store") == "/elsewhere/store"


def test_a_table_fits_and_cuts_only_what_is_too_long():
    lines = table([("a" * 50, "b" * 200), ("c", "d")], head=("ONE", "TWO"), columns=80)
    assert [width(line) <= 80 for line in lines] == [True] * 3
    assert lines[0].startswith("ONE")
    assert lines[1].endswith("…")
    assert table([]) == []


def test_a_row_may_be_shorter_than_the_others():
    assert table([("a",), ("b", "c")]) == ["a", "b  c"]


def test_counts_are_spoken():
    assert [plural(n, "event") for n in (0, 1, 2000)] == ["0 events", "1 event", "2,000 events"]
    assert plural(2, "person", "people") == "2 people"


def test_what_fills_no_screen_is_cut_and_says_how_long_it_is(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert quotation("a" * 2_000) == quoted("a" * 2_000)
    assert quotation("a" * 10_000_000) == quoted("a" * 2_000 + "…") + " of 10,000,000 characters"
