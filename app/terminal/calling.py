"""How the program calls a person who looks elsewhere: the bell, a notification of the desktop, the window's title.

Only the fixed words in here go out that way: nothing that a model, a file or a prompt says. The terminal tells whether
its window has the focus; one that never does gets the bell alone, when a question has waited for some seconds without a
key.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Protocol

Call = Literal["approval", "input", "done", "failed"]
"""Why somebody is called: code waits for approval, or for input; the turn is over, or ended with an error."""

Notifications = Literal["none", "osc9", "osc777"]
"""The sequence that this terminal makes a notification of."""

PATIENCE = 10.0
"""Seconds without a key after which a question rings where nothing is known of the focus."""

WORDS: dict[Call, str] = {
    "approval": "approval needed",
    "input": "input needed",
    "done": "done",
    "failed": "stopped with an error",
}

_BELL = "\x07"
_PUSH, _POP = "\x1b[22;2t", "\x1b[23;2t"
"""The title is kept by the terminal, and put back."""

_BY_PROGRAM: dict[str, Notifications] = {"iterm.app": "osc9", "wezterm": "osc9", "ghostty": "osc9"}
_BY_TERM: tuple[tuple[str, Notifications], ...] = (
    *(("xterm-kitty", "osc9"), ("xterm-ghostty", "osc9"), ("wezterm", "osc9"), ("foot", "osc777"), ("rxvt", "osc777")),
)
_BY_VARIABLE: tuple[tuple[str, Notifications], ...] = (
    *(("KITTY_WINDOW_ID", "osc9"), ("WEZTERM_PANE", "osc9"), ("GHOSTTY_RESOURCES_DIR", "osc9")),
    *(("ITERM_SESSION_ID", "osc9"), ("VTE_VERSION", "osc777")),
)  # fmt: skip


class Means(NamedTuple):
    """What may be used to call."""

    bell: bool = True
    title: bool = True
    notifications: Notifications = "none"
    in_tmux: bool = False


def means_of(environ: Mapping[str, str], *, bell: bool, notifications: bool, title: bool) -> Means:
    """What this terminal understands of what the settings allow."""
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown", "linux"):
        return Means(bell, title=False)
    kind = _BY_PROGRAM.get(environ.get("TERM_PROGRAM", "").lower(), "none")
    kind = next((found for name, found in _BY_TERM if kind == "none" and term.startswith(name)), kind)
    kind = next((found for name, found in _BY_VARIABLE if kind == "none" and environ.get(name)), kind)
    in_tmux = "TMUX" in environ
    if not notifications or ("STY" in environ and not in_tmux):  # screen passes nothing on
        kind = "none"
    return Means(bell, title, kind, in_tmux)


def call_sequence(call: Call, means: Means) -> str:
    """What to write to the terminal to call somebody now, the title aside."""
    words = WORDS[call]
    made = {"none": "", "osc9": f"\x1b]9;oi-tui: {words}\x1b\\", "osc777": f"\x1b]777;notify;oi-tui;{words}\x1b\\"}
    notification = made[means.notifications]
    if notification and means.in_tmux:  # tmux drops it unless allow-passthrough is on
        notification = "\x1bPtmux;" + notification.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return (_BELL if means.bell else "") + notification


class TimerSwitch(Protocol):
    """A timer that can be paused."""

    def resume(self) -> None: ...

    def pause(self) -> None: ...


class Attention:
    """Follows what waits for the person, and calls where they look elsewhere."""

    def __init__(self, write: Callable[[str], object], means: Means, clock: Callable[[], float]) -> None:
        self._write = write
        self.means = means
        self._clock = clock
        self._focused: bool | None = None
        """None: the terminal did not report it."""
        self._last_key = float("-inf")
        self._waits: Call | None = None
        self._since = 0.0
        self._title: Call | None = None
        self._request_id, self._busy = "", False
        """The last request waited for, and whether a turn was open."""
        self.timer: TimerSwitch | None = None
        """Calls `look` every second while it is on."""

    def follow(self, request_id: str, *, is_input: bool, busy: bool, failed: bool) -> None:
        """Something happened in the session: this request waits for the person now ("" if none does)."""
        before, was_busy = self._request_id, self._busy
        self._request_id, self._busy = request_id, busy
        if request_id and request_id != before:
            self.begin("input" if is_input else "approval")
        elif was_busy and not busy:
            self.begin("failed" if failed else "done")
        elif before and not request_id:
            self.end()
        if self.timer is not None:
            (self.timer.resume if self.is_listening else self.timer.pause)()

    @property
    def is_listening(self) -> bool:
        """Whether `look` must be called periodically."""
        return self._waits in ("approval", "input") and self._focused is None and self.means.bell

    def begin(self, call: Call) -> None:
        """Something waits from now on, or is over."""
        self._waits, self._since = call, self._clock()
        if self._focused is False:
            self._write(call_sequence(call, self.means))
            self._show_title(call)

    def end(self) -> None:
        """Nothing waits any more."""
        self._waits = None
        self._show_title(None)

    def look(self) -> None:
        """Ring once for a question that nobody seems to see."""
        if self.is_listening and self._clock() - max(self._since, self._last_key) >= PATIENCE:
            self._waits = None
            self._write(_BELL)

    def note_key(self) -> None:
        """A key was pressed: somebody is here."""
        self._last_key = self._clock()

    def note_focus(self, focused: bool) -> None:
        """The terminal says that its window has the focus now, or no longer."""
        self._focused = focused
        self._show_title(None if focused or self._waits not in ("approval", "input") else self._waits)

    def leave(self) -> str:
        """What to write when the program leaves the terminal, at its end or while suspended."""
        shown, self._title = self._title, None
        return f"\x1b]2;oi-tui\x1b\\{_POP}" if shown is not None else ""

    def _show_title(self, call: Call | None) -> None:
        """The title that calls the user; None restores the earlier one. If none was saved, it stays the
        program's name."""
        if not self.means.title or call == self._title:
            return
        if call is None:
            self._write(self.leave())
            return
        self._write(("" if self._title is not None else _PUSH) + f"\x1b]2;oi-tui: {WORDS[call]}\x1b\\")
        self._title = call
