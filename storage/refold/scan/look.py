"""Look: into some bytes, through every encoding that is known, to a bounded depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from refold.scan import chance, contained, spelled
from refold.scan.contained import Undecodable
from refold.scan.joined import Data, New, Stretches
from refold.scan.needles import Needles
from refold.scan.search import Search
from refold.scan.spelled import Spelling

SPELLED_MIN = 8  # bytes
DEPTH_MAX = 5  # encodings inside each other
ARCHIVES = frozenset({"gzip", "zlib", "zstd", "bzip2", "xz", "zip", "tar"})  # what is in them is a file, and has to be decodable
COMPRESSED = frozenset({"gzip", "zlib", "zstd", "bzip2", "xz"})  # whose own bytes spell nothing


IsChance = Callable[[int], bool]


def never(at: int) -> bool:
    """Say that nothing at an offset was drawn."""
    return False


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that was found: what, by which encodings, outside in, and where in the outermost."""

    needle: int
    encoding: str
    offset: int


@dataclass(slots=True)
class View:
    """What is gathered while one file is looked into."""

    seen: list[Seen] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    encodings: set[str] = field(default_factory=set)
    prescribed: set[int] = field(default_factory=set)  # needles that stand there in words of a form alone


class Looker:
    """Needles, made ready to be looked for in many files."""

    def __init__(self, needles: Needles) -> None:
        self.needles = needles
        self._search = Search(needles)
        self.long = Looker(needles.long) if needles.short else self

    def look(self, data: Data) -> View:
        """Look into the bytes of a file."""
        view = View()
        self._whole(data, (), view)
        view.seen = nearest(view.seen)
        return view

    def look_written(self, data: Data, *, is_sealed: bool) -> View:
        """Look into a file of Refold, for short needles only into what was written in it. A sealed one spells nothing."""
        looks = [(self, chance.written(data)), (self.long, data)] if self.needles.short else [(self, data)]
        views = [looker.look_only(each) if is_sealed else looker.look(each) for looker, each in looks]
        seen = nearest([each for view in views for each in view.seen])
        return View(seen, [reason for view in views for reason in view.reasons], set().union(*(view.encodings for view in views)))

    def look_into(self, name: str, data: Data, view: View) -> None:
        """Look into what a file holds, decoded by somebody else as `name`."""
        view.encodings.add(name)
        self._inside(data, (name,), view)

    def look_only(self, data: Data) -> View:
        """Look at bytes as they are: they are sealed, and spell nothing."""
        view = View()
        self._raw(Stretches(data), (), view)
        return view

    def _whole(self, data: Data, path: tuple[str, ...], view: View) -> None:
        """Look into something that is a file: it has to be decodable, or nothing is claimed of it."""
        if (known := contained.opaque_kind(data)) is not None:
            view.reasons.append(_at(path, known))
        self._inside(data, path, view, is_whole=True)

    def _inside(
        self, data: Data, path: tuple[str, ...], view: View, *, is_whole: bool = False, new: New | None = None, is_chance: IsChance = never
    ) -> None:
        found = Stretches(data, new)
        self._raw(found, path, view, is_chance)
        if len(path) > DEPTH_MAX or len(data) < SPELLED_MIN:
            return
        kind, is_read = contained.kind_of(data), True
        if kind is not None:
            is_read = self._container(kind, data, path, view)
        elif is_whole and not view.reasons and spelled.is_opaque(data):
            view.reasons.append(_at(path, "of an unknown kind, compressed or encrypted"))
            return
        elif is_whole and spelled.has_opaque_base64(found):
            view.reasons.append(_at(path, "base64 of something compressed or encrypted"))
        if kind is None or kind[0] not in COMPRESSED:
            self._spelled(found, path, view, is_chance)
            if kind is None or kind[0] == "pickle" or not is_read:
                # What is spelled in something ends where it ends, and more comes behind it.
                for name, plain in contained.embedded(data, first=int(is_read)):
                    self._inside(plain, (*path, name), view)
                    view.encodings.add(name)

    def _container(self, kind: tuple, data: Data, path: tuple[str, ...], view: View) -> bool:
        """Look into what a container holds, and return whether it could be read to its end."""
        name, members = kind
        view.encodings.add(name)
        try:
            for inner, member in contained.read(name, members, data):
                view.encodings.add(inner)
                into = self._whole if name in ARCHIVES else self._inside
                into(member, (*path, inner), view)
        except Undecodable as error:
            view.reasons.append(_at(path, str(error)))
            return False
        return True

    def _spelled(self, found: Stretches, path: tuple[str, ...], view: View, is_chance: IsChance) -> None:
        """Look into everything that is spelled otherwise."""
        for spelling in spelled.spellings(found):
            inner = View()
            is_drawn = _chance(found.data, spelling, is_chance)
            self._inside(spelling.raw, (*path, spelling.encoding), inner, new=spelling.new, is_chance=is_drawn)
            view.seen += [Seen(each.needle, each.encoding, spelling.origin(each.offset)) for each in inner.seen]
            view.encodings |= inner.encodings

    def _raw(self, found: Stretches, path: tuple[str, ...], view: View, is_chance: IsChance = never) -> None:
        for each in self._search.find(found.data, is_chance):
            view.encodings.add(each.encoding)
            view.seen.append(Seen(each.needle, " > ".join([*path, each.encoding]), each.offset))
        if self.needles.numbers:
            self._numbers(found, path, view)

    def _numbers(self, found: Stretches, path: tuple[str, ...], view: View) -> None:
        written = spelled.digits(found)
        if written is None:
            return
        digits, origin = written
        for needle, number in self.needles.numbers:
            if (at := digits.find(number)) >= 0:
                view.encodings.add("digits")
                view.seen.append(Seen(needle, " > ".join([*path, "digits"]), origin(at)))


def nearest(seen: list[Seen]) -> list[Seen]:
    """Keep of each needle what was found by the fewest encodings: what is written plainly is read in other ways too."""
    best: dict[int, Seen] = {}
    for each in sorted(seen, key=lambda each: (each.encoding.count(">"), each.offset)):
        best.setdefault(each.needle, each)
    return list(best.values())


def _at(path: tuple[str, ...], reason: str) -> str:
    return f"{reason}, in {' > '.join(path)}" if path else reason


def _chance(data: Data, spelling: Spelling, outer: IsChance) -> IsChance:
    """Return what says whether the letters that spell something at an offset are those of an id or token that was drawn.

    What is spelled within something drawn is `outer`'s to say.
    """
    if (place := spelling.place) is None:
        return never if outer is never else lambda at: outer(spelling.origin(at))

    def is_chance(at: int) -> bool:
        start = place(at)
        first = max(start - chance.REACH, 0)
        around = bytes(memoryview(data)[first : start + chance.REACH])
        return outer(start) or chance.in_drawn(around, start - first, start - first + 1, spelled=True)

    return is_chance
