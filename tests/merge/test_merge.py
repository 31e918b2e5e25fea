"""What holds, decided from claims: the rule sentence by sentence, then as properties of random claims."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.fold.merge import Decided, decide, held_until, in_effect, itself, order, stances, value_of
from refold.model import Act, Modality, Validity, normalise
from refold.reading import Claim, Standing
from tests.merge.claims import ADA, BEN, DAY, RUTH, claim, claim_sets, policy_of

HEDGED, PLANNED = Modality.HEDGED, Modality.PLANNED


def standings(*claims: Claim, component_of=itself) -> list[Standing]:
    """Return where each claim stands, in the order given."""
    by_id = {one.claim.fact_id: one.standing for one in decide(claims, policy_of, component_of)}
    return [by_id[c.fact_id] for c in claims]


def holding(*claims: Claim) -> list[str]:
    return [one.claim.value for one in decide(claims, policy_of) if one.standing is Standing.HOLDS]


def test_a_later_value_supersedes_in_a_relation_with_one():
    assert standings(claim("Berlin", day=1), claim("Munich", day=2)) == [Standing.SUPERSEDED, Standing.HOLDS]


def test_the_time_a_statement_speaks_of_never_orders_it():
    since = Validity(start=0)
    assert standings(claim("Berlin", day=1), claim("Munich", day=2, validity=since)) == [Standing.SUPERSEDED, Standing.HOLDS]


def test_values_stand_side_by_side_in_a_relation_with_many():
    assert holding(claim("tea", relation="likes", day=1), claim("jazz", relation="likes", day=2)) == ["tea", "jazz"]


def test_values_are_compared_in_normal_form():
    assert standings(claim("BERLIN", day=1), claim("berlin ", day=2)) == [Standing.HOLDS, Standing.HOLDS]


def test_qualifiers_part_what_one_value_may_fill():
    owner, cook = (claim(name, relation="property", qualifier=q, day=1) for name, q in (("Ada", "Owner"), ("Ben", "Cook")))
    assert standings(owner, cook) == [Standing.HOLDS, Standing.HOLDS]


def test_qualifiers_are_compared_in_normal_form():
    first, then = (claim(name, relation="property", qualifier=q, day=d) for name, q, d in (("Ada", "Owner", 1), ("Ben", "owner", 2)))
    assert standings(first, then) == [Standing.SUPERSEDED, Standing.HOLDS]


def test_a_denied_value_does_not_hold():
    assert standings(claim("tea", relation="likes", day=1), claim("tea", relation="likes", day=2, act=Act.DENY)) == [
        Standing.DENIED,
        Standing.CLOSING,
    ]


def test_a_value_said_again_after_its_denial_holds():
    acts = [claim("tea", relation="likes", day=d, act=a) for d, a in ((1, Act.SAY), (2, Act.DENY), (3, Act.SAY))]
    assert standings(*acts) == [Standing.DENIED, Standing.CLOSING, Standing.HOLDS]


def test_an_ended_value_leaves_nothing_and_does_not_bring_back_the_one_before():
    acts = [claim("Berlin", day=1), claim("Munich", day=2), claim("Munich", day=3, act=Act.END)]
    assert standings(*acts) == [Standing.SUPERSEDED, Standing.ENDED, Standing.CLOSING]


def test_an_end_without_a_value_closes_every_open_value():
    acts = [claim("tea", relation="likes", day=1), claim("jazz", relation="likes", day=2), claim(relation="likes", day=3, act=Act.END)]
    assert standings(*acts) == [Standing.ENDED, Standing.ENDED, Standing.CLOSING]


def test_an_end_that_closes_nothing_is_inert():
    assert standings(claim("Munich", day=1), claim("Berlin", day=2, act=Act.END)) == [Standing.HOLDS, Standing.INERT]


def test_a_denial_of_a_superseded_value_is_inert():
    acts = [claim("Berlin", day=1), claim("Munich", day=2), claim("Berlin", day=3, act=Act.DENY)]
    assert standings(*acts) == [Standing.SUPERSEDED, Standing.HOLDS, Standing.INERT]


def test_an_end_said_before_the_value_closes_nothing():
    assert standings(claim("Berlin", day=1, act=Act.END), claim("Berlin", day=2)) == [Standing.INERT, Standing.HOLDS]


@pytest.mark.parametrize("modality", [Modality.PLANNED, Modality.HEDGED, Modality.REPORTED])
def test_only_what_is_asserted_fills_a_relation_with_one(modality):
    assert standings(claim("Berlin", day=1), claim("Rome", day=2, modality=modality)) == [Standing.HOLDS, Standing.TENTATIVE]


def test_what_is_planned_holds_as_such_in_a_relation_with_many():
    assert standings(claim("Rome", relation="likes", day=1, modality=PLANNED)) == [Standing.HOLDS]


def test_a_hedged_denial_does_not_close_what_is_asserted():
    assert standings(claim("tea", relation="likes", day=1), claim("tea", relation="likes", day=2, act=Act.DENY, modality=HEDGED)) == [
        Standing.HOLDS,
        Standing.INERT,
    ]


def test_a_hedged_denial_closes_what_is_hedged():
    acts = [claim("tea", relation="likes", day=d, act=a, modality=HEDGED) for d, a in ((1, Act.SAY), (2, Act.DENY))]
    assert standings(*acts) == [Standing.DENIED, Standing.CLOSING]


def test_an_asserted_denial_closes_what_is_only_planned():
    assert standings(claim("Rome", day=1, modality=PLANNED), claim("Rome", day=2, act=Act.DENY)) == [Standing.DENIED, Standing.CLOSING]


def test_quitting_a_job_leaves_the_planned_one():
    acts = [claim("Acme", day=1), claim("Borealis", day=2, modality=PLANNED), claim(day=3, act=Act.END)]
    assert standings(*acts) == [Standing.ENDED, Standing.TENTATIVE, Standing.CLOSING]


def test_an_event_is_never_superseded_and_does_not_end():
    acts = [
        claim("Rome", relation="visited", day=1),
        claim("Oslo", relation="visited", day=2),
        claim(relation="visited", day=3, act=Act.END),
    ]
    assert standings(*acts) == [Standing.HOLDS, Standing.HOLDS, Standing.INERT]


def test_an_event_can_be_denied():
    assert standings(claim("Rome", relation="visited", day=1), claim("Rome", relation="visited", day=2, act=Act.DENY)) == [
        Standing.DENIED,
        Standing.CLOSING,
    ]


def test_contested_values_of_two_speakers_hold_and_are_flagged():
    decided = decide(
        [
            claim("well", relation="status", day=1),
            claim("ill", relation="status", day=2, asserted_by=RUTH),
            claim("fit", relation="status", day=3),
        ],
        policy_of,
    )
    assert [(one.claim.value, one.standing, one.contested) for one in decided] == [
        ("well", Standing.SUPERSEDED, False),
        ("ill", Standing.HOLDS, True),
        ("fit", Standing.HOLDS, True),
    ]


def test_two_speakers_who_agree_contest_nothing():
    decided = decide([claim("well", relation="status", day=1), claim("Well", relation="status", day=2, asserted_by=RUTH)], policy_of)
    assert [(one.standing, one.contested) for one in decided] == [(Standing.HOLDS, False)] * 2


def test_the_denial_of_another_speaker_contests_and_does_not_close():
    denial = claim("rain", relation="opinion", day=2, act=Act.DENY, asserted_by=RUTH)
    decided = decide([claim("rain", relation="opinion", day=1), denial], policy_of)
    assert [(one.standing, one.contested) for one in decided] == [(Standing.HOLDS, True), (Standing.INERT, False)]


def test_a_denial_taken_back_contests_nothing():
    acts = [
        claim("rain", relation="opinion", day=1),
        claim("rain", relation="opinion", day=2, act=Act.DENY, asserted_by=RUTH),
        claim("rain", relation="opinion", day=3, asserted_by=RUTH),
    ]
    assert not any(one.contested for one in decide(acts, policy_of))


def test_a_denial_of_everything_contests_every_value():
    acts = [claim("rain", relation="opinion", day=1), claim(relation="opinion", day=2, act=Act.DENY, asserted_by=RUTH)]
    assert [one.contested for one in decide(acts, policy_of)] == [True, False]


def test_nobody_contests_themselves():
    acts = [claim("rain", relation="opinion", day=1, act=Act.DENY), claim("rain", relation="opinion", day=2, modality=HEDGED)]
    assert [(one.standing, one.contested) for one in decide(acts, policy_of)] == [(Standing.INERT, False), (Standing.HOLDS, False)]


def test_several_values_contest_nothing_in_a_relation_with_many():
    acts = [claim("rain", relation="opinion", day=1), claim("snow", relation="opinion", day=2, asserted_by=RUTH)]
    assert not any(one.contested for one in decide(acts, policy_of))


def test_two_names_of_one_speaker_are_one_asserter():
    acts = [claim("well", relation="status", day=1), claim("ill", relation="status", day=2, asserted_by=RUTH)]
    assert standings(*acts, component_of=lambda m: ADA if m == RUTH else m) == [Standing.SUPERSEDED, Standing.HOLDS]


def test_two_names_of_one_entity_are_one_value():
    acts = [claim("Ruth", relation="kin", value_mention=RUTH, day=1), claim("R.", relation="kin", value_mention=BEN, day=2, act=Act.DENY)]
    assert standings(*acts, component_of=lambda m: RUTH if m == BEN else m) == [Standing.DENIED, Standing.CLOSING]
    assert standings(*acts) == [Standing.HOLDS, Standing.INERT]


def test_an_end_that_names_no_qualifier_closes_its_value_under_every_one():
    husband, friend, divorce = (
        claim("Tom", relation="kin", qualifier=q, day=d, act=a)
        for q, d, a in (("husband", 1, Act.SAY), ("friend", 2, Act.SAY), ("", 3, Act.END))
    )
    other = claim("Ruth", relation="kin", qualifier="sister", day=1)
    assert standings(husband, friend, divorce, other) == [Standing.ENDED, Standing.ENDED, Standing.CLOSING, Standing.HOLDS]


def test_an_end_that_names_neither_closes_what_has_no_qualifier():
    husband, divorce = claim("Tom", relation="kin", qualifier="husband", day=1), claim(relation="kin", day=3, act=Act.END)
    assert standings(husband, divorce) == [Standing.HOLDS, Standing.INERT]


def test_an_act_without_a_qualifier_silences_nobody_under_another():
    owner = claim("Ada", relation="property", qualifier="owner", rank=0, day=1)
    elsewhere = claim("Ben", relation="property", rank=2, day=2, act=Act.DENY)
    assert standings(owner, elsewhere) == [Standing.HOLDS, Standing.INERT]


def test_only_the_highest_rank_present_is_heard():
    acts = [
        claim("Ada", relation="property", rank=1, day=1),
        claim("Ben", relation="property", rank=0, day=2),
        claim("Ada", relation="property", rank=0, day=3, act=Act.DENY),
    ]
    assert standings(*acts) == [Standing.HOLDS, Standing.OUTRANKED, Standing.OUTRANKED]


def test_a_lower_rank_is_heard_where_the_higher_is_not_seen():
    assert standings(claim("Ben", relation="property", rank=0, day=2)) == [Standing.HOLDS]


def test_a_maybe_of_higher_rank_does_not_silence_a_document():
    acts = [claim("Ada", relation="property", rank=1, day=1), claim("Ben", relation="property", rank=2, day=2, modality=HEDGED)]
    assert standings(*acts) == [Standing.HOLDS, Standing.TENTATIVE]


def test_a_maybe_of_lower_rank_is_silenced_by_what_is_asserted():
    acts = [claim("Ada", relation="property", rank=1, day=1), claim("Ben", relation="property", rank=0, day=2, modality=HEDGED)]
    assert standings(*acts) == [Standing.HOLDS, Standing.OUTRANKED]


def test_every_loser_names_what_beat_it():
    berlin, munich, left = claim("Berlin", day=1), claim("Munich", day=2), claim("Munich", day=3, act=Act.END)
    assert [one.beaten_by for one in decide([left, munich, berlin], policy_of)] == [munich, left, None]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (claim("Rome", said_at=1, seq=9), claim("Oslo", said_at=2, seq=1)),
        (claim("Rome", source="chat:1", seq=9), claim("Oslo", source="chat:2", seq=1)),
        (claim("Rome", part="9", seq=9), claim("Oslo", part="10", seq=1)),
        (claim("Rome", seq=1), claim("Oslo", seq=2)),
        (claim("Rome", span=(0, 4)), claim("Oslo", span=(9, 13))),
        (claim("Rome", extractor="a"), claim("Oslo", extractor="b")),
        (claim("Rome"), claim("Rome", act=Act.DENY)),
    ],
    ids=["time", "source", "part", "seq", "span", "extractor", "act"],
)
def test_acts_are_ordered_by(first, then):
    assert order(replace(first, fact_id=b"2")) < order(replace(then, fact_id=b"1"))
    assert first.value not in holding(then, first)


def test_a_value_said_three_times_is_one_fact_with_three_sayings():
    said = [claim("Berlin", day=d) for d in (1, 2, 3)]
    (stance,) = stances(decide(said, policy_of), policy_of)
    assert (stance.shown, stance.sayings) == (said[2], (said[2], said[1], said[0]))


def test_an_asserted_saying_is_shown_before_a_later_weaker_one():
    said = [claim("tea", relation="likes", day=1), claim("tea", relation="likes", day=2, modality=HEDGED)]
    (stance,) = stances(decide(said, policy_of), policy_of)
    assert stance.shown == said[0]


def test_a_value_that_came_back_is_another_fact_than_before():
    said = [claim("Berlin", day=1), claim("Munich", day=2), claim("Berlin", day=3)]
    shown = stances(decide(said, policy_of), policy_of)
    assert [(stance.shown.value, stance.standing) for stance in shown] == [
        ("Berlin", Standing.SUPERSEDED),
        ("Munich", Standing.SUPERSEDED),
        ("Berlin", Standing.HOLDS),
    ]


def test_an_event_at_two_times_is_two_facts():
    may, june = (claim("Oslo", relation="visited", day=d, validity=Validity(start=d * DAY, end=(d + 1) * DAY)) for d in (1, 2))
    assert len(stances(decide([may, june], policy_of), policy_of)) == 2


def held_at(at: int, *claims: Claim) -> list[str]:
    return [one.claim.value for one in decide(in_effect(claims, at * DAY, policy_of), policy_of) if one.standing is Standing.HOLDS]


def test_what_was_true_is_answered_by_the_latest_word_on_that_time():
    berlin, munich = claim("Berlin", day=10), claim("Munich", day=20, validity=Validity(start=5 * DAY))
    assert [held_at(at, berlin, munich) for at in (4, 5, 15, 25)] == [[], ["Munich"], ["Munich"], ["Munich"]]


def test_without_a_stated_beginning_a_value_is_true_from_its_saying():
    berlin, munich = claim("Berlin", day=10), claim("Munich", day=20)
    assert [held_at(at, berlin, munich) for at in (9, 10, 19, 20)] == [[], ["Berlin"], ["Berlin"], ["Munich"]]


def test_a_stated_end_bounds_a_value():
    assert [held_at(at, claim("Berlin", day=1, validity=Validity(end=5 * DAY))) for at in (0, 1, 4, 5)] == [[], ["Berlin"], ["Berlin"], []]


def test_a_stated_stay_in_the_past_leaves_the_present_alone():
    home, once = claim("Berlin", day=10), claim("Rome", day=12, validity=Validity(start=2 * DAY, end=4 * DAY))
    assert [held_at(at, home, once) for at in (1, 3, 5, 11, 15)] == [[], ["Rome"], [], ["Berlin"], ["Berlin"]]


def test_a_state_said_to_be_over_has_no_known_beginning():
    assert [held_at(at, claim("Rome", day=12, validity=Validity(end=4 * DAY))) for at in (-9, 3, 4)] == [["Rome"], ["Rome"], []]


def test_an_end_takes_effect_at_the_time_it_names():
    left = claim("Berlin", day=9, act=Act.END, validity=Validity(start=5 * DAY))
    assert [held_at(at, claim("Berlin", day=1), left) for at in (4, 5, 10)] == [["Berlin"], [], []]


def test_an_ended_value_does_not_uncover_the_one_before():
    acts = [claim("Berlin", day=1), claim("Munich", day=5), claim("Munich", day=9, act=Act.END)]
    assert [held_at(at, *acts) for at in (4, 6, 10)] == [["Berlin"], ["Munich"], []]


def test_an_event_that_happened_stays_so():
    visit = claim("Oslo", relation="visited", day=9, validity=Validity(start=3 * DAY, end=4 * DAY))
    assert [held_at(at, visit) for at in (2, 3, 20)] == [[], ["Oslo"], ["Oslo"]]


def test_a_history_says_until_when_a_value_was_believed():
    berlin = claim("Berlin", day=10)
    assert held_until(berlin, claim("Munich", day=20)) == 20 * DAY
    assert held_until(berlin, claim("Munich", day=20, validity=Validity(start=15 * DAY))) == 15 * DAY
    assert held_until(berlin, claim("Munich", day=20, validity=Validity(start=5 * DAY))) == 20 * DAY
    assert held_until(berlin, claim("Munich", day=20, validity=Validity(end=30 * DAY))) == 20 * DAY
    assert held_until(berlin, claim("Berlin", day=20, act=Act.END, validity=Validity(end=12 * DAY))) == 12 * DAY


# The rule once more, in the slowest and plainest way: a saying is beaten by the first later act that concerns it.


def plainly(claims: list[Claim]) -> dict[bytes, tuple[Standing, bytes | None]]:
    return {c.fact_id: _plain(c, claims) for c in claims}


def _own(c: Claim, claims: list[Claim]) -> list[Claim]:
    return [d for d in claims if c.relation == d.relation and normalise(c.qualifier) == normalise(d.qualifier)]


def _heard(c: Claim, claims: list[Claim]) -> list[Claim]:
    """Return the acts that concern a saying: those of its qualifier, and those without one that name a value."""
    own = _own(c, claims)
    strays = [d for d in claims if d.relation == c.relation and not d.qualifier and d.value and d.act is not Act.SAY and d not in own]
    policy = policy_of(c.relation)
    if policy.conflict == "source":
        return [d for d in [*own, *strays] if not any(_outranks(e, d) for e in own)]
    if policy.conflict == "contested":
        return [d for d in [*own, *strays] if d.asserted_by == c.asserted_by]
    return [*own, *strays]


def _plain(c: Claim, claims: list[Claim]) -> tuple[Standing, bytes | None]:
    policy = policy_of(c.relation)
    said = [d for d in claims if d.relation == c.relation and d.act is Act.SAY and d in _heard(d, claims)]
    if c.act is not Act.SAY and any(_plain_beater(d, _heard(d, claims)) == c for d in said):
        return Standing.CLOSING, None
    louder = [d for d in _own(c, claims) if policy.conflict == "source" and _outranks(d, c)]
    if louder:
        return Standing.OUTRANKED, max(louder, key=lambda d: (d.rank, order(d))).fact_id
    if c.act is not Act.SAY:
        return Standing.INERT, None
    beater = _plain_beater(c, _heard(c, claims))
    if beater:
        standing = {Act.SAY: Standing.SUPERSEDED, Act.DENY: Standing.DENIED, Act.END: Standing.ENDED}[beater.act]
        return standing, beater.fact_id
    tentative = policy.cardinality == "one" and policy.kind == "state" and c.modality is not Modality.ASSERTED
    return (Standing.TENTATIVE if tentative else Standing.HOLDS), None


def _outranks(d: Claim, c: Claim) -> bool:
    return d.rank > c.rank and d.modality in (c.modality, Modality.ASSERTED)


def _plain_beater(c: Claim, group: list[Claim]) -> Claim | None:
    later = sorted((d for d in group if order(d) > order(c)), key=order)
    return next((d for d in later if _beats(d, c)), None)


def _beats(d: Claim, c: Claim) -> bool:
    policy = policy_of(c.relation)
    one = policy.cardinality == "one" and policy.kind == "state"
    same = value_of(d, itself) == value_of(c, itself)
    asserted = d.modality is Modality.ASSERTED
    if d.act is Act.SAY:
        return one and asserted and c.modality is Modality.ASSERTED and not same
    if d.act is Act.END and policy.kind == "event":
        return False
    if not d.value:
        return d.modality is c.modality or (asserted and not one)
    return same and (d.modality is c.modality or asserted)


@given(claim_sets())
def test_the_merge_agrees_with_its_plain_restatement(claims):
    decided = decide(claims, policy_of)
    assert {d.claim.fact_id: (d.standing, d.beaten_by.fact_id if d.beaten_by else None) for d in decided} == plainly(claims)


def shape(decided: list[Decided]) -> list[tuple]:
    """Return what was decided without ids and sequence numbers."""
    bare = [(replace(d.claim, seq=0, recorded_at=0, fact_id=b""), d) for d in decided]
    beaters = [d.beaten_by and replace(d.beaten_by, seq=0, recorded_at=0, fact_id=b"") for _, d in bare]
    return [(c, d.standing, d.contested, b) for (c, d), b in zip(bare, beaters, strict=True)]


@given(claim_sets(), st.randoms(use_true_random=False))
def test_arrival_order_does_not_matter(claims, chance):
    distinct = [replace(c, part=str(n)) for n, c in enumerate(claims)]
    arrived = list(distinct)
    chance.shuffle(arrived)
    renumbered = [replace(c, seq=n) for n, c in enumerate(arrived)]
    assert shape(decide(renumbered, policy_of)) == shape(decide(distinct, policy_of))


@given(claim_sets(), st.data())
def test_what_is_not_seen_changes_nothing(claims, data):
    """Deciding over what a view admits is deciding over a log without the rest: no trace of the rest is left."""
    seen = [c for c in claims if data.draw(st.booleans())]
    known = {c.fact_id for c in seen}
    decided = decide(iter(seen), policy_of)
    assert {d.claim.fact_id for d in decided} == known
    assert all(d.beaten_by is None or d.beaten_by.fact_id in known for d in decided)


@given(claim_sets(relations=("lives_in",)))
def test_at_most_one_value_holds_in_a_relation_with_one(claims):
    held = {(normalise(c.qualifier), value_of(c, itself)) for c in _held(claims)}
    assert len({qualifier for qualifier, _ in held}) == len(held)


@given(claim_sets())
def test_removing_what_did_not_hold_and_beat_nothing_changes_no_answer(claims):
    decided = decide(claims, policy_of)
    beaters = {d.beaten_by.fact_id for d in decided if d.beaten_by}
    idle = next((d.claim for d in decided if d.standing is Standing.INERT and d.claim.fact_id not in beaters), None)
    if idle and policy_of(idle.relation).conflict == "latest":
        assert _held([c for c in claims if c != idle]) == _held(claims)


@given(claim_sets())
def test_without_stated_times_the_last_day_is_the_present(claims):
    timeless = [replace(c, validity=Validity()) for c in claims]
    assert _held(in_effect(timeless, 9 * DAY, policy_of)) == _held(timeless)


@given(claim_sets())
def test_every_claim_is_in_exactly_one_stance(claims):
    gathered = stances(decide(claims, policy_of), policy_of)
    assert sorted(c.fact_id for stance in gathered for c in stance.sayings) == sorted(c.fact_id for c in claims)


def _held(claims: list[Claim]) -> list[Claim]:
    return [d.claim for d in decide(claims, policy_of) if d.standing is Standing.HOLDS]
