"""`oi-tui help`: a page of the guide, on the terminal or as plain Markdown."""

import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from io import StringIO

import click

from oi_tui.app.engine.text.safe import coloured_text
from oi_tui.app.flags import words
from oi_tui.app.guide.pages import close_topics, guide_page, guide_pages
from oi_tui.app.guide.sections import SENTENCE, find_section, similar_words, slash_rows
from oi_tui.app.subcommands import SUBCOMMANDS, subcommand
from oi_tui.app.terminal.echo import echo

WIDEST = 100
"""Columns of a page: longer lines are hard to read."""


@click.command("help")
@click.argument("topic", nargs=-1, type=words)
def print_guide(topic: tuple[str, ...]) -> None:
    """Print what the guide says about TOPIC: a page, a command, a word of a heading; without one, list the pages.

    On a terminal a long page is shown by $PAGER (default: less -R). Piped, it is Markdown.
    """
    text = _topics() if topic in ((), ("help",)) else _find_text(topic)
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
    about = "`oi-tui help TOPIC` prints a page, `oi-tui help WORD` what explains a command or a word. In the app: F1."
    return f"# The guide of oi-tui\n\n{about}\n\n| topic | |\n|---|---|\n{rows}\n"


def _find_text(topic: tuple[str, ...]) -> str:
    """The text of a page, or of the section that explains the command or the word; UsageError if there is none, with
    the nearest ones."""
    said = " ".join(topic).removeprefix("/")
    row = slash_rows().get(said)
    shell = said if row is None else row.shell
    about = "" if row is None else row.about
    command = _find_subcommand(said) if row is None else None
    if command is not None:
        about = command.get_short_help_str(limit=WIDEST)
    if not about and (page := guide_page(said)) is not None:
        return page.text
    typed = [*([f"/{said}"] if row is not None else []), *([f"oi-tui {shell}"] if about and shell else [])]
    least = 1 if command is None else SENTENCE + 1  # one that only mentions it says less than its own help
    section = (find_section(said) if not about else None) or find_section(said, typed, least=least)
    if section is None and not about:
        near = list(dict.fromkeys([*similar_words(said, [*slash_rows(), *SUBCOMMANDS]), *close_topics(said)]))[:3]
        hint = f"Did you mean {', '.join(near)}?" if near else "`oi-tui help` lists the topics."
        ask = f" To ask a model: oi-tui -- help {said}" if len(topic) > 1 else ""
        raise click.UsageError(f"There is no page about {said!r}. {hint}{ask}")
    parts = [f"{' · '.join(f'`{one}`' for one in typed)}: {about}\n"] if about else []
    page = guide_page(said)
    if page is not None:
        parts.append(page.text)
    elif section is None and command is not None:
        usage = click.Context(command, info_name=f"oi-tui {said}", max_content_width=WIDEST).get_help()
        parts = [f"# oi-tui {said}\n\n{textwrap.indent(click.unstyle(usage), '    ')}\n"]
    elif section is not None:
        parts += [section.text, f"More on this page: `oi-tui help {section.topic}`\n"]
    return "\n".join(parts)


def _find_subcommand(said: str) -> click.Command | None:
    """The subcommand of `oi-tui` of this name, or one of its own (`config set`)."""
    name, _, inner = said.partition(" ")
    command = subcommand(name)
    return command.commands.get(inner) if inner and isinstance(command, click.Group) else None if inner else command


def _show_in_pager(text: str) -> bool:
    """Whether a pager could be started."""
    command = shlex.split(os.environ.get("PAGER", "")) or ["less", "-R"]
    try:
        subprocess.run(command, input=coloured_text(text), text=True, env={"LESS": "-R", **os.environ}, check=False)
    except (OSError, ValueError):
        return False
    return True
