"""The command line: argv to settings, and to the front end that was asked for.

Imports at the top are cheap; each command imports its own world inside, because the screen must neither wait
for the engine's libraries nor load them.
"""

import asyncio
import functools
import gc
import io
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from oi_tui.app.asker import TerminalAsker
from oi_tui.app.engine.errors import OiTuiError, SettingsError
from oi_tui.app.engine.paths import config_dir, data_dir, log_dir, private_dir
from oi_tui.app.engine.protocol import Configure, encode
from oi_tui.app.engine.settings import Settings
from oi_tui.app.engine.settings_file import load_settings
from oi_tui.app.engine.text import safe_text

EXIT_CODES = """\
Exit codes: 0 done; 1 error; 2 wrong flag or settings; 3 the model failed; 4 the kernel failed; 5 the session could
not be read or written; 6 no embedded model; 7 refused or stopped; 8 step cap or repetition; 130 interrupted."""

TRUE = ("1", "true", "yes", "on")


def words(value: str) -> str:
    """Text of the command line. Bytes that are not UTF-8 can be sent to nobody; they become U+FFFD at once."""
    return value.encode(errors="surrogateescape").decode(errors="replace")


class Flags(NamedTuple):
    """The options that stand everywhere, as given."""

    model: str | None = None
    api_base: str | None = None
    api_key: str | None = None
    yes: bool = False
    approve: str | None = None
    max_steps: int | None = None
    cwd: Path | None = None
    profile: str | None = None

    def settings(self) -> Settings:
        """These flags over environment and files; SettingsError if something is wrong."""
        if self.yes and self.approve in ("ask", "never"):
            raise SettingsError(f"--yes and --approve {self.approve} contradict each other.")
        approve = "auto" if self.yes else self.approve
        model = {"name": self.model, "api_base": self.api_base}
        loop = {"approve": approve, "max_steps": self.max_steps}
        given = {"model": _given(model), "loop": _given(loop)}
        settings = load_settings(config_dir(), environ=os.environ, flags=given, profile=self.profile)
        if settings.model.api_base and not settings.model.name:
            raise SettingsError("--api-base needs a model.", hint="Name it with -m NAME.")
        return settings

    def configure(self, *, can_ask: bool = True) -> Configure:
        """What an engine needs to know."""
        cwd = (self.cwd or Path.cwd()).resolve()
        if not cwd.is_dir():
            raise SettingsError(f"--cwd: {cwd} is not a folder.")
        key = self.api_key or os.environ.get("OI_TUI_API_KEY") or None
        setup = Configure(settings=self.settings(), cwd=str(cwd), api_key=key, can_ask=can_ask)
        try:
            encode(setup)
        except UnicodeEncodeError as error:
            is_cwd = error.object == setup.cwd
            what = f"The name of the folder {cwd}" if is_cwd else "A setting or key in the environment"
            hint = "Give it another name, or work in another folder with --cwd DIR." if is_cwd else ""
            raise SettingsError(f"{what} is not UTF-8.", hint=hint) from None  # the key must not be in a traceback
        return setup


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class Program(click.Group):
    """A group whose default command is the app, and whose common options may stand before the command too."""

    default = "app"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring the name of the command to the front; without one it is the app with a prompt."""
        position = self._command_position(ctx, args)
        if position is not None:
            args = [args[position], *args[:position], *args[position + 1 :]]
        elif args[:1] not in (["--help"], ["--version"]):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _command_position(self, ctx: click.Context, args: list[str]) -> int | None:
        """Where the first word stands that is no option and no value of one, if it is a command."""
        app = self.commands[self.default]
        valued = {name for p in app.params if isinstance(p, click.Option) and not p.is_flag for name in p.opts}
        skip = False
        for index, word in enumerate(args):
            if skip:
                skip = False
            elif word == "--":
                return None
            elif word.startswith("-") and word != "-":
                skip = word in valued
            else:
                return index if word in self.commands else None
        return None


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that stand everywhere; the command gets them as `flags`."""

    @functools.wraps(command)
    def with_flags(**given: Any) -> Any:
        flags = Flags(**{name: given.pop(name) for name in Flags._fields})
        return command(flags=flags, **given)

    folder = click.Path(path_type=Path)
    for option in (
        click.option("--profile", type=words, metavar="NAME", help="Settings from profiles/NAME.toml."),
        click.option("--cwd", type=folder, metavar="DIR", help="Folder that code works in. Default: here."),
        click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Model answers in one turn."),
        click.option(
            "--approve",
            type=click.Choice(["ask", "auto", "never"]),
            help="ask before code runs (default), run all of it, or run none.",
        ),
        click.option("--yes", "-y", is_flag=True, help="Run all code without asking: --approve auto."),
        click.option("--api-key", type=words, metavar="KEY", help="Better: OI_TUI_API_KEY, which `ps` does not show."),
        click.option("--api-base", type=words, metavar="URL", help="An OpenAI-compatible server."),
        click.option("--model", "-m", type=words, metavar="NAME", help="LiteLLM's name of a model, or local/ID."),
    ):
        option(with_flags)
    return with_flags


@click.group(cls=Program, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="oi-tui", prog_name="oi-tui")
def program() -> None:
    """The terminal home of a code-running language model.

    \b
    oi-tui                    the full-screen app
    oi-tui "PROMPT"           the same, the prompt already sent
    oi-tui run "TASK"         one task without a screen

    Options of `oi-tui app` (see `oi-tui app --help`) work without naming it.
    """


@program.command()
@click.argument("prompt", nargs=-1, type=words)
@click.option("--continue", "-c", "go_on", is_flag=True, help="Go on with the session of this folder last used.")
@click.option(
    "--resume", type=words, metavar="ID", help="Go on with the session whose id begins so (see `oi-tui sessions`)."
)
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
@click.option("--theme", type=words, metavar="NAME", help="Colours.")
@common
def app(
    flags: Flags, prompt: tuple[str, ...], go_on: bool, resume: str | None, no_mouse: bool, theme: str | None
) -> None:
    """The full-screen app; with PROMPT, it is sent at once."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("The app needs a terminal.", hint='Without one: oi-tui run "TASK".')
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        raise SettingsError("This terminal cannot show the app (TERM=dumb).", hint='Use: oi-tui run "TASK".')
    # Textual paints at 60 frames a second, and a key waits for the next one while something streams in.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    gc.disable()  # nothing of what is imported now becomes garbage, and looking for it takes a fifth of the time
    # The app's world: Textual and the widgets, nothing of the engine's libraries.
    from oi_tui.app.client import EngineClient, ProcessClient
    from oi_tui.app.tui import OiTui

    gc.freeze()
    gc.enable()
    setup = flags.configure()
    screen = _screen(setup.settings, theme)
    session_id = _session_id(go_on, resume, setup.cwd)
    log = private_dir(log_dir()) / "engine.log"

    async def connect() -> EngineClient:
        from oi_tui.app.engine.sandbox.privacy import close_to_others

        close_to_others()  # code that runs without a sandbox could read our keys from our environment
        return await ProcessClient.start(setup, log=log)

    tui = OiTui(connect, screen, prompt=" ".join(prompt) or None, session_id=session_id)
    tui.run(mouse=setup.settings.screen.mouse and not no_mouse)
    transcript = tui.chat.bridge.transcript
    if transcript.blocks:
        click.echo(f"To go on with this session: oi-tui --resume {transcript.session_id}", err=True)
    sys.exit(tui.return_code or 0)


def _screen(settings: Settings, theme: str | None) -> Settings:
    if theme is None:
        return settings
    import msgspec

    return msgspec.structs.replace(settings, screen=msgspec.structs.replace(settings.screen, theme=theme))


def _session_id(go_on: bool, resume: str | None, cwd: str) -> str | None:
    """The session that the flags mean, None for a new one."""
    if not go_on and resume is None:
        return None
    from oi_tui.app.engine.store import Store

    store = Store(private_dir(data_dir()) / "sessions.db")
    try:
        if resume is not None:
            return store.find(resume)
        here = [record.id for record in store.sessions() if record.cwd == cwd and record.title]
        if not here:
            raise SettingsError(f"There is no session in {cwd} yet.", hint="`oi-tui sessions` lists all of them.")
        return here[0]
    finally:
        store.close()


@program.command()
@click.argument("task", nargs=-1, type=words)
@click.option("--json", "as_json", is_flag=True, help="Print LMC chunks, one JSON object a line.")
@click.option("--accept-download", is_flag=True, help="Download the embedded model if there is no other.")
@click.option("--resume", type=words, metavar="ID", help="Go on with a stored session.")
@common
def run(flags: Flags, task: tuple[str, ...], as_json: bool, accept_download: bool, resume: str | None) -> None:
    """Do TASK without a screen: the answer on stdout, what happens on stderr. Standard input is data."""
    # The engine's world, and nothing of the screen's.
    from oi_tui.app.build import local_client
    from oi_tui.app.headless import Headless

    text = " ".join(task)
    data = _piped()
    if not text and data is None:
        raise SettingsError("There is nothing to do.", hint='Say what: oi-tui run "TASK".')
    accept = accept_download or os.environ.get("OI_TUI_ACCEPT_DOWNLOAD", "").lower() in TRUE
    asker = _asker()
    setup = flags.configure(can_ask=asker is not None)
    session_id = _session_id(False, resume, setup.cwd)
    prompt = text if data is None else _with_data(text, data)

    async def whole() -> int:
        client = local_client(setup)
        front = Headless(client, out=sys.stdout, err=sys.stderr, asker=asker, as_json=as_json, accept_download=accept)
        try:
            return await front.run(prompt, session_id=session_id)
        finally:
            await client.close()
            if asker is not None:
                asker.close()

    sys.exit(asyncio.run(whole()))


def _piped() -> bytes | None:
    """What was piped or redirected into us, None if nothing was."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return None
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
        return None
    return sys.stdin.buffer.read() or None


def _with_data(task: str, data: bytes) -> str:
    """The task and where its data is: a private file, so that it may be of any size and kind."""
    import hashlib

    path = private_dir(data_dir() / "inputs") / f"{hashlib.sha256(data).hexdigest()[:16]}.txt"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    head = data[:600].decode(errors="replace")
    return f"{task}\n\nThe data ({len(data):,} bytes) is in the file {path}. It begins:\n{head}".strip()


def _asker() -> TerminalAsker | None:
    """Whoever sits at the controlling terminal, None if there is nobody."""
    try:
        return TerminalAsker()
    except OSError:
        return None


@program.command(hidden=True)
@click.option("--fd", type=int, required=True, help="Descriptor of a connected socket.")
def engine(fd: int) -> None:
    """Serve one front end (see app/engine/README.md)."""
    import logging
    import signal
    import socket

    from oi_tui.app.build import make_engine
    from oi_tui.app.engine.sandbox.privacy import close_to_others
    from oi_tui.app.engine.wire import serve

    close_to_others()  # code that runs without a sandbox could read our keys from our environment
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    async def whole() -> None:
        serving = asyncio.current_task()
        assert serving is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
        await serve(socket.socket(fileno=fd), make_engine)

    try:
        asyncio.run(whole())
    except asyncio.CancelledError:
        sys.exit(143)


@program.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON list of objects.")
def sessions(as_json: bool) -> None:
    """List past sessions, the newest first."""
    import msgspec

    from oi_tui.app.build import open_store

    store = open_store()
    try:
        records = store.sessions()
    finally:
        store.close()
    if as_json:
        print(json.dumps(msgspec.to_builtins(records)))  # ASCII: nothing that a terminal obeys
        return
    import datetime

    for record in records:
        when = datetime.datetime.fromtimestamp(record.active).astimezone().strftime("%Y-%m-%d %H:%M")
        click.echo(f"{record.id}  {when}  {safe_text(record.title) or '(empty)'}  · {safe_text(record.cwd)}")


@program.group()
def models() -> None:
    """The embedded models on this machine."""


@models.command("list")
def models_list() -> None:
    """What there is, what is here, how large."""
    from oi_tui.app.engine.local import choice, inventory
    from oi_tui.app.engine.local.catalogue import in_words
    from oi_tui.app.engine.local.service import is_available
    from oi_tui.app.engine.local.weights import Weights

    machine = choice.measure()
    for entry in inventory.entries(Weights(), machine):
        mark = "▸" if entry.recommended else " "
        size = in_words(entry.model.size)
        click.echo(f"{mark} {entry.model.id:22} {entry.state:10} {size:>8}  {entry.model.licence}")
    click.echo(inventory.why(machine, available=is_available()), err=True)


@models.command("fetch")
@click.argument("model_id", required=False, type=words)
def models_fetch(model_id: str | None) -> None:
    """Download a model (default: the one chosen for this machine)."""
    from oi_tui.app.engine.local import catalogue, choice
    from oi_tui.app.engine.local.fetch import fetch
    from oi_tui.app.engine.local.weights import Weights
    from oi_tui.app.engine.protocol import FetchProgressed

    best = choice.choose(choice.measure()).model
    model = catalogue.find(model_id) if model_id else best
    if model is None:
        raise SettingsError("No embedded model fits this machine.", hint="Name one: see `oi-tui models list`.")

    def progress(value: FetchProgressed) -> None:
        if sys.stderr.isatty():
            share = value.done_bytes / max(1, value.total_bytes)
            click.echo(f"\r\x1b[K{value.stage} {share:4.0%}", nl=False, err=True)

    path = asyncio.run(fetch(model, Weights(), progress=progress))
    click.echo(f"\n{model.title}: {path}", err=True)


@models.command("remove")
@click.argument("model_id", type=words)
def models_remove(model_id: str) -> None:
    """Delete a model's file (and what was downloaded of it)."""
    from oi_tui.app.engine.local import catalogue
    from oi_tui.app.engine.local.weights import Weights

    freed = Weights().remove(catalogue.find(model_id))
    click.echo(f"{catalogue.in_words(freed)} freed." if freed else f"{model_id} was not here.")


@models.command("add")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def models_add(path: Path) -> None:
    """Take a model file that you have; it must be one of the catalogue (by sha256)."""
    from oi_tui.app.engine.local.weights import Weights

    model = Weights().add(path)
    click.echo(f"{model.title} is ready: oi-tui -m {model.name}")


def main() -> NoReturn:
    """The command `oi-tui`: errors of ours are two lines on stderr and an exit code, never a stack trace."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr is: an answer must not fail at its last step
    try:
        sys.exit(program(prog_name="oi-tui", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OiTuiError as error:
        click.echo(f"✗ {safe_text(error.title)}", err=True)
        if error.hint:
            click.echo(f"  {safe_text(error.hint)}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)


if __name__ == "__main__":
    main()
