"""What `refold` itself gives is what it says it gives, and what its own verbs take."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import refold
from refold import errors, extractors, memory


def test_the_public_names_are_there_and_are_those_of_the_rooms():
    assert refold.__all__ == ["Choice", "Memory", "RefoldError"]
    assert (refold.Choice, refold.Memory, refold.RefoldError) == (extractors.Choice, memory.Memory, errors.RefoldError)
    with pytest.raises(AttributeError, match="no attribute 'Other'"):
        print(importlib.import_module("refold").Other)


def test_to_import_refold_imports_none_of_what_they_need():
    code = "import refold, sys; print('refold.memory' in sys.modules, 'refold.extractors' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == ["False", "False"]
