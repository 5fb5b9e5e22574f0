"""The command line: argv to settings and a front end.

Imports at the top are cheap; each command imports its own world inside, because the screen must not load the engine's
libraries or wait for them.
"""

import asyncio
import contextlib
import gc
import io
import os
import stat
import sys
from pathlib import Path
from typing import Literal, NoReturn

import click
import msgspec

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.files.paths import inputs_dir, private_dir
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import Flags, with_time_limit, words
from oi_tui.app.opening import open_app, tell_errors, tell_left_alive
from oi_tui.app.options import common
from oi_tui.app.subcommands import SUBCOMMANDS, subcommand
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.skeleton import SKELETON
from oi_tui.app.terminal.tty_prompt import TerminalAsker

EXIT_CODES_HELP = """\
Exit codes: 0 done; 1 error; 2 wrong flag or settings; 3 the model failed; 4 the kernel failed or there is no
sandbox; 5 the session could not be read or written; 6 no built-in model; 7 something was refused, or stopped; 8 step
cap, budget, repetition or time limit; 9 the answer does not fit the schema; 130 interrupted."""

LIVE = 50_000
"""New objects after which the collector looks for garbage: at its usual 700, it takes a tenth of a command's time."""

TRUE = ("1", "true", "yes", "on")

TAKE_A_PATH = ("replay", "trust")
"""Commands that take at most one path as their argument."""

SLIPS_OF_RUN = ("rnu", "nru", "rrun", "ruun", "runn")
"""No words with which a prompt could begin, unlike "runs", "ruin" or "urn"."""


class Program(click.Group):
    """A group whose default command is the app, and whose common options may also come before the command."""

    default = "app"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands of this module, and those that are imported on demand."""
        return sorted({*super().list_commands(ctx), *SUBCOMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None if there is none."""
        return super().get_command(ctx, cmd_name) or subcommand(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring the name of the command to the front; without one it is the app with a prompt."""
        position = self._command_position(ctx, args)
        if position is not None:
            args = [args[position], *args[:position], *args[position + 1 :]]
        elif args[:1] not in (["--help"], ["--version"]):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _command_position(self, ctx: click.Context, args: list[str]) -> int | None:
        """The index of the first word that is neither an option nor its value, if that word is a command."""
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
                names = self.list_commands(ctx)
                if word not in names:
                    self._reject_typo(ctx, word, args[index + 1 :])
                return index if word in names else None
        return None

    def _reject_typo(self, ctx: click.Context, word: str, others: list[str]) -> None:
        """A command with a slip in it is not sent to a model; a prompt of one such word goes behind `--`."""
        import difflib  # only for a word that is no command

        slip = word in SLIPS_OF_RUN
        for name in ["run"] if slip else difflib.get_close_matches(word, self.list_commands(ctx), n=1, cutoff=0.8):
            command = self.get_command(ctx, name)
            below = command.commands if isinstance(command, click.Group) else {}
            given = [other for other in others if not other.startswith("-")]
            path = name in TAKE_A_PATH and len(given) == 1 and os.path.exists(given[0])
            if slip or path or not others or others[0] in below:
                raise click.UsageError(
                    f"There is no command {word!r}. Did you mean {name}? To ask a model: oi-tui -- {word} …"
                )


@click.group(cls=Program, epilog=EXIT_CODES_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="oi-tui", prog_name="oi-tui")
def program() -> None:
    """A language model writes code, you approve it, a Jupyter kernel runs it.

    \b
    oi-tui                    the full-screen app
    oi-tui "PROMPT"           the same, with the prompt already sent
    oi-tui --linear           plain lines and a prompt, for screen readers
    oi-tui run "TASK"         one task without a screen
    oi-tui help [TOPIC]       the guide

    \b
    -m, --model NAME          choose a model
    -c, --continue            continue the last session of this folder
    --resume [ID]             continue any session; without ID, choose one from the list
    -y, --yes                 run code without asking, except destructive code
    oi-tui app --help         all options of the app
    """


@program.command()
@click.argument("prompt", nargs=-1, type=words)
@click.option("--continue", "-c", "go_on", is_flag=True, help="Continue the last session of this folder.")
@click.option(
    *("--resume", "resume"),
    type=words,
    is_flag=False,
    flag_value="",
    metavar="[ID|WORDS]",
    help="Continue the session with this id, or the only one with these words; alone, choose one from the list.",
)
@click.option(
    *("--if-open", "elsewhere"),
    type=click.Choice(["new", "fork", "look"]),
    help="If another oi-tui has that session open: begin a new one, fork it, or look at it read-only.",
)
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
@click.option("--theme", type=words, metavar="NAME", help="Theme; `oi-tui theme` lists them.")
@click.option("--linear", is_flag=True, help="Plain lines and a prompt, for screen readers and braille lines.")
@click.option("--transcript", is_flag=True, help="Print the transcript as plain text at the end.")
@common
def app(
    flags: Flags,
    prompt: tuple[str, ...],
    go_on: bool,
    resume: str | None,
    elsewhere: Literal["new", "fork", "look"] | None,
    no_mouse: bool,
    theme: str | None,
    linear: bool,
    transcript: bool,
) -> None:
    """The full-screen app; sends PROMPT at once."""
    open_app(
        flags,
        prompt=" ".join(prompt),
        go_on=go_on,
        resume=resume,
        elsewhere=elsewhere,
        mouse=not no_mouse,
        theme=theme,
        transcript=transcript,
        linear=linear,
    )


@program.command()
@click.argument("task", nargs=-1, type=words)
@click.option("--json", "as_json", is_flag=True, help="Print LMC chunks, one JSON object a line.")
@click.option("--schema", type=words, metavar="FILE|MODULE:NAME", help="Print only JSON that fits this JSON schema.")
@click.option("--tries", type=click.IntRange(0, 20), metavar="N", help="Ask again N times for such an answer.")
@click.option("--accept-download", is_flag=True, help="Download the built-in model if there is no other.")
@click.option("--resume", type=words, metavar="ID|WORDS", help="Continue a stored session.")
@click.option(
    *("--if-open", "elsewhere"),
    type=click.Choice(["new", "fork"]),
    help="If another oi-tui has that session open: begin a new one, or fork it.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Record everything, for `oi-tui replay FILE`.",
)
@common
def run(
    flags: Flags,
    task: tuple[str, ...],
    as_json: bool,
    schema: str | None,
    tries: int | None,
    accept_download: bool,
    resume: str | None,
    elsewhere: Literal["new", "fork"] | None,
    record: Path | None,
) -> None:
    """Do TASK without a screen: the answer goes to stdout, progress to stderr. Standard input is data."""
    # The engine's world, and nothing of the screen's.
    from oi_tui.app.build import local_client
    from oi_tui.app.commands.mentions import find_mentions
    from oi_tui.app.commands.own_commands import shell_prompt
    from oi_tui.app.engine.files.program_log import begin_logging, log_file
    from oi_tui.app.frontend.client import CLOSE_TIMEOUT
    from oi_tui.app.headless.json_answer import require_text, wanted_schema
    from oi_tui.app.headless.runner import Headless
    from oi_tui.app.privacy import protect_process
    from oi_tui.app.resuming import stored_session

    begin_logging(log_file(), verbose=flags.verbose)
    protect_process()  # the engine is in this process: code without a sandbox could read our keys from its environment
    text = " ".join(task)
    data = _read_piped()
    if not text and data is None:
        raise SettingsError("There is nothing to do.", hint='Give a task: oi-tui run "TASK".')
    accept = accept_download or os.environ.get("OI_TUI_ACCEPT_DOWNLOAD", "").lower() in TRUE
    asker = _asker()
    place = flags.workplace(can_ask=asker is not None)
    session_id = None if resume is None else stored_session(resume, elsewhere)
    for remark in place.remarks():
        echo(f"▪ {safe_text(remark)}", err=True)
    asked = shell_prompt(text, place.folder, place.trusted_commands)
    for name in find_mentions(asked.text, place.folder).missing:
        echo(f"▪ No such file: @{safe_text(name)}. The prompt is sent all the same.", err=True)
    wanted = None
    if schema is not None:
        require_text(as_json=as_json)
        wanted, remark = wanted_schema(schema, place.setup)
        if remark:
            echo(f"▪ {safe_text(remark)}", err=True)
    _require_sandbox(place.setup)
    limited = with_answer_tries(place.setup, tries)
    prompt, setup = (asked.text, limited) if data is None else _with_data(asked.text, data, limited)

    async def whole() -> None:
        client = local_client(setup, record)
        front = Headless(client, out=sys.stdout, err=sys.stderr, asker=asker, as_json=as_json, accept_download=accept)
        try:
            code = await front.run(
                prompt, files=asked.files, session_id=session_id, command=asked.command, schema=wanted
            )
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.close(), CLOSE_TIMEOUT)
            if asker is not None:
                asker.close()
        tell_left_alive(front.session_id)
        # Everything is saved. A tool call or a thread may still be running: nobody waits for it.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # nobody reads it any more
                stream.flush()
        os._exit(code)

    asyncio.run(whole())


def _read_piped() -> bytes | None:
    """Standard input if it is a pipe or a file, otherwise None."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return None
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
        return None
    return sys.stdin.buffer.read() or None


def with_answer_tries(setup: Configure, tries: int | None) -> Configure:
    """The same with a time limit of cells, and with so many further tries of an answer that fits a schema."""
    limited, replace = with_time_limit(setup), msgspec.structs.replace
    if tries is None:
        return limited
    return replace(limited, settings=replace(limited.settings, loop=replace(limited.settings.loop, answer_tries=tries)))


def _require_sandbox(setup: Configure) -> None:
    """KernelError if a sandbox is required and impossible: before a model is asked for code that cannot run."""
    sandbox = setup.settings.sandbox
    if sandbox.mode == "danger-full-access" or setup.settings.loop.approve == "never":
        return
    from oi_tui.app.engine.trust.folder_check import try_sandbox

    found = try_sandbox(Path(setup.cwd), sandbox, sandbox.mode)
    if not found.works:
        without = "To run code with your full permissions instead: --sandbox danger-full-access."
        fix = found.fix.replace("\n", ". ").replace(":. ", ": ")
        raise KernelError(found.why, hint=f"{fix}. {without}" if fix else without)
    for gap in found.gaps:
        echo(f"▪ The sandbox has a gap here: {gap}.", err=True)


def _with_data(task: str, data: bytes, setup: Configure) -> tuple[str, Configure]:
    """The task and where its data is: a private file, so that it may be of any size and kind; code may read it."""
    import hashlib

    import msgspec

    path = private_dir(inputs_dir()) / f"{hashlib.sha256(data).hexdigest()[:16]}.txt"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    head = data[:600].decode(errors="replace")
    sandbox = setup.settings.sandbox
    sandbox = msgspec.structs.replace(sandbox, readable=(*sandbox.readable, str(path)))
    settings = msgspec.structs.replace(setup.settings, sandbox=sandbox)
    said = f"{task}\n\nThe data ({len(data):,} bytes) is in the file {path}. It begins:\n{head}".strip()
    return said, msgspec.structs.replace(setup, settings=settings)


def _asker() -> TerminalAsker | None:
    """The person at the controlling terminal, None if there is none."""
    try:
        return TerminalAsker()
    except OSError:
        return None


@program.command(hidden=True)
@click.option("--fd", type=int, required=True, help="Descriptor of a connected socket.")
def engine(fd: int) -> None:
    """Serve one front end (see app/engine/README.md)."""
    from oi_tui.app.serving import serve_front_end

    serve_front_end(fd)


def main() -> NoReturn:
    """The command `oi-tui`: errors of ours are two lines on stderr and an exit code, never a stack trace."""
    gc.set_threshold(LIVE)
    with tell_errors():
        try:
            sys.exit(program(prog_name="oi-tui", standalone_mode=False))
        except click.ClickException as error:
            SKELETON.clear()
            said = io.StringIO()
            error.show(said)
            echo(said.getvalue(), err=True, nl=False)  # it may quote a file's name
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(130)


if __name__ == "__main__":
    main()
