"""What `refold help erase` and `refold help requests` explain: for whoever has a request for erasure on the desk, and a deadline."""

from __future__ import annotations

TOPICS = {
    "erase": (
        "forgetting a person, step by step",
        """
    refold erase request --aliases -          what is asked, from standard input: names, addresses, numbers, one a line
    refold erase find ID                      search the whole log: what is declared, and where others mention the person
    refold erase review ID                    see each mention in its sentence; --decide FILE or --all says whom it concerns
    refold erase plan ID                      what everyone will know and not know afterwards; nothing changes
    refold erase approve ID                   by a second person where the settings say so
    refold erase run ID --confirm ID          from here there is no way back
    refold erase status                       every request, the first due first

An event that concerns several people goes for all of them: the plan says whom else, and what they will not know any more. What the person
said last and replaced something older may let the older hold again; the plan says that too, and what is elsewhere, and by when it is due.

A mention that nobody declared is a candidate until somebody decides: `concerns` lets the event go, `namesake` lets it stay. Candidates that
are undecided stop the erasure, and so does whatever comes in meanwhile and mentions the person: it is found again, and reviewed.
A name that is a word as well (Will, May, Grace) is a candidate with a capital letter, behind a title or beside another part of the name,
not where the text uses the word. Names are known in Latin, Cyrillic and Greek letters whichever they are given in; give one in any
other script as a further alias, and so a short form that is no usual one (`refold subject alias`).

Running it folds the log without the person first, which takes a while and holds up nobody. Then nothing can be added for some seconds: new
keys for everybody else are sealed, the old ones destroyed, and what is erased leaves the files. Interrupted before the new keys are sealed,
`refold recover --rollback` takes it back; afterwards `--complete` ends it, and `refold erase run` again scans and certifies it. It does so
too when a scan found something that you have seen to since: `refold audit --residue --request ID` shows where.

A model is asked again about what it read beside what goes, and about nothing else: name it as `refold fold` does (--model, --recipe),
unless the settings do. What it will read then, and write of others in place of the sentences that go, no plan knows. A backup from before
is dark for what was erased, and erased again when it is restored. Asked about the past, memory says how many erasures came after
(`--as-of`).

Decisions come as JSON ({"12:0-9": "concerns"}) or as lines (12:0-9,namesake), by the id that the review shows: no name is in them. What
others said can be kept for them without the person, in words of yours: `refold help redaction`.

One wrong memory: `refold erase request --event ID`. To put something right and keep both, `refold add --corrects FACT`.
""",
    ),
    "redaction": (
        "what others keep of an event that is about somebody who is erased",
        """
An event that concerns several people goes for all of them, and so does one that mentions the person: that is the default. Before it is
planned, whoever reviews may let the others keep a version of it without the person. Nothing is redacted by a rule: you write the text, or
say which characters go, and [removed] stands in their place.

    refold erase review ID                    shows such events under the mentions, by their number, as dark or redacted
    refold erase review ID --decide FILE      where FILE says, beside what it says of mentions (12:0-9,concerns):
        12,redacted,I live in Munich.         a text of yours, as a line
        12,dark                               nothing is kept after all
        {"12": {"spans": [[0, 4]]}}           or as JSON: the characters 0 to 3 go
        {"12": {"text": "I live in Munich."}}

A mention in such an event has to concern the person: else the event stays as it is, and there is nothing to redact. What the person said
themself is not kept, nor what was asked for by itself (--event, --source), nor a version in which a search for the person finds something:
a name, initials, "my sister". Then write other words. A source, label or title that names them cannot be kept either.

An event that declares the person by mistake (by a wrong user id or --subject) goes dark too, and no review can call it a namesake's: its
key is made with theirs. Before it is planned, keep a redacted version of it or, where that would still name whom it is really about, add it
again without declaring the person; the mention in it is then decided as any other.

`refold erase plan` shows what others go on knowing by it, marked `=`. The version is a new event with a key of its own: who said it,
when and where is as it was, and `refold search`, `facts` and `why` say "redacted on" with the day. It is there once, also when the file
that the first one came from is imported again. The certificate counts such versions, and the scan reads them too.
""",
    ),
    "requests": (
        "what a request for erasure selects, who approves it, holds, and retention",
        """
Selected are people (--subject ID, --user NAME, --aliases FILE) with all that concerns or mentions them, and events by where they come from
(--source KIND:REF, --event ID, --ingest ID, --before TIME with --kind). `-` reads standard input, so that no name has to stand on a command
line. Several selectors together select all that any of them does.

A request is due 30 days after it was received, or at --due. It lies sealed in the vault, under a key that goes dark with the person; how it
ended stays. What else was asked about the same person goes dark with it. One that is damaged on disk forbids every erasure, for it may be
a hold: put it back from a backup of the vault, or move its file out of the folder and ask anew. Requests and holds are in no backup of the
keys alone. Where they are lost while certificates are there, `refold audit --keys` says so: lay every hold anew. A hold that is lost
where nothing was certified yet leaves nothing by which it could be missed.

By default the declared names of whoever is erased (user ids, authors) are kept from coming back with an import, by keyed tags, and so
are the very records that others said it in; --suppress-aliases keeps every alias from being declared anew, and --no-suppress none. The
same words from another source, or in a text about others, are added as anything is.
`refold subject readmit` lets somebody be known again, as somebody new.

    refold erase hold --user NAME --reason -     forbid an erasure, as a court may ask; the plan shows it, approving refuses
    refold erase release ID                      let it stand no more
    refold erase refuse ID --reason -            refuse a request; the person is owed the reason
    refold erase due                             ask for the erasure of what is kept longer than the settings allow

`refold serve` carries out every night what is approved, certifies it, asks for what is kept too long, and lists the copies that are
overdue; somebody still finds, reviews and approves. `python -m flows.erase ID` does it for one request.

    [erase]
    approvals = 2                                two people approve, each named with --as
    [retention]
    keep = [{ kind = "chat", days = 730 }]       by the kind of source

What is known of a person, and who was told, as they may ask: `refold subject report --user NAME`: a letter, or with --format json data for
their own use (schemas/subject_report.1.json). It says where everything came from, until when it is kept, and where copies are; what is
also about others is marked, for you to leave out what is theirs. --to FILE writes it down, for your eyes alone, and into the register of
copies: give the file a name that says nothing of the person.
""",
    ),
    "register": (
        "what is elsewhere of a memory: `refold copies add`, `list`, `confirm`",
        """
    refold copies list                    what is elsewhere, its state, who owes it and by when
    refold copies add KIND PLACE --owner WHO --due DATE [--made DATE]
    refold copies confirm ID --state done|dark|beyond-use --evidence TEXT

`refold backup`, `backup --keys` and `mirror` write themselves down. What else leaves, somebody has to: exports, replicas, outputs of
notebooks, embeddings and rerank caches elsewhere, fine-tunes. An erasure writes down each host of language models that was told something
of what goes, by its recordings, with the day by which it has let go of it, where `keep` under [providers] says how long it keeps. The
search index, facts and generations are no copies: every erasure makes them anew.

An erasure lists in its certificate what was made before it. Backups and mirrors of the store are dark by then, for whoever was erased:
their keys are gone. A backup of the keys is not: destroy it, confirm that, and make it again. As long as one is open, the certificate
says certified-except; when you confirm it, the certificate is made anew, with the SHA-256 of the one it replaces. One that is found later
comes into the certificates of what was erased since --made. `done` is for a copy that is gone, and is not taken while something is at its
place on this machine: one from which somebody was only taken out is added again, and is open for whoever goes next. One that turns up
again is `--state open` again, and so is what it says in the certificates.

The register is sealed in the vault, and outlives erasures: write nobody's name into it who may have to go. Where it is
lost while certificates name copies, put it back from a backup of the vault, or add anew what is elsewhere: till then nothing is erased.
""",
    ),
    "scan": (
        "looking for what should be gone: `refold scan`, and what it can see",
        """
    refold scan DIR --for -               what to look for, one a line, on standard input: names, e-mails, phone numbers, sentences
    refold scan DIR --extra OTHER --for - --control -     the first line is something that is there, and has to be found

DIR may be anything: the folder of another program, a backup, a home. Every byte of every file is read, and names, links and extended
attributes. What is compressed, archived or encoded is decoded, also several times: UTF-8 and UTF-16, base64, hexadecimal, escapes of JSON,
URLs and HTML, quoted-printable, gzip, zlib, zstd, bzip2, xz, zip, tar, pickles (read, never run), Parquet and Arrow with all that their
columns, footers and hidden buffers hold, every table of SQLite with its write-ahead log, every table of DuckDB. A name is found in any
case and order of its words, whatever stands between them; a phone number by its last nine digits.

It passes (exit 0) where nothing was found. Exit 14: something was, and where, never which words. Exit 17: a file could not be decoded (a
picture, something encrypted, a cut archive, a DuckDB file, which keeps what was deleted), or the control was not found; nothing is
claimed then. A control shows that finding nothing means something. Databases of other kinds are read as bytes, not by their tables.

After an erasure store, vault and root are looked into so, with what their keys open. What their own folders are called is where somebody
chose to keep them, and no part of them; nor are the names that Refold gives, of fixed words and random ids, a trace of anybody. The
keys, kinds and sentences that the form of one of its files prescribes are none either, in a file that is of that form to the last key.

In tests: `from refold.scan.testing import assert_forgotten`, then assert_forgotten(path, ["Ruth Brandt", "ruth@example.org"]).
""",
    ),
}
