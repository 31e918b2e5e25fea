# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Exploring a memory
#
# A small memory is made in a temporary folder, looked at from all sides, damaged, healed, and made to forget. Each cell says what it
# shows and asserts it once. It opens in Jupyter (with jupytext), and runs as a script: `python notebooks/explore.py [FOLDER]` leaves its
# pictures in FOLDER. It needs the extra `notebook` (networkx, matplotlib), and neither a network nor a language model.

# %%
from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
import textwrap
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import matplotlib

if "ipykernel" not in sys.modules:
    matplotlib.use("Agg")  # a script has no screen
import matplotlib.pyplot as plt
import networkx
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from refold import Choice, Memory
from refold import cli as commands
from refold.cli import demo
from refold.erase.model import Decision, Selector
from refold.model import Source

PLACE = Path(tempfile.mkdtemp(prefix="refold-explore-"))
PICTURES = Path(sys.argv[1]) if len(sys.argv) == 2 and "ipykernel" not in sys.modules else PLACE
PICTURES.mkdir(parents=True, exist_ok=True)
INK, QUIET, PALE = "#1c1c1a", "#6b6b66", "#d9d9d3"
plt.rcParams.update({"font.size": 10, "figure.dpi": 110, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "refold"})
plt.rcParams["text.parse_math"] = False  # what somebody said may cost $5 or $6, and is no formula


def keep(figure: plt.Figure, name: str) -> Path:
    """Keep a picture, and show it in a notebook."""
    path = PICTURES / f"{name}.png"
    figure.savefig(path, bbox_inches="tight", facecolor="white")
    if "ipykernel" not in sys.modules:
        plt.close(figure)
    return path


def refold(*words: str) -> str:
    """Run a command as a person would, on the memory of this notebook, and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        commands.main([*words, "--store", str(PLACE / "demo")])
    print(out.getvalue())
    return out.getvalue()


# %% [markdown]
# ## How it is
#
# The demo's chats, letters and notes, folded. `status` is the screen of every morning: numbers, no names.

# %%
demo.fill(PLACE / "demo")
memory = Memory.open(PLACE / "demo", principal="operator")
memory.fold()
assert "21 facts hold, 5 held before" in refold("status")

# %% [markdown]
# ## What a week changed
#
# Something is added after the fact, and `diff` says what memory learned, unlearned and holds otherwise since then.

# %%
before = memory.store.log.head.size - 1
memory.add("I've moved to Vienna.", user_id="ada", author="Ada", source="chat:ada#10", said_at="2025-01-13")
memory.add("I like chess.", user_id="ada", author="Ada", source="chat:ada#11", said_at="2025-01-14")
memory.fold()
refold("diff", "--since", str(before), "--as", "operator")
week = memory.diff(since=before)
assert ([one.value for one in week.learned], [one.after.value for one in week.changed]) == (["chess"], ["Vienna"])

# %% [markdown]
# ## One fact on two time axes
#
# Where does Ada live? It depends on two times: how much of the log is counted (upwards), and which time in the world is meant (to the
# right). What was said later may speak about earlier: "I've been living in Munich since 2023", said in 2024.

# %%
ends = [fact.seq for fact in memory.facts(entity="Ada", relation="lives_in", history=True)]
counted = sorted({0, *ends})
months = [f"{year}-{month:02d}" for year in (2022, 2023, 2024, 2025) for month in (1, 4, 7, 10)][:14]
towns = ["nowhere known", "Berlin", "Munich", "Vienna"]
homes = [
    [
        next(iter(fact.value for fact in memory.facts(entity="Ada", relation="lives_in", as_of=seq, valid_at=month)), towns[0])
        for month in months
    ]
    for seq in counted
]
figure, axes = plt.subplots(figsize=(8.5, 2.6))
shades = ListedColormap(["#f4f4f1", "#a9c6dd", "#4f86b5", "#123d63"])  # also in black and white: each is darker than the one before
axes.pcolormesh([[towns.index(home) for home in row] for row in homes], cmap=shades, norm=BoundaryNorm(range(5), 4), edgecolors="white")
axes.set_xticks([at + 0.5 for at in range(0, len(months), 2)], months[::2])
axes.set_yticks([at + 0.5 for at in range(len(counted))], [f"up to {seq}" for seq in counted])
axes.set_xlabel("the time that is asked about")
axes.set_ylabel("entries counted")
keys = [Patch(facecolor=shades(at), edgecolor=QUIET, label=town) for at, town in enumerate(towns)]
axes.legend(handles=keys, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
keep(figure, "time-axes")
assert (homes[-1][4], homes[1][-1], homes[0][-1]) == ("Munich", "Berlin", "nowhere known")

# %% [markdown]
# ## The graph around a person
#
# An export is a graph: entities and values, joined by facts. Whatever is exported stands in the register of copies. Facts that join the
# same two lie side by side; those that hold no more are dashed.

# %%
exported = memory.export(PLACE / "export", files=["graphml"], seen_by="operator", all=True)
graph = networkx.read_graphml(exported.folder / "facts.graphml", force_multigraph=True)
labels = networkx.get_node_attributes(graph, "label")
ada = max((node for node, label in labels.items() if label == "Ada"), key=graph.out_degree)
around = graph.subgraph({ada, *graph.successors(ada)})
place = networkx.shell_layout(around, [[ada], sorted(set(around) - {ada}, key=lambda node: labels[node])], rotate=0)
figure, axes = plt.subplots(figsize=(8.5, 6.5))
colour = [("#123d63" if node == ada else "#cfe0ee" if kind == "entity" else "#f1efe6") for node, kind in around.nodes(data="kind")]
networkx.draw_networkx_nodes(around, place, ax=axes, node_color=colour, node_size=900, edgecolors=INK, linewidths=0.8)
between: Counter[tuple[str, str]] = Counter()
for start, end, said in around.edges(data=True):
    bow = 0.22 * between[start, end]  # the next one between the same two is bent further
    between[start, end] += 1
    holds = said["standing"] == "holds"
    style = {"edge_color": INK if holds else QUIET, "style": "solid" if holds else "dashed", "width": 1.4 if holds else 1.0}
    networkx.draw_networkx_edges(
        around, place, [(start, end)], ax=axes, connectionstyle=f"arc3,rad={bow}", node_size=900, arrowsize=12, **style
    )
    name = said["relation"] + (f" ({said['qualifier']})" if said.get("qualifier") else "")
    (x, y), (along, up) = place[start], place[end]
    axes.text(x + 0.56 * (along - x) + bow * 0.5 * (up - y), y + 0.56 * (up - y) - bow * 0.5 * (along - x), name, ha="center", va="center",
              fontsize=8, color=INK if holds else QUIET, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
for node, (x, y) in place.items():
    shift, edge = (0, "center") if node == ada else (0.1, "bottom") if y >= 0 else (-0.1, "top")
    shown = textwrap.fill(labels[node], 16)
    axes.text(x, y + shift, shown, ha="center", va=edge, fontsize=9.5, color="white" if node == ada else INK)
axes.margins(0.16)
axes.set_axis_off()
keep(figure, "graph")
assert {labels[end] for _, end, said in around.edges(data=True) if said["relation"] == "lives_in"} == {"Berlin", "Munich", "Vienna"}

# %% [markdown]
# ## Why not
#
# A question that few memories answer: why does it *not* hold that Ada lives in Berlin?

# %%
absence = memory.why_not("Ada", "lives_in", "Berlin")
refold("why", "--not", "Ada", "lives_in", "Berlin", "--as", "operator")
assert absence.because == "superseded"

# %% [markdown]
# ## SQL
#
# The log and the state are tables, for whoever holds the keys. Who says how much of whom?

# %%
answer = memory.sql("select speaker, count(*) as facts, count(distinct entity) as entities from facts group by speaker order by facts desc")
print(answer.to_pandas() if "pandas" in sys.modules else answer)
assert sum(answer["facts"].to_pylist()) == len(memory.facts(all=True))

# %% [markdown]
# ## What if it had never been said
#
# What would memory be without a source? The log is folded without it, and nothing is published.

# %%
supposed = memory.fold_without(Selector(sources=(Source("doc", "offsite.md"),)))
refold("fold", "--without", "--source", "doc:offsite.md")
assert {fact.entity for fact in supposed.diff.gone} == {"Offsite"}

# %% [markdown]
# ## Flip a byte, and heal
#
# Everything in the log is hashed and signed. One flipped byte is found, located, and put back from a backup, which is known to be right
# because it hashes to what was signed.

# %%
memory.backup(PLACE / "backup")
origin = memory.places.origin
memory.close()
part = min((PLACE / "demo/store/log/parts").iterdir())
raw = bytearray(part.read_bytes())
raw[len(raw) // 2] ^= 1
part.write_bytes(raw)
heal = ("recover", "--log", "--from", str(PLACE / "backup"))
refold(*heal)
refold(*heal, "--confirm", origin[:8])
memory = Memory.open(PLACE / "demo", principal="operator")
assert memory.verify_log(deep=True).is_whole

# %% [markdown]
# ## Forget a person, and try the old backup
#
# The plan says what everyone would not know any more. Afterwards the events are gone from the log and the state, and the backup that was
# made before is still there, whole and unreadable for what was erased: the keys that opened it are destroyed.

# %%
plan = memory.plan_erasure(user_id="Ruth Brandt", mentions=Decision.CONCERNS)
print(f"{plan.events} events go, and {len(plan.diff.gone)} facts with them")
memory.erase(plan)
with Memory.open(PLACE / "backup", vault=PLACE / "demo/vault", root=PLACE / "demo/root") as old:
    tally: Counter[str] = Counter()
    readable = [event.text for batch in old.store.log.events(tally=tally) for event in batch]
print(f"of the backup {len(readable)} events can be read, and {dict(tally)}")
assert (len(readable), any("Ruth" in text for text in readable)) == (22 - plan.events, False)

# %% [markdown]
# ## A request, byte by byte
#
# Let a language model read another memory. This one runs in this process, and knows one sentence; any server that speaks the protocol of
# OpenAI's chat completions does. Every byte of a request comes from a declared segment: an event, a template or a setting.


# %%
class Model(BaseHTTPRequestHandler):
    """A language model that reads "I like X." and nothing else."""

    def do_POST(self) -> None:
        """Answer one request."""
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        said = {"relation": "likes", "act": "say", "modality": "asserted", "entity": None, "qualifier": None, "words": "like", "when": None}
        likes = re.findall(r"^(e\d+) .*?I like ([a-z ]+)\.", told, re.MULTILINE)
        answer = json.dumps({"facts": [said | {"event": one, "entity_in": one, "value": value} for one, value in likes], "aliases": []})
        usage = {"prompt_tokens": len(told) // 4, "completion_tokens": len(answer) // 4, "total_tokens": (len(told) + len(answer)) // 4}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "local", "choices": [choice], "usage": usage})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
by = Choice.of(model="openai/local", api_base=f"http://127.0.0.1:{server.server_port}/v1")
other = Memory.create(PLACE / "other/store", vault=PLACE / "other/vault", root=PLACE / "other/root")
tastes = ("tea", "rye bread", "early trains", "rain")
for person in (f"person{number:02d}" for number in range(12)):
    for turn, taste in enumerate(tastes):
        other.add(f"I like {taste}.", user_id=person, source=f"chat:{person}#{turn}", said_at="2024-06-01")
first = other.fold(by=by).spent
asked = other.calls()[0].recording
kinds = ["frame", "template", "config", "event"]
of_segment = ["frame", *(kind for kind, *_ in asked.segments)]
painted = [kinds.index(of_segment[index + 1]) for begin, end, index in asked.spans for _ in range(begin, end)]
ROW = 96
painted += [-1] * (-len(painted) % ROW)
figure, axes = plt.subplots(figsize=(8.5, 5.6))
inks = ListedColormap(["white", "#dcdcd6", "#b4cfe4", "#6f9fc8", "#8c2d19"])
axes.imshow([painted[at : at + ROW] for at in range(0, len(painted), ROW)], cmap=inks, norm=BoundaryNorm(range(-1, 5), 5), aspect="auto",
            interpolation="nearest")  # fmt: skip
counts = Counter(kind for kind in painted if kind >= 0)
keys = [Patch(facecolor=inks(at + 1), edgecolor=QUIET, label=f"{kind}, {counts[at]:,} bytes") for at, kind in enumerate(kinds)]
axes.legend(handles=keys, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=8, columnspacing=1)
axes.set_xlabel(f"the bytes of one request, {ROW} in a row")
axes.set_yticks([])
keep(figure, "request")
assert sum(counts.values()) == len(asked.request)

# %% [markdown]
# ## What an erasure costs
#
# One of twelve people is forgotten, and the whole log folded anew. A recording answers every request that is still the same; only what
# the forgotten person's words were part of would have to be asked again.

# %%
other.erase(other.plan_erasure(user_id="person03", mentions=Decision.CONCERNS), by=by)
again = other.fold(full=True, by=by).spent
assert first is not None
assert again is not None
figure, axes = plt.subplots(figsize=(8.5, 1.7))
rows = {"first fold": (first.calls, first.reused), "all anew, without one of twelve": (again.calls, again.reused)}
for at, (made, reused) in enumerate(reversed(rows.values())):
    axes.barh(at, made, color="#8c2d19", edgecolor=INK)
    axes.barh(at, reused, left=made, color="#cfe0ee", edgecolor=INK, hatch="//")
    axes.text(made + reused + 0.1, at, f"{made} made, {reused} from recordings", va="center", fontsize=9)
axes.set_yticks(range(len(rows)), list(reversed(rows)))
axes.set_xlim(0, max(map(sum, rows.values())) * 1.35)
axes.set_xlabel("calls of the model")
keep(figure, "calls-again")
assert (again.calls, again.reused) == (0, first.calls - 1)

# %%
server.shutdown()
server.server_close()
other.close()
memory.close()
shutil.rmtree(PLACE)
assert not PLACE.exists()
