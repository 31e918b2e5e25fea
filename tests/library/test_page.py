"""The page for those who come from another library names methods that are there."""

from __future__ import annotations

import re
from pathlib import Path

from refold import memory
from refold.memory import Memory

PAGE = Path(str(memory.__file__)).parent / "README.md"


def test_every_verb_of_the_table_is_a_method_of_memory():
    rows = [row.split("|") for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| ")][1:]
    assert len(rows) == 10
    for row in rows:
        verbs = re.findall(r"`(?:await memory\.|Memory\.)?([a-z_]+)", row[3])
        assert verbs
        assert [verb for verb in verbs if not hasattr(Memory, verb)] == []
