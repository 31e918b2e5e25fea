"""Forms: the words that the forms of Refold's own files prescribe, which are no trace of whoever is called so.

The keys of a signed commit, the stages of a request, the sentences of a certificate stand in every store, whoever is in it. They are set
aside where a file lies at its place and is of its form to the last key, and only where the form has them: an object with a key too many is
looked into whole, and so is a value that is none of the words which may stand there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files as packaged
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from refold import canonical
from refold.keys.epochs import FOLDER_NAME
from refold.scan.recognised import IN_A_STORE, IN_A_VAULT, PART_COLUMNS, lies_in

# What may stand at a place: one of a few words, a pattern whose groups are words, a list of something, a row of places, an object of
# exactly these keys (one with a question mark may be missing). None is a number, an id, or something that somebody may have written.
Form = None | frozenset[str] | re.Pattern[str] | list["Form"] | tuple["Form", ...] | dict[str, "Form"]
Places = list[tuple[int, int]]  # where words stand: from, until

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|\b(?:null|true|false)\b')
FILE_WORDS = re.compile(
    r"(?:(log|calls)/)?(parts|commits)(?:/[0-9]{20}(?:-[0-9a-f]{16})?(?:\.(parquet|json))?)?|(store)\.(json)|(state)/(CURRENT)"
)
LOG_NAME = re.compile(r"(refold)\.(log)/[0-9a-f]{32}(?:\+.*)?")
NOTE = re.compile(rb"refold\.log/([0-9a-f]{32})\n(?:0|[1-9][0-9]*)\n[A-Za-z0-9+/]{43}=\n\n(?:\xe2\x80\x94 \S+ [A-Za-z0-9+/]+=*\n)+")
WRITTEN_BY = re.compile(r"parquet-cpp-arrow version [0-9.]+")
SECRETS = frozenset({"key", "seeds", "batches", "subjects", "shares", "suppressed", "erased"})
VERDICTS = frozenset({"WAL_INTACT", "RECOVERABLE_FROM_CHECKPOINT", "CORRUPTION_BOUNDARY_DETECTED", "UNRECOVERABLE_CORRUPTION"})
STAGES = frozenset(
    {
        *("requested", "found", "reviewed", "planned", "approved", "running", "erased", "certified", "certified-except", "refused"),
        *("held", "released", "dark"),
    }
)


def _format(name: str) -> Form:
    return re.compile(rf"(refold)\.({name})/[0-9]+")


def _signed(body: dict[str, Form]) -> Form:
    return {"body": body, "sig": None}


PARTS: Form = [(FILE_WORDS, None, None, None, None)]
COMMIT = _signed(
    {
        **dict.fromkeys(("control", "epoch", "fence", "first_seq", "key?", "last_hash", "next_seq", "origin", "prev_hash", "previous")),
        **dict.fromkeys(("time", "txn", "version", "writer")),
        "format": _format("log|calls"),
        "live": {"erasures": None, "parts": PARTS},
        "parts": PARTS,
        "replaces": {"added": PARTS, "removed": [FILE_WORDS]},
    }
)
ATTESTATION = _signed({**dict.fromkeys(("attested", "epoch", "generation", "origin", "size")), "format": _format("attestation")})
SEALED = _signed({"epoch": None, "files": [(SECRETS, None, None)], "format": _format("keyring"), "origin": None})
REQUEST: Form = {
    **dict.fromkeys(("due", "id", "received", "sealed", "sha256")),
    "format": _format("request"),
    "history": [(STAGES, None)],
    "stage": STAGES,
}
VERDICT: Form = {
    **dict.fromkeys(("at?", "deep", "digest", "intact", "size")),
    "damaged": [(FILE_WORDS, None)],
    "format": _format("verdict"),
    "kind": VERDICTS,
}
STATEMENT: Form = {
    "body": {**dict.fromkeys(("new", "number", "old", "origin")), "format": _format("key")},
    "new": None,
    "old": None,
}

# By where a file lies in a store or a vault. The name of a schema stands for what it describes.
IN_STORE: tuple[tuple[str, Form | str], ...] = (
    (r"store\.json", {"format": _format("store"), "origin": None}),
    (r"copy\.json", {"format": _format("copy"), "kind": frozenset({"mirror", "backup"}), "origin": None}),
    (r"(?:log|calls)/commits/[0-9]{20}\.json", COMMIT),
    (r"state/CURRENT", {**dict.fromkeys(("epoch", "generation", "last_hash", "size")), "format": _format("state")}),
    (r"checkpoints/[0-9]{20}-[0-9]{12}\.json", ATTESTATION),
    (r"receipts/erasure_certificate-[0-9a-f]+\.json", "erasure_certificate"),
    (r"receipts/boundary-[0-9a-f]+\.json", "wal_corruption_boundary_signature"),
)
IN_VAULT: tuple[tuple[str, Form | str], ...] = (
    (rf"keys/{FOLDER_NAME.pattern}/SEALED", SEALED),
    (r"requests/[0-9a-f]{32}", REQUEST),
    (r"cache/verdict", VERDICT),
    (r"custody", {"custody": frozenset({"pkcs11"}), "format": _format("custody"), "token": None}),
    (r"tokens/[a-z0-9-]+\.json", {**dict.fromkeys(("made_at", "name", "principal", "sha256")), "format": _format("token")}),
    (r"witness/log\.json", {"format": _format("vault"), "origin": None, "public_key": None}),
    (r"witness/keys/[0-9]{6}\.json", STATEMENT),
)
NOTES = (
    (IN_A_STORE, re.compile(r"checkpoints/[0-9]{20}\.note")),
    (IN_A_VAULT, re.compile(r"witness/heads/[0-9]{20}\.note")),
)
BY_PLACE = [(mark, re.compile(where), form) for mark, table in ((IN_A_STORE, IN_STORE), (IN_A_VAULT, IN_VAULT)) for where, form in table]


def without_words(path: Path, raw: bytes) -> bytes:
    """Return the bytes of a file of Refold with zeros for the words of its form: all else keeps its place."""
    plain = bytearray(raw)
    for start, end in _words(path, raw):
        plain[start:end] = bytes(end - start)
    return bytes(plain)


def _words(path: Path, raw: bytes) -> Places:
    if raw[:4] == b"PAR1":
        return _of_part(raw)
    if any(lies_in(path, mark, where) for mark, where in NOTES):
        return _of_note(raw)
    form = next((form for mark, where, form in BY_PLACE if lies_in(path, mark, where)), None)
    return _of_json(raw, _of_schema(form) if isinstance(form, str) else form)


def _of_json(raw: bytes, form: Form) -> Places:
    try:
        value = canonical.decode(raw)
    except ValueError:
        return []
    places: Places = []
    for token, words in zip(TOKEN.finditer(raw), _tokens(value, form), strict=True):
        places += [(token.start() + start, token.start() + end) for start, end in words]
    return places


def _tokens(value: object, form: Form) -> Iterator[Places]:
    """Yield for each text and literal of a value, in their order in canonical bytes, where in its token words stand."""
    if isinstance(value, str):
        yield _of_text(value, form)
    elif value is None or isinstance(value, bool):
        yield [(0, len(canonical.encode(value)))]
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _tokens(each, _nth(form, at, len(value)))
    elif isinstance(value, dict):
        fields = _fields(value, form)
        for name, each in value.items():
            yield [(1, 1 + len(name))] if fields is not None else []
            yield from _tokens(each, fields[name] if fields else None)


def _of_text(value: str, form: Form) -> Places:
    if isinstance(form, frozenset) and value in form and value.isascii():
        return [(1, 1 + len(value))]
    if isinstance(form, re.Pattern) and value.isascii() and (found := form.fullmatch(value)):
        return [(1 + found.start(at), 1 + found.end(at)) for at in range(1, form.groups + 1) if found[at]]
    return []


def _nth(form: Form, at: int, count: int) -> Form:
    if isinstance(form, tuple):
        return form[at] if len(form) == count else None
    return form[0] if isinstance(form, list) else None


def _fields(value: dict[str, Any], form: Form) -> Mapping[str, Form] | None:
    """Return what the keys of an object stand for; None where they are not exactly those of its form."""
    if not isinstance(form, dict):
        return None
    named = {name.removesuffix("?"): each for name, each in form.items()}
    needed = {name for name in form if not name.endswith("?")}
    return named if needed <= value.keys() <= named.keys() else None


@cache
def _of_schema(name: str) -> Form:
    """Return the form of a paper, from its schema in the package."""
    return _described(json.loads((packaged("refold") / "schemas" / f"{name}.1.json").read_text(encoding="utf-8")))


def _described(schema: dict[str, Any]) -> Form:
    if "properties" in schema:
        return {name + "?" * (name not in schema["required"]): _described(each) for name, each in schema["properties"].items()} | (
            {"key": LOG_NAME} if "key" in schema["properties"] else {}
        )
    if "items" in schema:
        return [_described(schema["items"])]
    words = [schema["const"]] if "const" in schema else schema.get("enum", [])
    return frozenset(word for word in words if isinstance(word, str)) or None


def _of_note(raw: bytes) -> Places:
    """Return where the name of the log stands in a signed head: before the log's random name, in its first line and under its text."""
    found = NOTE.fullmatch(raw)
    if found is None:
        return []
    return [(at.start(), at.end()) for at in re.finditer(rb"(?:^|(?<=\n\xe2\x80\x94 ))refold\.log(?=/%s[ \n])" % found[1], raw)]


def _of_part(raw: bytes) -> Places:
    """Return where the footer of a part of a log names columns and what wrote it; nothing where it says anything else."""
    try:
        footer = pq.ParquetFile(pa.BufferReader(raw)).metadata
        columns = [footer.row_group(group).column(at) for group in range(footer.num_row_groups) for at in range(footer.num_columns)]
    except (pa.ArrowException, OSError, ValueError):
        return []
    is_plain = not footer.metadata and not any(column.is_stats_set for column in columns)
    if footer.schema.names != PART_COLUMNS or not is_plain or not WRITTEN_BY.fullmatch(footer.created_by):
        return []
    said = b"|".join(re.escape(name.encode()) for name in (*sorted(PART_COLUMNS, key=len, reverse=True), "schema", footer.created_by))
    begins = len(raw) - 8 - footer.serialized_size
    return [(found.start(), found.end()) for found in re.compile(said).finditer(raw, begins)]
