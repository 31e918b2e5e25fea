"""A model on the loopback that says how much texts say about a query, and a search recipe that names it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from refold import settings
from refold.state.embedding import embedder
from refold.words import words_of
from tests.openai_server import Asked, Reply, Server, scores


def says(asked: Asked) -> Reply:
    """Answer with the cosines of the texts and the query, by the weights of the package."""
    query, *texts = (_vector(text) for text in (asked.json["query"], *asked.json["documents"]))
    return scores([float(query @ text) for text in texts])


def _vector(text: str) -> np.ndarray:
    found = np.frombuffer(embedder().vector(words_of(text)), np.int8).astype(float)
    return found / max(float(np.linalg.norm(found)), 1)


def write(folder: Path, url: str, *, changes: tuple[tuple[str, str], ...] = ()) -> Path:
    """Write settings, a search recipe and the recipe of a model into a folder; return the settings."""
    folder.mkdir(exist_ok=True)
    own = settings.text("recipes/rerank/vllm.toml").replace("http://127.0.0.1:8000/v1", url)
    for old, new in changes:
        assert old in own
        own = own.replace(old, new)
    searching = settings.text("search.toml").replace('by = "" ', 'by = "own" ')
    assert 'by = "own"' in searching
    for name, text in (("refold.toml", ""), ("search.toml", searching), ("own.toml", own)):
        (folder / name).write_text(text)
    return folder / "refold.toml"


@contextmanager
def asked(folder: Path, *, changes: tuple[tuple[str, str], ...] = ()) -> Generator[Server]:
    """Let a model rerank while the block runs."""
    with Server(says) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFOLD_CONFIG", str(write(folder, server.url, changes=changes)))
        yield server
