"""What was said anew on another branch of a chat is kept and found, and states nothing."""

from refold.memory import Memory
from refold.model import Draft, Scope, Source


def test_a_message_that_was_edited_away_is_found_and_states_nothing(places):
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        first = Draft("I live in Berlin.", source=Source("chat", "1", "1/a"), scope=Scope("ada"), metadata={"branch": "abandoned"})
        anew = Draft("I live in Munich.", source=Source("chat", "1", "1/b"), scope=Scope("ada"), said_at=0)
        memory.add_many([first, anew])
        memory.fold()
        assert [fact.value for fact in memory.facts(user_id="ada", all=True)] == ["Munich"]
        assert {hit.text for hit in memory.search("live", user_id="ada")} == {"I live in Berlin.", "I live in Munich."}


def test_an_import_for_another_user_is_his_too(places, tmp_path):
    from refold.imports.reader import Options

    notes = tmp_path / "notes.md"
    notes.write_text("# Notes\n\nThe key is under the mat.\n")
    with Memory.create(places.store, vault=places.vault, root=places.root) as memory:
        for user, added in (("ada", True), ("ada", False), ("ben", True)):
            report = memory.import_files([notes], options=Options(user=user))
            assert bool(report.added) is added
