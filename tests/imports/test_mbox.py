from __future__ import annotations

from email.message import EmailMessage

import pytest

from refold.imports.mbox import READER
from refold.imports.reader import Options
from refold.model import Role
from refold.times import parse
from tests.imports.conftest import drafts, faults

ORDINARY = """\
From ruth@example.org Tue Mar  5 10:00:00 2024
From: Ruth Brandt <ruth@example.org>
To: Ada <ada@example.org>
Date: Tue, 5 Mar 2024 11:00:00 +0100
Subject: The boat
Message-ID: <m1@example.org>

I bought a boat.
>From here on it is mine.

On Mon, 4 Mar 2024 at 09:00, Ada wrote:
> I live in Berlin.
> And you?

See you soon.
--\x20
Ruth Brandt, Harbour Street 3

From ada@example.org Wed Mar  6 10:00:00 2024
From: ada@example.org
Date: Wed, 6 Mar 2024 10:00:00 +0000

I am glad.
"""


def letter(body: bytes, *heads: str) -> bytes:
    return b"From x Tue Mar  5 10:00:00 2024\n" + "\n".join(["From: Ruth <r@example.org>", *heads]).encode() + b"\n\n" + body + b"\n"


def test_a_letter_is_its_authors_dated_by_its_head_and_in_its_own_words(read):
    first, second = drafts(read(READER, ORDINARY, name="old.mbox", options=Options(user="ada")))
    assert first.text == "I bought a boat.\n\nSee you soon."
    assert (first.author, first.role, str(first.source)) == ("Ruth Brandt", Role.DOCUMENT, "mail:m1@example.org")
    assert first.said_at == parse("2024-03-05T10:00Z")
    assert first.metadata == {"title": "The boat", "to": "Ada <ada@example.org>"}
    assert (second.text, second.author, str(second.source)) == ("I am glad.", "ada@example.org", "mail:old/2")


def test_of_several_parts_the_plain_text_is_read_and_attachments_are_not(read):
    made = EmailMessage()
    made["From"], made["Subject"] = "Ruth <r@example.org>", "Übersee"
    made.set_content("I live in Köln.")
    made.add_alternative("<p>I live in <b>Bonn</b>.</p>", subtype="html")
    made.add_attachment("I live in Rome.", filename="a.txt")
    (said,) = drafts(read(READER, b"From x\n" + made.as_bytes() + b"\n"))
    assert (said.text, said.metadata["title"]) == ("I live in Köln.", "Übersee")


def test_a_letter_of_html_alone_is_read_as_it_is_seen(read):
    page = b"<html><head><style>p {}</style></head><body><p>I live\n in Bonn.</p><blockquote>I live in Rome.</blockquote>Bye<br></body>"
    (said,) = drafts(read(READER, letter(page, "Content-Type: text/html; charset=utf-8")))
    assert said.text == "I live in Bonn.\nBye"


@pytest.mark.parametrize("charset", ["latin-1", "utf-8"])
def test_a_letter_is_decoded_as_it_says(read, charset: str):
    heads = (f"Content-Type: text/plain; charset={charset}", "Content-Transfer-Encoding: 8bit")
    (said,) = drafts(read(READER, letter("I live in Köln.".encode(charset), *heads)))
    assert said.text == "I live in Köln."


def test_a_broken_letter_costs_only_itself(read):
    content = letter(b"x", "Date: yesterday") + b"\n" + letter(b"I drink tea.", "Date: Tue, 5 Mar 2024 11:00:00 +0100")
    records = read(READER, content)
    assert [place for place, _ in faults(records)] == ["letter 1"]
    assert [record.text for record in records if hasattr(record, "text")] == ["I drink tea."]
    unknown = read(READER, letter(b"\xff\xfe", "Content-Type: text/plain; charset=nothing"))
    assert faults(unknown) == [("letter 1", "not a letter that can be read")]


def test_reading_a_mailbox_leaves_it_as_it_was(read, tmp_path):
    path = tmp_path / "old.mbox"
    read(READER, ORDINARY, name="old.mbox")
    assert path.read_text() == ORDINARY
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.mbox"]


FORWARDS = (
    "---------- Forwarded message ---------\nFrom: Ben <b@example.org>\nDate: Mon, 4 Mar 2024\nSubject: x\n\nI live in Rome.\n",
    "-----Original Message-----\nFrom: Ben\nSent: Monday\nTo: Ruth\n\nI live in Rome.\n",
    "-------- Weitergeleitete Nachricht --------\nBetreff: \tx\nVon: \tBen\n\nI live in Rome.\n",
    "________________________________\nFrom: Ben\nSent: Monday\n\nI live in Rome.\n"
    "---------- Forwarded message ---------\nFrom: Eve\nDate: x\n\nI live in Oslo.\n",
)


@pytest.mark.parametrize("forward", FORWARDS, ids=range(len(FORWARDS)))
def test_what_is_forwarded_is_somebody_elses(read, forward: str):
    (said,) = drafts(read(READER, letter(f"I live in Bonn.\n\n{forward}".encode())))
    assert said.text == "I live in Bonn."


def test_a_rule_and_a_list_of_things_are_the_authors(read):
    body = b"-----\nTo do:\n- tea\n\n-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nI live in Bonn."
    (said,) = drafts(read(READER, letter(body)))
    assert said.text == body.decode()


@pytest.mark.parametrize("body", ["-" * 200_000, "---\n" + " " * 200_000 + "x", "---\n" + "\n" * 200_000 + "x"], ids=range(3))
def test_a_long_rule_and_much_space_behind_one_are_read_at_once(read, body: str):
    (said,) = drafts(read(READER, letter(f"{body}\nI live in Bonn.".encode())))
    assert said.text.endswith("I live in Bonn.")


@pytest.mark.parametrize("charset", ["utf-8", "windows-1252"])
def test_a_letter_that_names_no_encoding_is_read_in_the_one_it_has(read, charset: str):
    (said,) = drafts(read(READER, letter("I live in Köln, “here”.".encode(charset))))
    assert said.text == "I live in Köln, “here”."


def test_a_letter_in_another_encoding_than_it_says_is_left_out(read):
    records = read(READER, letter("I live in Köln.".encode("latin-1"), "Content-Type: text/plain; charset=utf-8"))
    assert faults(records) == [("letter 1", "not a letter that can be read")]


def test_attachments_are_counted(read):
    made = EmailMessage()
    made["From"] = "Ruth <r@example.org>"
    made.set_content("See there.")
    made.add_attachment("I live in Rome.", filename="a.txt")
    made.add_attachment(EmailMessage())
    (said,) = drafts(read(READER, b"From x\n" + made.as_bytes() + b"\n"))
    assert (said.text, said.metadata["attachments"]) == ("See there.", 2)
