"""Both transports, with both official clients: fastmcp's and that of the protocol's own SDK."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import mcp
import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from refold.errors import Usage
from refold.mcp import server
from refold.memory import Memory
from tests.mcp.conftest import REFOLD, places_of, served_over_http

pytestmark = pytest.mark.slow
JSON = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


async def conversation(call: Call) -> dict[str, Any]:
    """Add a statement twice, find it, and ask what holds; return what was answered."""
    said = {"text": "I like Darjeeling.", "key": "message-1", "user_id": "ada"}
    first, again = (await call("memory_add", said)), (await call("memory_add", said))
    found = await call("memory_search", {"query": "Darjeeling", "user_id": "ada"})
    facts = await call("memory_facts", {"relation": "lives_in", "user_id": "ada"})
    return {
        "same": first["event_id"] == again["event_id"] and not again["new"],
        "found": [hit["text"] for hit in found["results"]],
        "holds": [fact["value"] for fact in facts["facts"]],
    }


SPOKEN = {"same": True, "found": ["I like Darjeeling."], "holds": ["Munich"]}


def of_fastmcp(client: Client) -> Call:
    async def call(name: str, given: dict[str, Any]) -> Any:
        return (await client.call_tool(name, given)).structured_content

    return call


def of_the_sdk(client: mcp.Client) -> Call:
    async def call(name: str, given: dict[str, Any]) -> Any:
        return (await client.call_tool(name, given)).structured_content

    return call


def test_over_streams_with_the_client_of_fastmcp(home: Path):
    async def talk() -> dict[str, Any]:
        transport = StdioTransport(REFOLD[0], [*REFOLD[1:], "mcp", *places_of(home), "--user", "ada"], keep_alive=False)
        async with Client(transport) as client:
            return await conversation(of_fastmcp(client))

    assert asyncio.run(talk()) == SPOKEN


def test_over_streams_with_the_client_of_the_sdk_as_a_principal(home: Path):
    env = {"REFOLD_CONFIG": str(home / "refold.toml")}
    started = mcp.StdioServerParameters(command=REFOLD[0], args=[*REFOLD[1:], "mcp", *places_of(home), "--as", "ada"], env=env)

    async def talk() -> tuple[dict[str, Any], bool]:
        async with mcp.Client(started) as client:
            refused = await client.call_tool("memory_search", {"query": "Siemens", "user_id": "ben"})
            return await conversation(of_the_sdk(client)), bool(refused.is_error)

    assert asyncio.run(talk()) == (SPOKEN, True)


@pytest.fixture(scope="module")
def tokens(home: Path) -> dict[str, str]:
    """Return a token for each of two principals of the settings, and one that was revoked."""
    with pytest.MonkeyPatch.context() as patch, Memory.open(home / "store", vault=home / "vault", root=home / "root") as memory:
        patch.setenv("REFOLD_CONFIG", str(home / "refold.toml"))
        made = {name: memory.token_add(name, principal=name) for name in ("ada", "family")}
        made["revoked"] = memory.token_add("revoked", principal="family")
        memory.token_revoke("revoked")
    return made


@pytest.fixture(scope="module")
def url(home: Path, tokens: dict[str, str]) -> Iterator[str]:
    with served_over_http(home) as address:
        yield address


def asked(url: str, token: str, name: str, given: dict[str, Any]) -> Any:
    async def talk() -> Any:
        async with Client(StreamableHttpTransport(url, auth=BearerAuth(token))) as client:
            return (await client.call_tool(name, given, raise_on_error=False)).structured_content

    return asyncio.run(talk())


def test_over_http_with_the_client_of_fastmcp(url: str, tokens: dict[str, str]):
    async def talk() -> dict[str, Any]:
        async with Client(StreamableHttpTransport(url, auth=BearerAuth(tokens["ada"]))) as client:
            return await conversation(of_fastmcp(client))

    assert asyncio.run(talk()) == SPOKEN


def test_over_http_with_the_client_of_the_sdk(url: str, tokens: dict[str, str]):
    async def talk() -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {tokens['ada']}"}
        async with create_mcp_http_client(headers) as http, mcp.Client(streamable_http_client(url, http_client=http)) as client:
            return await conversation(of_the_sdk(client))

    assert asyncio.run(talk()) == SPOKEN


def test_each_token_sees_what_its_principal_may_see(url: str, tokens: dict[str, str]):
    query = {"query": "allergic Siemens", "limit": 9}
    seen = {name: {hit["text"] for hit in asked(url, tokens[name], "memory_search", query)["results"]} for name in ("ada", "family")}
    assert seen["ada"].isdisjoint({"I am allergic to nuts.", "I work at Siemens."})
    assert seen["family"] >= {"I am allergic to nuts.", "I work at Siemens."}


def test_who_shows_no_token_of_ours_is_refused(url: str, tokens: dict[str, str]):
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream"}
    for shown in ({}, {"Authorization": "Bearer refold_" + "A" * 43}, {"Authorization": f"Bearer {tokens['revoked']}"}):
        assert httpx.post(url, json=hello, headers=headers | shown, trust_env=False).status_code == 401


def test_a_page_of_a_browser_does_not_reach_it_by_another_name(url: str, tokens: dict[str, str]):
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {tokens['ada']}"}
    told = [
        httpx.post(url, json=hello, headers=headers | more, trust_env=False).status_code
        for more in ({}, {"Host": "evil.example"}, {"Origin": "https://evil.example"})
    ]
    assert told == [200, 421, 403]


def test_where_a_token_is_damaged_the_others_open_and_an_unknown_one_is_no_verdict(home: Path, url: str, tokens: dict[str, str]):
    damaged = home / "vault" / "tokens" / "aaa.json"
    damaged.write_bytes(b"[]")
    try:
        assert asked(url, tokens["ada"], "memory_status", {})["users"] == ["ada"]
        answer = httpx.post(url, json={}, headers={"Authorization": "Bearer unknown"}, trust_env=False)
        assert (answer.status_code, answer.json()["error"]) == (503, "RF-CORRUPT-001")
    finally:
        damaged.unlink()


def test_what_is_no_request_is_answered_and_nothing_is_logged(url: str, tokens: dict[str, str]):
    host, port = httpx.URL(url).host, httpx.URL(url).port
    with socket.create_connection((host, port or 80)) as rude:
        rude.sendall(b"POST \xff\r\n\r\n")
        assert rude.recv(100).startswith(b"HTTP/1.1 400")
    for body in (b"{", b'{"jsonrpc":"2.0"}\xff', b"[" * 9_999):
        answer = httpx.post(url, content=body, headers=JSON | {"Authorization": f"Bearer {tokens['ada']}"}, trust_env=False)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
    assert asked(url, tokens["ada"], "memory_search", {"query": "x", "limit": "y"}) is None  # what is refused is logged nowhere either


@contextmanager
def streams(said: bytes) -> Generator[None]:
    """Stand in for standard input with what was said, and for standard output with a pipe that nobody reads."""
    ends = [os.pipe(), os.pipe()]
    os.write(ends[0][1], said)
    os.close(ends[0][1]), os.close(ends[1][0])
    out = os.fdopen(ends[1][1], "w")
    with pytest.MonkeyPatch.context() as patch, os.fdopen(ends[0][0]) as given:
        patch.setattr(sys, "stdin", given)
        patch.setattr(sys, "stdout", out)
        yield
    with suppress(BrokenPipeError):  # what could not be written is still in it
        out.close()


def test_over_streams_a_client_that_is_gone_is_no_fault(home: Path):
    who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}) + "\n"
    opened = Memory.open(home / "store", vault=home / "vault", root=home / "root")
    with opened as memory, streams(hello.encode()), pytest.raises(BrokenPipeError):
        server.over_streams(memory)


def test_over_streams_that_are_closed_is_a_usage_error(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    with Memory.open(home / "store", vault=home / "vault", root=home / "root") as memory, pytest.raises(Usage, match="is closed"):
        server.over_streams(memory)


def test_a_token_that_is_revoked_opens_nothing_from_the_next_request_on(home: Path, url: str):
    with pytest.MonkeyPatch.context() as patch, Memory.open(home / "store", vault=home / "vault", root=home / "root") as memory:
        patch.setenv("REFOLD_CONFIG", str(home / "refold.toml"))
        token = memory.token_add("short", principal="family")
        assert asked(url, token, "memory_status", {})["labels"] == ["family"]
        memory.token_revoke("short")
    with pytest.raises(Exception, match="error response"):
        asked(url, token, "memory_status", {})


def test_rights_are_those_of_the_settings_now(home: Path, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    changed = home / "changed.toml"
    monkeypatch.setenv("REFOLD_CONFIG", str(changed))
    with Memory.open(home / "store", vault=home / "vault", root=home / "root") as memory:
        faces = server.Faces(memory)
        for rights in ("labels = []\nusers = ['ben']", "labels = ['family']"):
            changed.write_text(f"[principals.family]\n{rights}\n", encoding="utf-8")
            principal = faces.bearer(tokens["family"])
            assert principal is not None
            assert faces.of(principal).principal == principal
            assert (principal.users is None) == ("family" in rights)
        changed.write_text("", encoding="utf-8")
        assert faces.bearer(tokens["family"]) is None
        faces.close()


def test_nothing_heavy_is_imported_until_it_is_served():
    loaded = "sorted({*sys.modules} & {'fastmcp', 'mcp', 'pydantic', 'starlette'})"
    code = (
        f"import sys; from refold.cli import main; main(['--help']); main(['status']); main(['mcp', 'config', 'generic']); print({loaded})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
