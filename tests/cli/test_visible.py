"""Text for a terminal."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from refold.cli.visible import plural, shorten, table, visible, width


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
