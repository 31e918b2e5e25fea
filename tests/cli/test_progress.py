"""Progress: after two seconds, on a terminal, and gone at the end."""

import io

from refold.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, seconds):
    """Return what is on the stream after reports at these seconds."""
    now = 0.0
    with progress(err=stream, clock=lambda: now) as show:
        for number, now in enumerate(seconds):  # noqa: B007  the clock reads it
            show(f"step {number}")
    return stream.getvalue()


def test_a_short_command_shows_nothing():
    assert shown(Terminal(), [0.1, 1.0, 1.9]) == ""


def test_a_long_command_shows_how_far_it_is_and_wipes_it_at_the_end():
    printed = shown(Terminal(), [1.0, 2.5, 2.6, 4.0])
    assert [part for part in printed.split("\r") if part.strip()] == ["step 1", "step 3"]
    assert printed.endswith("\r      \r")


def test_nothing_is_shown_where_nobody_looks():
    assert shown(io.StringIO(), [3.0, 5.0]) == ""
