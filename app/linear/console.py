"""The terminal of a linear session: lines are written once, at the end, and never while somebody types.

Output waits while a line has characters in it, and is written when that line is sent or empty. A question is announced
after a pause in the typing: the line is kept for the next prompt, so that nothing that was typed before the question
can answer it. Keys are read in the event loop, byte by byte, without a thread.
"""

import asyncio
import codecs
import contextlib
import os
import shutil
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.linear.line_editor import (
    COMPLETE,
    END_OF_INPUT,
    ENTER,
    OPEN_EDITOR,
    Key,
    KeyReader,
    LineEditor,
    complete_word,
)

Attributes = list[int | list[bytes | int]]
"""Of `termios`."""

PROMPT = "> "

ARMED_AFTER = 0.4
"""Seconds between a question and the first key of its answer: an earlier key was meant for something else."""

TYPING_PAUSE = 3.0
"""Seconds without a key after which a question does not wait any longer for the end of a line."""

MARK_PASTES, LEAVE_PASTES = "\x1b[?2004h", "\x1b[?2004l"
"""Have the terminal mark pastes, so that a pasted line break sends nothing; no screen reader says this."""


class ConsoleOwner(Protocol):
    """Gets what the person does at the console."""

    def take_line(self, text: str) -> None:
        """A line was sent that answers no question."""
        ...

    def interrupt(self) -> None:
        """Ctrl+C, with nothing typed."""
        ...

    def leave(self, *, gone: bool = False) -> None:
        """Ctrl+D, with nothing typed; or the terminal is `gone`."""
        ...

    def open_editor(self) -> None:
        """Ctrl+G: edit the line in an editor."""
        ...


class Console:
    """Reads and writes the terminal of this process in its `terminal_mode`."""

    def __init__(
        self,
        listener: ConsoleOwner,
        *,
        keys: int = 0,
        write: Callable[[str], object] | None = None,
        words: Callable[[], Sequence[str]] = tuple,
        clock: Callable[[], float] = time.monotonic,
        marks_pastes: bool = True,
    ) -> None:
        """`keys` is the descriptor of the terminal, `words` what Tab completes at the beginning of a line."""
        self._listener, self._keys, self._write_out = listener, keys, write or write_terminal
        self._words, self._clock = words, clock
        self._marks_pastes = marks_pastes
        self.editor = LineEditor()
        self._reader = KeyReader()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held: list[str] = []
        self._is_shown = False
        """Whether the last row shows a prompt and the typed text."""
        self._rests = False
        self._question: str | None = None
        self._is_asked = False
        """The question has been written."""
        self._asked_at = 0.0
        self._answer: asyncio.Future[str | None] | None = None
        self._is_password = False
        self._kept = ""
        """What was typed before a question: it is in the next prompt."""
        self._soon: asyncio.Handle | None = None
        self._began = self._pressed = 0.0
        """When the first and the last key of the line was pressed."""
        self._before: Attributes | None = None

    # -- the terminal -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def terminal_mode(self) -> Iterator[None]:
        """Read keys as they come; the terminal is as it was at the end."""
        self._grab()
        try:
            yield
        finally:
            self._end_row()
            self._write("".join(f"{line}\n" for line in self._held))
            self._let_go()

    @contextlib.contextmanager
    def lend(self) -> Iterator[None]:
        """Give the terminal to another program for as long."""
        self._end_row()
        self._let_go()
        try:
            yield
        finally:
            self._grab()

    def stop_process(self) -> None:
        """Ctrl+Z: back to the shell; `fg` returns."""
        was_shown = self._is_shown
        with self.lend():
            os.kill(0, signal.SIGSTOP)
        if was_shown:
            self._show_prompt(self.editor.prompt)

    def _grab(self) -> None:
        self._before = termios.tcgetattr(self._keys)
        tty.setcbreak(self._keys, termios.TCSADRAIN)
        if self._marks_pastes:
            self._write_out(MARK_PASTES)
        asyncio.get_running_loop().add_reader(self._keys, self._read)

    def _let_go(self) -> None:
        asyncio.get_running_loop().remove_reader(self._keys)
        with contextlib.suppress(OSError, termios.error):  # the terminal may be gone
            if self._marks_pastes:
                self._write_out(LEAVE_PASTES)
            if self._before is not None:
                termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)

    # -- what is said ------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Lines to be written, made safe here; held back while somebody types."""
        self._held += safe_text(text).rstrip("\n").split("\n")
        if self._soon is None:  # several lines, and then one prompt
            self._soon = asyncio.get_running_loop().call_soon(self._flush)

    @property
    def draft(self) -> str:
        """What is typed, or kept, and not sent."""
        return self._kept + ("" if self.editor.hidden else self.editor.text)

    def take_typed(self) -> str:
        """The same; it is gone then."""
        self._end_row()
        self._keep()
        kept, self._kept = self._kept, ""
        return kept

    def keep(self, text: str) -> None:
        """Have this in the next prompt."""
        self._kept = text

    def rest(self, rests: bool) -> None:
        """Whether it is the person's turn: the last row is a prompt."""
        self._rests = rests
        self._flush()

    async def ask(self, question: str, *, password: bool = False) -> str | None:
        """One line, typed after the question was written; None if nobody is there any more. One question at a time;
        cancellable."""
        self._question, self._is_asked = safe_text(question).rstrip(), False
        self._is_password = password
        self._answer = asyncio.get_running_loop().create_future()
        pause = asyncio.create_task(self._put_aside())
        try:
            self._flush()
            return await self._answer
        finally:
            pause.cancel()
            if self._is_asked:
                self._end_row()
                self._keep()
            self._question, self._answer, self.editor.hidden = None, None, False
            self._flush()

    async def _put_aside(self) -> None:
        """Write a question for which an unfinished line does not make room."""
        while not self._is_asked:
            await asyncio.sleep(0.1)
            if self.editor.text and self._clock() - self._pressed >= TYPING_PAUSE:
                self._end_row()
                self._keep()
                self._held.append("Your line is kept for the next prompt.")
                self._flush()

    def _keep(self) -> None:
        """What is typed comes again in the next prompt; a password does not."""
        typed = self.editor.take()
        self._kept += "" if self.editor.hidden else typed

    def _flush(self) -> None:
        """Write what was held back, then the prompt or the question; nothing while somebody types."""
        self._soon = None
        if self.editor.text or (self._is_shown and not self._held and self._is_asked == (self._question is not None)):
            return
        if self._held:
            self._end_row()
            self._write("\n".join(self._held) + "\n")
            self._held.clear()
        if self._question is not None and not self._is_asked:
            self._end_row()
            self._is_asked, self._asked_at = True, self._clock()
            self.editor.hidden = self._is_password
        if not self._is_shown and self._question is not None:
            self._show_prompt(f"{self._question} ")
        elif not self._is_shown and self._rests:
            kept, self._kept = self._kept, ""
            self._show_prompt(PROMPT)
            self._write(self.editor.insert(kept))

    def _show_prompt(self, prompt: str) -> None:
        self.editor.prompt, self.editor.columns = prompt, shutil.get_terminal_size().columns
        self._write(self.editor.whole_row())
        self._is_shown = True

    def _end_row(self) -> None:
        if self._is_shown:
            self._write("\n")
        self._is_shown = False

    def _write(self, text: str) -> None:
        if text:
            self._write_out(text)

    # -- what is typed -----------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            data = os.read(self._keys, 1 << 16)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._keys)
            self._listener.leave(gone=True)
            return
        self.type_text(self._decode(data))

    def type_text(self, text: str) -> None:
        """Do what these keys do."""
        for key in self._reader.read(text):
            self._press(key)
        if not self.editor.text:
            self._flush()

    def press_interrupt(self) -> None:
        """Ctrl+C: clear the typed text; if there is none, pass it to the listener."""
        if self.editor.text:
            self._end_row()
            self.editor.take()
            self._flush()
        else:
            self._listener.interrupt()

    def _press(self, key: Key) -> None:
        self._pressed = self._clock()
        if key.name == ENTER:
            self._send()
        elif key.name == END_OF_INPUT and not self.editor.text:
            self._give_up()
        elif key.name == OPEN_EDITOR and self._question is None:
            self._listener.open_editor()
        else:
            if not self.editor.text:
                self._began = self._pressed
            if not self._is_shown and (key.pasted or key.name.isprintable()):
                self._show_prompt(PROMPT)
            if key.name == COMPLETE:
                self._complete()
            elif self._is_shown:
                self._write(self.editor.press(key))

    def _complete(self) -> None:
        text = self.editor.text
        if text.startswith("/") and " " not in text and self._question is None:
            words = self._words()
            if (completed := complete_word(text, words)) != text:
                self._write(self.editor.replace(completed))
            elif begun := [word for word in words if word.startswith(text)]:
                self._end_row()
                self._write("\n".join(begun) + "\n")
                self._show_prompt(PROMPT)

    def _send(self) -> None:
        """A line is over: it answers the question that was there when it began, or is a line of its own."""
        if not self._is_shown and self._question is None:
            return  # an empty line while something runs
        text = self.editor.text
        if text.endswith("\\") and self._question is None:
            self._write(self.editor.press(Key("\x7f")) + self.editor.insert("\n"))
            return
        self._end_row()
        began = self._began if text else self._pressed
        if self._answer is not None and self._is_asked and not self._answer.done():
            if began - self._asked_at >= ARMED_AFTER:
                self._answer.set_result(self.editor.take())
                self._question = None
                return
            self._keep()
            self._held.append("That was typed before the question could be read, so it is no answer.")
            self._asked_at = self._clock()
            self._flush()
            return
        self.editor.remember(self.editor.take())
        self._listener.take_line(text)
        self._flush()

    def _give_up(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._end_row()
            self._answer.set_result(None)
            self._question = None
        else:
            self._listener.leave()


def write_terminal(text: str) -> None:
    """Write to the terminal on standard output."""
    with contextlib.suppress(OSError):  # it may be gone, which the keys tell
        sys.stdout.write(text)
        sys.stdout.flush()
