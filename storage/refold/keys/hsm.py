"""Roots in a hardware token, over PKCS #11: one AES key for each epoch, made in the token, that never leaves it.

    label     refold <origin> <epoch>            wrapped = nonce[12] ‖ AES-256-GCM(key), computed in the token, `bound_to` as AAD

A process is logged in to a token as a whole, so one operation at a time has it, and logs out again. The PIN is asked for each time and kept
nowhere.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refold.errors import Corrupt, KeyMissing, Usage, WriteFailed
from refold.keys import crypto
from refold.keys.roots import LOST
from refold.outside import Random

if TYPE_CHECKING:
    from pkcs11 import Session

HINT = "refold help keys"
_turn = threading.Lock()


@dataclass(frozen=True, slots=True, repr=False)
class Token:
    """Which token keeps the roots, and what gives its PIN."""

    module: str  # its PKCS #11 library; empty where the settings name none
    label: str
    pin: Callable[[], str]


class TokenRoots:
    """Roots as keys of a token that cannot be read out of it. Whoever has a copy of the token has them all."""

    custody = "pkcs11"

    def __init__(self, token: Token, origin: str, random: Random) -> None:
        self._token = token
        self._name = f"refold {origin} "
        self._random = random

    def create(self, epoch: int) -> None:
        with self._session() as session:
            from pkcs11 import Attribute, KeyType, MechanismFlag

            if not self._found(session, epoch):
                session.generate_key(
                    KeyType.AES,
                    8 * crypto.KEY_BYTES,
                    label=self._label(epoch),
                    store=True,
                    capabilities=MechanismFlag.ENCRYPT | MechanismFlag.DECRYPT,
                    template={
                        Attribute.PRIVATE: True,
                        Attribute.SENSITIVE: True,
                        Attribute.EXTRACTABLE: False,
                        Attribute.MODIFIABLE: False,
                    },
                )
            self._root(session, epoch)

    def wrap(self, epoch: int, key: bytes, *, bound_to: bytes) -> bytes:
        nonce = self._random(crypto.NONCE_BYTES)
        with self._session() as session:
            return nonce + self._root(session, epoch).encrypt(key, **_gcm(nonce, bound_to))

    def unwrap(self, epoch: int, wrapped: bytes, *, bound_to: bytes) -> bytes:
        nonce, sealed = wrapped[: crypto.NONCE_BYTES], wrapped[crypto.NONCE_BYTES :]
        with self._session() as session:
            from pkcs11 import PKCS11Error

            root = self._root(session, epoch)
            try:
                return root.decrypt(sealed, **_gcm(nonce, bound_to))
            except PKCS11Error as error:  # tokens differ in how they say it
                what = f"the token does not unwrap the keyring of epoch {epoch} ({type(error).__name__})"
                raise KeyMissing(f"{what}: its root is another one; {LOST}", path=self._token.module, hint=HINT) from None

    def epochs(self) -> frozenset[int]:
        with self._session() as session:
            from pkcs11 import Attribute, ObjectClass

            labels = [str(key[Attribute.LABEL]) for key in session.get_objects({Attribute.CLASS: ObjectClass.SECRET_KEY})]
        return frozenset(int(found[1]) for label in labels if (found := re.fullmatch(rf"{self._name}([0-9]{{6}})", label)))

    def destroy(self, epoch: int) -> None:
        with self._session() as session:
            for key in self._found(session, epoch):
                key.destroy()
            if self._found(session, epoch):
                raise WriteFailed(f"the token still holds the root of epoch {epoch}, which it was told to destroy", path=self._token.module)

    def dark_at(self, epoch: int, *, destroyed_at: int) -> int:
        return destroyed_at

    def _label(self, epoch: int) -> str:
        return f"{self._name}{epoch:06d}"

    def _found(self, session: Session, epoch: int) -> list[Any]:
        from pkcs11 import Attribute, ObjectClass

        return list(session.get_objects({Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.LABEL: self._label(epoch)}))

    def _root(self, session: Session, epoch: int) -> Any:
        """Return the root of an epoch. One that could have been read out of its token is none: destroying it would prove nothing."""
        from pkcs11 import Attribute

        found = self._found(session, epoch)
        if not found:
            raise KeyMissing(f"the root of epoch {epoch} is not in the token; {LOST}", path=self._token.module, hint=HINT)
        if len(found) > 1:
            raise Corrupt(f"the token holds {len(found)} keys as the root of epoch {epoch}", path=self._token.module, hint=HINT)
        if found[0][Attribute.EXTRACTABLE] or not found[0][Attribute.NEVER_EXTRACTABLE]:
            raise Corrupt(f"the root of epoch {epoch} can be read out of the token, or could once", path=self._token.module, hint=HINT)
        return found[0]

    @contextmanager
    def _session(self) -> Generator[Session]:
        """Log in to the token for one operation. Raises KeyMissing where it is not there, or refuses; Usage without the extra."""
        try:
            import pkcs11
        except ImportError:
            raise Usage("the roots of this store are in a token, which needs the extra hsm: pip install 'refold[hsm]'", hint=HINT) from None
        module = self._token.module
        if not module:
            raise KeyMissing("the roots of this store are in a token, and the settings do not name its library", hint=HINT)
        pin = self._token.pin()
        with _turn:
            try:
                token = pkcs11.lib(module).get_token(token_label=self._token.label)
                with token.open(user_pin=pin, rw=True) as session:
                    yield session
            except (pkcs11.NoSuchToken, pkcs11.MultipleTokensReturned, pkcs11.TokenNotPresent):
                raise KeyMissing("there is not one token of the label that this store was made with", path=module, hint=HINT) from None
            except (pkcs11.PinIncorrect, pkcs11.PinInvalid, pkcs11.PinLenRange):
                raise KeyMissing("the token refuses its PIN: several wrong ones lock it", path=module, hint=HINT) from None
            except pkcs11.PinLocked:
                raise KeyMissing("the token is locked, after too many wrong PINs", path=module, hint=HINT) from None
            except pkcs11.PKCS11Error as error:
                raise KeyMissing(f"the token cannot be used ({type(error).__name__})", path=module, hint=HINT) from None


def _gcm(nonce: bytes, bound_to: bytes) -> dict[str, Any]:
    from pkcs11 import GCMParams, Mechanism

    return {"mechanism": Mechanism.AES_GCM, "mechanism_param": GCMParams(nonce, aad=bound_to, tag_bits=8 * crypto.TAG_BYTES)}
