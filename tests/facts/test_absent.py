"""Why something is not held: every reason that there is, none that may not be seen, and of what holds that it holds."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import given

from refold.errors import Usage
from refold.fold.merge import decide, stances
from refold.ingest import add
from refold.memory import Memory
from refold.model import Act, Draft, Role, Scope, Source, View, normalise
from refold.reading import Claim, Standing
from refold.settings import Principal
from refold.state.absent import Absence, Asked, Because, grounds_of, why_not
from refold.store import Store
from tests.conftest import now
from tests.facts.world import World, day, say
from tests.merge.claims import claim_sets, policy_of

BERLIN, MUNICH = say("ada", "I live in Berlin.", on=9), say("ada", "I've been living in Munich since 2023.", on=152)


def absent(
    world: World,
    entity: str,
    relation: str,
    value: str,
    *,
    user: str | None = "ada",
    labels: Iterable[str] | None = (),
    tail: Iterable[Draft] = (),
    elsewhere: View | None = None,
) -> Absence:
    unfolded = [world.store.log.event(add(world.store, [each], now=lambda: day(1500), random=os.urandom)[0].seq) for each in tail]
    view = world.view(user, labels=labels)
    return why_not(world.state, unfolded, world.store.log, view, Asked.of(entity, relation, value), elsewhere=elsewhere)


def reasons(absence: Absence) -> list[str]:
    return [ground.because.value for ground in absence.grounds]


@pytest.mark.parametrize(
    ("statements", "asked", "because"),
    [
        (["I live in Berlin."], ("ada", "lives_in", "berlin"), "holds"),
        (["I live in Berlin.", "I moved to Munich."], ("ada", "lives_in", "Berlin"), "superseded"),
        (["I like tea.", "I don't like tea any more."], ("Ada", "likes", "tea"), "denied"),
        (["I work at Acme.", "I quit."], ("ada", "works_at", "Acme"), "ended"),
        (["I might live in Berlin."], ("ada", "lives_in", "Berlin"), "hedged"),
        (["I don't like tea."], ("ada", "likes", "tea"), "only-denied"),
        (["My sister is called Ruth."], ("ada", "kin(sister)", "Ruth"), "holds"),
        (["My sister is called Ruth."], ("Ruth", "kin(sibling)", "ada"), "holds"),
        (["My sister is called Ruth."], ("ada", "kin(mother)", "Ruth"), "unread"),
        (["Berlin was cold in winter."], ("ada", "lives_in", "Berlin"), "unread"),
        (["I live in Berlin."], ("ada", "lives_in", "Oslo"), "not-mentioned"),
        ([], ("nobody", "lives_in", "Oslo"), "not-mentioned"),
    ],
)
def test_there_is_a_reason(world: World, statements: list[str], asked: tuple[str, str, str], because: str):
    world.tell(*(say("ada", text, on=number) for number, text in enumerate(statements, 1)))
    assert reasons(absent(world, *asked))[0] == because


def test_what_beat_it_and_what_holds_instead_are_named(world: World):
    world.tell(BERLIN, MUNICH)
    found = absent(world, "ada", "lives_in", "Berlin")
    (ground,) = found.grounds
    assert (ground.fact and ground.fact.value, ground.by and ground.by.value) == ("Berlin", "Munich")
    assert [fact.value for fact in found.instead] == ["Munich"]


def test_what_the_gate_refused_is_named_with_its_code(world: World):
    world.tell(say("ben", "Ada is allergic to nuts.", on=1))
    (ground,) = absent(world, "Ada", "condition", "nuts", user="ben").grounds
    assert (ground.because, ground.code) == (Because.REJECTED, "not-the-speaker")
    assert ground.saying
    assert [ground.saying.text[first:end] for first, end in ground.saying.spans] == ["nuts"]


def test_what_no_fold_has_read_yet_is_named(world: World):
    world.tell(BERLIN)
    assert reasons(absent(world, "ada", "lives_in", "Oslo", tail=[say("ada", "I moved to Oslo.", on=160)])) == ["unfolded"]


def test_what_only_an_assistant_said_is_no_statement(world: World):
    world.tell(Draft("So Ada lives in Oslo.", source=Source("chat", "7", "1"), role=Role.ASSISTANT, author="helper", scope=Scope("ada")))
    assert reasons(absent(world, "ada", "lives_in", "Oslo")) == ["context-only"]


def test_several_reasons_are_given_the_plainest_first(world: World):
    world.tell(*(say("ada", text, on=1) for text in ("I'm allergic to nuts.", "I'm not allergic to nuts any more.")))
    world.tell(say("ben", "Ada is allergic to nuts.", on=2))
    assert reasons(absent(world, "ada", "condition", "nuts", user=None, labels=None)) == ["denied", "rejected"]


def test_what_may_not_be_seen_was_not_mentioned(world: World):
    world.tell(
        say("ada", "I live in Oslo.", on=1, audience=("doctor",)),
        say("ben", "Ada lives in Rome.", on=2),
        say("ada", "Bonn was cold.", on=3, audience=("doctor",)),
    )
    for value in ("Oslo", "Rome", "Bonn"):
        assert absent(world, "ada", "lives_in", value) == absent(world, "ada", "lives_in", "Paris")
    hidden = say("ada", "I moved to Kiel.", on=9, audience=("doctor",))
    assert reasons(absent(world, "ada", "lives_in", "Kiel", tail=[hidden])) == ["not-mentioned"]


def test_who_may_see_everything_is_told_that_it_is_out_of_scope(world: World):
    world.tell(say("ben", "I live in Oslo.", on=1))
    for value, because in (("Oslo", "not-in-scope"), ("Rome", "not-mentioned")):
        assert reasons(absent(world, "ben", "lives_in", value, labels=None, elsewhere=View())) == [because]


@pytest.mark.parametrize(
    ("principal", "because"),
    [(None, "not-mentioned"), (Principal("guest", frozenset()), "not-mentioned"), (Principal("operator", None), "not-in-scope")],
)
def test_only_a_named_principal_who_sees_everything_is_told_of_other_scopes(store: Store, principal: Principal | None, because: str):
    with Memory(store, principal=principal, now=now) as memory:
        Memory(store, now=now).add("I live in Oslo.", user_id="ben", audience=["doctor"])
        Memory(store, now=now).fold()
        assert memory.why_not("ben", "lives_in", "Oslo", user_id="ada").because.value == because


def test_what_is_held_is_said_to_be_held(world: World):
    world.tell(
        BERLIN,
        say("ada", "My sister Ruth works at Acme. I like tea, and I'm allergic to nuts.", on=20),
        MUNICH,
        say("ada", "I don't like tea.", on=160),
    )
    every = [*world.facts(all=True), *world.facts(entity="Ruth")]
    holding = {_key(fact) for fact in every if fact.standing is Standing.HOLDS}
    assert len(holding) >= 5
    for fact in every:
        relation = f"{fact.relation}({fact.qualifier})" if fact.qualifier else fact.relation
        if fact.value:
            assert absent(world, fact.entity, relation, fact.value).is_held == (_key(fact) in holding)


def _key(fact) -> tuple[str, ...]:
    return tuple(map(normalise, (fact.entity, fact.relation, fact.qualifier, fact.value)))


@given(claim_sets(size=12))
def test_of_any_claims_the_answer_is_that_they_hold_if_and_only_if_they_do(some: list[Claim]):
    shown = stances(decide(some, policy_of), policy_of)
    for wanted in shown:

        def meant(one, wanted=wanted.shown) -> bool:
            return (one.shown.relation, one.shown.value) == (wanted.relation, wanted.value)

        found = [because for because, _ in grounds_of(shown, meant)]
        assert found
        holds = any(one.standing is Standing.HOLDS and one.shown.act is Act.SAY and meant(one) for one in shown)
        assert (Because.HOLDS in found) == holds


@pytest.mark.parametrize("asked", [("", "lives_in", "x"), ("ada", "lives_in", " "), ("ada", "", "x"), ("ada", "flies_to", "x")])
def test_a_question_that_is_none_is_refused(world: World, asked: tuple[str, str, str]):
    with pytest.raises(Usage):
        absent(world, *asked)
