"""An OpenAI-compatible server on the loopback: it answers what a script says, and keeps every request as it came.

    with Server(lambda asked: answer('{"facts": []}')) as server:
        ...                                             # talk to server.url
        server.asked[0].body                            # the exact bytes

By hand, `python -m tests.openai_server --port 8123 --content '{"facts": []}'` answers every request so.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    number: int  # from 0, in the order of arrival
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """What the last message says, or the text whose vector is asked for."""
        return self.json["input"] if self.path.endswith("/embeddings") else self.json["messages"][-1]["content"]


@dataclass(frozen=True)
class Reply:
    """What goes back: after a while, whole or cut after some bytes of the body."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    wait_seconds: float = 0.0
    cut_at: int | None = None


Script = Callable[[Asked], Reply]


def answer(content: str | None, *, finish_reason: str = "stop", model: str = "scripted", usage: tuple[int, int] | None = (10, 5)) -> Reply:
    """Return a completion; `usage` is prompt and completion tokens."""
    message = {"role": "assistant", "content": content}
    document: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
    }
    if usage is not None:
        document["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return Reply(json.dumps(document, ensure_ascii=False).encode())


def vector(components: Sequence[float] | str, *, model: str = "scripted", tokens: int | None = 3) -> Reply:
    """Return a vector: its components, or as base64; `tokens` is what the text had."""
    one = {"object": "embedding", "index": 0, "embedding": components}
    document: dict[str, Any] = {"object": "list", "data": [one], "model": model}
    if tokens is not None:
        document["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Reply(json.dumps(document).encode())


def scores(of_texts: Sequence[object], *, model: str = "scripted", tokens: int | None = 7) -> Reply:
    """Return what a model that reranks gives the texts, in the order in which they came: best first, as such models answer."""
    results = [{"index": place, "relevance_score": score} for place, score in enumerate(of_texts)]
    results.sort(key=lambda one: -float(str(one["relevance_score"])))
    document: dict[str, Any] = {"id": "rerank-scripted", "model": model, "results": results}
    if tokens is not None:
        document["usage"] = {"total_tokens": tokens}
    return Reply(json.dumps(document).encode())


def failure(status: int, message: str = "scripted failure", *, retry_after: str | None = None) -> Reply:
    """Return an error as providers word it."""
    body = json.dumps({"error": {"message": message, "type": "scripted", "code": None}}).encode()
    return Reply(body, status, (("Retry-After", retry_after),) if retry_after else ())


def slow(reply: Reply, seconds: float) -> Reply:
    """Return the same reply after a while."""
    return replace(reply, wait_seconds=seconds)


def cut(reply: Reply, at: int = 10) -> Reply:
    """Return a reply whose connection ends after some bytes of its body."""
    return replace(reply, cut_at=at)


def in_turn(replies: Iterable[Reply], then: Reply | None = None) -> Script:
    """Return a script that gives one reply after another, whatever is asked; then always the last, or `then`."""
    rest, mutex, last = iter(replies), threading.Lock(), [then]

    def script(asked: Asked) -> Reply:
        with mutex:
            reply = next(rest, None)
            if reply is None:
                assert last[0] is not None, "nothing was scripted"
                return last[0]
            last[0] = then or reply
            return reply

    return script


class Server:
    """A server on a free port, while the block runs."""

    def __init__(self, script: Script, *, port: int = 0, keeps: bool = True) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.count = 0
        self.in_flight_max = 0
        self._keeps = keeps
        self._in_flight = 0
        self._mutex = threading.Lock()
        self._http = _Listener(("127.0.0.1", port), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """The API base."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def bodies(self) -> list[bytes]:
        return [asked.body for asked in self.asked]

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.end_connections()
        self._http.server_close()
        self._thread.join()

    def reply(self, path: str, headers: tuple[tuple[str, str], ...], body: bytes) -> Reply:
        """Keep a request and return what the script says to it, after its time."""
        with self._mutex:
            asked = Asked(self.count, path, headers, body)
            self.count += 1
            self._in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self._in_flight)
            if self._keeps:
                self.asked.append(asked)
        try:
            reply = self.script(asked)
            time.sleep(reply.wait_seconds)
        finally:
            with self._mutex:
                self._in_flight -= 1
        return reply


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """End what clients keep alive, so that no thread waits for their next request."""
        for request in list(self._open):
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                self._open.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that gave up is no fault of a test
            super().handle_error(request, client_address)


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            reply = server.reply(self.path, tuple(self.headers.items()), body)
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply.body)))
            for name, value in reply.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body[: reply.cut_at])
            self.wfile.flush()
            if reply.cut_at is not None:
                self.close_connection = True

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler


def main() -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.openai_server")
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    parser.add_argument("--content", default="{}", help="what every answer says")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long an answer takes")
    arguments = parser.parse_args()
    reply = slow(answer(arguments.content), arguments.seconds)
    with Server(lambda asked: reply, port=arguments.port, keeps=False) as server:
        print(server.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
