"""What the terminal can show, asked of it once: by what it answers, not by what it calls itself in TERM.

The questions go out in one piece, and the last of them is one that every terminal answers. Nobody waits: the answers
come through the same line as the keys, so they are picked out of what is read there, however late they come. See
`ProbingDriver`, which does that.
"""

import fcntl
import re
import struct
import termios
from collections.abc import Mapping
from typing import Literal, NamedTuple

from oi_tui.widgets.timeline.graphics import HALVES, IN_CELLS, QUADRANTS, SEXTANTS, CellParts, Graphics, Protocol

GraphicsChoice = Literal["auto", "kitty", "sixel", "sextant", "quadrant", "half", "off"]
"""The setting `screen.images`."""

_NAME = "\x1b[>0q"
_KITTY = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
_SIXEL = "\x1b[?1;1;0S\x1b[?2;1;0S"
_CELL = "\x1b[16t\x1b[14t"
_GROUND = "\x1b]11;?\x1b\\"
_CLIPBOARD = "\x1b[?5522$p"
_ATTRIBUTES = "\x1b[c"

TELL_GROUND, TELL_NO_GROUND = "\x1b[?2031h", "\x1b[?2031l"
"""Have the terminal report when it becomes dark or light, or not any more."""

_ANSWER = (
    r"\x1b\[\?(?P<attributes>[\d;]+)c"
    r"|\x1bP>\|(?P<name>[^\x1b\x07]{0,100})(?:\x1b\\|\x07)"
    r"|\x1b_G(?P<kitty>[^\x1b\x07]{0,200})(?:\x1b\\|\x07)"
    r"|\x1b\[\?(?P<sixel>[12];\d{1,6}(?:;\d{1,6})*)S"
    r"|\x1b\[6;(?P<cell>\d{1,6};\d{1,6})t"
    r"|\x1b\[\?5522;(?P<clipboard>\d)\$y"
    r"|\x1b\[4;(?P<window>\d{1,6};\d{1,6})t"
    r"|\x1b\]11;rgba?:(?P<ground>[\da-fA-F]{1,4}(?:/[\da-fA-F]{1,4}){2,3})(?:\x1b\\|\x07)"
)
_REPORT = r"\x1b\[\?997;([12])n"
"""The terminal became dark (1) or light."""
_BEGUN = (
    r"\x1b(?:\[(?:\?[\d;]*\$?|[46]?|[46];[\d;]*)?|P(?:>(?:\|[^\x1b\x07]{0,100}\x1b?)?)?|_(?:G[^\x1b\x07]{0,200}\x1b?)?"
    r"|\](?:1(?:1(?:;[^\x1b\x07]{0,30}\x1b?)?)?)?)?\Z"
)
"""The end of the input may be the beginning of an answer."""

_WITH_PLACEHOLDERS = (("kitty", (0, 28)), ("ghostty", (0, 0)))
"""Terminals, and the version since which they know Unicode placeholders. To be asked about is new and known to few;
others that speak Kitty's protocol (Konsole, WezTerm) say OK and would show the placeholders as letters."""

_WITH_SEXTANTS = ("kitty", "ghostty", "foot", "wezterm", "contour")
_VTE_WITH_SEXTANTS = 6200

_PROTOCOLS: Mapping[str, Protocol] = {
    "kitty": "kitty",
    "sixel": "sixel",
    "sextant": "cells",
    "quadrant": "cells",
    "half": "cells",
    "off": "none",
}
_PARTS: Mapping[str, CellParts] = {"sextant": SEXTANTS, "quadrant": QUADRANTS, "half": HALVES}

_VERSION = r"(\d+)\.(\d+)"


class Window(NamedTuple):
    """The size of a terminal's window."""

    columns: int = 0
    rows: int = 0
    width: int = 0
    height: int = 0
    """Pixels; many terminals, and all connections that do not pass it on, leave it 0."""


class TerminalFacts(NamedTuple):
    """What a terminal reports about itself."""

    name: str = ""
    kitty: bool = False
    """Whether it took a picture by Kitty's protocol."""
    sixel: bool = False
    colours: int = 0
    largest: tuple[int, int] = (0, 0)
    """Width and height of a sixel picture; zeros where it did not say."""
    cell: tuple[int, int] = (0, 0)
    window: tuple[int, int] = (0, 0)
    """Width and height in pixels."""
    light: bool | None = None
    """Whether its background is; None where it did not say."""
    clipboard: bool = False
    """Whether it lets programs read the clipboard by Kitty's protocol (OSC 5522)."""


def questions(environ: Mapping[str, str]) -> str:
    """What to write to the terminal; nothing where it would do harm."""
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown", "linux"):
        return ""
    # tmux and screen would make Kitty's question a title, Apple's terminal shows it.
    inside = "TMUX" in environ or "STY" in environ or term.startswith(("tmux", "screen"))
    apple = environ.get("TERM_PROGRAM") == "Apple_Terminal"
    kitty = "" if inside or apple else _KITTY
    clipboard = "" if apple else _CLIPBOARD  # it shows this one, too
    return _NAME + kitty + _SIXEL + _CELL + _GROUND + clipboard + _ATTRIBUTES


class Answers:
    """Picks the answers out of what is read from the terminal; the rest are keys."""

    def __init__(self) -> None:
        self.known = TerminalFacts()
        self.complete = False
        """Whether the last question was answered."""
        self._held = ""

    def feed(self, text: str) -> str:
        """Take input; returns everything that is no answer. An unfinished answer is held back until `rest`."""
        if self.complete:
            return re.sub(_REPORT, self._report, text) if "\x1b[?997" in text else text
        text = self._held + text
        self._held = ""
        if "\x1b" in text:
            text = re.sub(_ANSWER, self._take, text)
        if "\x1b[?997" in text:
            text = re.sub(_REPORT, self._report, text)
        if not self.complete and "\x1b" in text and (begun := re.search(_BEGUN, text)):
            text, self._held = text[: begun.start()], begun[0]
        return text

    def rest(self) -> str:
        """The input held back: nothing followed, so it was a key."""
        held, self._held = self._held, ""
        return held

    def _take(self, answer: re.Match[str]) -> str:
        known, text = self.known, answer[answer.lastgroup or 0]
        match answer.lastgroup:
            case "attributes":
                self.complete = True
                known = known._replace(sixel="4" in text.split(";")[1:])
            case "name":
                known = known._replace(name=text)
            case "kitty":
                known = known._replace(kitty=text.endswith(";OK"))
            case "sixel":
                known = _with_sixel(known, [int(part) for part in text.split(";")])
            case "cell":
                known = known._replace(cell=_size(text))
            case "clipboard":
                known = known._replace(clipboard=text in "123")  # 0: unknown mode, 4: never
            case "ground":
                known = known._replace(light=_is_light(text))
            case _:
                known = known._replace(window=_size(text))
        self.known = known
        return ""

    def _report(self, report: re.Match[str]) -> str:
        self.known = self.known._replace(light=report[1] == "2")
        return ""


def window_size(descriptor: int) -> Window:
    """What the system knows of the window of a terminal; zeros where it knows nothing."""
    try:
        rows, columns, width, height = struct.unpack("HHHH", fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        return Window()
    return Window(columns, rows, width, height)


def graphics(choice: GraphicsChoice, known: TerminalFacts, window: Window, environ: Mapping[str, str]) -> Graphics:
    """The best way to show pictures, or the chosen one, with the terminal's own report."""
    return Graphics(
        _best(known, environ) if choice == "auto" else _PROTOCOLS[choice],
        cell_size(known, window) or IN_CELLS.cell,
        known.colours or IN_CELLS.colours,
        known.largest if all(known.largest) else IN_CELLS.largest,
        _PARTS.get(choice) or (SEXTANTS if _draws_sextants(known.name, environ) else IN_CELLS.parts),
    )


def cell_size(known: TerminalFacts, window: Window) -> tuple[int, int] | None:
    """Width and height of a cell in pixels, None where nobody knows.

    The system is asked first: what it says follows every change of the window and its font.
    """
    sizes = [known.cell]
    if window.columns and window.rows:
        sizes.insert(0, (window.width // window.columns, window.height // window.rows))
        sizes.append((known.window[0] // window.columns, known.window[1] // window.rows))
    return next((size for size in sizes if all(2 <= pixels <= 200 for pixels in size)), None)


def _best(known: TerminalFacts, environ: Mapping[str, str]) -> Protocol:
    if known.kitty and _has_placeholders(known.name) and _counts_to_256(environ):
        return "kitty"
    return "sixel" if known.sixel else "cells"


def _draws_sextants(name: str, environ: Mapping[str, str]) -> bool:
    """Whether the terminal draws them itself, whatever its font has. Inside of tmux nobody knows where it is shown."""
    if "TMUX" in environ or "STY" in environ:
        return False
    version = environ.get("VTE_VERSION", "")
    return name.lower().startswith(_WITH_SEXTANTS) or (version.isdecimal() and int(version[:6]) >= _VTE_WITH_SEXTANTS)


def _has_placeholders(name: str) -> bool:
    found = re.search(_VERSION, name)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return any(name.lower().startswith(terminal) and version >= since for terminal, since in _WITH_PLACEHOLDERS)


def _counts_to_256(environ: Mapping[str, str]) -> bool:
    """Whether colours reach the terminal that are numbers of pictures: Rich reduces them to 16 where TERM says so."""
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return True
    return environ.get("TERM", "").rpartition("-")[2] in ("256color", "kitty", "direct")


def _with_sixel(known: TerminalFacts, numbers: list[int]) -> TerminalFacts:
    """The answer to what a sixel picture may be: item, status (0: well), values."""
    match numbers:
        case [1, 0, colours, *_]:
            return known._replace(colours=colours)
        case [2, 0, width, height, *_]:
            return known._replace(largest=(width, height))
        case _:
            return known


def _is_light(text: str) -> bool:
    """Whether a colour as X writes it is light: `ffff/ffff/ffff`, with one to four digits each."""
    red, green, blue = (int(part, 16) / int("f" * len(part), 16) for part in text.split("/")[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5


def _size(text: str) -> tuple[int, int]:
    """Height and width, as terminals say it, the other way round."""
    height, width = text.split(";")
    return int(width), int(height)
