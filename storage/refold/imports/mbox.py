"""A mailbox (mbox): each letter is an event of its author, dated by its head, and only in its own words.

The source is `mail:ID`, the Message-ID, or the file's name with the letter's number. What a letter quotes of others (lines that begin
with `>`, and the line that announces them; all that follows a rule and the head of another letter, as where one is forwarded) is theirs,
and what follows `-- ` is a signature: both are left out. Attachments are counted, and not read; of a letter without plain text, the words
of its HTML are. What says no encoding is read as UTF-8, else as Windows-1252; what is not in the encoding that it says is left out.
"""

from __future__ import annotations

import mailbox
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parseaddr
from html.parser import HTMLParser
from pathlib import Path

from refold.errors import Usage
from refold.imports import records
from refold.imports.reader import File, Malformed, Options, Reader, Said, attached, clean_ref
from refold.imports.stamps import written
from refold.model import Draft, Role, Source

_ANNOUNCED = re.compile(r"(?:^|\n)[^\n>]{0,200}(?:\n[^\n>]{0,200})?:[ \t]*\n+(?=>)")
_FORWARDED = re.compile(r"^[-_]{3}[^\n]*+\n\s*+(?:[ \t]*\*?[^\W\d_]+(?:[ -][^\W\d_]+)?:\*?[ \t][^\n]+\n){2}", re.MULTILINE)
_UNSEEN = ("style", "script", "title", "head")
_BREAKS = ("p", "br", "div", "li", "tr", "h1", "h2", "h3", "blockquote")


def recognises(path: Path, head: bytes) -> bool:
    """Whether this starts as a letter of a mailbox does: a line `From ...`, and a head under it."""
    return bool(re.match(rb"From [^\n]*\n(?:[A-Za-z][A-Za-z0-9-]*:|>From )", head.replace(b"\r\n", b"\n")))


def read(file: File, options: Options) -> Iterator[Draft | Malformed]:
    """Yield a draft for each letter; one is in memory at a time."""
    box = mailbox.mbox(file.path, create=False)
    try:
        for number, key in enumerate(box.iterkeys(), 1):
            with box.get_file(key) as handle:
                raw = handle.read(records.RECORD_BYTES_MAX + 1)
            try:
                if len(raw) > records.RECORD_BYTES_MAX:
                    raise Usage(records.TOO_LONG)
                yield options.draft(_letter(raw, file, number=number, latest=options.latest))
            except Usage as error:
                yield Malformed(f"letter {number}", error.message)
    finally:
        box.close()


def _letter(raw: bytes, file: File, *, number: int, latest: int | None) -> Said:
    try:
        letter = message_from_bytes(raw, _class=EmailMessage, policy=policy.default)
        heads = {name: str(letter[name] or "").strip() for name in ("From", "To", "Date", "Subject", "Message-ID")}
        text = _words(letter)
        text.encode("utf-8")
        files = attached([*letter.iter_attachments()])
    except (ValueError, LookupError, TypeError, AttributeError, IndexError, RecursionError):  # the parser trips over broken heads
        raise Usage("not a letter that can be read") from None
    name, address = parseaddr(heads["From"])
    ref = clean_ref(heads["Message-ID"].strip("<> ")) or f"{file.ref_of_stem}/{number}"
    about = {"title": heads["Subject"], "to": heads["To"]}
    said_at = written(heads["Date"], latest) if heads["Date"] else None
    metadata: dict[str, object] = {key: value for key, value in about.items() if value} | files
    return Said(text, Source("mail", ref), Role.DOCUMENT, said_at, name or address or None, metadata)


def _words(letter: EmailMessage) -> str:
    body = letter.get_body(("plain", "html"))
    if body is None:
        return ""
    content = _decoded(body)
    return _own(_seen(content) if body.get_content_subtype() == "html" else content)


def _decoded(body: MIMEPart) -> str:
    """Return the text of a part. Raises ValueError, LookupError."""
    raw = body.get_payload(decode=True)
    assert isinstance(raw, bytes), "a part with a text has bytes"
    said = body.get_content_charset()
    if said is not None and said != "us-ascii":
        return raw.decode(said)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("windows-1252")


def _own(text: str) -> str:
    """Return a letter without what it quotes or forwards, and without its signature."""
    text = re.split(r"(?:^|\n)-- \n", text.replace("\r\n", "\n"), maxsplit=1)[0]
    text = _FORWARDED.split(f"{text}\n", maxsplit=1)[0]
    lines = _ANNOUNCED.sub("\n", text).split("\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in lines if not line.startswith(">"))).strip()


class _Seen(HTMLParser):
    """Collects what a reader of a page sees of its words."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._unseen = 0
        self._quoted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag in _UNSEEN
        self._quoted += tag == "blockquote"
        self.words += ["\n"] if tag in _BREAKS else []

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN and self._unseen > 0
        self._quoted -= tag == "blockquote" and self._quoted > 0
        self.words += ["\n"] if tag in _BREAKS else []

    def handle_data(self, data: str) -> None:
        if not self._unseen and not self._quoted:
            self.words.append(re.sub(r"\s+", " ", data))


def _seen(page: str) -> str:
    seen = _Seen()
    seen.feed(page)
    seen.close()
    return re.sub(r" ?\n[ \n]*", "\n", "".join(seen.words)).strip()


READER = Reader("mbox", recognises, read)
