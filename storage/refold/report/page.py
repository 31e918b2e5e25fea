"""The page of a report: one file, which any browser shows without scripts and without a network."""

from __future__ import annotations

from html import escape

from refold import disclaimers, html, times
from refold.erase.model import Stage
from refold.register import Standing
from refold.report.figures import Figures, Period

STYLE = """
body{max-width:60rem}.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:.8rem;margin:1.2rem 0}
.tiles div{border:1px solid var(--line);border-radius:.4rem;padding:.6rem .8rem}.tiles b{display:block;font-size:1.5rem;line-height:1.25}
.tiles span{color:var(--quiet);font-size:.85em}svg{display:block;width:100%;height:auto;margin:.6rem 0}
svg .bar{fill:var(--good)}svg .dark{fill:var(--warn)}svg .axis{stroke:var(--line)}.ends{display:flex;justify-content:space-between}
.wide{overflow-x:auto}.wide td{white-space:nowrap}
@media print{svg .bar{fill:#777}svg .dark{fill:#000}.tiles div{border-color:#777}}
"""
ENDED = frozenset({Stage.CERTIFIED, Stage.CERTIFIED_EXCEPT, Stage.REFUSED, Stage.HELD, Stage.RELEASED, Stage.DARK})
WIDTH, HEIGHT, BASE = 720, 122, 120  # of the picture of growth, in its own units


def page(figures: Figures, *, names: bool = False) -> str:
    """Return the page. It holds counts, ids and dates; with `names` also where the store and its copies lie."""
    status = figures.status
    body = [
        f'<p class="quiet">made on {times.short(figures.made_at)} UTC · log <code>{escape(status.origin)}</code></p>',
        *_verdict(figures),
        *_tiles(figures),
        *_growth(figures),
        *html.section("The log", _log(figures)),
        *html.section("The state", _state(figures)),
        *_folds(figures),
        *_calls(figures),
        *_requests(figures),
        *_copies(figures, names=names),
        *_unfinished(figures),
        *(html.section("Where it lies", _places(figures)) if names else ()),
        *html.listing("What is not claimed", (disclaimers.GROUNDED, disclaimers.UNWITNESSED, disclaimers.OPERATOR)),
    ]
    return html.document("Report on a memory", body, style=STYLE)


def _verdict(figures: Figures) -> list[str]:
    """Return the sentence that says whether somebody has to act."""
    status, now = figures.status, figures.made_at
    overdue = sum(one.due < now and one.stage not in ENDED for one in figures.requests)
    late = sum(_is_open(figures, at) and (one.due or now) < now for at, one in enumerate(figures.copies))
    wrong = [
        *(["the log was found damaged"] if figures.verdict is not None and not figures.verdict.is_intact else []),
        *(["the log has lost its end"] if status.lost else []),
        *(["damage took entries for good"] if status.incomplete_since is not None else []),
        *([f"there is no state ({status.absent})"] if status.absent and status.entries else []),
        *(["the state is damaged"] if status.finding else []),
        *([f"{len(figures.unfinished)} unfinished"] if figures.unfinished else []),
        *([f"requests for erasure overdue: {overdue}"] if overdue else []),
        *([f"copies overdue: {late}"] if late else []),
    ]
    if wrong:
        return [f'<p class="bad"><strong>{escape("; ".join(wrong))}</strong></p>']
    return ['<p class="good"><strong>nothing is known to be wrong, unfinished or overdue</strong></p>']


def _is_open(figures: Figures, at: int) -> bool:
    return figures.copies[at].standing(figures.status.epoch) is Standing.OPEN


def _tiles(figures: Figures) -> list[str]:
    status = figures.status
    holds = "many" if status.standings is None else f"{status.standings.get('holds', 0):,}"
    tiles = [
        (f"{status.entries:,}", "entries in the log"),
        (holds, "facts hold"),
        (f"{status.unfolded:,}", "entries to fold"),
        (f"{status.calls.calls:,}", "calls of models"),
        (f"{sum(one.stage not in ENDED for one in figures.requests):,}", "erasures under way"),
        (f"{sum(_is_open(figures, at) for at in range(len(figures.copies))):,}", "copies open"),
    ]
    return ['<div class="tiles">', *(f"<div><b>{number}</b><span>{what}</span></div>" for number, what in tiles), "</div>"]


def _growth(figures: Figures) -> list[str]:
    """Return a picture of what came when; what is dark by now is drawn at the foot of its bar."""
    if not figures.growth:
        return ["<section><h2>Growth</h2><p>The log is empty.</p></section>"]
    most = max(period.entries for period in figures.growth)
    step = WIDTH / len(figures.growth)
    bars = [line for at, period in enumerate(figures.growth) for line in _bar(period, at * step, min(step * 0.8, 40), most)]
    first, last, days = figures.growth[0], figures.growth[-1], figures.growth[0].days
    each = "a day" if days == 1 else f"{days:,} days"
    total, dark = (sum(getattr(period, name) for period in figures.growth) for name in ("entries", "dark"))
    ends = dict.fromkeys((times.day(first.start), times.day(last.start)))
    told = f"{total:,} entries, at most {most:,} in {each}; {dark:,} of them are dark by now"
    return [
        "<section><h2>Growth</h2>",
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}">',
        *bars,
        f'<line class="axis" x1="0" y1="{BASE}" x2="{WIDTH}" y2="{BASE}"/>',
        "</svg>",
        f'<p class="quiet ends">{"".join(f"<span>{each}</span>" for each in ends)}</p>',
        f'<p class="quiet">{told}. Each bar is {each}, by when it was recorded.</p></section>',
    ]


def _bar(period: Period, x: float, width: float, most: int) -> list[str]:
    high, low = (number / most * (BASE - 10) for number in (period.entries, period.dark))
    shown = f"<title>{times.day(period.start)}: {period.entries:,} entries, {period.dark:,} dark</title>"
    bar = f'<rect class="bar" x="{x:.1f}" y="{BASE - high:.1f}" width="{width:.1f}" height="{high:.1f}">{shown}</rect>'
    dark = f'<rect class="dark" x="{x:.1f}" y="{BASE - low:.1f}" width="{width:.1f}" height="{low:.1f}"/>'
    return [*([bar] if period.entries else []), *([dark] if period.dark else [])]


def _log(figures: Figures) -> list[tuple[str, object]]:
    status, verdict = figures.status, figures.verdict
    if verdict is None:
        judged = "never"
    else:
        depth = "every entry" if verdict.is_deep else "every file"
        at = "" if verdict.at is None else f" on {times.short(verdict.at)}"
        judged = f"{verdict.kind}: {depth} of {verdict.size:,} entries{at}"
    heads = f"{len(figures.heads):,}, the newest of {figures.heads[-1]:,} entries" if figures.heads else "none"
    return [
        ("entries", f"{status.entries:,} in {status.commits:,} commits and {status.parts:,} parts"),
        ("bytes", f"{status.log_bytes:,}"),
        ("newest", "none" if status.recorded_until is None else times.short(status.recorded_until)),
        ("last verified", judged),
        ("signed heads", heads),
        ("epoch of the keys", f"{status.epoch}" + (", fenced: an erasure is under way" if status.fenced else "")),
    ]


def _state(figures: Figures) -> list[tuple[str, object]]:
    status = figures.status
    stands = {"too many to count here": ""} if status.standings is None else status.standings
    return [
        ("generation", status.absent or f"{status.generation:,}, of {status.folded:,} entries"),
        ("events", f"{status.events:,} from {status.sources:,} sources, of {status.subjects:,} subjects"),
        ("facts", ", ".join(f"{count:,} {standing}" if count != "" else standing for standing, count in stands.items()) or "none"),
        ("assertions", f"{status.assertions:,}, and {status.edges:,} aliases"),
        ("rejected", ", ".join(f"{count:,} {code}" for code, count in status.rejections.items()) or "none"),
        ("pending", f"{status.pending:,} events" if status.pending else "none"),
    ]


def _folds(figures: Figures) -> list[str]:
    if not figures.attested:
        return [
            "<section><h2>Generations attested</h2><p>None yet: a checkpoint attests the state beside the head that it signs.</p></section>"
        ]
    rows = [[f"{one.generation:,}", f"{one.size:,}", f"{one.epoch}", _epoch(one.epoch, figures)] for one in reversed(figures.attested)]
    grid = html.grid(("generation", "entries folded", "epoch", "its keys"), rows)
    return ['<section><h2>Generations attested</h2><div class="wide">', *grid, "</div></section>"]


def _epoch(epoch: int, figures: Figures) -> str:
    return "live" if epoch == figures.status.epoch else "destroyed"


def _calls(figures: Figures) -> list[str]:
    totals = figures.status.calls
    if not totals.calls:
        return ["<section><h2>Calls of models</h2><p>No model was asked.</p></section>"]
    cost = ", ".join(f"{nanos / 1e9:,.6f} {currency}" for currency, nanos in sorted(totals.cost.items())) or "no price is set"
    rows = [
        [
            run.run[:8],
            times.short(run.at),
            f"{run.cost.calls:,}",
            f"{run.cost.prompt_tokens:,}",
            f"{run.cost.completion_tokens:,}",
            f"{run.cost.cost / 1e9:,.6f}",
        ]
        for run in figures.runs
    ]
    return [
        *html.section(
            "Calls of models",
            [
                ("calls ever", f"{totals.calls:,}, of which {totals.failed:,} without an answer"),
                ("tokens", f"{totals.prompt_tokens:,} read, {totals.completion_tokens:,} written"),
                ("answers without a count of tokens", f"{totals.uncounted:,}"),
                ("cost", cost),
            ],
        ),
        '<section><h2>Folds that asked, the newest first</h2><div class="wide">',
        *html.grid(("run", "began", "calls", "read", "written", "cost"), rows),
        "</div></section>",
    ]


def _requests(figures: Figures) -> list[str]:
    if not figures.requests:
        return ["<section><h2>Requests for erasure</h2><p>None.</p></section>"]
    rows = [
        [
            one.request_id.hex()[:8],
            one.stage.value,
            times.day(one.received),
            times.day(one.due) + (" (overdue)" if one.due < figures.made_at and one.stage not in ENDED else ""),
            times.day(one.history[-1][1]) if one.history else "",
        ]
        for one in figures.requests
    ]
    grid = html.grid(("request", "stage", "received", "due", "since"), rows)
    return ['<section><h2>Requests for erasure</h2><div class="wide">', *grid, "</div></section>"]


def _copies(figures: Figures, *, names: bool) -> list[str]:
    if not figures.copies:
        return ["<section><h2>Copies elsewhere</h2><p>None is in the register.</p></section>"]
    rows = [
        [
            one.copy_id[:8],
            str(one.kind),
            str(one.standing(figures.status.epoch)),
            str(one.owner),
            times.day(one.added_at),
            "" if one.due is None else times.day(one.due) + (" (overdue)" if _is_open(figures, at) and one.due < figures.made_at else ""),
            *((one.place,) if names else ()),
        ]
        for at, one in enumerate(figures.copies)
    ]
    grid = html.grid(("copy", "kind", "state", "owed by", "since", "due", *(("place",) if names else ())), rows)
    return ['<section><h2>Copies elsewhere</h2><div class="wide">', *grid, "</div></section>"]


def _unfinished(figures: Figures) -> list[str]:
    if not figures.unfinished:
        return ["<section><h2>Unfinished changes</h2><p>None.</p></section>"]
    return html.listing("Unfinished changes", (f"{one.id[:8]}: {one.condition.value}; refold recover" for one in figures.unfinished))


def _places(figures: Figures) -> list[tuple[str, object]]:
    places = figures.status.places
    return [("store", places.store), ("vault", places.vault), ("root", places.root)]
