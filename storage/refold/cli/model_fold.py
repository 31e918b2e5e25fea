"""What a fold says where a language model reads: its flags, its plan, and what became of it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from refold import disclaimers
from refold.calls.mode import Mode
from refold.cli import arguments
from refold.cli.envelope import Finding, Outcome
from refold.cli.visible import plural, visible
from refold.errors import ModelFailed
from refold.units import NANOS

if TYPE_CHECKING:
    from refold.calls.costs import Cost
    from refold.calls.pace import Spent
    from refold.extractors import Choice
    from refold.folding import FoldPlan, FoldReport

BUDGET = "budget"
SOURCES_SHOWN_MAX = 5


def configure(command: ArgumentParser) -> None:
    """Declare the flags of a fold that asks a model."""
    configure_model(command)
    command.add_argument("--calls", type=arguments.one_of(*Mode), metavar="|".join(Mode), help="where answers come from; live by default")
    command.add_argument("--fresh", action="store_true", help="fold everything anew, and ask all of it again")


def configure_model(command: ArgumentParser) -> None:
    """Declare the flags that name what reads events."""
    command.add_argument("--recipe", metavar="FILE", help="how a model reads events: a recipe's file or name (`refold help recipes`)")
    command.add_argument("--model", metavar="NAME", help="the model, such as openai/NAME")
    command.add_argument("--api-base", metavar="URL", help="where it is asked")


def choice(given: Namespace) -> Choice:
    """Return what the command line says about what reads events. Raises Usage."""
    from refold.errors import Usage
    from refold.extractors import Choice

    if given.fresh and given.calls not in (None, Mode.REFRESH):
        raise Usage("--fresh asks everything again, and --calls says otherwise", hint="refold fold --help")
    calls = Mode.REFRESH if given.fresh and (given.recipe or given.model) else given.calls
    chosen = Choice.of(given.recipe, model=given.model, api_base=given.api_base, calls=calls)
    return replace(chosen, mode=Mode.REFRESH) if given.fresh else chosen


def plan_data(plan: FoldPlan) -> dict[str, object]:
    """Return what asking would cost, where a model is asked."""
    estimate = plan.estimate
    if estimate is None:
        return {}
    names = ("calls", "calls_max", "reused", "prompt_tokens", "completion_tokens", "cost", "currency")
    profiles = {} if plan.profiles is None else {"profiles": {"pending": plan.profiles, "others": None if plan.entries else 0}}
    return {"estimate": {name: getattr(estimate, name) for name in names}, **profiles}


def plan_lines(plan: FoldPlan) -> list[str]:
    """Return the same for people, with the rule by which tokens are reckoned."""
    estimate = plan.estimate
    if estimate is None:
        return []
    price = "no price table in the recipe" if estimate.cost is None else f"about {estimate.cost:,.4f} {estimate.currency}"
    more = f", at most {estimate.calls_max:,} where answers come in another form than was asked for" if estimate.calls else ""
    return [
        f"would ask  {plural(estimate.calls, 'call')}{more}; {plural(estimate.reused, 'request')} answered by recordings",
        f"tokens     about {estimate.prompt_tokens:,} in (one for 4 bytes), {estimate.completion_tokens:,} out (the recipe's guess)",
        f"price      {price}",
        *([] if plan.profiles is None else [_profiles_line(plan)]),
    ]


def _profiles_line(plan: FoldPlan) -> str:
    """Return which calls for profiles can be known before: what they would be made of is known when the events are read."""
    others = "; of whom else, and at what price, is known when the events are read" if plan.entries or plan.full else ""
    return f"profiles   {plan.profiles:,} of those pending{others}"


def told(report: FoldReport, outcome: Outcome) -> Outcome:
    """Return the outcome of a fold with what its extractor adds to it."""
    spent = report.spent
    if spent is None:
        plain = replace(outcome, disclaimers=(disclaimers.SYMBOLIC,))
        return plain if report.vectors is None else _pending(report, plain, "found by words alone until a model tells what they are about")
    data = {**outcome.data, "extractor": report.extractor, "spent": spent_data(spent), "currency": report.currency}
    data["sources"] = [{"source": source, **asdict(cost)} for source, cost in _dearest(report)]
    profiles = report.profiles
    if profiles is not None:
        data["profiles"] = {name: getattr(profiles, name) for name in ("entities", "sentences", "dropped", "pending")}
    asked = f"asked      {plural(spent.calls, 'call')} of {report.extractor}, {spent.reused:,} answered by recordings"
    lines = [*outcome.lines, visible(asked), f"took       {plural(spent.tokens, 'token')}, {price(report.currency, spent)}"]
    for source, cost in _dearest(report)[:SOURCES_SHOWN_MAX]:
        asked = f"{plural(cost.calls, 'call')}, {plural(cost.prompt_tokens + cost.completion_tokens, 'token')}"
        lines.append(visible(f"           {asked} about {source}"))
    if spent.differing:
        lines.append(f"differing  {plural(spent.differing, 'answer')}: the model says otherwise now; what is recorded was kept")
    if profiles is not None:
        dropped = ", ".join(f"{count:,} {why}" for why, count in profiles.dropped.items()) or "none"
        of = plural(profiles.entities, "entity", "entities")
        lines.append(f"profiles   {plural(profiles.sentences, 'sentence')} about {of}; dropped: {dropped}")
    until = "nothing is known of these until a model answers, or patterns read them again"
    return _pending(report, replace(outcome, data=data, lines=lines), until)


def _pending(report: FoldReport, outcome: Outcome, until: str) -> Outcome:
    """Return the outcome with what a model did not answer about, which the next fold asks again."""
    profiles = report.profiles
    data = {**outcome.data, "pending": report.pending, "faults": dict(report.faults)}
    lines = [*outcome.lines]
    waiting = [plural(report.pending, "event")] if report.pending else []
    waiting += [plural(profiles.pending, "profile")] if profiles is not None and profiles.pending else []
    if not waiting:
        return replace(outcome, data=data, lines=lines)
    why = ", ".join(f"{count:,} {fault}" for fault, count in sorted(report.faults.items()))
    lines.append(f"pending    {', '.join(waiting)}: {until}")
    message = f"{' and '.join(waiting)} pending, requests that failed: {why}; the next fold asks again"
    if report.faults.keys() == {BUDGET}:
        message = f"the budget of this fold is spent, {plural(report.pending, 'event')} pending: the next fold goes on, with as much again"
        return replace(outcome, data=data, lines=lines, findings=(Finding("RF-BUDGET-001", "warning", message, remediation="refold fold"),))
    finding = Finding(ModelFailed.code, "error", message, remediation="refold calls list")
    failed = {"exit_code": ModelFailed.exit_code, "exit_class": ModelFailed.exit_class}
    return replace(outcome, data=data, lines=lines, findings=(finding,), **failed)


def price(currency: str, spent: Spent) -> str:
    """Return what calls cost, or that nobody can say it."""
    if not currency:
        return "no price table in the recipe"
    uncounted = f", without {plural(spent.uncounted, 'answer')} of which no tokens were counted" if spent.uncounted else ""
    return f"{spent.cost / NANOS:,.4f} {currency} by the price table{uncounted}"


def _dearest(report: FoldReport) -> list[tuple[str, Cost]]:
    """Return the sources that calls were made about, what took most first."""
    asked = [(source, cost) for source, cost in report.sources.items() if cost.calls]
    return sorted(asked, key=lambda pair: (-pair[1].cost, -pair[1].prompt_tokens - pair[1].completion_tokens, pair[0]))


def spent_data(spent: Spent) -> dict[str, int]:
    """Return what was spent under the keys of the envelope."""
    names = ("calls", "reused", "failed", "differing", "prompt_tokens", "completion_tokens", "uncounted", "cost")
    return {name: getattr(spent, name) for name in names}
