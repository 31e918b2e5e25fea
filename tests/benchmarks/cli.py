"""How soon a command answers: against a bare interpreter, and against importing the libraries that it needs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from refold.cli import demo
from refold.memory import Memory
from tests.benchmarks import Row, ratio

REFOLD = [sys.executable, "-c", "import sys; from refold.cli import main; sys.exit(main())"]
LIBRARIES = (
    "numpy, platformdirs, Stemmer, pyarrow, pyarrow.compute, pyarrow.parquet, pyarrow.parquet.encryption, "
    "cryptography.hazmat.primitives.asymmetric.ed25519, cryptography.hazmat.primitives.ciphers.aead"
)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def rows(size: str) -> Iterator[Row]:
    """Yield how long `--help` and `status` take."""
    rounds = 15 if size == "full" else 7
    python = sys.executable
    yield ratio(
        "refold --help, of a bare interpreter start", lambda: _run(*REFOLD, "--help"), lambda: _run(python, "-c", "pass"), 12, rounds=rounds
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "demo"
        demo.fill(folder)
        with Memory.open(folder) as memory:
            memory.fold()
        yield ratio(
            "refold status on the demo, of importing its libraries",
            lambda: _run(*REFOLD, "status", "--store", str(folder)),
            lambda: _run(python, "-c", f"import {LIBRARIES}"),
            2,
            rounds=rounds,
        )
