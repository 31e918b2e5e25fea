"""What a fold and a search say where a model makes vectors, or reranks: what it would take, what it took, and to whom words were sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refold.cli.envelope import Finding
from refold.cli.model_fold import price, spent_data
from refold.cli.visible import plural, visible
from refold.errors import ModelFailed

if TYPE_CHECKING:
    from refold.folding import FoldPlan, FoldReport

ESTIMATED = ("calls", "reused", "prompt_tokens", "cost", "currency")


def plan_data(plan: FoldPlan) -> dict[str, object]:
    """Return what vectors would take, where a model makes them."""
    estimate = plan.vectors
    return {} if estimate is None else {"vectors": {name: getattr(estimate, name) for name in ESTIMATED}}


def plan_lines(plan: FoldPlan) -> list[str]:
    """Return the same for people."""
    estimate = plan.vectors
    if estimate is None:
        return []
    cost = "no price table in the recipe" if estimate.cost is None else f"about {estimate.cost:,.4f} {estimate.currency}"
    asked = f"{plural(estimate.calls, 'call')}, {plural(estimate.reused, 'request')} answered by recordings"
    return [f"vectors    {asked}; about {plural(estimate.prompt_tokens, 'token')}, {cost}"]


def told_data(report: FoldReport) -> dict[str, object]:
    """Return what vectors took."""
    made = report.vectors
    if made is None:
        return {}
    return {"vectors": {"model": made.by, "host": made.host, "spent": spent_data(made.spent), "currency": made.currency}}


def told_lines(report: FoldReport) -> list[str]:
    """Return the same for people."""
    made = report.vectors
    if made is None:
        return []
    asked = f"{plural(made.spent.calls, 'call')} of {made.by} at {made.host}, {made.spent.reused:,} answered by recordings"
    return [visible(f"vectors    {asked}"), f"           {plural(made.spent.tokens, 'token')}, {price(made.currency, made.spent)}"]


def unmeant(fault: str) -> list[Finding]:
    """Return the warning that an answer goes by words alone; none where the query's vector was had, or none is wanted."""
    if not fault:
        return []
    message = f"the model gave no vector of the query ({fault}): what was found shares words with it, or their stems"
    return [Finding(ModelFailed.code, "warning", message, remediation="refold help vectors")]


def unranked(fault: str) -> list[Finding]:
    """Return the warning that no model reranked what was found; none where one did, or none is wanted."""
    if not fault:
        return []
    message = f"no model reranked what was found ({fault}): it stands in the order that search gives it"
    return [Finding(ModelFailed.code, "warning", message, remediation="refold help rerank")]
