"""The certificate of an erasure: what was asked, what was reached and how, what a scan found, what remains and what is elsewhere.

It holds no name, no content and no digest of either. Counts of a person's events and calls are rounded up to powers of two, so that a
reader who is not the operator learns little from them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from refold import disclaimers
from refold.log.note import Verifier
from refold.receipts.form import Body, Kind, count, each, flag, form, hash_hex, one_of, optional


class State(StrEnum):
    """What a certificate says."""

    CERTIFIED = "certified"
    CERTIFIED_EXCEPT = "certified-except"
    REFUSED = "refused"


class Reason(StrEnum):
    """Why a certificate does not say more."""

    HITS = "something of what was erased was found"
    UNDECODABLE = "a file could not be decoded"
    CONTROL = "the control was not found, so that finding nothing means nothing"
    UNDECIDED = "mentions are undecided"
    NOT_AS_PLANNED = "what was reached is not what was planned"
    COPIES = "copies elsewhere are not confirmed to be gone or dark"
    READERS = "a query that had begun before was still open"
    ROOT = "the destruction of the root takes effect later"


REFUSING = frozenset({Reason.HITS, Reason.UNDECODABLE, Reason.CONTROL, Reason.UNDECIDED, Reason.NOT_AS_PLANNED})
SELECTORS = ("subjects", "aliases", "sources", "events", "ingests", "before")
REMAINS = (
    "of each entry that left: its kind, the time it was sealed, and which entries were added with it",
    "that these entries left together, and when",
    "the ids of the events that left, in the keyring, so that a copy that is restored lets them go again",
)
ASKED = {
    "subjects": ("everything about the person of one id", "everything about the people of {} ids"),
    "aliases": (
        "everything about whoever goes by one name, user id, address or number that was given",
        "everything about whoever goes by any of {} names, user ids, addresses or numbers that were given",
    ),
    "sources": ("what comes from one source", "what comes from {} sources"),
    "events": ("one event", "{} events"),
    "ingests": ("what one import brought in", "what {} imports brought in"),
    "before": ("what was said before a day", "what was said before a day"),
}
TAGS = "tags under a key of the vault, by which some of what comes again is recognised: whoever holds that key can test a guess"
KEPT_OUT_NAMES = "what declares a user id or author of theirs is not added until they are readmitted; under another name it is"
KEPT_OUT_ALIASES = "what declares any known alias of theirs is not added until they are readmitted; under another name it is"
KEPT_OUT_RECORDS = "a record of the same source and part as one that went beside theirs is not added; the same words from elsewhere are"
KEPT = "of some of the shared events a version without the person, as somebody reviewed it: other words, marked so, and kept for others"
NAMESAKES = "mentions of others who share a name with the person: somebody has looked at each, and decided that it means another"
CIPHERTEXT = "the sealed bytes of what left, and the random ids of whom it was about, in the log, as was asked: no living key opens them"
REMAINING = (*REMAINS, CIPHERTEXT, KEPT, NAMESAKES, TAGS, KEPT_OUT_NAMES, KEPT_OUT_ALIASES, KEPT_OUT_RECORDS)
BY_CONSTRUCTION = "search index, facts and generations are derived from the log and were made anew without what left"
CONTROLS = ("found", "missing", "none")
CLOSURES = ("declared", "tripwire", "kernel")
CLAIMS = ("closure", "distribution")
CUSTODIES = ("file", "pkcs11")
COPY_KINDS = (
    *("backup", "mirror", "escrow", "export", "replica", "notebook", "embeddings", "rerank-cache", "fine-tune", "batch-file"),
    *("provider", "orchestrator", "other"),
)
COPY_STATES = ("open", "done", "dark", "beyond-use")
OWNERS = ("operator", "processor", "provider", "recipient")


def hexadecimal(value: object) -> bool:
    """Whether it is a random id."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{1,32}", value) is not None


SCAN = {
    "files": count,
    "bytes": count,
    "rows": count,
    "needles_at_most": count,
    "needles_shared_at_most": count,
    "hits": count,
    "undecodable": count,
    "sealed": count,
    "control": one_of(*CONTROLS),
    "encodings": count,
}
REACHED = {
    "epoch_before": count,
    "epoch_after": count,
    "erasure_entries": each(count),
    "events_at_most": count,
    "shared_events_at_most": count,
    "kept_redacted_at_most": count,
    "calls_at_most": count,
    "calls_made_at_most": count,
    "calls_replayed_at_most": count,
    "generation": count,
}
COPY = {"id": hexadecimal, "kind": one_of(*COPY_KINDS), "state": one_of(*COPY_STATES), "owner": one_of(*OWNERS), "due": optional(count)}
FIELDS = {
    "request": hexadecimal,
    "state": one_of(*State),
    "reasons": each(one_of(*Reason)),
    "asked": form(dict.fromkeys(SELECTORS, count)),
    "received": count,
    "due": count,
    "erased_at": count,
    "mode": one_of("shred", "keep-ciphertext"),
    "reached": form(REACHED),
    "as_planned": flag,
    "closure_level": one_of(*CLOSURES),
    "claim": one_of(*CLAIMS),
    "scan": form(SCAN),
    "scanned_at": count,
    "replaces": optional(hash_hex),  # the SHA-256 of the certificate that this one was made anew from
    "remains": each(one_of(*REMAINING)),
    "derived": one_of(BY_CONSTRUCTION),
    "copies": each(form(COPY)),
    "root": form({"custody": one_of(*CUSTODIES), "destroyed_at": count, "dark_at": count}),
    "disclaimers": each(one_of(*disclaimers.ALL)),
}


def bucket(number: int) -> int:
    """Return the power of two that a count is at most; 0 of nothing."""
    return 1 << (number - 1).bit_length() if number > 0 else 0


def day(moment: int) -> str:
    """Return a time in µs as a day, UTC."""
    return datetime.fromtimestamp(moment / 1_000_000, UTC).strftime("%Y-%m-%d")


def check(body: Body, known: Sequence[Verifier]) -> list[str]:
    """Check that a certificate does not contradict itself. Raises ValueError."""
    reasons = {Reason(reason) for reason in body["reasons"]}
    state = State.REFUSED if reasons & REFUSING else State.CERTIFIED_EXCEPT if reasons else State.CERTIFIED
    scan, reached, root = body["scan"], body["reached"], body["root"]
    shown = {
        Reason.HITS: scan["hits"] > 0,
        Reason.UNDECODABLE: scan["undecodable"] > 0,
        Reason.CONTROL: scan["control"] != "found",
        Reason.NOT_AS_PLANNED: not body["as_planned"],
        Reason.COPIES: any(copy["state"] == "open" for copy in body["copies"]),
        Reason.ROOT: root["dark_at"] > body["made_at"],
    }
    counts = [reached[name] for name in reached if name.endswith("_at_most")]
    if (
        body["state"] != state
        or any((reason in reasons) != holds for reason, holds in shown.items())
        or any(number != bucket(number) for number in counts)
        or reached["epoch_after"] <= reached["epoch_before"]
        or not body["received"] <= body["erased_at"] <= body["scanned_at"] <= body["made_at"]
    ):
        raise ValueError("a certificate that contradicts itself")
    return lines(body)


def lines(body: Body) -> list[str]:
    """Return what a certificate says, to be read: one fact a line."""
    reached, scan = body["reached"], body["scan"]
    asked = "; ".join(asked_for(body))
    return [
        f"{body['state']}: asked for on {day(body['received'])}, due on {day(body['due'])}, erased on {day(body['erased_at'])}",
        *(f"because {reason}" for reason in body["reasons"]),
        f"asked: the erasure of {asked or 'nothing'}",
        f"reached: at most {reached['events_at_most']:,} events, {reached['shared_events_at_most']:,} of them shared, and at most "
        f"{reached['calls_at_most']:,} calls of models, by the keys of epoch {reached['epoch_before']}",
        *(
            [f"kept redacted: at most {reached['kept_redacted_at_most']:,} of the shared events"]
            if reached["kept_redacted_at_most"]
            else ()
        ),
        f"mode: {body['mode']}; folded anew with closure {body['closure_level']}: at most {reached['calls_made_at_most']:,} calls made "
        f"again, {reached['calls_replayed_at_most']:,} replayed; the claim is {body['claim']}",
        f"scan on {day(body['scanned_at'])}: {scan['hits']:,} traces in {scan['files']:,} files of {scan['bytes']:,} bytes and "
        f"{scan['rows']:,} rows; control {scan['control']}",
        *([f"replaces the certificate of SHA-256 {body['replaces']}"] if body["replaces"] else ()),
        *(f"remains: {what}" for what in body["remains"]),
        *(_copy_line(copy) for copy in body["copies"]),
        f"root: {body['root']['custody']}, destroyed on {day(body['root']['destroyed_at'])}, dark on {day(body['root']['dark_at'])}",
    ]


def asked_for(body: Body) -> list[str]:
    """Return what was to be erased, as a person says it: everything about somebody, or events by where they come from."""
    return [ASKED[name][number != 1].format(number) for name, number in body["asked"].items() if number]


def _copy_line(copy: dict[str, Any]) -> str:
    due = f", due on {day(copy['due'])}" if copy["due"] is not None else ""
    return f"elsewhere: {copy['kind']} {copy['id']}, {copy['state']}, owed by {copy['owner']}{due}"


KIND = Kind("erasure_certificate", FIELDS, check, lambda body: {body["reached"]["epoch_before"]})
