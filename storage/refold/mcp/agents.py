"""How a client is told of the server: the shipped page of each (configs/agents), with the command line of this very installation."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from refold import settings
from refold.errors import Usage
from refold.store import Places

CLIENTS = ("claude-code", "codex", "gemini-cli", "generic")


@dataclass(frozen=True, slots=True)
class Registration:
    """What makes one client start the server: the command, and the page that says where it goes."""

    client: str
    command: tuple[str, ...]
    page: str


def registration(
    client: str, places: Places, *, principal: str | None, user: str | None, env: Mapping[str, str] = os.environ
) -> Registration:
    """Return how a client is told of the server of this memory, as that principal or bound to that user. Raises Usage."""
    if client not in CLIENTS:
        raise Usage(f"a client is one of {', '.join(CLIENTS)}", hint="refold mcp config generic")
    if principal is None and user is None:
        raise Usage("whose memory the client may see is not said: --user NAME, or --as NAME", hint="refold help mcp")
    command = (*_settings(env), *started(), "mcp", *_places(places), *_who(principal, user))
    return Registration(client, command, _filled(settings.text(f"agents/{client}.md"), command))


def started() -> list[str]:
    """Return how refold itself is started, from anywhere: its script beside this interpreter, else its module."""
    script = Path(sys.executable).parent / "refold"
    return [str(script)] if script.is_file() else [sys.executable, "-c", "import sys; from refold.cli import main; sys.exit(main())"]


def _settings(env: Mapping[str, str]) -> list[str]:
    """Return what hands on the settings: a client starts its servers with an environment of its own."""
    own = env.get("REFOLD_CONFIG")
    return ["env", f"REFOLD_CONFIG={Path(own).absolute()}"] if own else []


def _places(places: Places) -> list[str]:
    return ["--store", str(places.store), "--vault", str(places.vault), "--root", str(places.root)]


def _who(principal: str | None, user: str | None) -> list[str]:
    return [*(["--as", principal] if principal else []), *(["--user", user] if user else [])]


def _filled(page: str, command: tuple[str, ...]) -> str:
    """Put the command into a page: as a shell has it, as JSON and as TOML."""
    head, *rest = command
    parts = {
        "{command}": shlex.join(command),
        "{json}": json.dumps({"command": head, "args": rest}, indent=2).replace("\n", "\n    "),
        "{toml}": f"command = {json.dumps(head)}\nargs = {json.dumps(rest)}",
    }
    for name, text in parts.items():
        page = page.replace(name, text)
    return page
