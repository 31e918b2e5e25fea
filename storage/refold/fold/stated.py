"""What a clause states: by the words it begins with, by what is whose, or by its verb; and what a phrase takes for granted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from refold.fold.clauses import Opening, Subject, dropped
from refold.fold.grammar import NONE, Index
from refold.fold.matching import Binding, match, needs_duration, stance
from refold.fold.patterns import Pattern
from refold.fold.relations import Kind, Relations
from refold.fold.scene import Range, Scene
from refold.fold.slots import fill
from refold.fold.statements import Statement, has_duration
from refold.fold.verb_group import FINITE_FIRST, FINITE_THIRD, Reading, readings
from refold.fold.verbs import Form
from refold.model import Act, Modality, Span

PHRASE_WORDS_MAX = 2  # of a value that is taken for granted: "my nut allergy", not "my doctor suspects asthma"
_FINITE = FINITE_FIRST | FINITE_THIRD


@dataclass(frozen=True, slots=True)
class Context:
    """What a clause is read with: its sentence, the relations, and the one person that `he` or `she` can be."""

    scene: Scene
    relations: Relations
    antecedent: Span | None
    is_note: bool = False  # whether a subject may be left out here


def by_words(context: Context, opening: Opening) -> list[Statement]:
    """Return what patterns like "remind me to {x}", "always {x}" find; a `don't` before them denies.

    A value that is itself a statement counts as that: "from now on call me Mo" is a name, not an instruction.
    """
    found = _by_words(context, opening)
    orders = [one for one in found if one.binding.slot and one.binding.slot.kind == "Rest"]
    plain = [one for one in found if one not in orders]
    if plain or not orders:
        return plain
    inner = _by_words(context, Opening(orders[0].binding.values[0][0], opening.begin))
    if orders[0].act is Act.DENY:
        inner = [replace(one, act=Act.DENY) for one in inner if one.act is Act.SAY]
    return [one for one in inner if one.relation is not orders[0].relation] or orders


def _by_words(context: Context, opening: Opening) -> list[Statement]:
    scene, at = context.scene, opening.at
    speaker = (scene.sentence.voice,)
    denial = 2 if scene.words[at : at + 2] in (("do", "not"), ("no", "longer")) else 1 if scene.word(at) in ("never", "not") else 0
    if denial:
        found = list(_led_by(context, opening, at, speaker, denied=False))
        if any(one.binding.slot and one.binding.slot.kind != "Rest" for one in found):
            return found
        return list(_led_by(context, opening, at + denial, speaker, denied=True)) or found
    return list(_led_by(context, opening, at, speaker, denied=False)) or list(_wholes(context, opening))


def _wholes(context: Context, opening: Opening) -> Iterator[Statement]:
    scene = context.scene
    for pattern in scene.grammar.wholes:
        binding = match(pattern.rest, scene, opening.at) if pattern.needed <= scene.has else None
        if binding:
            yield _statement(context, opening, pattern, binding, (scene.sentence.voice,), opening.at, pattern.act)


def _led_by(context: Context, opening: Opening, at: int, speaker: tuple[Span | None, ...], *, denied: bool) -> Iterator[Statement]:
    done: set[str] = set()
    scene = context.scene
    index = scene.grammar.clauses.get(scene.word(at), NONE)
    for pattern in _going_on(index, scene, at + 1):
        if pattern.relation in done or (denied and pattern.act is not Act.SAY):
            continue
        binding = match(pattern.rest, scene, at + (1 if pattern.verb else 0))
        if binding:
            done.add(pattern.relation)
            act = Act.DENY if denied or binding.is_denied else pattern.act
            yield _statement(context, opening, pattern, binding, speaker, opening.at, act)


def by_possession(context: Context, opening: Opening) -> Iterator[Statement]:
    """Yield what patterns like "my name is {x}" find on my, her, Ruth's."""
    scene, at = context.scene, opening.at
    if scene.words[at] not in ("my", "our", "his", "her"):
        at = scene.name_end(at)
        if at == opening.at or scene.word(at) != "'s":
            return
    owner = _owner(context, at)
    if owner is None:
        return
    done: set[tuple[str, Act]] = set()
    for pattern in _going_on(scene.grammar.possessives, scene, at + 1):
        before = None if (pattern.relation, pattern.act) in done else match(pattern.before, scene, at + 1, until="is")
        reading = _be(scene, before.end) if before else None
        binding = match(pattern.rest, scene, reading.after) if reading else None
        stands = stance(pattern, reading, is_event=False) if binding and reading else None
        if before and binding and stands:
            done.add((pattern.relation, pattern.act))
            binding.qualifier = before.qualifier or binding.qualifier
            if before.slot:
                binding.values, binding.slot = before.values, before.slot
            yield _statement(context, opening, pattern, binding, (owner[0],), opening.at, *_denied(stands, binding))


def _be(scene: Scene, at: int) -> Reading | None:
    """Return the reading of the `is` at a word: also was, will be, used to be."""
    return next((reading for reading in readings(scene, at, forms=_FINITE) if reading.key == "be"), None)


def _denied(stands: tuple[Act, Modality], binding: Binding) -> tuple[Act, Modality]:
    return (Act.DENY, stands[1]) if binding.is_denied and stands[0] is Act.SAY else stands


def _owner(context: Context, at: int) -> tuple[Span | None, Range | None] | None:
    """Return whose `my`, `her` or `'s` stands at a word (None: the speaker's), and the words of the name."""
    scene, word = context.scene, context.scene.word(at)
    if word in ("my", "our"):
        return scene.sentence.voice, None
    if word in ("his", "her"):
        return (context.antecedent, None) if context.antecedent else None
    if word != "'s":
        return None
    begin = at
    while begin > 0 and at - begin < 4 and scene.is_name(begin - 1):
        begin -= 1
    return (scene.sentence.span(begin, at), (begin, at)) if begin < at else None


def by_verb(context: Context, opening: Opening, who: Subject) -> Iterator[Statement]:
    """Yield what patterns like "I live in {x}" find at the innermost verb that states something."""
    for reading in reversed(readings(context.scene, who.after, forms=who.forms)):
        done: set[tuple[str, Act]] = set()
        index = context.scene.grammar.subjects.get(reading.key, NONE)
        for pattern in _going_on(index, context.scene, reading.after):
            statement = None if (pattern.relation, pattern.act) in done else _at_verb(context, opening, who, reading, pattern)
            if statement:
                done.add((pattern.relation, pattern.act))
                yield statement
        if done:
            return


def by_note(context: Context, opening: Opening) -> Iterator[Statement]:
    """Yield what the verb of a note without a subject says of the speaker: "moved to Munich"."""
    scene = context.scene
    who = dropped(scene, opening.at)
    if who:
        yield from (one for one in by_verb(context, opening, who) if not _is_order(one))


def _is_order(statement: Statement) -> bool:
    """Whether a verb in its base form is rather an order: what happens ("visit Rome") is, a state ("love jazz") is not."""
    first = statement.scene.word(statement.begin)
    forms = {form for _, form in statement.scene.grammar.forms.get(first, ())}
    return Form.BASE in forms and Form.PAST not in forms and (statement.pattern.is_past or statement.pattern.verb not in _STATES)


_STATES = frozenset(
    (
        "live",
        "work",
        "like",
        "love",
        "enjoy",
        "prefer",
        "adore",
        "hate",
        "dislike",
        "detest",
        "loathe",
        "own",
        "have",
        "need",
        "want",
        "suffer",
        "reside",
    )
)


def _at_verb(context: Context, opening: Opening, who: Subject, reading: Reading, pattern: Pattern) -> Statement | None:
    scene = context.scene
    stands = stance(pattern, reading, is_event=context.relations.by_name[pattern.relation].kind is Kind.EVENT)
    binding = match(pattern.rest, scene, reading.after, owner_is_my=pattern.subject is not None) if stands else None
    if stands is None or binding is None:
        return None
    entities = ((scene.sentence.voice,) if who.is_first else ()) + who.people
    if pattern.subject is not None:
        if pattern.subject.kind != "Name" or len(who.names) != 1 + pattern.is_pair or who.is_first != pattern.is_shared:
            return None
        if pattern.is_pair and scene.word(who.begin - 1) == ",":  # the last two of several
            return None
        binding.values, binding.slot = [who.names[-1]], pattern.subject
        entities = (scene.sentence.voice,) if pattern.is_shared else (who.people[0] if pattern.is_pair else _owner_of(scene, binding),)
    if pattern.is_quoting:
        binding.qualifier = _verb_of(scene, reading)
    if binding.is_denied and stands[0] is not Act.SAY:
        return None
    act, modality = _denied(stands, binding)
    statement = _statement(context, opening, pattern, binding, entities, who.begin, act, modality)
    if needs_duration(pattern, reading) and not has_duration(statement):
        return None
    if opening.needs_past and not (pattern.is_past and modality is Modality.ASSERTED):
        return None
    return statement


def _verb_of(scene: Scene, reading: Reading) -> Range:
    """Return the word that is the verb of a reading: adverbs may stand between it and where the reading goes on."""
    forms = scene.grammar.forms
    at = next(at for at in range(reading.after - 1, -1, -1) if any(key == reading.key for key, _ in forms.get(scene.words[at], ())))
    return at, at + 1


def _going_on(index: Index, scene: Scene, at: int) -> list[Pattern]:
    """Return the patterns that may go on with the word at `at`, or with the next one behind adverbs, dates and denials."""
    here = index.at(scene.word(at))
    beyond = scene.passed(at)
    found = here if beyond == scene.word(at) else dict.fromkeys((*here, *index.at(beyond)))
    has = scene.has
    return [pattern for pattern in found if pattern.needed <= has]


_IS = frozenset(("is", "are", "'s", "was"))
_OVER = frozenset(("was", "were", "got", "had", "went", "took", "did"))
_POSSESSED = frozenset(("my", "our", "me", "us", "'s"))


def of_thing(context: Context, opening: Opening) -> Iterator[Statement]:
    """Yield what patterns like "{x} is my favourite" find: the value is the subject, and whose it is comes behind."""
    scene = context.scene
    if _POSSESSED.isdisjoint(scene.has):
        return
    for pattern in scene.grammar.things:
        verb = _verb_at(scene, opening.at, pattern.verb) if pattern.needed <= scene.has else None
        filled = fill(pattern.subject, scene, opening.at, scene.words[verb]) if verb and pattern.subject else None
        readable = readings(scene, filled[1], forms=_FINITE) if filled else ()
        reading = next((one for one in readable if one.key == pattern.verb), None)
        binding = match(pattern.rest, scene, reading.after, owner_is_my=True) if reading else None
        stands = stance(pattern, reading, is_event=False) if binding and reading else None
        if filled and binding and stands:
            binding.values, binding.slot = filled[0], pattern.subject
            yield _statement(context, opening, pattern, binding, (_owner_of(scene, binding),), opening.at, *_denied(stands, binding))
            return


def _verb_at(scene: Scene, at: int, key: str) -> int | None:
    """Return the first word behind `at` that is a form of a verb."""
    for index in range(at + 1, len(scene.words)):
        word = scene.words[index]
        if word in _IS if key == "be" else any(verb == key for verb, _ in scene.grammar.forms.get(word, ())):
            return index
    return None


def _owner_of(scene: Scene, binding: Binding) -> Span | None:
    """Return whose the pattern's `my` is."""
    return scene.sentence.span(*binding.owner) if isinstance(binding.owner, tuple) else scene.sentence.voice


def granted(context: Context) -> Iterator[Statement]:
    """Yield what a sentence takes for granted anywhere in it, even where it asks: "my sister Ruth", "Ruth's brother Tom"."""
    scene = context.scene
    if scene.grammar.phrase_words.isdisjoint(scene.words):
        return
    for at in range(len(scene.words)):
        owner = _owner(context, at)
        if owner is None:
            continue
        found: dict[str, tuple[Pattern, Binding]] = {}
        for pattern in _going_on(scene.grammar.phrases, scene, at + 1):
            binding = _phrase(scene, pattern, at)
            if binding and any(end - first > PHRASE_WORDS_MAX for first, end in binding.values):
                continue
            planned = context.relations.by_name[pattern.relation].modality is Modality.PLANNED
            if binding and planned and scene.word(binding.end) in _OVER:  # "my flight to Rome was cancelled"
                continue
            if binding and (pattern.relation not in found or binding.end > found[pattern.relation][1].end):
                found[pattern.relation] = pattern, binding
        for pattern, binding in found.values():
            act = Act.DENY if binding.is_denied and pattern.act is Act.SAY else pattern.act
            yield _statement(context, Opening(at, at), pattern, binding, (owner[0],), owner[1][0] if owner[1] else at, act)


def _phrase(scene: Scene, pattern: Pattern, at: int) -> Binding | None:
    """Match a phrase at its `my`; where its value stands before that ("Ruth, my sister,"), go back to it."""
    if pattern.subject is None:
        return match(pattern.rest, scene, at + 1)
    begin = end = at - 1
    while begin > 0 and end - begin < 4 and scene.is_name(begin - 1):
        begin -= 1
    if scene.word(end) != "," or begin == end or scene.words[at] == "'s":
        return None
    binding = match(pattern.rest, scene, at + 1, until=".")
    if binding and scene.is_closed(binding.end):
        binding.values, binding.slot = [(begin, end)], pattern.subject
        return binding
    return None


def _statement(
    context: Context,
    opening: Opening,
    pattern: Pattern,
    binding: Binding,
    entities: tuple[Span | None, ...],
    begin: int,
    act: Act,
    modality: Modality = Modality.ASSERTED,
) -> Statement:
    if opening.is_doubted and act is Act.SAY:
        act = Act.DENY
    relation = context.relations.by_name[pattern.relation]
    return Statement(context.scene, relation, pattern, binding, opening, entities, begin, act, modality)
