"""Sight: what one view sees of a state. Claims and alias statements are filtered first, then decided; each is looked up once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import pyarrow.compute as pc

from refold.fold.entities import Component, Edge, components_of
from refold.fold.merge import Policy, Stance, decide, in_effect, stances
from refold.fold.relations import Relations
from refold.model import View
from refold.reading import Claim
from refold.state.generation import State


class Sight:
    """The claims, entities and decisions of one view. It lives as long as one question."""

    def __init__(self, state: State, view: View, relations: Relations, *, only: Collection[str] | None = None) -> None:
        self.state = state
        self.view = view
        self.visible = state.visible(view)
        self.policy_of: Callable[[str], Policy] = relations.policy
        self._relations = relations
        self._only = only  # decide these relations alone: none has a say in another
        self._components: dict[int, Component] = {}
        self._stances: dict[int, list[Stance]] = {}

    def narrowed(self, relations: Collection[str]) -> Sight:
        """Return the same sight of some relations alone; it knows what this one found out."""
        narrow = Sight(self.state, self.view, self._relations, only=relations)
        narrow._components = self._components
        if self._only is None:
            narrow._stances = {of: [one for one in every if one.shown.relation in relations] for of, every in self._stances.items()}
        return narrow

    def sees(self, said: Claim | Edge) -> bool:
        """Whether the view admits a statement."""
        seq = said.newest_seq if isinstance(said, Claim) else said.seq
        return self.visible.sees(said.scope, said.audience, seq=seq, recorded_at=said.recorded_at)

    def edges_of(self, mentions: Sequence[int]) -> list[Edge]:
        """Return the alias statements about some mentions that the view admits."""
        return [edge for edge in self.state.edges_of(mentions) if self.sees(edge)]

    def components(self, mentions: Iterable[int]) -> list[Component]:
        """Return the entities that some mentions belong to, each once."""
        wanted = {mention for mention in mentions if mention}
        if missing := wanted - self._components.keys():
            self._components |= components_of(missing, self.edges_of)
        return sorted({self._components[mention] for mention in wanted}, key=lambda component: component.mentions)

    def component_of(self, mention: int) -> int:
        """Return the mention that stands for the entity of a mention."""
        if mention and mention not in self._components:
            self.components([mention])
        return self._components[mention].entity if mention else 0

    def mentions_of(self, entity: int) -> tuple[int, ...]:
        """Return all mentions of an entity."""
        (component,) = self.components([entity])
        return component.mentions

    def stances(self, entity: int) -> list[Stance]:
        """Return what is shown of an entity: one stance per value and fate, in merge order."""
        return self.stances_each([entity])[0]

    def stances_each(self, entities: Sequence[int]) -> list[list[Stance]]:
        """Return what is shown of each of some entities; their claims are read at once."""
        if missing := [entity for entity in entities if entity not in self._stances]:
            self._decide(missing)
        return [self._stances[entity] for entity in entities]

    def claims(self, mentions: Iterable[int]) -> list[Claim]:
        """Return the claims about some mentions that the view admits, at the time that it asks about."""
        seen = self.admitted(self.state.claims(mentions, self._only))
        return seen if self.view.valid_at is None else in_effect(seen, self.view.valid_at, self.policy_of)

    def admitted(self, claims: Iterable[Claim]) -> list[Claim]:
        """Return those of some claims that the view admits. A relation that left the vocabulary since the fold is not known any more."""
        return [claim for claim in claims if self.sees(claim) and claim.relation in self._relations]

    def stances_said_in(self, entities: Iterable[int], seqs: Collection[int]) -> list[Stance]:
        """Return what is shown of some entities, of the relations of which events with some numbers state something about any of them."""
        of = {mention: entity for entity in entities for mention in self.mentions_of(entity)}
        stated = self.state.lookup("assertions", list(of), ["relation", "seq"])
        relations = set(stated.filter(pc.field("seq").isin(list(seqs)))["relation"].to_pylist())
        narrow = self.narrowed(relations)
        return [stance for each in narrow.stances_each(list(dict.fromkeys(of.values()))) for stance in each] if relations else []

    def _decide(self, entities: Sequence[int]) -> None:
        of = {mention: entity for entity in entities for mention in self.mentions_of(entity)}
        about: dict[int, list[Claim]] = {entity: [] for entity in entities}
        for claim in self.claims(of):
            about[of[claim.mention]].append(claim)
        self.components(m for claims in about.values() for claim in claims for m in (claim.value_mention, claim.asserted_by))
        for entity, claims in about.items():
            decided = decide(claims, self.policy_of, self.component_of)
            self._stances[entity] = stances(decided, self.policy_of, self.component_of)
