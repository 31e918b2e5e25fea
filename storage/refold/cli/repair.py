"""recover --log: what is wrong with the log, what can be done about it, and doing it once it is confirmed."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import disclaimers
from refold.cli.command import FORMAT_VERSION
from refold.cli.envelope import Finding, Outcome
from refold.cli.visible import plural, table, visible
from refold.errors import Blocked, RefoldError, Usage
from refold.outside import clock

if TYPE_CHECKING:
    from refold.recover.repair import Plan, Repaired, Sources
    from refold.recover.replay import Replay
    from refold.recover.shorter import Ending
    from refold.store import Places
    from refold.verdict import Verdict

SHOWN_MAX = 20  # damaged ranges in a text; all of them stand in the data


def configure(command: ArgumentParser) -> None:
    """Add the options that belong to --log."""
    group = command.add_argument_group("a damaged log")
    group.add_argument("--log", action="store_true", help="verify the log, and show what can be done about it")
    group.add_argument(
        "--from", dest="copies", action="append", type=Path, metavar="DIR", help="a mirror or backup to heal from; repeatable"
    )
    group.add_argument("--past-damage", action="store_true", help="go past entries that are lost for good, under a signed gap entry")
    group.add_argument("--give-up-end", action="store_true", help="go on without the end of the log that nobody has, under signed entries")
    group.add_argument("--confirm", metavar="ORIGIN-PREFIX", help="do it; the first letters of the origin confirm it")


def check(given: Namespace) -> None:
    """Refuse options of --log without it, or with those of a transaction. Raises Usage."""
    of_log = bool(given.copies or given.past_damage or given.give_up_end or given.confirm)
    of_transaction = bool(given.transaction_id or given.complete or given.rollback)
    if (of_log and not given.log) or (given.log and of_transaction):
        raise Usage("either --log with its options, or --transaction-id with a direction", hint="refold recover --help")


def run(given: Namespace, places: Places) -> Outcome:
    """Show the verdict and the plan, or carry it out."""
    from refold.recover.repair import plan, repair

    sources = _sources(places, given.copies or ())
    if given.confirm is None:
        return _planned(places, plan(places, sources), past_damage=given.past_damage, give_up=given.give_up_end)
    choice = {"past_damage": given.past_damage, "give_up": given.give_up_end}
    done = repair(places, sources, confirm=given.confirm, **choice, now=clock, random=os.urandom)
    return _repaired(done)


def _sources(places: Places, copies: Sequence[Path]) -> Sources:
    from refold import settings
    from refold.recover.sources import known

    for copy in copies:
        if not copy.is_dir():
            raise Usage("there is no folder here to heal from", path=copy, hint="refold help copies")
    return known(places, settings.load(), [copy.absolute() for copy in copies])


def _planned(places: Places, found: Plan, *, past_damage: bool, give_up: bool) -> Outcome:
    from refold.cli.audit import verdict_data
    from refold.verdict import Directive

    refusal = _held(places)
    held = refusal if found.verdict.is_whole else None
    data = {
        "done": False,
        "verdict": verdict_data(found.verdict),
        "healed": [{"path": good.path, "source": good.source or None} for good in found.healing.goods],
        "refused": [{"path": path, "message": message} for path, message in found.healing.refused],
        "passed": list(found.lost),
        "given_up": found.ending and _ending(found.ending),
        "calls": found.calls and verdict_data(found.calls),
        "held": held,
    }
    lines = [*_verdict_lines(found.verdict), *_refused(found.healing.refused)]
    if found.healing.goods:
        lines.append(
            f"would heal {plural(len(found.healing.goods), 'file')} byte for byte; what is damaged goes to quarantine in the vault"
        )
    if found.lost and past_damage:
        lines.append(f"would go past {plural(len(found.lost), 'entry', 'entries')} that nobody has any more, under a signed gap entry")
    elif found.lost:
        lines.append(f"could go past {plural(len(found.lost), 'entry', 'entries')} that nobody has any more: --past-damage")
    if found.ending:
        lines += ["would go on without it:" if give_up else "could go on without it: --give-up-end", *_ending_lines(found.ending)]
    if held:
        lines.append(f"would keep this verdict, so that additions go on: {held}")
    replays = not found.verdict.is_whole and found.verdict.directive is Directive.PROCEED
    if found.healing.goods or (found.lost and past_damage) or (found.ending and give_up) or replays or held:
        lines += ["", f"to do it: the same with --confirm {places.origin[:8]}"]
    elif not found.verdict.is_whole and not found.lost and not found.ending:
        lines.append("nothing of it can be put right here: a good copy heals it (--from DIR), or makes a store elsewhere:")
        lines.append("  refold restore DIR --store NEW")
    if not found.verdict.is_whole:
        lines += _additions_lines(refusal)
    lines += _calls_lines(found.calls)
    return _ended(Outcome(data, lines, disclaimers=(disclaimers.UNWITNESSED,), format_version=FORMAT_VERSION), found.verdict, found.calls)


def _additions_lines(refusal: str | None) -> list[str]:
    """Return what becomes of additions to a log that is damaged, as long as nothing is done."""
    if refusal is not None:
        return ["", f"nothing was changed, and additions are refused: {refusal}"]
    said = "nothing was changed, and additions go on: nothing tells them of this damage before a checkpoint finds it, too:"
    return ["", said, "  refold checkpoint"]


def _held(places: Places) -> str | None:
    """Return why nothing is added to the log, where the verdict that was kept of it refuses that, or what opening it shows."""
    from refold.log import stored
    from refold.store import open_store

    try:
        stored.require_intact(places.vault, places.store)
        with open_store(places) as store:
            store.log.require_unchanged()
    except RefoldError as error:
        return error.message
    return None


def _repaired(done: Repaired) -> Outcome:
    from refold.cli.audit import verdict_data

    replay = done.replay
    data = {
        "done": bool(done.completed or done.healed or done.passed or done.given_up or done.replay),
        "before": verdict_data(done.before),
        "verdict": verdict_data(done.after),
        "completed": list(done.completed),
        "healed": [{"path": path} for path in done.healed],
        "refused": [{"path": path, "message": message} for path, message in done.refused],
        "passed": list(done.passed),
        "given_up": done.given_up and _ending(done.given_up),
        "calls": done.calls and verdict_data(done.calls),
        "replay": replay and _replay(replay),
        "not_replayed": done.why_not,
        "receipt": done.receipt,
    }
    lines = [f"completed transaction {each}" for each in done.completed] + _refused(done.refused)
    lines += [f"healed {plural(len(done.healed), 'file')} byte for byte"] if done.healed else []
    lines += [f"went past {plural(len(done.passed), 'entry', 'entries')}, under a signed gap entry"] if done.passed else []
    lines += ["the log goes on without its end:", *_ending_lines(done.given_up)] if done.given_up else []
    if replay:
        what = plural(replay.ended - replay.began, "entry", "entries") if replay.ended > replay.began else "nothing, for all was folded"
        lines.append(f"replayed {what}: {replay.proof.value}")
    elif done.why_not:
        lines.append(f"nothing was replayed: {done.why_not}")
    lines += [visible(f"signed what was damaged: {done.receipt}")] if done.receipt else []
    lines += _verdict_lines(done.after)
    lines += _calls_lines(done.calls)
    return _ended(Outcome(data, lines, disclaimers=(disclaimers.UNWITNESSED,), format_version=FORMAT_VERSION), done.after, done.calls)


def _ending(ending: Ending) -> dict[str, object]:
    first, end = ending.lost or (None, None)
    heads = [{"size": each.size, "root": each.root.hex()} for each in ending.given_up]
    goes_on = {"commit": ending.version, "size": ending.size}
    return goes_on | {"first": first, "end": end, "heads": heads, "quarantined": list(ending.unreadable)}


def _ending_lines(ending: Ending) -> list[str]:
    first, end = ending.lost or (ending.size, None)
    lost = f"entries {first} to {end - 1}, which were signed or seen," if end else f"entries from {first} on, if there were any,"
    lines = [f"  from commit {ending.version} on; {lost} are lost for good, and signed entries say so"]
    return lines + [visible(f"  to quarantine: {path}") for path in ending.unreadable]


def _replay(replay: Replay) -> dict[str, object]:
    return {
        "first": replay.began,
        "end": replay.ended,
        "generation": replay.generation,
        "proof": replay.proof.name.lower(),
        "result": replay.result.name.lower(),
    }


def _calls_lines(calls: Verdict | None) -> list[str]:
    return ["the recorded calls:", *_verdict_lines(calls)] if calls and not calls.is_whole else []


def _ended(said: Outcome, verdict: Verdict, calls: Verdict | None) -> Outcome:
    if verdict.is_whole and (calls is None or calls.is_whole):
        return said
    message = "the recorded calls are damaged" if verdict.is_whole else f"the log is damaged: {verdict.reason}"
    damaged = Finding(Blocked.code, "error", message, remediation="refold help damage")
    return replace(said, findings=[damaged], exit_code=Blocked.exit_code, exit_class=Blocked.exit_class)


def _refused(refused: Sequence[tuple[str, str]]) -> list[str]:
    return [visible(f"could not use {path}: {message}") for path, message in refused]


def _verdict_lines(verdict: Verdict) -> list[str]:
    rows = [(f"[{each.first}, {each.end})", each.kind.value, each.path) for each in verdict.damage[:SHOWN_MAX]]
    more = len(verdict.damage) - len(rows)
    lines = [f"{verdict.kind}, {verdict.completeness}: {verdict.directive}, {verdict.reason}"]
    lines += table(rows, head=("entries", "damage", "file"), indent="  ") if rows else []
    lines += [visible(f"not asked: {each.name}: {each.found}") for each in verdict.unasked]
    return lines + ([f"  and {more} more"] if more else [])
