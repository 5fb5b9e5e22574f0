"""What a command prints, with no screen: the door through which its words reach the terminal."""

import click

from oi_tui.app.engine.text.safe import safe_text


def echo(text: str, *, err: bool = False, nl: bool = True, dim: bool = False) -> None:
    """Print the text, made safe, on stdout or (`err`) stderr; `nl` with a newline behind it."""
    said = safe_text(text)
    click.echo(click.style(said, dim=True) if dim else said, err=err, nl=nl)
