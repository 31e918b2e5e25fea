"""The verbs of an erasure: each step of a request's life. All are the operator's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refold import journal, settings
from refold.errors import NotAllowed, Usage
from refold.memory.opened import Opened
from refold.model import AliasKind, EventId, Span, SubjectId

if TYPE_CHECKING:
    from refold.erase.dockets import Docket
    from refold.erase.form import Outline
    from refold.erase.model import Decision, Mode, Reached, Request, Selector, Stage
    from refold.erase.plan import Plan
    from refold.erase.redaction import Shared
    from refold.erase.without import Supposed
    from refold.extractors import Choice
    from refold.memory.erased import Erased

Progress = Callable[[int, int], None]


def silent(done: int, whole: int) -> None:
    """Tell nobody how far it is."""


class Erasure(Opened):
    """Ask for an erasure, find, review, plan, approve and run it; or forbid one."""

    def plan_erasure(
        self,
        *,
        user_id: str | None = None,
        subject: SubjectId | None = None,
        event: EventId | None = None,
        mentions: Decision | None = None,
        progress: Progress = silent,
    ) -> Plan:
        """Ask for the erasure of a person or an event, search for it, and plan it: `diff` is what everyone would know and not know.

        `mentions` decides about all that others say of the person without declaring it; what nobody decided about stops the erasure.
        """
        from refold.erase.model import Selector

        aliases = () if user_id is None else ((AliasKind.HANDLE, user_id),)
        selector = Selector(() if subject is None else (subject,), aliases, events=() if event is None else (event,))
        request = self.erase_request(selector)
        request = self.erase_find(request.request_id, progress=progress)
        if mentions is not None and request.found:
            self.erase_decide(request.request_id, {(one.seq, *one.span): mentions for one in request.found.candidates})
        return self.erase_plan(request.request_id)

    def fold_without(self, selector: Selector, *, by: Choice | None = None) -> Supposed:
        """Return what memory would be without what a selector names: nothing is published, and no model is asked.

        `by` is what reads the events, as in `fold`. Raises NotRecorded where a model would have to be asked about what is left.
        """
        from refold.erase.without import without
        from refold.extractors import Choice

        self._operator_only()
        with self._asking() as state:
            return without(self.store, state, selector, choice=by or Choice.of(), now=self._now)

    def erase(self, plan: Plan, *, by: Choice | None = None, progress: Progress = silent) -> Erased:
        """Approve what was planned, and carry it out. Raises as `erase_approve` and `erase_run` do."""
        from refold.memory.erased import Erased

        request_id = plan.target.request_id
        self.erase_approve(request_id)
        return Erased(self.erase_run(request_id, by=by, progress=progress), self.places)

    def erase_request(
        self,
        selector: Selector,
        *,
        received: int | None = None,
        due: int | None = None,
        mode: Mode | None = None,
        suppresses: bool = True,
        suppresses_aliases: bool = False,
    ) -> Request:
        """Write down a request for erasure."""
        from refold.erase import requests

        self._operator_only()
        made = requests.ask(
            self.store,
            selector,
            received=received,
            due=due,
            asked_by=self._who,
            suppresses=suppresses,
            suppresses_aliases=suppresses_aliases,
            now=self._now,
            random=self._random,
        )
        return made if mode is None else self._changed(made.request_id, lambda one: replace(one, mode=mode))

    def erase_ask(self, *, user_id: str | None = None) -> Request:
        """Write down that a user asks to be forgotten; an operator finds, reviews, approves and runs it. A principal asks for its users.

        Says nothing of whether anything is known of them. Raises NotAllowed, Usage.
        """
        from refold.erase import requests
        from refold.erase.model import Selector

        who, user = self._principal, self.scope(user_id).user
        if user is None:
            raise Usage("whose memory is to be erased is not said", hint="refold help requests")
        if who is not None and who.is_limited and who.users is None:
            raise NotAllowed("only a principal of that user may ask for it", hint="refold help principals")
        selector = Selector(aliases=((AliasKind.HANDLE, user),))
        return requests.ask(self.store, selector, asked_by=self._who, now=self._now, random=self._random)

    def erase_requests(self) -> list[Outline]:
        """Return every request and hold, as far as it can be seen without what it is about; the first due first."""
        from refold.erase import requests

        self._operator_only()
        return requests.outlines(self.store)

    def erase_show(self, request_id: bytes) -> Request:
        """Open a request. Raises KeyMissing where it went dark with whom it was about."""
        from refold.erase import requests

        self._operator_only()
        return requests.read(self.store, request_id)

    def erase_find(self, request_id: bytes, *, progress: Progress = silent) -> Request:
        """Search the whole log for what a request means; what was decided before stays decided."""
        from refold.erase import find, requests

        before = self.erase_show(request_id)
        decided = before.found.candidates if before.found else ()
        with self._knowing() as state:
            found = find.find(self.store, state, before.selector, decided=decided, progress=progress)
        return self._changed(request_id, lambda one: requests.search(one, found))

    def erase_decide(self, request_id: bytes, decisions: Mapping[tuple[int, int, int], Decision]) -> Request:
        """Decide about mentions, by entry and span. Raises Usage where one is none, as of what is declared to be about the person."""
        from refold.erase import requests

        self._operator_only()
        requests.require_mentions(self.store, self.erase_show(request_id), [seq for seq, *_ in decisions])
        return self._changed(request_id, lambda one: requests.decide(one, dict(decisions)))

    def erase_shared(self, request_id: bytes) -> list[Shared]:
        """Return the events that others said and that go, of which they can keep a redacted version. Raises Usage before `erase_find`."""
        from refold.erase import redaction

        request = self.erase_show(request_id)
        if request.found is None:
            raise Usage("nothing was searched for yet", hint=f"refold erase find {request_id.hex()[:8]}")
        return redaction.shared(self.store, request)

    def erase_keep(self, request_id: bytes, versions: Mapping[int, str | Sequence[Span] | None]) -> Request:
        """Let others keep redacted versions of events, by entry: a text, or the spans that are taken out; None keeps nothing after all.

        Raises Usage where an event is the person's own, or a version still names them.
        """
        from refold.erase import redaction, requests

        request = self.erase_show(request_id)
        with self._knowing() as state:
            made = [redaction.redacted(self.store, state, request, seq, words) for seq, words in versions.items() if words is not None]
        dropped = [self.store.log.event(seq).event_id for seq, words in versions.items() if words is None]
        return self._changed(request_id, lambda one: requests.keep(one, made, dropped=dropped))

    def erase_plan(self, request_id: bytes) -> Plan:
        """Plan a request: what goes, what holds again, whom it concerns. Changes nothing but the request."""
        from refold.erase import plan, requests

        request = self.erase_show(request_id)
        with self._knowing() as state:
            made = plan.make(self.store, state, request)
        if request.target != made.target or request.stage is not requests.Stage.APPROVED:
            self._changed(request_id, lambda one: requests.planned(one, made.target))
        return made

    def erase_approve(self, request_id: bytes) -> Request:
        """Approve a planned request, as the principal that this memory was opened as. Raises NotAllowed."""
        from refold.erase import plan, requests

        request = self.erase_show(request_id)
        with self._knowing() as state:
            plan.require_free(plan.make(self.store, state, request))
        needed = settings.load().erase.approvals
        return self._changed(request_id, lambda one: requests.approve(one, by=self._who, needed=needed))

    def erase_refuse(self, request_id: bytes, reason: str) -> Request:
        """Refuse a request, for a reason."""
        from refold.erase import requests

        self._operator_only()
        return self._changed(request_id, lambda one: requests.refuse(one, reason))

    def erase_hold(self, selector: Selector, reason: str) -> Request:
        """Forbid that what a selector names is erased."""
        from refold.erase import requests

        self._operator_only()
        return requests.hold(self.store, selector, reason=reason, asked_by=self._who, now=self._now, random=self._random)

    def erase_release(self, request_id: bytes) -> Request:
        """Let a hold stand no more."""
        from refold.erase import requests

        self._operator_only()
        return self._changed(request_id, requests.release)

    def erase_due(self) -> list[Request]:
        """Ask for the erasure of what is kept longer than the settings allow."""
        from refold.erase import retention

        self._operator_only()
        with self._knowing() as state:
            return retention.due(self.store, state, settings.load().retention, now=self._now, random=self._random)

    def erase_run(self, request_id: bytes, *, by: Choice | None = None, extra: Sequence[Path] = (), progress: Progress = silent) -> Reached:
        """Carry out an approved request, scan for what is left, and certify it as far as that goes.

        One that was carried out already, by a run that was interrupted or that found something left, is scanned and certified. `by` is
        what reads the events, as in `fold`: a model is asked again about those that it read beside what goes. `extra` are places to scan
        beside the three. Raises Blocked, NotAllowed, Undecided where something came that nobody decided about.
        """
        from refold.erase import conclusion

        self._operator_only()
        journal.require_clear(self.places)  # half way through, what goes is dark and what stays is not settled
        docket, is_drained = conclusion.awaited(self.store, request_id), None
        if docket is None:
            docket, is_drained = self._erased(request_id, by=by, progress=progress)
        self._fold_kept(docket, by)
        return conclusion.conclude(self.store, docket, is_drained=is_drained, extra=extra, now=self._now, random=self._random)

    def _fold_kept(self, docket: Docket, by: Choice | None) -> None:
        """Fold the redacted versions, so that the scan sees what follows from them; what a model reads waits for the next fold."""
        from refold import extractors

        choice, reached = by or extractors.Choice.of(), docket.reached
        if reached is not None and reached.kept and reached.generation and choice.recipe is None:
            extractors.fold(self.store, choice, full=False, require=None, now=self._now, random=self._random, progress=None)

    def _erased(self, request_id: bytes, *, by: Choice | None, progress: Progress) -> tuple[Docket, bool]:
        """Carry out an approved request; return what it is to be certified by, and whether readers were waited for."""
        from refold.erase import conclusion, dockets, find, plan, prove, requests
        from refold.erase.run import run

        request = self.erase_show(request_id)
        target = requests.start(request)
        with self._knowing() as state:
            held = requests.holds(self.store)
            planned = plan.make(self.store, state, request)
            plan.require_free(planned)
            review = find.reviewer(self.store, state, request.selector)
            gathering = prove.gathering_of(self.store, state, request, target)
        conclusion.settle(self.store, request_id)
        plan.note_recipients(self.store, planned.recipients, now=self._now, random=self._random)
        self._changed(request_id, lambda one: replace(one, stage=requests.Stage.RUNNING))
        epoch, docket = self.store.keyring.epoch, None

        def keep(coming: Reached) -> None:
            nonlocal docket
            requests.require_no_new_hold(self.store, held)
            docket = dockets.Docket(request, gathering.footprint, planned.events, coming)
            dockets.keep(self.store, docket, random=self._random)

        try:
            reached = run(
                self.store,
                target,
                choice=by,
                review=review,
                others=lambda: requests.carried(self.store, target),
                docket=keep,
                watch=gathering.read,
                now=self._now,
                random=self._random,
                progress=progress,
            )
        except BaseException:
            self._back_from_running(request_id, epoch)
            raise
        assert docket is not None, "nothing is carried out without a docket"
        return replace(docket, reached=reached), reached.readers_drained

    def erase_waiting(self) -> list[bytes]:
        """Return the requests that were carried out and are not certified yet: `erase_run` scans and certifies them."""
        from refold.erase import conclusion

        self._operator_only()
        return conclusion.waiting(self.store)

    def erase_renew(self) -> dict[bytes, Stage]:
        """Make anew the certificates that waited for what is gone since, as the register of copies says; return their states."""
        from refold.erase import conclusion

        self._operator_only()
        return conclusion.renew(self.store, now=self._now, random=self._random)

    def erase_certificate(self, request_id: bytes) -> bytes:
        """Return the certificate of a request that was carried out. Raises Usage where there is none."""
        from refold.erase import prove

        self._operator_only()
        return prove.read(self.store, request_id)

    def _back_from_running(self, request_id: bytes, epoch: int) -> None:
        """Where nothing was erased, nor can be by completing what is left, let the request be approved as it was before."""
        from refold.erase import dockets, requests

        is_open = any(entry.forbids_changes for entry in journal.entries(self.places))
        if not is_open and self.store.vault.live_epoch() == epoch:
            dockets.destroy(self.store, request_id)
            self._changed(request_id, lambda one: replace(one, stage=requests.Stage.APPROVED))

    def _changed(self, request_id: bytes, how: Callable[[Request], Request]) -> Request:
        from refold.erase import requests

        return requests.change(self.store, request_id, how, now=self._now, random=self._random)

    @property
    def _who(self) -> str:
        return self._principal.name if self._principal else ""
