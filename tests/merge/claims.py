"""Claims and edges made by hand or by hypothesis, for tests of what holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from refold.fold.entities import Edge
from refold.model import Act, EventId, Modality, Span, Validity
from refold.reading import Claim

DAY = 86_400_000_000
ADA, RUTH, BEN = 11, 22, 33  # mentions
UNTIMED = Validity()
RELATIONS = ("lives_in", "likes", "kin", "property", "status", "visited", "opinion")


@dataclass(frozen=True)
class Rule:
    """A relation's policy, as the merge asks for it."""

    cardinality: str = "many"
    conflict: str = "latest"
    kind: str = "state"


POLICIES = {
    "lives_in": Rule("one"),
    "likes": Rule("many"),
    "kin": Rule("many"),
    "property": Rule("one", "source"),
    "status": Rule("one", "contested"),
    "visited": Rule("one", "latest", "event"),
    "opinion": Rule("many", "contested"),
}


def policy_of(relation: str) -> Rule:
    return POLICIES[relation]


def claim(
    value: str = "",
    *,
    day: int = 0,
    relation: str = "lives_in",
    act: Act = Act.SAY,
    modality: Modality = Modality.ASSERTED,
    qualifier: str = "",
    mention: int = ADA,
    asserted_by: int = ADA,
    value_mention: int = 0,
    rank: int = 2,
    seq: int | None = None,
    said_at: int | None = None,
    source: str = "chat:1",
    part: str = "1",
    span: Span = (0, 1),
    audience: int = 0,
    scope: int = 0,
    validity: Validity = UNTIMED,
    extractor: str = "symbolic/en-1",
) -> Claim:
    """Return a claim; `day` is the day it was said, and its sequence number unless one is given."""
    seq = day if seq is None else seq
    said_at = day * DAY if said_at is None else said_at
    words = (
        mention,
        relation,
        qualifier,
        value,
        value_mention,
        act,
        modality,
        asserted_by,
        source,
        part,
        seq,
        span,
        extractor,
        said_at,
        rank,
    )
    fact_id = hashlib.sha256(repr((words, validity)).encode()).digest()[:16]
    return Claim(
        mention=mention,
        entity="Ada",
        relation=relation,
        qualifier=qualifier,
        value=value,
        value_mention=value_mention,
        act=act,
        modality=modality,
        asserted_by=asserted_by,
        rank=rank,
        said_at=said_at,
        source=source,
        part=part,
        seq=seq,
        recorded_at=seq * DAY,
        spans=(span,),
        span=span,
        audience=audience,
        scope=scope,
        fact_id=fact_id,
        validity=validity,
        extractor=extractor,
        event_id=EventId(seq.to_bytes(16, "big")),
        speaker="Ada",
        subjects=(),
    )


def edge(
    a: int,
    b: int,
    *,
    day: int = 0,
    act: Act = Act.SAY,
    asserted_by: int = ADA,
    firsts: Iterable[int] = (),
    audience: int = 0,
    scope: int = 0,
) -> Edge:
    """Return an alias statement; `firsts` are the mentions that are first persons."""
    return Edge(
        a=a,
        b=b,
        act=act,
        asserted_by=asserted_by,
        said_at=day * DAY,
        source="chat:1",
        part="1",
        seq=day,
        recorded_at=day * DAY,
        spans=((0, 1),),
        audience=audience,
        scope=scope,
        first_a=a in firsts,
        first_b=b in firsts,
    )


def both_ways(edges: Sequence[Edge]) -> list[Edge]:
    """Return every edge in both directions, as a generation holds them."""
    turned = [
        Edge(
            a=e.b,
            b=e.a,
            act=e.act,
            asserted_by=e.asserted_by,
            said_at=e.said_at,
            source=e.source,
            part=e.part,
            seq=e.seq,
            recorded_at=e.recorded_at,
            spans=e.spans,
            audience=e.audience,
            scope=e.scope,
            first_a=e.first_b,
            first_b=e.first_a,
        )
        for e in edges
    ]
    return [*edges, *turned]


def validities() -> st.SearchStrategy[Validity]:
    day = st.none() | st.integers(0, 9).map(lambda n: n * DAY)
    return st.builds(Validity, start=day, end=day)


@st.composite
def claim_sets(draw: st.DrawFn, *, relations: Sequence[str] = RELATIONS, mentions: Sequence[int] = (ADA,), size: int = 24) -> list[Claim]:
    """Draw claims with few values, times and speakers, so that they meet; no two share (said_at, source, part, seq)."""
    few = draw(st.lists(st.tuples(*_fields(relations, mentions)), max_size=size))
    return [_drawn(seq, *fields) for seq, fields in enumerate(few)]


def _fields(relations: Sequence[str], mentions: Sequence[int]) -> tuple[st.SearchStrategy, ...]:
    return (
        st.sampled_from(relations),
        st.sampled_from(["", "Berlin", "berlin ", "Munich", "Rome"]),
        st.sampled_from([0, 0, RUTH, BEN]),
        st.sampled_from([Act.SAY, Act.SAY, Act.DENY, Act.END]),
        st.sampled_from([Modality.ASSERTED, Modality.ASSERTED, *Modality]),
        st.sampled_from(["", "Owner", "owner"]),
        st.sampled_from([ADA, RUTH, BEN]),
        st.integers(0, 2),
        st.integers(0, 4),
        st.sampled_from(["1", "9", "10", "2.1"]),
        validities(),
        st.sampled_from(mentions),
    )


def _drawn(seq, relation, value, value_mention, act, modality, qualifier, speaker, rank, day, part, validity, mention) -> Claim:
    if act is Act.SAY and not value:
        value = "Oslo"
    return claim(
        "somebody" if value_mention and value else value,
        relation=relation,
        value_mention=value_mention if value else 0,
        act=act,
        modality=modality,
        qualifier=qualifier,
        asserted_by=speaker,
        rank=rank,
        said_at=day * DAY,
        part=part,
        seq=seq,
        validity=validity,
        mention=mention,
    )
