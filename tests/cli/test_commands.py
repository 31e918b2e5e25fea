"""Each command on a good day: what it says to people and to programs."""

from __future__ import annotations

import io
import json
import sys

import pytest

from refold import cli, disclaimers, times


def test_init_makes_the_three_places_and_says_what_each_means_for_backups(empty_shell, tmp_path):
    printed = empty_shell("init")
    assert (printed.code, printed.err) == (0, "")
    for name in ("store", "vault", "root"):
        assert (tmp_path / name).is_dir()
        assert f"{name:<5}  {tmp_path / name}" in printed.out
    assert "back it up, but never with the store" in printed.out
    assert empty_shell("status").code == 0


def test_init_tells_a_program_the_places_and_what_a_root_file_is_worth(empty_shell, tmp_path):
    envelope = empty_shell.json("init").envelope
    assert envelope["data"]["places"] == {name: str(tmp_path / name) for name in ("store", "vault", "root")}
    assert envelope["disclaimers"] == [disclaimers.ROOT_FILE]


def test_the_places_may_come_from_the_environment(tmp_path, monkeypatch, capsys):
    for name in ("store", "vault", "root"):
        monkeypatch.setenv(f"REFOLD_{name.upper()}", str(tmp_path / name))
    assert cli.main(["init"]) == 0
    assert cli.main(["--format", "json", "status"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["data"]["places"]["vault"] == str(tmp_path / "vault")


def test_what_is_added_is_found_before_any_fold(shell):
    added = shell.json("add", "I like Darjeeling.", "--user", "ada", "--source", "chat:9#1", "--said-at", "2024-07-01").data
    assert (added["seq"], added["new"]) == (6, True)
    found = shell("search", "Darjeeling", "--user", "ada")
    assert found.out.startswith('ada  2024-07-01  chat:9#1  unfolded  "I like Darjeeling."')
    assert shell.json("search", "Darjeeling", "--user", "ada").data["results"][0]["folded"] is False


def test_a_key_makes_adding_idempotent(shell):
    first = shell.json("add", "I like tea.", "--user", "ada", "--key", "k").data
    again = shell.json("add", "I like tea.", "--user", "ada", "--key", "k").data
    assert (again["event_id"], again["seq"], again["new"]) == (first["event_id"], first["seq"], False)
    assert "(was there already)" in shell("add", "I like tea.", "--user", "ada", "--key", "k").out


def test_nothing_personal_needs_to_stand_in_the_command_line(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ada\nI adore Zürich.\n".encode())))
    assert shell("add", "-", "--user", "-").code == 0
    assert '"I adore Zürich."' in shell("search", "Zürich", "--user", "ada").out


def test_facts_show_what_holds_with_its_time_its_source_and_its_words(shell):
    printed = shell("facts", "--user", "ada", "--relation", "lives_in")
    (line,) = [line for line in printed.out.splitlines() if "lives_in" in line]
    fact_id, rest = line.split("  ", 1)
    assert " ".join(rest.split()) == 'ada lives_in Munich since 2023 chat:7#2 "I\'ve been living in Munich since 2023."'
    (fact,) = shell.json("facts", "--user", "ada", "--relation", "lives_in").data["facts"]
    assert fact["fact_id"].startswith(fact_id)
    assert (fact["value"], fact["valid_from"], fact["standing"]) == ("Munich", "2023-01-01T00:00:00Z", "holds")


def test_the_history_shows_what_held_before(shell):
    printed = shell("facts", "--user", "ada", "--relation", "lives_in", "--history").out
    assert "Berlin" in printed
    assert "superseded" in printed
    assert "2 facts" in printed


def test_as_of_a_sequence_number_takes_back_what_came_later(shell):
    (berlin,) = [f for f in shell.json("facts", "--user", "ada", "--history").data["facts"] if f["value"] == "Berlin"]
    (before,) = shell.json("facts", "--user", "ada", "--relation", "lives_in", "--as-of", str(berlin["seq"])).data["facts"]
    assert before["value"] == "Berlin"


def test_valid_at_asks_for_a_time_in_the_world(shell):
    (fact,) = shell.json("facts", "--user", "ada", "--relation", "lives_in", "--valid-at", "2024-07").data["facts"]
    assert fact["value"] == "Munich"


def test_the_operator_asks_across_all_scopes(shell):
    assert "Siemens" in shell("search", "Siemens", "--as", "operator").out
    assert "Siemens" not in shell("search", "Siemens", "--user", "ada").out


def test_context_is_cited_and_within_its_budget(shell):
    data = shell.json("context", "where does Ada live?", "--user", "ada", "--tokens", "60").data
    assert "Munich" in data["text"]
    assert "chat:7#2" in data["text"]
    assert 0 < data["tokens"] <= 60


def test_search_explains_its_scores(shell):
    data = shell.json("search", "Munich", "--user", "ada", "--explain").data
    assert data["results"][0]["explain"]
    assert "coverage" in shell("search", "Munich", "--user", "ada", "--explain").out


def test_fold_says_what_it_would_do_and_then_does_it(shell):
    planned = shell.json("fold", "--plan").data["plan"]
    assert (planned["entries"], planned["reason"]) == (2, "new entries")
    assert "would fold 2 entries in 1 batch: new entries" in shell("fold", "--plan").out
    folded = shell.json("fold").data
    assert (folded["events"], folded["assertions"], folded["generation"]) == (1, 1, 2)
    assert shell.json("fold", "--plan").data["plan"]["entries"] == 0
    assert shell.json("fold").data["generation"] == 2
    assert shell.json("fold", "--full").data["plan"]["full"] is True


def test_fold_says_how_far_what_read_the_events_was_closed(shell):
    assert shell.json("fold").data["closure_level"] == "declared"
    assert shell.json("fold", "--full", "--require-closure", "tripwire").data["closure_level"] in ("tripwire", "kernel")
    assert "closure" in shell("fold", "--full", "--require-closure", "tripwire").out


def test_status_fits_on_a_screen_and_names_nobody(shell):
    printed = shell("status")
    lines = printed.out.splitlines()
    assert len(lines) <= 24
    assert "to fold  2 entries" in lines
    assert "Munich" not in printed.out
    assert "ada" not in printed.out.replace(str(shell.folder), "")
    data = shell.json("status").data
    assert (data["log"]["entries"], data["state"]["unfolded"], data["events"]) == (6, 2, 3)
    times.parse(data["log"]["recorded_until"])


def test_import_says_what_came_in_and_what_was_left_out_and_where(shell, tmp_path):
    lines = [{"role": "user", "content": "I like tea."}, {"role": "user", "content": "I like rum."}]
    (tmp_path / "chat.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n{broken\n")
    printed = shell("import", str(tmp_path / "chat.jsonl"), "--user", "ada")
    assert printed.code == 0
    assert printed.out == "added 2 events from 1 file, 1 left out\nnext: refold fold, which reads them into facts\n"
    assert "with: place line 3" in printed.err
    assert "broken" not in printed.err
    again = shell.json("import", str(tmp_path / "chat.jsonl"), "--user", "ada").envelope
    assert (again["status"], again["data"]["added"], again["data"]["already"]) == ("PASS", 0, 2)
    assert [finding["severity"] for finding in again["findings"]] == ["warning"]


def test_import_says_where_another_audience_changes_nothing(shell, tmp_path):
    (tmp_path / "chat.jsonl").write_text(json.dumps({"role": "user", "content": "I like tea."}) + "\n")
    shell("import", str(tmp_path / "chat.jsonl"), "--user", "ada")
    again = shell.json("import", str(tmp_path / "chat.jsonl"), "--user", "ada", "--audience", "team").envelope
    assert again["data"]["conflicts"] == ["chat:chat"]
    assert [(finding["code"], finding["severity"]) for finding in again["findings"]] == [("RF-IMPORT-002", "warning")]
    assert "tea" not in json.dumps(again)


def test_people_are_listed_with_all_they_go_by(shell):
    shell("subject", "add", "Ruth Brandt", "ruth@example.org", "+49 89 1234567", "ruth")
    (shown,) = shell.json("subject", "show", "RUTH@example.org").data["subjects"]
    assert [(alias["kind"], alias["alias"]) for alias in shown["aliases"]] == [
        ("name", "Ruth Brandt"),
        ("email", "ruth@example.org"),
        ("phone", "+49 89 1234567"),
        ("handle", "ruth"),
    ]
    assert shell("subject", "show", shown["subject"]).out.startswith(f"subject {shown['subject']}")
    assert "Ruth Brandt, ruth@example.org" in shell("subject", "list").out


def test_a_person_is_found_by_an_alias_added_later(shell):
    first = shell.json("subject", "add", "Ruth Brandt").data["subject"]
    assert shell.json("subject", "add", "Ruth Brandt", "ruthie").data["subject"] == first
    (shown,) = shell.json("subject", "show", "ruthie").data["subjects"]
    assert {alias["alias"] for alias in shown["aliases"]} == {"Ruth Brandt", "ruthie"}


def test_two_who_turn_out_to_be_one_are_shown_as_one(shell):
    first, second = (shell.json("subject", "add", name).data["subject"] for name in ("Ruth Brandt", "ruthie"))
    assert shell.json("subject", "add", "ruthie", "Ruth Brandt").data["subject"] == first
    (listed,) = [one for one in shell.json("subject", "list").data["subjects"] if second in one["ids"]]
    assert (listed["subject"], listed["ids"]) == (first, [first, second])
    for asked in ("ruthie", "Ruth Brandt", first, second):
        assert shell.json("subject", "show", asked).data["subjects"] == [listed]
    assert second in shell("subject", "show", "ruthie").out


def test_aliases_may_come_from_standard_input(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Ruth Brandt\n\nruthie\n")))
    assert shell.json("subject", "add", "-").data["aliases"] == 2


def test_the_format_version_is_that_of_the_store(shell):
    from refold import store
    from refold.cli.command import FORMAT_VERSION

    assert store.FORMAT.endswith(f"/{FORMAT_VERSION}")
    assert shell.json("status").envelope["format_version"] == FORMAT_VERSION


@pytest.mark.parametrize("argv", [("status",), ("facts", "--user", "ada"), ("search", "Munich", "--user", "ada"), ("fold",)])
def test_lines_fit_on_a_hundred_columns(shell, argv):
    places = [str(shell.folder / name) for name in ("store", "vault", "root")]
    assert all(len(line) <= 100 for line in shell(*argv).out.splitlines() if not any(place in line for place in places))


def test_facts_say_how_many_events_that_may_be_seen_are_not_folded(shell):
    shell("add", "I like jazz.", "--user", "ben", "--audience", "family")
    ben = shell("facts", "--user", "ben").out
    assert ben.splitlines() == ["no facts", "", "0 facts", "1 event not folded yet: refold fold"]
    assert shell.json("facts", "--user", "ben", "--as", "operator").data["unfolded"] == 2
    assert "not folded" not in shell("facts", "--user", "ada").out
    assert "not folded" not in shell("facts", "--user", "ben", "--as-of", "2").out
    shell("fold")
    assert "not folded" not in shell("facts", "--user", "ben").out


def test_an_audience_is_seen_by_principals_who_hold_its_labels(shell, tmp_path, monkeypatch):
    shell("add", "My PIN is a secret of the family.", "--user", "ada", "--audience", "family")
    settings = tmp_path / "own.toml"
    settings.write_text('[principals.child]\nlabels = ["family"]\nusers = ["ada"]\n[principals.guest]\nlabels = []\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(settings))
    assert "PIN" in shell("search", "PIN", "--as", "child").out
    assert "PIN" in shell("search", "PIN", "--as", "operator").out
    assert "PIN" not in shell("search", "PIN", "--as", "guest", "--user", "ada").out
    assert "PIN" not in shell("search", "PIN", "--user", "ada").out
    assert shell("search", "Siemens", "--as", "child", "--user", "ben").code == 16
    assert shell("status", "--as", "child").code == 16


def test_many_warnings_of_one_kind_are_one_for_a_person_and_all_for_a_program(shell, tmp_path):
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "I like tea."}\n' + '{"role": "king", "content": "x"}\n' * 9)
    said = shell("import", str(chat), "--user", "ada").err
    assert said.count("left out") == 1
    assert "and 8 more such warnings, which --format json lists" in said
    assert [each["code"] for each in shell.json("import", str(chat), "--user", "ada").envelope["findings"]].count("RF-IMPORT-001") == 9


def test_a_note_is_shown_by_the_beginning_of_its_id(shell):
    event = shell.json("add", "I like Darjeeling.", "--user", "ada").data["event_id"]
    assert f"note:{event[:8]}  unfolded" in shell("search", "Darjeeling", "--user", "ada").out
    assert shell.json("search", "Darjeeling", "--user", "ada").data["results"][0]["source"] == f"note:{event}"


def warned(printed):
    return [finding["code"] for finding in printed.envelope["findings"]]


def test_whoever_adds_to_nobodys_memory_is_told_who_will_find_it(shell, tmp_path, monkeypatch):
    (tmp_path / "notes.md").write_text("I like tea.\n")
    importing = ("import", str(tmp_path / "notes.md"), "--said-at", "2024-06-01")
    (tmp_path / "refold.toml").write_text('[principals.assistant]\nusers = ["ada"]\n[principals.clerk]\nlabels = ["family"]\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(tmp_path / "refold.toml"))
    for call in (("add", "I like tea."), importing):
        assert warned(shell.json(*call)) == warned(shell.json(*call, "--as", "clerk")) == ["RF-SCOPE-001"]
        assert warned(shell.json(*call, "--user", "ada")) == warned(shell.json(*call, "--run", "7")) == []
    assert warned(shell.json("add", "I like tea.", "--as", "assistant")) == []
    said = shell("add", "I like tea.").err
    assert "only a principal (--as) finds it" in said
    assert "run: refold help scope" in said


def test_files_without_a_time_take_the_one_that_is_given_and_else_are_reported(shell, tmp_path):
    chat, note = tmp_path / "chat.jsonl", tmp_path / "2024-05-01.md"
    chat.write_text('{"role": "user", "content": "I like tea."}\n{"role": "user", "content": "Hello.", "created_at": "2023-02-03"}\n')
    note.write_text("I like coffee.\n")
    given = shell.json("import", str(chat), str(note), "--user", "ada", "--said-at", "2022-06")
    assert (given.data["undated"], warned(given)) == (0, [])
    times_ = {hit["text"]: hit["said_at"][:10] for hit in shell.json("search", "tea coffee Hello", "--user", "ada").data["results"]}
    assert times_ == {"I like tea.": "2022-06-01", "Hello.": "2023-02-03", "I like coffee.": "2024-05-01"}
    without = shell.json("import", str(chat), str(note), "--user", "ben")
    assert (without.data["undated"], warned(without)) == (1, ["RF-IMPORT-003"])
    again = shell.json("import", str(chat), str(note), "--user", "ben")
    assert (again.code, again.data["undated"], warned(again)) == (0, 0, [])
    assert shell("import", str(chat), "--user", "ada", "--said-at", "2999").code == 2


@pytest.mark.parametrize("records", [1, 3])
def test_an_import_of_which_every_record_is_malformed_fails(shell, tmp_path, records):
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "king", "content": "x"}\n' * records)
    printed = shell.json("import", str(chat), "--user", "ada")
    (finding,) = printed.envelope["findings"]
    assert (printed.code, finding["path"], finding["details"]) == (2, str(chat), {"place": "line 1"})
    assert ("none of 3 records" in finding["message"]) == (records > 1)
    chat.write_text('{"role": "user", "content": ""}\n{"role": "king", "content": "x"}\n')
    assert shell("import", str(chat), "--user", "ada").code == 0


def test_an_import_of_which_a_principal_may_write_nothing_is_not_allowed(shell, tmp_path, monkeypatch):
    (tmp_path / "refold.toml").write_text('[principals.assistant]\nusers = ["ada"]\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(tmp_path / "refold.toml"))
    (tmp_path / "chat.jsonl").write_text('{"role": "user", "name": "ben", "content": "I like tea."}\n')
    printed = shell.json("import", str(tmp_path / "chat.jsonl"), "--as", "assistant")
    assert (printed.code, printed.envelope["exit_class"]) == (16, "not-allowed")


def test_why_a_name_holds_is_told_once(shell):
    shell("add", "My name is Ada Brandt.", "--user", "ada", "--source", "chat:9#1", "--said-at", "2024-07-01")
    shell("add", "Everyone calls me Addie.", "--user", "ada", "--source", "chat:9#2", "--said-at", "2024-07-02")
    assert shell("fold").code == 0
    facts = {fact["value"]: fact["fact_id"] for fact in shell.json("facts", "--user", "ada", "--history").data["facts"]}
    for name in ("Ada Brandt", "Addie"):
        assert "same as" not in shell("why", facts[name], "--user", "ada").out
    assert shell("why", facts["Munich"], "--user", "ada").out.count("same as") == 2


def test_a_name_that_nobody_bears_is_answered_with_those_like_it_that_may_be_seen(shell):
    for labels, text in (((), "Zebulon lives in Oslo."), (("--audience", "doctor"), "Zebulona lives in Bonn.")):
        shell("add", text, "--user", "ada", "--said-at", "2024-07-01", *labels)
    shell("fold")
    printed = shell("facts", "Zebulun", "--user", "ada")
    assert printed.out.splitlines()[-1] == "nobody is known by this name; alike are Zebulon"
    assert shell.json("facts", "Zebulun", "--as", "operator").data["similar"] == ["Zebulon", "Zebulona"]
    assert shell.json("facts", "Zebulon", "--user", "ada").data["similar"] == []
    assert shell.json("facts", "Zebulon", "--user", "ada", "--relation", "likes").data["similar"] == []
    assert shell.json("facts", "Zebulun", "--user", "ben").data["similar"] == []


def test_a_name_that_nobody_has_is_refused_with_how_many_are_spelled_alike(shell):
    said = shell.json("subject", "show", "adda")
    finding = said.envelope["findings"][0]
    assert (said.code, finding["remediation"]) == (2, "refold subject find ALIAS")
    assert finding["message"] == "nobody is known by this alias or id; 1 alias is spelled alike"
    assert [one["aliases"][0]["alias"] for one in shell.json("subject", "find", "adda").data["subjects"]] == ["ada"]
    assert shell.json("subject", "show", "zoe").envelope["findings"][0]["remediation"] == "refold subject list"


def test_a_relation_in_the_place_of_a_fact_is_told_what_a_fact_is_named_by(shell):
    finding = shell.json("why", "lives_in", "--user", "ada").envelope["findings"][0]
    assert finding["remediation"] == "refold facts"
    assert "named by its id" in finding["message"]


def test_the_status_counts_as_many_facts_as_the_operator_is_listed(shell):
    assert shell.json("status").data["facts"]["holds"] == len(shell.json("facts", "--as", "operator").data["facts"]) > 0


def test_a_person_is_named_by_how_their_id_begins(shell):
    subject = shell.json("subject", "show", "ada").data["subjects"][0]["subject"]
    assert shell.json("subject", "show", subject[:8]).data["subjects"][0]["subject"] == subject
    assert shell("subject", "show", subject[:7]).code == 2
    assert shell.json("subject", "alias", subject[:8], "Ada Brandt").data["subject"] == subject
    assert shell.json("subject", "show", "Ada Brandt").data["subjects"][0]["subject"] == subject


def test_a_report_on_nobody_does_not_say_that_they_are_known(shell):
    printed = shell("subject", "report", "--user", "Zoe Nobody")
    assert "Nothing was found under: Zoe Nobody" in printed.out
    assert "known here" not in printed.out


def test_a_report_counts_as_many_mentions_as_it_lists(shell):
    shell("add", "Ruth Kern met Ruth at the station.", "--user", "ben", "--said-at", "2024-07-01", "--source", "chat:8#1")
    shell("subject", "add", "Ruth Kern")
    lines = shell("subject", "report", "--user", "Ruth Kern").out.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("Where others may have mentioned you"))
    told = lines[first + 1 : lines.index("", first)]
    assert lines[first].endswith(f"({len(told)})")
    assert len(shell.json("subject", "report", "--user", "Ruth Kern").data["mentions"]) > len(told)


def test_what_is_left_out_without_a_known_name_is_said_to_be_nothing(shell):
    assert "nothing in this memory is meant" in shell("fold", "--without", "--user", "Zoe Nobody").out
    assert "nothing in this memory is meant" not in shell("fold", "--without", "--user", "ada").out


def test_a_topic_that_is_called_like_a_command_follows_its_usage(shell):
    told = shell("help", "mcp").out
    assert told.startswith("usage: refold mcp")
    assert "mcp: the memory as tools of an agent" in told


def test_an_option_that_there_is_not_is_told_from_one_argument_too_many(shell):
    assert "an option that this command does not have" in shell("status", "--page", "x.html").err
    assert "2 arguments too many" in shell("status", "a", "b").err


def test_in_one_table_a_name_is_spelled_alike_as_it_is_most_often(empty_shell):
    empty_shell("init")
    for author, text in (("nora", "I live in Kiel."), ("Nora", "I like tea."), ("Nora", "I work at Acme."), ("Nora Abel", "I like rum.")):
        empty_shell("add", text, "--user", "nora", "--author", author)
    empty_shell("fold")
    printed = empty_shell("facts", "--user", "nora", "--all")
    assert [line.split()[1] for line in printed.out.splitlines()[:3]] == ["Nora", "Nora", "Nora"]
    assert {fact["entity"] for fact in empty_shell("facts", "--user", "nora", form="json").data["facts"]} >= {"nora", "Nora"}


def test_a_fold_and_the_status_say_that_not_every_entry_is_an_event(empty_shell):
    empty_shell("init")
    empty_shell("add", "I live in Kiel.", "--user", "nora")
    assert "folded     2 entries, 1 of them an event" in empty_shell("fold").out
    assert "more entries than events" in " ".join(empty_shell("status", "--help").out.split())
