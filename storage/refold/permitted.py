"""Permitted: what may stand in the settings, key by key, and how a person is told so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(_text(each) for each in value)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _folders(value: object) -> bool:
    return _texts(value) and all(Path(each).is_absolute() for each in cast("list[str]", value))


def _argv(value: object) -> bool:
    return _texts(value) and bool(value)


def _name(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", value))


def _absolute(value: object) -> bool:
    return _text(value) and Path(cast("str", value)).is_absolute()


def _tables(known: Mapping[str, Callable[[object], bool]], *needed: str) -> Callable[[object], bool]:
    """Return whether a value is a list of tables with the keys that are needed, and no others than are known."""

    def holds(value: object) -> bool:
        return isinstance(value, list) and all(
            isinstance(each, dict) and each.keys() >= {*needed} and all(key in known and known[key](each[key]) for key in each)
            for each in value
        )

    return holds


def _count(low: int, high: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _cron(value: object) -> bool:
    return isinstance(value, str) and len(value.split()) == 5


def _timezone(value: object) -> bool:
    import zoneinfo  # here, because no other start of the program needs it

    try:
        return isinstance(value, str) and bool(zoneinfo.ZoneInfo(value))
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return False


# Per key: what must hold, and how a person is told so.
SECTIONS: Mapping[str, Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "nightly": {
        "cron": (_cron, "five fields of cron"),
        "timezone": (_timezone, "an IANA time zone"),
        "runner": (lambda value: value in ("threads", "dask", "ray"), "threads, dask or ray"),
        "deep": (_flag, "true or false"),
    },
    "fold": {
        "recipe": (_text, "the name of a recipe, or a file"),
        "model": (lambda value: isinstance(value, str), "a text"),
        "api_base": (lambda value: isinstance(value, str), "a text"),
        "require_closure": (lambda value: value in ("", "declared", "tripwire", "kernel"), "declared, tripwire, kernel or empty"),
    },
    "serve": {
        "host": (_text, "the name or address of a host"),
        "port": (_count(1, 65535), "a port from 1 to 65535"),
        "database": (lambda value: isinstance(value, str), "a text"),
        "history_days": (_count(1, 3650), "a number of days from 1 to 3650"),
    },
    "verify": {
        "require_checkpoint": (_flag, "true or false"),
        "allow_partial_replay": (_flag, "true or false"),
        "require_witness": (_flag, "true or false"),
    },
    "recover": {"cron": (_cron, "five fields of cron")},
    "mirror": {"folders": (_folders, "a list of absolute paths")},
    "witness": {
        "folders": (_tables({"path": _absolute, "external": _flag}, "path"), "a list of tables with an absolute path, and external"),
        "commands": (
            _tables({"name": _name, "argv": _argv, "key": _text, "external": _flag}, "name", "argv"),
            "a list of tables with a name (lower case letters, digits, -) and argv, and key and external",
        ),
        "required": (_count(0, 100), "a number from 0 to 100"),
    },
    "root": {
        "custody": (lambda value: value in ("file", "pkcs11"), "file or pkcs11"),
        "module": (lambda value: value == "" or _absolute(value), "an absolute path"),
        "token": (lambda value: isinstance(value, str), "a text"),
        "pin_env": (_text, "the name of an environment variable"),
        "pin_file": (lambda value: value == "" or _absolute(value), "an absolute path"),
    },
    "erase": {"cron": (_cron, "five fields of cron"), "approvals": (_count(1, 9), "a number from 1 to 9")},
    "retention": {
        "keep": (_tables({"kind": _name, "days": _count(1, 36_500)}, "kind", "days"), "a list of tables with a kind of source and days")
    },
    "providers": {
        "keep": (_tables({"host": _text, "days": _count(0, 36_500)}, "host", "days"), "a list of tables with a host and days from 0")
    },
    "principals": {},
}
PRINCIPAL = {
    "all": (_flag, "true or false"),
    "labels": (_texts, "a list of texts"),
    "users": (_texts, "a list of texts"),
}
