"""Records: secrets by id as they lie on disk, `id ‖ secret`, all of one width and sorted by id; and lists of ids alone.

An epoch has one for every person, so whatever is done to all of them is done to whole columns at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from refold.keys.crypto import KEY_BYTES


class Records:
    """Secrets by id. A list of ids alone has secrets of no bytes."""

    def __init__(self, raw: bytes, id_bytes: int, secret_bytes: int = KEY_BYTES) -> None:
        self.raw = raw
        self._id_bytes = id_bytes
        self._width = id_bytes + secret_bytes

    @classmethod
    def of(cls, secrets: Mapping[bytes, bytes], id_bytes: int) -> Records:
        return cls(b"".join([key + secret for key, secret in sorted(secrets.items())]), id_bytes)

    @classmethod
    def listing(cls, ids: Iterable[bytes], id_bytes: int) -> Records:
        """Return a list of ids alone, of at least eight bytes, each once."""
        rows = _in_order(b"".join(ids), id_bytes, id_bytes)
        is_new = np.ones(len(rows), bool)
        is_new[1:] = rows[1:] != rows[:-1]
        return cls(rows[is_new].tobytes(), id_bytes, 0)

    def __len__(self) -> int:
        return len(self.raw) // self._width

    def get(self, key: bytes) -> bytes | None:
        """Return the secret of an id."""
        place = self._place(key)
        return None if place is None else self.raw[place * self._width + self._id_bytes : (place + 1) * self._width]

    def _place(self, key: bytes) -> int | None:
        """Return which record is an id's, by binary search."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            at = middle * self._width
            found = self.raw[at : at + self._id_bytes]
            if found == key:
                return middle
            low, high = (middle + 1, high) if found < key else (low, middle)
        return None

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        raw, width, size = self.raw, self._width, self._id_bytes
        return ((raw[at : at + size], raw[at + size : at + width]) for at in range(0, len(raw), width))

    def ids(self) -> list[bytes]:
        """Return the ids, sorted."""
        raw, size = self.raw, self._id_bytes
        return [raw[at : at + size] for at in range(0, len(raw), self._width)]

    def with_secrets(self, secrets: Sequence[bytes]) -> Records:
        """Give the ids of a list their secrets, in its order."""
        columns = [(self.raw, self._width), (b"".join(secrets), KEY_BYTES)]
        rows = np.hstack([np.frombuffer(raw, np.uint8).reshape(-1, width) for raw, width in columns])
        return Records(rows.tobytes(), self._id_bytes)

    def without(self, ids: Iterable[bytes]) -> Records:
        """Return these records without those of a few ids."""
        raw, width = self.raw, self._width
        places = sorted({place for one in ids if (place := self._place(one)) is not None})
        cuts = zip([0, *[place + 1 for place in places]], [*places, len(self)], strict=True)
        return self._like(b"".join([raw[first * width : end * width] for first, end in cuts]) if places else raw)

    def joined(self, others: Records) -> Records:
        """Return these records and others as wide, of ids that are not here."""
        if not len(self) or not len(others):
            return others if len(others) else self
        rows = _in_order(self.raw + others.raw, self._width, self._id_bytes)
        return self._like(rows.tobytes())

    def among(self, ids: Records) -> Records:
        """Return the records of those of some ids that have one here."""
        places, found = self._places(ids)
        return self._like(np.frombuffer(self.raw, f"V{self._width}")[places[found]].tobytes())

    def lacking(self, ids: Records) -> Records:
        """Return those of some ids that have no record here."""
        _, found = self._places(ids)
        return ids if not found.any() else ids._like(np.frombuffer(ids.raw, f"V{ids._width}")[~found].tobytes())

    def _places(self, ids: Records) -> tuple[np.ndarray, np.ndarray]:
        """Return for each of some ids a place in these records, and whether it is that of the id."""
        if not len(self):
            return np.zeros(len(ids), np.intp), np.zeros(len(ids), bool)
        mine, asked = _ids(self.raw, self._width, self._id_bytes), _ids(ids.raw, ids._width, ids._id_bytes)
        places = np.minimum(np.searchsorted(_begins(mine), _begins(asked)), len(self) - 1)
        found = mine[places] == asked
        for row in np.flatnonzero(~found & (_begins(mine)[places] == _begins(asked))).tolist():  # another id begins as this one does
            place = self._place(asked[row].tobytes())
            places[row], found[row] = place or 0, place is not None
        return places, found

    def _like(self, raw: bytes) -> Records:
        return Records(raw, self._id_bytes, self._width - self._id_bytes)


def _ids(raw: bytes, width: int, id_bytes: int) -> np.ndarray:
    """Return the ids of records, as values that compare as bytes do."""
    rows = np.frombuffer(raw, np.uint8).reshape(-1, width)
    return np.ascontiguousarray(rows[:, :id_bytes]).view(f"V{id_bytes}").ravel()


def _begins(ids: np.ndarray) -> np.ndarray:
    """Return the first eight bytes of each id as a number: two random ids never share them, and they are in the order of the bytes."""
    rows = ids.view(np.uint8).reshape(len(ids), ids.itemsize)
    return np.ascontiguousarray(rows[:, :8]).view(">u8").ravel().astype(np.uint64)


def _in_order(raw: bytes, width: int, id_bytes: int) -> np.ndarray:
    """Return records in the order of their ids."""
    ids = _ids(raw, width, id_bytes)
    begins = _begins(ids)
    order = np.argsort(begins)
    ordered = begins[order]
    if (ordered[1:] == ordered[:-1]).any():
        order = np.argsort(ids, kind="stable")
    return np.frombuffer(raw, f"V{width}")[order]
