"""Rows of a generation as the values that readers work with. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from refold.fold.entities import Edge
from refold.model import Act, Modality, Precision, Span, Validity
from refold.reading import Claim


def claims(rows: pa.Table) -> list[Claim]:
    """Return rows of `assertions` as claims, in the order of the rows."""
    return [_claim(row) for row in _each(rows)]


def edges(rows: pa.Table) -> list[Edge]:
    """Return rows of `edges` as alias statements, in the order of the rows."""
    return [_edge(row) for row in _each(rows)]


def _each(rows: pa.Table) -> Iterator[dict[str, Any]]:
    columns = [rows[name].to_pylist() for name in rows.column_names]
    return (dict(zip(rows.column_names, row, strict=True)) for row in zip(*columns, strict=True))


def _edge(row: dict[str, Any]) -> Edge:
    act, spans = Act(row.pop("act")), _spans(row.pop("spans"))
    return Edge(**row, act=act, spans=spans)


def _claim(row: dict[str, Any]) -> Claim:
    precision = row["valid_precision"]
    validity = Validity(row["valid_from"], row["valid_to"], None if precision is None else Precision(precision), row["valid_words"])
    return Claim(
        mention=row["mention"],
        entity=row["entity"],
        relation=row["relation"],
        qualifier=row["qualifier"],
        value=row["value"],
        value_mention=row["value_mention"],
        act=Act(row["act"]),
        modality=Modality(row["modality"]),
        asserted_by=row["asserted_by"],
        rank=row["rank"],
        said_at=row["said_at"],
        source=row["source"],
        part=row["part"],
        seq=row["seq"],
        recorded_at=row["recorded_at"],
        spans=_spans(row["spans"]),
        span=(row["span_start"], row["span_end"]),
        audience=row["audience"],
        scope=row["scope"],
        fact_id=row["fact_id"],
        validity=validity,
        extractor=row["extractor"],
    )


def _spans(flat: list[int]) -> tuple[Span, ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))
