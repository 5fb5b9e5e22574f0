"""The options that every command takes."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from oi_tui.app.flags import Flags, words


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every command takes; the command gets them as `flags`."""

    @functools.wraps(command)
    def with_flags(**given: Any) -> Any:
        flags = Flags(**{name: given.pop(name) for name in Flags._fields})
        return command(flags=flags, **given)

    folder = click.Path(path_type=Path)
    for option in (
        click.option("--profile", type=words, metavar="NAME", help="Settings from profiles/NAME.toml."),
        click.option("--cwd", type=folder, metavar="DIR", help="Folder that code works in. Default: here."),
        click.option("--verbose", is_flag=True, help="Log requests and answers as a whole: `oi-tui logs`."),
        click.option("--offline", is_flag=True, help="Reach this machine only: local models, local kernels."),
        click.option("--keep-kernel", is_flag=True, help="Leave kernels on servers running, for --resume."),
        click.option("--attach", is_flag=True, help="Attach to NAME@ID although another started it."),
        click.option("--kernel", type=words, metavar="NAME", help="Run Python code on this Jupyter server."),
        click.option("--python", type=words, metavar="PATH|ENV", help="Run Python code in this environment."),
        click.option("--complete", is_flag=True, help="Insist until the task is done or impossible."),
        click.option("--time-limit", type=click.FloatRange(min=0), metavar="SECONDS", help="Limit of one cell."),
        click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="Token budget of one session."),
        click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Budget of one session."),
        click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Model answers in one turn."),
        click.option(
            "--approve",
            type=click.Choice(["ask", "auto", "plan", "never"]),
            help="Ask before code runs (default), run all but destructive code, plan first, or run no code.",
        ),
        click.option(
            "--sandbox",
            type=click.Choice(["read-only", "workspace-write", "danger-full-access"]),
            help="What code can write: nothing, the folder (default), or everything you can.",
        ),
        click.option(
            *("--allow-destructive", "allow_destructive"),
            is_flag=True,
            help="With --yes: also run deletes, forced pushes, dropped tables and the like.",
        ),
        click.option(
            *("--yes", "-y"), is_flag=True, help="Run code without asking, except destructive code: --approve auto."
        ),
        click.option("--api-key", type=words, metavar="KEY", help="Better: OI_TUI_API_KEY, which `ps` does not show."),
        click.option("--api-base", type=words, metavar="URL", help="An OpenAI-compatible server."),
        click.option("--model", "-m", type=words, metavar="NAME", help="PROVIDER/NAME of a model, or local/ID."),
    ):
        option(with_flags)
    return with_flags
