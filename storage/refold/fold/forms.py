"""Frozen values as JSON and back, by the types that they declare: what a worker is handed, and what it hands back.

A value's fields stand in their order, without names. Reading takes nothing but what the type says: whatever wrote the form, a value that
was read is right by its type. Bytes are hexadecimal, mappings are lists of pairs, because order means something.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from refold import canonical

T = TypeVar("T")
_Turn = Callable[[Any], Any]
_FREE = dict[str, object]  # metadata: JSON as it is


def encode(kind: type[T], value: T) -> bytes:
    """Return a value of a type as canonical JSON."""
    return canonical.encode(_turns(kind)[0](value))


def decode(kind: type[T], raw: bytes) -> T:
    """Read a value of a type. Raises ValueError, TypeError where the bytes are none."""
    return _turns(kind)[1](canonical.decode(raw))


@cache
def _turns(kind: Any) -> tuple[_Turn, _Turn]:
    """Return how values of a type are written and how they are read."""
    kind = getattr(kind, "__supertype__", kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in (str, int, bool):
        return _same, lambda form: _checked(kind, form)
    if kind is bytes:
        return bytes.hex, bytes.fromhex
    if kind == _FREE:
        return _same, lambda form: _checked(dict, form)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value: value.value, kind
    if dataclasses.is_dataclass(kind):
        return _of_fields(kind)
    if origin in (typing.Union, types.UnionType):
        (some,) = (each for each in inner if each is not types.NoneType)
        return _optional(*_turns(some))
    if origin is tuple and inner[1:] == (Ellipsis,):
        write, read = _turns(inner[0])
        return lambda value: [write(each) for each in value], lambda form: tuple(read(each) for each in _checked(list, form))
    if origin is tuple:
        return _of_places(inner)
    if origin is frozenset:
        write, read = _turns(inner[0])
        return lambda value: sorted(map(write, value)), lambda form: frozenset(map(read, _checked(list, form)))
    if origin is Mapping:
        write, read = _of_places(inner)
        return lambda value: [write(pair) for pair in value.items()], lambda form: dict(map(read, _checked(list, form)))
    raise TypeError(f"{kind} has no form")


def _same(value: Any) -> Any:
    return value


def _checked(kind: type[T], form: object) -> T:
    if type(form) is not kind:
        raise ValueError(f"{type(form).__name__} in place of {kind.__name__}")
    return typing.cast("T", form)


def _optional(write: _Turn, read: _Turn) -> tuple[_Turn, _Turn]:
    return lambda value: None if value is None else write(value), lambda form: None if form is None else read(form)


def _of_places(inner: tuple[Any, ...]) -> tuple[_Turn, _Turn]:
    turns = [_turns(each) for each in inner]
    return (
        lambda value: [write(each) for (write, _), each in zip(turns, value, strict=True)],
        lambda form: tuple(read(each) for (_, read), each in zip(turns, _checked(list, form), strict=True)),
    )


def _of_fields(kind: Any) -> tuple[_Turn, _Turn]:
    hints = typing.get_type_hints(kind)
    names = [each.name for each in dataclasses.fields(kind)]
    turns = [(name, *_turns(hints[name])) for name in names]
    readers = [read for _, _, read in turns]
    written = [(name, write) for name, write, _ in turns]
    return (
        lambda value: [getattr(value, name) if write is _same else write(getattr(value, name)) for name, write in written],
        lambda form: kind(*[read(each) for read, each in zip(readers, _checked(list, form), strict=True)]),
    )
