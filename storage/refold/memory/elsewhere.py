"""The verbs about what is elsewhere: copies of the store and of the keys, and the register of all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from refold import given
from refold.given import When
from refold.memory.opened import Opened

if TYPE_CHECKING:
    from refold.copies.backup import Backup
    from refold.copies.escrow import Escrow
    from refold.copies.mirror import Mirrored
    from refold.register import Copy


class Elsewhere(Opened):
    """Copy the store or its keys, and write down what is elsewhere. All are the operator's."""

    def backup(self, folder: Path | str) -> Backup:
        """Copy the store as it is now to a folder of its own, and note it. The keys are not in it. Raises Usage, Corrupt, WriteFailed."""
        from refold.copies.backup import backup

        place = self._elsewhere(folder)
        made = backup(self.places, place, now=self._now, random=self._random)
        self.copy_add("backup", str(place))
        return made

    def backup_keys(self, file: Path | str, *, recipient: bytes) -> Escrow:
        """Copy the keys to a new file, sealed to the recipient whose public key (X25519, PEM) is given, and note it. Raises Usage."""
        from refold.copies import escrow

        place = self._elsewhere(file)
        made = escrow.make(self.places, place, recipient, now=self._now, random=self._random)
        self.copy_add("escrow", str(place))
        return made

    def mirror(self, folder: Path | str, *, deep: bool = False) -> Mirrored:
        """Bring what is new of the store to a copy elsewhere, and note it; `deep` reads again what is there. Raises Usage, Corrupt."""
        from refold.copies.mirror import mirror

        place = self._elsewhere(folder)
        done = mirror(self.places, place, deep=deep)
        self.copy_add("mirror", str(place))
        return done

    def copies(self) -> list[Copy]:
        """Return the register of what is elsewhere, the first due first. `standing(epoch)` of each says what became of it."""
        from refold import register

        self._operator_only()
        return register.copies(self.store)

    def copy_add(
        self,
        kind: str,
        place: str,
        *,
        owner: str = "operator",
        due: When | None = None,
        evidence: str = "",
        made: When | None = None,
    ) -> Copy:
        """Write down a copy: what it is, where, who owes that it goes and by when. Raises Usage.

        `made` is when it was made, of one that was found later; `erase_renew` then says so in the certificates since.
        """
        from refold import register

        self._operator_only()
        return register.add(
            self.store,
            given.one_of(kind, register.Kind, "a kind of copy"),
            given.text(place, "place"),
            owner=given.one_of(owner, register.Owner, "an owner"),
            due=given.moment(due, "due"),
            made=given.moment(made, "made"),
            evidence=given.text(evidence, "evidence"),
            now=self._now,
            random=self._random,
        )

    def copy_confirm(self, copy_id: str, *, evidence: str, state: str = "done") -> Copy:
        """Write down what became of the copy whose id begins so, and how that is known. Raises Usage.

        `erase_renew` then makes anew the certificates that waited for it.
        """
        from refold import register

        self._operator_only()
        standing = given.one_of(state, register.Standing, "a state")
        said = given.text(evidence, "evidence")
        return register.confirm(self.store, given.text(copy_id, "copy_id"), standing, evidence=said, now=self._now, random=self._random)

    def _elsewhere(self, path: Path | str) -> Path:
        self._operator_only()
        given.place(path, "the place of a copy")
        return Path(path).absolute()
