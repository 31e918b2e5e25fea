"""Everything that the command line does, the library does: each command has its verbs, or a reason why it has none."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser
from importlib import import_module

import pytest

from refold.cli.catalogue import COMMANDS
from refold.memory import Memory

# Of each command: its verbs, and for each option that no verb takes under the same name what stands for it.
Verbs = tuple[tuple[str, ...], dict[str, str]]
SCOPE = {"user": "user_id", "agent": "agent_id"}
OPTIONS = dict.fromkeys(("user", "agent", "run_id", "author", "audience", "said_at", "subject"), "options")
NAMED = {"alias": "aliases", "kind": "aliases"}
REQUEST = {"request": "request_id"}
SHOWN = {"limit": "lists are returned whole"}
AREAS = ("closure", "control", "extra", "from_checkpoint", "keys", "log", "needles", "request", "residue", "state", "transactions")
RECEIPT = {"receipt": "papers are written by refold.receipts"}
READ_BY = {"recipe": "by", "model": "by", "api_base": "by"}
SELECTED = dict.fromkeys(("subject", "source", "event", "ingest", "before", "kind", "user", "aliases"), "selector")
VERBS: dict[str, Verbs] = {
    "init": (("create",), {}),
    "add": (("add", "reads_as"), SCOPE | {"subject": "subjects", "metadata": "metadata"}),
    "import": (("import_files",), OPTIONS),
    "fold": (
        ("fold", "fold_plan", "fold_without"),
        READ_BY | RECEIPT | SELECTED | {"calls": "by", "plan": "fold_plan", "fresh": "by", "without": "fold_without"},
    ),
    "status": (("status",), {}),
    "search": (("search", "find"), SCOPE),
    "context": (("context",), SCOPE),
    "facts": (("facts", "profiles", "similar", "unfolded", "erasures_after"), SCOPE),
    "why": (("why", "why_not"), SCOPE | {"absent": "why_not"}),
    "diff": (("diff",), SCOPE),
    "sql": (("sql",), SHOWN),
    "calls list": (("calls", "costs", "recordings"), {}),
    "calls show": (("call",), {"call": "call_id"}),
    "subject add": (("subject_add", "subject_of_entity"), NAMED | {"from_entity": "subject_of_entity"}),
    "subject list": (("subjects",), SHOWN),
    "subject readmit": (("subject_add",), NAMED),
    "subject report": (("subject_report", "copy_add"), SELECTED | {"to": "whoever calls it writes it down, and adds the copy"}),
    "erase request": (
        ("erase_request", "plan_erasure", "erase_ask"),
        SELECTED | {"keep_ciphertext": "mode", "no_suppress": "suppresses", "suppress_aliases": "suppresses_aliases"},
    ),
    "erase find": (("erase_find",), REQUEST),
    "erase review": (
        ("erase_show", "erase_decide", "erase_shared", "erase_keep"),
        REQUEST | SHOWN | dict.fromkeys(("all", "decide", "variant"), "decisions"),
    ),
    "erase plan": (("erase_plan", "plan_erasure"), REQUEST),
    "erase approve": (("erase_approve",), REQUEST),
    "erase run": (("erase_run", "erase"), READ_BY | REQUEST | {"confirm": "whoever calls it has confirmed it"}),
    "erase status": (("erase_requests", "erase_show"), REQUEST),
    "erase certificate": (("erase_certificate",), REQUEST | dict.fromkeys(("html", "receipt"), "the paper is returned")),
    "erase refuse": (("erase_refuse",), REQUEST),
    "erase hold": (("erase_hold",), SELECTED),
    "erase release": (("erase_release",), REQUEST),
    "erase due": (("erase_due",), {}),
    "audit": (("audit", "verify_log"), dict.fromkeys(AREAS, "every area is looked at; refold.recover.audit has each")),
    "mirror": (("mirror",), {}),
    "backup": (("backup", "backup_keys"), {"keys": "backup_keys"}),
    "copies add": (("copy_add",), {}),
    "copies list": (("copies",), {}),
    "copies confirm": (("copy_confirm", "erase_waiting", "erase_renew"), {"copy": "copy_id"}),
    "checkpoint": (("checkpoint",), RECEIPT),
    "proof": (("prove", "prove_growth"), RECEIPT),
    "verify": (("verify",), {"file": "paper", "key": "those of this log"}),
    "key show": (("keys",), {}),
    "key rotate": (("key_rotate",), {}),
    "mcp token": (("token_add",), {"bearer": "principal"}),
    "mcp tokens": (("tokens",), {}),
    "mcp revoke": (("token_revoke",), {}),
    "eval": (("evaluate",), SCOPE | {"file": "questions"}),
    "export": (("export",), SCOPE),
    "report": (("report",), {"file": "the page is returned"}),
}
ELSEWHERE = {
    "subject find": "refold.erase.who.people, which an erasure asks too",
    "subject show": "refold.ingest.subjects has it among everybody: Memory.subjects",
    "subject alias": "Memory.subject_add with one alias that is known and the new ones",
    "recover": "the memory may not open: refold.recover.repair takes the places",
    "restore": "there is no memory yet: refold.copies.restore takes the places",
    "reset": "there is no memory afterwards: refold.recover.reset takes the places",
    "scan": "it needs no memory: refold.scan.search takes a folder",
    "migrate prepare": "a move is decided by a person step by step: refold.migrate",
    "migrate canonicalize": "a move is decided by a person step by step: refold.migrate",
    "migrate finalize": "a move is decided by a person step by step: refold.migrate",
    "migrate list": "a move is decided by a person step by step: refold.migrate",
    "migrate drop": "a move is decided by a person step by step: refold.migrate",
    "serve": "it is a process of its own",
    "mcp": "it is a process of its own: refold.mcp.server",
    "mcp config": "it tells another program of the command",
    "demo": "it shows the commands",
    "help": "it explains the commands",
}


def test_every_command_has_its_verbs_or_a_reason():
    assert set(VERBS) | set(ELSEWHERE) == set(COMMANDS)
    assert set(VERBS) & set(ELSEWHERE) == set()


def test_every_verb_is_that_of_some_command():
    of_commands = {verb for verbs, _ in VERBS.values() for verb in verbs}
    of_the_library = {name for name, verb in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")}
    more = {"add_many", "close", "scope", "seen_by"} | {name for name in of_the_library if name[0] == "a" and name[1:] in of_the_library}
    assert of_the_library - of_commands == more


@pytest.mark.parametrize("name", VERBS)
def test_what_a_command_is_told_its_verbs_can_be_told_too(name: str):
    verbs, renamed = VERBS[name]
    taken = {parameter for verb in verbs for parameter in inspect.signature(getattr(Memory, verb)).parameters}
    command = ArgumentParser(add_help=False)
    import_module(f"refold.cli.{COMMANDS[name].module}").RUNS[name].configure(command)
    options = {action.dest for action in command._actions}
    assert options - taken == set(renamed) - taken
    assert set(renamed) <= options
