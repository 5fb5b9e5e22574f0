"""What a command prints, with no screen: the door through which its words reach the terminal."""

import sys

from oi_tui.app.engine.text.safe import coloured_text, safe_text


def echo(text: str, *, err: bool = False, nl: bool = True, dim: bool = False, coloured: bool = False) -> None:
    """Print the text, made safe, on stdout or (`err`) stderr; `nl` with a newline behind it, `coloured` with the
    colours in it. Colours reach terminals alone."""
    stream = sys.stderr if err else sys.stdout
    terminal = stream.isatty()
    said = coloured_text(text) if coloured and terminal else safe_text(text)
    print(f"\x1b[2m{said}\x1b[0m" if dim and terminal else said, file=stream, end="\n" if nl else "", flush=True)
