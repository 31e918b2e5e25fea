"""Rows of a generation as the values that readers work with. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import pyarrow as pa

from refold.fold.entities import Edge
from refold.model import Act, Modality, Precision, Span, Validity
from refold.reading import Claim

NO_TIME = Validity()


def claims(rows: pa.Table) -> list[Claim]:
    """Return rows of `assertions` as claims, in the order of the rows."""
    columns = {name: rows[name].to_pylist() for name in rows.column_names}
    return list(map(Claim, *_converted(columns)))


def edges(rows: pa.Table) -> list[Edge]:
    """Return rows of `edges` as alias statements, in the order of the rows."""
    return [_edge(row) for row in _each(rows)]


def _each(rows: pa.Table) -> Iterator[dict[str, Any]]:
    columns = [rows[name].to_pylist() for name in rows.column_names]
    return (dict(zip(rows.column_names, row, strict=True)) for row in zip(*columns, strict=True))


def _edge(row: dict[str, Any]) -> Edge:
    act, spans = Act(row.pop("act")), _spans(row.pop("spans"))
    return Edge(**row, act=act, spans=spans)


def _converted(columns: dict[str, list[Any]]) -> Iterator[Iterable[Any]]:
    """Yield one column for each field of a claim, in the order of the fields."""
    acts, modalities, precisions = tuple(Act), tuple(Modality), {None: None, **{each.value: each for each in Precision}}
    made: dict[str, Iterable[Any]] = {
        "act": (acts[act] for act in columns["act"]),
        "modality": (modalities[modality] for modality in columns["modality"]),
        "spans": map(_spans, columns["spans"]),
        "span": zip(columns["span_start"], columns["span_end"], strict=True),
        "subjects": map(tuple, columns["subjects"]),
        "named_span": map(_span, columns["named_start"], columns["named_end"]),
        "validity": map(
            _validity,
            columns["valid_from"],
            columns["valid_to"],
            (precisions[precision] for precision in columns["valid_precision"]),
            columns["valid_words"],
        ),
    }
    return (made.get(field.name) or columns[field.name] for field in fields(Claim))


def _validity(start: int | None, end: int | None, precision: Precision | None, words: str) -> Validity:
    return Validity(start, end, precision, words) if words or start is not None or end is not None else NO_TIME


def _span(start: int | None, end: int | None) -> Span | None:
    return None if start is None or end is None else (start, end)


def _spans(flat: list[int]) -> tuple[Span, ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))
