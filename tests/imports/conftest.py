"""Files with given content, read by a given reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from refold.imports.reader import File, Malformed, Options, Reader
from refold.model import Draft

Records = list[Draft | Malformed]
ReadFile = Callable[..., Records]


@pytest.fixture
def read(tmp_path: Path) -> ReadFile:
    """Write a file and read it: `read(READER, content, name=..., options=...)`."""

    def read_file(reader: Reader, content: str | bytes, *, name: str = "notes.txt", options: Options | None = None) -> Records:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return list(reader.read(File(path, name), options or Options()))

    return read_file


def drafts(records: Records) -> list[Draft]:
    assert [record for record in records if isinstance(record, Malformed)] == []
    return [record for record in records if isinstance(record, Draft)]


def faults(records: Records) -> list[tuple[str, str]]:
    return [(record.place, record.reason) for record in records if isinstance(record, Malformed)]


def parts(records: Records) -> list[str]:
    return [str(record.source) for record in records if isinstance(record, Draft)]


def json_lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)
