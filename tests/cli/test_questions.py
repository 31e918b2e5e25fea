"""What is asked further on the command line: why something is not held, what changed, how well it is searched."""

from __future__ import annotations

import io
import json
import sys


def test_why_not_names_the_reason_and_what_holds_instead(shell):
    printed = shell("why", "--not", "ada", "lives_in", "Berlin", "--user", "ada")
    assert printed.out.startswith("superseded: a later value took its place\n")
    assert " Munich " in printed.out
    assert "what holds instead" not in printed.out
    assert "what holds instead" in shell("why", "--not", "ada", "lives_in", "Oslo", "--user", "ada").out
    data = shell.json("why", "--not", "ada", "lives_in", "Berlin", "--user", "ada").data
    assert (data["held"], data["because"], data["grounds"][0]["beaten_by"]["value"]) == (False, "superseded", "Munich")
    assert [fact["value"] for fact in data["instead"]] == ["Munich"]


def test_why_not_says_that_something_is_held(shell):
    assert shell("why", "--not", "ada", "lives_in", "Munich", "--user", "ada").out.startswith("holds: it holds\n")
    assert shell.json("why", "--not", "ada", "lives_in", "Munich", "--user", "ada").data["held"] is True


def test_why_not_tells_of_what_is_not_folded_yet(shell):
    data = shell.json("why", "--not", "ben", "works_at", "Siemens", "--as", "operator").data
    assert (data["because"], data["grounds"][0]["saying"]["quote"]) == ("unfolded", "I work at Siemens.")


def test_what_is_asked_for_needs_not_stand_in_the_command_line(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ada\nlives_in\nNew York\n")))
    assert shell.json("why", "--not", "-", "--user", "ada").data["because"] == "not-mentioned"


def test_why_takes_a_fact_or_what_is_not_one(shell):
    for words in (["why", "--user", "ada"], ["why", "00000000", "--not", "ada", "lives_in", "x"], ["why", "--not", "ada", "lives_in"]):
        assert shell(*words).code == 2


def test_diff_says_what_was_learned_and_what_took_the_place_of_what(shell):
    data = shell.json("diff", "--since", "1", "--user", "ada").data
    assert [fact["value"] for fact in data["learned"]] == ["Ruth"]
    assert [(one["before"]["value"], one["after"]["value"]) for one in data["changed"]] == [("Berlin", "Munich")]
    assert (data["unlearned"], data["erasures_after"]) == ([], 0)
    printed = shell("diff", "--since", "1", "--user", "ada").out
    assert "1 learned, 0 unlearned, 1 changed" in printed
    assert "nothing changed" in shell("diff", "--since", "99", "--user", "ada").out


def test_diff_counts_from_a_generation(shell):
    shell("fold")
    found = shell.json("diff", "--since", "generation:1", "--as", "operator").data
    assert [fact["value"] for fact in found["learned"]] == ["Siemens"]
    assert shell("diff", "--since", "generation:9", "--as", "operator").code == 2


def test_eval_prints_recall_by_category_with_times(shell, tmp_path):
    asked = [
        {"question": "Where does Ada live?", "evidence": ["chat:7#2"], "category": "single", "answer": "Munich"},
        {"question": "Who is her sister?", "evidence": ["chat:7#3", "chat:7#9"], "category": "person"},
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)))
    printed = shell("eval", str(tmp_path / "questions.jsonl"), "--user", "ada")
    assert [line.split()[:3] for line in printed.out.splitlines()[:4]] == [
        ["category", "questions", "recall@1"],
        ["single", "1", "100.0"],
        ["person", "1", "50.0"],
        ["total", "2", "75.0"],
    ]
    assert "of the evidence, 1 cannot be found" in printed.err
    data = shell.json("eval", str(tmp_path / "questions.jsonl"), "--user", "ada").data
    assert (data["total"]["recall"]["20"], data["missed"], data["unknown"]) == (0.75, [2], 1)


def test_fold_without_says_what_would_be_and_changes_nothing(shell):
    data = shell.json("fold", "--without", "--source", "chat:7#2").data
    assert ([fact["value"] for fact in data["facts_gone"]], [fact["value"] for fact in data["facts_again"]]) == (["Munich"], ["Berlin"])
    printed = shell("fold", "--without", "--source", "chat:7#2").out
    assert "1 go, 1 hold again" in printed
    assert "nothing was changed" in printed
    assert shell.json("status").data["state"]["generation"] == 1


def test_fold_takes_what_is_selected_with_without_alone(shell):
    for words in (["--source", "chat:7#2"], ["--without"], ["--without", "--full", "--source", "chat:7#2"]):
        assert shell("fold", *words).code == 2


def test_search_explains_what_was_left_out_and_why(shell):
    shell("add", "Munich is far.", "--user", "ben")
    data = shell.json("search", "the Munich mountain", "--user", "ada", "--as", "operator", "--limit", "1", "--explain").data
    left_out = data["left_out"]
    assert (left_out["outside_scope"], left_out["stop_words"], left_out["unknown_words"], data["unfolded"]) == (1, 1, 1, 0)
    assert left_out["beyond_limit"] == left_out["matched"] - 1
    printed = shell("search", "Munich", "--as", "operator", "--explain").out
    assert "searched too: 2 events that no fold has read yet" in printed
    assert "took no part, and is not counted" in printed
    assert "outside_scope" not in shell.json("search", "Munich", "--user", "ada", "--explain").data["left_out"]
