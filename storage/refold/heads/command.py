r"""A witness behind a command of the operator's, which reaches wherever they like: another host, a public witness, a person's key.

It gets on standard input what c2sp.org/tlog-witness says of `add-checkpoint`:

    old <size that this witness took last>\n ‖ a line of base64 for each hash of the consistency proof ‖ \n ‖ the signed head

and answers on standard output with signature lines over the head, under the key that the settings name, or with the newest head that
it has seen, as the log signed it. Any exit but 0 is no answer. What it took last is kept in the vault, so that it can be asked again.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from refold import files
from refold.errors import Corrupt, VerificationIncomplete
from refold.heads import kept
from refold.heads.kept import HINT, SignedHead
from refold.heads.witness import aside
from refold.log import note
from refold.log.note import DASH, Note, TreeHead, Unsigned, Verifier

SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class CommandWitness:
    """A command that remembers, and what it is known to have taken."""

    name: str
    argv: tuple[str, ...]
    folder: Path  # in the vault
    key: Verifier | None
    is_external: bool = False

    def seen(self, known: Sequence[Verifier]) -> SignedHead | None:
        """Ask for the newest head that it took, by handing in the last one again. Raises Corrupt, VerificationIncomplete."""
        last = kept.newest(self.folder, known)
        if last is None:
            return None
        head = self._ask(last.note, last.head.size, (), known)
        return SignedHead(head, last.note, last.path)

    def take(self, signed: Note, before: int, proof: Sequence[bytes], known: Sequence[Verifier]) -> None:
        """Hand in a head. Raises Corrupt where it has seen another, VerificationIncomplete where it does not answer."""
        head, _ = kept.opened(signed.raw, known)
        answered = self._ask(signed, before, proof, known)
        if answered != head and not before and self._gave_up(answered, known):
            message = f"a witness still remembers the {answered.size} entries that were given up: its keeper has to let go of them"
            raise VerificationIncomplete(message, path=self.folder, hint=HINT)
        if answered != head:
            raise Corrupt(f"a witness has seen {answered.size} entries of another history", path=self.folder, hint=HINT)
        kept.keep(self.folder, head, signed, known)

    def set_aside(self, given_up: SignedHead) -> None:
        """Keep what it was known to have taken under another name, and hand in what comes as if it had seen nothing.

        What it remembers itself is not in our hands: until whoever keeps it lets go of the head that was given up, it takes nothing.
        """
        files.rename_folder(self.folder, self.folder.with_name(aside(self.folder.name, given_up)))

    def _ask(self, signed: Note, before: int, proof: Sequence[bytes], known: Sequence[Verifier]) -> TreeHead:
        answer = self._run(request(before, proof, signed))
        try:
            if answer.startswith(DASH) and self.key is not None:
                Note(signed.text, note.signature_lines(answer)).signed_by([self.key])
                return TreeHead.parse(signed.text)
            return kept.opened(answer.encode(), known)[0]
        except Unsigned:
            raise VerificationIncomplete("a witness answered with what its key, or the log's, has not signed", hint=HINT) from None
        except ValueError:
            raise VerificationIncomplete("a witness answered with what is neither signature lines nor a head", hint=HINT) from None

    def _gave_up(self, answered: TreeHead, known: Sequence[Verifier]) -> bool:
        """Whether a head is one that was set aside."""
        folders = [name for name in files.names(self.folder.parent) if name.startswith(f"{self.folder.name}-{answered.size:020d}-")]
        return any(kept.read(self.folder.parent / name, answered.size, known).head == answered for name in folders)

    def _run(self, said: str) -> str:
        try:
            done = subprocess.run(self.argv, input=said.encode(), capture_output=True, timeout=SECONDS_MAX, check=False)
        except (OSError, subprocess.TimeoutExpired):
            raise VerificationIncomplete("the command of a witness cannot be run, or does not end", hint=HINT) from None
        if done.returncode:
            raise VerificationIncomplete(f"the command of a witness ended with {done.returncode}", hint=HINT)
        return done.stdout.decode("utf-8", "replace")


def request(before: int, proof: Sequence[bytes], signed: Note) -> str:
    """Return a head with the proof that it continues an older one, in the form of tlog-witness."""
    return f"old {before}\n" + "".join(note.base64(each) + "\n" for each in proof) + f"\n{signed}"


def folder_of(vault: Path, name: str) -> Path:
    """Return where the vault keeps what the command of that name took."""
    return vault / "witness" / f"command-{name}"
