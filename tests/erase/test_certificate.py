"""A certificate says what was reached and found, no more, and nothing of anybody; a page of it says the same."""

from __future__ import annotations

import base64
import io
import itertools
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import md5, sha1, sha256
from html.parser import HTMLParser
from importlib.resources import files as packaged
from pathlib import Path

import jsonschema
import pyarrow.parquet as pq
import pytest

from refold.cli import main
from refold.erase import certificate, footprint, page, prove, requests
from refold.erase.certificate import Copy, Evidence, Root
from refold.erase.model import Mode, Request, Selector, Stage, Target
from refold.erase.prove import Proof
from refold.erase.residue import residue
from refold.heads.checkpoint import known_keys
from refold.keys import crypto
from refold.model import AliasKind
from refold.receipts import verify
from refold.receipts.certificate import (
    CIPHERTEXT,
    COPY_KINDS,
    COPY_STATES,
    KEPT_OUT_ALIASES,
    KEPT_OUT_NAMES,
    KEPT_OUT_RECORDS,
    KIND,
    OWNERS,
    REMAINING,
    TAGS,
    Reason,
    State,
    bucket,
)
from refold.scan.found import Scanned
from refold.scan.needles import Needles
from refold.store import Places, Store, open_store
from tests.conftest import now
from tests.erase.small import CANARY, draft, erase, filled, fold, footprint_of, ruth, say

RECEIVED, DUE, ERASED = 1_733_000_000_000_000, 1_735_592_000_000_000, 1_733_011_200_000_000
ALLOWED_COLUMNS = {"header", "payload", "payload_commit", "entry_hash"}


@dataclass
class Proven:
    places: Places
    request: Request
    evidence: Evidence
    proof: Proof
    found_before: Scanned
    body: dict


def requested(aim: Target) -> Request:
    selector = Selector(subjects=tuple(sorted(aim.subjects)), aliases=((AliasKind.NAME, "Ruth"),))
    return Request(aim.request_id, selector, RECEIVED, DUE, Stage.RUNNING, (), target=aim)


@pytest.fixture(scope="module")
def proven(tmp_path_factory) -> Proven:
    """Erase Ruth from a small memory, and prove it."""
    places = filled(tmp_path_factory.mktemp("proven"))
    with open_store(places) as store:
        state = fold(store)
        aim = ruth(store)
        request = requested(aim)
        known = footprint_of(store, state, request, aim)
        before = residue(store, known)
        state.close()
        reached = erase(store, aim)
        proof = prove.prove(store, request, reached, known, erased_at=ERASED, events_planned=reached.events, now=lambda: ERASED)
        root = Root("file", ERASED, ERASED)
        evidence = Evidence(request, reached, proof.scanned, known, root, ERASED, made_at=ERASED, events_planned=reached.events)
        body = verify.verify(proof.raw, known_keys(store)).body
    return Proven(places, request, evidence, proof, before, dict(body))


def test_what_is_looked_for_is_there_before_and_gone_after(proven):
    assert {hit.path for hit in proven.found_before.hits} >= {"rows of events", "rows of state", "rows of subjects"}
    assert proven.proof.scanned.hits == ()
    assert proven.proof.scanned.controls
    assert proven.proof.scanned.undecodable == ()
    assert proven.proof.state is State.CERTIFIED


def test_what_also_stands_in_what_stays_is_not_looked_for(tmp_path):
    with open_store(filled(tmp_path)) as store:
        aim = replace(ruth(store), events=frozenset())  # Ben's words about her stay
        known = footprint.build(store, ["Ruth", "Ruth Kern"], aim)
    assert "Ruth Kern" in known.needles
    assert "Ruth" not in known.needles
    assert known.shared > 0


@pytest.mark.parametrize("folded", [None, 4, 0])
def test_what_an_erasure_reads_is_all_that_stays_however_much_of_it_was_folded(tmp_path, folded):
    with open_store(filled(tmp_path, folded=folded)) as store:
        aim = ruth(store)
        known = footprint.build(store, ["Ruth", "Ben"], aim)
        gathering = footprint.Gathering(store, ["Ruth", "Ben"], aim)
        erase(store, aim, watch=gathering.read)
    assert gathering.footprint == known
    assert known.shared == 1
    assert "Ben" not in known.needles


@pytest.mark.parametrize("folded", [None, 0])
def test_what_comes_while_an_erasure_reads_is_looked_through_too(tmp_path, folded):
    with open_store(filled(tmp_path, folded=folded)) as store:
        aim = ruth(store)
        gathering = footprint.Gathering(store, ["Ruth", CANARY], aim)
        late = [draft("ben", "10", f"What does {CANARY} mean?")]

        def watch(events):
            if late:
                say(store, late.pop())
            gathering.read(events)

        assert CANARY in gathering.footprint.needles
        erase(store, aim, watch=watch)
    assert CANARY not in gathering.footprint.needles


def test_a_trace_that_somebody_left_refuses_the_certificate(proven, tmp_path):
    (tmp_path / "notes.b64").write_bytes(base64.b64encode(b"My secret word is " + CANARY.encode()))
    with open_store(proven.places) as store:
        found = residue(store, proven.evidence.footprint, extra=[tmp_path])
    assert {Path(hit.path).name for hit in found.hits} == {"notes.b64"}
    said = certificate.said(replace(proven.evidence, scanned=found))
    assert (said["state"], said["reasons"]) == ("refused", [Reason.HITS.value])


def judged(evidence: Evidence) -> tuple[str, list[str]]:
    said = certificate.said(evidence)
    return said["state"], said["reasons"]


OPEN = Copy("0a" * 8, "backup", "open", "operator", DUE)
CASES = [
    ({"undecided": 1}, "refused", Reason.UNDECIDED),
    ({"events_planned": 1}, "refused", Reason.NOT_AS_PLANNED),
    ({"copies": (OPEN,)}, "certified-except", Reason.COPIES),
    ({"root": Root("pkcs11", ERASED, ERASED + 1)}, "certified-except", Reason.ROOT),
]


@pytest.mark.parametrize(("changed", "state", "reason"), CASES, ids=[str(case[2]) for case in CASES])
def test_what_is_not_shown_is_not_certified(proven, changed, state, reason):
    assert judged(replace(proven.evidence, **changed)) == (state, [reason.value])


def test_a_file_that_cannot_be_decoded_and_a_missing_control_refuse(proven):
    unread = replace(proven.evidence.scanned, undecodable=(("a", "b"),))
    assert judged(replace(proven.evidence, scanned=unread)) == ("refused", [Reason.UNDECODABLE.value])
    without = replace(proven.evidence.scanned, controls=())
    assert judged(replace(proven.evidence, scanned=without)) == ("refused", [Reason.CONTROL.value])


def test_a_query_that_was_still_open_is_an_exception(proven):
    evidence = replace(proven.evidence, reached=replace(proven.evidence.reached, readers_drained=False))
    assert judged(evidence) == ("certified-except", [Reason.READERS.value])


def test_what_suppression_keeps_out_is_said_as_far_as_it_goes(proven):
    request, aim = proven.request, proven.request.target

    def remains(**changed) -> list[str]:
        asked = replace(request, suppresses_aliases=changed.pop("aliases", False), target=replace(aim, **changed))
        return certificate.said(replace(proven.evidence, request=asked))["remains"][3:]

    assert remains() == [TAGS, KEPT_OUT_NAMES, KEPT_OUT_RECORDS]
    assert remains(aliases=True, events=frozenset()) == [TAGS, KEPT_OUT_ALIASES]
    assert remains(subjects=frozenset()) == [TAGS, KEPT_OUT_RECORDS]
    assert remains(suppressed=frozenset()) == []


def test_a_control_that_nobody_can_find_is_missing(proven):
    with open_store(proven.places) as store:
        found = residue(store, replace(proven.evidence.footprint, control="something nobody has ever said here"))
    assert found.is_control_missing


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "refused"},
        {"reasons": [Reason.HITS.value]},
        {"as_planned": False},
        {"erased_at": 1},
        {"scan": {"hits": 1}},
        {"reached": {"events_at_most": 5}},
    ],
)
def test_a_certificate_that_contradicts_itself_proves_nothing(proven, changed):
    body = proven.body | {name: proven.body[name] | value if isinstance(value, dict) else value for name, value in changed.items()}
    assert KIND.check(proven.body, []) == KIND.check(dict(proven.body), [])
    with pytest.raises(ValueError, match="contradicts"):
        KIND.check(body, [])


def test_a_certificate_is_one_of_its_schema_which_is_closed(proven):
    schema = json.loads((packaged("refold") / "schemas" / "erasure_certificate.1.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads(proven.proof.raw)
    validator.validate(document)
    said = certificate.said(
        replace(
            proven.evidence,
            copies=tuple(Copy("0a", *each) for each in zip(COPY_KINDS, itertools.cycle(COPY_STATES), itertools.cycle(OWNERS))),
        )
    )
    validator.validate({"body": proven.body | said, "sig": document["sig"]})
    validator.validate({"body": proven.body | {"remains": list(REMAINING)}, "sig": document["sig"]})
    assert not validator.is_valid({"body": proven.body | {"note": "Ruth"}, "sig": document["sig"]})
    assert not validator.is_valid({"body": proven.body | {"request": "Ruth"}, "sig": document["sig"]})


def test_counts_are_rounded_up_to_powers_of_two(proven):
    assert [bucket(number) for number in (0, 1, 2, 3, 4, 5, 1000)] == [0, 1, 2, 4, 4, 8, 1024]
    reached = proven.body["reached"]
    assert all(number == bucket(number) for name, number in reached.items() if name.endswith("_at_most"))


def test_nobody_is_in_a_certificate_or_its_page(proven):
    raw = proven.proof.raw
    embedded, html = base64.b64encode(raw).decode(), page.page(raw, proven.body)
    assert embedded in html
    shown = raw.decode() + html.replace(embedded, "")  # letters of base64 spell a short name by chance, once in some hundred pages
    for word in ("ruth", "oslo", "porto", "chess", "chat:7", CANARY):
        assert word not in shown.lower()
    for subject in proven.evidence.request.target.subjects:
        assert subject.hex() not in shown


def guesses() -> Iterator[str]:
    """Yield a hundred thousand candidates, with everything that Ruth really said among them."""
    names = ("ruth", "Ruth", "ada", "chat:7#2", "chat", CANARY, "I like chess.", f"I live in Oslo. My secret word is {CANARY}.")
    yield from names
    places = ("Oslo", "Berlin", "Porto", "Ghent", "Turin")
    yield from (f"I live in {place}. My secret word is {n}." for place in places for n in range(10_000))
    yield from (f"ruth{n}" for n in range(50_000))


def test_no_digest_that_is_published_answers_to_a_guess(proven):
    """Store, vault and certificate are read for anything that is a digest of a candidate: raw, in hexadecimal or base64."""
    raw = b"".join(
        path.read_bytes() for place in (proven.places.store, proven.places.vault) for path in sorted(place.rglob("*")) if path.is_file()
    )
    text = re.findall(rb"[0-9a-f]{32,}", raw.lower())
    windows = {run[at : at + 32] for run in text for at in range(len(run) - 31)}
    for candidate in guesses():
        for algorithm in (sha256, sha1, md5):
            digest = algorithm(candidate.encode(), usedforsecurity=False).digest()
            assert digest.hex()[:32].encode() not in windows
    looked = Needles.of(
        ["nothing"],
        digests=[a(g.encode(), usedforsecurity=False).digest() for g in itertools.islice(guesses(), 8) for a in (sha256, sha1, md5)],
    )
    with open_store(proven.places) as store:
        assert not residue(store, looked).hits


def test_a_footer_of_the_log_holds_the_allowed_columns_and_nothing_of_their_values(proven):
    parts = list(proven.places.store.rglob("*.parquet"))
    assert parts
    for path in parts:
        metadata = pq.read_metadata(path)
        assert set(metadata.schema.names) == ALLOWED_COLUMNS
        assert set(metadata.metadata or {}) <= {b"ARROW:schema"}
        for group, column in itertools.product(range(metadata.num_row_groups), range(metadata.num_columns)):
            chunk = metadata.row_group(group).column(column)
            assert not chunk.is_stats_set
            assert not chunk.has_dictionary_page
            assert not chunk.has_column_index
            assert chunk.statistics is None


class Outside(HTMLParser):
    """Gathers what a page refers to, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.refers: list[str] = []
        self.text = io.StringIO()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.refers += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "action", "srcset", "data", "background", "poster")]

    def handle_data(self, data: str) -> None:
        self.text.write(data)


def test_a_page_refers_to_nothing_outside(proven):
    shown = page.page(proven.proof.raw, proven.body)
    parser = Outside()
    parser.feed(shown)
    assert parser.refers == []
    assert not re.search(r"https?:|url\(|@import|//", shown.replace("//www.w3.org", ""))


def test_a_page_says_what_the_certificate_says(proven):
    evidence = replace(proven.evidence, copies=(OPEN,))
    body = proven.body | certificate.said(evidence)
    parser = Outside()
    parser.feed(page.page(proven.proof.raw, body))
    text = parser.text.getvalue()
    for line in (*body["remains"], *body["disclaimers"], *body["reasons"], body["derived"], body["key"], body["request"], OPEN.copy_id):
        assert line in text
    counts = body["reached"] | body["scan"]
    assert text.count("none") >= sum(name.endswith("_at_most") and not number for name, number in counts.items())
    for number in filter(None, counts.values()):
        assert (f"{number:,}" if isinstance(number, int) else str(number).strip("[]")) in text


def test_a_page_escapes_whatever_it_is_given(proven):
    shown = page.page(b"{}", proven.body | {"origin": "<b>&\"'</b>", "reasons": ["<script>alert(1)</script>"]})
    assert "<b>" not in shown
    assert "<script>alert" not in shown
    assert "&lt;b&gt;&amp;" in shown


def test_what_a_page_holds_to_check_itself_is_what_was_signed(proven):
    """The script of the page takes body and signature out of the JSON by their places: the same is done here."""
    shown = page.page(proven.proof.raw, proven.body)
    (embedded,) = re.findall(r'id="receipt">([^<]+)<', shown)
    raw = base64.b64decode(embedded)
    assert raw == proven.proof.raw
    end = len(raw) - 138
    body, signature = raw[8:end], bytes.fromhex(raw[end + 8 : end + 136].decode())
    label, key = (bytes.fromhex(*re.findall(rf'data-{name}="([0-9a-f]+)"', shown)) for name in ("label", "key"))
    assert crypto.is_signed(key, signature, label + body)
    assert not crypto.is_signed(key, signature, label + body.replace(b"certified", b"certifies"))


def test_the_log_of_a_store_that_keeps_its_ciphertext_is_dark_and_certified(tmp_path):
    with open_store(filled(tmp_path)) as store:
        state = fold(store)
        aim = ruth(store, mode=Mode.KEEP_CIPHERTEXT)
        request = replace(requested(aim), mode=Mode.KEEP_CIPHERTEXT)
        known = footprint_of(store, state, request, aim)
        state.close()
        reached = erase(store, aim)
        proof = prove.prove(store, request, reached, known, erased_at=ERASED, now=now if now() > ERASED else lambda: ERASED)
    assert proof.state is State.CERTIFIED
    assert proof.raw == proof.path.read_bytes()
    assert CIPHERTEXT in json.loads(proof.raw)["body"]["remains"]


def read_again(store: Store, request: Request) -> bytes:
    return prove.read(store, request.request_id)


def shown(capsys, places: Places, *words: str) -> tuple[int, dict]:
    where = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(getattr(places, name)))]
    code = main(["--format", "json", *where, *words])
    return code, json.loads(capsys.readouterr().out)


def test_a_certificate_is_shown_and_written_as_a_page_and_as_a_paper_that_verifies(proven, tmp_path, capsys):
    html, paper, request = tmp_path / "page.html", tmp_path / "paper", proven.request.request_id.hex()
    with open_store(proven.places) as store:  # as the last stage of a run leaves it
        requests._write(store, proven.request, random=os.urandom)
    code, said = shown(capsys, proven.places, "erase", "certificate", request, "--html", str(html), "--receipt", str(paper))
    assert (code, said["data"]["certificate"]) == (0, proven.body)
    assert html.read_text(encoding="utf-8") == page.page(proven.proof.raw, proven.body)
    assert shown(capsys, proven.places, "verify", str(paper))[0] == 0
    assert shown(capsys, proven.places, "erase", "certificate", request, "--html", str(html))[0] == 2  # never over what is there


def test_an_audit_of_residue_finds_what_is_there_and_nothing_of_what_left(proven, tmp_path, capsys):
    assert shown(capsys, proven.places, "audit", "--residue", "--for", CANARY)[0] == 0
    assert shown(capsys, proven.places, "audit", "--residue", "--for", "rye bread")[0] == 14
    assert shown(capsys, proven.places, "audit", "--residue", "--for", CANARY, "--control", "said by nobody")[0] == 17
    (tmp_path / "left.txt").write_text(CANARY)
    assert shown(capsys, proven.places, "audit", "--residue", "--for", CANARY, "--extra", str(tmp_path))[0] == 14


def test_a_certificate_is_kept_among_the_receipts(proven):
    with open_store(proven.places) as store:
        assert read_again(store, proven.request) == proven.proof.raw
        assert not os.path.relpath(proven.proof.path, store.places.store).startswith("..")
