"""The verbs that check, sign and prove."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from refold.errors import Corrupt
from refold.memory.opened import Opened

if TYPE_CHECKING:
    from refold.heads.checkpoint import Checkpointed
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

    def verify_log(self, *, deep: bool = False) -> Verdict:
        """Hold the log against what was signed and witnessed of it, `deep` entry by entry; write nothing.

        Raises VerificationIncomplete where something cannot be read.
        """
        from refold import settings
        from refold.recover.audit import options, verified

        self._operator_only()
        return verified(self.places, options(self.places, settings.load()), deep=deep)
