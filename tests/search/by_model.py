"""A model on the loopback that tells what texts are about, by the weights of the package, and a search recipe that names it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from refold import settings
from refold.state.embedding import embedder
from refold.words import words_of
from tests.openai_server import Asked, Reply, Server, vector


def tells(asked: Asked) -> Reply:
    """Answer with the vector of a text."""
    return vector(np.frombuffer(embedder().vector(words_of(asked.text)), np.int8).tolist())


def write(folder: Path, url: str, *, changes: tuple[tuple[str, str], ...] = ()) -> Path:
    """Write settings, a search recipe and the recipe of a model into a folder; return the settings."""
    folder.mkdir(exist_ok=True)
    own = settings.text("recipes/vectors/openai.toml")
    here = (("https://api.openai.com/v1", url), ("attempts = 5", "attempts = 1"), ("query_seconds = 5", "query_seconds = 60"))
    for old, new in (*here, *changes):
        assert old in own
        own = own.replace(old, new)
    searching = settings.text("search.toml").replace("use = false", "use = true").replace('by = "wordllama"', 'by = "own"')
    for name, text in (("refold.toml", ""), ("search.toml", searching), ("own.toml", own)):
        (folder / name).write_text(text)
    return folder / "refold.toml"


@contextmanager
def asked(folder: Path) -> Generator[Server]:
    """Let a model make vectors while the block runs."""
    with Server(tells) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFOLD_CONFIG", str(write(folder, server.url)))
        yield server
