"""`oi-tui theme`: the themes there are, and a new one to change."""

import click

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.terminal.echo import echo


@click.group(invoke_without_command=True)
@click.pass_context
def theme(context: click.Context) -> None:
    """List themes, or begin one of your own."""
    if context.invoked_subcommand is None:
        context.invoke(print_themes)


@theme.command("list")
def print_themes() -> None:
    """List all themes: those in your folder, of oi-tui and of plugins."""
    from oi_tui.app.commands.own_theme import themes_in_words  # Textual, which --help does not need

    for line in themes_in_words():
        echo(safe_text(line))


@theme.command("new")
@click.argument("name")
@click.option("--from", "based", default="harbour", metavar="THEME", help="Begin with the colours of THEME.")
def write_theme(name: str, based: str) -> None:
    """Write a theme NAME with all its keys, to change."""
    from oi_tui.app.commands.own_theme import begin_theme  # as above

    path = begin_theme(name, based)
    echo(f"Written: {path}. To use it: /theme {name}, or oi-tui --theme {name}. Each save shows at once.")
