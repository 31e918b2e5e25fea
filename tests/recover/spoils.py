"""What can happen to a store: each function does one thing to it that an audit should find."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from refold import canonical, files, journal
from refold.log import stored
from refold.log.stored import Stored
from refold.memory import Memory
from refold.recover import findings
from refold.recover.findings import Code
from refold.store import Places, open_store
from refold.verdict import Kind
from tests import verify
from tests.conftest import now
from tests.journal import KILLED, SAMPLE, left, on, stopped_after
from tests.journal.test_drift import end_without_clearing
from tests.recover import untrue


def stop(places: Places) -> Path:
    """Leave an unfinished transaction behind, one of its two steps done; return its folder."""
    steps = [journal.write(on("store", f"note-{number}"), b"x") for number in range(2)]
    assert stopped_after(lambda: journal.commit(places, SAMPLE, steps), 1) == KILLED
    (entry,) = left(places)
    return entry.path


def unfinished(places: Places) -> None:
    stop(places)


def malformed(places: Places) -> None:
    (stop(places) / "journal.json").write_bytes(b"{}")


def unsupported(places: Places) -> None:
    path = stop(places) / "journal.json"
    path.write_bytes(path.read_bytes().replace(b"refold.journal/1", b"refold.journal/2"))


def orphaned(places: Places) -> None:
    (stop(places) / "journal.json").unlink()


def unsafe(places: Places) -> None:
    path = stop(places)
    path.rename(places.vault / "moved")
    path.symlink_to("../moved")


def foreign(places: Places) -> None:
    path = stop(places)
    path.rename(path.with_name("ab" * 16))


def kept(places: Places) -> None:
    (stop(places) / "artifacts").unlink()


def drifted(places: Places) -> None:
    stop(places)
    (places.store / "note-0").write_bytes(b"y")


def strange(places: Places) -> None:
    (stop(places) / "notes.txt").write_bytes(b"")


def outlived(places: Places) -> None:
    ended(places)
    (places.store / "note-0").write_bytes(b"newer")


def ended(places: Places) -> None:
    stop(places)
    end_without_clearing(places)


def unnamed(places: Places) -> None:
    (places.vault / "journal" / f".tmp-{'ab' * 16}").mkdir(parents=True, mode=0o700)


def vault_missing(places: Places) -> None:
    shutil.rmtree(places.vault)


def pin_missing(places: Places) -> None:
    (places.vault / "witness/log.json").unlink()


def pin_damaged(places: Places) -> None:
    (places.vault / "witness/log.json").write_bytes(b"{")


def vault_foreign(places: Places) -> None:
    other = places.vault.with_name("other")
    Memory.create(other / "store", vault=other / "vault", root=other / "root").close()
    shutil.rmtree(places.vault)
    (other / "vault").rename(places.vault)


def signing_missing(places: Places) -> None:
    (places.vault / "signing/000001.key").unlink()


def signing_cut(places: Places) -> None:
    (places.vault / "signing/000001.key").write_bytes(b"short")


def signing_other(places: Places) -> None:
    (places.vault / "signing/000001.key").write_bytes(bytes(32))


def never_sealed(places: Places) -> None:
    (places.vault / "keys/epoch-000001/SEALED").unlink()


def seal_invalid(places: Places) -> None:
    path = places.vault / "keys/epoch-000001/SEALED"
    path.write_bytes(path.read_bytes().replace(b'"epoch":1', b'"epoch":2'))


def keyring_damaged(places: Places) -> None:
    path = places.vault / "keys/epoch-000001/seeds"
    path.write_bytes(path.read_bytes()[:-1])


def keyring_missing(places: Places) -> None:
    (places.vault / "keys/epoch-000001/seeds").unlink()


def root_missing(places: Places) -> None:
    (places.root / "root.000001").unlink()


def root_other(places: Places) -> None:
    (places.root / "root.000001").write_bytes(bytes(32))


def keys_unsupported(places: Places) -> None:
    path = places.vault / "witness/log.json"
    path.write_bytes(path.read_bytes().replace(b"refold.vault/1", b"refold.vault/2"))


def epoch_behind(places: Places) -> None:
    copy = places.vault.with_name("copy")
    shutil.copytree(places.vault, copy)
    next_epoch(places)
    shutil.rmtree(places.vault)
    copy.rename(places.vault)


def next_epoch(places: Places) -> None:
    """Open a fence, make a successor of the keyring live, and lift the fence under the new epoch."""
    with open_store(places) as store:
        store.log.fence(now=now, random=os.urandom)
        known = [entry.subject for entry in store.log.subjects()]
        store.vault.prepare(store.keyring.succeed(known, random=os.urandom), random=os.urandom)
        store.vault.seal(2)
        store.log.lift(now=now, random=os.urandom)


def keys_unsafe(places: Places) -> None:
    path = places.vault / "signing/000001.key"
    path.rename(places.vault / "real")
    path.symlink_to("../real")


def open_to_others(places: Places) -> None:
    (places.root / "root.000001").chmod(0o640)


def unsealed_file(places: Places) -> None:
    path = places.vault / "keys/epoch-000001/more"
    path.write_bytes(b"")
    path.chmod(0o600)


def paper(path: str) -> Callable[[Places], None]:
    def damaged(places: Places) -> None:
        files.make_folder((places.vault / path).parent)
        files.create(places.vault / path, b"{}")

    damaged.__name__ = f"damaged_{path.partition('/')[0]}"
    return damaged


def requests_lost(places: Places) -> None:
    files.make_folder(places.store / "receipts")
    files.create(places.store / "receipts" / f"erasure_certificate-{'ab' * 16}.json", b"{}")


def root_outlived(places: Places) -> None:
    next_epoch(places)


def never_live(places: Places) -> None:
    with open_store(places) as store:
        store.vault.prepare(store.keyring.succeed([], random=os.urandom), random=os.urandom)


def current_damaged(places: Places) -> None:
    (places.store / "state/CURRENT").write_bytes(b"\0" * 40)


def manifest_of(places: Places) -> Path:
    (path,) = places.store.glob("state/0*2")
    return path


def manifest_damaged(places: Places) -> None:
    path = manifest_of(places)
    path.write_bytes(path.read_bytes()[::-1])


def manifest_missing(places: Places) -> None:
    manifest_of(places).unlink()


def run_of(places: Places) -> Path:
    """Return a run that the current generation names."""
    with Memory.open(places.store, vault=places.vault, root=places.root) as memory:
        return next(run.path for table in ("events", "assertions") for run in memory._state.runs(table))


def run_missing(places: Places) -> None:
    run_of(places).unlink()


def run_cut(places: Places) -> None:
    path = run_of(places)
    path.write_bytes(path.read_bytes()[:-1])


def ahead(places: Places) -> None:
    """Take the newest commit away: the log ends before what was folded."""
    sorted((places.store / "log/commits").iterdir())[-1].unlink()


def other_history(places: Places) -> None:
    """Put in place of the log another one of the same length under the same keys."""
    other = places.store.with_name("other")
    shutil.copytree(places.store, other)
    for folder in ("log/commits", "log/parts"):
        for path in sorted((other / folder).iterdir())[1 if "commits" in folder else 0 :]:
            path.unlink()
    shutil.rmtree(other / "state")
    seen = places.vault / "witness/heads"
    seen.rename(seen.with_name("hidden"))  # whoever remembers more would refuse to write this history
    with Memory.open(other, vault=places.vault, root=places.root) as memory:
        for number in range(3):
            memory.add(f"I like {number}.", user_id="ada", source=f"chat:8#{number}")
    seen.with_name("hidden").rename(seen)
    shutil.rmtree(places.store / "log")
    (other / "log").rename(places.store / "log")


def state_unsupported(places: Places) -> None:
    path = places.store / "state/CURRENT"
    path.write_bytes(path.read_bytes().replace(b"refold.state/1", b"refold.state/2"))


def state_unsafe(places: Places) -> None:
    path = places.store / "state/CURRENT"
    path.rename(places.store / "state.real")
    path.symlink_to("../state.real")


def log_damaged(places: Places) -> None:
    path = sorted((places.store / "log/commits").iterdir())[-1]
    path.write_bytes(path.read_bytes()[:-1])


def on_part(edit: verify.Edit) -> Callable[[Places], None]:
    """Return what changes the rows of the log's first part: a person and what she said first."""
    return lambda places: verify.change(places, 0, edit)


def log_part(places: Places) -> None:
    path = verify.part_path(places, 0)
    path.write_bytes(path.read_bytes()[:-1])


def log_missing(places: Places) -> None:
    verify.part_path(places, 1).unlink()


def log_signature(places: Places) -> None:
    path = verify.commit_path(places, 1)
    raw = path.read_bytes()
    path.write_bytes(raw[:-130] + bytes(reversed(raw[-130:-2])) + raw[-2:])


def root_apart(places: Places) -> None:
    (places.vault / "custody").write_bytes(canonical.encode({"custody": "pkcs11", "format": "refold.custody/1", "token": "lost"}))


def custody_damaged(places: Places) -> None:
    (places.vault / "custody").write_bytes(b"{}")


def log_head(places: Places) -> None:
    path = max((places.store / "checkpoints").glob("*.note"))
    path.write_bytes(path.read_bytes()[:-1])


def verdict_damaged(places: Places) -> None:
    keep_verdict(places, b"{")


def verdict_of_another_time(places: Places) -> None:
    """Leave the verdict that a damage was found, which this log does not have."""
    found = Stored(Kind.BOUNDARY, is_intact=False, is_deep=True, size=7, digest="", damaged=(("log/parts/gone", None),))
    keep_verdict(places, found.raw)


def keep_verdict(places: Places, raw: bytes) -> None:
    path = places.vault / stored.PATH
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(raw)
    path.chmod(0o600)


def log_other(places: Places) -> None:
    path = places.store / "store.json"
    path.write_bytes(path.read_bytes().replace(places.origin.encode(), b"0" * 32))


def not_judged(places: Places) -> None:
    root_missing(places)


def state_dark(places: Places) -> None:
    next_epoch(places)


def debris(places: Places) -> None:
    (places.store / "state/runs" / ("ab" * 16)).write_bytes(b"")


CASES: dict[Code, list[Callable[[Places], None]]] = {
    findings.UNFINISHED: [unfinished],
    findings.MALFORMED: [malformed],
    findings.UNSUPPORTED: [unsupported],
    findings.ORPHANED: [orphaned],
    findings.UNSAFE: [unsafe],
    findings.FOREIGN: [foreign],
    findings.KEPT: [kept],
    findings.DRIFTED: [drifted],
    findings.STRANGE: [strange],
    findings.OUTLIVED: [outlived],
    findings.ENDED: [ended],
    findings.UNNAMED: [unnamed],
    findings.VAULT_MISSING: [vault_missing, pin_missing],
    findings.PIN_DAMAGED: [pin_damaged],
    findings.VAULT_FOREIGN: [vault_foreign],
    findings.SIGNING_MISSING: [signing_missing, signing_cut],
    findings.SIGNING_OTHER: [signing_other],
    findings.NEVER_SEALED: [never_sealed, seal_invalid],
    findings.SEAL_INVALID: [seal_invalid],
    findings.KEYRING_DAMAGED: [keyring_damaged, keyring_missing],
    findings.ROOT_MISSING: [root_missing],
    findings.ROOT_OTHER: [root_other],
    findings.ROOT_APART: [root_apart, custody_damaged],
    findings.KEYS_UNSUPPORTED: [keys_unsupported],
    findings.EPOCH_BEHIND: [epoch_behind],
    findings.KEYS_UNSAFE: [keys_unsafe],
    findings.OPEN_TO_OTHERS: [open_to_others],
    findings.UNSEALED_FILE: [unsealed_file],
    findings.PAPER_DAMAGED: [paper(f"requests/{'ab' * 16}"), paper("copies/register")],
    findings.PAPER_LOST: [requests_lost],
    findings.ROOT_OUTLIVED: [root_outlived],
    findings.NEVER_LIVE: [never_live, never_sealed],
    findings.LOG_PAYLOAD: [on_part(verify.with_value(1, "payload", lambda payload: payload[:-1] + b"x"))],
    findings.LOG_HEADER: [on_part(verify.with_value(1, "header", verify.flipped(40)))],
    findings.LOG_LINK: [on_part(verify.with_value(0, "hash", verify.flipped(0)))],
    findings.LOG_GAP: [on_part(verify.ordered(1))],
    findings.LOG_DUPLICATE: [on_part(verify.ordered(0, 0, 1))],
    findings.LOG_ORDER: [on_part(verify.ordered(1, 0))],
    findings.LOG_PART: [log_part],
    findings.LOG_MISSING: [log_missing],
    findings.LOG_COMMIT: [log_damaged],
    findings.LOG_SIGNATURE: [log_signature],
    findings.LOG_OTHER: [log_other],
    findings.LOG_HEAD: [log_head],
    findings.LOG_NOT_JUDGED: [vault_missing, vault_foreign],
    findings.LOG_REFUSED: [verdict_damaged, verdict_of_another_time],
    findings.CURRENT_DAMAGED: [current_damaged],
    findings.MANIFEST_DAMAGED: [manifest_damaged, manifest_missing],
    findings.RUN_DAMAGED: [run_missing, run_cut],
    findings.AHEAD: [ahead],
    findings.OTHER_HISTORY: [other_history],
    findings.STATE_UNSUPPORTED: [state_unsupported],
    findings.STATE_UNSAFE: [state_unsafe],
    findings.LOG_DAMAGED: [log_damaged],
    findings.NOT_JUDGED: [not_judged],
    findings.STATE_DARK: [state_dark],
    findings.DEBRIS: [debris],
    findings.CLOSURE_UNTILED: [untrue.untiled],
    findings.CLOSURE_UNDECLARED: [untrue.another_digest],
    findings.CLOSURE_BYTES: [untrue.other_text],
    findings.CLOSURE_FRAME: [untrue.other_parameter],
    findings.CLOSURE_INPUTS: [untrue.more_inputs],
    findings.CLOSURE_TAG: [untrue.other_tag],
    findings.CLOSURE_WIRE: [untrue.other_wire],
    findings.CLOSURE_DAMAGED: [untrue.damaged],
    findings.CLOSURE_NOT_JUDGED: [untrue.without_keys],
    findings.CLOSURE_DARK: [untrue.dark],
    findings.CLOSURE_WORDS: [untrue.of_no_recipe],
    findings.CLOSURE_CALL: [untrue.by_call],
}
