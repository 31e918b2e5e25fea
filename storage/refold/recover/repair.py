"""Repair: what `refold recover --log` would do about a damaged log, and doing it.

    1  what an earlier run recorded and did not end is completed
    2  heal: every damaged file for which a copy has authenticated bytes is put right; the damaged one goes to quarantine
    3  only where the operator says so: go past entries of which nothing but the payload is lost, under a signed gap entry; or give up
       the end of the log that nobody has any more, under signed `restored` entries
    4  replay: fold what verifies, up to the boundary, onto the newest state that can be relied on, by the recipe that made it; what a
       model said is taken from the recordings

Each change is a transaction that holds all appends. Run again, it ends the same way, because each step begins by looking what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from refold import files, journal, quarantine
from refold.errors import Corrupt, Usage, VerificationIncomplete
from refold.files import link_new, make_folder
from refold.journal import Condition, Direction
from refold.log.head import has_begun
from refold.outside import Clock, Random
from refold.receipts import boundary, form
from refold.recover import gap, heal, shorter
from refold.recover import replay as replays
from refold.recover.heal import Good, Healing
from refold.recover.remember import remember_verdict
from refold.recover.replay import Replay
from refold.recover.salvage import Salvaged
from refold.recover.shorter import Ending
from refold.recover.verify import CALLS, LENIENT, NOTHING, calls_of, place_of, verify, verify_calls
from refold.store import Places, open_store, vault_of
from refold.verdict import Known, Policy, SeenHead, Verdict

HEAL = journal.Kind("heal", blocks_appends=True)
PASS = journal.Kind("pass-damage", blocks_appends=True)
BATCH_BYTES_MAX = 64 << 20  # of good bytes in one transaction: each is whole by itself
ROUNDS_MAX = 4  # a commit that is healed may list parts that nobody knew of
PREFIX_LETTERS_MIN = 6
RECEIPTS = "receipts"
DIGEST_LETTERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a repair may rely on beside the store: copies of it, heads that were seen, checkpoints, and what the operator demands."""

    copies: Sequence[Path] = ()
    known: Known = NOTHING
    policy: Policy = LENIENT
    mirrored: Sequence[SeenHead] = ()  # heads of mirrors: they say how long the log was, not which of two histories it is
    abandoned: Sequence[tuple[str, str]] = ()  # mirrors whose end is not the log's, and why: they remember nothing of it

    @property
    def told(self) -> Known:
        """Return what the log is held against: all that is known, and what mirrors remember."""
        return replace(self.known, seen=(*self.known.seen, *self.mirrored))

    @property
    def heads(self) -> tuple[tuple[int, bytes], ...]:
        """Return size and root of every head that was signed or seen."""
        return tuple((each.size, each.root) for each in (*self.known.seen, *self.known.checkpoints, *self.known.signed))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is wrong with a log, and what can be done about it."""

    verdict: Verdict
    healing: Healing
    passable: tuple[Salvaged, ...]  # damaged parts that could be gone past, of those that no copy heals
    calls: Verdict | None = None  # on the log of the recorded calls, where there is one; copies heal it like the other
    ending: Ending | None = None  # from where the log could go on, if nothing is wrong but its end, and no copy has that

    @property
    def lost(self) -> tuple[int, ...]:
        """Return the entries whose payloads nobody has any more."""
        return tuple(sorted(seq for each in self.passable for seq in each.lost))


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair did."""

    before: Verdict
    after: Verdict
    completed: tuple[str, ...]  # transactions of an earlier run
    healed: tuple[str, ...]  # paths within the store
    refused: tuple[tuple[str, str], ...]  # copies that could not be used
    passed: tuple[int, ...]  # entries that were gone past
    given_up: Ending | None  # the end of the log that was given up
    replay: Replay | None
    calls: Verdict | None  # on the log of the recorded calls, where there is one
    why_not: str | None  # why nothing was replayed
    receipt: str | None  # path within the store of what was signed of the damage, before anything was done about it


def plan(places: Places, sources: Sources) -> Plan:
    """Verify a log and look what copies have for it. Changes nothing. Raises VerificationIncomplete."""
    verdict, calls = _verify(places, sources), verify_calls(places, deep=True)
    recorded = _heal_calls(places, calls, sources.copies)
    if verdict.is_whole:
        return Plan(verdict, replace(recorded, refused=_named(sources, recorded.refused)), (), calls)
    healing = _heal(places, verdict, sources)
    good = {each.path for each in healing.goods}
    left = [each for path, each in _salvage(places, verdict).items() if f"log/{path}" not in good]
    end = None if healing.goods else shorter.ending(places, verdict, sources.told.seen)
    return Plan(
        verdict, Healing(healing.goods + recorded.goods, _named(sources, healing.refused + recorded.refused)), tuple(left), calls, end
    )


def repair(
    places: Places, sources: Sources, *, confirm: str, past_damage: bool = False, give_up: bool = False, now: Clock, random: Random
) -> Repaired:
    """Do what can be done about a damaged log. `confirm` is the beginning of the origin.

    With `past_damage` entries that are lost for good are gone past; with `give_up` the log goes on without an end that nobody has. Raises
    Usage, Locked, Blocked, VerificationIncomplete, WriteFailed.
    """
    if len(confirm) < PREFIX_LETTERS_MIN or not places.origin.startswith(confirm.lower()):
        raise Usage(f"this is not the beginning of the store's origin (at least {PREFIX_LETTERS_MIN} letters)", hint="refold recover --log")
    completed = tuple(_complete(places))
    before = verdict = _verify(places, sources)
    healed: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    passed: tuple[int, ...] = ()
    ended = receipt = None
    if not verdict.is_whole:
        with journal.mutating(places, wait_seconds=0, random=random):
            receipt = _sign(places, verdict, now=now)
        healed, refused, verdict = _put_right(places, verdict, sources, random=random)
    if past_damage and not verdict.is_whole:
        with journal.mutating(places, wait_seconds=0, random=random) as turn:
            passed = _pass(places, turn, verdict, now=now, random=random)
        verdict = _verify(places, sources)
    if give_up and not verdict.is_whole:
        with journal.mutating(places, wait_seconds=0, random=random) as turn:
            ended = _give_up(places, turn, verdict, sources, now=now, random=random)
        verdict = _verify(places, sources)
    remember_verdict(places, verdict, now=now)
    calls, recorded = _repair_calls(places, sources.copies, random=random)
    replayed, why_not = replays.go_on(places, verdict, sources.known.checkpoints, was_whole=before.is_whole, now=now, random=random)
    return Repaired(
        before, verdict, completed, (*healed, *recorded), _named(sources, refused), passed, ended, replayed, calls, why_not, receipt
    )


def _put_right(
    places: Places, verdict: Verdict, sources: Sources, *, random: Random
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...], Verdict]:
    """Put right what copies have; return the files, the copies that could not be used, and the verdict after it.

    Between the rounds nothing is held, because reading all of the log takes long. What the copies have is looked for under the lock: what a
    compaction did meanwhile must not be taken back.
    """
    healed: list[str] = []
    for _ in range(ROUNDS_MAX):
        with journal.mutating(places, wait_seconds=0, random=random) as turn:
            found = _heal(places, verdict, sources)
            healed += _put(places, turn, found.goods)
        if not found.goods:
            break
        verdict = _verify(places, sources)
    return tuple(healed), found.refused, verdict


def _put(places: Places, turn: journal.Turn, goods: Sequence[Good]) -> list[str]:
    """Put good bytes under their names, but where they are already; return the files."""
    left = [good for good in goods if not _is_there(places, good)]
    for some in _batches(left):
        turn.commit(HEAL, list(_steps(places, some)))
    return [good.path for good in left]


def _is_there(places: Places, good: Good) -> bool:
    try:
        return files.read(places.store / good.path) == good.raw
    except (FileNotFoundError, Corrupt, VerificationIncomplete):
        return False


def _verify(places: Places, sources: Sources) -> Verdict:
    return verify(places, deep=True, policy=sources.policy, known=sources.told)


def _sign(places: Places, verdict: Verdict, *, now: Clock) -> str:
    """Sign what is damaged, under a name that the same damage always has, so that it is signed once. Raises KeyMissing."""
    path = f"{RECEIPTS}/boundary-{verdict.digest.hex()[:DIGEST_LETTERS]}.json"
    signed = form.sign(boundary.KIND, boundary.said(verdict), origin=places.origin, signer=vault_of(places).signer(), made_at=now())
    make_folder(places.store / RECEIPTS)
    link_new(places.store / path, signed)
    return path


def _named(sources: Sources, refused: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the copies that cannot be used, each once."""
    return tuple({**dict(refused), **dict(sources.abandoned)}.items())


def _heal(places: Places, verdict: Verdict, sources: Sources) -> Healing:
    """Return good bytes: those that a damaged file itself still holds, and those that copies have."""
    suspects = [each.path for each in verdict.damage]
    place = place_of(places)
    itself = [
        Good(f"log/{path}", each.part.size, "", each.raw)
        for path, each in _salvage(places, verdict).items()
        if each.is_whole and heal.is_signed(each.raw, each.part)
    ]
    found = heal.find(place, sources.copies, suspects, sources.heads)
    known = {good.path for good in itself}
    return Healing((*itself, *(good for good in found.goods if good.path not in known)), found.refused)


def _heal_calls(places: Places, calls: Verdict | None, copies: Sequence[Path]) -> Healing:
    """Return the good bytes that copies have of the log of the recorded calls."""
    if calls is None or calls.is_whole:
        return Healing((), ())
    return heal.find(calls_of(places), [each for each in copies if has_begun(each / CALLS)], [each.path for each in calls.damage])


def _repair_calls(places: Places, copies: Sequence[Path], *, random: Random) -> tuple[Verdict | None, list[str]]:
    """Put right what copies have of the recorded calls; return the verdict on them, and what was healed."""
    calls = verify_calls(places, deep=True)
    healed: list[str] = []
    for _ in range(ROUNDS_MAX):
        goods = _heal_calls(places, calls, copies).goods
        if not goods:
            break
        with journal.mutating(places, wait_seconds=0, random=random) as turn:
            healed += _put(places, turn, goods)
        calls = verify_calls(places, deep=True)
    return calls, healed


def _salvage(places: Places, verdict: Verdict) -> dict[str, Salvaged]:
    damaged = sorted({each.path.removeprefix("log/") for each in verdict.damage if each.path.startswith("log/parts/")})
    return gap.passable(place_of(places), damaged) if damaged else {}


def _batches(goods: Sequence[Good]) -> Iterator[list[Good]]:
    some: list[Good] = []
    size = 0
    for good in goods:
        if some and size + good.size > BATCH_BYTES_MAX:
            yield some
            some, size = [], 0
        some.append(good)
        size += good.size
    if some:
        yield some


def _steps(places: Places, goods: Sequence[Good]) -> Iterator[journal.Step]:
    for folder in sorted({(places.store / good.path).parent for good in goods}):
        make_folder(folder)
    yield from quarantine.folder(places)
    for good in goods:
        yield from quarantine.replace(places, good.path, good.raw)


def _pass(places: Places, turn: journal.Turn, verdict: Verdict, *, now: Clock, random: Random) -> tuple[int, ...]:
    """Go past what is lost, if that is all that is wrong. Raises Usage."""
    found = _salvage(places, verdict)
    left = [each.path for each in verdict.damage if each.path.removeprefix("log/") not in found]
    if left or not any(each.lost for each in found.values()):
        message = "nothing can be gone past: not every later link, or every header of a lost entry, is vouched for"
        raise Usage(message, path=places.store / (left[0] if left else "log"), hint="refold help damage")
    passed = list(found.values())
    with open_store(places, random=random) as store:
        unfolded = replays.unfolded(places, min(seq for each in passed for seq in each.lost))
        steps = [*quarantine.folder(places), *gap.steps(places, passed, now=now, random=random), *unfolded]
        turn.commit(PASS, steps, store=store, intents=gap.INTENTS)
    return tuple(sorted(seq for each in passed for seq in each.lost))


def _give_up(places: Places, turn: journal.Turn, verdict: Verdict, sources: Sources, *, now: Clock, random: Random) -> Ending:
    """Go on without the end of the log, if that is all that is wrong. Raises Usage."""
    found = shorter.ending(places, verdict, sources.told.seen)
    if found is None:
        message = "the end of the log cannot be given up: more is wrong than that"
        raise Usage(message, path=places.store / verdict.damage[0].path, hint="refold help damage")
    shorter.give_up(places, turn, found, now=now, random=random)
    return found


def _complete(places: Places) -> Iterator[str]:
    """Complete what an earlier run recorded; yield its transactions."""
    intents = {**gap.INTENTS, **shorter.INTENTS}
    for entry in journal.entries(places):
        ours = entry.journal is not None and entry.journal.kind in (HEAL.name, PASS.name, shorter.GIVE_UP.name)
        if ours and entry.condition in (Condition.UNFINISHED, Condition.ENDED) and not journal.is_running(places):
            opening = shorter.opening(places, entry.journal.kind if entry.journal else None)
            journal.recover(places, entry.id, Direction.COMPLETE, open_store=opening, intents=intents)
            yield entry.id
