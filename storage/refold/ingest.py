"""Ingest: drafts become sealed events. Authors and users declare their data subjects by being named; nothing is said twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from refold import canonical, journal, times
from refold.errors import SubjectErased, Usage
from refold.keys.keyring import Keyring
from refold.keys.subjects import alias_tag, carried, content_tag, is_suppressed, key_tag, sought
from refold.log.append import Appended, Sealable
from refold.log.events import encode_event, encode_subject
from refold.log.head import Head
from refold.log.persons import minted_first
from refold.log.tail import Index, Known
from refold.model import WITHHELD, AliasKind, Draft, EntryKind, Event, EventId, Role, Source, SubjectId, normalise
from refold.outside import Clock, Random
from refold.store import Store

__all__ = ["Added", "Index", "Rehearsal", "add", "check", "move_in", "rehearse", "subject_add"]

TEXT_BYTES_MAX = 16 << 20
ALIAS_CHARACTERS_MAX = 1_000
AHEAD_MAX = times.DAY  # that said_at may lie after recorded_at


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a draft: a new event, or the one that was there already."""

    event_id: EventId
    seq: int
    new: bool
    differs: bool = False  # it is there, but redacted, for another audience or without a person named now: it stays as it is
    suppressed: bool = False  # it would bring back what was erased, and was left out of an import: it has no `seq`


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What an import would do."""

    events: int  # new ones
    people: int  # who become known with them
    differing: int  # that are there already, but for another audience or about fewer people: they stay so


def add(
    store: Store,
    drafts: Sequence[Draft],
    *,
    index: Index | None = None,
    ingest: bytes | None = None,
    sees_all: bool = True,
    now: Clock,
    random: Random,
) -> list[Added]:
    """Append drafts as one commit. What was seen before is not added again; where the writer does not see all, what it may see of that.

    A draft with a key is the same as an event of its scope with that key; within an import (`ingest` given), a draft is the same as an
    event of equal source, role, author and text. Raises Usage, SubjectErased, Locked, Blocked, WriteFailed.
    """
    journal.require_appendable(store.places)
    recorded_at = now()
    lines = _lines(drafts, recorded_at=recorded_at)
    batch = _Batch(store, lines, index=index, ingest=ingest, sees_all=sees_all, recorded_at=recorded_at, random=random)
    return batch.added(store.log.append(batch.plan, now=now, random=random))


def move_in(
    store: Store, drafts: Sequence[Draft], *, txn: str, ingest: bytes, index: Index | None = None, recorded_at: int, random: Random
) -> list[Added]:
    """Import drafts as the commit `txn` of a transaction under way, which holds every other append. Raises as `add` does."""
    batch = _Batch(store, _lines(drafts, recorded_at=recorded_at), index=index, ingest=ingest, recorded_at=recorded_at, random=random)
    return batch.added(store.log.append(batch.plan, now=lambda: recorded_at, random=random, txn=txn))


def rehearse(
    store: Store, drafts: Sequence[Draft], *, ingest: bytes, index: Index | None = None, recorded_at: int, random: Random
) -> Rehearsal:
    """Return what an import would add now, and add nothing. Raises as `add` does."""
    batch = _Batch(store, _lines(drafts, recorded_at=recorded_at), index=index, ingest=ingest, recorded_at=recorded_at, random=random)
    planned = batch.plan(*store.log.refresh())
    events = sum(one.kind is EntryKind.EVENT for one in planned)
    return Rehearsal(events, len(planned) - events, batch.differing)


def check(draft: Draft, *, recorded_at: int) -> None:
    """Refuse a draft that `add` would refuse, so that an import can leave it out by itself. Raises Usage."""
    _lines([draft], recorded_at=recorded_at)


def subject_add(
    store: Store,
    aliases: Sequence[tuple[AliasKind, str]],
    *,
    readmit: bool = False,
    index: Index | None = None,
    now: Clock,
    random: Random,
) -> SubjectId:
    """Make aliases known as those of one person: of whoever has any of them already, else of somebody new.

    Where several have them, an entry of the id that was minted first joins them: they are one person from here. An alias of somebody who
    was erased is refused unless it is to `readmit` them, under a new id. Raises SubjectErased, Blocked while a transaction is unfinished.
    """
    journal.require_clear(store.places)
    for _, alias in aliases:
        _name(alias)
    if not aliases:
        raise Usage("a subject needs at least one alias")
    minted = SubjectId(random(16))
    made: list[SubjectId] = []

    def plan(head: Head, keyring: Keyring) -> list[Sealable]:
        known = store.log.tail.follow(head, keyring, index)
        tags = {alias_tag(keyring, alias): (kind, alias) for kind, alias in aliases}
        found = known.subjects_of(list(tags))
        _check_usable(list(found.values()), known, keyring)
        if not readmit and is_suppressed(keyring, None, [alias for tag, (_, alias) in tags.items() if tag not in found]):
            raise _erased()
        subject, apart = minted_first(store.log.subjects(), set(found.values())) if found else (minted, set())
        new = tuple(alias for tag, alias in tags.items() if tag not in found or found[tag] in apart)
        made[:] = [subject]
        return [_subject_entry(subject, new, recorded_at=now(), ingest=random(16), random=random)] if new else []

    store.log.append(plan, now=now, random=random)
    return made[0]


@dataclass(frozen=True, slots=True)
class _Line:
    """A draft that can be an event, with the names, as they are compared, of the data subjects it declares."""

    draft: Draft
    aliases: dict[str, str]  # normalised: as written
    speaker: str | None


class _Names(dict[str, str]):
    """Aliases as they are compared, each made once: in a batch they repeat. Raises Usage."""

    def __missing__(self, alias: str) -> str:
        name = self[alias] = _name(alias)
        return name


def _lines(drafts: Sequence[Draft], *, recorded_at: int) -> list[_Line]:
    names = _Names()
    return [_line(draft, names, recorded_at=recorded_at) for draft in drafts]


def _line(draft: Draft, names: _Names, *, recorded_at: int) -> _Line:
    """Check a draft: nothing said, too much, broken characters or a date to come is refused. Raises Usage."""
    scope, source = draft.scope, draft.source
    place = (source.kind, source.ref, source.part) if source else ()
    strings = (draft.author, draft.key, scope.user, scope.agent, scope.run, *place, *draft.audience, *draft.subjects)
    try:
        size = len(draft.text.encode())
        "".join([text for text in strings if text]).encode()
        if draft.metadata:
            canonical.encode(draft.metadata)
    except UnicodeEncodeError:
        raise Usage("a lone surrogate is no character", hint="decode the text with errors='replace'") from None
    except (TypeError, ValueError, RecursionError):
        raise Usage("the metadata is not plain JSON") from None
    if not draft.text or draft.text.isspace():
        raise Usage("the text is empty")
    if size > TEXT_BYTES_MAX:
        raise Usage(f"the text has {size} bytes; at most {TEXT_BYTES_MAX} are possible", hint="import it as a document, in parts")
    if draft.said_at is not None and not times.FIRST <= draft.said_at <= recorded_at + AHEAD_MAX:
        raise Usage("the time it was said is before the year 1 or more than a day ahead of now")
    author = draft.author if draft.role.asserts else None
    speaker = author if draft.author is not None else scope.user if draft.role is Role.USER else None
    aliases = {names[alias]: alias for alias in (author, scope.user, *draft.subjects) if alias is not None}
    return _Line(draft, aliases, None if speaker is None else names[speaker])


def _name(alias: str) -> str:
    """Return an alias as it is compared. Raises Usage where nothing is left of it, or too much."""
    name = normalise(alias)
    if not name or len(alias) > ALIAS_CHARACTERS_MAX:
        raise Usage(f"a name of a data subject has {len(alias)} characters; 1 to {ALIAS_CHARACTERS_MAX} are possible")
    return name


class _Batch:
    """Drafts on their way: planned anew for every head, with ids that stay the same."""

    def __init__(
        self,
        store: Store,
        lines: Sequence[_Line],
        *,
        index: Index | None,
        ingest: bytes | None,
        sees_all: bool = True,
        recorded_at: int,
        random: Random,
    ) -> None:
        self._store = store
        self._lines = lines
        self._index = index
        self._sees_all = sees_all
        self._is_import = ingest is not None
        self._ingest = ingest or random(16)
        self._recorded_at = recorded_at
        self._random = random
        ids = random(16 * len(lines))
        self._event_ids = [EventId(ids[at : at + 16]) for at in range(0, len(ids), 16)]
        self._known: set[str] = set()  # names that were those of known persons: they may not be minted anew behind an erasure
        self._minted: dict[str, Sealable] = {}
        self._events: dict[tuple[int, tuple[SubjectId, ...], SubjectId | None], Sealable] = {}
        self._there: dict[int, Added] = {}  # drafts that are in the log already
        self._same: dict[int, int] = {}  # drafts that repeat an earlier one of this batch
        self._suppressed: set[int] = set()  # drafts that would bring back what was erased
        self._rows: dict[int, int] = {}  # where the others stand in the commit
        self._declared: tuple[Keyring, dict[str, Sealable]] = (store.keyring, {})  # and whom it declares, under which keys
        self._tagged: tuple[Keyring | None, list[tuple[bytes, int]]] = (None, [])  # and the tags of the drafts, likewise

    def plan(self, head: Head, keyring: Keyring) -> list[Sealable]:
        """Return what has to be appended to this head."""
        tail = self._store.log.tail
        known = tail.follow(head, keyring, self._index)
        if self._is_import:
            tail.recognise(keyring)
        self._recognise(known, keyring)
        fresh = self._allowed([at for at in range(len(self._lines)) if at not in self._there and at not in self._same], known, keyring)
        ids, minted = self._resolve(fresh, known, keyring)
        self._rows = {at: row for row, at in enumerate(fresh, len(minted))}
        self._declared = (keyring, minted)
        return [*minted.values(), *[self._event(at, ids) for at in fresh]]

    @property
    def differing(self) -> int:
        """Return how many of the drafts are there already, but otherwise."""
        repeated = (_differs(self._lines[at], self._lines[earlier]) for at, earlier in self._same.items())
        return sum(one.differs for one in self._there.values()) + sum(repeated)

    def added(self, done: Appended | None) -> list[Added]:
        """Return what became of the drafts, after telling the tail what the commit holds."""
        first = done.first if done else 0
        if done:
            self._teach(done)
        made = {at: Added(self._event_ids[at], first + row, True) for at, row in self._rows.items()}
        made |= {at: Added(self._event_ids[at], WITHHELD, False, suppressed=True) for at in self._suppressed}
        for at, earlier in self._same.items():
            one = self._there.get(earlier) or made[earlier]
            made[at] = replace(one, new=False, differs=one.differs or _differs(self._lines[at], self._lines[earlier]))
        return [self._there.get(at) or made[at] for at in range(len(self._lines))]

    def _teach(self, done: Appended) -> None:
        keyring, minted = self._declared
        subjects = {alias_tag(keyring, name): self._minted[name].subjects[0] for name in minted}
        tags = self._tags(keyring)
        own = ((tag, at) for base, at in tags for tag in carried(keyring, base, _audience(self._lines[at].draft)))
        seen = {tag: done.first + self._rows[at] for tag, at in own if at in self._rows}
        end = done.first + done.count
        self._store.log.tail.learn(keyring, done.first, end, subjects=subjects, seen=seen, is_all=self._is_import)

    def _recognise(self, known: Known, keyring: Keyring) -> None:
        """Find the drafts that are in the log already, or twice in this batch."""
        wanted: dict[int, list[bytes]] = {}
        for tag, at in self._tags(keyring):
            wanted.setdefault(at, []).extend(sought(keyring, tag, _audience(self._lines[at].draft), sees_all=self._sees_all))
        found = known.seen([tag for tags in wanted.values() for tag in tags])
        met = {at: found[tag] for at, tags in wanted.items() for tag in reversed(tags) if tag in found}
        people = self._people([*met], known, keyring)
        named = {at: {people.get(name) for name in self._lines[at].aliases} for at in met}
        self._there = {at: _there(self._lines[at], self._store.log.event(seq), named[at]) for at, seq in met.items()}
        self._same = {}
        first: dict[bytes, int] = {}
        for at, tags in wanted.items():
            earlier = {first.setdefault(tag, at) for tag in tags} - {at}
            if at not in met and earlier:
                self._same[at] = min(earlier)
                _check_same(self._lines[at].draft, self._lines[min(earlier)].draft)

    def _allowed(self, fresh: Sequence[int], known: Known, keyring: Keyring) -> Sequence[int]:
        """Return the drafts that bring back nothing that was erased; an import leaves the others out. Raises SubjectErased."""
        self._suppressed = set()
        if keyring.is_suppressing:
            people = self._people(fresh, known, keyring)  # whoever bears a name now is somebody else, or was readmitted
            for at in fresh:
                line = self._lines[at]
                if is_suppressed(keyring, line.draft.source, line.aliases.keys() - people):
                    self._suppressed.add(at)
        if self._suppressed and not self._is_import:
            raise _erased()
        return [at for at in fresh if at not in self._suppressed]

    def _people(self, lines: Sequence[int], known: Known, keyring: Keyring) -> dict[str, SubjectId]:
        """Return the ids of those who are named in some drafts, as far as they have one."""
        tags = {name: alias_tag(keyring, name) for name in {name for at in lines for name in self._lines[at].aliases}}
        found = known.subjects_of(list(tags.values()))
        return {name: found[tag] for name, tag in tags.items() if tag in found}

    def _tags(self, keyring: Keyring) -> list[tuple[bytes, int]]:
        """Return the tags by which drafts are recognised: of their key, and for an import of their content."""
        under, tags = self._tagged
        if under is not keyring:
            drafts = [line.draft for line in self._lines]
            tags = [(key_tag(keyring, draft.key, draft.scope), at) for at, draft in enumerate(drafts) if draft.key is not None]
            if self._is_import:
                tags += [
                    (content_tag(keyring, self._source(at), draft.scope, draft.role, draft.author, draft.text), at)
                    for at, draft in enumerate(drafts)
                ]
            self._tagged = (keyring, tags)
        return tags

    def _resolve(self, fresh: Sequence[int], known: Known, keyring: Keyring) -> tuple[dict[str, SubjectId], dict[str, Sealable]]:
        """Return the subject of each alias, and the entries that declare those that are new."""
        names: dict[str, str] = {}
        for at in fresh:
            names.update(self._lines[at].aliases)
        tags = {name: alias_tag(keyring, name) for name in names}
        found = known.subjects_of(list(tags.values()))
        _check_usable(list(found.values()), known, keyring)
        if any(name in self._known and tag not in found for name, tag in tags.items()):
            raise _erased()
        self._known.update(name for name, tag in tags.items() if tag in found)
        minted = {name: self._mint(name, alias) for name, alias in names.items() if tags[name] not in found}
        ids = {name: minted[name].subjects[0] if name in minted else found[tag] for name, tag in tags.items()}
        return ids, minted

    def _mint(self, name: str, alias: str) -> Sealable:
        if name not in self._minted:
            subject, aliases = SubjectId(self._random(16)), ((AliasKind.HANDLE, alias),)
            self._minted[name] = _subject_entry(subject, aliases, recorded_at=self._recorded_at, ingest=self._ingest, random=self._random)
        return self._minted[name]

    def _event(self, at: int, ids: dict[str, SubjectId]) -> Sealable:
        line = self._lines[at]
        concerned = tuple(sorted({ids[name] for name in line.aliases}))
        speaker = ids[line.speaker] if line.speaker is not None else None
        made = self._events.get((at, concerned, speaker))
        if made is None:
            said_at = self._recorded_at if line.draft.said_at is None else line.draft.said_at
            plaintext = encode_event(line.draft, source=self._source(at), said_at=said_at, speaker=speaker)
            made = Sealable(EntryKind.EVENT, self._event_ids[at], concerned, plaintext, self._recorded_at, self._ingest)
            self._events[at, concerned, speaker] = made
        return made

    def _source(self, at: int) -> Source:
        return self._lines[at].draft.source or Source("note", self._event_ids[at].hex())


def _subject_entry(
    subject: SubjectId, aliases: tuple[tuple[AliasKind, str], ...], *, recorded_at: int, ingest: bytes, random: Random
) -> Sealable:
    return Sealable(EntryKind.SUBJECT, EventId(random(16)), (subject,), encode_subject(aliases), recorded_at, ingest)


def _there(line: _Line, event: Event, people: set[SubjectId | None]) -> Added:
    """Recognise a draft, which names `people`, in the log. The same key with other content is a mistake of the caller."""
    draft = line.draft
    differs = _audience(draft) != event.audience or not people <= set(event.subjects)
    if event.redacted_at is not None:  # what was said first is not brought back, nor said to be another content
        return Added(event.event_id, event.seq, False, differs or draft.text != event.text)
    if draft.key is not None and draft.key == event.key and draft.scope == event.scope:
        said = (event.text, event.author, event.role, event.metadata, set(event.subjects))
        same = not differs and said == (draft.text, draft.author, draft.role, draft.metadata, people)
        if not same or draft.source not in (None, event.source) or draft.said_at not in (None, event.said_at):
            raise _other_content()
    return Added(event.event_id, event.seq, False, differs)


def _differs(line: _Line, earlier: _Line) -> bool:
    """Whether a draft would have been for others, or about more people, than the one it repeats."""
    return _audience(line.draft) != _audience(earlier.draft) or not line.aliases.keys() <= earlier.aliases.keys()


def _audience(draft: Draft) -> tuple[str, ...]:
    return tuple(sorted(set(draft.audience)))


def _check_same(draft: Draft, earlier: Draft) -> None:
    if draft.key is not None and draft.key == earlier.key and draft != earlier:
        raise _other_content()


def _other_content() -> Usage:
    return Usage("this key was used before, for another content", hint="use a new key for a new event")


def _check_usable(found: Sequence[SubjectId], known: Known, keyring: Keyring) -> None:
    """Refuse an id that has neither a secret of its own nor an entry of the live epoch. Raises SubjectErased."""
    doubtful = [subject for subject in found if not keyring.has_explicit(subject)]
    if doubtful and len(known.living(doubtful)) < len(set(doubtful)):
        raise _erased()


def _erased() -> SubjectErased:
    return SubjectErased("a person named here was erased", hint="refold subject readmit")
