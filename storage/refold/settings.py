"""Settings: configs/refold.toml with the user's own file laid over it, and the other files of configs/ as text."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from refold.errors import NotAllowed, RefoldError, Usage
from refold.model import Draft, Scope, normalise
from refold.permitted import PRINCIPAL, SECTIONS

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Principal:
    """A reader: the audience labels it holds (None: every label) and the users it is limited to (None: any)."""

    name: str
    labels: frozenset[str] | None
    users: tuple[str, ...] | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there is anything that it may not see."""
        return self.labels is not None or self.users is not None

    def need_everything(self) -> None:
        """Refuse a principal that is limited, for what sees everything. Raises NotAllowed."""
        if self.is_limited:
            raise NotAllowed("this needs a principal who may see everything", hint="refold help principals")

    def limit(self, scope: Scope) -> Scope:
        """Return the scope that this principal may ask about when it asks for `scope`. Raises NotAllowed, Usage."""
        if self.users is None or scope.user in self.users:
            return scope
        if scope.user is not None or not self.users:
            raise NotAllowed("this principal may not see that user's memory", hint="refold help principals")
        if len(self.users) > 1:
            raise Usage("this principal may see several users' memory: say whose with --user", hint="refold help principals")
        return Scope(self.users[0], scope.agent, scope.run)

    def check_may_add(self, draft: Draft) -> None:
        """Refuse a draft for labels that this principal does not hold, or in the words of somebody who is none of its users.

        Assistants, tools and the system state no facts, so that anybody may add what they said. Raises NotAllowed.
        """
        if self.labels is not None and not self.labels.issuperset(draft.audience):
            raise NotAllowed("this principal may not write for a label that it does not hold", hint="refold help principals")
        foreign = draft.author is not None and normalise(draft.author) != normalise(draft.scope.user or "")
        if self.users is not None and draft.role.asserts and foreign:
            raise NotAllowed("this principal may write in its own users' words only", hint="refold help principals")


@dataclass(frozen=True, slots=True)
class Nightly:
    """When the nightly flow runs, and where those of its tasks that do not build on one another."""

    cron: str
    timezone: str
    runner: str
    deep: bool  # whether the log is verified entry by entry, or file by file


@dataclass(frozen=True, slots=True)
class Serve:
    """Where the local Prefect server listens and keeps its records."""

    host: str
    port: int
    database: str  # "": SQLite in the store's prefect folder
    history_days: int


@dataclass(frozen=True, slots=True)
class Verify:
    """What a verification of the log demands before a machine may go on."""

    require_checkpoint: bool
    allow_partial_replay: bool
    require_witness: bool


@dataclass(frozen=True, slots=True)
class Mirror:
    """Where the nightly flow brings what is new of the store."""

    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WitnessFolder:
    """A folder that remembers the heads of logs."""

    path: Path
    external: bool = False  # on another host, another user's, or locked against being overwritten


@dataclass(frozen=True, slots=True)
class WitnessCommand:
    """A command that asks somebody to remember a head."""

    name: str
    argv: tuple[str, ...]
    key: str | None = None  # the verifier key of its cosignatures
    external: bool = False


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Who remembers the heads of the log beside the vault, and how many of them have to."""

    folders: tuple[WitnessFolder, ...] = ()
    commands: tuple[WitnessCommand, ...] = ()
    required: int = 0


@dataclass(frozen=True, slots=True)
class Extraction:
    """What reads the events of a fold where the command does not say."""

    recipe: str  # a name in configs/recipes/, or a file
    model: str  # "": the recipe's
    api_base: str
    require_closure: str  # the level that what reads them must be closed to; "": a model's answers as far as can be had, the patterns not


@dataclass(frozen=True, slots=True)
class Recover:
    """When the recover flow looks at the whole log."""

    cron: str


@dataclass(frozen=True, slots=True)
class Erase:
    """When the erase flow runs, and who has to approve an erasure."""

    cron: str
    approvals: int  # by so many people; from two on each has to be named


@dataclass(frozen=True, slots=True)
class Root:
    """What keeps the roots of a new store; and how the token is used that keeps those of some."""

    custody: str  # `file` or `pkcs11`
    module: str  # the PKCS #11 library of the token
    token: str  # its label
    pin_env: str  # the environment variable that holds its PIN
    pin_file: str  # or the file


@dataclass(frozen=True, slots=True)
class Keep:
    """How long events of one kind of source are kept."""

    kind: str
    days: int


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a host of language models keeps what it was sent, by its own terms."""

    host: str
    days: int


@dataclass(frozen=True, slots=True)
class Settings:
    """All of refold.toml."""

    nightly: Nightly
    serve: Serve
    verify: Verify
    mirror: Mirror
    recover: Recover
    witness: Witnesses
    fold: Extraction
    erase: Erase
    root: Root
    retention: tuple[Keep, ...]
    providers: tuple[Terms, ...]
    principals: Mapping[str, Principal]

    def principal(self, name: str) -> Principal:
        """Return the principal of that name. Raises Usage."""
        if name not in self.principals:
            raise Usage("no principal of that name stands in the settings", hint="refold help principals")
        return self.principals[name]


@cache
def folder() -> Path:
    """Return the folder of the shipped configs: inside an installed package, or the project's own where it is editable."""
    package = Path(__file__).resolve().parent
    for found in (package / "configs", package.parents[1] / "configs"):
        if (found / "refold.toml").is_file():
            return found
    raise RefoldError("the shipped configs are missing: this installation is broken", path=package)


def text(name: str) -> str:
    """Return one file of the shipped configs as text."""
    return (folder() / name).read_text(encoding="utf-8")


def load(env: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings: the shipped defaults, and what the file named in REFOLD_CONFIG says instead. Raises Usage."""
    own = env.get("REFOLD_CONFIG")
    layers = [_checked(path) for path in (folder() / "refold.toml", *([Path(own)] if own else []))]
    merged: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for layer in layers:
        for name, table in layer.items():
            merged[name] |= table
    principals = {name: _principal(name, table) for name, table in merged["principals"].items()}
    mirror = Mirror(tuple(merged["mirror"]["folders"]))
    nightly, serve, verify = Nightly(**merged["nightly"]), Serve(**merged["serve"]), Verify(**merged["verify"])
    recover, fold, erase = Recover(**merged["recover"]), Extraction(**merged["fold"]), Erase(**merged["erase"])
    root = Root(**merged["root"])
    keep = tuple(Keep(**rule) for rule in merged["retention"]["keep"])
    terms = tuple(Terms(**rule) for rule in merged["providers"]["keep"])
    return Settings(nightly, serve, verify, mirror, recover, _witnesses(merged["witness"]), fold, erase, root, keep, terms, principals)


def _witnesses(table: Table) -> Witnesses:
    folders = [WitnessFolder(Path(each["path"]), each.get("external", False)) for each in table["folders"]]
    commands = [
        WitnessCommand(each["name"], tuple(each["argv"]), each.get("key"), each.get("external", False)) for each in table["commands"]
    ]
    return Witnesses(tuple(folders), tuple(commands), table["required"])


def _principal(name: str, table: Table) -> Principal:
    users = table.get("users")
    return Principal(name, None if table.get("all") else frozenset(table.get("labels", ())), None if users is None else tuple(users))


def _checked(path: Path) -> dict[str, dict[str, Any]]:
    """Parse one file and hold every key in it against what is known."""
    tables = _parse(path)
    for name, table in tables.items():
        if name not in SECTIONS:
            raise _unknown(path, name)
        if not isinstance(table, dict):
            raise _wrong(path, name, "a table")
        if name != "principals":
            _check(path, name, table, SECTIONS[name])
            continue
        for rights in table.values():
            if not isinstance(rights, dict):
                raise _wrong(path, "principals.*", "a table")
            _check(path, "principals.*", rights, PRINCIPAL)
    return tables


def _check(path: Path, name: str, table: Table, known: Mapping[str, tuple[Callable[[object], bool], str]]) -> None:
    for key, value in table.items():
        if key not in known:
            raise _unknown(path, f"{name}.{key}")
        holds, expected = known[key]
        if not holds(value):
            raise _wrong(path, f"{name}.{key}", expected)


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        where = f"at line {line.group(1)}" if line else "at its end"
        raise Usage(f"the settings are not valid TOML {where}", path=path, hint="refold help settings") from None
    except UnicodeDecodeError:
        raise Usage("the settings are not UTF-8 text", path=path) from None
    except PermissionError:
        raise NotAllowed("the settings may not be read", path=path) from None
    except OSError:
        raise Usage("the settings named in REFOLD_CONFIG are not a readable file", path=path) from None


def _unknown(path: Path, key: str) -> Usage:
    return Usage(f"there is no setting {key}", path=path, hint="refold help settings")


def _wrong(path: Path, key: str, expected: str) -> Usage:
    return Usage(f"the setting {key} is not {expected}", path=path, hint="refold help settings")
