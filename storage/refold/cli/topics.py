"""What `refold help TOPIC` explains, beside the commands: the words that the flags and the messages use."""

from __future__ import annotations

from refold.cli.erasure_topics import TOPICS as OF_ERASURE
from refold.cli.place_topics import TOPICS as OF_PLACES
from refold.cli.vector_topics import OF_VECTORS

TOPICS = {
    **OF_PLACES,
    "calls": (
        "what is kept of what a language model was asked, and who can read it",
        """
Every attempt at a call is recorded, sealed, before its answer is used: the request byte by byte, the answer, time, tokens and cost.
A recording answers exactly the same request again, so that nothing is asked twice; `refold fold --full` asks only what has changed.

    refold calls list            what was asked, newest first; `refold status` counts it all, with tokens and cost
    refold calls show CALL       one call: each byte of the request after the event, template or setting that it comes from

A recording opens through the events that the model saw, and goes dark with any one of them. Counts and sums of cost stay.

Recordings say what everybody said: they are for a principal who may see everything. An answer without tokens was not counted by the
provider; nothing is guessed, and a cost is only what the recipe's own price table gives. Of an OpenAI-compatible server the very bytes that
left are recorded; of any other provider, what was handed to litellm.
""",
    ),
    "damage": (
        "what to do when bytes are not what was signed or sealed",
        """
The message names the file; `refold audit` looks at transactions, keys and state, and lists the log; `refold audit --log` reads it, with
--deep entry by entry. It says what is damaged, and whether a machine may go on. Nothing is repaired or removed by looking: keep a copy
before anything else.

The log has lost its end: the state was folded from more entries, or a head of more was signed or witnessed. Put its newest commits and
parts back from a copy; until then nothing is added or folded, so that no number is given twice. If nobody has them any more, and also
where the newest commit cannot be read and no copy has it, `refold recover --log --give-up-end` shows from where the log could go on and
what that loses; with --confirm it does so. What cannot be read goes to quarantine, signed `restored` entries name every head that is given
up, and the state is folded anew.

A damaged or missing file of the log: `refold recover --log` shows what mirrors and backups have (--from DIR names more of them). With
--confirm it puts back, byte for byte, what a signature or a digest vouches for, and nothing else; the damaged files go to the vault's
quarantine. What nobody has stays damaged; what lies before it is replayed if the settings allow it. Entries of which nothing but the
payload is lost can be gone past (--past-damage): a signed entry names them, the state is folded without them, and every answer says
from then on since which entry it is incomplete.

A file of the state (state/): `refold fold --full` makes a new one from the log.

A file of the vault or the root: put it back from its own backup (`refold help keys`).

The disk refuses to write: nothing was acknowledged that is not safe. Look at the disk first; a process whose fsync failed
writes no more, so start it anew afterwards.
""",
    ),
    "witness": (
        "who remembers how long the log was: heads, checkpoints and witnesses",
        """
Whoever holds the keys of this machine can cut off the end of the log and sign what is left. Only a memory elsewhere can tell.
`refold fold` signs the head of the log (its size, and one hash over all entries), `refold checkpoint` and the nightly flow read all
of it first. The vault remembers what was signed. Name further witnesses in the settings:

    [witness]
    folders = [{ path = "/mnt/elsewhere/witness", external = true }]
    commands = [{ name = "office", argv = ["ssh", "office", "witness"], key = "NAME+ID+KEY", external = true }]
    required = 1             # so many of these have to take a head

Say `external` of what whoever holds this machine cannot rewrite: another host, another user's folder, a locked object store. The folder
has to be there already. A command gets the request of c2sp.org/tlog-witness (`old SIZE`, a proof, the signed head) on standard input;
it answers with a signature line under `key`, or with the newest head it has seen. `curl --data-binary @- URL/add-checkpoint` is one.

A witness refuses a head that does not continue the last one it took. Then nothing is signed any more, and the message names the
witness: the log was cut or rewritten (put it back from a backup), or the witness is another log's. Nothing there is removed for you.

After a restore of an older copy, or an end that was given up, the log names in a signed entry each head, of size and root, that it does not
reach any more. The next checkpoint lets go of exactly those: a folder keeps what it saw aside and begins anew. What is behind a command has
its own memory, so it is not among those that took the head until its keeper lets go too: they read the entry (`refold proof SEQ --receipt
FILE` proves that it is in the log), compare size and root with what they remember, and reset the witness for this log.
""",
    ),
    "receipts": (
        "papers that others can check: receipts, proofs, `refold verify`",
        """
    refold checkpoint --receipt FILE      the signed head, the state attested beside it, who took it
    refold proof SEQ --receipt FILE       that an entry, by its hash, is in the log
    refold fold --receipt FILE            that folding again, in another process, gives the same state
    refold proof SEQ                      the same as text: c2sp.org/tlog-proof
    refold proof --from SIZE              that the log only grew since it had that many entries

    refold key rotate                     another key signs from now on, vouched for by the old one; then back up store and vault anew
    refold key show > keys                what whoever verifies needs, and should get from you by another way than the paper
    refold verify FILE --key keys         needs no store; without --key the keys are those of the vault. FILE may also be the statement by
                                          which one key follows another (the vault's witness/keys/000002.json and so on)

No paper holds content, names or keys. A paper that was cut, changed or signed by somebody else is refused. Where the store is at hand,
EPOCH_DESTROYED says that the root of its epoch is gone: what a keyed digest stands for cannot be computed again, by anybody. EPOCH_OVER
says that the epoch is over, and that its root is still there, or that the place of the roots is not at hand.
""",
    ),
    "interrupted": (
        "what to do when a change was interrupted",
        """
A change of several files is recorded before it starts. If it is interrupted, everything is read as before and what is said is
added, but no other change is made until a person decides:

    refold recover                                        what is unfinished
    refold recover --transaction-id ID                    how it stands, and whether going on or back is safe
    refold recover --transaction-id ID --complete         carry it to its end
    refold recover --transaction-id ID --rollback         take back what it did

Either way every file is compared with what was recorded first. Where anything differs, nothing is touched, and the message names
the file: put it back, or keep the folder of the transaction elsewhere and see to the files by hand. A direction that was taken is final.
""",
    ),
    "scope": (
        "whose memory is meant: --user, --agent, --run",
        """
Every event belongs to a scope: a user, an agent, a run, or any of them together.
A question names its scope by the same flags; what it leaves out may be anything.

A question with neither a scope nor a principal (--as NAME) is refused, not answered with everything.
`--as operator` asks across all scopes.

`refold status` counts the facts of everybody, whatever their labels: as many as `refold facts --as operator` lists. `refold facts
--user NAME` lists those of one memory that carry no labels.
""",
    ),
    "principals": (
        "who asks, and what they may see: --as NAME",
        """
An event may carry audience labels (--audience LABEL). A principal sees it if all its labels are among the principal's own.
Without --as, a question sees only what has no labels.

Principals stand in the settings:

    [principals.assistant]
    labels = ["family"]      # what it may see beside the unlabelled
    users = ["ada"]          # whose memory; leave it out for everybody's

A principal with users adds what these say, not what others do; one with labels adds only under labels that it holds.
`operator` stands there from the start and sees all. Whoever does not is told nothing of what it may not see: not by an answer, a score,
a count or an error, nor by sequence numbers, whose gaps would count it. Every command that neither asks nor adds is the operator's.
""",
    ),
    "mcp": (
        "the memory as tools of an agent: `refold mcp`, its clients, its tokens",
        """
    refold mcp config CLIENT --user NAME          how Claude Code, Codex, Gemini CLI or any other client is told of it
    refold mcp --user NAME                        the tools over standard streams, for this user's memory without labels
    refold mcp --as NAME                          the same, as a principal of the settings
    refold mcp --http 8765                        the tools over HTTP, for whoever shows a token
    refold mcp token NAME --for PRINCIPAL         make a token; it is shown once, and only its digest is kept, in the vault
    refold mcp revoke NAME                        from the next request on it opens nothing

An agent can add a statement, search, ask for facts, for the reason of one, and for lines for its prompt. It cannot fold, erase or see
anything that its principal may not see. What it gets is marked as recalled data and quoted: a memory that says "ignore all of this" is
a quote, and no instruction. It can write down that its user asks to be forgotten: `refold erase status` shows such requests, and you
review, approve and run them.

HTTP is for one machine, or behind a proxy that adds TLS: tokens and answers cross the network as they are. A server that listens on
127.0.0.1 answers requests for a Host and from an Origin of this machine alone, so that no web page reaches it: let a proxy send the
address that it connects to as the Host. A token has 256 random bits, so that nobody can guess it from its digest. Rights are those of
the settings at the moment of each request; where tokens or settings cannot be read, a request is answered with 503.

It needs more than the rest: pip install 'refold[mcp]'.
""",
    ),
    "settings": (
        "the file that REFOLD_CONFIG names",
        """
The shipped settings work as they are. To change some, write them to a TOML file and name it in REFOLD_CONFIG;
what it leaves out keeps its default.

    [nightly]
    cron = "17 3 * * *"      # when `refold serve` runs the nightly flow
    timezone = "UTC"         # an IANA name
    runner = "threads"       # what brings mirrors side by side: threads, dask or ray (pip install 'refold[dask]')
    deep = false             # verify the log entry by entry before each night's fold, not only file by file

    [fold]
    recipe = "symbolic"      # what reads events where the command does not say (`refold help recipes`)
    model = ""               # empty: the recipe's
    api_base = ""
    require_closure = ""     # tripwire or kernel: read events in a process closed that far (`refold help closure`)

    [serve]
    host = "127.0.0.1"       # the server has no password
    port = 4200
    database = ""            # SQLite under the store; or postgresql+asyncpg://USER@HOST/NAME
    history_days = 90        # how long Prefect keeps its records of runs

    [verify]                 # what `refold audit --log` demands before it says PROCEED
    require_checkpoint = false
    allow_partial_replay = false
    require_witness = false

    [erase]
    cron = "23 5 * * *"      # when `refold serve` carries out what is approved, and looks for what is due
    approvals = 1            # people who have to approve an erasure (`refold help requests`)

    [root]
    custody = "file"         # what keeps the root of a new store: file, or pkcs11 (`refold help keys`)
    module = ""              # the token's PKCS #11 library, an absolute path
    token = ""               # the token's label
    pin_env = "REFOLD_PIN"   # the variable that holds its PIN
    pin_file = ""            # or an absolute path: the file whose first line is the PIN

    [retention]
    keep = []                # [{ kind = "chat", days = 730 }]

    [providers]
    keep = []                # [{ host = "api.openai.com", days = 30 }]: how long hosts of models keep what they were sent

    [recover]
    cron = "47 4 * * 0"      # when `refold serve` verifies the whole log; it only reports

    [mirror]
    folders = []             # absolute paths of mirrors that the nightly flow brings up to date (`refold help copies`)

    [principals.NAME]        # see `refold help principals`

A search.toml beside that file is the search recipe in place of the shipped one (`refold help vectors`).
""",
    ),
    "recipes": (
        "letting a language model read what was said: --recipe, --model, --api-base, --calls",
        """
    refold fold --plan --model openai/NAME --api-base URL      what it would ask, and what that would cost; nothing is sent
    refold fold --model openai/NAME --api-base URL             fold by a model at any endpoint that speaks OpenAI's protocol
    refold fold --recipe FILE                                  by a recipe of your own

Without these, events are read by patterns: no key, no network. A recipe (configs/recipes/openai.toml is the one to copy) says which model
is asked, how, about how many events at once, with how many earlier turns as context, what it costs and how fast it may be asked. The key
is read from the environment (OPENAI_API_KEY). Name the recipe, the model and the address under [fold] in the settings, and every fold
uses them, the nightly one too; a fold by something else reads the whole log anew.

Every request is made of the log, the recipe and nothing else; what was sent and answered is recorded, sealed under the keys of the events
in it, and never asked twice: `refold fold --full` reads the recordings. What a model answers is taken only where it is a quote of the
events; the rest is rejected and counted (`refold status`). Where it did not answer, events stay pending, and the next fold asks again.

Any provider that litellm knows can be named as the recipe's adapter, with its key in its own variable (ANTHROPIC_API_KEY). What is handed
to litellm is then checked and recorded, and not what litellm makes of it: the recording says call where it says wire of OpenAI's protocol,
and litellm may ask the provider more, of a local server what its model can do. Set max_tokens there: an answer of as many is cut off.

A recipe with a [profile] section also has each person and thing told in sentences, from facts alone: `refold facts ENTITY` shows them below
the facts (to agents, memory_facts), `refold why` what a sentence rests on. It is one more call for each of whom the facts changed; the rest
is answered by recordings. A sentence that names no fact is dropped and counted (`refold status`), one of whose facts does not hold is not
shown. A profile is made of facts of one scope and one set of labels, and no model is ever told what it says. Without an answer it is
pending.

    --calls live       recordings first, then the model (the default)
    --calls replay     recordings only; a request without one is an error
    --calls verify     recordings, and the model is asked whether it would say the same
    --calls refresh    the model, whatever is recorded; --fresh does so for the whole log
""",
    ),
    "closure": (
        "how far the fold is closed off from everything but the log: --require-closure LEVEL",
        """
What a fold computes may depend on the log and on nothing else. closure_level in its report says what held it to that:

declared      it ran in the process that asked; that its code is pure is tested, not enforced
tripwire      it ran in a fresh process without environment, files, network, clock or chance, in which Python refuses
              and records whatever reaches outside; code that is written to get out could do so
kernel        and the kernel ends the process at any system call that a computation does not need (Linux, seccomp)

`refold fold --require-closure kernel` folds in such a process, or refuses with the name of the measure that this system lacks:
seccomp is missing on macOS, on old kernels and in containers that forbid it. `--require-closure tripwire` works on all of them.
`require_closure` under [fold] in the settings asks for the same of every fold, the nightly one too. Without either the patterns run in
the process that asked, and the report says declared; what a model answered is read in such a
process always, closed as far as can be had.

The worker reached for something, or made a system call that it may not make: the batch is not folded, and nothing is published.
A library that it uses wants more than a computation needs; `--require-closure declared` folds without the worker.

What a model was sent is looked at afterwards: `refold audit --closure` puts every recorded request together anew from the log and the
recipes, and says of which it differs anywhere, and what it cannot say. That a fact told in one for a profile was held then is not among
what it checks; `refold fold --full --calls replay` makes those of now again.

Every measure, and what comes of each of some eighty attempts to get out: refold/closed/README.md in the package.
""",
    ),
    "source": (
        "where something was said: --source KIND:REF#PART",
        """
`chat:7#3` is the third turn of chat 7; `doc:letter#p4` the fourth paragraph of a letter. The part may be missing.
The kind is lower case letters, digits, `-` and `_`. Events of one KIND:REF are one session: they are each other's context,
in the order of their parts (digits count as numbers: p9 comes before p10).
""",
    ),
    "times": (
        "--said-at, --as-of, --valid-at",
        """
Times are ISO 8601: 2024, 2024-06, 2024-06-01 or 2024-06-01T18:30Z. Without an offset they are UTC.

--said-at     when it was said; what was said later wins, whenever it was recorded
--as-of       answer as if nothing had been recorded after this time, or after this sequence number
--valid-at    only what claims to hold at this time ("since 2023", "until June")
""",
    ),
    "mapping": (
        "JSON lines of any form: import --mapping FILE",
        """
A TOML file says under which keys of a line the words, the time and the speaker stand; keys within keys are joined by dots:

    text = "body.plain"      # needed
    said_at = "sent"         # a time in any form that `refold help times` knows, or a number since 1970
    author = "from.name"
    role = "kind"            # user where it is missing
    ref = "thread"           # the session; the file's name where it is missing
    part = "number"          # the place in it; the number of the line where it is missing
    title = "subject"
    source = "chat"          # the kind of source itself: chat, mail, doc
    [roles]                  # what the role's values mean, where they are others than user, assistant, system, tool, document
    customer = "user"

    refold import tickets.jsonl --mapping tickets.toml --user ada
""",
    ),
    "migrate": (
        "moving in from mem0, MCP's memory server, Letta or Graphiti",
        """
    refold migrate prepare FILE ...            captures the files, sealed, in the vault; the store is not touched
    refold migrate canonicalize ID             turns them into events, and lists what they do not say
    refold migrate finalize ID                 shows what would be added; with --confirm ID it is, all of it in one transaction

Files are known by what is in them: mem0's memories (JSON), the reference memory server's memory.jsonl, Letta's agent file (.af),
Graphiti's episodes (JSON). What they do not say is never made up: whose memory it is, when it was said, whether a name is a
person's. Answer in a JSON file, and canonicalize again with --decide FILE, as often as you like:

    {"default": {"user": "ada", "said_at": "2024-06-01"},
     "sources": {"1": {"person": false}},
     "groups": {"employee": {"person": true}},
     "records": {"0/result 3": {"user": "ben"}, "0/result 9": {"leave_out": true}}}

The nearest answer counts: record, group (a type of MCP's entities, a group id of Graphiti's), source, default. An answer has any of
user (null: nobody's, but the agent's), agent, run, author, said_at, person, subjects, audience, user_is_group (group ids are users)
and leave_out (elsewhere than under records: only what still lacks something stays behind).

What another system derived is kept in its own words, as a document of its own: mem0:ID, mcp:ENTITY#1, letta:AGENT#human,
graphiti:UUID. Words that it kept as they were said have their speaker.

A move that was interrupted blocks changes until `refold migrate finalize ID --confirm ID` or `refold recover` completes it.
""",
    ),
    **OF_VECTORS,
    "stdin": (
        "`-`, for what should not stand in the command line",
        """
What stands in a command line can be read by other users of the machine and stays in the shell's history.
`-` in place of a value reads it from standard input: one line each for --user, --agent, --run, --author, --source, --key,
--entity and FACT, in this order, and all that is left for a text or a query.

    printf '%s\\n' ada 'I live in Berlin.' | refold add - --user -

`refold subject add -` reads one alias a line.
""",
    ),
    "json": (
        "--format json: one object on standard output, also on failure",
        """
{"output_schema_version": 1, "command": ..., "format_version": ..., "status": "PASS" | "FAIL", "exit_class": ...,
 "data": {...}, "findings": [{"code", "severity", "message", "path", "entry_id", "remediation", "details"}], "disclaimers": [...]}

The result stands in data; lists under their plural noun (facts, results, events, subjects). Ids are hexadecimal, times ISO 8601
in UTC, spans [start, end) in characters. Errors and warnings are findings: what was found, where, and a command to run next.
They never quote what somebody said. JSON schemas lie in the package: refold/schemas.
""",
    ),
    **OF_ERASURE,
}
