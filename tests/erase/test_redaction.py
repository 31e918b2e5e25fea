"""Others keep of a shared event what somebody reviewed: other words, said to be so, in which the person is nowhere."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from refold import ingest, journal, times
from refold.cli import decided
from refold.erase import certificate, redaction
from refold.erase.certificate import Evidence, Root
from refold.erase.model import Decision, Footprint, Reached, Redaction, Request, Selector, Stage
from refold.errors import Usage
from refold.journal import Direction
from refold.mcp import answers
from refold.memory import Memory
from refold.model import AliasKind, Draft, Event, Scope, Source
from refold.receipts.certificate import NAMESAKES, asked_for
from refold.receipts.form import Body
from refold.recover.intents import KNOWN
from refold.recover.verify import verify
from refold.scan.found import Scanned
from refold.scan.testing import assert_forgotten
from refold.store import Places, open_store
from refold.store import places as find_places
from tests.cli.conftest import Shell
from tests.conftest import now
from tests.journal import KILLED, left, stopped_after, unsynced

NAMES = ["Ruth Kern", "ruth"]
RUTH = Selector(aliases=((AliasKind.HANDLE, "ruth"), (AliasKind.NAME, "Ruth Kern")))
SHARED = "Ruth and I moved house. I live in Munich."
MENTIONING = "R. Kern says hello. I work at Halden Works."
SAID = (
    Draft("I live in Berlin.", Source("chat", "1", "1"), 1_700_000_000_000_000, "ada", scope=Scope("ada")),
    Draft("I live in Porto.", Source("chat", "2", "1"), 1_700_000_000_000_000, "ruth", scope=Scope("ruth")),
    Draft(SHARED, Source("chat", "1", "2"), 1_710_000_000_000_000, "ada", scope=Scope("ada"), subjects=("ruth",)),
    Draft(MENTIONING, Source("chat", "3", "1"), 1_710_000_000_000_000, "ben", scope=Scope("ben"), key="k", metadata={"to": "Ruth Kern"}),
    Draft("Ada lives next door.", Source("chat", "2", "2"), 1_710_000_000_000_000, "ruth", scope=Scope("ruth"), subjects=("ada",)),
)
KEPT = {"shared": [(0, 4)], "mentioning": "I work at Halden Works."}


@dataclass(frozen=True)
class Reviewed:
    """A memory in which the erasure of Ruth is asked for, and approved with two redacted versions for others."""

    places: Places
    request: bytes
    shared: int  # entries
    mentioning: int


def opened(places: Places) -> Memory:
    return Memory.open(places.store, vault=places.vault, root=places.root)


def seq_of(memory: Memory, text: str) -> int:
    return next(event.seq for events in memory.store.log.events() for event in events if event.text == text)


def decide(memory: Memory, request_id: bytes, decision: Decision = Decision.CONCERNS) -> None:
    found = memory.erase_show(request_id).found
    assert found is not None
    memory.erase_decide(request_id, {(one.seq, *one.span): decision for one in found.candidates})


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """Make the memory, as far as its review."""
    folder = tmp_path_factory.mktemp("redaction")
    places = find_places(folder / "store", folder / "vault", folder / "root", env={})
    with unsynced(), Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        ingest.add(memory.store, SAID, ingest=bytes(16), now=now, random=os.urandom)
        memory.fold()
        request = memory.erase_request(RUTH).request_id
        memory.erase_find(request)
        decide(memory, request)
        return Reviewed(places, request, seq_of(memory, SHARED), seq_of(memory, MENTIONING))


@pytest.fixture(scope="module")
def approved(found: Reviewed, tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    made = copied(found, tmp_path_factory.mktemp("approved") / "copy")
    with unsynced(), opened(made.places) as memory:
        memory.erase_keep(made.request, {made.shared: KEPT["shared"], made.mentioning: KEPT["mentioning"]})
        memory.erase_plan(made.request)
        memory.erase_approve(made.request)
    return made


@pytest.fixture(scope="module")
def erased(approved: Reviewed, tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    made = copied(approved, tmp_path_factory.mktemp("erased") / "copy")
    with unsynced(), opened(made.places) as memory:
        assert memory.erase_run(made.request).kept == 2
    return made


def copied(model: Reviewed, folder: Path) -> Reviewed:
    shutil.copytree(model.places.store.parent, folder)
    return replace(model, places=find_places(folder / "store", folder / "vault", folder / "root", env={}))


def texts(memory: Memory) -> list[str]:
    memory.store.log.refresh()
    return [event.text for events in memory.store.log.events() for event in events]


def require_kept(places: Places, request: bytes) -> None:
    """See that it is certified, that others know what they keep, once, and that the person is nowhere."""
    with unsynced(), opened(places) as memory:
        assert [one.stage for one in memory.erase_requests()] == [Stage.CERTIFIED]
        assert texts(memory) == ["I live in Berlin.", "[removed] and I moved house. I live in Munich.", KEPT["mentioning"]]
        assert [fact.value for fact in memory.facts(user_id="ada", relation="lives_in")] == ["Munich"]
        assert [fact.value for fact in memory.facts(user_id="ben", relation="works_at")] == ["Halden Works"]
        assert json.loads(memory.erase_certificate(request))["body"]["reached"]["kept_redacted_at_most"] == 2
        (control,) = [fact.quote for fact in memory.facts(user_id="ben")]
        rows = "\n".join([*texts(memory), *(str(event.metadata) for events in memory.store.log.events() for event in events)])
    assert control in rows
    assert not [name for name in (*NAMES, "Porto") if name.casefold() in rows.casefold()]
    assert_forgotten(places.store.parent, ["Ruth Kern", "R. Kern", "Porto"])
    assert verify(places, deep=True).is_whole


def test_the_review_offers_what_others_said_and_nothing_that_the_person_said(found: Reviewed):
    with opened(found.places) as memory:
        offered = memory.erase_shared(found.request)
    assert [(one.event.text, one.declares, one.text) for one in offered] == [(SHARED, True, None), (MENTIONING, False, None)]


def test_the_plan_shows_what_goes_and_what_others_go_on_knowing(found: Reviewed, approved: Reviewed):
    with opened(approved.places) as memory:
        planned = memory.erase_plan(approved.request)
    assert [(fact.entity, fact.value) for fact in planned.kept] == [("ada", "Munich"), ("ben", "Halden Works")]
    assert ("ada", "Munich") not in [(fact.entity, fact.value) for fact in planned.diff.gone]
    assert [fact.value for fact in planned.diff.again] == []
    with opened(found.places) as memory:
        planned = memory.erase_plan(found.request)
    assert ("ada", "Munich") in [(fact.entity, fact.value) for fact in planned.diff.gone]
    assert [fact.value for fact in planned.diff.again] == ["Berlin"]
    assert planned.kept == ()


def test_others_know_by_it_what_they_knew_and_the_person_is_nowhere(erased: Reviewed):
    require_kept(erased.places, erased.request)


def test_it_says_that_it_is_not_what_was_said(erased: Reviewed):
    with opened(erased.places) as memory:
        (fact,) = memory.facts(user_id="ada", relation="lives_in")
        hits = {hit.text: hit.redacted_at for hit in memory.search("who moved house to live in Munich or Berlin", user_id="ada")}
        sayings = memory.why(fact).sayings
        lines = memory.context("where does ada live, who moved house", user_id="ada").text
    assert fact.redacted_at is not None
    assert [saying.redacted_at for saying in sayings] == [fact.redacted_at]
    assert hits == {"[removed] and I moved house. I live in Munich.": fact.redacted_at, "I live in Berlin.": None}
    assert "ada (redacted): " in lines


def test_it_stands_where_the_first_one_stood_and_concerns_whoever_is_left(erased: Reviewed):
    with opened(erased.places) as memory:
        ada, ben = ({first for first, entries in memory.subjects().items() if entries[0].aliases[0][1] == name} for name in ("ada", "ben"))
        events = {event.source.ref: event for batch in memory.store.log.events() for event in batch}
    for ref, text, people in (("1", SHARED, ada), ("3", MENTIONING, ben)):
        (draft,) = [draft for draft in SAID if draft.text == text]
        made = events[ref]
        assert (made.source, made.said_at, made.author, made.scope) == (draft.source, draft.said_at, draft.author, draft.scope)
        assert (set(made.subjects), made.ingest, made.key, [*made.metadata]) == (people, bytes(16), draft.key, ["redacted_at"])


def test_the_same_file_brings_the_first_version_back_neither_beside_nor_instead(erased: Reviewed, tmp_path: Path):
    made = copied(erased, tmp_path / "copy")
    with unsynced(), opened(made.places) as memory:
        before = texts(memory)
        stripped = [replace(draft, subjects=()) for draft in SAID if draft.author != "ruth"]  # as a reader that declares nobody else
        again = [ingest.add(memory.store, drafts, ingest=os.urandom(16), now=now, random=os.urandom) for drafts in (SAID, stripped)]
        assert [(one.new, one.suppressed, one.differs) for one in again[1]] == [
            (False, False, False),
            (False, True, False),
            (False, False, True),  # by its key
        ]
        assert [one.suppressed for one in again[0]] == [False, True, True, False, True]
        assert texts(memory) == before
        as_kept = [replace(draft, text=text, metadata={}) for draft, text in zip(stripped, before, strict=True)]
        assert not any(one.new for one in ingest.add(memory.store, as_kept, ingest=os.urandom(16), now=now, random=os.urandom))


def test_the_erasure_of_another_reaches_what_was_kept_for_them(erased: Reviewed, tmp_path: Path):
    made = copied(erased, tmp_path / "copy")
    with unsynced(), opened(made.places) as memory:
        plan = memory.plan_erasure(user_id="ada")
        assert memory.erase(plan).reached.events == 2
        assert texts(memory) == [KEPT["mentioning"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ruth and I live in Munich.", "still says who is erased"),
        ("r. kern and I live in Munich.", "still says who is erased"),
        ("  ", "the text is empty"),
        ([(0, 400)], "lie outside the text"),
        ([(0, 4), (2, 6)], "overlap"),
        ([(9, 14)], "still says who is erased"),
    ],
)
def test_what_still_names_the_person_is_refused(found: Reviewed, text: str | list[tuple[int, int]], message: str):
    with opened(found.places) as memory:
        with pytest.raises(Usage, match=message):
            memory.erase_keep(found.request, {found.shared: text})
        assert memory.erase_show(found.request).kept == ()


def test_what_the_person_said_or_what_was_asked_for_by_itself_is_not_kept(found: Reviewed):
    with opened(found.places) as memory:
        for seq in (seq_of(memory, "I live in Porto."), seq_of(memory, "Ada lives next door.")):
            with pytest.raises(Usage, match="said entry"):
                memory.erase_keep(found.request, {seq: "Ada lives somewhere."})
        alone = memory.plan_erasure(event=memory.store.log.event(found.shared).event_id).target.request_id
        with pytest.raises(Usage, match="asked for by itself"):
            memory.erase_keep(alone, {found.shared: "I live in Munich."})


def test_a_place_that_names_the_person_is_refused_whatever_the_text_says(found: Reviewed, tmp_path: Path):
    made = copied(found, tmp_path / "copy")
    with unsynced(), opened(made.places) as memory:
        added = memory.add("Ruth Kern is here.", user_id="ada", source="chat:ruth#1")
        memory.erase_find(made.request)
        with pytest.raises(Usage, match="beside its text"):
            memory.erase_keep(made.request, {added.seq: "Somebody is here."})


def test_a_namesake_may_stay_in_it_and_nobody_else_of_that_name(found: Reviewed, tmp_path: Path):
    made = copied(found, tmp_path / "copy")
    with unsynced(), opened(made.places) as memory:
        added = memory.add("Ruth Kern knows Ruth Albers.", user_id="ben", source="chat:3#2")
        request = memory.erase_find(made.request)
        assert request.found is not None
        mentions = [one for one in request.found.candidates if one.seq == added.seq]
        memory.erase_decide(made.request, {(one.seq, *one.span): decided_of(one.span) for one in mentions})
        memory.erase_keep(made.request, {added.seq: "[removed] knows Ruth Albers."})
        with pytest.raises(Usage, match="still says"):
            memory.erase_keep(made.request, {added.seq: "Ruth knows Ruth Albers."})


def decided_of(span: tuple[int, int]) -> Decision:
    return Decision.CONCERNS if span[0] == 0 else Decision.NAMESAKE


def test_another_choice_has_to_be_planned_and_approved_anew(approved: Reviewed, tmp_path: Path):
    made = copied(approved, tmp_path / "copy")
    with unsynced(), opened(made.places) as memory:
        changed = memory.erase_keep(made.request, {made.shared: None})
        assert (changed.stage, changed.target, changed.approved_by, len(changed.kept)) == (Stage.REVIEWED, None, (), 1)
        decide(memory, made.request, Decision.NAMESAKE)
        with pytest.raises(Usage, match="1 of the events that a redacted version is kept of do not go"):
            memory.erase_plan(made.request)


def test_a_name_that_became_known_since_stops_the_plan(approved: Reviewed, tmp_path: Path):
    made = copied(approved, tmp_path / "copy")
    with unsynced(), opened(made.places) as memory:
        memory.subject_add([(AliasKind.HANDLE, "ruth"), (AliasKind.NAME, "Halden Works")])
        memory.erase_find(made.request)
        decide(memory, made.request)
        with pytest.raises(Usage, match="still says who is erased"):
            memory.erase_plan(made.request)


def steps_to(places: Places) -> list[str]:
    (entry,) = left(places)
    assert entry.journal is not None
    return [str(step.target) if isinstance(step, journal.RecordedChange) else step.intent for step in entry.journal.steps]


@pytest.mark.parametrize(("before", "done"), [("erase-keep", 0), ("erase-keep", 1)])
def test_killed_around_its_step_it_is_completed_and_there_once(approved: Reviewed, tmp_path: Path, before: str, done: int):
    at = kept_step(approved, tmp_path / "steps").index(before) + done
    made = copied(approved, tmp_path / "copy")
    assert stopped_after(run_of(made), at) == KILLED
    recover(made.places, Direction.COMPLETE)
    with unsynced(), opened(made.places) as memory:
        memory.erase_run(made.request)
    require_kept(made.places, made.request)


def test_rolled_back_there_is_no_redacted_version_and_a_later_run_keeps_it(approved: Reviewed, tmp_path: Path):
    made = copied(approved, tmp_path / "copy")
    assert stopped_after(run_of(made), 2) == KILLED
    recover(made.places, Direction.ROLL_BACK)
    with unsynced(), opened(made.places) as memory:
        assert texts(memory) == [draft.text for draft in SAID]
        memory.erase_run(made.request)
    require_kept(made.places, made.request)


def kept_step(approved: Reviewed, folder: Path) -> list[str]:
    made = copied(approved, folder)
    assert stopped_after(run_of(made), 2) == KILLED
    return steps_to(made.places)


def run_of(made: Reviewed) -> Callable[[], object]:
    def run() -> object:
        with opened(made.places) as memory:
            return memory.erase_run(made.request)

    return run


def recover(places: Places, direction: Direction) -> None:
    (entry,) = left(places)
    with unsynced():
        journal.recover(places, entry.id, direction, open_store=lambda: open_store(places), intents=KNOWN)


def test_on_the_command_line_it_is_decided_planned_and_certified(found: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    made = copied(found, tmp_path / "copy")
    shell, request = Shell(tmp_path / "copy", capsys), made.request.hex()
    file = tmp_path / "decisions.json"
    file.write_text(json.dumps({str(made.shared): {"spans": [[0, 4]]}, str(made.mentioning): {"text": KEPT["mentioning"]}}))
    shown = shell.json("erase", "review", request, "--decide", str(file)).data
    assert [(one["id"], one["decision"], one["redacted"]) for one in shown["shared"]] == [
        (str(made.shared), "redacted", "[removed] and I moved house. I live in Munich."),
        (str(made.mentioning), "redacted", KEPT["mentioning"]),
    ]
    assert "2 events of others, 2 kept redacted" in shell("erase", "review", request).out
    planned = shell("erase", "plan", request).out
    assert "what others go on knowing, by redacted versions" in planned
    assert "2 redacted versions for others" in planned
    shell("erase", "approve", request)
    with unsynced():
        assert "2 redacted versions for others" in shell("erase", "run", request, "--confirm", request[:8]).out
    assert "I live in Munich. (redacted on " in shell("facts", "--user", "ada").out.replace('"', "")
    paper = next((made.places.store / "receipts").glob("erasure_certificate-*.json"))
    assert "kept redacted: at most 2" in shell("verify", str(paper)).out


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ('{"7": {"text": "a"}, "8": {"spans": [[1, 2]]}, "9": "dark"}', {7: "a", 8: [(1, 2)], 9: None}),
        ('[{"id": "7", "decision": "redacted", "text": "a"}, {"id": "9", "decision": "dark"}]', {7: "a", 9: None}),
        ('id,decision\n7,redacted,"a, b"\n9,dark\n', {7: "a, b", 9: None}),
    ],
)
def test_versions_are_handed_in_as_json_or_lines(text: str, versions: object):
    assert decided.read(text) == decided.Decided({}, versions)  # ty: ignore[invalid-argument-type]


@pytest.mark.parametrize("text", ["7,redacted\n", '{"7": {}}', '{"7": {"text": "a", "spans": []}}', '{"7": {"text": 3}}'])
def test_half_a_version_is_refused(text: str):
    with pytest.raises(Usage, match="not of the form"):
        decided.read(text)


@pytest.mark.parametrize("decision", ["concerns", "namesake", "undecided"])
def test_what_an_event_declares_is_no_mention_to_decide_about(decision: str):
    with pytest.raises(Usage, match="an event as a whole is dark or redacted; what is declared"):
        decided.read(f"7,{decision}\n")


def test_a_text_is_cut_where_it_is_said_to_be():
    assert redaction.cut("Ruth and Ada", [(9, 12), (0, 4)]) == "[removed] and [removed]"


def test_the_words_of_a_version_are_in_no_repr():
    assert "secret" not in repr(Redaction(b"e" * 16, "secret"))  # ty: ignore[invalid-argument-type]


def test_only_a_whole_number_says_when_somebody_redacted(found: Reviewed):
    with opened(found.places) as memory:
        event = memory.store.log.event(found.shared)
    assert [at(event, value) for value in (5, True, "today", None)] == [5, None, None, None]


def at(event: Event, value: object) -> int | None:
    return replace(event, metadata={"redacted_at": value}).redacted_at


def test_an_agent_is_told_that_it_is_not_what_was_said(erased: Reviewed):
    with opened(erased.places) as memory:
        (hit, *_) = memory.search("moved house", user_id="ada")
        (fact,) = memory.facts(user_id="ada", relation="lives_in")
    assert answers.of_hit(hit).redacted_at == answers.of_fact(fact).redacted_at == times.iso(fact.redacted_at or 0)


def test_a_certificate_says_in_words_what_was_asked_and_that_namesakes_were_left(found: Reviewed):
    with opened(found.places) as memory:
        request = memory.erase_show(found.request)
    assert request.found is not None
    others = tuple(replace(one, decision=Decision.NAMESAKE) for one in request.found.candidates)
    said, left = map(said_of, (request, replace(request, found=replace(request.found, candidates=others))))
    assert [NAMESAKES in body["remains"] for body in (said, left)] == [False, True]
    assert asked_for(said) == ["everything about whoever goes by any of 2 names, user ids, addresses or numbers that were given"]
    assert asked_for({"asked": {"aliases": 0, "subjects": 1, "events": 2}}) == ["everything about the person of one id", "2 events"]


def said_of(request: Request) -> Body:
    """Return what a certificate of a request would say, had it been carried out."""
    scanned = Scanned(1, 1, 1, (), (), False, (), ())
    reached = Reached(1, 2, (9,), 2, 1, 0, 0, 0, 1, 2)
    return certificate.said(Evidence(request, reached, scanned, Footprint((), (), "control"), Root("file", 3, 3), 3, 4))
