"""The options that stand everywhere on the command line, and what they come to."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.protocol import Configure
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_file import LoadedSettings, load_layers
from oi_tui.app.engine.trust.folder_decisions import known_folders
from oi_tui.app.frontend.workplace import Workplace


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
    sandbox: str | None = None
    max_steps: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    time_limit: float | None = None
    complete: bool | None = None
    allow_destructive: bool | None = None
    cwd: Path | None = None
    profile: str | None = None
    python: str | None = None
    kernel: str | None = None
    attach: bool | None = None
    keep_kernel: bool | None = None

    def settings(self) -> LoadedSettings:
        """These flags over environment and files; SettingsError if something is wrong."""
        if self.yes and self.approve in ("ask", "never"):
            raise SettingsError(f"--yes and --approve {self.approve} contradict each other.")
        approve = "auto" if self.yes else self.approve
        model = {"name": self.model, "api_base": self.api_base}
        loop = {
            "approve": approve,
            "max_steps": self.max_steps,
            "max_cost": self.max_cost,
            "max_tokens": self.max_tokens,
            "time_limit": self.time_limit,
            "complete": self.complete or None,
        }
        kernel = {
            "python": self.python,
            "server": self.kernel,
            "attach": self.attach or None,
            "keep": self.keep_kernel or None,
        }
        given = {
            "model": _without_none(model),
            "loop": _without_none(loop),
            "sandbox": _without_none({"mode": self.sandbox}),
            "kernel": _without_none(kernel),
            "policy": _without_none({"allow_destructive": self.allow_destructive or None}),
        }
        loaded = load_layers(config_dir(), environ=os.environ, flags=given, profile=self.profile)
        if loaded.settings.model.api_base and not loaded.settings.model.name:
            raise SettingsError("--api-base needs a model.", hint="Name it with -m NAME.")
        return loaded

    def workplace(self, *, can_ask: bool = True) -> Workplace:
        """The folder, and what an engine there needs to know."""
        cwd = (self.cwd or Path.cwd()).resolve()
        if not cwd.is_dir():
            raise SettingsError(f"--cwd: {cwd} is not a folder.")
        key = self.api_key or os.environ.get("OI_TUI_API_KEY") or None
        settings, said = self.settings()
        setup = Configure(settings=settings, cwd=str(cwd), api_key=key, can_ask=can_ask)
        try:
            msgspec.json.encode(setup)
        except UnicodeEncodeError as error:
            is_cwd = error.object == setup.cwd
            what = f"The name of the folder {cwd}" if is_cwd else "A setting or key in the environment"
            hint = "Give it another name, or work in another folder with --cwd DIR." if is_cwd else ""
            raise SettingsError(f"{what} is not UTF-8.", hint=hint) from None  # the key must not be in a traceback
        return Workplace(setup, said=said, folders=known_folders())


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


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
        click.option("--keep-kernel", is_flag=True, help="Leave kernels on servers alive at the end, for --resume."),
        click.option("--attach", is_flag=True, help="Use the kernel of --kernel NAME@ID though another started it."),
        click.option("--kernel", type=words, metavar="NAME", help="Jupyter server that Python code runs on."),
        click.option("--python", type=words, metavar="PATH|ENV", help="Environment that Python code runs in."),
        click.option("--complete", is_flag=True, help="Insist until the model says that it is done, or cannot be."),
        click.option("--time-limit", type=click.FloatRange(min=0), metavar="SECONDS", help="Of one run of code."),
        click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="Tokens of one session."),
        click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="US dollars of one session."),
        click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Model answers in one turn."),
        click.option(
            "--approve",
            type=click.Choice(["ask", "auto", "never"]),
            help="ask before code runs (default), run all that destroys nothing, or run none.",
        ),
        click.option(
            "--sandbox",
            type=click.Choice(["read-only", "workspace-write", "danger-full-access"]),
            help="What code can change: nothing, the folder (default), or all that you can.",
        ),
        click.option(
            *("--allow-destructive", "allow_destructive"),
            is_flag=True,
            help="With --yes: deletes, forced pushes, dropped tables and the like run unasked too.",
        ),
        click.option(
            *("--yes", "-y"), is_flag=True, help="Run code without asking, but what destroys: --approve auto."
        ),
        click.option("--api-key", type=words, metavar="KEY", help="Better: OI_TUI_API_KEY, which `ps` does not show."),
        click.option("--api-base", type=words, metavar="URL", help="An OpenAI-compatible server."),
        click.option("--model", "-m", type=words, metavar="NAME", help="PROVIDER/NAME of a model, or local/ID."),
    ):
        option(with_flags)
    return with_flags
