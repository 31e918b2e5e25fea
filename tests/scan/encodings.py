"""The ways in which data that should be gone survives: each takes a text and gives bytes that hold it."""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import pickle
import quopri
import unicodedata
import urllib.parse
import zipfile
import zlib

import pyarrow as pa
import pyarrow.parquet as pq


def zipped(raw: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", raw)
    return out.getvalue()


def parquet(values: list, *, metadata: dict | None = None) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"a": values}).replace_schema_metadata(metadata), out, compression="zstd")
    return out.getvalue()


def zstd(raw: bytes) -> bytes:
    return pa.compress(raw, codec="zstd", asbytes=True)


def turned(name: str) -> str:
    first, last = name.split()
    return f"{last}, {first}"


NAME, NUMBER = "Ruth Böhm", "+49 170 5550143"
TEXT = f"we met {NAME} at the boathouse"
RAW = TEXT.encode()

# Each row of the table of encodings: what is written to a file.
PLANTED: dict[str, bytes] = {
    "utf-8": RAW,
    "utf-16-le": TEXT.encode("utf-16-le"),
    "utf-16-be": TEXT.encode("utf-16-be"),
    **{f"base64, alignment {ahead}": base64.b64encode(b"-" * ahead + RAW) for ahead in range(3)},
    "base64 for URLs": base64.urlsafe_b64encode(b"\xff\xfe\xfd>" + RAW),
    "hex": RAW.hex().encode(),
    "gzip": gzip.compress(RAW * 50),
    "zlib": zlib.compress(RAW * 50),
    "zstd": zstd(RAW * 50),
    "zip": zipped(RAW * 50),
    "pickle": pickle.dumps({"said": [TEXT]}),
    "JSON escapes": json.dumps({"said": TEXT}).encode(),
    "URL": urllib.parse.quote(TEXT).encode(),
    "HTML": html.escape(TEXT).replace("ö", "&ouml;").encode(),
    "HTML numbers": "".join(f"&#{ord(letter)};" for letter in TEXT).encode(),
    "NFC": unicodedata.normalize("NFC", TEXT).encode(),
    "NFD": unicodedata.normalize("NFD", TEXT).encode(),
    "case": TEXT.upper().encode(),
    "white space": TEXT.replace(NAME, NAME.replace(" ", " \u00a0\n\t")).encode(),
    "name order": TEXT.replace(NAME, turned(NAME)).encode(),
    "phone digits": b"call (0170) 555-01 43 tomorrow",
    "Parquet values": parquet([TEXT] * 50),
    "Parquet metadata": parquet([1], metadata={"by": TEXT}),
    "Parquet statistics": parquet(["aaa", TEXT, "zzz"]),
    "quoted-printable": quopri.encodestring(RAW),
    "windows-1252": TEXT.encode("cp1252"),
}

# What may be put around anything, to any depth.
AROUND = {
    "base64": base64.b64encode,
    "base64 for URLs": base64.urlsafe_b64encode,
    "hex": lambda raw: raw.hex().encode(),
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "zstd": zstd,
    "zip": zipped,
    "pickle": lambda raw: pickle.dumps({"raw": raw}),
    "JSON of base64": lambda raw: json.dumps({"data": base64.b64encode(raw).decode()}).encode(),
    "URL": lambda raw: urllib.parse.quote_from_bytes(raw).encode(),
    "Parquet": lambda raw: parquet([raw]),
    "UTF-16": lambda raw: base64.b64encode(raw).decode().encode("utf-16-le"),
}
