"""mcp: the memory as tools of an agent; its tokens; and how a client is told of it."""

from __future__ import annotations

import re
import signal
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace

from refold import settings, times
from refold.cli import arguments
from refold.cli.command import FORMAT_VERSION, Command, opened
from refold.cli.envelope import Finding, Outcome, say
from refold.cli.serve import interrupt
from refold.cli.visible import plural, table, visible
from refold.errors import Usage
from refold.given import check_said
from refold.mcp import agents
from refold.settings import Principal

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _address(text: str) -> tuple[str, int]:
    """Read `PORT` or `HOST:PORT`."""
    found = re.fullmatch(r"(?:(?P<host>[^:\s]+|\[[0-9a-fA-F:]+\]):)?(?P<port>[0-9]{1,5})", text)
    if not found or int(found["port"]) > 65535:
        raise ArgumentTypeError("expected PORT or HOST:PORT")
    return (found["host"] or "127.0.0.1").strip("[]"), int(found["port"])


def _configure(command: ArgumentParser) -> None:
    command.add_argument("--user", metavar="NAME", help="only this user's memory, whatever the agent asks for")
    command.add_argument(
        "--http", type=_address, metavar="[HOST:]PORT", help="serve over HTTP, for whoever shows a token; port 0 is any free one"
    )


def _run(given: Namespace) -> Outcome:
    from refold.mcp import server

    if given.http is None:
        who = _narrowed(given.principal, given.user)
        given.principal = None
        with opened(given) as memory:
            server.over_streams(memory.seen_by(who))
        return Outcome(said=True)
    if given.principal or given.user:
        raise Usage("over HTTP each request is as the principal of its token: neither --as nor --user is for here", hint="refold help mcp")
    with opened(given) as memory, server.bound(*given.http) as listening:
        server.require()
        say("mcp", _ready(server.address(listening), given.http[0], len(memory.tokens())), given.format)
        signal.signal(signal.SIGTERM, interrupt)
        server.over_http(memory, listening)
    return Outcome(said=True)


def _narrowed(name: str | None, user: str | None) -> Principal:
    """Return as whom an agent asks over standard streams: as a principal of the settings, within one user's memory, or both."""
    if name is None and user is None:
        raise Usage("whose memory the agent may see is not said: --user NAME, or --as NAME", hint="refold help mcp")
    who = settings.load().principal(name) if name else Principal("user", frozenset())
    check_said({"user": user})
    if user is None:
        return who
    if who.users is not None and user not in who.users:
        raise Usage("this principal may not see that user's memory", hint="refold help principals")
    return replace(who, users=(user,))


def _ready(url: str, host: str, count: int) -> Outcome:
    lines = [f"tools      {url}", f"tokens     {count}", "", "Ctrl-C stops it."]
    findings = []
    if host not in LOOPBACK:
        plain = "anybody on the way can read what is asked and answered, and the tokens: put a proxy with TLS before it"
        findings.append(Finding("RF-MCP-001", "warning", plain, remediation="refold help mcp"))
    if not count:
        none = "there is no token yet, so that every request is refused"
        findings.append(Finding("RF-MCP-002", "warning", none, remediation="refold mcp token NAME --for PRINCIPAL"))
    return Outcome({"url": url, "tokens": count}, lines, findings, format_version=FORMAT_VERSION)


def _configure_token(command: ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="what the token is called here: lower case letters, digits and -")
    command.add_argument("--for", dest="bearer", required=True, metavar="PRINCIPAL", help="as whom its bearer asks")


def _token(given: Namespace) -> Outcome:
    with opened(given) as memory:
        token = memory.token_add(given.name, principal=given.bearer)
    lines = [token, "", "It is shown this once, and kept nowhere. Hand it on by a way that only its bearer can read."]
    return Outcome({"name": given.name, "principal": given.bearer, "token": token}, lines, format_version=FORMAT_VERSION)


def _tokens(given: Namespace) -> Outcome:
    with opened(given) as memory:
        found = memory.tokens()
    rows = [(token.name, token.principal, times.short(token.made_at)) for token in found]
    data = [{"name": token.name, "principal": token.principal, "made_at": times.iso(token.made_at)} for token in found]
    lines = [*table(rows), *([""] if rows else []), plural(len(found), "token")]
    return Outcome({"tokens": data}, lines, format_version=FORMAT_VERSION)


def _configure_revoke(command: ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="the token; `refold mcp tokens` lists them")


def _revoke(given: Namespace) -> Outcome:
    with opened(given) as memory:
        memory.token_revoke(given.name)
    return Outcome({"name": given.name}, ["revoked: from the next request on it opens nothing"], format_version=FORMAT_VERSION)


def _configure_config(command: ArgumentParser) -> None:
    clients = arguments.one_of(*agents.CLIENTS)
    command.add_argument("client", type=clients, metavar="CLIENT", help=f"one of {', '.join(agents.CLIENTS)}")
    command.add_argument("--user", metavar="NAME", help="only this user's memory")


def _config(given: Namespace) -> Outcome:
    who = given.principal
    given.principal = None
    _narrowed(who, given.user)
    with opened(given) as memory:
        made = agents.registration(given.client, memory.places, principal=who, user=given.user)
    data = {"client": made.client, "command": list(made.command), "page": made.page}
    return Outcome(data, [visible(line) for line in _steps(made.page).split("\n")], format_version=FORMAT_VERSION)


def _steps(page: str) -> str:
    """Return of a client's page what has to be done; not how the page is printed, and no example, which speaks of no store."""
    told = page.partition("\n## Register\n")[2].partition("\n## Try it\n")[0]
    return told.strip("\n")


RUNS = {
    "mcp": Command(_configure, _run),
    "mcp token": Command(_configure_token, _token),
    "mcp tokens": Command(lambda _: None, _tokens),
    "mcp revoke": Command(_configure_revoke, _revoke),
    "mcp config": Command(_configure_config, _config),
}
