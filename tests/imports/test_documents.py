from __future__ import annotations

import pytest

from refold.imports import documents, markdown, text
from refold.imports.reader import File, Options
from refold.model import Draft, Role, identity_part, part_key
from refold.times import parse
from tests.imports.conftest import drafts, faults, parts

OFFSITE = """# Offsite

Two days by the lake.

## Plan

Owner: Ada Brandt
Venue: Boathouse

- bring boots
- bring rain coats

Hands-on
in two lines

### Open

```
# no heading

still the listing
```

| who | what |
|-----|------|
| Ben | boat |

## Rest
***
> a quotation
"""


def test_markdown_is_read_by_blocks_with_their_headings_and_lines(read):
    found = drafts(read(markdown.READER, OFFSITE, name="offsite.md"))
    assert [(str(d.source), d.metadata["line"], d.metadata["heading"], d.text.split("\n")[0]) for d in found] == [
        ("doc:offsite.md#p1", 3, "Offsite", "Two days by the lake."),
        ("doc:offsite.md#p2", 7, "Plan", "Owner: Ada Brandt"),
        ("doc:offsite.md#p3", 10, "Plan", "- bring boots"),
        ("doc:offsite.md#p4", 13, "Plan", "Hands-on"),
        ("doc:offsite.md#p5", 18, "Open", "```"),
        ("doc:offsite.md#p6", 24, "Open", "| who | what |"),
        ("doc:offsite.md#p7", 30, "Rest", "> a quotation"),
    ]
    assert {(d.role, d.author, d.said_at, d.metadata["title"]) for d in found} == {(Role.DOCUMENT, None, None, "Offsite")}


def test_a_block_of_properties_stays_one_event(read):
    found = drafts(read(markdown.READER, OFFSITE))
    assert found[1].text == "Owner: Ada Brandt\nVenue: Boathouse"


def test_a_listing_keeps_its_blank_lines_and_ends_where_its_fence_does(read):
    (listing, after) = drafts(read(markdown.READER, "````\n```\n\n# x\n````\nafter"))
    assert listing.text == "````\n```\n\n# x\n````"
    assert after.text == "after"


def test_underlined_headings_are_headings(read):
    found = drafts(read(markdown.READER, "Title\n=====\n\none\n\nSub\n---\ntwo\n\n- item\n---\nthree\n"))
    assert [(d.metadata["heading"], d.text) for d in found] == [("Title", "one"), ("Sub", "two"), ("Sub", "- item"), ("Sub", "three")]


def test_a_heading_with_nothing_under_it_is_an_event_and_others_are_not(read):
    found = drafts(read(markdown.READER, "# Top\n## Ada moved to Munich\n## Next\n### Below\ntext\n### Last\n"))
    assert [d.text for d in found] == ["Ada moved to Munich", "Next", "text", "Last"]


def test_plain_text_is_read_by_paragraphs(read):
    found = drafts(read(text.READER, "one\ntwo\n\n \t\n# three\n\n\nfour", name="a.txt"))
    assert [(d.text, str(d.source), d.metadata) for d in found] == [
        ("one\ntwo", "doc:a.txt#p1", {"line": 1}),
        ("# three", "doc:a.txt#p2", {"line": 5}),
        ("four", "doc:a.txt#p3", {"line": 8}),
    ]


LETTER = """From: Ruth Brandt <ruth@example.org>
To: Ada
Date: 3 March 2024
Subject: The boat

Dear Ada,

I moved to Hamburg last year.
"""


@pytest.mark.parametrize("reader", [markdown.READER, text.READER])
def test_the_head_of_a_letter_says_who_wrote_it_and_when(read, reader):
    found = drafts(read(reader, LETTER, name="letter.txt", options=Options(user="ada", author="Ben")))
    assert [(d.text, d.author, d.said_at, str(d.source)) for d in found] == [
        ("Dear Ada,", "Ruth Brandt", parse("2024-03-03"), "letter:letter.txt#p1"),
        ("I moved to Hamburg last year.", "Ruth Brandt", parse("2024-03-03"), "letter:letter.txt#p2"),
    ]
    assert found[0].metadata == {"title": "The boat", "to": "Ada", "line": 6}


def test_a_head_may_stand_under_the_title(read):
    found = drafts(read(markdown.READER, "# A letter\n\nDate: 2024-03-03\nAuthor: Ruth\n\nHello."))
    assert [(d.text, d.author, d.said_at, d.source.kind) for d in found if d.source] == [("Hello.", "Ruth", parse("2024-03-03"), "doc")]


def test_front_matter_is_a_head_and_what_else_it_says_is_kept(read):
    found = drafts(read(markdown.READER, '---\nauthor: "Ruth"\ndate: 2024-03-03T10:00:00+02:00\nOwner: Ben\ntags:\n  - x\n---\nHello.\n'))
    assert [(d.text.split("\n")[-1], d.author, d.said_at) for d in found] == [
        ("  - x", "Ruth", parse("2024-03-03T08:00Z")),
        ("Hello.", "Ruth", parse("2024-03-03T08:00Z")),
    ]


def test_front_matter_that_never_ends_is_text(read):
    assert [d.text for d in drafts(read(markdown.READER, "---\nOwner: Ruth\n\nHello.\n"))] == ["Owner: Ruth", "Hello."]


@pytest.mark.parametrize("block", ["Owner: Ada\nDate: 2024-09-12", "Date: 2024-09-12\nplain words", "Subject: only"])
def test_properties_of_a_document_are_not_taken_for_its_head(read, block):
    (found,) = drafts(read(markdown.READER, block))
    assert (found.text, found.author, found.said_at) == (block, None, None)


def test_a_head_with_a_date_that_cannot_be_read_refuses_the_file(read):
    found = read(text.READER, "From: Ruth\nDate: some time in spring\n\nI live in Hamburg.")
    assert faults(found) == [("line 1", "the date in the head is not one that can be read: write it as 2024-03-03")]
    assert len(found) == 1


@pytest.mark.parametrize("date", ["2024-03-03", "3 March 2024"])
def test_a_head_with_a_date_to_come_refuses_the_file(read, date):
    found = read(text.READER, f"From: Ruth\nDate: {date}\n\nI live in Hamburg.", options=Options(latest=parse("2024-03-02")))
    assert faults(found) == [("line 1", "a time lies more than a day ahead of now")]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("field", "author"),
    [
        ("Author: Ruth", "Ruth"),
        ("By: Ruth Brandt", "Ruth Brandt"),
        ("From: ruth@example.org", "ruth@example.org"),
        ("From: <ruth@example.org>", "ruth@example.org"),
        ("Author: [Ruth, Ben]", None),
        ("Author:", None),
    ],
)
def test_the_author_is_the_name_else_the_address(read, field, author):
    (found,) = drafts(read(text.READER, f"{field}\nDate: 2024-03-03\n\nHello."))
    assert found.author == author


def test_the_author_given_holds_for_a_document_that_names_none(read):
    assert [d.author for d in drafts(read(text.READER, "Hello.", options=Options(author="Ruth")))] == ["Ruth"]


def test_a_heading_that_is_a_day_dates_what_stands_under_it(read):
    content = "# Journal\nzero\n## 2024-05-20\none\n### Evening\ntwo\n## 2024-05-21, Tuesday\nthree\n## About 2024-05-22\nfour\n"
    found = drafts(read(markdown.READER, content, options=Options(latest=parse("2024-05-20T12:00Z"))))
    assert [(d.text, d.said_at) for d in found] == [
        ("zero", None),
        ("one", parse("2024-05-20")),
        ("two", parse("2024-05-20")),
        ("three", None),  # that day is still to come
        ("four", None),
    ]


def test_a_file_named_by_a_day_speaks_at_it(read):
    assert [d.said_at for d in drafts(read(markdown.READER, "Hello.", name="2024-05-20.md"))] == [parse("2024-05-20")]
    assert [d.said_at for d in drafts(read(markdown.READER, "Hello.", name="2024-13-20.md"))] == [None]
    soon = Options(latest=parse("2024-05-19"))
    assert [d.said_at for d in drafts(read(markdown.READER, "Hello.", name="2024-05-20.md", options=soon))] == [None]


def test_of_equal_blocks_the_later_ones_are_numbered_in_their_part(read):
    found = read(text.READER, "same\n\nother\n\nsame\n\nsame")
    assert parts(found) == ["doc:notes.txt#p1", "doc:notes.txt#p2", "doc:notes.txt#p3~2", "doc:notes.txt#p4~3"]


def test_an_insertion_leaves_the_identity_of_all_other_blocks(read):
    before = "one\n\nsame\n\nsame\n\nlast"
    after = "one\n\nnew\n\nsame\n\nchanged\n\nsame\n\nlast"

    def identities(content: str) -> set[tuple[str, str]]:
        return {(d.text, identity_part(d.role, d.source.part)) for d in drafts(read(text.READER, content)) if d.source}

    assert identities(after) - identities(before) == {("new", ""), ("changed", "")}
    assert identities(before) < identities(after)


def test_parts_sort_by_position(read):
    order = [d.source.part for d in drafts(read(text.READER, "\n\n".join(["same"] * 12))) if d.source]
    assert sorted(order, key=part_key) == order


def test_line_ends_and_a_byte_order_mark_mean_nothing(read):
    plain, windows, old = (
        [d.text for d in drafts(read(markdown.READER, content))]
        for content in (b"# T\none\ntwo\n\nthree", b"\xef\xbb\xbf# T\r\none\r\ntwo\r\n\r\nthree\r\n", b"# T\rone\rtwo\r\rthree")
    )
    assert plain == windows == old == ["one\ntwo", "three"]


def test_text_is_kept_to_the_character(read):
    block = "a\u0000b\u202ec\t \u2028d\u0085e\x0cf😀"
    assert [d.text for d in drafts(read(text.READER, block + "\n"))] == [block]


def test_a_paragraph_that_is_not_utf_8_costs_that_one_alone(read):
    found = read(text.READER, b"one\n\ntwo \xe9t\xe9\n\nthree")
    assert parts(found) == ["doc:notes.txt#p1", "doc:notes.txt#p3"]
    assert faults(found) == [("line 3", "not valid UTF-8")]


def test_a_heading_that_is_not_utf_8_costs_no_paragraph(read):
    found = read(markdown.READER, b"# T\xe9\n\none\n\n## S\xe9\n")
    assert [(d.text, d.metadata["heading"]) for d in found if isinstance(d, Draft)] == [("one", "T\ufffd")]
    assert faults(found) == [("line 5", "not valid UTF-8")]


@pytest.mark.parametrize("reader", [markdown.READER, text.READER])
@pytest.mark.parametrize("shape", ["word " * 5_000, "word\n" * 5_000])
def test_a_paragraph_longer_than_a_block_may_be_is_left_out(read, monkeypatch, reader, shape):
    monkeypatch.setattr(documents, "BLOCK_CHARACTERS_MAX", 10_000)
    found = read(reader, f"one\n\n{shape}\n\nthree")
    assert parts(found) == ["doc:notes.txt#p1", "doc:notes.txt#p3"]
    assert [place for place, _ in faults(found)] == ["line 3"]


def test_of_what_is_longer_than_a_block_may_be_no_more_than_that_is_kept(monkeypatch):
    monkeypatch.setattr(documents, "BLOCK_CHARACTERS_MAX", 100)
    pile = documents.Pile()
    for number in range(1_000):
        pile.add(documents.Line(number, "word"))
    assert sum(map(len, pile.lines)) == 100
    assert [block.is_cut for block in pile.take()] == [True]
    assert list(pile.take()) == []


def test_a_paragraph_of_ten_megabytes_is_one_event(read):
    assert [len(d.text) for d in drafts(read(markdown.READER, "word " * 2_000_000))] == [10_000_000]


@pytest.mark.parametrize("content", ["", "\n \n\t\n", "\ufeff", "---\n***\n"])
@pytest.mark.parametrize("reader", [markdown.READER, text.READER])
def test_a_file_without_words_gives_no_words(read, reader, content):
    assert all(not set(d.text) & set("abcdefghijklmnopqrstuvwxyz") for d in drafts(read(reader, content)))


def test_a_name_that_would_end_a_source_is_made_harmless(tmp_path):
    assert File(tmp_path / "a", "a#1\n.md").ref == "a-1-.md"
    assert File(tmp_path / "a", "a\udcff.md").ref == "a\ufffd.md"
