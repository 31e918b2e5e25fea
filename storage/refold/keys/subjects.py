"""Keyed tags: how an alias or a record that was seen before is found again without its text."""

from __future__ import annotations

from collections.abc import Iterable

from refold import canonical
from refold.keys.crypto import label, mac
from refold.keys.keyring import Keyring
from refold.model import Event, Role, Scope, Source, identity_part, normalise

TAG_BYTES = 16
ALIAS = label("refold/alias/v1")
SUPPRESSED_ALIAS = label("refold/suppressed/alias/v1")
SUPPRESSED_SOURCE = label("refold/suppressed/source/v1")
KEYED = label("refold/seen/key/v1")
CONTENT = label("refold/seen/content/v1")
AMONG = label("refold/seen/among/v1")
LABELLED = label("refold/seen/labelled/v1")


def alias_tag(keyring: Keyring, alias: str) -> bytes:
    """Return the tag under which an alias is looked up; names that differ only in case, width or spaces share it."""
    return mac(keyring.state_key, ALIAS + normalise(alias).encode())[:TAG_BYTES]


def suppressed_alias(keyring: Keyring, alias: str) -> bytes:
    """Return the tag by which an erased person's alias is kept from being made known anew by being named."""
    return mac(keyring.suppress_key, SUPPRESSED_ALIAS + normalise(alias).encode())[:TAG_BYTES]


def suppressed_source(keyring: Keyring, source: Source) -> bytes:
    """Return the tag by which a record of an erased source is kept from being imported again: of kind, ref and part."""
    return mac(keyring.suppress_key, SUPPRESSED_SOURCE + canonical.encode([source.kind, source.ref, source.part]))[:TAG_BYTES]


def is_suppressed(keyring: Keyring, source: Source | None, names: Iterable[str]) -> bool:
    """Whether a record of this source, or one that makes these names known, would bring back what was erased."""
    if not keyring.is_suppressing:
        return False
    of_source = source is not None and keyring.suppresses(suppressed_source(keyring, source))
    return of_source or any(keyring.suppresses(suppressed_alias(keyring, name)) for name in names)


def key_tag(keyring: Keyring, key: str, scope: Scope) -> bytes:
    """Return the tag of a caller's idempotency key, which counts within one scope: nobody learns of, or meets, the keys of another."""
    return mac(keyring.idem_key, KEYED + canonical.encode([scope.user, scope.agent, scope.run, key]))[:TAG_BYTES]


def content_tag(keyring: Keyring, source: Source, scope: Scope, role: Role, author: str | None, text: str) -> bytes:
    """Return the tag of an imported record: what it says, who says it, in whose memory and where, as far as that tells it from others."""
    part, author = identity_part(role, source.part), author or ""
    user, agent, run = scope.user, scope.agent, scope.run
    lengths = f"{role} {len(source.kind)} {len(source.ref)} {len(part)} {_length(user)} {_length(agent)} {_length(run)} {len(author)} "
    record = f"{lengths}{source.kind}{source.ref}{part}{user or ''}{agent or ''}{run or ''}{author}{text}"
    return mac(keyring.idem_key, CONTENT + record.encode())[:TAG_BYTES]


def _length(text: str | None) -> int:
    return -1 if text is None else len(text)  # None is not ""


def seen_tags(keyring: Keyring, event: Event) -> list[bytes]:
    """Return every tag by which this event is recognised when it comes again."""
    tags = [content_tag(keyring, event.source, event.scope, event.role, event.author, event.text)]
    tags += [] if event.key is None else [key_tag(keyring, event.key, event.scope)]
    return [each for tag in tags for each in carried(keyring, tag, event.audience)]


def carried(keyring: Keyring, tag: bytes, audience: tuple[str, ...]) -> list[bytes]:
    """Return the tags of an event for these labels, of which `tag` would be the one if it had none."""
    return [_among(keyring, tag, audience), _labelled(keyring, tag)] if audience else [tag]


def sought(keyring: Keyring, tag: bytes, audience: tuple[str, ...], *, sees_all: bool) -> list[bytes]:
    """Return the tags that a draft is looked for under: of the same labels first, then, for whoever sees all, of others.

    A limited principal adds under labels that it holds, so that what it meets is what it may see: what is hidden is never met.
    """
    own = _among(keyring, tag, audience) if audience else tag
    return [*dict.fromkeys([own, tag, _labelled(keyring, tag)])] if sees_all else [own]


def _among(keyring: Keyring, tag: bytes, audience: tuple[str, ...]) -> bytes:
    return mac(keyring.idem_key, AMONG + tag + canonical.encode(list(audience)))[:TAG_BYTES]


def _labelled(keyring: Keyring, tag: bytes) -> bytes:
    return mac(keyring.idem_key, LABELLED + tag)[:TAG_BYTES]
