"""Embedding: a text as a vector of 256 small integers, from weights that lie in the wheel of wordllama. No network, and its only import.

    token       weight r / (r + 96), r its rank in the vocabulary: frequent ones say little
                (smooth inverse frequency, a / (a + p) with a = 0.001 and p by Zipf's law over the 31,741 merged tokens)
    vector      Σ weight · the token's row of the table, scaled so that its greatest component is 127

All in integers, one text at a time: so the same text gives the same bytes on every machine, in whatever batch it comes. Sums of floats
would not, and what a fold puts out has to be the same whenever it runs.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from refold.errors import Usage
from refold.search_recipe import UNIT

DIMENSIONS = 256
NOTHING = bytes(DIMENSIONS)  # the vector of a text without words
WORDS_MAX = 512  # of a text: more of them tell no more what it is about
GREATEST = 127
HALF_RANK = 96  # the rank of the token that weighs half
MERGED = 259  # the first token that is more than a byte
WEIGHTS = "6f50f9be9eae5b5f9ca93254baab98ee8fc95e63a21d14b366b47821f885b1ac"  # SHA-256 of the table as integers


class Embedder:
    """Gives the vectors of texts."""

    def __init__(self, tokenizer: Any, table: np.ndarray) -> None:
        self._tokenizer = tokenizer
        rank = np.arange(len(table), dtype=np.int64) - (MERGED - 1)
        weight = np.where(rank > 0, UNIT * rank // (np.maximum(rank, 1) + HALF_RANK), UNIT)
        self._table = table * weight.astype(np.int32)[:, None]

    def vector(self, words: Sequence[str]) -> bytes:
        """Return the vector of a text, given its words in order, as 256 signed bytes."""
        text = " ".join(words[:WORDS_MAX])
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids if text else []
        total = self._table[tokens].sum(axis=0, dtype=np.int64)
        greatest = int(np.abs(total).max())
        if not greatest:
            return NOTHING
        return ((2 * GREATEST * total + greatest) // (2 * greatest)).astype(np.int8).tobytes()  # rounded to nearest


@lru_cache(maxsize=1)
def embedder() -> Embedder:
    """Load the weights, once in a process: it takes half a second. Raises Usage where they are not installed, or are others."""
    try:
        wordllama = _imported()
    except ModuleNotFoundError:
        message = "the search recipe asks for vectors, and what makes them is not installed"
        raise Usage(message, hint="pip install 'refold[embed]'") from None
    # Only with the package's own folder as its cache does it find the weights without asking the network first.
    loaded = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    table = np.rint(loaded.embedding * UNIT).astype(np.int32)
    if hashlib.sha256(table.astype("<i4").tobytes()).hexdigest() != WEIGHTS:
        message = "the weights that are installed are not those that this release makes vectors with"
        raise Usage(message, hint="pip install --require-hashes -r configs/requirements.lock")
    return Embedder(loaded.tokenizer, table)


def _imported() -> Any:
    """Import wordllama, which sets up logging for the whole process unless somebody has."""
    quiet = logging.NullHandler()
    logging.root.addHandler(quiet)
    try:
        import wordllama
    finally:
        logging.root.removeHandler(quiet)
    return wordllama
