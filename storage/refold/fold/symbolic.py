"""`symbolic/en-1`: what an event states, read with the patterns of configs/relations.toml and no model.

It reads plain declarative English: a subject it knows (the speaker, a named person, he or she where only one person was named), a verb of
a pattern, a value. What is asked, supposed, wished, joked or quoted from nobody states nothing. What it does not understand it leaves out:
it is built to be right about what it says, not to say everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from refold.fold import english
from refold.fold.clauses import NOTE, Opening, Subject, openings, starts, subject
from refold.fold.extraction import NOTHING, EdgeCandidate, Extraction
from refold.fold.lines import line_candidates
from refold.fold.matching import match
from refold.fold.relations import About, Relations, SaidBy
from refold.fold.scene import Range, Scene
from refold.fold.sentences import Sentence, sentences
from refold.fold.stated import Context, by_note, by_possession, by_verb, by_words, granted, of_thing
from refold.fold.statements import Statement, candidates, refill
from refold.fold.supposed import Limits, announces_example, limits, takes_back
from refold.fold.verbs import Form
from refold.model import Act, Event, Modality, Role, Span, normalise
from refold.reading import Candidate

SENTENCES_MAX = 2_000  # of one event
CHARACTERS_MAX = 200_000  # of one event: what lies behind is not read, and one rejection says so
OVERLAP = 4_000  # characters looked at behind that, so that a quotation or a sentence there is known by its end
EXCLAMATION = 2  # words
SHORT = 4  # words: "Just kidding!" and "Not." are read for what they take back
_JOKES = english.by_first(english.JOKES)
_CORRECTING = english.by_first(english.CORRECTING)
_AUXILIARIES = frozenset(("would", "could", "should", "'d", "let", "will", "might", "may", "can", "do", "did"))


def extract(event: Event, relations: Relations) -> Extraction:
    """Read one event. Pure: the same event and relations give the same extraction. Never raises, whatever the text."""
    if not event.asserts:
        return NOTHING
    reader = _Reader(event, relations)
    telling = relations.grammar.telling
    reached, is_cut = CHARACTERS_MAX, len(event.text) > CHARACTERS_MAX
    for number, sentence in enumerate(sentences(event.text[: CHARACTERS_MAX + OVERLAP])):
        if number >= SENTENCES_MAX:
            reached, is_cut = (min(reached, sentence.starts[0]) if sentence.voice is None else reached), True
            break
        if sentence.ends[-1] > CHARACTERS_MAX:
            continue
        if not telling.isdisjoint(sentence.words) or len(sentence.words) <= SHORT or takes_back(sentence) is not None:
            reader.read(sentence)
        else:
            reader.pass_over(sentence)
    if event.role is Role.DOCUMENT:
        lines = line_candidates(replace(event, text=event.text[: CHARACTERS_MAX + OVERLAP]), relations)
        reader.found += (line for line in lines if line.relation_span[1] <= reached)
    return Extraction(tuple(_distinct(reader.found)), tuple(dict.fromkeys(reader.edges)), is_cut)


def _distinct(found: Iterable[Candidate]) -> Iterator[Candidate]:
    seen = set()
    for candidate in found:
        key = (candidate.relation, candidate.act, candidate.entity_span, candidate.value_span or candidate.relation_span)
        if key not in seen:
            seen.add(key)
            yield candidate


@dataclass(slots=True)
class _Reader:
    """One event being read: what was found so far, and who was named."""

    event: Event
    relations: Relations
    found: list[Candidate] = field(default_factory=list)
    edges: list[EdgeCandidate] = field(default_factory=list)
    people: dict[str, Span] = field(default_factory=dict)  # third persons named so far
    last: tuple[Statement, int, int] | None = None  # the newest statement, and where its candidates lie in `found`
    sentence_begins: int = 0  # where the candidates of the newest sentence begin
    edges_begin: int = 0  # and its edges
    is_short: bool = False  # and whether it is an exclamation: what is taken back behind "Really?" was said before that
    prior: tuple[int, int] = (0, 0)  # the same of the sentence before
    is_example: bool = False  # the sentence before only announced an example

    def pass_over(self, sentence: Sentence) -> None:
        """Begin a new sentence: from here on, what is taken back is what the one before stated."""
        begins = len(self.found), len(self.edges)
        if not self.is_short or begins != (self.sentence_begins, self.edges_begin):
            self.prior = self.sentence_begins, self.edges_begin
        self.sentence_begins, self.edges_begin = begins
        self.is_short = sum(word[0].isalpha() for word in sentence.words) <= EXCLAMATION
        self.is_example = announces_example(sentence.words)

    def _take_back(self) -> None:
        del self.found[self.prior[0] :]
        del self.edges[self.prior[1] :]
        self.sentence_begins, self.edges_begin = len(self.found), len(self.edges)
        self.last = None

    def read(self, sentence: Sentence) -> None:
        """Read one sentence into candidates and edges."""
        is_example = self.is_example
        self.pass_over(sentence)
        words = sentence.words
        retracted = takes_back(sentence)
        if retracted is not None:
            if retracted[0] == 0:
                self._take_back()
            if retracted[1] == len(words):
                return
        if is_example or self.is_example:
            return
        if any(word in _JOKES and english.longest(words, at, _JOKES) for at, word in enumerate(words)):
            if sum(word[0].isalpha() for word in words) <= 4:  # "Just kidding!" takes back the sentence before it
                self._take_back()
            self.last = None
            return
        bounds = limits(sentence)
        if bounds.dictated == -1:
            return
        scene = Scene.of(sentence, self.relations.grammar)
        for statement in granted(self._context(scene)):
            self._add(statement)
            self._meet(scene, (scene.sentence.span(*value) for value in statement.binding.values[:1]))
        self._read_aliases(scene)
        self._read_clauses(scene, bounds)

    def _context(self, scene: Scene, teller: Span | None = None, *, is_note: bool = False) -> Context:
        only = next(iter(self.people.values())) if len(self.people) == 1 else None
        return Context(scene, self.relations, teller or only, is_note)

    def _meet(self, scene: Scene, spans: Iterable[Span]) -> None:
        for span in spans:
            self.people.setdefault(normalise(scene.sentence.text[slice(*span)]), span)

    def _add(self, statement: Statement) -> None:
        added = candidates(statement, self.event.said_at)
        # What a clause says of a value counts, not what a phrase within it takes for granted: "I got over my asthma".
        wider = {(found.relation, found.value_span): found.relation_span for found in added}
        self.found[self.sentence_begins :] = [
            found
            for found in self.found[self.sentence_begins :]
            if not _within(found.relation_span, wider.get((found.relation, found.value_span)))
        ]
        begin = len(self.found)
        self.found += added
        self.last = (statement, begin, len(self.found))
        for found in self.found[begin:] if statement.relation.alias else ():
            if found.value is None or found.value_span is None or found.act is Act.END or found.modality is not Modality.ASSERTED:
                continue
            if found.entity is not None and statement.relation.about is About.SPEAKER:
                continue
            edge = EdgeCandidate(found.entity, found.entity_span, found.value, found.value_span, found.act, found.relation_span)
            self.edges.append(edge)

    # Clauses

    def _read_clauses(self, scene: Scene, bounds: Limits) -> None:
        shared: Subject | None = None
        reached: dict[int, Opening] = {}  # a place behind a lead keeps what the lead did: "from what I hear, Ruth ..."
        for start in starts(scene.words):
            is_request = bounds.is_request and (start == 0 or scene.words[start - 1] == "and")
            if start >= bounds.end and not is_request:
                return
            if self._is_correction(scene, start) or (start and scene.words[start - 1] == "or"):  # an alternative states nothing
                continue
            for opening in openings(scene, reached.get(start) or Opening(start, start)):
                reached[opening.at] = opening
                if opening.at >= len(scene.words):
                    break
                is_note = start == 0 and self.event.role is Role.USER and not opening.teller
                context = self._context(scene, opening.teller, is_note=is_note)
                who = subject(scene, opening.at, context.antecedent)
                if who:
                    self._meet(scene, (span for span, _ in zip(who.people, who.names, strict=False)))
                statements = [] if bounds.forbid(scene.words, start) else _statements(context, opening, who, shared, is_request=is_request)
                for statement in statements:
                    self._add(statement)
                shared = who or shared or (NOTE if statements and is_note else None)
                if statements:
                    break

    # Aliases

    def _read_aliases(self, scene: Scene) -> None:
        """Find "Ruth, also known as Ruthie" and its kind."""
        sentence = scene.sentence
        if sentence.end_mark == "?" or sentence.voice:
            return
        telling = sorted(scene.grammar.alias_words & scene.has)
        patterns = [pattern for word in telling for pattern in scene.grammar.aliases[word] if pattern.needed <= scene.has]
        for at in range(len(scene.words) if patterns else 0):
            for pattern in patterns:
                binding = match(pattern.elements, scene, at)
                if binding and binding.a and binding.b and not binding.is_denied:
                    self.edges.append(_edge(sentence, binding.a, binding.b, pattern.act, (at, binding.end)))
                    return

    # Corrections

    def _is_correction(self, scene: Scene, start: int) -> bool:
        """Read "I meant Munich" behind a statement: its value is replaced, and the first is not kept."""
        phrase = english.longest(scene.words, start, _CORRECTING)
        if not phrase or self.last is None:
            return False
        statement, begin, end = self.last
        at = start + len(phrase)
        while scene.word(at) in (",", "\u2014", "..."):
            at += 1
        slot = statement.binding.slot
        refilled = refill(slot, scene, at) if slot else None
        if refilled is None or statement.act is not Act.SAY:
            return False
        place = scene.sentence.span(*refilled[0][0])
        value = scene.sentence.text[slice(*place)]
        self.found[begin:end] = [
            replace(found, value=value, value_span=place) for found in self.found[begin:end][:1] if found.act is Act.SAY
        ]
        self.last = None
        return True


def _within(inner: Span, outer: Span | None) -> bool:
    return outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _edge(sentence: Sentence, a: Range, b: Range, act: Act, words: Range) -> EdgeCandidate:
    a_span, b_span = sentence.span(*a), sentence.span(*b)
    texts = sentence.text[slice(*a_span)], sentence.text[slice(*b_span)]
    return EdgeCandidate(texts[0], a_span, texts[1], b_span, act, sentence.span(*words))


def _statements(context: Context, opening: Opening, who: Subject | None, shared: Subject | None, *, is_request: bool) -> list[Statement]:
    """Return what one clause states, as read from one opening."""
    scene = context.scene
    found = [one for one in by_words(context, opening) if not one.pattern.is_note]
    if is_request:  # "could you remind me to ..." asks for what it says
        return [statement for statement in found if statement.relation.said_by is SaidBy.USER]
    found += by_possession(context, opening)
    if found:
        return found
    if who is None and shared is not None and opening.begin == opening.at and _shares_subject(scene, opening.at):
        who = replace(shared, begin=opening.at, after=opening.at, names=())
    if who is not None and not (opening.teller and who.is_first):
        found += by_verb(context, opening, who)
    if not found and (who is None or not who.is_first):
        found += of_thing(context, opening)
    if not found and who is None and context.is_note:
        found = [*by_note(context, opening)] or by_words(context, opening)
    return found


def _shares_subject(scene: Scene, at: int) -> bool:
    """Whether a clause without a subject goes on from the one before: "and work at Acme", but not "want to relax and work"."""
    if at == 0 or scene.words[at - 1] not in english.SHARING:
        return False
    forms = {form for _, form in scene.grammar.forms.get(scene.words[at], ())}
    if Form.BASE in forms and forms.isdisjoint((Form.PAST, Form.THIRD)):
        behind = scene.words[:at]
        infinitive = any(word == "to" and not scene.is_name(place + 1) for place, word in enumerate(behind))
        return not infinitive and _AUXILIARIES.isdisjoint(behind)
    return True
