"""What commands there are, by group: names and one line each, so that `--help` needs no command's code."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command: its name, the module of refold.cli that runs it, and its line in `refold --help`."""

    name: str
    module: str
    summary: str


class Group(NamedTuple):
    """Commands that belong together."""

    title: str
    entries: tuple[Entry, ...]


GROUPS = (
    Group(
        "remember",
        (
            Entry("init", "remember", "make a new, empty store"),
            Entry("add", "remember", "add one event: something that was said"),
            Entry("import", "imports", "add the events of chats and documents"),
            Entry("fold", "remember", "read new events into facts and the search index"),
            Entry("status", "remember", "say how the store is, on one screen"),
        ),
    ),
    Group(
        "ask",
        (
            Entry("search", "ask", "find events by their words"),
            Entry("context", "ask", "collect cited lines for a prompt, within a token budget"),
            Entry("facts", "ask", "list what holds"),
            Entry("why", "ask", "say what a fact rests on, and what it beat; or why something is not held"),
            Entry("diff", "ask", "say what was learned and unlearned since, and what holds otherwise"),
            Entry("sql", "ask", "query the log and the state, read-only, as the operator"),
            Entry("calls list", "calls", "list what language models were asked, newest first"),
            Entry("calls show", "calls", "show one call: every byte with the segment it comes from"),
        ),
    ),
    Group(
        "people",
        (
            Entry("subject add", "people", "name a person, with the aliases they go by"),
            Entry("subject list", "people", "list the people that events concern"),
            Entry("subject find", "people", "find people by how they are called, also a little otherwise"),
            Entry("subject show", "people", "show one person's aliases and ids"),
            Entry("subject alias", "people", "give a person further aliases, or join two who are one"),
            Entry("subject readmit", "people", "let somebody who was erased be known again, as somebody new"),
            Entry("subject report", "people", "tell a person all that is known of them, and who was told"),
            Entry("erase request", "erase", "write down a request for erasure"),
            Entry("erase find", "erase", "search the log for everything that a request means"),
            Entry("erase review", "erase", "show each undeclared mention in its sentence, and decide about it"),
            Entry("erase plan", "erase", "show what an erasure changes in everyone's memory; change nothing"),
            Entry("erase approve", "erase", "approve what was planned"),
            Entry("erase run", "erase", "erase what was approved; with --confirm, there is no way back"),
            Entry("erase status", "erase", "list requests and holds, the first due first"),
            Entry("erase certificate", "certificate", "show what was certified of an erasure; write it as a page, or as a paper"),
            Entry("erase refuse", "erase", "refuse a request, for a reason"),
            Entry("erase hold", "erase", "forbid that something is erased, as a court may ask"),
            Entry("erase release", "erase", "let a hold stand no more"),
            Entry("erase due", "erase", "ask for the erasure of what is kept longer than the settings allow"),
        ),
    ),
    Group(
        "trust",
        (
            Entry("audit", "audit", "look for what is interrupted, damaged or lost; write nothing"),
            Entry("recover", "trust", "list interrupted changes, complete one or roll it back; heal a damaged log"),
            Entry("mirror", "copies", "bring what is new of the store to a copy at another place"),
            Entry("backup", "copies", "copy the store as it is now to a folder; or its keys, apart, to a file"),
            Entry("copies add", "register", "write down a copy of what is remembered that is elsewhere"),
            Entry("copies list", "register", "list what is elsewhere, who owes it and by when"),
            Entry("copies confirm", "register", "write down what became of a copy, and how that is known"),
            Entry("restore", "copies", "show what store a copy would make; with --confirm, make it"),
            Entry("checkpoint", "proofs", "read the whole log, sign its head, attest the state, tell witnesses"),
            Entry("proof", "proofs", "prove that an entry is in the log, or that the log only grew"),
            Entry("scan", "scan", "look for what should be gone in any folder, however it is encoded"),
            Entry("verify", "proofs", "check a receipt, a signed head or a proof, with the public key alone"),
            Entry("key show", "proofs", "print the public keys that sign this log, for those who verify"),
            Entry("key rotate", "proofs", "let another key sign this log from now on, vouched for by the old one"),
            Entry("migrate prepare", "migrate", "capture what another memory system exported; change nothing else"),
            Entry("migrate canonicalize", "migrate", "turn what was captured into events, and say what is missing"),
            Entry("migrate finalize", "migrate", "show what a move would add; with --confirm, move in"),
            Entry("migrate list", "migrate", "list the moves that were prepared"),
            Entry("migrate drop", "migrate", "take away what was captured for a move"),
            Entry("reset", "trust", "take a store away, with its vault and roots"),
        ),
    ),
    Group(
        "run",
        (
            Entry("serve", "serve", "run the nightly fold on a schedule, with a local web page"),
            Entry("mcp", "mcp", "offer the memory to an agent as tools, over standard streams or HTTP"),
            Entry("mcp token", "mcp", "make a bearer token for a principal; it is shown once"),
            Entry("mcp tokens", "mcp", "list the tokens"),
            Entry("mcp revoke", "mcp", "take a token away"),
            Entry("mcp config", "mcp", "say how a client (Claude Code, Codex, Gemini CLI, any) is told of the tools"),
            Entry("export", "export", "write what is known to files for others, and note that among the copies"),
            Entry("report", "report", "write a page on how the store is: growth, cost, what is wrong, what is due"),
            Entry("demo", "demo", "run the whole path once, on a shipped example"),
            Entry("eval", "evaluate", "measure how well search finds what questions rest on"),
            Entry("help", "help", "explain a command or a topic"),
        ),
    ),
)

COMMANDS = {entry.name: entry for group in GROUPS for entry in group.entries}

# What a limited principal may do: it sees and adds what is its own. Everything else is the operator's.
FOR_LIMITED = {"init", "add", "import", "search", "context", "facts", "why", "diff", "mcp", "mcp config", "demo", "help"}

# Beyond the classes of refold.errors: what ends a command from outside. Both follow the shell's 128 + signal.
INTERRUPTED = 130
PIPE_CLOSED = 141

EXIT_CODES = (
    (0, "ok", "done"),
    (1, "internal", "a fault of refold's own, or a disk that refuses"),
    (2, "usage", "the call, a file handed in, or the place named is not usable"),
    (10, "blocker", "something unfinished forbids changes"),
    (11, "locked", "another process holds what this needs"),
    (12, "key", "a vault, root or key is lost or destroyed"),
    (13, "corrupt", "bytes that are not what was signed or sealed"),
    (14, "drifted", "a target is in none of its recorded states"),
    (15, "model", "a language model did not answer, or not usably"),
    (16, "not-allowed", "the principal or the system forbids it"),
    (17, "incomplete", "something could not be read, so nothing is claimed"),
    (INTERRUPTED, "interrupted", "stopped by Ctrl-C; what was acknowledged stays"),
    (PIPE_CLOSED, "pipe-closed", "nobody reads the output any more"),
)
