"""What is read in a text, kind of sentence by kind of sentence, and what is not. None of these are the labelled sentences."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refold.fold.extraction import NOTHING
from refold.fold.ground import is_quote
from refold.fold.sentences import sentences
from refold.fold.symbolic import CHARACTERS_MAX, SENTENCES_MAX, extract
from refold.model import Act, Modality, Role
from refold.reading import Rejection, RejectionCode
from refold.times import day
from tests.fold.said import event, folded, read, shipped

STATED = {
    "two people": {
        "Ruth married Tom.": ["Ruth kin(married) Tom"],
        "Ruth and Tom are married.": ["Ruth kin(married) Tom"],
        "Ruth and Tom got engaged.": ["Ruth kin(engaged) Tom"],
        "I finally married Leo.": ["ada kin(married) Leo"],
        "Ruth and Tom are tired.": [],
        "Ruth and I are married.": ["ada kin(married) Ruth"],
        "Ruth, Tom and Kim are related.": [],
    },
    "an apposition, a request and a quality state nothing more": {
        "I have a daughter, Lena, and a son.": ["ada kin(daughter) Lena"],
        "I need to renew my passport, can you help?": ["ada task renew my passport"],
        "I'm a terrible cook.": [],
        "I want you to rewrite this in a formal tone.": [],
        "I've got time.": [],
        "My flight to Oslo was cancelled.": [],
        "My flight to Oslo is on Monday.": ["ada plans Oslo planned"],
        "I got an offer from Odelin.": [],
        "I accepted an offer from Odelin.": ["ada works_at Odelin"],
        "I'm five months pregnant.": ["ada condition pregnant"],
        "I don't need to pack any more.": ["-ada task pack"],
    },
    "a name that is an auxiliary": {
        "Will said he may join.": [],
        "Will called me.": [],
        "Will works at Northwind.": ["Will works_at Northwind"],
        "Will Turner lives in Leeds.": ["Will Turner lives_in Leeds"],
        "My sister May likes tea.": ["May likes tea", "ada kin(sister) May"],
        "Call me Will.": ["ada name Will"],
        "Will visit Rome.": ["ada plans visit Rome planned"],
        "I moved to Rome in May.": ["ada lives_in Rome"],
    },
    "a name that ends in a common word": {
        "I teach at Elbe School.": ["ada works_at Elbe School"],
        "I work at the Elbe school.": ["ada works_at Elbe school"],
        "I met Ruth at school.": ["ada did Ruth"],
    },
    "first person": {
        "I live in Munich.": ["ada lives_in Munich"],
        "We live in the Netherlands.": ["ada lives_in Netherlands"],
        "I'm living in Graz at the moment.": ["ada lives_in Graz"],
        "My wife and I live in Linz.": ["ada lives_in Linz"],
        "I\u2019ve just moved to Frankfurt am Main.": ["ada lives_in Frankfurt am Main"],
        "I work at the University of Bergen.": ["ada works_at University of Bergen"],
        "I'm a data engineer at Globex.": ["ada role data engineer", "ada works_at Globex"],
        "I was promoted to head of design.": ["ada role head of design"],
        "I have a nut allergy.": ["ada condition nut allergy"],
        "My phone number is +49 170 555 0123.": ["ada contact +49 170 555 0123"],
        "ruth.b@example.org is my e-mail.": ["ada contact ruth.b@example.org"],
    },
    "named third person": {
        "Ruth lives in Hamburg.": ["Ruth lives_in Hamburg"],
        "My sister Ruth lives in Hamburg.": ["Ruth lives_in Hamburg", "ada kin(sister) Ruth"],
        "Ruth, my sister, lives in Kiel.": ["Ruth lives_in Kiel", "ada kin(sister) Ruth"],
        "My colleague Sam, who lives in Essen, sent me this.": ["Sam lives_in Essen", "ada kin(colleague) Sam"],
        "Mia and Leo live in Linz.": ["Leo lives_in Linz", "Mia lives_in Linz"],
        "Ruth's husband Karl is a chef.": ["Karl role chef", "Ruth kin(husband) Karl"],
        "Tom is Ruth's brother.": ["Ruth kin(brother) Tom"],
        "Ruth moved here. She works at Bosch.": ["Ruth works_at Bosch"],
        "Dr. Meyer works at Charité.": ["Dr. Meyer works_at Charité"],
    },
    "quoted third person": {
        'Ruth said "I live in Bremen now".': ["Ruth lives_in Bremen reported"],
        "Ruth said: \u201cI work at Bosch.\u201d": ["Ruth works_at Bosch reported"],
        '"I live in Bremen", said Ruth.': ["Ruth lives_in Bremen reported"],
        "Ruth told me she lives in Bremen.": ["Ruth lives_in Bremen reported"],
        "According to Ruth, Piet lives in Antwerp.": ["Piet lives_in Antwerp reported"],
        "Apparently Nora has become a vet.": ["Nora role vet reported"],
        "My mother says Nora lives in Turku.": ["Nora lives_in Turku reported"],
    },
    "denial": {
        "I don't live in Berlin.": ["-ada lives_in Berlin"],
        "I no longer work for Northwind.": ["-ada works_at Northwind"],
        "I've never liked opera.": ["-ada likes opera"],
        "I have no pets.": ["-ada owns pets"],
        "I'm not allergic to cats.": ["-ada condition cats"],
        "I can't stand loud music.": ["-ada likes loud music"],
        "Ruth isn't my sister.": ["-ada kin(sister) Ruth"],
        "I don't think Nora lives in Turku.": ["-Nora lives_in Turku hedged"],
    },
    "ending": {
        "I quit!": ["!ada works_at"],
        "I quit my job at Vandelay.": ["!ada works_at Vandelay"],
        "I moved away from Berlin.": ["!ada lives_in Berlin"],
        "I used to live in Prague.": ["!ada lives_in Prague"],
        "I stopped working at Acme.": ["!ada works_at Acme"],
        "I sold my car.": ["!ada owns car"],
        "My dog Rex died.": ["!ada owns dog"],
        "I moved from Rome to Milan.": ["!ada lives_in Rome", "ada lives_in Milan"],
    },
    "hedges": {
        "I think Tom works for Siemens.": ["Tom works_at Siemens hedged"],
        "I suppose Ruth lives in Kiel.": ["Ruth lives_in Kiel hedged"],
        "Maybe Hannah lives in Leeds.": ["Hannah lives_in Leeds hedged"],
        "I might be allergic to shellfish.": ["ada condition shellfish hedged"],
        "Nora, I think, lives in Turku.": ["Nora lives_in Turku hedged"],
        "Nora lives in Turku, as far as I know.": ["Nora lives_in Turku hedged"],
        "I'm probably moving to Nice.": ["ada lives_in Nice hedged"],
    },
    "plans": {
        "I'm moving to Dublin next month.": ["ada lives_in Dublin planned"],
        "I'll join Soylent in May.": ["ada works_at Soylent planned"],
        "I plan to learn Greek.": ["ada plans learn Greek planned"],
        "I'm flying to Lisbon on Friday.": ["ada plans Lisbon planned"],
        "We're getting married in June.": ["ada plans getting married planned"],
        "gonna move to graz in may": ["ada lives_in graz planned"],
        "I'm not going to Japan after all.": ["-ada plans Japan planned"],
    },
    "corrections": {
        "Actually, I live in Munich.": ["ada lives_in Munich"],
        "I live not in Berlin but in Munich.": ["-ada lives_in Berlin", "ada lives_in Munich"],
        "I live in Munich, not Berlin.": ["-ada lives_in Berlin", "ada lives_in Munich"],
        "I live in Berlin. Sorry, I meant Munich.": ["ada lives_in Munich"],
        "I live in Berlin, no wait, Munich.": ["ada lives_in Munich"],
        "My name isn't Ada, it's Ida.": ["-ada name Ada", "ada name Ida"],
        "I like spicy food, but not garlic.": ["-ada likes garlic", "ada likes spicy food"],
    },
    "several claims in a clause": {
        "I live in Munich and work at Acme.": ["ada lives_in Munich", "ada works_at Acme"],
        "I'm allergic to peanuts and shellfish.": ["ada condition peanuts", "ada condition shellfish"],
        "I love hiking in the Alps, dark chocolate and jazz.": [
            "ada likes dark chocolate",
            "ada likes hiking in the Alps",
            "ada likes jazz",
        ],
        "I have two sons, Paul and Emil.": ["ada kin(sons) Emil", "ada kin(sons) Paul"],
    },
    "notes without a subject": {
        "Moved to Hamburg last year.": ["ada lives_in Hamburg"],
        "allergic to nuts btw": ["ada condition nuts"],
        "don't like olives": ["-ada likes olives"],
        "need to call mom tomorrow": ["ada task call mom"],
    },
    "small letters": {
        "i live in new york and work at globex": ["ada lives_in new york", "ada works_at globex"],
        "my brother tom lives in essen": ["ada kin(brother) tom", "tom lives_in essen"],
        "im a nurse": ["ada role nurse"],
        "im lena btw": ["ada name lena"],
        "u can reach me at x@example.org": ["ada contact x@example.org"],
        "anna likes jazz": ["anna likes jazz"],
        "i am going to repair the fence": ["ada plans repair the fence planned"],
        "gonna visit rome in may": ["ada plans visit rome planned"],
        "i live in leeds now, not london": ["-ada lives_in london", "ada lives_in leeds"],
    },
    "names in many scripts": {
        "Žofia lives in Łódź.": ["Žofia lives_in Łódź"],
        "I live in Săo Paulo.": ["ada lives_in Săo Paulo"],
        "My sister \u0414\u0430\u0440\u044c\u044f lives in \u041a\u0438\u0457\u0432.": [
            "ada kin(sister) \u0414\u0430\u0440\u044c\u044f",
            "\u0414\u0430\u0440\u044c\u044f lives_in \u041a\u0438\u0457\u0432",
        ],
        "My name is Maria del Carmen Ortiz.": ["ada name Maria del Carmen Ortiz"],
    },
    "instructions and tasks": {
        "Please always answer in German. Never use emojis.": ["-ada instructs use emojis", "ada instructs answer in German"],
        "From now on, write in British English.": ["ada instructs write in British English"],
        "From now on call me Mo.": ["ada name Mo"],
        "Please don't call me Freddy.": ["-ada name Freddy"],
        "Could you remind me to stretch?": ["ada task stretch"],
        "Remind me to call the dentist tomorrow.": ["ada task call the dentist"],
        "Done: clean the oven.": ["!ada task clean the oven"],
    },
    "taken for granted": {
        "Did my sister Ruth call?": ["ada kin(sister) Ruth"],
        "If my nephew Ole comes, we'll bake.": ["ada kin(nephew) Ole"],
        "My asthma is getting worse.": ["ada condition asthma"],
        "I got over my asthma.": ["!ada condition asthma"],
    },
    "lists": {
        "I like tea and coffee.": ["ada likes coffee", "ada likes tea"],
        "I visited Berlin, Paris, and Rome.": ["ada did Berlin", "ada did Paris", "ada did Rome"],
        "I don't like tea or coffee.": ["-ada likes coffee", "-ada likes tea"],
        "Mia and Leo live in Linz and Ruth lives in Kiel.": ["Leo lives_in Linz", "Mia lives_in Linz", "Ruth lives_in Kiel"],
        "I plan to learn Greek or Latin.": ["ada plans learn Greek or Latin planned"],
        "I live in Berlin, or so I think.": ["ada lives_in Berlin hedged"],
        "I live in Berlin, or rather Munich.": ["ada lives_in Munich"],
    },
    "a place and its region": {
        "I live in Berlin, Germany.": ["ada lives_in Berlin, Germany"],
        "I live in Berlin, Germany, with my cat.": ["ada lives_in Berlin, Germany"],
        "I moved to Austin, Texas, last year, and I like it.": ["ada lives_in Austin, Texas"],
        "I live in Berlin, Germany and work at Acme.": ["ada lives_in Berlin, Germany", "ada works_at Acme"],
        "i live in berlin, germany, with my cat": ["ada lives_in berlin, germany"],
    },
    "denials that deny": {
        "I just don't like coffee.": ["-ada likes coffee"],
        "I don't really like coffee.": ["-ada likes coffee"],
        "I don't like coffee, because it is bitter.": ["-ada likes coffee"],
        "I no longer live in Berlin because I moved.": ["-ada lives_in Berlin"],
    },
    "leaving for good": {
        "I quit Acme altogether.": ["!ada works_at Acme"],
        "I quit Acme because of my boss.": ["!ada works_at Acme"],
        "I quit Acme an hour ago.": ["!ada works_at Acme"],
        "I quit Acme the day I turned forty.": ["!ada works_at Acme"],
        "I quit Acme to join Globex.": ["!ada works_at Acme"],
    },
    "names with a possessive in them": {
        "I work at McDonald's.": ["ada works_at McDonald's"],
        "I work at Lloyd's Bank in London.": ["ada works_at Lloyd's Bank"],
        "I live in King's Lynn with Tom.": ["ada lives_in King's Lynn"],
        "I work at 'Siemens' now.": ["ada works_at Siemens"],
    },
    "what is taken back, and nothing else": {
        "I like tea. I live in Oslo. That was a lie.": ["ada likes tea"],
        "I live in Oslo. That was a lie, I live in Kiel.": ["ada lives_in Kiel"],
        "I live in Oslo. That's not true: I live in Kiel.": ["ada lives_in Kiel"],
        "They say I live in Oslo, but that's not true. I live in Kiel.": ["ada lives_in Kiel"],
        "I live in Oslo. The weather here is nice and warm today. That's not true.": ["ada lives_in Oslo"],
        "I live in Oslo. Giraffes sleep standing up most nights. That's not true.": ["ada lives_in Oslo"],
        "I live in Oslo. It's not right that it rains.": ["ada lives_in Oslo"],
        "I live in Oslo. Ruth says that's not true.": ["ada lives_in Oslo"],
        "I live in Oslo. That's not true of Ruth.": ["ada lives_in Oslo"],
        "I live in Oslo. I quit! That was a lie.": ["ada lives_in Oslo"],
    },
    "before an example": {
        "I like fruit, for example, apples.": ["ada likes fruit"],
        "I like jazz, for instance.": ["ada likes jazz"],
    },
    "an if that only makes conversation": {
        "If you must know, I live in Kiel.": ["ada lives_in Kiel"],
        "Let me know if you visit, I live in Kiel.": ["ada lives_in Kiel"],
    },
    "a statement before a question": {
        "I moved to Ghent last month, any tips?": ["ada lives_in Ghent"],
        "Since I live in Munich, what should I visit?": ["ada lives_in Munich"],
        "Could you help me, I live in Munich, what is the number?": ["ada lives_in Munich"],
    },
}
SAID = [(kind, text, facts) for kind, texts in STATED.items() for text, facts in texts.items()]


@pytest.mark.parametrize(("kind", "text", "facts"), SAID, ids=[f"{kind}: {text}" for kind, text, _ in SAID])
def test_what_is_stated_is_read(kind, text, facts):
    assert read(text) == sorted(facts)


NOT_STATED = {
    "questions": [
        "Do you know where I live?",
        "Do I live in Munich?",
        "do i live in munich",
        "I live in Munich, right?",
        "I live in Munich, don't I?",
        "Who likes jazz?",
    ],
    "conditions": [
        "If I lived in Paris, I would be happy.",
        "I'll move to Paris if I get the job.",
        "Unless I move to Oslo, nothing changes.",
        "What if I quit my job?",
    ],
    "what must come first": ["Once I live in Oslo, all will be fine.", "After I move to Oslo we can meet."],
    "orders": ["Visit Rome.", "Buy a boat.", "Watch Casablanca tonight."],
    "what a doctor suspects": ["My doctor suspects asthma."],
    "wishes": [
        "I wish I lived by the sea.",
        "I would move to Oslo in a heartbeat.",
        "I'd like a coffee.",
        "I dreamed that I lived in Oslo.",
    ],
    "jokes": [
        "I live on Mars, just kidding.",
        "I live in Oslo. Just kidding!",
        "I live in Oslo. Not.",
        "I totally work at NASA lol.",
        "As if I owned a boat.",
    ],
    "what almost happened": [
        "I almost moved to Oslo.",
        "I nearly bought a boat.",
        "I was going to move to Oslo.",
        "We had planned to move to Oslo.",
    ],
    "the past that is over": ["As a child I lived in Oslo.", "I was living in Oslo.", "I had a cat.", "I've worked at Acme."],
    "fiction": [
        "In my novel, Tom lives in Oslo.",
        "In the film, Tom lives in Oslo, where it snows, if ever.",
        "Imagine I live in a castle.",
        "Let's say I live in Oslo.",
    ],
    "quotes of nobody": [
        'Translate "I live in Oslo and work at Acme".',
        "The note says 'I work at Acme as a nurse'.",
        "> Hi, I live in Oslo.",
    ],
    "dictation": ["Draft a message: I'm allergic to nuts.", "Write: I quit my job."],
    "alternatives": [
        "I live in Berlin or Potsdam.",
        "I live in Berlin, Potsdam or Munich.",
        "I live in Berlin or in Potsdam.",
        "I live in Berlin/Potsdam.",
        "i live in berlin or potsdam",
        "I work at Acme or Globex.",
        "I like tea or coffee.",
        "I'm allergic to nuts or shellfish.",
        "My name is Ada or Ida.",
        "Tom or Jan lives in Linz.",
        "I live in Berlin or I work at Acme.",
    ],
    "several values where one may hold": [
        "I live in Berlin and Potsdam.",
        "I live in Berlin and in Potsdam.",
        "I live in Berlin, Paris, and Rome.",
        "I work at Acme and Globex.",
    ],
    "what is denied is a degree or a reason": [
        "I don't just live in Berlin, I love it.",
        "I don't only live in Berlin.",
        "I don't merely like tea.",
        "I don't simply work at Acme, I run it.",
        "I not only live in Berlin but also work there.",
        "I live not only in Berlin but also in Munich.",
        "I'm not just a nurse.",
        "I don't always work at Acme.",
        "Don't just answer in German.",
        "I don't live in Berlin because I have to.",
        "I don't work at Acme just for the money.",
        "I don't like coffee as much as tea.",
        "I don't like coffee more than tea.",
        "I don't like jazz that much.",
    ],
    "what hardly happens": [
        "I hardly ever drink coffee.",
        "I barely like coffee.",
        "I rarely visited Rome.",
        "I hardly ever visited Rome.",
        "rarely visited rome",
        "Hardly works at Acme.",
        "Ruth seldom works at Acme.",
    ],
    "another sense of leaving": [
        "I left Siemens a voicemail.",
        "I left Acme a review.",
        "I left Acme my number.",
        "I left Acme two messages.",
        "I left Acme feedback on their site.",
        "I quit Acme's newsletter.",
        "I left Siemens' mailing list.",
    ],
    "whose it is": [
        "I work for Tom's company.",
        "Ruth works for Tom's company.",
        "I joined Acme's mailing list.",
        "I work at Siemens' office.",
        "I work at Acme's Berlin office.",
        "I live in Tom's house.",
    ],
    "what is taken back": [
        "I live in Oslo. That was a lie.",
        "I live in Oslo. That's not true.",
        "I live in Oslo. I made that up.",
        "I live in Oslo. I lied about that.",
        "I live in Oslo. Not true.",
        "I live in Oslo. Really? That's not true.",
        "I live in Oslo. Sorry, that's not true at all.",
        "I live in Oslo, that's not true.",
    ],
    "examples": [
        "For example, I live in Oslo.",
        "For instance, my sister Ruth lives in Oslo.",
        "E.g. I live in Oslo.",
        "Say, for example, I live in Oslo.",
        "Here's an example: I live in Oslo.",
        "Example:\nI live in Oslo.",
        "For example:\n\nI live in Oslo.",
        "Suppose: I live in Oslo.",
        "Suppose. I live in Oslo.",
    ],
    "blocks of code": [
        "~~~\nI live in Oslo.\n~~~",
        "````\nI live in Oslo.\n```\nI work at Acme.\n````",
        "Code:\n\n    I live in Oslo.\n    I work at Acme.\n\nDone.",
        "\tI live in Oslo.",
        "Code:\r\n\r\n    I live in Oslo.\r\n",
    ],
    "code": ["```\nI live in Oslo.\n```", "Run `I live in Oslo` first.", "```python\n# I work at Acme\n"],
    "people without a name": [
        "He lives in Oslo.",
        "They work at Acme.",
        "Everyone loves pizza.",
        "Nobody works at Acme.",
        "You live in Oslo.",
    ],
    "what is no value": [
        "I like it.",
        "I love how quiet it is.",
        "I have a question.",
        "i live in love",
        "I live in fear.",
        "I work from home.",
        "I'm going to bed.",
    ],
    "what others say of the speaker": ["Ruth says I live in Bremen.", "According to Ruth I work at Acme."],
    "what is only tried": ["I tried to relax and work at Acme.", "I could relax and work at Acme."],
    "other people's doubts": ["I wonder whether Tom lives in Oslo.", "Tom asked if I live in Oslo.", "Who says I live in Oslo?"],
    "manners of speaking": [
        "Never mind.",
        "Don't worry.",
        "Call me when you're done.",
        "Please answer.",
        "Please use this file.",
        "I care for olives.",
        "I moved the file to Downloads.",
        "I quit smoking.",
    ],
}
UNSAID = [(kind, text) for kind, texts in NOT_STATED.items() for text in texts]


@pytest.mark.parametrize(("kind", "text"), UNSAID, ids=[f"{kind}: {text}" for kind, text in UNSAID])
def test_what_is_not_stated_is_not_read(kind, text):
    assert read(text) == []


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.SYSTEM, Role.TOOL])
def test_only_users_and_documents_assert(role):
    assert read(event("I live in Munich.", role=role)) == []
    assert extract(event("I live in Munich.", role=role), shipped()) == NOTHING


def test_what_was_said_anew_on_another_branch_states_nothing():
    assert read(event("I live in Munich.", metadata={"branch": "abandoned"})) == []


def test_a_document_writes_no_notes_about_itself():
    assert read(event("Based in Berlin since 2010.", role=Role.DOCUMENT, author=None)) == []
    assert read("Based in Berlin since 2010.") == ["ada lives_in Berlin"]


def test_a_document_does_not_instruct():
    assert read(event("Always answer in French. Remind me to sell everything.", role=Role.DOCUMENT, author=None)) == []


def test_a_letter_speaks_for_its_author():
    assert read(event("Dear Ruth, I moved to Munich.", role=Role.DOCUMENT)) == ["ada lives_in Munich"]


DATES = {
    "I've been living in Munich since 2023.": ("2023-01-01", None, "since 2023"),
    "I moved to Munich in 2023.": ("2023-01-01", None, "in 2023"),
    "Since March I've been based in Riga.": ("2024-03-01", None, "Since March"),
    "I left Acme in 2021.": (None, "2022-01-01", "in 2021"),
    "I worked on nothing. I joined Acme last week.": ("2024-02-26", None, "last week"),
    "I visited Rome in 2022.": ("2022-01-01", "2023-01-01", "in 2022"),
    "I'm moving to Graz in May.": ("2024-05-01", None, "in May"),
    "Remind me to pay the rent on Friday.": ("2024-03-08", "2024-03-09", "on Friday"),
    "I've worked at Contoso for ten years.": ("2014-01-01", None, "for ten years"),
}


@pytest.mark.parametrize(("text", "expected"), DATES.items(), ids=DATES)
def test_a_time_is_copied_as_words_and_resolved_against_the_saying(text, expected):
    validity = folded(text).assertions[0].validity
    assert (validity.start and day(validity.start), validity.end and day(validity.end), validity.words) == expected


def test_a_time_belongs_to_the_clause_that_it_stands_in():
    facts = folded("I don't own a car, I sold it in spring.").assertions
    assert [(fact.value, fact.validity.words) for fact in facts] == [("car", "")]


def test_what_trails_behind_a_value_is_no_part_of_it():
    tails = [
        " since 2023",
        " now",
        " any more",
        " at the moment",
        " these days",
        ", by the way",
        " \U0001f389",
        " again",
        " with my cat",
        "!",
    ]
    for tail in tails:
        assert read(f"I live in Munich{tail}")[0].removeprefix("-") == "ada lives_in Munich", tail


def test_a_line_of_a_document_is_of_its_heading():
    text = "- **Owner:** Ada Brandt\n- Budget: 4,000 euro (about)\n- Note: nothing\nSee https://example.org: x\n12:30 start"
    facts = folded(event(text, role=Role.DOCUMENT, author=None, metadata={"heading": "Offsite", "title": "Plans"})).assertions
    assert [(fact.entity_text, fact.qualifier, fact.value) for fact in facts] == [
        ("Offsite", "Owner", "Ada Brandt"),
        ("Offsite", "Budget", "4,000 euro (about)"),
    ]
    assert facts[0].value_mention is not None
    assert facts[1].value_mention is None


def test_a_line_without_a_heading_is_of_the_document_and_not_of_its_author():
    fact = folded(event("Status: approved", role=Role.DOCUMENT, metadata={})).assertions[0]
    assert (fact.entity.owner, fact.entity.name, fact.entity_text) == ("doc:7", None, "doc:7")


def test_a_line_that_is_as_long_as_prose_is_none():
    assert read(event("Summary: " + "word " * 100, role=Role.DOCUMENT)) == []


def test_a_line_that_a_user_writes_is_no_property():
    assert read("Owner: Ada Brandt") == []


def test_a_paragraph_wrapped_in_the_middle_of_a_statement_is_read():
    text = "It has been a long year with a lot of rain, but I live in\nmunich now and I am glad of it. I work at Acme."
    assert "ada works_at Acme" in read(text)
    assert read("We talked for a while about the weather, and then\nabout this: I live in Munich.") == ["ada lives_in Munich"]
    assert read("I live in Munich\nI work at Acme") == ["ada lives_in Munich", "ada works_at Acme"]


EDGES = {
    "My name is Ada Brandt.": [(None, "ada brandt", Act.SAY)],
    "Call me Ada.": [(None, "ada", Act.SAY)],
    "My name isn't Ida.": [(None, "ida", Act.DENY)],
    "Ruth, also known as Ruthie, called.": [("ruth", "ruthie", Act.SAY)],
    "Ruthie is short for Ruth.": [("ruthie", "ruth", Act.SAY)],
    "By Ruthie I mean Ruth.": [("ruthie", "ruth", Act.SAY)],
    "When I say Ruthie, I mean Ruth.": [("ruthie", "ruth", Act.SAY)],
    "Ruth and Ruthie are two different people.": [("ruth", "ruthie", Act.DENY)],
    "Ruthie is not the same person as Ruth.": [("ruthie", "ruth", Act.DENY)],
    "Is Ruthie short for Ruth?": [],
    "Ruthie is short for Ruth?": [],
    "I think my name is Ada.": [],
    "My name used to be Ada.": [],
    'Ruth said "Tom, also known as Tommy, was there".': [],
}


@pytest.mark.parametrize(("text", "edges"), EDGES.items(), ids=EDGES)
def test_who_is_who_is_an_edge_with_its_words(text, edges):
    found = folded(text).edges
    assert [(edge.a.name, edge.b.name, edge.act) for edge in found] == edges
    assert all(0 <= first < end <= len(text) for edge in found for first, end in edge.spans)


def test_the_words_of_a_statement_are_its_support():
    text = "Well, I've been living in Munich since 2023, you know."
    fact = folded(text).assertions[0]
    assert [text[first:end] for first, end in fact.spans] == ["I've been living in Munich since 2023", "Munich"]
    assert text[slice(*fact.span)] == "Munich"


# Whatever the text

WORDS = [
    "I",
    "Ruth",
    "my",
    "sister",
    "live",
    "in",
    "Munich",
    "not",
    "'s",
    "said",
    '"',
    ",",
    ".",
    "?",
    "\n",
    "since",
    "2023",
    "and",
    "if",
    "is",
    "a",
    "nurse",
]
HOSTILE = st.text(
    st.sampled_from([*"aAI'\"`>*_:(),.?!-\n\t ", "\u202e", "\u200b", "\u0301", "\u0130", "\x00", "\x01", "\U0001f600", "\ud800"]),
    max_size=200,
)
MIXED = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


@given(st.one_of(st.text(max_size=300), HOSTILE, MIXED), st.sampled_from([Role.USER, Role.DOCUMENT]))
@example("I live in Mu\u202enich", Role.USER)
@example("\u0130 live in \u0130zmir", Role.USER)
@example("x\r\nI live in Munich", Role.USER)
@example("Key: \ud800", Role.DOCUMENT)
def test_any_text_is_read_without_an_error_and_every_string_is_a_quote(text, role):
    said = event(text, role=role, metadata={"heading": "Heading"})
    for candidate in extract(said, shipped()).candidates:
        assert candidate.value is None or is_quote(text, candidate.value_span, candidate.value)
        assert candidate.qualifier is None or is_quote(text, candidate.qualifier_span, candidate.qualifier)
        assert candidate.entity in (None, "Heading") or is_quote(text, candidate.entity_span, candidate.entity)
        assert candidate.validity.words in text
    assert all(rejection.code.name == "NOT_THE_SPEAKER" for rejection in folded(said).rejections)


@given(st.one_of(st.text(max_size=300), HOSTILE, MIXED))
def test_the_words_of_a_sentence_stand_where_it_says(text):
    at = 0
    for sentence in sentences(text):
        if sentence.voice is None:
            assert all(first < end for first, end in zip(sentence.starts, sentence.ends, strict=True))
            assert at <= sentence.starts[0]
            at = sentence.ends[-1]


@pytest.mark.parametrize(
    "text", ["I live in Mu\u202enich.", "I live in Munich\u200b\u200bstadt.", "I live in \u2066Munich\u2069.", "I live in Mun\x00ich."]
)
def test_a_value_with_hidden_characters_at_its_edge_is_left_out(text):
    assert read(text) == []


def test_a_listing_without_an_end_is_no_sentence_and_what_follows_is_read():
    assert read("so and " * 200 + "I live in Oslo and so on. I live in Munich.") == ["ada lives_in Munich"]


def test_a_letter_that_grows_in_small_writing_shifts_nothing():
    assert read("\u0130\u0130\u0130 here. I live in Munich.") == ["ada lives_in Munich"]


def test_reading_does_not_depend_on_what_else_was_read():
    texts = [text for _, text, _ in SAID]
    alone = [read(text) for text in texts]
    assert [read(text) for text in reversed(texts)] == alone[::-1]


def test_a_name_that_is_taken_back_joins_nobody():
    assert folded("My name is Ada. That was a lie.").edges == ()
    assert folded("My name is Ada. Just kidding!").edges == ()


def test_a_line_within_a_block_of_code_is_none():
    text = "Owner: Ada\n```\nBudget: 3\n```\n\n    Status: x\n\nPlace: `a b`"
    facts = folded(event(text, role=Role.DOCUMENT, author=None, metadata={"heading": "Offsite"})).assertions
    assert [(fact.qualifier, fact.value) for fact in facts] == [("Owner", "Ada"), ("Place", "`a b`")]


def test_what_is_indented_within_a_paragraph_is_read():
    assert read("Hello.\n    I live in Oslo.") == ["ada lives_in Oslo"]


# How much of one event


def test_an_event_is_read_up_to_a_number_of_sentences_and_one_rejection_says_so():
    said = event("Fine. " * (SENTENCES_MAX - 1) + "I live in Oslo. I work at Acme. I like jazz.")
    assert read(said) == ["ada lives_in Oslo"]
    assert folded(said).rejections == (Rejection(said.seq, "", RejectionCode.TOO_LONG),)


def test_an_event_is_read_up_to_a_number_of_characters_and_one_rejection_says_so():
    filling = "x" * 99 + "\n"
    said = event(filling * (CHARACTERS_MAX // 100 - 1) + "I live in Oslo.\n" + filling + "I work at Acme.")
    assert read(said) == ["ada lives_in Oslo"]
    assert [rejection.code for rejection in folded(said).rejections] == [RejectionCode.TOO_LONG]


def test_a_quotation_that_goes_on_where_reading_ends_is_still_nobodys():
    text = " " * (CHARACTERS_MAX - 40) + 'x "It was so. I live in Oslo. And so on, and so on, and so on, and on."'
    assert read(text) == []


def test_an_event_just_within_the_bounds_is_read_wholly():
    said = event("Fine. " * (SENTENCES_MAX - 1) + "I live in Oslo.")
    assert (read(said), folded(said).rejections) == (["ada lives_in Oslo"], ())
    said = event("I live in Oslo.".rjust(CHARACTERS_MAX, "\n"))
    assert (read(said), folded(said).rejections) == (["ada lives_in Oslo"], ())


def test_the_lines_of_a_long_document_are_read_as_far_as_its_sentences():
    text = "Budget: 3\n" + "Fine.\n" * SENTENCES_MAX + "Owner: Ada\n"
    folds = folded(event(text, role=Role.DOCUMENT, author=None, metadata={"heading": "Offsite"}))
    assert [fact.qualifier for fact in folds.assertions] == ["Budget"]
    assert [rejection.code for rejection in folds.rejections] == [RejectionCode.TOO_LONG]


def calls(text: str) -> int:
    """Return how many functions are called to read a text."""
    count = 0

    def counting(frame: object, what: str, argument: object) -> None:
        nonlocal count
        count += what in ("call", "c_call")

    said, before = event(text), sys.getprofile()
    sys.setprofile(counting)
    try:
        folded(said)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("sentence", ["I live in Berlin. ", "I moved to Berlin in 2019. ", "Ruth likes tea and jazz. ", "That was a lie. "])
def test_the_work_grows_with_the_number_of_sentences_and_not_faster(sentence):
    calls(sentence * 20)
    once, ten_times = calls(sentence * 50), calls(sentence * 500)
    assert 8 * once < ten_times < 11 * once


PIECES = [
    "I live in Munich and ", "I live in Munich. ", "a", "'a ", '"a b c ', 'Ruth said "I live in Munich". ', "` ", "> ", "((((", "I I I ",
    "Ruth, ", "since 2023 ", "the 1st of ", "1.", "key: value\n", "and, ", "\u0301", "my sister ", "\n\n", "- ",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_reading_time_grows_with_the_text_and_not_faster(piece, elapsed):
    with elapsed(seconds_max=4):
        extract(event(piece * (100_000 // len(piece)), role=Role.DOCUMENT), shipped())


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["I live in Munich and ", "'a ", 'Ruth said "I live in Munich". ', "key: value\n"], ids=repr)
def test_a_very_long_text_is_read_in_seconds(piece, elapsed):
    with elapsed(seconds_max=20):
        extract(event(piece * (300_000 // len(piece)), role=Role.DOCUMENT), shipped())


def test_modality_of_a_plan_is_planned_even_where_it_is_stated_plainly():
    assert [fact.modality for fact in folded("I plan to learn Greek.").assertions] == [Modality.PLANNED]
