"""`oi-tui kernels`: where Python code can run, here and on Jupyter servers."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import words
from oi_tui.app.subcommands.offline_option import offline_option, respect_offline
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.tty_prompt import confirm

if TYPE_CHECKING:
    from oi_tui.app.engine.kernels.launch import Launch

TRIAL = "print(6 * 7)"


@click.group()
@offline_option
def kernels(offline: bool) -> None:
    """Kernels: Python environments here, Jupyter servers and gateways."""
    respect_offline(offline)


@kernels.command("list")
@click.argument("server", default="", type=words)
def kernels_list(server: str) -> None:
    """List environments of this machine and added servers; or the kernels of one server."""
    from oi_tui.app.engine.core.kernel_choice import tell_choices
    from oi_tui.app.engine.kernels.pool import Kernels

    tell_moved()
    choices = asyncio.run(Kernels(launch_here()).choices(server))
    echo(safe_text(tell_choices([replace(choice, in_use=False) for choice in choices])))


def launch_here() -> "Launch":
    """How a session in this folder would start kernels."""
    from oi_tui.app.engine.files.paths import config_dir
    from oi_tui.app.engine.files.settings_file import load_layers
    from oi_tui.app.engine.kernels.launch import Launch

    settings = load_layers(config_dir(), environ=os.environ).settings
    return Launch(cwd=Path.cwd(), settings=settings.kernel, trusted=True)


@kernels.command("add")
@click.argument("name", type=words)
@click.argument("url", type=words)
@click.option("--kernelspec", default="python3", type=words, metavar="NAME", help="Kernelspec. Default: python3.")
@click.option("--python", default="", type=words, metavar="PATH", help="For ssh://: a Python or environment there.")
@click.option("--token-variable", default="", type=words, metavar="VAR", help="Variable that holds the token.")
@click.option("--token-stdin", is_flag=True, help="Read the token from stdin.")
@click.option("--keep-in-file", is_flag=True, help="Without a keyring, keep the token in a file only you can read.")
@click.option("--replace", "replaces", is_flag=True, help="Replace an existing server or token without asking.")
def kernels_add(
    name: str,
    url: str,
    kernelspec: str,
    python: str,
    token_variable: str,
    token_stdin: bool,
    keep_in_file: bool,
    replaces: bool,
) -> None:
    """Add a Jupyter server, gateway or hub: its address before /lab or /api. Asks for its token, which is kept in your
    keyring; where there is none, in a file after a yes. An address has one token, whatever names it was added as.

    ssh://[USER@]HOST[:PORT] is a machine on which a server is started by way of your own ssh, without a token.
    """
    from oi_tui.app.engine.files.credentials import credential_store
    from oi_tui.app.engine.kernels.remote.address import SSH, parse_address
    from oi_tui.app.engine.kernels.remote.server import JupyterServer
    from oi_tui.app.engine.kernels.remote.servers import KnownServer, known_servers
    from oi_tui.app.subcommands.secret_prompt import ask_secret, keep_secret

    if not name.replace("-", "").replace("_", "").isalnum() or name == "jupyter":
        raise SettingsError("A name has letters, digits, - and _ only, and is not “jupyter”.")
    over_ssh = url.startswith(SSH)
    if not over_ssh:
        JupyterServer(url)  # is it an address at all?
    elif parse_address(url) and (token_variable or token_stdin):
        raise SettingsError("ssh:// takes no token: your own ssh logs in.")
    if python and not over_ssh:
        raise SettingsError("--python is for ssh:// only: a running server has its own Python.")
    address, _, query = url.partition("?")
    given = dict(pair.partition("=")[::2] for pair in query.split("&"))
    server = KnownServer(url=address, kernel=kernelspec, python=python, token_variable=token_variable)
    tell_moved()
    before = known_servers().all()
    if name in before and not replaces:
        _ask_to_replace(f"{name} exists already: {before[name].place}.")
    token = given.get("token", "")
    if token_stdin or not (token or token_variable or over_ssh):
        token = ask_secret("token", from_stdin=token_stdin)
    sharing = [other for other, one in before.items() if other != name and one.credential == server.credential]
    if token and sharing and not replaces:
        _ask_to_replace(f"{', '.join(sharing)} share this address, and an address has one token.")
    if token:
        place = keep_secret(credential_store(), server.credential, token, "token", in_file=keep_in_file)
        echo(f"The token is {place}.")
    elif not token_variable and not over_ssh:
        echo("No token was given. --token-stdin reads one, --token-variable names where it is.", err=True)
    known_servers().put(name, server)
    if name in before and before[name].credential != server.credential:
        _forget_token(before[name].credential)
    echo(f"Added. Test it: oi-tui kernels test {name}. Use it: oi-tui --kernel {name}")


def _ask_to_replace(what: str) -> None:
    """SettingsError unless the person says yes at a terminal."""
    if not sys.stdin.isatty():
        raise SettingsError(safe_text(what), hint="--replace replaces it.")
    if not confirm(f"{what} Replace it?", err=True):
        raise SettingsError("Nothing was changed.")


def _forget_token(credential: str) -> None:
    """Forget a token that no server is left for."""
    from oi_tui.app.engine.files.credentials import credential_store
    from oi_tui.app.engine.kernels.remote.servers import known_servers

    if all(other.credential != credential for other in known_servers().all().values()):
        remark = asyncio.run(credential_store().forget(credential))
        echo(remark or "The token for that address is forgotten.", err=True)


def tell_moved() -> None:
    """Take over what an earlier version kept otherwise, and say so."""
    from oi_tui.app.engine.files.credentials import credential_store
    from oi_tui.app.engine.kernels.remote.servers import known_servers

    if moved := known_servers().move_tokens(credential_store()):
        echo(moved, err=True)


@kernels.command("remove")
@click.argument("name", type=words)
def kernels_remove(name: str) -> None:
    """Forget a server and its token."""
    from oi_tui.app.engine.kernels.remote.servers import known_servers

    tell_moved()
    servers = known_servers()
    credential = servers.find(name).credential
    servers.put(name, None)
    _forget_token(credential)
    echo(f"{name} is forgotten.")


@kernels.command("stop")
@click.argument("kernel", type=words, metavar="SERVER@ID")
@click.option("--yes", is_flag=True, help="End it even if somebody else started it or it is in use.")
def kernels_stop(kernel: str, yes: bool) -> None:
    """End a kernel on a server; its variables are lost. Asks unless oi-tui left it there."""
    asyncio.run(_stop(kernel, yes))


async def _stop(name: str, yes: bool) -> None:
    from oi_tui.app.engine.kernels.remote.address import parse_address
    from oi_tui.app.engine.kernels.remote.living import living_kernels
    from oi_tui.app.engine.kernels.remote.servers import known_servers
    from oi_tui.app.engine.kernels.remote.site import open_site

    address = parse_address(name)
    if not address.kernel_id:
        raise SettingsError("Name the kernel: SERVER@ID.", hint="`oi-tui kernels list SERVER` shows what runs there.")
    server = known_servers().find(address.name)
    async with open_site(server, launch_here(), starts=False) as site:
        found = await site.find_running(address.kernel_id)
        ours = living_kernels().find(server.credential, found.kernel_id)
        free = ours is not None and not ours.foreign and not found.connections
        if not (free or yes):
            whose = "is in use" if ours is not None and not ours.foreign else "was started by somebody else"
            who = f"{name} {whose} ({found.connections} connections)."
            question = safe_text(f"{who} Its variables will be lost. End it?")
            if not sys.stdin.isatty():
                raise SettingsError(question, hint="--yes ends it.")
            if not confirm(question, err=True):
                return
        await site.remove(found.kernel_id)
    if ours is not None:
        living_kernels().forget(ours)
    echo(f"{safe_text(name)} is ended.")


@kernels.command("test")
@click.argument("name", type=words)
def kernels_test(name: str) -> None:
    """Test a server: list its kernelspecs, start a kernel, run one line, end it."""
    tell_moved()
    asyncio.run(_try(name))


async def _try(name: str) -> None:
    from oi_tui.app.engine.core.events import AnyEvent, OutputAdded
    from oi_tui.app.engine.core.outputs import StreamOutput
    from oi_tui.app.engine.kernels.remote.kernel import remote_kernel
    from oi_tui.app.engine.kernels.remote.servers import known_servers
    from oi_tui.app.engine.kernels.remote.site import open_site

    server, launch = known_servers().find(name), launch_here()
    async with open_site(server, launch, lambda step: echo(safe_text(step))) as site:
        specs = await site.kernelspecs()
    echo(f"{server.host} can start: {safe_text(', '.join(sorted(specs)) or 'nothing')}")
    if server.kernel not in specs:
        raise SettingsError(
            f"{server.host} has no kernelspec “{server.kernel}”.", hint="Add it again with --kernelspec."
        )
    said: list[str] = []

    def note(event: AnyEvent) -> None:
        match event:
            case OutputAdded(output=StreamOutput(text=text)):
                said.append(text)

    kernel = remote_kernel(launch, server)
    try:
        result = await kernel.run(TRIAL, "", note)
    finally:
        await kernel.close()
    echo(f"{kernel.place}: {result.status}, {TRIAL} said {safe_text(''.join(said)).strip()}")
