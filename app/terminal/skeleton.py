"""The first thing on the screen: the page, the prompt line and the status line, before Textual is imported.

To import Textual takes a quarter of a second. Meanwhile the terminal shows where the program will be, in the colours
that it had last, and takes keys as Textual does: they wait in the terminal's line until the program reads them.
Nothing is shown where that would harm: without a terminal, in a dumb one, with NO_COLOR, for a screen reader
(ACCESSIBLE, or `linear = true` in the settings), and before the program has run there once. Few imports: each would be
waited for.
"""

import os
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` and `collections` would take a fifth of the time until something is seen
    import signal
    from collections.abc import Callable, Mapping
    from types import FrameType
else:
    import _signal as signal  # the part of it that is built in: the rest makes enumerations, which take as long

LARGEST = 1_000
"""Bytes of the file with the look."""

LARGEST_SETTINGS = 1_000_000
"""Bytes that are read of the settings: no larger file is valid."""

ROOM = 3
"""Rows that are drawn on: the rule, the prompt, the status. And columns, for the sign."""

Attributes = list[int | list[bytes | int]]
"""Of `termios`."""

ENTER = "\x1b[?1049h\x1b[?2004h\x1b[?25l"
"""The other screen, marked pastes, no cursor."""

LEAVE = "\x1b[0m\x1b[?25h\x1b[?2004l\x1b[?1049l"

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Those that end the program."""

Look = tuple[str, str, str]
"""The colours of a frame, each as SGR parameters such as `48;2;20;24;31`: of the page, of the rule above the prompt,
and of the sign that marks it."""


class Skeleton:
    """What is on the terminal until Textual takes it over, or until it is put back."""

    def __init__(self, descriptor: int, output: int) -> None:
        self._descriptor = descriptor
        self._output = output
        self._before: Attributes | None = None
        """How the terminal was."""
        self._handlers: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}
        """Of the signals, those that were there before."""

    def show(self, look: Look) -> bool:
        """Draw it, and keep keys from being shown; whether there is room for it. As long as it is there, a signal
        puts the terminal back and ends the program."""
        columns, rows = os.get_terminal_size(self._output)
        if self._before is not None or rows < ROOM or columns < ROOM:
            return self._before is not None
        attributes = termios.tcgetattr(self._descriptor)
        before = [*attributes[:6], list(attributes[6])]
        attributes[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        attributes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        attributes[6][termios.VMIN] = 1
        attributes[6][termios.VSUSP] = attributes[6][termios.VQUIT] = b"\0"
        self._before = before  # first: a signal between the next lines puts that back
        for number in SIGNALS:
            self._handlers[number] = signal.signal(number, self._end)
        termios.tcsetattr(self._descriptor, termios.TCSANOW, attributes)
        os.write(self._output, (ENTER + skeleton_frame(look, columns, rows)).encode())
        return True

    def hand_over(self) -> Attributes | None:
        """How the terminal was, for who puts it back from now on, at signals as well; None if that is nobody's business
        here."""
        before, self._before = self._before, None
        return before

    def clear(self) -> None:
        """Put the terminal and the handlers of signals back, unless it was handed over."""
        if self._before is None:
            return
        try:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)
            termios.tcflush(self._descriptor, termios.TCIFLUSH)  # typed for a prompt, and the shell would run it
            os.write(self._output, LEAVE.encode())
        except (OSError, termios.error):  # the terminal is gone
            pass
        self._before = None  # not earlier: a signal that comes meanwhile does the same once more
        for number, handler in self._handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _end(self, number: int, _: "FrameType | None") -> None:
        self.clear()
        os._exit(128 + number)


SKELETON = Skeleton(0, 2)
"""The one of this process: keys come on standard input, and Textual writes to standard error."""


def skeleton_frame(look: Look, columns: int, rows: int) -> str:
    """What to write to a terminal of this size."""
    behind, rule, sign = look
    page = f"\x1b[0;{behind}m"
    return (
        f"{page}\x1b[2J\x1b[{rows - 2};1H\x1b[{rule}m{'─' * columns}"
        f"{page}\x1b[{rows - 1};2H\x1b[1;{sign}m›{page} \x1b[7m {page}"
        f"\x1b[{rows};2H\x1b[{sign}mstarting\x1b[0m"
    )


def show_skeleton(environ: "Mapping[str, str]" = os.environ) -> bool:
    """Draw it, if there is a terminal that can show it and it is known how the program looks there; whether it is."""
    if not all(os.isatty(descriptor) for descriptor in (0, 1, 2)) or (look := load_look(environ)) is None:
        return False
    if wants_lines(environ):
        return False
    try:
        return SKELETON.show(look)
    except (OSError, termios.error):  # the terminal is gone; the next caller reports it
        SKELETON.clear()
        return False


def look_file(environ: "Mapping[str, str]") -> str:
    """Where the colours are kept. Not by platformdirs, whose import would take half of the time."""
    return os.path.join(_own_folder(environ, "XDG_CACHE_HOME", ".cache"), "first-frame")


def _own_folder(environ: "Mapping[str, str]", variable: str, default: str) -> str:
    base = environ.get(variable, "")
    return os.path.join(base if os.path.isabs(base) else os.path.join(environ.get("HOME", "/"), default), "oi-tui")


def wants_lines(environ: "Mapping[str, str]") -> bool:
    """Whether the person's settings may ask for a session in lines. They are searched as text, because a parser of TOML
    would be waited for; a profile that asks for it is found by the program itself."""
    path = os.path.join(_own_folder(environ, "XDG_CONFIG_HOME", ".config"), "config.toml")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe is not waited for
        try:
            text = os.read(descriptor, min(os.fstat(descriptor).st_size, LARGEST_SETTINGS))
        finally:
            os.close(descriptor)
    except OSError:
        return False
    lines = (line.partition(b"#")[0] for line in text.split(b"\n") if b"linear" in line)
    return any(b"linear" in line and b"true" in line for line in lines)


def load_look(environ: "Mapping[str, str]") -> Look | None:
    """How the program looked last on such a terminal; None if that is not known, or colours are not wanted."""
    if environ.get("NO_COLOR") or environ.get("ACCESSIBLE") or environ.get("TERM", "dumb") in ("dumb", "unknown"):
        return None
    try:
        with open(look_file(environ), encoding="ascii") as file:
            lines = file.read(LARGEST).split("\n")
    except (OSError, ValueError):
        return None
    terminal, *colours = lines
    if terminal != kind_of_terminal(environ) or len(colours) != 3 or not all(map(_is_colour, colours)):
        return None
    return colours[0], colours[1], colours[2]


def kind_of_terminal(environ: "Mapping[str, str]") -> str:
    """What decides which colours a terminal gets, in one line."""
    return ascii((environ.get("TERM", ""), environ.get("COLORTERM", "")))


def _is_colour(text: str) -> bool:
    return bool(text) and all(part.isdecimal() and len(part) < 4 for part in text.split(";"))
