"""What is refused before a tool is called, in words of ours: a call that is not of its form, a token that cannot be looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastmcp.exceptions import NotFoundError, ToolError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from pydantic import ValidationError as Misfit
from starlette.responses import JSONResponse

from refold.errors import RefoldError, Usage
from refold.state.context import plain

if TYPE_CHECKING:
    from fastmcp.tools import ToolResult
    from mcp.types import CallToolRequestParams
    from starlette.types import ASGIApp, Receive, Scope, Send

TOLD_MAX = 3  # arguments that one refusal speaks of
NAME_CHARACTERS_MAX = 60
HINT = "refold mcp tokens"


class Formed(Middleware):
    """Says which argument of a call is wrong and what was expected, without what was given; and that there is no such tool."""

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        """Pass a call on, and put what is wrong with its form into words."""
        try:
            return await call_next(context)
        except NotFoundError:
            raise ToolError(f"{Usage.code}: there is no tool of this name: list the tools") from None
        except ValidationError as error:
            raise ToolError(f"{Usage.code}: {misfits(error.__cause__)}") from None


def misfits(error: BaseException | None) -> str:
    """Return what is wrong with the arguments of a call, the first few of them."""
    if not isinstance(error, Misfit):
        return "the arguments are not those of this tool"
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(plain(str(part)) for part in one['loc'])[:NAME_CHARACTERS_MAX]}: {one['msg'].lower()}" for one in found[:TOLD_MAX]]
    more = [f"and {len(found) - TOLD_MAX} more"] if len(found) > TOLD_MAX else []
    return "; ".join([*told, *more])


class Answered:
    """Answers a request with the code of an error where tokens or principals cannot be read, for everybody alike."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except RefoldError as error:
            told = f"who asks cannot be looked up (the operator can run: {error.hint or HINT})"
            response = JSONResponse({"error": error.code, "error_description": told}, status_code=503)
            await response(scope, receive, send)
