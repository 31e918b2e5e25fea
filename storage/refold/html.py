"""Pages for people: one file that asks nothing of anybody else, readable without scripts, on paper or screen, by day and by night."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root{color-scheme:light dark;--ink:#1c1c1a;--paper:#fff;--quiet:#5d5d58;--line:#d5d5cf;--good:#1f6f43;--warn:#8a5a00;--bad:#a3271f}
@media (prefers-color-scheme:dark){:root{--ink:#ececea;--paper:#161615;--quiet:#a8a8a2;--line:#3a3a37;
 --good:#6cc795;--warn:#e0ad4b;--bad:#f08078}}
@page{size:A4;margin:18mm}
*{box-sizing:border-box}
body{font:11pt/1.5 Georgia,'Times New Roman',serif;color:var(--ink);background:var(--paper);
 max-width:44rem;margin:0 auto;padding:2.5rem 1.25rem}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}h2{font-size:1.05rem;margin:1.8rem 0 .4rem;border-bottom:1px solid var(--line)}
p{margin:.4rem 0}.quiet{color:var(--quiet)}.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--line);
 overflow-wrap:anywhere}
th{font-weight:normal;color:var(--quiet);width:15rem}thead th{width:auto}ul{margin:.3rem 0;padding-left:1.2rem}
code{font:.85em ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}section{break-inside:avoid}
@media print{:root{color-scheme:light;--ink:#000;--paper:#fff;--quiet:#444;--line:#bbb;
 --good:#000;--warn:#000;--bad:#000}body{padding:0;max-width:none}}
"""


def document(title: str, body: Iterable[str], *, style: str = "", scripts: bool = False) -> str:
    """Return a page. It may load nothing at all, and runs what stands in it only with `scripts`."""
    allowed = "default-src 'none';style-src 'unsafe-inline'" + (";script-src 'unsafe-inline'" if scripts else "")
    return "\n".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">',
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *body,
        "</body></html>\n",
    ])  # fmt: skip


def section(title: str, rows: Iterable[tuple[str, object]]) -> list[str]:
    """Return a section of names and values."""
    lines = [f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows]
    return [f"<section><h2>{escape(title)}</h2><table><tbody>", *lines, "</tbody></table></section>"]


def listing(title: str, lines: Iterable[str]) -> list[str]:
    """Return a section of sentences."""
    return [f"<section><h2>{escape(title)}</h2><ul>", *(f"<li>{escape(line)}</li>" for line in lines), "</ul></section>"]


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table with a head."""
    titles = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return [f"<table><thead><tr>{titles}</tr></thead><tbody>", *lines, "</tbody></table>"]
