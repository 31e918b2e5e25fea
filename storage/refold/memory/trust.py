"""The verbs that check, sign and prove."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from refold import given, journal
from refold.errors import Corrupt
from refold.memory.opened import Opened

if TYPE_CHECKING:
    from refold.heads.checkpoint import Checkpointed
    from refold.heads.proof import Consistency, Inclusion
    from refold.log.note import Verifier
    from refold.receipts.verify import Verified
    from refold.recover.audit import Audit
    from refold.verdict import Verdict


class Trust(Opened):
    """Look at what is there, and sign it."""

    def checkpoint(self, *, progress: Callable[[int, int], None] | None = None) -> Checkpointed:
        """Read the whole log anew, sign its head, attest the state beside it, and let the witnesses take the head.

        Nothing is signed of a log that is damaged: the verdict is kept, and nothing is added to it either. Raises Corrupt.
        """
        from refold import settings
        from refold.heads.configured import sign
        from refold.recover.remember import judged

        self._operator_only()
        self.store.log.refuse_copy()
        journal.require_clear(self.places)  # a verdict on a log that is half way would be kept
        verdict = judged(self.places, settings.load(), now=self._now)
        if not verdict.is_whole:
            raise Corrupt(f"the log is damaged, so its head is not signed: {verdict.kind.value}", hint="refold recover --log")
        with self._reading() as state:
            return sign(self.store, state=state, random=self._random, progress=progress)

    def audit(self, *, deep: bool = False) -> Audit:
        """Look for what is interrupted, damaged or lost; write nothing. A memory that cannot be opened is audited by `refold audit`.

        The log is listed only, unless that finds something, or `deep`: `listed` says when it was last read, `verify_log` reads it.
        """
        from refold import settings
        from refold.recover.audit import audit, options

        self._operator_only()
        return audit(self.places, deep=deep, log=options(self.places, settings.load()))

    def verify(self, paper: bytes | Path | str) -> Verified:
        """Check a receipt, a signed head or a proof, given as its bytes or its file, by the keys of this log.

        Raises Corrupt, KeyMissing where none of them signed it, UnsupportedVersion, FileNotFoundError.
        """
        from refold import files
        from refold.heads.checkpoint import known_keys
        from refold.receipts.verify import verify

        self._operator_only()
        return verify(paper if isinstance(paper, bytes) else files.read(paper), known_keys(self.store))

    def prove(self, seq: int) -> tuple[Inclusion, ...]:
        """Prove that an entry is in the log, under each key that signed its head: each is text for `c2sp.org/tlog-proof`. Raises Usage."""
        from refold.heads import proof

        self._operator_only()
        given.whole_number(seq, "seq")
        return proof.inclusion(self.store, seq, random=self._random)

    def prove_growth(self, size: int) -> Consistency:
        """Prove that the log only grew since it had so many entries. Raises Usage."""
        from refold.heads import proof

        self._operator_only()
        given.whole_number(size, "size")
        return proof.consistency(self.store, size, random=self._random)

    def keys(self) -> list[str]:
        """Return the public keys that sign this log, as those who verify need them."""
        from refold.heads.checkpoint import known_keys

        self._operator_only()
        return [str(key) for key in known_keys(self.store)]

    def key_rotate(self) -> Verifier:
        """Let another key sign this log from now on, vouched for by the old one."""
        from refold.heads.rotation import rotate

        self._operator_only()
        return rotate(self.store, random=self._random)

    def verify_log(self, *, deep: bool = False) -> Verdict:
        """Hold the log against what was signed and witnessed of it, `deep` entry by entry; write nothing.

        Raises VerificationIncomplete where something cannot be read.
        """
        from refold import settings
        from refold.recover.audit import options, verified

        self._operator_only()
        return verified(self.places, options(self.places, settings.load()), deep=deep)
