"""The form of a receipt: canonical JSON {"body", "sig"}; Ed25519 over T("refold.receipt/<kind>/v1") ‖ canonical(body).

Every body has `format`, `kind`, `origin`, `key` (the verifier key of the signer) and `made_at` (µs), and what its kind adds; nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refold import canonical
from refold.errors import Corrupt, KeyMissing, UnsupportedVersion
from refold.keys import crypto
from refold.log.note import Verifier, log_name
from refold.log.tree import HASH_BYTES

FORMAT = "refold.receipt/1"
BYTES_MAX = 16 << 20

Body = Mapping[str, Any]
Field = Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of receipt: what its body has beside what all have, and what it proves by itself."""

    name: str
    fields: Mapping[str, Field]
    check: Callable[[Body, Sequence[Verifier]], list[str]]  # the lines for a person; raises ValueError where it proves nothing
    epochs: Callable[[Body], set[int]] = lambda body: set()  # of the keyed digests in it

    @property
    def label(self) -> bytes:
        return crypto.label(f"refold.receipt/{self.name}/v1")


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt that was checked: signature, form and what it proves."""

    kind: Kind
    body: Body
    lines: list[str]


def sign(kind: Kind, said: Body, *, origin: str, signer: crypto.Signer, made_at: int) -> bytes:
    """Return a signed receipt. `said` has the fields of its kind."""
    key = str(Verifier(log_name(origin), signer.public_key))
    body = {**said, "format": FORMAT, "kind": kind.name, "key": key, "made_at": made_at, "origin": origin}
    assert conforms(body, kind), "a receipt has the fields of its kind"
    raw = canonical.encode(body)
    return b'{"body":' + raw + b',"sig":"' + signer.sign(kind.label + raw).hex().encode() + b'"}'


def read(raw: bytes, kinds: Mapping[str, Kind], known: Sequence[Verifier]) -> Receipt:
    """Read and check a receipt. Raises Corrupt, KeyMissing where it names a key that is not known, UnsupportedVersion."""
    try:
        document = canonical.decode(raw)
        body, signature = document["body"], canonical.unhex(document["sig"], crypto.SIGNATURE_BYTES)
        said, name, key = body["format"], body["kind"], Verifier.parse(body["key"])
        whole = set(document) == {"body", "sig"} and len(raw) <= BYTES_MAX
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Corrupt("this is not a whole receipt: it was cut, changed, or is something else", hint="refold help receipts") from None
    if said != FORMAT or not isinstance(name, str) or name not in kinds:
        raise UnsupportedVersion(f"a receipt of format {str(said)[:40]!r} and kind {str(name)[:40]!r} is unknown to this release")
    kind = kinds[name]
    if key not in known:
        raise KeyMissing("the receipt is signed by a key that was not given", hint="refold help receipts")
    if not crypto.is_signed(key.public_key, signature, kind.label + canonical.encode(body)):
        raise Corrupt("the signature of the receipt does not hold", hint="refold help receipts")
    try:
        if not whole or not conforms(body, kind) or key.name != log_name(body["origin"]):
            raise ValueError("not of its form")
        return Receipt(kind, body, kind.check(body, known))
    except ValueError:
        raise Corrupt("the receipt is signed, and does not prove what it says", hint="refold help receipts") from None


def conforms(body: Body, kind: Kind) -> bool:
    """Whether a body has exactly the fields of its kind, each of its type."""
    return has_form(body, COMMON | dict(kind.fields))


def has_form(value: object, fields: Mapping[str, Field]) -> bool:
    """Whether a value is an object of exactly these fields."""
    return isinstance(value, dict) and value.keys() == fields.keys() and all(holds(value[name]) for name, holds in fields.items())


def text(value: object) -> bool:
    """Whether it is a text."""
    return isinstance(value, str)


def count(value: object) -> bool:
    """Whether it is a whole number from 0."""
    return type(value) is int and 0 <= value < 1 << 63


def flag(value: object) -> bool:
    """Whether it is true or false."""
    return isinstance(value, bool)


def hash_hex(value: object) -> bool:
    """Whether it is 32 bytes in lower case hexadecimal."""
    try:
        return isinstance(value, str) and len(canonical.unhex(value, HASH_BYTES)) == HASH_BYTES
    except ValueError:
        return False


def optional(holds: Field) -> Field:
    """Return the type of a field that may be null."""
    return lambda value: value is None or holds(value)


def each(holds: Field) -> Field:
    """Return the type of a list."""
    return lambda value: isinstance(value, list) and all(map(holds, value))


def form(fields: Mapping[str, Field]) -> Field:
    """Return the type of an object of exactly these fields."""
    return lambda value: has_form(value, fields)


def one_of(*values: str) -> Field:
    """Return the type of one of a few words."""
    return lambda value: isinstance(value, str) and value in values


COMMON: dict[str, Field] = {"format": text, "kind": text, "origin": text, "key": text, "made_at": count}
