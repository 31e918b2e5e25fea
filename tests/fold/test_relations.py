"""The relations file: every line of it is read in a text, a new relation is two lines, and what is wrong with it is said."""

from __future__ import annotations

import pytest

from refold import recipes
from refold.errors import Usage
from refold.fold.patterns import Pattern
from refold.fold.relations import About, Cardinality, Conflict, Relations, SaidBy
from refold.model import Act, Role
from tests.fold.said import event, folded, read, shipped

LINES = sorted(
    {(pattern.relation, pattern.act, pattern.line) for patterns in shipped().patterns.values() for pattern in patterns},
    key=lambda line: (line[0], line[1], line[2]),
)


def variants(relation: str, line: str) -> list[Pattern]:
    return [pattern for pattern in shipped().patterns[relation] if pattern.line == line]


@pytest.mark.parametrize(("relation", "act", "line"), LINES, ids=lambda value: value.name.lower() if isinstance(value, Act) else value)
def test_every_variant_of_a_line_is_read_with_an_example(relation, act, line):
    role = Role.DOCUMENT if shipped().policy(relation).said_by is SaidBy.DOCUMENT else Role.USER
    for pattern in variants(relation, line):
        sentence, value = pattern.example(shipped().word_lists)
        found = [(fact.relation, fact.act, fact.value.casefold()) for fact in folded(event(f"{sentence}.", role=role)).assertions]
        expected = value.casefold() if role is Role.USER else f"{value}.".casefold()
        assert (relation, act, expected) in found, sentence


def test_a_new_relation_is_two_lines_and_no_code():
    two_lines = '[plays]\nsay = ["I play {x}"]\n'
    relations = Relations.load(two_lines)
    sentences = {
        "I play chess.": ("chess", Act.SAY),
        "I've been playing the cello since 2020.": ("cello", Act.SAY),
        "I don't play chess any more.": ("chess", Act.DENY),
        "I used to play chess.": ("chess", Act.END),
        "I stopped playing chess.": ("chess", Act.END),
    }
    for sentence, expected in sentences.items():
        assert [(fact.value, fact.act) for fact in folded(sentence, using=relations).assertions] == [expected], sentence


def test_a_relation_about_anyone_is_read_of_a_named_person():
    relations = Relations.load('[plays]\nabout = "anyone"\nsay = ["I play {x}"]\n')
    assert [(fact.entity_text, fact.value) for fact in folded("Ruth plays chess.", using=relations).assertions] == [("Ruth", "chess")]


def test_relations_keep_the_order_of_the_file():
    assert shipped().names[:3] == ("name", "contact", "lives_in")
    assert Relations.load('[b]\nsay = ["I b {x}"]\n[a]\nsay = ["I a {x}"]\n').names == ("b", "a")


def test_private_relations_are_their_owners_to_state():
    private = {name for name in shipped().names if shipped().policy(name).about is About.SPEAKER}
    assert private == {"name", "contact", "instructs", "condition", "plans", "task"}


def test_the_shipped_policy_is_the_one_documented():
    one = {name for name in shipped().names if shipped().policy(name).cardinality is Cardinality.ONE}
    source = {name for name in shipped().names if shipped().policy(name).conflict is Conflict.SOURCE}
    assert one == {"name", "lives_in", "works_at", "role", "property"}
    assert source == {"lives_in", "works_at", "role", "kin", "likes", "owns", "did"}
    assert [name for name in shipped().names if shipped().policy(name).special] == ["condition"]


def test_defaults_are_laid_under_every_relation():
    relations = Relations.load('[defaults]\nconflict = "contested"\n[a]\nsay = ["I a {x}"]\n[b]\nconflict = "latest"\nsay = ["I b {x}"]\n')
    assert (relations.policy("a").conflict, relations.policy("b").conflict) == ("contested", "latest")


def test_the_digest_is_of_the_content_and_the_order_and_not_of_comments():
    plain = '[a]\nsay = ["I a {x}"]\n[b]\nsay = ["I b {x}"]\n'
    digest = Relations.load(plain).digest
    assert digest == Relations.load("# a comment\n" + plain.replace("\n", "\n\n")).digest
    assert digest != Relations.load('[b]\nsay = ["I b {x}"]\n[a]\nsay = ["I a {x}"]\n').digest
    assert digest != Relations.load(plain.replace("I b", "I c")).digest


FAULTS = {
    "not TOML": ("[a\n", "not valid TOML"),
    "no relation": ("", "0 relations"),
    "no say": ("[a]\n", "a: has no `say` line"),
    "say without a value": ('[a]\nsay = ["I quit"]\n', "a: say 1: a pattern without {x}"),
    "unknown key": ('[a]\nsays = ["I a {x}"]\n', "a: unknown key 'says'"),
    "unknown policy": ('[a]\ncardinality = "two"\nsay = ["I a {x}"]\n', "a: cardinality is none of one, many"),
    "unknown modality": ('[a]\nmodality = "hedged"\nsay = ["I a {x}"]\n', "a: modality is none of"),
    "flag that is a word": ('[a]\nspecial = "yes"\nsay = ["I a {x}"]\n', "a: special is neither true nor false"),
    "unknown kind": ('[a]\nsay = ["I b {x}", "I a {x:Planet}"]\n', "a: say 2: a slot names a kind"),
    "misspelt slot": ('[a]\nsay = ["I a {y}"]\n', "a: say 1: a slot is not of the form"),
    "slot twice": ('[a]\nsay = ["I a {x} and {x}"]\n', "a: say 1: the pattern has the same slot twice"),
    "open bracket": ('[a]\nsay = ["I a [very {x}"]\n', "a: say 1: the pattern has a bracket that is not closed"),
    "open brace": ('[a]\nsay = ["I a {x"]\n', "a: say 1: the pattern has a brace that is not closed"),
    "too many variants": ('[a]\nsay = ["I ' + "[b] " * 9 + 'a {x}"]\n', "at most 256"),
    "I without a verb": ('[a]\nsay = ["I {x}"]\n', "a: say 1: a pattern that begins with `I`"),
    "slot without a verb": ('[a]\nsay = ["{x}"]\n', "a: say 1: a pattern that begins with a slot"),
    "my without a word": ('[a]\nsay = ["my {x}"]\n', "a: a pattern of the form `my ...`"),
    "line not a string": ("[a]\nsay = [1]\n", "a: say is not a list of strings"),
    "relation that is no table": ("a = 1\n", "a: expected a table"),
    "bad name": ('["A b"]\nsay = ["I a {x}"]\n', "lower-case letters"),
    "alias slot in a relation": ('[a]\nsay = ["{a:Name} is {b:Name} {x}"]\n', "belong to [aliases]"),
    "alias without both": ('[a]\nsay = ["I a {x}"]\n[aliases]\nsay = ["{a:Name} is me"]\n', "aliases: a pattern has not both"),
    "unknown default": ('[defaults]\ncolour = "red"\n[a]\nsay = ["I a {x}"]\n', "defaults: unknown key 'colour'"),
    "empty word list": ('[a]\nsay = ["I a {x}"]\n[words]\nKin = []\n', "words: 'Kin' is empty"),
    "word list with capitals": ('[a]\nsay = ["I a {x}"]\n[words]\nKin = ["Aunt"]\n', "words: 'Kin' is empty, or has an entry"),
    "word list named as a kind": ('[a]\nsay = ["I a {x}"]\n[words]\nName = ["b"]\n', "words: 'Name' is the name of a built-in kind"),
    "document pattern that is no line": ('[a]\nsaid_by = "document"\nsay = ["I a {x}"]\n', "what only documents say"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong_with_the_file_is_said_with_the_relation(text, message):
    with pytest.raises(Usage) as fault:
        assert Relations.load(text).grammar
    assert message in fault.value.message
    assert fault.value.path == "configs/relations.toml"


def test_an_unknown_relation_is_a_usage_error():
    with pytest.raises(Usage):
        shipped().policy("shoe_size")


def test_a_word_list_is_a_kind():
    text = '[speaks]\nsay = ["I speak {x:Tongue}"]\n[words]\nTongue = ["french", "swiss german", "*ish"]\n'
    relations = Relations.load(text)
    values = [fact.value for fact in folded("I speak French, Spanish and Swiss German.", using=relations).assertions]
    assert values == ["French", "Spanish", "Swiss German"]
    assert folded("I speak softly.", using=relations).assertions == ()


def test_one_clause_states_several_relations():
    assert read("I work at Acme as a nurse.") == ["ada role nurse", "ada works_at Acme"]


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to long meetings.",
        "She knows I'm allergic to gossip.",
        "I'm sensitive to praise.",
        "I react badly to unsolicited advice.",
        "I suffer from endless deadlines.",
        "Spreadsheets give me headaches.",
        "I can't tolerate rude people.",
        "I can't have visitors today.",
    ],
)
def test_a_manner_of_speaking_is_no_condition(text: str):
    assert [fact for fact in read(text) if " condition " in fact] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I'm allergic to onions.", "onions"),
        ("I'm allergic to some medications.", "medications"),
        ("I'm sensitive to bright light.", "bright light"),
        ("I suffer from long covid.", "long covid"),
        ("I can't eat condiments with sulphites.", "condiments"),
        ("I suffer from obesity.", "obesity"),
    ],
)
def test_what_makes_people_ill_is_a_condition(text: str, value: str):
    assert [fact for fact in read(text) if f"condition {value}" in fact] != []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I moved from Lima to Quito in 2018 and then to Bogota.", ["Quito", "Bogota"]),
        ("I relocated to Porto in 2015, later to Braga, and finally to Faro.", ["Porto", "Braga", "Faro"]),
        ("I moved to Turin and eventually back to Genoa.", ["Turin", "Genoa"]),
        ("Nora moved to Ghent, then Bruges.", ["Ghent", "Bruges"]),
        ("I joined Acme in 2016 and then Initech in 2019.", ["Acme", "Initech"]),
        ("I moved to Turin and then started a band.", ["Turin"]),
        ("I moved to Turin, then Paul called.", ["Turin"]),
    ],
)
def test_what_came_next_replaces_what_came_before(text: str, values: list[str]):
    said = [fact for fact in folded(text).assertions if fact.act is Act.SAY and fact.relation in ("lives_in", "works_at")]
    assert [fact.value for fact in sorted(said, key=lambda fact: fact.span)] == values


def test_each_of_several_moves_has_its_own_time():
    first, second = sorted(folded("I joined Acme in 2016 and then Initech in 2019.").assertions, key=lambda fact: fact.span)
    assert (first.validity.words, second.validity.words) == ("in 2016", "in 2019")


# Of these no rule says anything: a bond that does not follow from the other side, or in no set word.
WITHOUT_RULE = """
partner girlfriend boyfriend fiancé fiancée fiance fiancee aunt uncle niece nephew cousin grandmother grandfather grandma grandpa
granny grandson granddaughter stepmother stepfather stepson stepdaughter stepbrother stepsister mother-in-law father-in-law sister-in-law
brother-in-law son-in-law daughter-in-law godmother godfather godson goddaughter half-sister half-brother twin friend flatmate roommate
housemate neighbour neighbor colleague coworker co-worker boss manager mentor stepdad stepmum stepmom grandad nana pal mate bestie guardian
godchild landlord landlady ex-wife ex-husband ex-boyfriend ex-girlfriend ex friends cousins grandparents aunts uncles nieces nephews twins
engaged related
"""


def test_rules_know_every_word_by_which_the_extractor_names_the_kin_that_they_are_about():
    lists = shipped().word_lists
    words = {word.strip() for name in ("Kin", "Bond") for word in lists[name]}
    ruled = {word for rule in recipes.rules().rules for pattern in rule.body for word in pattern.qualifiers}
    assert words - ruled == set(WITHOUT_RULE.split())
