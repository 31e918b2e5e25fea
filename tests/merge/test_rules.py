"""Derived facts: what follows, from which premises, and that it ends."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold import settings
from refold.errors import Usage
from refold.fold import rules as rules_module
from refold.fold.merge import Value
from refold.fold.rules import Known, Rules, derive, derived_id
from refold.model import Act, EventId, Modality, SubjectId, normalise
from refold.reading import Fact, Standing
from tests.merge.claims import DAY, Rule

NAMES = {1: "Ada", 2: "Ruth", 3: "Mia", 4: "Ben"}
ADA, RUTH, MIA, BEN = NAMES
KIN = {"kin": Rule("many"), "lives_in": Rule("one"), "likes": Rule("many")}


def known(entity: int, relation: str, qualifier: str, value: Value, *, day: int = 1, **more) -> Known:
    """Return a stated fact that holds."""
    name = repr((entity, relation, qualifier, value)).encode()
    fact = Fact(
        fact_id=hashlib.sha256(name).digest()[:16],
        entity=NAMES.get(entity, ""),
        relation=relation,
        value=NAMES.get(value, "") if isinstance(value, int) else value,
        qualifier=qualifier,
        act=Act.SAY,
        modality=Modality.ASSERTED,
        asserted_by="Ada",
        said_at=day * DAY,
        valid_from=None,
        valid_to=None,
        valid_precision=None,
        valid_source="",
        seq=day,
        extractor="symbolic/en-1",
        support=((EventId(b"e%015d" % day), (0, 4)),),
        subjects=(SubjectId(b"s%015d" % entity),),
        standing=Standing.HOLDS,
    )
    return Known(replace(fact, **more), entity, value if isinstance(value, int) else normalise(value))


class Facts:
    """Facts that hold, as a view answers for them; counts the questions."""

    def __init__(self, *facts: Known) -> None:
        self.facts = facts
        self.asked = 0
        self.told = 0

    def about(self, entity: int) -> Sequence[Known]:
        self.asked += 1
        return [fact for fact in self.facts if fact.entity == entity]

    def valued(self, entity: int) -> Sequence[Known]:
        self.asked += 1
        return [fact for fact in self.facts if fact.value == entity]

    def name(self, entity: int) -> str:
        return NAMES.get(entity, str(entity))

    def read(self, entities: Sequence[int]) -> None:
        self.told = max(self.told, len(entities))


def load(text: str) -> Rules:
    return Rules.load(text, relations=KIN, policy_of=KIN.__getitem__)


SHIPPED = load(settings.text("rules.toml"))
SISTER = known(ADA, "kin", "sister", RUTH)


def said(found: list[Known]) -> list[tuple[str, str, str, str]]:
    return [(k.fact.entity, k.fact.relation, k.fact.qualifier, k.fact.value) for k in found]


def test_a_sister_has_a_sibling():
    assert said(derive(RUTH, SHIPPED, Facts(SISTER))) == [("Ruth", "kin", "sibling", "Ada")]


def test_a_grandparent_follows_from_two_parents_for_both():
    facts = Facts(known(ADA, "kin", "mother", RUTH), known(RUTH, "kin", "Father", BEN))
    assert ("Ada", "kin", "grandparent", "Ben") in said(derive(ADA, SHIPPED, facts))
    assert ("Ben", "kin", "grandchild", "Ada") in said(derive(BEN, SHIPPED, facts))


def test_a_derived_fact_names_its_rule_premises_and_depth():
    (found,) = derive(RUTH, SHIPPED, Facts(SISTER))
    assert (found.fact.rule, found.fact.premises, found.fact.depth) == ("siblings", (SISTER.fact.fact_id,), 1)
    assert (found.fact.support, found.fact.subjects) == (SISTER.fact.support, SISTER.fact.subjects)


def test_a_derived_fact_is_as_weak_as_its_weakest_premise():
    weak = known(ADA, "kin", "mother", RUTH, modality=Modality.HEDGED, contested=True, valid_from=3 * DAY)
    sure = known(RUTH, "kin", "mother", MIA, valid_from=1 * DAY, valid_to=9 * DAY)
    fact = next(k.fact for k in derive(ADA, SHIPPED, Facts(weak, sure)) if k.fact.qualifier == "grandparent")
    assert (fact.modality, fact.contested, fact.valid_from, fact.valid_to) == (Modality.HEDGED, True, 3 * DAY, 9 * DAY)


def test_premises_and_support_are_sorted():
    own = load('[rules.x]\nif = ["?a kin ?b", "?b kin ?c", "?c kin ?d", "?d kin ?e"]\nthen = ["?a likes ?e"]')
    facts = [known(n, "kin", "next", n + 1, day=9 - n) for n in (1, 2, 3, 4)]
    (fact,) = (k.fact for k in derive(ADA, own, Facts(*facts)))
    assert fact.premises == tuple(sorted(k.fact.fact_id for k in facts))
    assert fact.support == tuple(sorted(support for k in facts for support in k.fact.support))
    assert (fact.said_at, fact.seq) == (8 * DAY, 8)


def test_of_two_derivations_of_one_length_the_one_of_least_id_is_kept():
    ways = [(known(1, "kin", "next", n), known(n, "kin", "next", 9)) for n in range(10, 40)]
    ids = [derive(ADA, load(CHAIN.format(depth=1)), Facts(*way))[0].fact.fact_id for way in ways]
    (kept,) = derive(ADA, load(CHAIN.format(depth=1)), Facts(*(k for way in ways for k in way)))
    assert kept.fact.fact_id == min(ids)


def test_what_is_stated_is_not_derived_again():
    assert derive(RUTH, SHIPPED, Facts(SISTER, known(RUTH, "kin", "Sibling", ADA))) == []


def test_without_its_premise_nothing_follows():
    assert derive(RUTH, SHIPPED, Facts()) == []


def test_a_relation_can_be_asked_for_alone():
    assert derive(RUTH, SHIPPED, Facts(SISTER), relation="likes") == []
    assert len(derive(RUTH, SHIPPED, Facts(SISTER), relation="kin")) == 1


def test_two_variables_are_two_entities():
    own = load('[rules.x]\nif = ["?a kin ?b", "?a kin ?c"]\nthen = ["?b likes ?c"]')
    assert derive(RUTH, own, Facts(SISTER)) == []


def test_a_literal_value_is_compared_in_normal_form():
    own = load("[rules.x]\nif = [\"?a lives_in 'Munich'\"]\nthen = [\"?a likes 'Beer'\"]")
    assert said(derive(ADA, own, Facts(known(ADA, "lives_in", "", "MUNICH")))) == [("Ada", "likes", "", "beer")]
    assert derive(ADA, own, Facts(known(ADA, "lives_in", "", "Rome"))) == []


CHAIN = '[limits]\ndepth = {depth}\n[rules.x]\nif = ["?a kin[next] ?b", "?b kin[next|far] ?c"]\nthen = ["?a kin[far] ?c"]'


def test_derived_facts_are_premises_within_the_depth():
    steps = Facts(*(known(n, "kin", "next", n + 1) for n in (1, 2, 3)))
    assert [k.fact.depth for k in derive(ADA, load(CHAIN.format(depth=2)), steps)] == [2, 1]
    assert [k.fact.value for k in derive(ADA, load(CHAIN.format(depth=1)), steps)] == ["Mia"]


@pytest.mark.parametrize("fact_id", [b"\x00" * 16, b"\xff" * 16], ids=["first", "last"])
def test_of_equal_conclusions_the_shortest_derivation_is_kept(fact_id):
    long_way = (known(a, "kin", "next", b) for a, b in ((1, 2), (2, 3), (3, 4)))
    ways = Facts(*long_way, known(2, "kin", "next", 4, fact_id=fact_id))
    found = [k for k in derive(ADA, load(CHAIN.format(depth=3)), ways) if k.value == BEN]
    assert [k.fact.depth for k in found] == [1]


def test_cycles_of_facts_and_rules_end():
    back, on = (f'if = ["?a kin ?b"]\nthen = ["{head}"]' for head in ("?b kin[back] ?a", "?a likes ?b"))
    own = load(f"[limits]\ndepth = 8\n[rules.x]\n{back}\n[rules.y]\n{on}")
    ring = Facts(*(known(n, "kin", "next", 1 + n % 4) for n in NAMES))
    assert 1 <= len(derive(ADA, own, ring)) <= rules_module.FACTS_MAX


EVERYBODY = 'if = ["?a kin ?b"]\nthen = ["?a likes ?b"]'


def test_one_pattern_looks_at_the_facts_of_least_id_only():
    star = [known(ADA, "kin", "next", n) for n in range(2, 99)]
    found = derive(ADA, load(f"[limits]\nfan_in = 5\n[rules.x]\n{EVERYBODY}"), Facts(*star))
    assert sorted(k.fact.premises[0] for k in found) == sorted(k.fact.fact_id for k in star)[:5]


def test_a_derivation_tries_a_bounded_number_of_facts(monkeypatch):
    monkeypatch.setattr(rules_module, "TRIALS_MAX", 7)
    assert len(derive(ADA, load(f"[rules.x]\n{EVERYBODY}"), Facts(*(known(ADA, "kin", "next", n) for n in range(2, 40))))) == 7


def test_a_derivation_looks_at_a_bounded_number_of_entities():
    crowd = Facts(*(known(n, "kin", "next", (n * 7 + step) % 999) for n in range(999) for step in range(9)))
    derive(ADA, load(CHAIN.format(depth=8)), crowd)
    assert crowd.asked == rules_module.ENTITIES_MAX
    assert 1 < crowd.told <= rules_module.ENTITIES_MAX


def test_an_id_depends_on_premises_rule_head_and_places():
    rule, other = SHIPPED.rules[0], SHIPPED.rules[1]
    ids = {derived_id(rule, 0, [b"1", b"2"]), derived_id(rule, 0, [b"2", b"1"]), derived_id(rule, 1, [b"1", b"2"])}
    assert len(ids | {derived_id(other, 0, [b"1", b"2"]), derived_id(rule, 0, [b"1"])}) == 5
    assert {len(each) for each in ids} == {16}


def test_two_conclusions_from_the_same_premises_have_two_ids():
    own = load('[rules.x]\nif = ["?a kin[child] ?b", "?a kin[child] ?c"]\nthen = ["?b kin[sibling] ?c"]')
    facts = Facts(known(ADA, "kin", "child", RUTH), known(ADA, "kin", "child", MIA))
    (one,), (two,) = derive(RUTH, own, facts), derive(MIA, own, facts)
    assert one.fact.premises == two.fact.premises
    assert one.fact.fact_id != two.fact.fact_id


@given(st.permutations([known(a, "kin", q, b) for a, q, b in ((1, "sister", 2), (2, "mother", 3), (1, "mother", 3), (3, "father", 4))]))
def test_the_order_of_the_premises_changes_nothing(facts):
    assert [derive(n, SHIPPED, Facts(*facts)) for n in (1, 2, 3, 4)] == [derive(n, SHIPPED, Facts(*reversed(facts))) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[rules.odd]\nif = []\nthen = []", "odd has an empty"),
        ("[rules.odd]\nif = ['?a kin ?b']", "odd is not made of"),
        ("[rules.odd]\nif = ['a kin b']\nthen = ['?a kin ?b']", "odd has a pattern"),
        ("[rules.odd]\nif = [7]\nthen = ['?a kin ?b']", "odd has a pattern"),
        ("[rules.odd]\nif = ['?a owns ?b']\nthen = ['?a kin ?b']", "odd asks for owns"),
        ("[rules.odd]\nif = ['?a kin ?b']\nthen = ['?a kin ?c']", "odd derives something about a variable"),
        ("[rules.odd]\nif = ['?a kin ?b', '?c kin ?d']\nthen = ['?a likes ?b']", "odd has premises that do not hang together"),
        ("[rules.odd]\nif = ['?a kin ?b']\nthen = ['?a lives_in ?b']", "odd derives lives_in"),
        ("[rules.odd]\nif = ['?a kin ?b']\nthen = ['?a kin[x|y] ?b']", "odd derives a choice"),
        (
            "[rules.odd]\nif = ['?a kin ?b', '?a kin ?b', '?a kin ?b', '?a kin ?b', '?a kin ?b']\nthen = ['?a likes ?b']",
            "odd has more than 4",
        ),
        ("[limits]\ndepth = 9", "limit depth"),
        ("[limits]\nfan_in = true", "limit fan_in"),
        ("[limit]\n", "no section limit"),
        ("[rules", "not valid TOML"),
    ],
)
def test_a_bad_rule_is_named(text, fault):
    with pytest.raises(Usage, match=fault):
        load(text)


def test_a_derived_relation_needs_no_place_in_the_vocabulary():
    own = load('[rules.x]\nif = ["?a kin ?b"]\nthen = ["?b knows ?a"]\n[rules.y]\nif = ["?a knows ?b"]\nthen = ["?a likes ?b"]')
    assert said(derive(RUTH, own, Facts(SISTER))) == [("Ruth", "knows", "", "Ada"), ("Ruth", "likes", "", "Ada")]
