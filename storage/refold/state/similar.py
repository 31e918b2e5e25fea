"""Similar names: what somebody may have meant by a name under which nothing is known."""

from __future__ import annotations

import difflib

import pyarrow as pa

from refold.model import View, normalise
from refold.state.everybody import admitted
from refold.state.generation import State

SIMILAR_MAX = 3
COLUMNS = ("entity", "value", "value_mention", "speaker", "scope", "audience", "seq", "named_seq", "recorded_at")


def similar(state: State, view: View, name: str) -> list[str]:
    """Return known names that are spelled alike or hold the same word, the most alike first; none where the name itself is known.

    Only what the view may see is looked at: a hint must not tell that somebody is known elsewhere.
    """
    rows = state.table("assertions", list(COLUMNS))
    rows = rows.filter(admitted(rows, state.visible(view)))
    values = rows.filter(pa.array(rows["value_mention"].to_numpy() != 0))
    known = {normalise(each): each for each in {*_distinct(rows, "entity"), *_distinct(rows, "speaker"), *_distinct(values, "value")}}
    wanted = normalise(name)
    if wanted in known:
        return []
    words = set(wanted.split())
    sharing = sorted(each for each in known if words.intersection(each.split()))
    alike = difflib.get_close_matches(wanted, sorted(known), SIMILAR_MAX)
    return [known[each] for each in dict.fromkeys([*alike, *sharing])][:SIMILAR_MAX]


def _distinct(rows: pa.Table, column: str) -> list[str]:
    return rows[column].unique().to_pylist()
