"""SQL for the operator: what it sees, what it refuses, and that an error tells nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from refold.errors import Corrupt, Usage
from refold.state import views
from refold.state.generation import State
from refold.state.sql import sql
from refold.state.tables import TABLES
from refold.store import Store, create, open_store, places
from tests.conftest import now
from tests.facts.world import World, day, say

SECRET = "Zanzibar"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("sql")
    with create(places(folder / "store", folder / "vault", folder / "root", env={}), now=now, random=os.urandom) as store:
        yield filled(store)


def filled(store: Store) -> World:
    made = World.empty(store)
    made.tell(
        say("ada", f"I live in {SECRET}.", on=9, audience=("family",)),
        say("ada", "I moved to Munich.", on=50),
        say("ben", "I like tea.", on=60),
        say("ben", "I don't like tea any more.", on=61),
    )
    return made


def asked(world: World, query: str) -> list[dict[str, object]]:
    return sql(world.state, world.store.log, query).to_pylist()


def test_facts_are_in_every_standing_with_words_for_numbers(world: World):
    found = asked(world, "SELECT entity, relation, value, act, standing, modality FROM facts ORDER BY said_at")
    assert [tuple(row.values()) for row in found] == [
        ("ada", "lives_in", SECRET, "say", "superseded", "asserted"),
        ("ada", "lives_in", "Munich", "say", "holds", "asserted"),
        ("ben", "likes", "tea", "say", "denied", "asserted"),
        ("ben", "likes", "tea", "deny", "closing", "asserted"),
    ]


def test_what_beat_a_fact_is_a_fact(world: World):
    found = asked(world, "SELECT b.value, f.sayings FROM facts f JOIN facts b ON f.beaten_by = b.fact_id WHERE f.standing = 'superseded'")
    assert found == [{"value": "Munich", "sayings": 1}]


def test_ids_and_times_are_those_that_are_shown_elsewhere(world: World):
    (fact,) = world.facts("ada", labels=None)
    (row,) = asked(world, f"SELECT fact_id, seq, said_at FROM assertions WHERE fact_id = '{fact.fact_id.hex()}'")
    assert row == {"fact_id": fact.fact_id.hex(), "seq": fact.seq, "said_at": datetime(2024, 2, 20)}
    assert fact.said_at == day(50)


def test_scopes_and_labels_are_in_words(world: World):
    found = asked(world, 'SELECT DISTINCT "user", agent, labels FROM events ORDER BY ALL')
    assert [tuple(row.values()) for row in found] == [("ada", None, []), ("ada", None, ["family"]), ("ben", None, [])]


def test_the_log_is_seen_by_its_headers(world: World):
    found = asked(world, "SELECT kind, count(*) AS n, bool_or(erased) AS erased FROM log GROUP BY kind ORDER BY kind")
    assert found == [{"kind": "event", "n": 4, "erased": False}, {"kind": "subject", "n": 2, "erased": False}]
    joined = asked(world, "SELECT count(*) AS n FROM log JOIN events USING (seq, event_id, ingest, recorded_at)")
    assert joined == [{"n": 4}]


def test_text_opens_events_row_by_row(world: World):
    found = asked(world, "SELECT text(seq) AS said FROM events WHERE seq IN (SELECT seq FROM assertions WHERE value = 'Munich')")
    assert found == [{"said": "I moved to Munich."}]


def test_text_is_null_where_there_is_none(world: World):
    assert asked(world, "SELECT text(0) AS a, text(99) AS b, text(-1) AS c, text(NULL) AS d") == [
        {"a": None, "b": None, "c": None, "d": None}
    ]


def test_every_table_can_be_asked_and_is_listed(world: World):
    for name in (*TABLES, "log", "facts"):
        assert asked(world, f"SELECT count(*) AS n FROM {name}")[0]["n"] is not None
    assert {row["name"] for row in asked(world, "SHOW TABLES")} == {*TABLES, "log", "facts"}
    assert {row["column_name"] for row in asked(world, "DESCRIBE facts")} >= {"fact_id", "entity", "standing", "contested", "beaten_by"}


def test_an_empty_state_can_be_asked(store: Store):
    empty = World.empty(store)
    for name in (*TABLES, "log", "facts"):
        assert asked(empty, f"SELECT * FROM {name}") == []


REFUSED = [
    "",
    "  -- nothing",
    "SELECT 1; SELECT 2",
    "COPY events TO '{leak}.csv'",
    "COPY (SELECT text(seq) FROM events) TO '{leak}.parquet'",
    "ATTACH '{leak}.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET threads = 1",
    "SET temp_directory = '/tmp'",
    "RESET memory_limit",
    "PRAGMA enable_profiling = 'json'",
    "PRAGMA database_list",
    "EXPORT DATABASE '{leak}'",
    "CALL pragma_version()",
    "CREATE TABLE kept AS SELECT 1",
    "CREATE SECRET (TYPE s3)",
    "INSERT INTO events VALUES (1)",
    "DELETE FROM events",
    "DROP VIEW events",
    "UPDATE events SET seq = 1",
    "VACUUM",
    "CHECKPOINT",
    "EXPLAIN ANALYZE COPY events TO '{leak}.csv'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/*')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM query('COPY events TO ''{leak}.csv''')",
    "SELECT getenv('HOME')",
    "SELECT * FROM world",
    "SELECT * FROM sources",
    'SELECT * FROM "table"',
]


@pytest.mark.parametrize("query", REFUSED)
def test_a_hostile_statement_is_refused(world: World, query: str, tmp_path: Path):
    with pytest.raises(Usage) as refused:
        sql(world.state, world.store.log, query.replace("{leak}", str(tmp_path / "leak")))
    assert refused.value.hint == views.HINT
    assert not list(tmp_path.glob("leak*"))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT CAST(value AS INTEGER) FROM facts",
        "SELECT CAST(text(seq) AS DATE) FROM events",
        "SELECT error(text(seq)) FROM events",
        "SELECT value + 1 FROM facts",
        "SELECT value.nothing FROM facts",
        f"SELECT {SECRET} FROM facts",
        f"SELECT * FROM facts WHERE {SECRET}(1)",
        f"SELEC '{SECRET}'",
        "SELECT json_extract(value, '$[') FROM facts",
        "SELECT regexp_matches(value, '(') FROM facts",
        "SELECT strptime(value, '%Y') FROM facts",
    ],
)
def test_an_error_tells_nothing_of_the_data_or_the_statement(world: World, query: str):
    with pytest.raises(Usage) as refused:
        sql(world.state, world.store.log, query)
    error = refused.value
    assert SECRET not in repr((error.message, error.hint, error.details, error.args))
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_an_error_names_the_line(world: World):
    with pytest.raises(Usage, match=r"names a column that is not there.* at line 3"):
        sql(world.state, world.store.log, "SELECT entity,\n  value,\n  nothing\nFROM facts")


def test_damage_met_on_the_way_is_not_called_a_bad_statement(store: Store):
    filled(store)
    for part in (store.places.store / "log" / "parts").iterdir():
        part.chmod(0o600)
        part.write_bytes(part.read_bytes()[:-1] + b"?")
    with open_store(store.places, random=os.urandom) as again, pytest.raises(Corrupt):
        sql(State.open(again), again.log, "SELECT text(seq) FROM events")


def test_only_the_tables_that_are_named_are_read(world: World):
    read: list[str] = []

    def source(name: str) -> views.Source:
        return lambda: read.append(name) or pa.table({"n": [1]})

    sources = {name: source(name) for name in ("one", "two", "three")}
    views.ask("SELECT one.n FROM one JOIN TWO USING (n)", sources=sources, log=world.store.log)
    assert read == ["one", "two"]


@pytest.mark.parametrize(("rows", "limits"), [(11, {"rows_max": 10}), (10**12, {"rows_max": 10}), (100, {"bytes_max": 700})])
def test_an_answer_that_is_too_long_is_refused_before_all_of_it_is_there(world: World, rows: int, limits: dict[str, Any]):
    with pytest.raises(Usage, match="the answer has at least") as caught:
        views.ask(f"SELECT * FROM range({rows})", sources={}, log=world.store.log, **limits)
    assert "LIMIT" in str(caught.value.hint)
    assert caught.value.details["limit"] in limits.values()
    assert int(caught.value.details["found"]) > int(caught.value.details["limit"])


def test_an_answer_as_long_as_it_may_be_is_given(world: World):
    assert views.ask("SELECT * FROM range(100)", sources={}, log=world.store.log, rows_max=100, bytes_max=1_000).num_rows == 100


def test_nothing_is_spilled_to_disk(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where spilling is possible this statement succeeds."""
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    query = "SELECT count(*) FROM (SELECT DISTINCT i, md5(i::VARCHAR) FROM range(3_000_000) t(i))"
    with pytest.raises(Usage, match="more memory"):
        views.ask(query, sources={}, log=world.store.log, memory_max="100MB")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("SET threads = 1", "configuration has been locked"),
        ("SET temp_directory = '/tmp'", "configuration has been locked"),
        ("SET enable_external_access = true", "configuration has been locked|Cannot"),
        ("COPY (SELECT 1) TO '{leak}.csv'", "disabled by configuration"),
        ("ATTACH '{leak}.db'", "disabled by configuration"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
        ("LOAD httpfs", "disabled"),
        ('SELECT * FROM "held"', "does not exist"),
    ],
)
def test_a_database_reaches_nothing_even_if_a_statement_gets_through(statement: str, refused: str, tmp_path: Path):
    held = pa.table({"n": [1]})
    with views.connection() as database, pytest.raises(Exception, match=refused):
        database.sql(statement.replace("{leak}", str(tmp_path / "leak")))
    assert held.num_rows == 1
