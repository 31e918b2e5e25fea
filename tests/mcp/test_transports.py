"""Both transports, with both official clients: fastmcp's and that of the protocol's own SDK."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
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

from refold.mcp import server
from refold.memory import Memory
from tests.mcp.conftest import REFOLD, places_of, served_over_http

pytestmark = pytest.mark.slow

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
