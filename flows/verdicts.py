"""What the flows record of a verdict on the log: numbers, kinds and names of files of it, none of which says anything about anybody."""

from __future__ import annotations

from collections.abc import Mapping

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from refold.errors import Blocked
from refold.verdict import Verdict


def damaged(verdict: Verdict) -> str:
    """Return what the failed run of a damaged log says: how it was judged, and what to run next."""
    return f"{Blocked.code} the log is damaged: {verdict.kind.value}; {verdict.next}"


def tell(verdict: Verdict, counts: Mapping[str, int]) -> None:
    """Record the verdict, and every damaged range."""
    ranges = [{"first": each.first, "end": each.end, "class": each.kind.value, "path": each.path} for each in verdict.damage]
    damaged = f"damaged ranges of the log: {len(ranges)}" if ranges else "no entry that was looked at is damaged"
    create_table_artifact(ranges, key="log-damage", description=damaged)
    rows = {
        "verdict": verdict.kind.value,
        "completeness": verdict.completeness.value,
        "directive": verdict.directive.value,
        "looked at": "every entry" if verdict.is_deep else "every file",
        "entries": verdict.size,
        "digest": verdict.digest.hex(),
        **counts,
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    todo = [] if verdict.is_whole else ["", f"Next: `{verdict.next}`"]
    text = "\n".join([f"{verdict.reason}", *todo, "", "| | |", "|---|---:|", *lines])
    create_markdown_artifact(text, key="log-verdict", description="how the log was found")
