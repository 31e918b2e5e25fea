"""The forms of an export: Parquet, JSON by lines, and GraphML, which graph programs read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq

from refold import times
from refold.errors import Usage
from refold.export.rows import TIMES, Row, Rows

NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2: not even as a reference
BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}  # line ends to some that read by lines; JSON leaves them as they are
ON_EDGES = ("relation", "qualifier", "act", "modality", "standing", "contested", "asserted_by", "said_at", "valid_from", "valid_to")
ON_EDGES += ("source", "quote")


class Form(StrEnum):
    """What files an export has."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    GRAPHML = "graphml"


def written(form: Form, tables: Sequence[Rows]) -> list[tuple[str, bytes]]:
    """Return the names and bytes of the files of a form. Raises Usage where GraphML is asked for and networkx is not installed."""
    if form is Form.GRAPHML:
        return [("facts.graphml", _graphml(*tables[:2]))]
    write: Callable[[Rows], bytes] = _parquet if form is Form.PARQUET else _lines
    return [(f"{table.name}.{form.value}", write(table)) for table in tables]


def _parquet(table: Rows) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(table.rows), table.schema), sink)
    return sink.getvalue().to_pybytes()


def _lines(table: Rows) -> bytes:
    return "".join(json.dumps(_readable(row), ensure_ascii=False).translate(BREAKS) + "\n" for row in table.rows).encode()


def _readable(row: Row) -> Row:
    return {name: times.iso(value) if name in TIMES and isinstance(value, int) else value for name, value in row.items()}


def _graphml(facts: Rows, entities: Rows) -> bytes:
    """Return entities and values as nodes and facts as edges, parallel ones kept; a value that is no entity is one node for all facts."""
    networkx = _networkx()
    graph = networkx.MultiDiGraph()
    for entity in map(_writable, entities.rows):
        graph.add_node(entity["entity_id"], kind="entity", label=entity["name"], facts=entity["facts"])
    for row in map(_writable, map(_readable, facts.rows)):
        target = row["value_id"] or f"value:{row['value']}"
        if target not in graph:
            graph.add_node(target, kind="value", label=row["value"], facts=0)
        graph.add_edge(row["entity_id"], target, key=row["fact_id"], **{name: row[name] for name in ON_EDGES if row[name] is not None})
    return "\n".join([*networkx.generate_graphml(graph), ""]).encode()


def _writable(row: Row) -> Row:
    """Return a row with what no XML may hold replaced: a control character that somebody typed would make the file none."""
    return {name: NO_XML.sub("\ufffd", value) if isinstance(value, str) else value for name, value in row.items()}


def _networkx() -> ModuleType:
    try:
        import networkx
    except ImportError:
        raise Usage("GraphML is written by networkx, which is not installed", hint="pip install 'refold[notebook]'") from None
    return networkx
