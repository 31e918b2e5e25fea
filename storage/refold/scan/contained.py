"""Contained: what stands inside a file of a known kind: members, values, names, and what is compressed.

`members` yields what a container holds as bytes that are scanned in turn. Nothing is executed: of a pickle the strings are read, not run.
"""

from __future__ import annotations

import bz2
import io
import lzma
import pickletools
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from refold.scan import databases
from refold.scan.joined import Data, pairs_of, places_of

EXPANDED_BYTES_MAX = 1 << 30
STEP_BYTES = 1 << 20
ZSTD = b"\x28\xb5\x2f\xfd"
GZIP = b"\x1f\x8b\x08"
ZIP = b"PK\x03\x04"
ZIP_END = b"PK\x05\x06"
PARQUET, PARQUET_SEALED = b"PAR1", b"PARE"
TAR = b"ustar"
DAMAGES = (ValueError, OSError, EOFError, KeyError, IndexError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)
DAMAGES_OF_VALUES = (*DAMAGES, tarfile.TarError, sqlite3.Error, RuntimeError, TypeError, UnicodeDecodeError, pa.ArrowException)

# Kinds that hold words in a form that is not read here, by how they begin.
OPAQUE = {
    b"%PDF-": "a PDF",
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89PNG": "a PNG image",
    b"GIF8": "a GIF image",
    b"RIFF": "sound or pictures",
    b"OggS": "sound",
    b"ID3": "sound",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x04\x22\x4d\x18": "compressed with LZ4",
    b"age-encryption.org": "encrypted with age",
    b"-----BEGIN AGE ENCRYPTED": "encrypted with age",
    b"-----BEGIN PGP MESSAGE": "encrypted with PGP",
    b"Salted__": "encrypted with OpenSSL",
    b"LUKS\xba\xbe": "an encrypted disk",
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"\x89HDF": "an HDF5 file",
    b"refold.escrow/1": "a backup of keys, sealed to its recipient",
}


class Undecodable(Exception):
    """What was recognised and cannot be read. Its words are the reason."""


Member = tuple[str, Data]  # what it is, and its bytes


def kind_of(data: Data) -> tuple[str, Callable[[Data], Iterator[Member]]] | None:
    """Return the kind of container that some bytes are, and what reads it; None where they are none."""
    head = bytes(memoryview(data)[:264])
    for begins, name, read in KINDS:
        if head.startswith(begins):
            return name, read
    if head[:2] in ZLIB and len(head) > 2:
        return ("zlib", _zlib) if _begins_zlib(head) else None
    if head[8:12] == b"DUCK":
        return "duckdb", databases.duckdb_values
    if head[257:262] == TAR:
        return "tar", _tar
    if head[:1] == b"\x80" and len(head) > 2 and head[1] in range(2, 6) and bytes(memoryview(data)[-1:]) == b".":
        return "pickle", _pickle
    return None


def opaque_kind(data: Data) -> str | None:
    """Return what a file is that holds words in a form that is not read here."""
    head = bytes(memoryview(data)[:32])
    if head[4:8] == b"ftyp":
        return "a film"
    return next((name for begins, name in OPAQUE.items() if head.startswith(begins)), None)


def read(name: str, members: Callable[[Data], Iterator[Member]], data: Data) -> Iterator[Member]:
    """Yield what a container holds. Raises Undecodable where it is damaged, encrypted or expands beyond all measure."""
    try:
        yield from members(data)
    except DAMAGES_OF_VALUES as error:
        raise Undecodable(f"a damaged or unknown form of {name} ({type(error).__name__})") from None


def embedded(data: Data, *, first: int = 1) -> Iterator[Member]:
    """Yield what begins somewhere inside other bytes and can be read: streams that expand, and files that say where they end.

    What begins before `first` is left out: as a rule what the bytes are themselves.
    """
    raw = data if isinstance(data, bytes) else bytes(data)
    if raw.isascii():
        return  # nothing that is compressed or binary is
    for at in places_of(raw, BEGINNINGS).tolist():
        if at < first:
            continue
        for begins, name, expand in STREAMS:
            begun = raw.startswith(begins, at) and (name != "zlib" or _begins_zlib(raw[at : at + 64]))
            if begun and (plain := _attempted(expand, raw[at : at + EMBEDDED_MAX])):
                yield name, plain
        for begins, name, ends, members in INSIDE:
            if raw.startswith(begins, at):
                end = raw.rfind(ends, at) + len(ends) if ends else at + EMBEDDED_MAX
                if name != "pickle" or int.from_bytes(raw[at + 3 : at + 11], "little") <= len(raw) - at:  # the size of its frame
                    yield from _tried(name, members, raw[at:end])


EMBEDDED_MAX = 64 << 20


def _tried(name: str, members: Callable[[Data], Iterator[Member]], raw: bytes) -> list[Member]:
    """Return what is read until it turns out to be damaged, or something else."""
    found: list[Member] = []
    try:
        found.extend(read(name, members, raw))
    except Undecodable:
        return found
    return found


def _attempted(expand: Callable[[bytes], Iterable[bytes]], raw: bytes) -> bytes:
    """Return as much as expands; nothing where it is no stream after all."""
    return b"".join(bytes(piece) for _, piece in _tried("stream", lambda data: (("", piece) for piece in expand(bytes(data))), raw))


def _whole(name: str, pieces: Iterable[bytes]) -> Iterator[Member]:
    out, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > EXPANDED_BYTES_MAX:
            raise Undecodable(f"{name} that expands beyond {EXPANDED_BYTES_MAX >> 30} GiB")
        out.append(piece)
    yield name, b"".join(out)


def _inflated(raw: bytes, bits: int) -> Iterator[bytes]:
    """Yield the members of a gzip or zlib stream, one after the other. Raises EOFError where the last is cut."""
    while raw:
        stream = zlib.decompressobj(bits)
        rest = raw
        while rest and not stream.eof:
            yield stream.decompress(rest, STEP_BYTES)
            rest = stream.unconsumed_tail
        yield stream.flush()
        if not stream.eof:
            raise EOFError
        raw = stream.unused_data.lstrip(b"\0")
        if bits != GZIP_BITS or not raw.startswith(GZIP):
            return


GZIP_BITS = 31


def _unzstd(raw: bytes) -> Iterator[bytes]:
    """Yield what the frames of a stream hold, one frame after the other; what comes behind them is no part of it."""
    while raw.startswith(ZSTD):
        end = _zstd_end(raw)
        with pa.CompressedInputStream(pa.BufferReader(raw[:end]), "zstd") as stream:
            while piece := stream.read(STEP_BYTES):
                yield piece
        raw = raw[end:]


def _zstd_end(raw: bytes) -> int:
    """Return where the first frame ends (RFC 8878, 3.1.1). Raises IndexError where it is cut."""
    described = raw[4]
    is_single = described >> 5 & 1
    at = 5 + (1 - is_single) + (0, 1, 2, 4)[described & 3] + (is_single, 2, 4, 8)[described >> 6]
    is_last = 0
    while not is_last:
        block = raw[at] | raw[at + 1] << 8 | raw[at + 2] << 16
        is_last, is_run = block & 1, block >> 1 & 3 == 1
        at += 3 + (1 if is_run else block >> 3)
    return at + 4 * (described >> 2 & 1)


def _unbz2(raw: bytes) -> Iterator[bytes]:
    yield _one(bz2.BZ2Decompressor(), raw)


def _unxz(raw: bytes) -> Iterator[bytes]:
    yield _one(lzma.LZMADecompressor(), raw)


def _one(stream: bz2.BZ2Decompressor | lzma.LZMADecompressor, raw: bytes) -> bytes:
    plain = stream.decompress(raw, EXPANDED_BYTES_MAX)
    if not stream.eof:
        raise EOFError
    return plain


def _stream(name: str, expand: Callable[[bytes], Iterable[bytes]]) -> Callable[[Data], Iterator[Member]]:
    return lambda data: _whole(name, expand(bytes(data)))


def _ungzip(raw: bytes) -> Iterator[bytes]:
    return _inflated(raw, GZIP_BITS)


def _unzlib(raw: bytes) -> Iterator[bytes]:
    return _inflated(raw, 15)


def _begins_zlib(head: bytes) -> bool:
    """Whether a stream really begins here: two bytes alone begin so by chance."""
    try:
        return bool(zlib.decompressobj(15).decompress(head, 1)) or len(head) < 16
    except zlib.error:
        return False


ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_zlib = _stream("zlib", _unzlib)


def _zip(data: Data) -> Iterator[Member]:
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        yield "zip", archive.comment
        for member in archive.infolist():
            yield "zip", member.filename.encode(errors="surrogateescape") + b"\n" + member.comment + b"\n" + member.extra
            if member.flag_bits & 1:
                raise Undecodable("an encrypted member of a zip archive")
            if member.file_size > EXPANDED_BYTES_MAX:
                raise Undecodable(f"zip that expands beyond {EXPANDED_BYTES_MAX >> 30} GiB")
            yield "zip", archive.read(member)


def _tar(data: Data) -> Iterator[Member]:
    with tarfile.open(fileobj=io.BytesIO(bytes(data))) as archive:
        for member in archive:
            yield "tar", "\n".join([member.name, member.linkname, member.uname, member.gname]).encode(errors="surrogateescape")
            if member.isfile() and (file := archive.extractfile(member)):
                yield "tar", file.read()


def _pickle(data: Data) -> Iterator[Member]:
    texts = []
    for _, argument, _ in pickletools.genops(bytes(data)):
        if isinstance(argument, str):
            texts.append(argument.encode(errors="surrogatepass"))
        elif isinstance(argument, bytes | bytearray):
            yield "pickle", bytes(argument)
    yield "pickle", b"\n".join(texts)


def _parquet(data: Data) -> Iterator[Member]:
    file = pq.ParquetFile(pa.BufferReader(bytes(data)))
    yield "parquet metadata", _footer(file)
    for batch in file.iter_batches():
        yield from _columns("parquet", batch.columns)


def _footer(file: pq.ParquetFile) -> bytes:
    """Return everything that a footer says: schema, key-value metadata, and the statistics of each column chunk."""
    metadata = file.metadata
    said: list[object] = [metadata.created_by, metadata.schema, *(item for pair in (metadata.metadata or {}).items() for item in pair)]
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            statistics = metadata.row_group(group).column(column).statistics
            if statistics is not None and statistics.has_min_max:
                said += [statistics.min, statistics.max]
    return b"\n".join(each if isinstance(each, bytes) else str(each).encode() for each in said)


def _arrow(data: Data) -> Iterator[Member]:
    with pa.ipc.open_file(pa.BufferReader(bytes(data))) as file:
        for at in range(file.num_record_batches):
            yield from _columns("arrow", file.get_batch(at).columns)


def _columns(name: str, columns: Iterable[pa.Array]) -> Iterator[Member]:
    """Yield the buffers of columns as they are: also what a slice or a mask hides."""
    for column in columns:
        for buffer in column.buffers():
            if buffer is not None and buffer.size:
                yield name, memoryview(buffer)
        if isinstance(column, pa.DictionaryArray):
            yield from _columns(name, [column.dictionary])


KINDS: tuple[tuple[bytes, str, Callable[[Data], Iterator[Member]]], ...] = (
    (GZIP, "gzip", _stream("gzip", _ungzip)),
    (ZSTD, "zstd", _stream("zstd", _unzstd)),
    (ZIP, "zip", _zip),
    (ZIP_END, "zip", _zip),
    (b"BZh", "bzip2", _stream("bzip2", _unbz2)),
    (b"\xfd7zXZ\0", "xz", _stream("xz", _unxz)),
    (PARQUET, "parquet", _parquet),
    (b"ARROW1", "arrow", _arrow),
    (b"SQLite format 3\0", "sqlite", databases.sqlite_values),
)

STREAMS: tuple[tuple[bytes, str, Callable[[bytes], Iterable[bytes]]], ...] = (
    (GZIP, "gzip", _ungzip),
    (ZSTD, "zstd", _unzstd),
    *((begins, "zlib", _unzlib) for begins in ZLIB),
)

# How they begin and, where they say it, end. A pickle ends by itself.
INSIDE: tuple[tuple[bytes, str, bytes, Callable[[Data], Iterator[Member]]], ...] = (
    (ZIP, "zip", b"", _zip),
    (PARQUET, "parquet", PARQUET, _parquet),
    (b"ARROW1", "arrow", b"ARROW1", _arrow),
    (b"SQLite format 3\0", "sqlite", b"", databases.sqlite_values),
    (b"\x80\x04\x95", "pickle", b"", _pickle),
    (b"\x80\x05\x95", "pickle", b"", _pickle),
)

BEGINNINGS = pairs_of(begins[:2] for begins, *_ in (*STREAMS, *INSIDE))
