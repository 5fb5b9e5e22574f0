"""Textual's driver, with pastes that are text and nothing else.

Textual's parser takes an escape character within a bracketed paste for the beginning of a key, and what it cannot
read for keys that were pressed one after the other: a pasted text could answer a question. So no escape character
reaches it from within a paste.
"""

import os
import re
import select
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from textual._parser import ParseEOF, ParseError
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key

from oi_tui.app.terminal.skeleton import SKELETON

_TICK = 0.1
"""Seconds after which a key that could begin more is taken as it is; Textual's own."""

_WAKING = 0.004
"""Seconds that the thread which writes may take until it begins, on a busy machine."""

_START, _END = "\x1b[200~", "\x1b[201~"
_ALT_ENTER = re.compile(r"\x1b[\r\n]")
_OTHER_KEY = re.compile(r"\x1b\[27;(\d{1,3});(\d{1,7})~")
_OTHER_KEYS, _USUAL_KEYS = "\x1b[>4;1m\x1b[m", "\x1b[>4m\x1b[m"
"""Have the terminal spell Shift+Enter in another way than Enter (modifyOtherKeys), or as it did. One that does not know
it may take it for an underline, which the second sequence ends."""
_BEGINNING = re.compile(r"\x1b(?:\[(?:2(?:0(?:[01])?)?)?)?\Z")


class Pastes:
    """Keys as they come, without the escape characters in what is pasted between them."""

    def __init__(self) -> None:
        self._pasting = False
        self._held = ""
        """In a paste, what may be the beginning of its end."""
        self._passed = ""
        """Outside of one, what may be the beginning of the next; keys are never kept back."""

    def feed(self, text: str) -> str:
        """What a parser of keys may read."""
        text, self._held = self._held + text, ""
        parts: list[str] = []
        while text:
            if not self._pasting:
                known = len(self._passed)
                window = self._passed + text
                start = window.find(_START)
                self._pasting = start >= 0
                end = start + len(_START) if self._pasting else len(window)
                self._passed = "" if self._pasting else window[1 - len(_START) :]
                parts.append(kitty_spelling(window[known:end]))
                text = window[end:]
                continue
            inside, found, rest = text.partition(_END)
            if not found and (beginning := _BEGINNING.search(inside)):
                inside, self._held = inside[: beginning.start()], beginning.group()
            parts += [inside.replace("\x1b", ""), found]
            self._pasting, text = not found, rest
        return "".join(parts)


def tell_terminal(driver: Driver | None, sequence: str) -> None:
    """Write a sequence, where there is a terminal."""
    if isinstance(driver, GuardedDriver):
        driver.write(sequence)
        driver.flush()


def kitty_spelling(text: str) -> str:
    """Keys that Textual's parser does not know, as Kitty's protocol spells them: Alt+Enter is Escape and Enter in one
    piece everywhere else, and Shift+Enter has a spelling of its own in xterm and tmux (modifyOtherKeys)."""
    return _OTHER_KEY.sub("\x1b[\\2;\\1u", _ALT_ENTER.sub("\x1b[13;3u", text))


def _knows_other_keys() -> bool:
    return os.environ.get("TERM", "").startswith(("xterm", "tmux"))


class GuardedDriver(LinuxDriver):
    """Reads keys as Textual does, except for pastes."""

    _held_back: list[str] | None = None
    """Output to write at once, while it is being collected."""

    clock = staticmethod(time.monotonic)

    _waits_since = 0.0
    """When output was given to the thread that writes, and none was waiting there."""

    farewell: Callable[[], str] | None = None
    """Tells what to write when the terminal is left."""

    key_read: Callable[[], None] | None = None
    """Called for every key as it is read, in the thread that reads: the app may get it some milliseconds later."""

    @contextmanager
    def gather_writes(self) -> Iterator[None]:
        """Write in one go what is written inside: each go wakes the thread that writes."""
        parts: list[str] = []
        self._held_back = parts
        try:
            yield
        finally:
            self._held_back = None
            if parts:
                self.write("".join(parts))

    def write(self, data: str) -> None:
        """Soon, by a thread."""
        if self._held_back is not None:
            self._held_back.append(data)
            return
        if not self._waiting:
            self._waits_since = self.clock()
        super().write(data)

    @property
    def is_behind(self) -> bool:
        """Whether output waits for the terminal, and not only for the thread that writes to begin."""
        return self._waiting > 0 and self.clock() - self._waits_since > _WAKING

    @property
    def _waiting(self) -> int:
        """How many pieces of output the thread has not taken yet: Textual does not say."""
        return 0 if self._writer_thread is None else self._writer_thread._queue.qsize()

    def start_application_mode(self) -> None:
        """As in the base class. A terminal that was prepared before is restored first."""
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual left the types out
        if _knows_other_keys():
            self.write(_OTHER_KEYS)
        if (before := SKELETON.hand_over()) is not None:
            self.attrs_before = before

    def stop_application_mode(self) -> None:
        """As in the base class, with the app's last output to the terminal: at its end, or while suspended."""
        if _knows_other_keys():
            self.write(_USUAL_KEYS)
        if self.farewell is not None and (last := self.farewell()):
            self.write(last)
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Read keys until the app leaves."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        pastes = Pastes()
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno], [], [], _TICK)
            text = self.keys_of(decode(os.read(self.fileno, 4096))) if ready else self.late_keys()
            text = pastes.feed(text)
            for message in (*(parser.feed(text) if text else ()), *parser.tick()):
                if self.key_read is not None and isinstance(message, Key):
                    self.key_read()
                self.process_message(message)
        with suppress(ParseEOF, ParseError):  # a key that was cut off by leaving
            tuple(parser.feed(""))

    def keys_of(self, text: str) -> str:
        """The keys in what the terminal sent."""
        return text

    def late_keys(self) -> str:
        """Keys that were kept back and, since nothing followed, are keys."""
        return ""


def use_mouse(driver: LinuxDriver, on: bool) -> None:
    """Have the mouse, or leave it to the terminal, also after a suspension."""
    if driver._mouse != on:
        driver._mouse = True  # else neither does anything
        (driver._enable_mouse_support if on else driver._disable_mouse_support)()
        driver._mouse = on
