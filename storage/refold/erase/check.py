"""Check: after an erasure, look at the disk whether it is as was meant. Nothing that a run remembers counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from refold import files
from refold.erase.model import Reached
from refold.errors import Corrupt
from refold.keys import epochs
from refold.state.generation import state_folder
from refold.state.manifest import numbers
from refold.store import Store


def require_done(store: Store, done: Reached, seqs: Sequence[int], *, is_kept: bool) -> None:
    """Refuse to call an erasure done where the disk says otherwise. Raises Corrupt."""
    log = store.log
    head, keyring = log.refresh()
    if (head.fence, head.epoch, keyring.epoch) != (False, done.epoch_after, done.epoch_after):
        raise unlike("the log is not under the keys of the new epoch", log.place.folder)
    older = [
        name for name in files.names(store.vault.keys) if (found := epochs.FOLDER_NAME.fullmatch(name)) and int(found[1]) < keyring.epoch
    ]
    if older:
        raise unlike("a keyring of before is still there", store.vault.keys / older[0])
    for number in numbers(files.names(state_folder(store))):
        if number != done.generation:
            raise unlike("a generation of before is still there", state_folder(store))
    for seq in seqs if not is_kept else ():
        if log.row(seq).payloads()[0] is not None:
            raise unlike("an erased payload is still there", log.place.folder)


def require_dark(store: Store, done: Reached, seqs: Sequence[int], *, is_kept: bool) -> None:
    """Refuse to certify what is not erased, also when the log and its keys have gone on since. Raises Corrupt."""
    if not done.erasure_seqs or store.keyring.epoch < done.epoch_after:
        raise unlike("no entry of the log says that it was", store.log.place.folder)
    folder = store.vault.keys / epochs.folder_name(done.epoch_before)
    if files.look(folder) is not None:
        raise unlike("a keyring of before is still there", folder)
    for seq in seqs if not is_kept else ():
        if store.log.row(seq).payloads()[0] is not None:
            raise unlike("an erased payload is still there", store.log.place.folder)


def unlike(message: str, path: Path) -> Corrupt:
    return Corrupt(f"the erasure did not end as it should: {message}", path=path, hint="refold audit")
