"""What a command prints, with no screen: the door through which its words reach the terminal."""

import click

from oi_tui.app.engine.text.safe import coloured_text, safe_text


def echo(text: str, *, err: bool = False, nl: bool = True, dim: bool = False, coloured: bool = False) -> None:
    """Print the text, made safe, on stdout or (`err`) stderr; `nl` with a newline behind it, `coloured` with the
    colours in it."""
    said = coloured_text(text) if coloured else safe_text(text)
    click.echo(click.style(said, dim=True) if dim else said, err=err, nl=nl)
