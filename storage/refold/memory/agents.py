"""The verbs about whoever asks over the network: the tokens that say as whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refold import settings
from refold.memory.opened import Opened

if TYPE_CHECKING:
    from refold.keys.tokens import Token


class Agents(Opened):
    """Make, list and take away bearer tokens."""

    def token_add(self, name: str, *, principal: str) -> str:
        """Make a token for a principal of the settings and return it, this once: only its digest is kept. Raises Usage."""
        from refold.keys import tokens

        self._operator_only()
        return tokens.mint(self.store.vault.path, name, settings.load().principal(principal).name, now=self._now, random=self._random)

    def tokens(self) -> list[Token]:
        """Return what is kept of every token."""
        from refold.keys import tokens

        self._operator_only()
        return tokens.tokens(self.store.vault.path)

    def token_revoke(self, name: str) -> None:
        """Take a token away: from the next request on it opens nothing. Raises Usage."""
        from refold.keys import tokens

        self._operator_only()
        tokens.revoke(self.store.vault.path, name)
