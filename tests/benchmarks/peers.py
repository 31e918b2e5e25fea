"""What an append costs against peers that keep events or tables too, where they are installed: pip install 'refold[bench]'.

Each writes the same events to the same disk in the same run: an event-sourcing library with its own encryption into SQLite, and a table
format that commits to a log of files. Neither keeps a key for every event, nor chains or signs what it wrote. The first is held to the
limit with the cipher that it takes by default; with its other, faster one the figure is reported.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from refold.model import Draft
from tests.benchmarks import Row, ratio
from tests.benchmarks.log import add, batches, fresh

BATCH, ROUNDS = 1_000, {"small": 9, "full": 25}
OF_A_BATCH = "a batch of 1,000, eventsourcing with {} against ours"
DEFAULT, OTHER = "pycryptodome", "cryptography"
CIPHERS = {DEFAULT: "eventsourcing.cipher:AESCipher", OTHER: "eventsourcing.cryptography:AESCipher"}
OF_ONE = "one durable append, deltalake against ours"


def rows(size: str) -> Iterator[Row]:
    """Return how many times longer each peer takes."""
    with TemporaryDirectory() as name:
        for library, package in ((DEFAULT, "Crypto"), (OTHER, "cryptography")):
            installed = find_spec("eventsourcing") and find_spec(package)
            yield batched(Path(name, library), ROUNDS[size], library) if installed else missing(OF_A_BATCH.format(library), "eventsourcing")
        yield single(Path(name, "singles"), 3 * ROUNDS[size]) if find_spec("deltalake") else missing(OF_ONE, "deltalake")


def missing(name: str, peer: str) -> Row:
    return Row(name, float("nan"), note=f"{peer} is not installed: pip install 'refold[bench]'")


def at_least(row: Row, limit: float) -> Row:
    return replace(row, limit=limit, at_least=True)


def batched(folder: Path, rounds: int, library: str) -> Row:
    """Let both record a thousand turns of chats, sealed, as one commit; the peer by one of the two libraries that it can seal with."""
    chat = import_module("tests.benchmarks.peer_chat")
    environment = {
        "PERSISTENCE_MODULE": "eventsourcing.sqlite",
        "SQLITE_DBNAME": str(folder / "peer.db"),
        "CIPHER_TOPIC": CIPHERS[library],
        "CIPHER_KEY": b64encode(os.urandom(32)).decode(),
    }
    with fresh(folder) as store:
        ours, theirs, peer = batches(rounds + 1, size=BATCH), batches(rounds + 1, size=BATCH), chat.Chats(environment)

        def record() -> None:
            said = chat.Chat()
            for draft in next(theirs):
                said.say(**columns(draft))
            peer.save(said)

        row = ratio(OF_A_BATCH.format(library), record, lambda: add(store, next(ours)), None, rounds=rounds)
        peer.close()
    return at_least(row, 3) if library == DEFAULT else row


def single(folder: Path, rounds: int) -> Row:
    """Let both append one event, and come back when it is there for good."""
    write = import_module("deltalake").write_deltalake
    with fresh(folder) as store:
        ours, theirs = batches(rounds + 1, size=1), batches(rounds + 1, size=1)

        def append() -> None:
            write(str(folder / "table"), pa.Table.from_pylist([columns(draft) for draft in next(theirs)]), mode="append")

        return at_least(ratio(OF_ONE, append, lambda: add(store, next(ours)), None, rounds=rounds), 2)


def columns(draft: Draft) -> dict[str, str | int]:
    """Return an event as a peer takes it."""
    return {
        "text": draft.text,
        "source": str(draft.source),
        "said_at": draft.said_at or 0,
        "role": draft.role.value,
        "user": draft.scope.user or "",
    }
