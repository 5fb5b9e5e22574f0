"""`oi-tui help`: a page of the guide, on the terminal or as plain Markdown."""

import os
import shlex
import shutil
import subprocess
import sys
from io import StringIO

import click

from oi_tui.app.engine.text.safe import coloured_text
from oi_tui.app.flags import words
from oi_tui.app.guide.pages import GuidePage, close_topics, guide_page, guide_pages
from oi_tui.app.terminal.echo import echo

WIDEST = 100
"""Columns of a page: longer lines are hard to read."""


@click.command("help")
@click.argument("topic", nargs=-1, type=words)
def print_guide(topic: tuple[str, ...]) -> None:
    """Print the page of the guide about TOPIC; without one, list the topics.

    On a terminal a long page is shown by $PAGER (default: less -R). Piped, it is Markdown.
    """
    text = _topics() if not topic else _find_page(topic).text
    if not sys.stdout.isatty():
        echo(text, nl=False)
        return
    size = shutil.get_terminal_size()
    shown = draw_markdown(text, min(WIDEST, size.columns))
    if shown.count("\n") < size.lines or not _show_in_pager(shown):
        echo(shown, nl=False, coloured=True)


def draw_markdown(text: str, width: int) -> str:
    """Markdown of ours with headings, tables and colours, for a terminal of this many columns."""
    from rich.console import Console  # a pipe needs none of it
    from rich.markdown import Markdown
    from rich.theme import Theme

    file = StringIO()
    theme = Theme({"markdown.code": "bold cyan"})  # Rich's own has a black ground, on light terminals too
    Console(file=file, width=width, force_terminal=True, theme=theme).print(Markdown(text, hyperlinks=False))
    return file.getvalue()


def _topics() -> str:
    rows = "\n".join(f"| {page.topic} | {page.summary} |" for page in guide_pages())
    about = "`oi-tui help TOPIC` prints a page. In the app: F1."
    return f"# The guide of oi-tui\n\n{about}\n\n| topic | |\n|---|---|\n{rows}\n"


def _find_page(topic: tuple[str, ...]) -> GuidePage:
    """UsageError if there is no such page, with the nearest ones."""
    page = guide_page(topic[0]) if len(topic) == 1 else None
    if page is not None:
        return page
    said = " ".join(topic)
    near = close_topics(said)
    hint = f"Did you mean {', '.join(near)}?" if near else "`oi-tui help` lists the topics."
    ask = f" To ask a model: oi-tui -- help {said}" if len(topic) > 1 else ""
    raise click.UsageError(f"There is no page about {said!r}. {hint}{ask}")


def _show_in_pager(text: str) -> bool:
    """Whether a pager could be started."""
    command = shlex.split(os.environ.get("PAGER", "")) or ["less", "-R"]
    try:
        subprocess.run(command, input=coloured_text(text), text=True, env={"LESS": "-R", **os.environ}, check=False)
    except (OSError, ValueError):
        return False
    return True
