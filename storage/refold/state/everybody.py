"""The merge for everybody at once: the rule of fold/merge.py as one SQL statement over all assertions. Tested equal to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from refold.fold.entities import components
from refold.fold.merge import Policy, Stance, is_single
from refold.fold.relations import Relations
from refold.model import View, normalise, part_key
from refold.reading import Standing
from refold.state import views
from refold.state.claims import claims
from refold.state.generation import State
from refold.state.visible import Visible

# Claims in merge order (`pos`); the first later act that beats a saying is found by windows over what follows it. Acts that name a value
# and no qualifier are spread over all qualifiers (`theme`); there they have no loudness, for they silence nobody.
BIG = 1 << 40  # more than there are claims
MERGE = f"""
WITH placed AS (
    SELECT a.*, coalesce(e.entity, a.mention) AS whole, coalesce(s.entity, a.asserted_by) AS asserter,
           p.place, p.single, p.event, p.conflict,
           CASE WHEN value_mention <> 0 THEN 'e' || coalesce(v.entity, value_mention) WHEN value = '' THEN '' ELSE 'l' || value END AS said,
           dense_rank() OVER (ORDER BY whole, relation, qualifier) AS theme,
           row_number() OVER (ORDER BY said_at, source, part, seq, span_start, span_end, extractor, act, modality, fact_id) AS pos
    FROM assertions a
    JOIN policies p USING (relation)
    LEFT JOIN entities e ON a.mention = e.mention
    LEFT JOIN entities v ON a.value_mention = v.mention
    LEFT JOIN entities s ON a.asserted_by = s.mention
    WHERE CASE WHEN $at IS NULL THEN true
               WHEN act <> 0 THEN coalesce(valid_from, valid_to, said_at) <= $at
               ELSE coalesce(valid_from, CASE WHEN valid_to <= said_at THEN $at ELSE said_at END) <= $at
                    AND (event OR valid_to IS NULL OR $at < valid_to) END
), spread AS (
    SELECT *, rank * {BIG} + pos AS loudness FROM placed
    UNION ALL
    SELECT stray.* REPLACE (other.theme AS theme), NULL
    FROM placed stray
    JOIN (SELECT DISTINCT whole, relation, theme FROM placed WHERE qualifier <> '') other USING (whole, relation)
    WHERE stray.qualifier = '' AND act <> 0 AND said <> ''
), ranked AS (
    SELECT *, max(loudness) OVER (PARTITION BY theme, modality) AS own,
           max(CASE WHEN modality = 0 THEN loudness END) OVER (PARTITION BY theme) AS firm
    FROM spread
), weighed AS (
    SELECT *, CASE WHEN conflict = 'source'
                   THEN greatest(CASE WHEN own // {BIG} > rank THEN own END, CASE WHEN firm // {BIG} > rank THEN firm END) % {BIG}
              END AS louder
    FROM ranked
), heard AS (
    SELECT *, CASE WHEN conflict = 'contested' THEN asserter ELSE 0 END AS voice, act = 0 AND modality = 0 AND single AS fills,
           CASE WHEN act = 1 OR (act = 2 AND NOT event) THEN pos END AS closes
    FROM weighed
    WHERE louder IS NULL
), changed AS (
    SELECT *, CASE WHEN fills AND said IS DISTINCT FROM lag(said) OVER (PARTITION BY theme, voice, fills ORDER BY pos) THEN pos
              END AS changes
    FROM heard
), followed AS (
    SELECT *, CASE WHEN act = 0 THEN least(
        min(closes) OVER (PARTITION BY theme, voice, said, modality {{later}}),
        min(CASE WHEN modality = 0 THEN closes END) OVER (PARTITION BY theme, voice, said {{later}}),
        min(CASE WHEN said = '' THEN closes END) OVER (PARTITION BY theme, voice, modality {{later}}),
        min(CASE WHEN said = '' AND modality = 0 AND NOT single THEN closes END) OVER (PARTITION BY theme, voice {{later}}),
        CASE WHEN fills THEN min(changes) OVER (PARTITION BY theme, voice, fills {{later}}) END) END AS beater
    FROM changed
), fated AS (
    SELECT f.*, CASE WHEN f.act <> 0 THEN CASE WHEN f.pos IN (SELECT beater FROM followed) THEN 'closing' ELSE 'inert' END
                     WHEN f.beater IS NULL THEN CASE WHEN f.single AND f.modality <> 0 THEN 'tentative' ELSE 'holds' END
                     ELSE CASE b.act WHEN 0 THEN 'superseded' WHEN 1 THEN 'denied' ELSE 'ended' END END AS standing
    FROM followed f LEFT JOIN placed b ON f.beater = b.pos
), voiced AS (
    SELECT theme, asserter, said, act, max(pos) AS pos FROM heard WHERE conflict = 'contested' AND modality = 0 GROUP BY ALL
), disputed AS (
    SELECT h.pos
    FROM fated h
    JOIN voiced d ON d.act = 1 AND h.theme = d.theme AND h.asserter <> d.asserter AND d.said IN (h.said, '')
    LEFT JOIN voiced s ON s.act = 0 AND s.theme = d.theme AND s.asserter = d.asserter AND s.said = h.said
    WHERE h.standing = 'holds' AND h.conflict = 'contested' AND d.pos > coalesce(s.pos, 0)
    UNION ALL
    SELECT unnest(list(pos)) FROM fated WHERE standing = 'holds' AND conflict = 'contested' AND single
    GROUP BY theme HAVING count(DISTINCT said) > 1
), decided AS (
    SELECT row, pos, whole, theme, place, qualifier, relation, entity, said, act, modality, standing, beater,
           pos IN (SELECT pos FROM disputed) AS contested, CASE WHEN event THEN valid_from END AS happened
    FROM fated
    WHERE loudness IS NOT NULL
    UNION ALL
    SELECT row, pos, whole, theme, place, qualifier, relation, entity, said, act, modality,
           CASE WHEN louder IS NULL THEN 'closing' ELSE 'outranked' END, louder, false, CASE WHEN event THEN valid_from END
    FROM (SELECT * REPLACE (CASE WHEN pos NOT IN (SELECT beater FROM followed WHERE beater IS NOT NULL) THEN louder END AS louder)
          FROM weighed WHERE louder IS NOT NULL AND loudness IS NOT NULL)
)
""".replace("{later}", "ORDER BY pos ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING")
# One row per stance: the row that is shown, and all its sayings, latest first.
STANCES = f"""
SELECT arg_max(d.row, firmness) AS shown, list(d.row ORDER BY d.pos DESC) AS rows, d.standing, bool_or(d.contested) AS contested,
       any_value(b.row) AS beaten_by
FROM (
    SELECT *, (modality = 0)::BIGINT * {BIG} + pos AS firmness, arg_max(lower(entity), pos) OVER (PARTITION BY whole) AS name FROM decided
) d
LEFT JOIN placed b ON d.beater = b.pos
WHERE d.standing IN (SELECT unnest($standings)) AND ($relation IS NULL OR d.relation = $relation)
GROUP BY d.name, d.whole, d.theme, d.place, d.qualifier, d.said, d.standing, d.beater, d.happened, CASE WHEN d.act <> 0 THEN d.pos END
ORDER BY d.name, d.whole, d.place, d.qualifier, d.standing <> 'holds', max(firmness) % {BIG} DESC
LIMIT $limit
"""
COUNTS = f"SELECT standing, count(*) AS stances FROM ({STANCES}) GROUP BY standing"


def all_stances(
    state: State,
    view: View,
    relations: Relations,
    *,
    standings: Collection[Standing],
    relation: str | None = None,
    limit: int | None = None,
) -> list[Stance]:
    """Return what a view sees of everybody, decided: by entity and relation, what holds first, the newest first."""
    rows, found = told(state, view, relations, standings=standings, relation=relation, limit=limit)
    stances = found.to_pylist()
    needed = sorted({row for one in stances for row in (*one["rows"], one["beaten_by"]) if row is not None})
    read = dict(zip(needed, claims(rows.take(pa.array(needed, pa.int64()))), strict=True))
    return [
        Stance(
            shown=read[one["shown"]],
            sayings=tuple(read[row] for row in one["rows"]),
            standing=Standing(one["standing"]),
            contested=one["contested"],
            beaten_by=None if one["beaten_by"] is None else read[one["beaten_by"]],
        )
        for one in stances
    ]


def told(
    state: State,
    view: View,
    relations: Relations,
    *,
    standings: Collection[Standing],
    relation: str | None = None,
    limit: int | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Return the assertions that a view admits, and the stances over them: shown, rows, standing, contested, beaten_by, by row number."""
    rows, entities = _seen(state, view)
    return rows, decided(rows, entities, relations.by_name, standings=list(standings), relation=relation, limit=limit, at=view.valid_at)


def counts(state: State, view: View, relations: Relations) -> dict[Standing, int]:
    """Return how many facts a view sees in each standing."""
    found = decided(*_seen(state, view), relations.by_name, query=COUNTS, at=view.valid_at).to_pylist()
    return dict.fromkeys(Standing, 0) | {Standing(one["standing"]): one["stances"] for one in found}


def decided(
    rows: pa.Table, entities: Mapping[int, int], relations: Mapping[str, Policy], *, query: str = STANCES, at: int | None, **asked: Any
) -> pa.Table:
    """Decide rows of `assertions`: stances as `told` returns them, of everybody; what is not asked for is everything."""
    values = {"standings": list(Standing), "relation": None, "limit": None, "at": at} | asked
    return views.answer(MERGE + query, tables=_tables(rows, entities, relations), values=values)


def _seen(state: State, view: View) -> tuple[pa.Table, dict[int, int]]:
    """Return the assertions that a view admits, and of each mention that is joined to another its entity."""
    visible = state.visible(view)
    rows = state.table("assertions")
    rows = rows.filter(admitted(rows, visible))
    edges = [e for e in state.all_edges() if visible.sees(e.scope, e.audience, seq=e.seq, recorded_at=e.recorded_at)]
    return rows, {mention: component.entity for mention, component in components(edges).items()}


def admitted(rows: pa.Table, visible: Visible) -> pa.Array:
    """Return for each row of assertions with scope, audience, seq, named_seq and recorded_at whether it may be seen."""
    masks = [np.ones(len(rows), bool)]
    for column, tags in (("scope", visible.scopes), ("audience", visible.audiences)):
        if tags is not None:
            masks.append(np.isin(rows[column].to_numpy(), np.array(sorted(tags), np.uint64)))
    for column, most in (("seq", visible.as_of_seq), ("named_seq", visible.as_of_seq), ("recorded_at", visible.as_of_time)):
        if most is not None:
            masks.append(rows[column].fill_null(0).to_numpy() <= most)
    return pa.array(np.logical_and.reduce(masks))


def _tables(rows: pa.Table, entities: Mapping[int, int], relations: Mapping[str, Policy]) -> dict[str, pa.Table]:
    """Return what the statement reads: assertions with texts in the form in which they are compared, entities, policies."""
    forms: dict[str, Callable[[str], str]] = {"value": normalise, "qualifier": normalise, "part": part_key}
    columns = {name: _mapped(rows[name], forms[name]) if name in forms else rows[name] for name in rows.column_names if name != "spans"}
    policies = [
        {"relation": name, "place": place, "single": is_single(policy), "event": policy.kind == "event", "conflict": str(policy.conflict)}
        for place, (name, policy) in enumerate(relations.items())
    ]
    schema = [("relation", pa.string()), ("place", pa.int64()), ("single", pa.bool_()), ("event", pa.bool_()), ("conflict", pa.string())]
    tags = {"mention": pa.array(entities.keys(), pa.uint64()), "entity": pa.array(entities.values(), pa.uint64())}
    return {
        "assertions": pa.table({"row": pa.array(np.arange(len(rows))), **columns}),
        "entities": pa.table(tags),
        "policies": pa.Table.from_pylist(policies, pa.schema(schema)),
    }


def _mapped(column: pa.ChunkedArray, form: Callable[[str], str]) -> pa.ChunkedArray:
    """Apply a function to each distinct text of a column."""
    coded = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column.dictionary_encode().unify_dictionaries()
    forms = pa.array([form(text) for text in coded.chunk(0).dictionary.to_pylist()], pa.string()) if coded.num_chunks else None
    return pa.chunked_array([forms.take(chunk.indices) for chunk in coded.chunks], pa.string()) if forms is not None else column
