"""Big logs, quickly: invented people who chat about invented lives. The same seed gives the same sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from refold import ingest
from refold.model import Draft, Role, Scope, Source
from refold.store import Store, create, places

BATCH = 4_096
START = 1_704_067_200_000_000  # 2024-01-01, µs
STEP = 30_000_000  # µs between two messages
TURNS = 24  # messages of one session

NAMES = (
    "Ada",
    "Bruno",
    "Clara",
    "Dario",
    "Edda",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Liam",
    "Mona",
    "Nils",
    "Olga",
    "Pavel",
)
CITIES = ("Berlin", "Munich", "Lisbon", "Oslo", "Turin", "Ghent", "Porto", "Graz", "Lyon", "Malmo", "Leeds", "Cork")
FIRMS = ("Northwind", "Halden Works", "Blue Kiln", "Tern Labs", "Ostara", "Marrow and Sons", "Quill House", "Fennick")
ROLES = ("baker", "nurse", "carpenter", "teacher", "welder", "gardener", "pilot", "editor", "chemist", "luthier")
THINGS = ("oat milk", "trail running", "crosswords", "rye bread", "old maps", "chess", "sour cherries", "swimming", "jazz", "sailing")
KIN = ("sister", "brother", "mother", "father", "daughter", "son", "cousin", "aunt")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MINE = (
    "I live in {city}.",
    "I moved to {city} last spring and the light there is different.",
    "I work at {firm} as a {role}.",
    "My {kin} {name} works at {firm}.",
    "I like {thing}, {thing} less so.",
    "I don't like {thing} any more.",
    "I'm planning to visit {city} on {day}.",
    "{name} told me that the train to {city} was late again on {day}.",
    "Remind me to call {name} on {day}, please.",
    "We had {thing} at {name}'s place, it rained all evening.",
    "The meeting with {firm} went well, they want an answer by {day}.",
    "No, that was {name}, not me; I was in {city} then.",
    "Could you look up when the market in {city} opens?",
    "I quit my job at {firm}, it was time.",
)
THEIRS = (
    "Noted. Shall I look for a train to {city}?",
    "That sounds like a good plan for {day}.",
    "I have put {thing} on the list.",
    "Do you want me to write to {firm} about it?",
)


def sentence(draw: Random, forms: tuple[str, ...] = MINE) -> str:
    """Return one invented sentence."""
    return draw.choice(forms).format(
        city=draw.choice(CITIES),
        firm=draw.choice(FIRMS),
        role=draw.choice(ROLES),
        thing=draw.choice(THINGS),
        kin=draw.choice(KIN),
        name=draw.choice(NAMES),
        day=draw.choice(DAYS),
    )


def chats(events: int, *, people: int, seed: int, first: int = 0) -> Iterator[Draft]:
    """Yield messages of people with an assistant, session by session."""
    draw = Random(seed)
    for number in range(first, first + events):
        session, turn = divmod(number, TURNS)
        user = f"{NAMES[session % people % len(NAMES)].lower()}-{session % people}"
        asks = turn % 2 == 0
        yield Draft(
            sentence(draw, MINE if asks else THEIRS),
            Source("chat", f"s{session}", str(turn)),
            said_at=START + number * STEP,
            role=Role.USER if asks else Role.ASSISTANT,
            scope=Scope(user=user),
        )


def big_store(folder: Path, events: int, *, people: int = 300, seed: int = 1, batch: int = BATCH) -> Store:
    """Make a store with so many events of so many people in `folder`, and return it open."""
    made = create(places(folder / "store", folder / "vault", folder / "root", env={}), now=lambda: START)
    return grow(made, events, people=people, seed=seed, batch=batch)


def grow(store: Store, events: int, *, people: int = 300, seed: int = 1, batch: int = BATCH, first: int = 0) -> Store:
    """Append so many more events, `batch` to a commit. `first` numbers the first of them."""
    draw = Random(seed)
    drafts = list[Draft]()
    now = START + (first + events) * STEP
    for draft in chats(events, people=people, seed=seed, first=first):
        drafts.append(draft)
        if len(drafts) == batch:
            ingest.add(store, drafts, now=lambda: now, random=draw.randbytes)
            drafts.clear()
    if drafts:
        ingest.add(store, drafts, now=lambda: now, random=draw.randbytes)
    return store
