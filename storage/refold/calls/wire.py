"""The wire: a transport that lets a rendered request leave as it was rendered, and nothing else.

Whatever wants to be sent through it is compared with what was declared: method, address, headers, and the body value by value, but for
the model's name, which litellm is not told. One byte more and nothing leaves. What leaves is built here: the rendering, and the headers
that are listed here.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

import httpx

from refold import canonical
from refold.calls.strict import parse

ANSWER_BYTES_MAX = 8 << 20
OF_THE_CLIENT = "x-stainless-"  # what the client says of itself; it is not sent
USER_AGENT = "refold"


class Captured(BaseException):
    """The answer is here, or it is clear that none comes. Not an Exception: nothing on the way up may see, log or price an answer."""


class Overlong(httpx.TransportError):
    """The answer has more bytes than any answer may have."""


@dataclass(slots=True)
class Sending:
    """One attempt: what may leave, and what became of it."""

    body: bytes
    composed: bytes  # the same, for no model by name: what litellm is to compose
    headers: tuple[tuple[str, str], ...]  # declared by the request, beside those of every call
    timeout_seconds: float  # from when it leaves
    wire: bytes = b""  # what litellm wanted to send where it is spelled otherwise
    undeclared: str = ""  # where a byte was found that nothing declares
    sent: int = 0
    status: int = 0
    retry_after: str = ""
    answer: bytes = b""
    error: httpx.TransportError | None = None


class Wire(httpx.BaseTransport):
    """Sends for one provider. Threads share it; each has one attempt at a time, and as many are out at once as there are connections."""

    def __init__(self, url: str, key: str, *, connections: int, by: str | None = None, under: httpx.BaseTransport | None = None) -> None:
        """Send to this address; `by` is what litellm takes for it, where it is told another."""
        self._url = httpx.URL(url)
        self._by = httpx.URL(by or url)
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._under = under or httpx.HTTPTransport(trust_env=False, limits=limits, verify=trust(url))
        self._free = threading.BoundedSemaphore(connections)
        self._key = key
        self._here = threading.local()

    @contextmanager
    def expecting(self, sending: Sending) -> Generator[None]:
        """Let this thread send one attempt while the block runs."""
        self._here.sending = sending
        try:
            yield
        finally:
            self._here.sending = None

    def handle_request(self, request: httpx.Request) -> NoReturn:
        sending: Sending | None = getattr(self._here, "sending", None)
        if sending is None:
            raise Captured
        sending.undeclared = sending.undeclared or self._undeclared(request, sending)
        if not sending.undeclared:
            sending.wire = b"" if request.content == sending.composed else request.content
            sending.sent += 1
            try:
                with self._free:
                    self._send(sending)
            except httpx.TransportError as error:
                sending.error = error
        raise Captured

    def close(self) -> None:
        self._under.close()

    def _undeclared(self, request: httpx.Request, sending: Sending) -> str:
        """Return where a request differs from what was declared; "" where it does not."""
        if sending.sent:
            return "a second request"
        if request.method != "POST" or request.url != self._by:
            return "the address"
        expected = self._headers(sending) | {"host": self._by.netloc.decode()}
        for name, value in request.headers.multi_items():
            if name not in expected and not name.startswith(OF_THE_CLIENT):
                return "a header"
            if name in expected and name not in OURS and value != expected[name]:
                return "a header"
        return "" if same_value(request.read(), sending.composed) else "the body"

    def _headers(self, sending: Sending) -> dict[str, str]:
        return {
            "host": self._url.netloc.decode(),
            "authorization": f"Bearer {self._key}",
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "connection": "keep-alive",
            "user-agent": USER_AGENT,
            "content-length": str(len(sending.body)),
            **{name.lower(): value for name, value in sending.headers},
        }

    def _send(self, sending: Sending) -> None:
        deadline = time.monotonic() + sending.timeout_seconds
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), sending.timeout_seconds)
        headers = list(self._headers(sending).items())
        request = httpx.Request("POST", self._url, headers=headers, content=sending.body, extensions={"timeout": timeouts})
        response = self._under.handle_request(request)
        try:
            sending.status = response.status_code
            sending.retry_after = response.headers.get("retry-after", "")
            sending.answer = _read(response, deadline)
        finally:
            response.close()


OURS = frozenset(("accept-encoding", "user-agent", "content-length"))  # headers that the client words its own way, and that are not sent so


def trust(url: str) -> ssl.SSLContext:
    """Return the authorities by which a server is known; none where the address is without TLS: reading them takes as long as a call."""
    return httpx.create_ssl_context(trust_env=False) if httpx.URL(url).scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def same_value(found: bytes, expected: bytes) -> bool:
    """Whether two texts of JSON say exactly the same: nothing may hide in a name given twice, or behind the end."""
    if found == expected:
        return True
    try:
        return canonical.encode(parse(found)) == canonical.encode(parse(expected))
    except (ValueError, RecursionError):
        return False


def _read(response: httpx.Response, deadline: float) -> bytes:
    """Read an answer within its time and size; a provider that sends a byte a minute must not hold a fold for ever."""
    chunks: list[bytes] = []
    size = 0
    for chunk in response.iter_raw():
        chunks.append(chunk)
        size += len(chunk)
        if size > ANSWER_BYTES_MAX:
            raise Overlong("the answer is too long")
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the answer takes too long")
    return b"".join(chunks)
