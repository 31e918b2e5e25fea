"""Recognised: files that Refold itself has sealed, by their form: what is in them is read with the keys of the store, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from refold.keys.crypto import KEY_BYTES
from refold.keys.epochs import FOLDER_NAME
from refold.keys.roots import FILE_NAME
from refold.scan.joined import Data

IN_A_STORE, IN_A_VAULT = "store.json", "witness/log.json"  # what a folder holds that is one
PART_COLUMNS = ["header", "payload", "payload_commit", "entry_hash"]
ANY = re.compile(r"(?:log|calls|state|checkpoints|receipts|keys|requests|dockets|journal|migrate|quarantine)/.+")
NAME_IN_STORE = re.compile(
    r"(?:store|copy)\.json|\.gitignore|prefect|(?:log|calls)(?:/turn|/(?:commits(?:/[0-9]{20}\.json)?|parts(?:/[0-9]{20}-[0-9a-f]{16}\.parquet)?))?|"
    r"state(?:/CURRENT|/[0-9]{12}|/runs(?:/[0-9a-f]{32})?)?|checkpoints(?:/[0-9]{20}(?:-[0-9]{12})?\.[a-z]+)?|"
    r"receipts(?:/(?:erasure_certificate|boundary)-[0-9a-f]+\.json)?"
)
NAME_IN_VAULT = re.compile(
    rf"keys(?:/{FOLDER_NAME.pattern}(?:/(?:key|seeds|batches|subjects|shares|suppressed|erased|SEALED))?)?|"
    r"signing(?:/[0-9]{6}\.(?:key|json))?|witness(?:/log\.json|/heads(?:/[0-9]{20}\.note)?|/keys(?:/[0-9]{6}\.json)?)?|(?:mutate|readers)\.lock|copies(?:/register)?|"
    r"(?:requests|dockets|journal)(?:/[0-9a-f]{32})?|cache(?:/verdict)?|custody|tokens|quarantine|migrate"
)
ROOT_NAME = re.compile(rf"{FILE_NAME.pattern}|docket\.[0-9a-f]{{32}}")
RUN_NAME = re.compile(r"[0-9a-f]{32}")
IN_STORE = re.compile(r"state/[0-9]{12}")
CLEAR_IN_STORE = re.compile(r"(?:store|copy)\.json|state/CURRENT|(?:log|calls)/commits/.+|(?:checkpoints|receipts)/.+")
CLEAR_IN_VAULT = re.compile(rf"keys/{FOLDER_NAME.pattern}/SEALED|custody|(?:signing|witness|tokens|cache)/.+")
IN_VAULT = re.compile(rf"keys/{FOLDER_NAME.pattern}/[a-z]+|(?:requests|dockets|copies|migrate|journal)/.+")


def is_sealed(path: Path, data: Data) -> bool:
    """Whether a file is ciphertext of Refold: a part of a log, a run or manifest of a state, or a secret of a vault."""
    head = bytes(memoryview(data)[:4])
    if head == b"PARE":
        return RUN_NAME.fullmatch(path.name) is not None
    if head == b"PAR1":
        return is_part(data)
    return lies_in(path, IN_A_STORE, IN_STORE) or lies_in(path, IN_A_VAULT, IN_VAULT)


def is_own(path: Path, data: Data) -> bool:
    """Whether a file in clear is one of Refold's, in which ids, digests and signatures stand, or a key."""
    if ROOT_NAME.fullmatch(path.name):
        return len(data) == KEY_BYTES
    return lies_in(path, IN_A_STORE, CLEAR_IN_STORE) or lies_in(path, IN_A_VAULT, CLEAR_IN_VAULT)


def is_inside(path: Path) -> bool:
    """Whether a path lies in a store or vault, where the names of files are made of random ids."""
    return lies_in(path, IN_A_STORE, ANY) or lies_in(path, IN_A_VAULT, ANY)


def is_own_name(path: Path) -> bool:
    """Whether a path in a store or vault is one that Refold gives, of fixed words and random ids: it says nothing of anybody."""
    return lies_in(path, IN_A_STORE, NAME_IN_STORE) or lies_in(path, IN_A_VAULT, NAME_IN_VAULT)


def is_part(data: Data) -> bool:
    """Whether a file is a part of a log: what it says is in the cells of one column, and those are sealed."""
    try:
        return pq.read_schema(pa.BufferReader(bytes(data))).names == PART_COLUMNS
    except (pa.ArrowException, OSError, ValueError):
        return False


def lies_in(path: Path, mark: str, form: re.Pattern[str]) -> bool:
    """Whether a path lies where a file of this form does, below a folder that holds the mark of a store or vault."""
    return any(form.fullmatch(path.relative_to(folder).as_posix()) and (folder / mark).is_file() for folder in list(path.parents)[:4])
