"""A memory to erase people from: forty invented people, what they say, what others say of them, and who only has the same name.

The same arguments give the same corpus. Every person has aliases that are declared, canaries in every field of their own events, events
that they share with others, and mentions by others that nobody declared, in every variant. Namesakes are mentions that look the same and
mean somebody else.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from refold import ingest
from refold.model import AliasKind, Draft, Role, Scope, Source
from refold.store import Store

EVENTS = 2_000
PEOPLE = 40
START = 1_704_067_200_000_000  # 2024-01-01, µs
STEP = 600_000_000  # µs between two events
BATCH = 500
FIELDS = ("text", "source", "author", "metadata", "key", "audience")

NAMES = (
    *("Ada Brandt", "Jürgen Möller", "Zoë Castellan", "Robert Ashdown", "Elisabeth Quarles", "Łukasz Wrona", "Ruth Kern", "Björn Sæther"),
    *("Katharina Vogel", "Alexander Petrov", "Mina Okafor", "Tobias Lindqvist", "Anna Ferrante", "Dmitri Volkov", "Siân Howell"),
    *("François Deschamps", "Margaret Thornbury", "Ingrid Sørensen", "William Harcastle", "Noor Rahimi", "Peter Groß", "Yusuf Demirel"),
    *("Clara Benedetti", "Matthias Körner", "Olivia Pemberton", "Stefan Jovanović", "Helena Marquez", "Nikolai Berezin", "Paula Rietveld"),
    *("Theodor Falkenrath", "Camille Rousselot", "Edmund Fairclough", "Renata Zielinska", "Viktor Halvorsen", "Beatrix Oldham"),
    *("Gustav Wennerberg", "Daria Morozova", "Leopold Winterfeld", "Frida Nyqvist", "Jonas Achterberg"),
)
NICKNAMES = {"Robert": "Bob", "Elisabeth": "Liz", "Katharina": "Kathi", "Alexander": "Alex", "Margaret": "Maggie", "William": "Bill"}
TRANSCRIBED = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "æ": "ae", "ł": "l"}
CITIES = ("Berlin", "Munich", "Lisbon", "Oslo", "Turin", "Ghent", "Porto", "Graz", "Lyon", "Leeds")
FIRMS = ("Northwind", "Halden Works", "Blue Kiln", "Tern Labs", "Ostara", "Quill House")
THINGS = ("oat milk", "trail running", "crosswords", "rye bread", "old maps", "chess", "swimming", "jazz")
OWN = (
    "I live in {city}.",
    "I moved to {city} last spring.",
    "I work at {firm}.",
    "I like {thing}.",
    "I don't like {thing} any more.",
    "Could you look up when the market in {city} opens?",
    "The meeting with {firm} went well, they want an answer by Friday.",
    "It rained all evening, so we stayed in and had {thing}.",
)
# Sentences in which a mention stands; each tells something that would be lost, or must be gone.
SAID_OF = (
    "{} told me that the train to {city} was late again.",
    "I met {} in {city} yesterday, we talked about {thing}.",
    "Remind me to write to {} about {firm}, please.",
    "The report for {firm} came from {}, so it should be right.",
)
# What looks like a mention of somebody here and is none: the words, and whose name they carry.
NAMESAKES = (
    ("Ada Lovelace wrote the first program.", "Ada Brandt"),
    ("The language Ada is named after a countess.", "Ada Brandt"),
    ("My neighbour Ruth Albers keeps bees.", "Ruth Kern"),
    ("Peter Falk played a detective.", "Peter Groß"),
    ("Anna Karenina is a long book.", "Anna Ferrante"),
    ("Clara Schumann gave the concert.", "Clara Benedetti"),
    ("The brand of the kettle is new.", "Ada Brandt"),
)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with aliases that the memory is told."""

    user: str
    name: str
    email: str
    phone: str
    number: int

    @property
    def first(self) -> str:
        return self.name.split()[0]

    @property
    def last(self) -> str:
        return self.name.split()[1]

    def canary(self, where: str) -> str:
        """Return the word that stands in one field of this person's own events, and nowhere else."""
        return f"zq{where[:3]}{self.number:02d}xkw"

    @property
    def canaries(self) -> tuple[str, ...]:
        return tuple(map(self.canary, FIELDS))

    @property
    def aliases(self) -> tuple[tuple[AliasKind, str], ...]:
        """Return what the memory is told that this person goes by."""
        return (
            (AliasKind.HANDLE, self.user),
            (AliasKind.NAME, self.name),
            (AliasKind.EMAIL, self.email),
            (AliasKind.PHONE, self.phone),
            (AliasKind.HANDLE, self.canary("author")),
        )


@dataclass(frozen=True, slots=True)
class Corpus:
    """What was said, in order, and what is true of it: by the number of the draft, who is meant and how."""

    people: tuple[Person, ...]
    drafts: tuple[Draft, ...]
    mentions: dict[int, tuple[str, str]] = field(default_factory=dict)  # undeclared: the user who is meant, and the variant
    namesakes: dict[int, str] = field(default_factory=dict)  # who is not meant
    shared: dict[int, tuple[str, str]] = field(default_factory=dict)  # declared of two: the speaker and the other

    def person(self, user: str) -> Person:
        return next(person for person in self.people if person.user == user)

    def own(self, user: str) -> list[int]:
        """Return the drafts that declare somebody: as who speaks, or as whom they concern."""
        person = self.person(user)
        names = {person.user, person.canary("author")}
        return [at for at, draft in enumerate(self.drafts) if names & {draft.scope.user, draft.author, *draft.subjects}]

    def mentioned(self, user: str) -> dict[int, str]:
        """Return the drafts in which others mention somebody without declaring it, with the variant."""
        return {at: variant for at, (meant, variant) in self.mentions.items() if meant == user}


def people(count: int = PEOPLE) -> tuple[Person, ...]:
    """Return the first so many people."""
    made = []
    for number, name in enumerate(NAMES[:count]):
        first, last = (plain(word) for word in name.split())
        made.append(Person(first, name, f"{first}.{last}@example.org", f"+49 170 555 {1000 + 37 * number}", number))
    return tuple(made)


def plain(word: str) -> str:
    """Return a name as it is written without anything but the letters a to z."""
    written = "".join(TRANSCRIBED.get(letter, letter) for letter in word.casefold())
    return "".join(letter for letter in unicodedata.normalize("NFKD", written) if letter.isascii())


def unmarked(word: str) -> str:
    """Return a name without its marks: Möller as Moller."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))


def misspelled(word: str) -> str:
    """Return a word with one letter less, in its middle."""
    return word[: len(word) // 2] + word[len(word) // 2 + 1 :]


def swapped(word: str) -> str:
    """Return a word with two letters of its middle exchanged."""
    at = len(word) // 2
    return word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]


def _local(person: Person) -> str:
    return f"{plain(person.first)}.{plain(person.last)}"


# Every way in which somebody is mentioned without being declared. None where a name has no such form.
VARIANTS: dict[str, Callable[[Person], str | None]] = {
    "name": lambda p: p.name,
    "lower case": lambda p: p.name.lower(),
    "upper case": lambda p: p.name.upper(),
    "reversed": lambda p: f"{p.last}, {p.first}",
    "first name": lambda p: p.first,
    "last name": lambda p: f"Ms {p.last}",
    "initial and name": lambda p: f"{p.first[0]}. {p.last}",
    "name and initial": lambda p: f"{p.last} {p.first[0]}.",
    "dotted initials": lambda p: f"{p.first[0]}.{p.last[0]}.",
    "bare initials": lambda p: f"{p.first[0]}{p.last[0]}",
    "nickname": lambda p: NICKNAMES.get(p.first),
    "nickname and name": lambda p: f"{NICKNAMES[p.first]} {p.last}" if p.first in NICKNAMES else None,
    "possessive": lambda p: f"{p.first}'s brother",
    "e-mail": lambda p: p.email,
    "e-mail in capitals": lambda p: p.email.upper(),
    "e-mail with a tag": lambda p: p.email.replace("@", "+lists@"),
    "e-mail without dots": lambda p: f"{plain(p.first)}{plain(p.last)}@example.org",
    "phone": lambda p: p.phone,
    "phone without spaces": lambda p: p.phone.replace(" ", ""),
    "phone with 0049": lambda p: p.phone.replace("+", "00").replace(" ", "-"),
    "phone with 0": lambda p: p.phone.replace("+49 ", "0").replace(" ", "/", 1),
    "phone beside a number": lambda p: f"17 {p.phone} 2",
    "e-mail at another host": lambda p: p.email.replace("@", "@post."),
    "e-mail in words": lambda p: p.email.replace("@", " (at) "),
    "hashtag": lambda p: f"#{p.first}{p.last}",
    "escaped": lambda p: json.dumps(p.name)[1:-1] if not p.name.isascii() else None,
    "unseen characters": lambda p: f"{p.first} {p.last[:2]}\u200b{p.last[2:]}",
    "full width": lambda p: "".join(chr(ord(each) + 0xFEE0) if "!" < each < "~" else each for each in p.last),
    "handle with @": lambda p: f"@{p.user}",
    "handle with _": lambda p: f"{plain(p.first)}_{plain(p.last)}",
    "handle with .": _local,
    "handle in one word": lambda p: f"{plain(p.first)[0]}{plain(p.last)}",
    "letter missing": lambda p: f"{p.first} {misspelled(p.last)}",
    "letters swapped": lambda p: f"{p.first} {swapped(p.last)}",
    "last name misspelled": lambda p: f"Ms {misspelled(p.last)}" if len(p.last) >= 6 else None,
    "without marks": lambda p: unmarked(p.name) if unmarked(p.name) != p.name else None,
    "transcribed": lambda p: f"{plain(p.first).title()} {plain(p.last).title()}" if not p.name.isascii() else None,
    "decomposed": lambda p: unicodedata.normalize("NFD", p.name) if not p.name.isascii() else None,
}
RELATION = "relation"  # "my manager", after the speaker has said who that is
IN_METADATA = "in the metadata"
IN_SOURCE = "in the source"


def corpus(events: int = EVENTS, *, count: int = PEOPLE, seed: int = 1) -> Corpus:
    """Make a corpus of so many events of so many people."""
    draw = Random(seed)
    known = people(count)
    made = Corpus(known, ())
    drafts: list[Draft] = []
    for draft, truth in _planted(known, draw):
        truth(made, len(drafts))
        drafts.append(draft)
    while len(drafts) < events:
        drafts.append(_own(draw.choice(known), draw))
    order = list(range(len(drafts)))
    draw.shuffle(order)
    order.sort(key=lambda at: "after" in drafts[at].metadata)
    return _in_order(made, drafts, order)


def fill(store: Store, made: Corpus, *, now: Callable[[], int], random: Callable[[int], bytes]) -> list[int]:
    """Add a corpus to an empty store, the people first; return the sequence number of each draft."""
    for person in made.people:
        ingest.subject_add(store, person.aliases, now=now, random=random)
    seqs: list[int] = []
    for first in range(0, len(made.drafts), BATCH):
        seqs += [added.seq for added in ingest.add(store, made.drafts[first : first + BATCH], now=now, random=random)]
    return seqs


Truth = Callable[[Corpus, int], None]


def _planted(known: tuple[Person, ...], draw: Random) -> Iterator[tuple[Draft, Truth]]:
    """Yield what must be in every corpus: canaries, shared events, undeclared mentions, namesakes."""
    for person in known:
        others = [other for other in known if other is not person]
        yield _with_canaries(person), lambda made, at: None
        for other in draw.sample(others, 2):
            yield _shared(person, other, draw), _as_shared(person, other)
        for variant, written in VARIANTS.items():
            if words := written(person):
                yield _said_of(words, draw.choice(others), draw), _as_mention(person, variant)
        speaker = known[(person.number + 1) % len(known)]
        text, moved = f"I live in {CITIES[person.number % len(CITIES)]}.", dict[str, object](after=True)
        beside = Draft(text, scope=Scope(user=speaker.user), subjects=(person.user,), source=_source(speaker, draw), metadata=moved)
        yield beside, _as_shared(speaker, person)  # with it goes where the speaker lives, and where they lived before holds again
        speaker = draw.choice(others)
        attended: dict[str, object] = {"attendees": [person.name]}
        minutes = Draft("The minutes are done.", scope=Scope(user=speaker.user), source=_source(speaker, draw), metadata=attended)
        yield minutes, _as_mention(person, IN_METADATA)
        letter = Draft("The answer came by letter.", scope=Scope(user=speaker.user), source=Source("mail", person.email, "1"))
        yield letter, _as_mention(person, IN_SOURCE)
        told = Draft(f"My manager is {person.name}.", scope=Scope(user=speaker.user), source=_source(speaker, draw))
        yield told, _as_mention(person, "name")
        after = Draft("My manager likes swimming.", scope=Scope(user=speaker.user), source=_source(speaker, draw), metadata={"after": True})
        yield after, _as_mention(person, RELATION)
    for words, name in NAMESAKES:
        person = next((person for person in known if person.name == name), None)
        if person:
            speaker = draw.choice([other for other in known if other is not person])
            yield Draft(words, scope=Scope(user=speaker.user), source=_source(speaker, draw)), _as_namesake(person)


def _as_mention(person: Person, variant: str) -> Truth:
    return lambda made, at: made.mentions.update({at: (person.user, variant)})


def _as_namesake(person: Person) -> Truth:
    return lambda made, at: made.namesakes.update({at: person.user})


def _as_shared(person: Person, other: Person) -> Truth:
    return lambda made, at: made.shared.update({at: (person.user, other.user)})


def _with_canaries(person: Person) -> Draft:
    return Draft(
        f"My code word is {person.canary('text')}.",
        source=Source("chat", person.canary("source"), "1"),
        author=person.canary("author"),
        scope=Scope(user=person.user),
        audience=(person.canary("audience"),),
        metadata={"note": person.canary("metadata")},
        key=person.canary("key"),
    )


def _shared(person: Person, other: Person, draw: Random) -> Draft:
    text = f"Lunch in {draw.choice(CITIES)} with {other.first} {other.last}, who paid."
    return Draft(text, scope=Scope(user=person.user), subjects=(other.user,), source=_source(person, draw))


def _said_of(words: str, speaker: Person, draw: Random) -> Draft:
    text = draw.choice(SAID_OF).format(words, city=draw.choice(CITIES), thing=draw.choice(THINGS), firm=draw.choice(FIRMS))
    return Draft(text, scope=Scope(user=speaker.user), source=_source(speaker, draw))


def _own(person: Person, draw: Random) -> Draft:
    text = draw.choice(OWN).format(city=draw.choice(CITIES), thing=draw.choice(THINGS), firm=draw.choice(FIRMS))
    role = Role.ASSISTANT if text.startswith("Could") and draw.random() < 0.5 else Role.USER
    return Draft(text, scope=Scope(user=person.user), role=role, source=_source(person, draw))


def _source(person: Person, draw: Random) -> Source:
    return Source("chat", f"s{person.number}-{draw.randrange(8)}", str(draw.randrange(1_000_000)))


def _in_order(made: Corpus, drafts: list[Draft], order: list[int]) -> Corpus:
    """Return the corpus with its drafts in an order of saying, a step of time apart."""
    place = {before: after for after, before in enumerate(order)}
    said = tuple(
        replace(
            drafts[before],
            said_at=START + at * STEP,
            metadata={name: value for name, value in drafts[before].metadata.items() if name != "after"},
        )
        for at, before in enumerate(order)
    )
    mentions = {place[at]: truth for at, truth in made.mentions.items()}
    namesakes = {place[at]: truth for at, truth in made.namesakes.items()}
    return Corpus(made.people, said, mentions, namesakes, {place[at]: truth for at, truth in made.shared.items()})
