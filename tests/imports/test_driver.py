from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from refold.cli import main
from refold.cli.imports import ATTACHED, imported
from refold.errors import NotAllowed, Usage
from refold.imports import driver
from refold.imports.driver import ImportReport, Progress, import_files
from refold.imports.reader import File, Malformed, Options
from refold.memory import Memory
from refold.model import AliasKind, Event, Role, Scope
from refold.store import Store
from refold.times import DAY, parse
from tests.imports.conftest import json_lines

NOW = parse("2024-07-01T12:00Z")

Import = Callable[..., ImportReport]


@pytest.fixture
def import_(store: Store) -> Import:
    """Import into the store at a fixed time."""

    def run(*paths: Path, **more: object) -> ImportReport:
        return import_files(store, paths, **{"now": lambda: NOW, "random": os.urandom} | more)  # ty: ignore[invalid-argument-type]

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mine"
    made.mkdir()
    return made


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def chat(*texts: str) -> str:
    return json_lines(*({"role": "user", "content": text} for text in texts))


def events(store: Store) -> list[Event]:
    return [event for batch in store.log.events(0, store.log.head.size) for event in batch]


def texts(store: Store) -> list[str]:
    return [event.text for event in events(store)]


@contextmanager
def no_right_to(path: Path) -> Generator[None]:
    """Take away the right to read a file or folder, from root too."""
    before = path.stat().st_mode
    path.chmod(0)
    if is_root := os.geteuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        path.chmod(before)


def test_source_time_author_and_role_reach_the_log(store, import_, folder):
    path = write(
        folder, "ada.jsonl", json_lines({"role": "user", "name": "Ada", "content": "I live in Berlin", "created_at": "2024-01-10"})
    )
    report = import_(path, options=Options(user="ada", agent="helper", run="r", audience=("b", "a"), subjects=("Ruth",)))
    (event,) = events(store)
    assert (event.text, str(event.source), event.author, event.role) == ("I live in Berlin", "chat:ada#1", "Ada", Role.USER)
    assert (event.said_at, event.recorded_at) == (parse("2024-01-10"), NOW)
    assert (event.scope, event.audience) == (Scope("ada", "helper", "r"), ("a", "b"))
    assert event.ingest == report.ingest
    assert len(event.subjects) == 2  # Ada, who is also the user, and Ruth
    assert report == ImportReport(report.ingest, 1, 1, 0, 0, (), 0, ("chat:ada",))


def test_importing_again_adds_nothing(store, import_, folder):
    write(folder, "ada.jsonl", chat("one", "two", "one"))
    write(folder, "notes.md", "# Notes\n\nsame\n\nother\n\nsame\n")
    first, second = import_(folder), import_(folder)
    assert (first.added, first.already) == (6, 0)
    assert (second.added, second.already) == (0, 6)
    assert second.ingest != first.ingest
    assert len(events(store)) == 6


@pytest.mark.parametrize(
    ("options", "conflicts"),
    [
        (Options(user="ada"), ()),
        (Options(user="ada", audience=("a",)), ("chat:ada",)),
        (Options(user="ada", subjects=("Ben",)), ("chat:ada",)),
    ],
)
def test_importing_again_for_others_says_that_nothing_changes(import_, folder, options, conflicts):
    path = write(folder, "ada.jsonl", chat("one", "two"))
    import_(path, options=Options(user="ada"))
    report = import_(path, options=options)
    assert (report.added, report.already, report.conflicts) == (0, 2, conflicts)


def test_a_changed_chat_adds_what_changed(store, import_, folder):
    import_(write(folder, "ada.jsonl", chat("one", "two")))
    report = import_(write(folder, "ada.jsonl", chat("one", "two, edited", "three")))
    assert (report.added, report.already) == (2, 1)
    assert texts(store) == ["one", "two", "two, edited", "three"]


def test_a_changed_document_adds_what_changed_and_not_what_moved(store, import_, folder):
    import_(write(folder, "notes.md", "# T\n\none\n\nsame\n\nsame\n\nlast\n"))
    report = import_(write(folder, "notes.md", "# T\n\nfirst of all\n\nsame\n\n## Sub\n\none\n\nsame\n\nlast, edited\n"))
    assert (report.added, report.already) == (2, 3)
    assert texts(store) == ["one", "same", "same", "last", "first of all", "last, edited"]


def test_the_same_words_in_another_document_are_another_event(store, import_, folder):
    write(folder, "a/notes.md", "same")
    write(folder, "b/notes.md", "same")
    assert import_(folder).added == 2
    assert [str(event.source) for event in events(store)] == ["doc:a/notes.md#p1", "doc:b/notes.md#p1"]


def test_an_interrupted_import_is_resumed_by_running_it_again(store, import_, folder):
    path = write(folder, "ada.jsonl", chat(*(str(number) for number in range(10))))

    def stop(progress: Progress) -> None:
        if progress.events == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_(path, batch=3, progress=stop)
    assert len(events(store)) == 6
    report = import_(path, batch=3)
    assert (report.added, report.already) == (4, 6)
    assert texts(store) == [str(number) for number in range(10)]


def test_an_import_that_was_killed_is_resumed_by_running_it_again(store, import_, folder):
    path = write(folder, "ada.jsonl", chat(*(str(number) for number in range(40))))
    places = store.places
    code = f"""
import os, time
from pathlib import Path
from refold import store as stores
from refold.imports.driver import import_files
def die(progress):
    if progress.events >= 20:
        os.kill(os.getpid(), 9)
found = stores.places({str(places.store)!r}, {str(places.vault)!r}, {str(places.root)!r})
import_files(stores.open_store(found), [Path({str(path)!r})], now=lambda: {NOW}, batch=5, progress=die)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    store.log.refresh()
    assert len(events(store)) == 20
    assert import_(path).added == 20
    assert sorted(texts(store), key=int) == [str(number) for number in range(40)]


def test_a_malformed_record_is_reported_with_file_place_and_reason_and_the_rest_goes_in(store, import_, folder):
    path = write(folder, "ada.jsonl", chat("one") + "{broken\n" + chat("three"))
    report = import_(path)
    assert report.malformed == (Malformed("line 2", "not valid JSON at its character 2", str(path)),)
    assert (report.added, report.malformed_count) == (2, 1)
    assert texts(store) == ["one", "three"]


def test_a_record_that_the_log_would_refuse_costs_that_record_alone(store, import_, folder):
    ahead, long = NOW + DAY + 1_000_000, "x" * (16 << 20) + "x"
    path = write(
        folder,
        "ada.jsonl",
        json_lines(
            {"role": "user", "content": "one"},
            {"role": "user", "content": "to come", "created_at": ahead},
            {"role": "user", "content": long},
            {"role": "user", "content": "x", "name": "n" * 2_000},
            {"role": "user", "content": "five"},
        ),
    )
    report = import_(path)
    assert texts(store) == ["one", "five"]
    assert [fault.place for fault in report.malformed] == ["line 2", "part 3", "part 4"]
    assert "day ahead" in report.malformed[0].reason


def test_what_has_no_words_is_counted_and_not_added(store, import_, folder):
    path = write(folder, "ada.jsonl", json_lines({"role": "assistant", "content": None}, {"role": "user", "content": " \n"}))
    report = import_(path)
    assert (report.files, report.empty, report.added, report.sources) == (1, 2, 0, ())
    assert events(store) == []


def test_a_text_of_ten_megabytes_goes_in(store, import_, folder):
    assert import_(write(folder, "long.txt", "word " * 2_000_000)).added == 1
    assert len(texts(store)[0]) == 10_000_000


def test_strange_characters_come_back_as_they_were(store, import_, folder):
    text = "nul \u0000 bidi \u202e escape \x1b[31m '; DROP TABLE events; -- \u2028 😀"
    import_(write(folder, "ada.jsonl", json_lines({"role": "user", "content": text, "name": 'O\'Hara "x"; --'})))
    (event,) = events(store)
    assert (event.text, event.author) == (text, 'O\'Hara "x"; --')


@pytest.mark.slow
def test_ten_thousand_people_are_one_import(store, import_, folder):
    lines = json_lines(*({"role": "user", "content": "hello", "name": f"person {number}"} for number in range(10_000)))
    assert import_(write(folder, "many.jsonl", lines)).added == 10_000
    assert len({event.speaker for event in events(store)}) == 10_000


def test_folders_are_walked_in_order_without_what_is_hidden(store, import_, folder):
    for name in ("b.md", "a.md", "sub/c.md", ".hidden.md", ".git/d.md"):
        write(folder, name, f"text of {name}")
    report = import_(folder)
    assert report.files == 3
    assert texts(store) == ["text of a.md", "text of b.md", "text of sub/c.md"]
    assert report.sources == ("doc:a.md", "doc:b.md", "doc:sub/c.md")


def test_a_file_in_the_folder_and_the_file_alone_are_the_same_source(store, import_, folder):
    path = write(folder, "a.md", "text")
    assert (import_(folder).added, import_(path).added) == (1, 0)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0", "not a text"),
        ("table.csv", b"a,b\n", "no reader knows this file"),
        ("wide.txt", "hello".encode("utf-16"), "UTF-16, where UTF-8 is expected"),
        ("gone.md", None, "there is no such file"),
        ("pipe.md", "FIFO", "not a regular file"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_and_the_others_go_in(store, import_, folder, name, content, reason):
    good, bad = write(folder, "good.md", "text"), folder / name
    if content == "FIFO":
        os.mkfifo(bad)
    elif content is not None:
        bad.write_bytes(content)
    report = import_(bad, good)
    assert (report.files, report.added, report.malformed_count) == (1, 1, 1)
    ((fault),) = report.malformed
    assert (fault.path, fault.place) == (str(bad), "")
    assert fault.reason.startswith(reason)
    with pytest.raises(Usage, match=reason) as raised:
        import_(bad)
    assert raised.value.path == str(bad)


def test_a_file_without_permission_is_reported_and_alone_it_is_not_allowed(import_, folder, tmp_path):
    closed = write(folder, "closed.md", "text")
    with no_right_to(tmp_path):
        assert [*driver.found([closed])] == [Malformed("", "it may not be read", str(closed), forbidden=True)]
        with pytest.raises(NotAllowed):
            import_(closed)
        with pytest.raises(Usage, match="none of 2 files"):
            import_(closed, Path("/nowhere"))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_file_that_may_be_seen_and_not_read_is_not_allowed(import_, open_folder):
    closed = write(open_folder, "closed.md", "text")
    with no_right_to(closed), pytest.raises(NotAllowed) as raised:
        import_(open_folder)
    assert raised.value.path == str(closed)


def test_a_folder_that_may_not_be_entered_is_reported(open_folder):
    seen, closed = write(open_folder, "a.md", "text"), write(open_folder, "sub/b.md", "text").parent
    with no_right_to(closed):
        assert [*driver.found([open_folder])] == [File(seen, "a.md"), Malformed("", "it may not be read", str(closed), forbidden=True)]


def test_files_that_were_attached_are_counted_also_where_nothing_else_was_said(import_, folder):
    told = {"sender": "human", "content": [], "attachments": [{"extracted_content": "I live in Rome."}]}
    export = [{"uuid": "c7", "chat_messages": [told, told | {"content": [{"type": "text", "text": "Hello."}]}]}]
    report = import_(write(folder, "conversations.json", json.dumps(export)))
    assert (report.added, report.empty, report.attachments) == (1, 1, 2)
    (warning,) = [finding for finding in imported(report).findings if finding.code == ATTACHED]
    assert warning.message.startswith("2 files attached to what was read")


def test_an_empty_folder_is_refused(import_, folder):
    write(folder, ".hidden.md", "text")
    with pytest.raises(Usage, match="no file in the folders"):
        import_(folder)


def test_an_empty_file_is_read_and_adds_nothing(import_, folder):
    report = import_(write(folder, "empty.md", ""))
    assert (report.files, report.added, report.malformed_count) == (1, 0, 0)


def test_a_link_to_a_folder_above_is_not_walked_for_ever(import_, folder):
    write(folder, "a.md", "text")
    (folder / "loop").symlink_to(folder)
    assert import_(folder).added == 1


def test_a_reader_can_be_named(store, import_, folder):
    path = write(folder, "odd.log", "# not a heading\n\ntext\n")
    import_(path, reader="text")
    assert texts(store) == ["# not a heading", "text"]
    with pytest.raises(Usage, match="there is no reader of that name"):
        import_(path, reader="pdf")


@pytest.mark.parametrize("options", [Options(user="\udcff"), Options(author=" "), Options(subjects=("x" * 2_000,))])
def test_what_the_caller_says_is_refused_before_any_file_is_read(store, import_, folder, options):
    with pytest.raises(Usage):
        import_(write(folder, "a.md", "text"), options=options)
    assert events(store) == []


def test_a_million_faults_are_counted_and_a_thousand_kept(import_, folder, monkeypatch):
    monkeypatch.setattr(driver, "MALFORMED_KEPT_MAX", 10)
    report = import_(write(folder, "ada.jsonl", chat("one") + "{\n" * 50))
    assert (len(report.malformed), report.malformed_count, report.added) == (10, 50, 1)


def test_progress_counts_files_and_events(import_, folder):
    write(folder, "a.jsonl", chat("1", "2", "3"))
    write(folder, "b.jsonl", chat("4") + "{\n")
    seen: list[Progress] = []
    import_(folder, batch=2, progress=seen.append)
    assert seen[-1] == Progress(files=2, files_found=2, events=4, malformed=1)
    assert [each.events for each in seen] == sorted(each.events for each in seen)


def test_a_batch_is_cut_where_it_gets_long(store, import_, folder, monkeypatch):
    monkeypatch.setattr(driver, "BATCH_CHARACTERS_MAX", 100)
    before = store.log.head.version
    import_(write(folder, "a.jsonl", chat(*("x" * 60 for _ in range(8)))))
    assert store.log.head.version - before == 4


def test_no_name_of_a_file_is_written_in_clear(store, import_, folder):
    import_(write(folder, "secretname.md", "# secretheading\n\nsecrettext\n"))
    for path in store.places.store.rglob("*"):
        assert "secret" not in path.name
        assert path.is_dir() or b"secret" not in path.read_bytes()


def test_an_export_with_a_second_branch_adds_only_the_branch(store, import_, folder):
    def export(**nodes: str | None) -> str:
        mapping = {
            name: {"parent": parent, "message": {"author": {"role": "user"}, "content": {"parts": [f"text of {name}"]}}}
            for name, parent in nodes.items()
        }
        return json.dumps([{"id": "c", "mapping": mapping, "current_node": [*nodes][-1]}])

    path = write(folder, "conversations.json", export(a=None, b="a"))
    assert import_(path).added == 2
    write(folder, "conversations.json", export(a=None, b="a", b2="a", c2="b2"))
    assert (import_(path).added, len(events(store))) == (2, 4)


def test_a_memory_in_the_folder_is_not_imported_into_itself(store, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes\n\nA word.\n")
    assert store.places.store.parent == store.places.vault.parent == store.places.root.parent == tmp_path
    report = import_files(store, [tmp_path], now=lambda: NOW)
    assert (report.sources, report.malformed_count) == (("doc:notes.md",), 0)


def test_an_author_who_is_called_like_the_user_is_named_once_and_not_when_they_are_known_to_be_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "note.md").write_text("---\nauthor: Ada Brandt\n---\n\nI like tea.\n", encoding="utf-8")
    (tmp_path / "other.md").write_text("---\nauthor: Ben Abel\n---\n\nI like rye.\n", encoding="utf-8")
    where = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(tmp_path / "memory" / name))]
    main(["init", *where])
    capsys.readouterr()

    def imported() -> list[tuple[str, str]]:
        assert main(["import", str(tmp_path / "note.md"), str(tmp_path / "other.md"), "--user", "ada", *where, "--format", "json"]) == 0
        findings = json.loads(capsys.readouterr().out)["findings"]
        return [(each["remediation"], each["message"]) for each in findings if each["code"] == "RF-IMPORT-004"]

    ((remediation, message),) = imported()
    assert (remediation, message[:8], "Brandt" in message) == ("refold subject alias ID AUTHOR", "1 author", False)
    with Memory.open(tmp_path / "memory/store", vault=tmp_path / "memory/vault", root=tmp_path / "memory/root") as memory:
        memory.subject_add([(AliasKind.HANDLE, "ada"), (AliasKind.NAME, "Ada Brandt")])
    assert imported() == []
