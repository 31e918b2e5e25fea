"""The closed classes of English that the symbolic extractor stands on: words about words, never about relations.

What a relation needs (kinds of work, of kin, of illness) is in configs/relations.toml; what the language itself needs is here.
"""

from __future__ import annotations

from enum import IntEnum


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> list[tuple[str, ...]]:
    return [tuple(phrase.split()) for phrase in text.replace("\n", "|").split("|") if phrase.strip()]


class Lead(IntEnum):
    """What the words before a clause's subject do to it."""

    PASS = 0
    HEDGED = 1
    REPORTED = 2
    DOUBTED = 3  # "I don't think": hedged and negated
    AFTER = 4  # "ever since", "after": taken for granted if it lies in the past
    POLITE = 5  # "please": an instruction follows


CONTRACTED = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}  # 's and 'd stay: they are ambiguous
WITHOUT_APOSTROPHE = {
    "im": (1, "i", "am"),
    "ive": (1, "i", "have"),
    "dont": (2, "do", "not"),
    "doesnt": (4, "does", "not"),
    "didnt": (3, "did", "not"),
    "isnt": (2, "is", "not"),
    "arent": (3, "are", "not"),
    "wasnt": (3, "was", "not"),
    "wont": (2, "will", "not"),
    "cant": (2, "can", "not"),
    "cannot": (3, "can", "not"),
    "havent": (4, "have", "not"),
    "hasnt": (3, "has", "not"),
    "gonna": (3, "going", "to"),
    "wanna": (3, "want", "to"),
    "gotta": (3, "got", "to"),
    "gimme": (3, "give", "me"),
    "lemme": (3, "let", "me"),
}
SLANG = {"u": "you", "ur": "your", "pls": "please", "plz": "please", "cuz": "because", "coz": "because", "cos": "because"}
NEGATIVE_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}

ASIDES = _words("btw tbh rn atm imo fyi tho ngl")  # typed behind a clause, as a mark is
BOUNDARIES = frozenset(",;:()[]-") | ASIDES | {"\u2014", "...", "/", "\n"}
TERMINATORS = frozenset(".!?") | {"\u2026"}
CONJUNCTIONS = _words("and but so because although though since as while whereas plus cuz coz cause yet or")
SHARING = _words("and but or then also , ;")  # after these a clause may share the subject of the one before

ADVERBS = _words("""
    now currently still also really just recently always actually already mostly usually often generally definitely certainly basically
    truly both even finally officially temporarily absolutely totally genuinely simply quite very rather particularly especially sometimes
    back here again right mainly primarily permanently happily personally only ever once too nowadays meanwhile full-time part-time
    remotely fulltime together newly today forever honestly secretly
""")
HEDGES = _words("probably maybe possibly perhaps presumably likely")
REPORTS = _words("apparently supposedly allegedly reportedly")
AUXILIARIES = _words("is are was were has have had does do did will would can could may might must should 's 'd used seems")
NEVER = _words("not never neither")
SELDOM = _words("hardly barely scarcely rarely seldom")  # neither that it is so nor that it is not
MERELY = _words("just only merely simply solely exclusively always necessarily")  # "I don't just live in Berlin" denies no more than that

LEADS: dict[Lead, list[tuple[str, ...]]] = {
    Lead.PASS: _phrases("""
        i meant|i meant to say|i meant that|what i meant is|what i meant was|i wanted to say
        actually|well|so|ok|okay|yes|yeah|yep|no|nope|nah|hi|hello|hey|hi there|hello there|hey there|by the way|btw|fyi
        for the record|to be clear|just so you know|so you know|note|please note|remember|please remember|keep in mind that
        for context|in fact|honestly|frankly|anyway|anyways|also|besides|and|but|then|plus|though|however|correction|sorry|oh|update
        turns out|it turns out|as it turns out|fun fact|personally|these days|nowadays|currently|right now|at the moment|at present
        now|today|recently|lately|finally|still|for now|for years|meanwhile|eventually|afterwards|later|because|since|although
        even though|as|while|whereas|given that|seeing that|i should mention|i should say|i should add|i forgot to mention
        i forgot to say|let me add|you should know|as i said|like i said|as i mentioned|i mean|i told you|i already told you|i said
        as you know|you know|did i mention|did i tell you|i want you to know|the thing is|the truth is|fact is|the fact is|truth is
        it is true that|it's true that|i can confirm|i know|i am happy that|i am glad|i am so glad|i am proud that|i am sad that
        i realized|i realised|i must say|i have to say|i must admit|i admit|i confess|good news|big news|great news|bad news
        quick update|small update|life update|ps|p|s|edit|tbh|imo|ah|ahh|hmm|hm|um|uh|wow|great|cool|thanks|thank you|luckily
        fortunately|unfortunately|sadly|for me|in my case|apart from that|other than that|on top of that|to be honest|in general
        of course|sure|right|look|listen|see|about me|a bit about me|first|first of all|second|secondly|third|last but not least
        one more thing|another thing|oops|wait|no wait|hold on|my bad|rather|indeed|as of now|from now on|until now|up to now|so far
        in short|long story short|after all|always|which is why|that is why|that's why|just to clarify|to clarify|let me clarify
        let me correct that|i was wrong|i misspoke|scratch that|dear all|hooray|believe it or not|it is official|it's official
        guess what|exciting news|reminder|note to self|instead|only|plus side|by profession|by trade|by training|i just wanted to say
        i wanted to tell you that|i wanted to let you know that|let it be known that
    """),
    Lead.HEDGED: _phrases("""
        i think|i believe|i guess|i suppose|i assume|maybe|perhaps|probably|possibly|presumably|it seems|it looks like|looks like
        seems like|it seems like|i am not sure but|not sure but|i am not certain but|i might be wrong but|i may be wrong but
        if i remember correctly|if i recall correctly|if i am not mistaken|if memory serves|iirc|afaik|as far as i know
        as far as i remember|i have a feeling|i am fairly sure|i am pretty sure|i am almost sure|i am almost certain|i feel like
        chances are|most likely|it sounds like|sounds like|i suspect|if i understood correctly|if i understand correctly
        to my knowledge|there is a chance|i reckon|i imagine|i am guessing|could be that|it may be that|it could be that
        i vaguely remember that
    """),
    Lead.REPORTED: _phrases("""
        apparently|supposedly|allegedly|reportedly|i heard|i hear|i have heard|i was told|from what i hear|from what i heard
        from what i have heard|i read|they say|people say|someone said|somebody said|someone told me|somebody told me|rumour has it
        rumor has it|word is|word has it
    """),
    Lead.DOUBTED: _phrases("""
        i do not think|i do not believe|i doubt
    """),
    Lead.AFTER: _phrases("after|ever since|even since|once"),
    Lead.POLITE: _phrases("please|pls|plz|kindly|and please|so please|could you please|can you please"),
}

SAYING = _words("""
    said says say told tells wrote writes mentioned mentions claims claimed thinks thought believes believed reckons texted announced
    insists insisted replied answered explained added adds confirmed confirms heard swears
""")
ADDRESSEES = _words("me us you him her them everyone everybody")

# A clause under one of these is not stated. `if` is here too, except where it only makes conversation.
BLOCKERS = _words("""
    if unless whether wish wishes wished imagine imagining suppose supposing pretend pretending hypothetically assuming assume
    dreamt dreamed
    dream dreams kidding joking provided otherwise hypothetical fictional lest
""")
FICTION = _words("novel film movie book story game play series show comic scenario example dream poem song script fiction musical opera")
DICTATING = _words(
    "draft write translate type compose rewrite proofread correct paraphrase summarise summarize post reply tell answer say read"
)
CONVERSATIONAL_IF = _phrases("""
    let me know if|tell me if|if anything comes up|if you need me|if you have questions|if you have any|if there is anything
    if needed|it if you|if you need|if you want|if you must know|if you are wondering|if you were wondering
    if you are curious|if you ask me|if it helps|if that helps|in case it helps|in case you are wondering|if it matters
    if that matters|if you care|if i understood correctly|if i understand correctly|if i remember correctly|if i recall correctly
    if i am not mistaken|if memory serves|ask if|check if|see if|if possible
""")
JOKES = _phrases("""
    said no one|said nobody|oh sure|yeah sure|sure thing|not .|
    lol|lmao|rofl|jk|j / k|just kidding|only kidding|kidding|i am kidding|just joking|joking|haha|hahaha|hehe|ha ha|as if
    yeah right|in my dreams|april fools|april fool|/ s|not !|sarcasm|\U0001f602|\U0001f923|\U0001f61c|\U0001f609|\U0001f643|; )
    you wish|dream on
""")
QUESTION_OPENERS = _words("""
    who what when where why which whose whom how do does did is are am was were can could will would should shall may might must
    have has had
    any ok okay shall know got anything anyone isn't ideas thoughts
""")
TRAILING_HEDGES = _phrases("""
    i think|i guess|i believe|i suppose|i assume|probably|maybe|perhaps|possibly|or so i think|not sure|i am not sure
    not entirely sure|if i remember correctly|if i recall correctly|if i am not mistaken|as far as i know|afaik|iirc
""")
# A sentence, or the end of one, that takes back what was said before it; courtesies, adverbs and marks are left out of the comparison.
RETRACTING = frozenset(
    (subject, *verb, *words)
    for subject in ("that", "this", "it")
    for verb in (("is",), ("was",), ("'s",))
    for words in _phrases("""
        a lie|lie|lies|a fib|a joke|untrue|false|not true|not the truth|not right|not correct|not so|not the case|wrong|incorrect|nonsense
        made up|invented|fiction|a fabrication
    """)
) | frozenset(
    _phrases("""
        i made that up|i made it up|i made this up|i lied|i lied about that|i lied about it|i was lying|i am lying|i was joking
        i was kidding
        i invented that|i was making that up|i was making it up|none of that is true|none of that was true|none of this is true|not true
        i did not mean that|i take that back|i take it back|forget that|that is made up
    """)
)
RETRACTING_WORDS = frozenset(phrase[-1] for phrase in RETRACTING)
BESIDE_RETRACTING = _words(
    "all actually just really completely totally entirely at of course sorry no ok okay well oh wait by the way but and"
)
# What follows one of these is an example, and states nothing.
EXEMPLIFYING = _phrases("for example|for instance|e.g.|e.g|eg|as an example|to give an example")
EXAMPLE_HEADS = _words("example examples instance sample samples suppose supposing imagine hypothetically")
CORRECTING = _phrases("""
    i mean|i meant|i meant to say|i meant to write|i mean to say|sorry i mean|sorry i meant|no i mean|no i meant|make that
    or rather|no wait|wait no|sorry|correction|scratch that|oops|oops i mean|oops i meant|rather|no
""")

# A value never starts with, or is, one of these.
POINTING = _words("""
    it this that these those you your yours him her his hers them their theirs me us mine ours he she they we i what which who whom
    whose how
    when where why one ones something anything nothing everything someone somebody anyone anybody everyone everybody nobody none
    such there here
    so as too to if than then not n't
""")
ARTICLES = _words("a an the my our his her their its some any")
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
} | {
    "a": 1,
    "an": 1,
    "couple": 2,
    "few": 3,
    "several": 5,
    "dozen": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}
COUNTING = (frozenset(NUMBERS) | {"many", "lots", "couple", "several", "both", "another", "few"}) - {"a", "an"}

# Where a noun phrase ends.
PREPOSITIONS = _words("""
    in at on with from for near by during about after before into onto around through against under over towards toward among across without
    within along beside behind outside inside via per since until till off out up down to
""")
CLOSERS = _words("""
    because but so when if although though since while until unless which that who whose where than as whereas however instead rather too
    very much lately nowadays now currently again anymore anyways please thanks either nor or yet once whenever still always already myself
    yesterday today tomorrow tonight recently right more most better best daily regularly myself himself herself also really is are
    was were am
    has had will would can could should might may did does do please
""")
PRONOUNS = _words("i we he she they you it there this these those who my our his her their your everyone somebody someone nobody")
ACTIONS = _words("""
    go goes went do does did make makes drink drinks eat eats take takes took get gets got use uses think want need know hope wish
    try come came
    play plays visit visits buy work works live lives have has had am is are was were will would can could should might don't do
    love like hate
    prefer enjoy moved started quit left never always currently just then also currently no
""")

# Never a name, or the start of one, however it is written.
NOT_NAMES = (
    POINTING
    | ASIDES
    | {"of", "to"}
    | PRONOUNS
    | PREPOSITIONS
    | CONJUNCTIONS
    | BLOCKERS
    | HEDGES
    | REPORTS
    | QUESTION_OPENERS
    | SELDOM
    | _words("""
    whoever whatever whichever whomever
    a an the some any no not never every each all both people men women kids children please always yes nope okay well hello hey hi dear
    thanks today tomorrow yesterday tonight monday tuesday wednesday thursday friday saturday sunday january february march july
    september october november december mon tue wed thu fri
    only just still also now currently recently actually really then later here there ok oh ah sorry update correction note many most
    several few other others another last next first second third home work school remotely freelance again myself nothing weird
""")
)
AUXILIARY_NAMES = _words("will may")  # people are called so too
# Behind the first word of a name, with a capital letter.
OF_NAMES = _words("one school home work people women men kids children day first second third")
NAME_PARTICLES = _words("de la le van von der den del di da do dos du al bin ibn ben el ter zu")
NAME_LINKS = NAME_PARTICLES | _words("of am an im sur upon les und & y e the 's")
TITLES = _words("dr mr mrs ms prof st dr. mr. mrs. ms. prof. st. aunt uncle sir")
FIRM_ENDINGS = _words("sons daughters partners co company brothers sisters associates")  # "Marrow and Sons" is one firm
COMPANY_ENDINGS = _words("inc inc. ltd ltd. corp corp. co co. llc gmbh ag plc")

TIME_WORDS = _words("""
    ago yesterday today tomorrow tonight week month year weekend weekends days weeks months years decade decades then childhood birth ages
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
    january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
    spring summer autumn fall winter christmas easter life day morning evening afternoon night o'clock noon midnight mornings evenings
    work school breakfast lunch dinner supper bed class sometime point thing
""")  # a sentence with none of these and no digit names no time
TIME_BEGINNINGS = _words("""
    for over in within from between ever since starting beginning as until till up on by before after during through throughout around
    back later early late mid effective at towards the last next this past coming yesterday today tomorrow tonight a an few couple
    several many ( one two three four five six seven eight nine ten eleven twelve fifteen twenty all my every each once twice first
    sometime some christmas easter
""")
TAIL = _words("""
    please again too soon now later then thanks and yet still either though also ok okay daily weekly monthly regularly asap first
    immediately eventually someday sometime today tonight
""")  # what may trail behind a verb phrase and is no part of it
EVER_SINCE = _words("since for always life")  # what makes "I have lived in" a statement about now


def by_first(phrases: list[tuple[str, ...]]) -> dict[str, list[tuple[str, ...]]]:
    """Arrange phrases by their first word, the longest first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        found.setdefault(phrase[0], []).append(phrase)
    return found


def longest(words: tuple[str, ...], at: int, phrases: dict[str, list[tuple[str, ...]]]) -> tuple[str, ...] | None:
    """Return the longest of the phrases (by first word) that stands at a word."""
    if at >= len(words):
        return None
    return next((phrase for phrase in phrases.get(words[at], ()) if words[at : at + len(phrase)] == phrase), None)
