"""The server: over standard streams for one principal, over HTTP for whoever shows a bearer token, each request as its principal."""

from __future__ import annotations

import functools
import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from refold import settings
from refold.errors import Locked, NotAllowed, Usage, worded
from refold.keys import tokens
from refold.memory import Memory
from refold.settings import Principal

if TYPE_CHECKING:
    from fastmcp import FastMCP
    from fastmcp.server.auth import TokenVerifier

NAME = "refold"
PATH = "/mcp"
QUIET = {"FASTMCP_ENV_FILE": os.devnull, "FASTMCP_LOG_ENABLED": "false", "FASTMCP_CHECK_FOR_UPDATES": "off"}


class Faces:
    """One open memory, seen by each principal that asks, whose rights are those of the settings now."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._seen: dict[Principal, Memory] = {}

    def of(self, principal: Principal) -> Memory:
        """Return the memory as a principal sees it."""
        if principal not in self._seen:
            self._seen[principal] = self._memory.seen_by(principal)
        return self._seen[principal]

    def bearer(self, text: str) -> Principal | None:
        """Return the principal of whoever shows this token; None where it is none of ours, or its principal stands no longer there."""
        token = tokens.bearer(self._memory.store.vault.path, text)
        return None if token is None else settings.load().principals.get(token.principal)

    def close(self) -> None:
        """Drop what each of them had open."""
        for memory in self._seen.values():
            memory.close()


def require() -> None:
    """Refuse where the extra is not installed. Raises Usage."""
    for name, value in QUIET.items():  # fastmcp reads these when it is imported: it would log to stderr and read a file of the folder
        os.environ.setdefault(name, value)
    try:
        import fastmcp  # noqa: F401
    except ImportError:
        raise Usage("what serves tools to agents is not installed", hint="pip install 'refold[mcp]'") from None


def over_streams(memory: Memory) -> None:
    """Serve one client on standard input and output, until it closes them."""
    require()
    import anyio

    if sys.stdin is None or sys.stdout is None:
        raise Usage("a client speaks to this over standard input and output, and one of them is closed", hint="refold mcp config generic")
    server = tools_of(lambda: memory)
    _hold_logs()
    try:
        anyio.run(functools.partial(server.run_stdio_async, show_banner=False))
    except BaseExceptionGroup as group:
        if group.subgroup(BrokenPipeError) is None:
            raise
        raise BrokenPipeError from None  # the client is gone, and what it had asked last is not answered


def over_http(memory: Memory, listening: socket.socket) -> None:
    """Serve whoever shows a token, on a socket that is bound, until the process is told to end."""
    require()
    import anyio

    faces = Faces(memory)
    server = tools_of(lambda: faces.of(_asking()), verifier=_verifier(faces))
    _hold_logs()
    host, port = listening.getsockname()[:2]
    run = functools.partial(
        server.run_http_async,
        show_banner=False,
        host=host,
        port=port,
        path=PATH,
        json_response=True,
        stateless_http=True,  # each request shows its own token, and no session outlives one
        sockets=[listening],
        host_origin_protection="auto",  # no page of a browser reaches a server of this machine by a name of its own
        uvicorn_config={"log_config": None, "access_log": False, "server_header": False},
    )
    try:
        with suppress(KeyboardInterrupt):  # Ctrl-C and SIGTERM are how it ends
            anyio.run(run)
    finally:
        faces.close()


def _hold_logs() -> None:
    """Keep what is logged below us off standard error, where it would come without any handler: an operator is told in answers."""
    logging.getLogger().addHandler(logging.NullHandler())


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 is any free one. Raises Usage, Locked."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except socket.gaierror:
        raise Usage("the host is no name or address of this machine", hint="refold mcp --http 8765") from None
    except OSError:
        raise Locked(f"port {port} cannot be had: another process holds it, or the system forbids it", hint="refold mcp --http 0") from None


def address(listening: socket.socket) -> str:
    """Return where clients find the tools."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def tools_of(whose: Callable[[], Memory], *, verifier: TokenVerifier | None = None) -> FastMCP:
    """Return the server of the tools over the memory that `whose` gives."""
    require()
    from importlib.metadata import version

    from fastmcp import FastMCP

    from refold.mcp import answers
    from refold.mcp.refusals import Formed
    from refold.mcp.tools import INSTRUCTIONS, Tools, speaking

    server: FastMCP = FastMCP(
        NAME,
        version=version("refold"),
        instructions=INSTRUCTIONS,
        auth=verifier,
        middleware=[Formed()],
        mask_error_details=True,
    )
    for tool in Tools(whose).catalogue():
        server.tool(
            speaking(tool.call),
            name=tool.name,
            title=tool.title,
            description=tool.description,
            annotations=tool.hints,
            output_schema=answers.schema(tool.form),
        )
    return server


def _asking() -> Principal:
    """Return the principal of the request that is answered now. Raises NotAllowed."""
    from fastmcp.server.dependencies import get_access_token

    shown = get_access_token()
    if shown is None:
        raise NotAllowed("this request shows no token", hint="refold mcp tokens")
    return shown.claims["principal"]


def _verifier(faces: Faces) -> TokenVerifier:
    from fastmcp.server.auth import AccessToken, TokenVerifier
    from starlette.middleware import Middleware

    from refold.mcp.refusals import Answered

    class Verifier(TokenVerifier):
        def get_middleware(self) -> list[Middleware]:
            return [Middleware(Answered), *super().get_middleware()]

        async def verify_token(self, token: str) -> AccessToken | None:
            try:
                principal = faces.bearer(token)
            except Exception as error:
                raise worded(error) from None
            return (
                None
                if principal is None
                else AccessToken(token=token, client_id=principal.name, scopes=[], claims={"principal": principal})
            )

    return Verifier()
