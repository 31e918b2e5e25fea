"""What the help of a command says beyond its arguments: the words in its output, the formats it reads, the tables it asks."""

from __future__ import annotations

from collections.abc import Mapping

STANDINGS = {
    "holds": "what memory believes now; only this is listed without --history and --all",
    "superseded": "a later value took its place, where one value holds at once",
    "denied": "it was said, and later denied",
    "ended": "it was so, and is over",
    "outranked": "somebody with a better right to say it says otherwise: the person themselves, or a document",
    "closing": "a denial or an end that closed another fact",
    "inert": "a denial or an end of what nobody had said: it changes nothing",
    "tentative": "planned, hedged or reported, where only a plain statement can hold",
}
MARKS = {
    "say": "what is plainly said; it is not marked",
    "deny": "the words deny it",
    "end": "the words say that it is over",
    "asserted": "said as a fact; it is not marked",
    "planned": "said of what is to come: it does not hold yet",
    "hedged": 'said with a "might" or an "I think"',
    "reported": "said to have been said by somebody else",
    "contested": "several people say different things, and each keeps their word",
}
ABSENCES = {
    "holds": "it holds",
    "superseded": "a later value took its place",
    "denied": "it was said, and later denied",
    "ended": "it was so, and is over",
    "outranked": "somebody with a better right to say it says otherwise",
    "planned": "it is only planned",
    "hedged": 'it was only said with a "might"',
    "reported": "it was only reported of somebody else's words",
    "only-denied": "it was denied, and never said",
    "unfolded": "it was said, and no fold has read it yet: refold fold",
    "rejected": "what was said of it was not taken for a fact",
    "context-only": "it was said by nobody whose words are statements: an assistant, a tool, a branch that was taken back",
    "unread": "its words were said, and no statement of the relation was read in them",
    "not-in-scope": "it was said, and not in the memory that was asked about",
    "not-mentioned": "nothing of the kind was said",
}
VERDICTS = {
    "WAL_INTACT": "every entry that was looked at is what was signed",
    "RECOVERABLE_FROM_CHECKPOINT": "all damage lies below a usable checkpoint: replaying what follows it loses nothing",
    "CORRUPTION_BOUNDARY_DETECTED": "there is damage above it too; what lies before the first of it can be replayed (`refold help damage`)",
    "UNRECOVERABLE_CORRUPTION": "another history, no signed head, or nothing before the damage",
}
ENDS = {
    "UNWITNESSED": "nobody remembers how long the log was: a cut end cannot be told from a shorter log",
    "LOCAL_WITNESS": "what was seen on this machine is all there (`refold help witness`)",
    "EXTERNAL_WITNESS": "the same, by a memory that whoever holds this machine cannot rewrite",
}
DIRECTIVES = {"PROCEED": "a machine may go on by itself", "HALT": "it may not: a person looks first"}
REJECTED = "rejected: words that looked like a fact and were not taken for one; `refold status` counts them by their reason"
FORMATS = {
    "openai-messages": (
        "a message or a conversation on each line (.jsonl); created_at and name may be missing",
        '{"role": "user", "content": "I like tea.", "created_at": "2024-01-10T08:15Z", "name": "Ada"}\n'
        '{"id": "7", "messages": [{"role": "user", "content": "I live in Oslo."}]}',
    ),
    "chatgpt-export": (
        "the conversations.json of a ChatGPT export, all branches of each conversation",
        '[{"id": "7", "current_node": "a", "mapping": {"a": {"parent": null, "message":\n'
        '  {"author": {"role": "user"}, "create_time": 1704874500, "content":\n    {"parts": ["I live in Berlin."]}}}}}]',
    ),
    "claude-export": (
        "the conversations.json of a Claude export",
        '[{"uuid": "c7", "name": "Moving", "created_at": "2024-03-05T09:00:00Z", "chat_messages":\n'
        '  [{"sender": "human", "text": "I live in Berlin.", "created_at": "2024-03-05T10:00:00Z"}]}]',
    ),
    "claude-code": (
        "a session of Claude Code (.jsonl)",
        '{"type": "user", "sessionId": "s1", "parentUuid": null, "timestamp": "2025-06-01T08:00:00Z",'
        ' "message": {"role": "user", "content": "I prefer tabs."}}',
    ),
    "codex": (
        "a session of Codex (.jsonl)",
        '{"type": "response_item", "timestamp": "2025-06-01T08:00:00Z", "payload":'
        ' {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "I use tabs."}]}}',
    ),
    "mbox": (
        "a mailbox: each letter in its author's own words; what is quoted, forwarded or attached is not read",
        "From ada@example.org Tue Mar  5 10:00:00 2024\nFrom: Ada Brandt <ada@example.org>\n"
        "Date: Tue, 5 Mar 2024 10:00:00 +0000\nMessage-ID: <7@example.org>\n\nI live in Berlin.",
    ),
    "markdown": (
        "a document by headings and paragraphs (.md); author and date may stand in front, a date may be the heading",
        "---\nauthor: Ada Brandt\ndate: 2024-03-03\n---\n# Offsite\n\nOwner: Ada Brandt\n\nWe meet at the boathouse.",
    ),
    "text": (
        "a text by paragraphs (.txt), perhaps a letter with a head; a date may be the file's name",
        "From: Ruth Brandt\nDate: 3 March 2024\n\nI have moved to Oslo.",
    ),
}
TABLES = {
    "log": "every entry of the log, without its words; text(seq) opens those of an event",
    "facts": "what everybody is told, in every standing: the assertions with what became of them",
    "events": "what was said, folded: when, where, by whom; not the words",
    "assertions": "every statement that was read, as it was said",
    "edges": "statements that two names are one person's, or are not",
    "mentions": "who is called by which name",
    "valued": "what is said of whom as a value",
    "labels": "scopes and audiences by their tags",
    "aliases": "the aliases of subjects",
    "event_subjects": "the subjects that each event concerns",
    "seen": "what is known again when it comes again",
    "rejections": "what was not taken for a fact, and why",
    "profiles": "sentences that a model wrote about somebody, each with the facts that it rests on, and what was dropped",
    "vectors": "what each event is about, as 256 signed bytes, where the search recipe asks for it",
    "postings": "the search index",
}
# Of the sets that are shipped, recall in percent at 1, 5, 10 and 20: a test measures it anew.
MEASURED = {
    ("neighbours", "by words"): (66.9, 90.7, 93.2, 94.9),
    ("neighbours", "with vectors"): (67.8, 90.7, 93.2, 94.9),
    ("workshop", "by words"): (80.3, 93.4, 93.4, 93.4),
    ("workshop", "with vectors"): (82.9, 96.1, 96.1, 96.1),
}


def of_facts() -> list[str]:
    """Return what the words in a list of facts mean."""
    return [
        *_wrapped(
            "ENTITY is the user of --user unless it is given; without either, the facts of everybody in view are listed. A name stands for "
            "whoever anybody calls so. --history adds what held before; --all is whatever was stated, about whomever."
        ),
        "",
        "how a fact stands",
        *_terms(STANDINGS),
        "",
        "how it was said",
        *_terms(MARKS),
        "",
        *_wrapped(REJECTED),
    ]


def of_why() -> list[str]:
    """Return the reasons why something is not held."""
    return [
        *_wrapped(
            "With --not, RELATION may name its qualifier: 'kin(sister)'. A name stands for whoever anybody calls so. Only a principal "
            "who sees everything (--as operator) is told what was said outside of the memory that is asked about."
        ),
        "",
        "why something is not held",
        *_terms(ABSENCES),
        "",
        *_wrapped("What is rejected was refused by a code; `refold status` counts them. Of several reasons the first is the answer."),
    ]


def of_diff() -> list[str]:
    """Return what is compared."""
    return _wrapped(
        "Learned is what holds now and did not then; unlearned is what held and was denied, ended or outranked; changed is what another "
        "value took the place of, or what is now contested or claims another time for itself. The facts of everybody in view are compared, "
        "without what follows by a rule. GENERATION is written generation:12; `refold fold` and `refold status` say its number, and it is "
        "known until a full fold or an erasure. What was erased since is in none of the lists."
    )


def of_eval() -> list[str]:
    """Return the form of a file of questions."""
    from refold import settings
    from refold.evaluation import KS

    example = '{"question": "Where does Ada live?", "evidence": ["chat:7#2"], "category": "single", "answer": "Munich", "user": "ada"}'
    return [
        *_wrapped("FILE holds an object for each question, as JSON lines or as one JSON list:"),
        "",
        *_wrapped(example, 4, 6),
        "",
        *_wrapped(
            "Evidence is named by event id, by source (chat:7#2), or by a whole document (doc:notes.md). category, answer and user may be "
            "missing; --user is asked before the question's own user. recall@k is the share of the evidence among the first k events "
            "found, answer@10 the share of the answer's words in the texts of the first ten, both in percent."
        ),
        "",
        *_wrapped(
            "Two sets are shipped, each a folder with what to import into a store of its own: neighbours (two people), and workshop (an "
            "assistant, and two documents). Fold, then ask with --as operator. They lie in:"
        ),
        f"    {settings.folder() / 'eval'}",
        "",
        *_wrapped("What the shipped recipe finds of them, by words alone and with vectors (`refold help vectors`):"),
        "",
        f"  {'':<24}" + "".join(f"{f'recall@{k}':>11}" for k in KS),
        *(f"  {f'{name}, {how}':<24}" + "".join(f"{recall:>11}" for recall in recalls) for (name, how), recalls in MEASURED.items()),
    ]


def of_import() -> list[str]:
    """Return the formats that can be read, each with an example."""
    lines = ["formats (--reader NAME; by default each file is recognised by what is in it)"]
    for name, (what, example) in FORMATS.items():
        lines += ["", *_wrapped(f"{name}: {what}", 2), *(each for line in example.split("\n") for each in _wrapped(line, 4, 6) or [""])]
    return [
        *lines,
        "",
        *_wrapped(
            "What says no time of its own takes --said-at, and without it the time of the import. Importing again adds nothing and "
            "changes nothing: what is there keeps the time, the audience and the people that it was first added with."
        ),
    ]


def of_sql() -> list[str]:
    """Return the tables that can be asked, with their columns."""
    from refold.state.sql import columns  # here, because it needs pyarrow

    lines = ["tables"]
    for name, names in columns().items():
        lines += ["", *_wrapped(f"{name}: {TABLES[name]}", 2), *_wrapped(", ".join(names), 4)]
    return [
        *lines,
        "",
        *_wrapped("Times are in µs since 1970 UTC but in `log`, ids are blobs: hex(fact_id). Whoever asks sees everything."),
    ]


def of_audit() -> list[str]:
    """Return the words of the verdict on the log."""
    lists = (("what was found of the log", VERDICTS), ("whether to go on", DIRECTIVES), ("what is known of its end", ENDS))
    return [line for title, terms in lists for line in ("", title, *_terms(terms))][1:]


def of_entries() -> list[str]:
    """Return what stands in the log beside events."""
    return _wrapped(
        "An entry of the log is an event, which is something that was said, or it says by which names somebody goes, that something was "
        "erased, or that a key took another's place. So there are more entries than events."
    )


def of_export() -> list[str]:
    """Return what the files of an export hold."""
    from refold.export import rows  # here, because it needs pyarrow

    tables = {"facts": rows.FACTS, "entities": rows.ENTITIES, "events": rows.EVENTS}
    return [
        "tables, each one file as JSON by lines or Parquet",
        *(line for name, form in tables.items() for line in ("", f"  {name}", *_wrapped(", ".join(form.names), 4))),
        "",
        *_wrapped("facts.graphml has entities and values as nodes and each fact as an edge; networkx writes it (extra `notebook`)."),
        *_wrapped("What follows by rule is not exported: it is derived when it is asked for. An entity_id counts within one export."),
        "",
        *_wrapped(
            "Whoever can read its files can read an export, and no erasure reaches it. So it stands in the register of copies before its "
            "first byte is written, and the certificate of every later erasure names it until it is confirmed what became of it."
        ),
    ]


def _terms(terms: Mapping[str, str]) -> list[str]:
    """Return words with their meaning, side by side."""
    start = max(map(len, terms)) + 4
    return [line for word, meaning in terms.items() for line in _wrapped(f"  {word:<{start - 2}}{meaning}", 0, start)]


def _wrapped(text: str, indent: int = 0, behind: int | None = None) -> list[str]:
    """Return a text as lines that fit; `behind` is how far those behind the first are indented."""
    import textwrap  # here, because `--help` must start at once

    after = indent if behind is None else behind
    return textwrap.wrap(text, 100, initial_indent=" " * indent, subsequent_indent=" " * after, break_on_hyphens=False)


MORE = {
    "audit": of_audit,
    "export": of_export,
    "fold": of_entries,
    "status": of_entries,
    "facts": of_facts,
    "why": of_why,
    "diff": of_diff,
    "eval": of_eval,
    "import": of_import,
    "sql": of_sql,
}
