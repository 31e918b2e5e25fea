"""The merge of everybody in SQL says what the pure one says of each entity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.fold.entities import components
from refold.fold.merge import decide, in_effect, stances
from refold.model import Act, Modality, Validity
from refold.reading import Claim
from refold.state.everybody import decided
from refold.state.tables import ASSERTIONS
from tests.merge.claims import ADA, BEN, DAY, POLICIES, RELATIONS, RUTH, claim, claim_sets, edge, policy_of


def rows_of(claims: Sequence[Claim]) -> pa.Table:
    """Return claims as rows of `assertions`, in the order given."""
    return pa.Table.from_pylist([_row(claim) for claim in claims], ASSERTIONS.schema)


def _row(claim: Claim) -> dict[str, object]:
    validity = claim.validity
    own = {name: getattr(claim, name) for name in ASSERTIONS.schema.names if hasattr(claim, name) and name != "spans"}
    own |= {"act": int(claim.act), "modality": int(claim.modality), "spans": [end for span in claim.spans for end in span]}
    own |= {"span_start": claim.span[0], "span_end": claim.span[1]}
    return own | {"valid_from": validity.start, "valid_to": validity.end, "valid_precision": None, "valid_words": validity.words}


Told = tuple[bytes, tuple[bytes, ...], str, bool, bytes | None]  # shown, sayings, standing, contested, beaten by


def in_sql(claims: Sequence[Claim], entities: dict[int, int], at: int | None = None) -> set[Told]:
    def fact_id(row: int) -> bytes:
        return claims[row].fact_id

    return {
        (
            fact_id(one["shown"]),
            tuple(map(fact_id, one["rows"])),
            one["standing"],
            one["contested"],
            None if one["beaten_by"] is None else fact_id(one["beaten_by"]),
        )
        for one in decided(rows_of(claims), entities, POLICIES, at=at).to_pylist()
    }


def purely(claims: Sequence[Claim], entities: dict[int, int], at: int | None = None) -> set[Told]:
    def component_of(mention: int) -> int:
        return entities.get(mention, mention)

    about: dict[int, list[Claim]] = {}
    for one in claims if at is None else in_effect(claims, at, policy_of):
        about.setdefault(component_of(one.mention), []).append(one)
    every = [one for of in about.values() for one in stances(decide(of, policy_of, component_of), policy_of, component_of)]
    return {
        (
            one.shown.fact_id,
            tuple(said.fact_id for said in one.sayings),
            one.standing.value,
            one.contested,
            one.beaten_by.fact_id if one.beaten_by else None,
        )
        for one in every
    }


EDGES = st.lists(st.builds(edge, st.sampled_from([ADA, RUTH, BEN]), st.sampled_from([RUTH, BEN, 44])), max_size=3)


@settings(max_examples=15, deadline=None)
@given(claim_sets(mentions=(ADA, RUTH, 44), size=40), EDGES, st.none() | st.integers(0, 9).map(lambda day: day * DAY))
def test_the_merge_in_sql_equals_the_pure_one(claims, edges, at):
    entities = {mention: component.entity for mention, component in components(edges).items()}
    assert in_sql(claims, entities, at) == purely(claims, entities, at)


@settings(max_examples=14, deadline=None)
@given(st.sampled_from(sorted(POLICIES)).flatmap(lambda relation: claim_sets(relations=(relation,), size=30)))
def test_they_agree_on_each_policy_by_itself(claims):
    assert in_sql(claims, {}) == purely(claims, {})


@pytest.mark.parametrize("seed", range(2))
def test_they_agree_on_a_crowd(seed):
    chance = Random(seed)
    claims = [_random(chance, seq) for seq in range(6_000)]
    edges = [edge(100, 101), edge(110, 111), *(edge(chance.randrange(120, 900), chance.randrange(120, 900), day=day) for day in range(200))]
    entities = {mention: component.entity for mention, component in components(edges).items()}
    for at in (None, 5 * DAY):
        assert in_sql(claims, entities, at) == purely(claims, entities, at)


def _random(chance: Random, seq: int) -> Claim:
    """Return a claim about one of few people with one of few values, said at one of few times."""
    act = chance.choice([Act.SAY, Act.SAY, Act.DENY, Act.END])
    value_mention = chance.choice([0, 0, chance.randrange(100, 130)])
    start, end = (chance.choice([None, chance.randrange(9) * DAY]) for _ in range(2))
    event = Random(seq // 4)  # four claims of one event
    said = claim(
        chance.choice(["Berlin", "berlin ", "Munich", "Rome"] if act is Act.SAY or value_mention else ["", "Berlin", "Rome"]),
        relation=chance.choice(RELATIONS),
        value_mention=value_mention,
        act=act,
        modality=chance.choice([Modality.ASSERTED, *Modality]),
        qualifier=chance.choice(["", "", "Owner", "owner"]),
        mention=event.randrange(100, 200),
        asserted_by=event.randrange(100, 105),
        rank=chance.randrange(3),
        said_at=event.randrange(9) * DAY,
        source=event.choice(["chat:1", "doc:2"]),
        part=event.choice(["1", "9", "10"]),
        seq=seq // 4,
        span=(chance.randrange(3), 9),
        extractor=chance.choice(["symbolic/en-1", "model/1"]),
        validity=Validity(start, end),
    )
    return replace(said, fact_id=seq.to_bytes(16, "big"))


def test_nothing_stated_is_nothing_decided():
    assert in_sql([], {}) == set()


def test_a_relation_outside_the_vocabulary_is_left_out():
    known, unknown = claim("Berlin", day=1), claim("blue", day=2, relation="colour")
    assert in_sql([known, unknown], {}) == {(known.fact_id, (known.fact_id,), "holds", False, None)}


def test_a_text_is_never_taken_for_an_entity():
    said = [claim("Ruth", day=1, relation="kin", value_mention=RUTH), claim(f"e{RUTH}", day=2, relation="kin", act=Act.DENY)]
    assert {standing for _, _, standing, *_ in in_sql(said, {})} == {"holds", "inert"}


def test_texts_from_several_runs_are_compared_as_one():
    said = [claim("Berlin", day=1, relation="likes"), claim("BERLIN", day=2, relation="likes", act=Act.DENY)]
    runs = pa.concat_tables([rows_of(said[:1]), rows_of(said[1:])])
    assert {one["standing"] for one in decided(runs, {}, POLICIES, at=None).to_pylist()} == {"denied", "closing"}
