"""The provider: one attempt at one request, through litellm. The only place that imports it, and its clients.

For an OpenAI-compatible endpoint litellm composes, our own transport compares and sends, and the answer never goes back through litellm.
Of any other provider litellm's call is what is seen: the recording says so.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from refold.calls.recording import Fault, Form
from refold.calls.strict import parse
from refold.calls.threads import Threads
from refold.errors import ModelFailed, Undeclared, Usage
from refold.fold.request import Rendered, Request, Task, json_text

if TYPE_CHECKING:
    from refold.calls.wire import Sending, Wire

WIRES = {Task.CHAT: "openai", Task.EMBED: "openai", Task.RERANK: "hosted_vllm"}  # the adapters whose bytes are ours
KEYS = {"openai": "OPENAI_API_KEY", "hosted_vllm": "HOSTED_VLLM_API_KEY"}
NOWHERE = "http://localhost/v1"
NO_KEY = "none"  # what a server of one's own gets
UNNAMED = "declared"  # what litellm takes every model for: to some it words requests otherwise, others it asks at another address
CLOSED = "closed://127.0.0.1:9"  # what litellm takes for the address: whatever it sends beside our transport goes nowhere
PAST_US = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"  # where it is set, litellm sends through a client of its own
QUIET = logging.CRITICAL + 1
LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore")  # at DEBUG they tell prompts
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_OFFLINE_MODE": "true"}
LISTENERS = (
    *("callbacks", "input_callback", "success_callback", "failure_callback", "service_callback"),
    *("_async_input_callback", "_async_success_callback", "_async_failure_callback"),
)
PARAMETERS = frozenset(  # of a chat completion; whatever else litellm takes steers litellm itself
    (
        *("temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "stop", "seed", "presence_penalty", "frequency_penalty"),
        *("logit_bias", "reasoning_effort", "thinking", "verbosity", "service_tier", "response_format"),
    )
)
OF_VECTORS = frozenset(("dimensions", "encoding_format"))  # the same, of a request for a vector
OF_ORDERS = frozenset(  # and of one for an order
    (
        *("instruction", "max_tokens_per_doc", "max_tokens_per_query", "max_chunks_per_doc", "return_documents"),
        *("truncate_prompt_tokens", "truncation_side"),
    )
)
TAKEN = {Task.CHAT: PARAMETERS, Task.EMBED: OF_VECTORS, Task.RERANK: OF_ORDERS}
TOLD = {Task.CHAT: ("messages",), Task.EMBED: ("input",), Task.RERANK: ("query", "documents")}
PATHS = {Task.CHAT: "chat/completions", Task.EMBED: "embeddings", Task.RERANK: "rerank"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of one attempt. `fault` is set where no response came, or not a whole one."""

    form: Form
    host: str
    status: int = 0
    answer: bytes = b""
    wire: bytes = b""
    fault: Fault | None = None
    retry_after: str = ""


class Provider:
    """One endpoint, for one task. Threads share it."""

    def __init__(
        self,
        adapter: str,
        api_base: str,
        task: Task = Task.CHAT,
        *,
        timeout_seconds: float,
        connections: int,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self._litellm = _litellm(task)
        self._task = task
        self._adapter = adapter
        self._api_base = api_base
        self._timeout = timeout_seconds
        self.form = Form.WIRE if adapter == WIRES[task] else Form.CALL
        self.host = urlsplit(api_base).netloc or adapter
        self._wire: Wire | None = None
        self._free = BoundedSemaphore(connections)
        if self.form is Form.WIRE:
            from refold.calls.wire import Wire

            self._key = env.get(KEYS[adapter]) or NO_KEY
            by = f"{CLOSED}/{PATHS[task]}" if task is Task.RERANK else None
            self._wire = Wire(f"{api_base}/{PATHS[task]}", self._key, connections=connections, by=by)
            self._client = (_handler if task is Task.RERANK else _client)(api_base, self._key, self._wire)

    def attempt(self, request: Request, rendered: Rendered) -> Attempt:
        """Send one request once. Raises Undeclared where anything but it was about to leave, ModelFailed where litellm is tapped."""
        for name in LOGGERS:
            _silence(logging.getLogger(name))
        _refuse_listeners(self._litellm)
        return self._call(request, rendered) if self._wire is None else self._send(self._wire, request, rendered)

    def close(self) -> None:
        """Let go of the connections."""
        if self._wire is not None:
            self._wire.close()

    def _send(self, wire: Wire, request: Request, rendered: Rendered) -> Attempt:
        from refold.calls.wire import Captured, Sending

        sending = Sending(rendered.body, unnamed(rendered.body, request.model), request.headers, self._timeout)
        body = parse(sending.composed)
        del body["model"]
        ask, told = self._asking(body)
        try:
            with wire.expecting(sending):
                ask(
                    model=f"{self._adapter}/{UNNAMED}",
                    **told,
                    **self._rest(request, body),
                    client=self._client,
                    api_base=CLOSED,
                    timeout=self._timeout,
                    max_retries=0,
                    caching=False,
                )
        except Captured:
            return self._captured(sending)
        except Exception as error:
            what = type(error).__name__
        else:
            what = "no error"
        if sending.undeclared or sending.sent:
            return self._captured(sending)
        raise Undeclared(f"litellm ended without sending the request through its transport ({what})") from None

    def _asking(self, body: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
        """Take what is told out of a body; return what of litellm asks, and that under the name by which it takes it."""
        of = self._litellm
        ask = {Task.CHAT: of.completion, Task.EMBED: of.embedding, Task.RERANK: of.rerank}[self._task]
        return ask, {name: body.pop(name) for name in TOLD[self._task]}

    def _rest(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        """Return what litellm is handed beside what is told, where our transport sends."""
        headers = dict(request.headers) or None
        if self._task is Task.RERANK:
            _refuse_untaken(body, self._task)
            return {"return_documents": None, **body, "headers": headers, "api_key": self._key}
        # All of it as extra, so that litellm neither knows nor changes a parameter.
        return {"extra_body": body, "extra_headers": headers, "api_key": NO_KEY}

    def _captured(self, sending: Sending) -> Attempt:
        if sending.undeclared:
            raise Undeclared(f"something that nothing declares was about to leave: {sending.undeclared}; nothing was sent")
        fault = None if sending.error is None else _fault_of(sending.error, sending.status)
        return Attempt(Form.WIRE, self.host, sending.status, sending.answer, sending.wire, fault, sending.retry_after)

    def _call(self, request: Request, rendered: Rendered) -> Attempt:
        body = parse(rendered.body)
        ask, told = self._asking(body)
        headers = dict(request.headers) or None
        beside = {"return_documents": None, "headers": headers} if self._task is Task.RERANK else {"extra_headers": headers}
        extra, model = {name: body.pop(name) for name, _ in request.extra_body}, body.pop("model")
        _refuse_untaken(body, self._task)
        try:
            with self._free:
                response = ask(
                    model=f"{self._adapter}/{model}",
                    **told,
                    api_base=self._api_base or None,
                    timeout=self._timeout,
                    max_retries=0,
                    caching=False,
                    **({"extra_body": extra} if extra else {}),
                    **beside | body,
                )
            document = response.model_dump(mode="json")
            answer = json.dumps(document, ensure_ascii=False).encode()
        except Exception as error:
            return self._refused(error)
        return Attempt(Form.CALL, self.host, 200, answer, fault=Fault.CUT_OFF if _is_at_limit(document, body) else None)

    def _refused(self, error: Exception) -> Attempt:
        """Turn litellm's error into a code. Its words are let go: they quote the prompt and the provider."""
        status = getattr(error, "status_code", None)
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        names = {kind.__name__ for kind in type(error).__mro__}
        if "Timeout" in names:
            return Attempt(Form.CALL, self.host, fault=Fault.TIMEOUT)
        if "APIConnectionError" in names or not isinstance(status, int):
            return Attempt(Form.CALL, self.host, fault=Fault.UNREACHABLE if "APIConnectionError" in names else Fault.ADAPTER)
        return Attempt(Form.CALL, self.host, status, retry_after=str(headers.get("retry-after", "")))


def unnamed(body: bytes, model: str) -> bytes:
    """Return a rendering as litellm is to compose it: for no model that it knows. The rendering names the model first."""
    head, begun = f'{{"model":{json_text(model)},'.encode(), f'{{"model":"{UNNAMED}",'.encode()
    if not body.startswith(head):
        raise Undeclared("a rendering begins otherwise than with the name of its model", hint="refold help recipes")
    return begun + body[len(head) :]


def _refuse_untaken(body: Mapping[str, Any], task: Task) -> None:
    for name in sorted(body.keys() - TAKEN[task]):
        raise Usage(f"litellm cannot be handed the parameter {name} for this adapter", hint="refold help recipes")


def _is_at_limit(document: dict[str, Any], body: Mapping[str, Any]) -> bool:
    """Whether an answer has as many tokens as it may have: of some providers litellm says "stop" where they cut it off there."""
    limit, counted = body.get("max_completion_tokens", body.get("max_tokens")), (document.get("usage") or {}).get("completion_tokens")
    return isinstance(limit, int) and isinstance(counted, int) and counted >= limit


def _fault_of(error: Exception, status: int) -> Fault:
    names = {kind.__name__ for kind in type(error).__mro__}
    if "TimeoutException" in names:
        return Fault.TIMEOUT
    if "Overlong" in names:
        return Fault.OVERLONG
    return Fault.CUT_CONNECTION if status or "ConnectError" not in names else Fault.UNREACHABLE


def _litellm(task: Task) -> Any:
    """Import litellm, which takes seconds: offline, quiet, and with nothing that listens.

    A first call for the task, of which nothing leaves, imports the rest of it before threads meet there; in a thread of its own, for in
    that of its caller litellm would leave an event loop that nobody closes.
    """
    from refold.calls.wire import Captured, Wire

    os.environ.update(OFFLINE)
    with warnings.catch_warnings(), suppress(Captured):
        warnings.simplefilter("ignore")  # what its dependencies warn of is not ours
        litellm = importlib.import_module("litellm")
        litellm.suppress_debug_info = True
        litellm.turn_off_message_logging = True
        litellm.telemetry = False
        _refuse_listeners(litellm)
        wire = Wire(f"{NOWHERE}/{PATHS[task]}", NO_KEY, connections=1)
        ask, told, client = litellm.completion, {"messages": []}, _client
        if task is Task.RERANK:
            ask, told, client = litellm.rerank, {"query": "", "documents": [], "api_key": NO_KEY}, _handler
        named = {"model": f"{WIRES[task]}/none", "client": client(NOWHERE, NO_KEY, wire), "api_base": CLOSED, "max_retries": 0}
        with Threads(1) as apart:
            apart.submit(partial(ask, **told, **named)).result()
    return litellm


def _client(api_base: str, key: str, wire: Wire) -> Any:
    import httpx
    import openai

    from refold.calls.wire import trust

    http_client: Any = httpx.Client(transport=wire, trust_env=False, verify=trust(api_base))
    return openai.OpenAI(base_url=api_base, api_key=key, max_retries=0, http_client=http_client)


def _handler(api_base: str, key: str, wire: Wire) -> Any:
    """Return what litellm sends by where no client of OpenAI does."""
    import httpx

    from refold.calls.wire import trust

    made = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    return made.HTTPHandler(client=httpx.Client(transport=wire, trust_env=False, verify=trust(api_base)))


def _refuse_listeners(litellm: Any) -> None:
    if litellm.cache is not None or any(getattr(litellm, name, None) for name in LISTENERS):
        raise ModelFailed("litellm has a cache or callbacks in this process, which would see what is sent")
    if os.environ.get(PAST_US) or litellm.route_all_chat_openai_to_responses:
        raise ModelFailed("litellm is set to send past the transport that compares what leaves", hint=f"unset {PAST_US}")


def _silence(logger: logging.Logger) -> None:
    if logger.level != QUIET:
        logger.setLevel(QUIET)
