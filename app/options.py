"""The options that stand everywhere on the command line."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from oi_tui.app.flags import Flags, words


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
