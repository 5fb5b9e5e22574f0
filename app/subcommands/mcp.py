"""`oi-tui mcp`: servers of tools, listed, added, tried and agreed to."""

import asyncio
import importlib.util
import os
import shutil
import sys
import webbrowser
from pathlib import Path
from typing import Any

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.credentials import credential_store
from oi_tui.app.engine.mcp.agreements import known_agreements
from oi_tui.app.engine.mcp.client_configs import FORMS, PLACES, ConfigForm, client_config
from oi_tui.app.engine.mcp.downloads import delete_download
from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry, check_entry, check_name, write_entry
from oi_tui.app.engine.mcp.offers import safe_line
from oi_tui.app.engine.mcp.server import McpServer
from oi_tui.app.engine.mcp.servers import MISSING, MISSING_HINT, McpServers, Member, find_login
from oi_tui.app.engine.mcp.sources import named_servers, own_servers_file
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.tools.toolbox import Toolbox
from oi_tui.app.engine.trust.folder_decisions import trusts_folder
from oi_tui.app.flags import Flags, with_time_limit
from oi_tui.app.options import common
from oi_tui.app.terminal.echo import echo

PATIENCE = 300.0
"""Seconds that a person has to log in, and that a server has to start, which may be downloaded first."""


@click.group(invoke_without_command=True)
@click.pass_context
def mcp(context: click.Context) -> None:
    """List MCP servers, add and remove them, try them, agree to what they offer."""
    if context.invoked_subcommand is None:
        context.invoke(print_servers)


@mcp.command("list")
def print_servers() -> None:
    """List all servers that you and, where it is trusted, this folder name. None of them is started."""
    found, agreements = _all(), known_agreements()
    for one in found:
        whose = "folder" if one.folder else "own"
        state = "disabled" if one.entry.disabled else "enabled" if agreements.may_start(one) else "not agreed"
        asks = f"  [{'; '.join(one.entry.wishes)}]" if one.entry.wishes else ""
        echo(safe_text(f"{one.name:<16} {state:<11} {whose:<7} {safe_line(one.entry.describe(), 200)}{asks}"))
    if not found:
        echo(
            f"There is none. They are named in {safe_text(str(own_servers_file()))}: oi-tui mcp add NAME -- COMMAND ..."
        )


@mcp.command("add")
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", default="", help="Address of a server that speaks streamable HTTP, instead of a command.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable of the program; ${NAME} is one of yours.")
@click.option("--header", multiple=True, metavar="NAME=VALUE", help="Sent with each request to the address.")
@click.option("--cwd", default="", help="The folder that it works in; else that of the session.")
@click.option("--network", multiple=True, metavar="HOST", help="A host that the program may reach; `full` for all.")
@click.option("--write", is_flag=True, help="Let the program change files in its folder.")
@click.option("--no-sandbox", is_flag=True, help="Run it with your full permissions.")
@click.option("--believe-hints", is_flag=True, help="Believe what it says of its tools: that they only read.")
@click.option("--sampling", is_flag=True, help="Let it ask the model, at your expense.")
@click.option("--timeout", type=float, default=60.0, help="Seconds of a call.")
@click.option("--yes", is_flag=True, help="Do not ask about what it may do.")
def add_server(
    name: str,
    command: tuple[str, ...],
    url: str,
    env: tuple[str, ...],
    header: tuple[str, ...],
    network: tuple[str, ...],
    yes: bool,
    **more: Any,
) -> None:
    """Add the server NAME: a program, behind `--`, or an address. It starts with the next session.

    \b
    oi-tui mcp add time -- mcp-server-time --local-timezone Europe/Rome
    oi-tui mcp add issues --url https://mcp.example.org/mcp --header 'Authorization=Bearer ${ISSUES_TOKEN}'
    """
    check_name(name)
    entry = ServerEntry(
        command=command[0] if command else "",
        args=command[1:],
        env=dict(map(_pair, env)),
        url=url,
        headers=dict(map(_pair, header)),
        network="full" if "full" in network else network or "none",
        sandbox=not more.pop("no_sandbox"),
        **more,
    )
    check_entry(entry, name)
    if any(one.name == name and not one.folder for one in _all()):
        raise SettingsError(f"There is a server {name}.", hint=f"oi-tui mcp remove {name} removes it.")
    if entry.wishes:
        _agree(f"{name} asks for: {'; '.join(entry.wishes)}. Add it?", yes=yes)
    write_entry(own_servers_file(), name, entry)
    known_agreements().agree_to_start(NamedServer(name=name, entry=entry))
    echo(safe_text(f"{name} is added to {own_servers_file()}. To try it: oi-tui mcp test {name}"))


@mcp.command("remove")
@click.argument("name")
def remove_server(name: str) -> None:
    """Remove the server NAME from your own file, with your agreement, its login and its download for it."""
    mine = next((one.entry for one in _all() if one.name == name and not one.folder), None)
    if not write_entry(own_servers_file(), name, None):
        raise SettingsError(f"{safe_text(str(own_servers_file()))} names no server {safe_text(name)}.")
    known_agreements().forget(NamedServer(name=name, entry=ServerEntry()))
    left = [one.entry for one in _all()]
    if mine is not None and mine.url and not any(one.url == mine.url for one in left):
        store, kept = credential_store(), f"mcp:{mine.url}"
        if kept in store.places() and (why := asyncio.run(store.forget(kept))):
            echo(safe_text(why), err=True)
    download = mine.download if mine is not None else None
    needed = {one.download.folder for one in left if one.download is not None}
    if download is not None and download.folder not in needed:
        delete_download(download)
    echo(safe_text(f"{name} is removed."))


@mcp.command("test")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Start it without asking, also where it asks for more than others.")
@click.pass_context
def try_server(context: click.Context, name: str, yes: bool) -> None:
    """Start the server NAME, and say what it offers, or why it does not."""
    if not asyncio.run(_try(_find(name), yes=yes, agree=False, tools=False)):
        context.exit(1)


@mcp.command("tools")
@click.argument("name")
@click.option("--agree", is_flag=True, help="Agree to the tools as they are now, once they have been printed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def print_tools(context: click.Context, name: str, agree: bool, yes: bool) -> None:
    """Start the server NAME and print its tools, with changes since you agreed to them."""
    if not asyncio.run(_try(_find(name), yes=yes, agree=agree, tools=True)):
        context.exit(1)


@mcp.command("login")
@click.argument("name")
@click.option("--keep-in-file", is_flag=True, help="Where there is no keyring, keep it in a file only you can read.")
@click.pass_context
def log_in(context: click.Context, name: str, keep_in_file: bool) -> None:
    """Log in at the server NAME, in a browser; the login is kept in the keyring and used from then on."""
    named = _find(name)
    if not named.entry.url:
        raise SettingsError(f"{safe_text(name)} is a program of this machine, which wants no login.")
    if not asyncio.run(_log_in(named, in_file=keep_in_file)):
        context.exit(1)


@mcp.command("logout")
@click.argument("name")
def log_out(name: str) -> None:
    """Forget the login at the server NAME."""
    if why := asyncio.run(credential_store().forget(f"mcp:{_find(name).entry.url}")):
        raise SettingsError(why)
    echo(safe_text(f"The login at {name} is forgotten here; the server may know it still."))


@mcp.command("serve")
@click.option(
    "--wait",
    type=click.FloatRange(min=1, max=3600),
    metavar="SECONDS",
    help="How long a call waits for you to attach where it needs approval. Default: 40.",
)
@click.option(
    "--print-config",
    type=click.Choice(FORMS),
    is_flag=False,
    flag_value="claude",
    help="Print what the other assistant's settings need, and end: claude (also most others), codex, vscode or zed.",
)
@common
def serve(flags: Flags, wait: float | None, print_config: ConfigForm | None) -> None:
    """Offer a session's kernels and file tools to another assistant, which starts this and speaks MCP with it.

    What it runs is decided about by your rules and the approval mode, in the sandbox, on record. Where it needs
    approval, `oi-tui attach` shows the question in another terminal; without an answer nothing runs.
    """
    if print_config is not None:
        echo(client_config(print_config, shutil.which("oi-tui") or "oi-tui"))
        echo(f"This goes into {PLACES[print_config]}.", err=True)
        return
    if sys.stdin.isatty():
        hint = "oi-tui mcp serve --print-config prints what its settings need."
        raise SettingsError("Another assistant starts this command, and speaks MCP with it.", hint=hint)
    if importlib.util.find_spec("mcp") is None:
        raise SettingsError(MISSING, hint=MISSING_HINT)
    from oi_tui.app.engine.files.program_log import begin_logging, log_file
    from oi_tui.app.mcp_service import serve_assistant, take_wire

    wire = take_wire()
    begin_logging(log_file(), verbose=flags.verbose)
    place = flags.workplace()
    for remark in place.remarks():
        echo(f"▪ {safe_text(remark)}", err=True)
    serve_assistant(wire, with_time_limit(place.setup), wait)


async def _log_in(named: NamedServer, *, in_file: bool) -> bool:
    from oi_tui.app.engine.mcp.logins import KeptTokens, Login

    def show(address: str) -> None:
        echo(safe_text(f"Log in here, in a browser of this machine:\n{address}"))
        if sys.stdout.isatty():
            webbrowser.open(address)

    agreements, store = known_agreements(), credential_store()
    if not agreements.may_start(named):
        raise SettingsError(f"You have not agreed to {named.name}.", hint=f"oi-tui mcp test {named.name} asks.")
    echo(safe_text(f"Asking {named.entry.url} how to log in ..."), err=True)
    tokens = KeptTokens(store, named.entry.url, lambda name, value: None, anew=True)
    async with Login(named.entry.url, tokens, show) as auth:
        servers = McpServers(
            lambda: (named,),
            agreements,
            folder=Path.cwd(),
            environ=os.environ,
            pauses=(),
            find_auth=lambda server: auth,
            greeting=PATIENCE,
        )
        servers.join(Member(Toolbox(), _print_notice))
        try:
            await servers.settle(PATIENCE)
            ready = named.name in servers.all and servers.all[named.name].state in ("ready", "changed")
        finally:
            await servers.close()
    if ready and tokens.unkept:
        if not in_file:
            raise SettingsError(tokens.unkept, hint="--keep-in-file keeps it in a file that only you can read.")
        store.keep_in_file(tokens.name, tokens.secret)
    echo("Logged in." if ready else "Not logged in.")
    return ready


async def _try(named: NamedServer, *, yes: bool, agree: bool, tools: bool) -> bool:
    """Whether it is ready."""
    agreements = known_agreements()
    if not agreements.may_start(named):
        echo(safe_text(f"{named.name} starts: {safe_line(named.entry.describe(), 500)}"))
        for wish in named.entry.wishes:
            echo(safe_text(f"  {wish}"))
        if named.entry.variables:
            echo(safe_text(f"  is given: {', '.join(named.entry.variables)}"))
        _agree("Start it, and from now on in each session?", yes=yes)
        agreements.agree_to_start(named)
    servers = McpServers(
        lambda: (named,), agreements, folder=Path.cwd(), environ=os.environ, pauses=(), find_auth=_login_of
    )
    notices: list[tuple[str, str, str, str]] = []
    servers.join(Member(Toolbox(), lambda *notice: notices.append(notice)))
    if (download := named.entry.download) is not None and not download.is_here:
        echo(f"Downloading {', '.join(download.packages)} from {download.source} ...", err=True)
    try:
        await servers.settle(PATIENCE)
        server = servers.all.get(named.name)
        for level, title, hint, details in notices:
            if server is None or server.state == "ready":  # otherwise it is printed below
                _print_notice(level, title, hint, details)
        if server is None:
            return False
        _print_server(server, tools=tools)
        if agree and server.state == "changed":
            _agree("Agree to its tools as they are now?", yes=yes)
            server.agree(server.digest)
            echo("Agreed.")
        return server.state == "ready"
    finally:
        await servers.close()


def _login_of(named: NamedServer) -> Any:
    return find_login(credential_store(), named, lambda name, value: None)


def _print_notice(level: str, title: str, hint: str, details: str) -> None:
    if level != "info":
        echo(safe_text("\n".join(filter(None, (title, hint.replace("/mcp shows it.", ""), details)))), err=True)


def _print_server(server: McpServer, *, tools: bool) -> None:
    echo(safe_text(f"{server.name}: {server.state}. {server.trouble}".strip()))
    counts = (
        (len(server.offers), "tool"),
        (len(server.texts.resources), "resource"),
        (len(server.texts.prompts), "prompt"),
    )
    if server.state in ("ready", "changed"):
        echo(", ".join(quantity(count, what) for count, what in counts))
    for offer in server.offers.values():
        echo(safe_text(f"  {offer.name}" + (f": {offer.description}" if tools else "")))
    if server.changes:
        echo(safe_text(server.changes))
        echo(f"None of them is offered to a model before you agree: oi-tui mcp tools {server.name} --agree")
    if server.state == "failed" and server.log:
        echo(safe_text(server.log))


def _agree(question: str, *, yes: bool) -> None:
    """SettingsError without a yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError(safe_text(question), hint="This is no terminal to answer at: give --yes to agree.")
    if not click.confirm(safe_text(question), default=False, err=True):
        raise SettingsError("Nothing has changed.")


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise SettingsError(f"{safe_text(text)} is no NAME=VALUE.")
    return name, value


def _all() -> tuple[NamedServer, ...]:
    return named_servers(Path.cwd(), trusted=trusts_folder(Path.cwd()))


def _find(name: str) -> NamedServer:
    found = next((one for one in _all() if one.name == name), None)
    if found is None:
        raise SettingsError(f"There is no MCP server {safe_text(name)}.", hint="oi-tui mcp list shows those there are.")
    return found
