"""One run, as every kernel keeps it: what arrives is cleaned, capped and queued; it is over exactly once.

What arrives comes from a process that is not trusted: anything may be claimed, nothing may break us.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal

import msgspec

from oi_tui.app.engine.kernels.base import (
    DisplayUpdated,
    InputWanted,
    LineReached,
    OutputArrived,
    OutputCleared,
    RunEvent,
    RunFinished,
)
from oi_tui.app.engine.kernels.cap import OutputCap
from oi_tui.app.engine.outputs import ErrorOutput, Output, RichOutput, StreamOutput

RICH_LIMIT = 32_000_000
"""Characters of pictures, HTML and the like that one run may show."""

RICH_COST = 100
"""What each display takes from the cap at least, so that their number is bounded as well."""

ERROR_LIMIT = 20_000
"""Characters of an error's message, and of its traceback; not taken from the cap, for it says what went wrong."""


class Run:
    """A run from the moment it is handed to the kernel."""

    def __init__(self, source: str, cap: int, spill_dir: Path | None) -> None:
        self.interrupting = False
        """Whether somebody asked for the end of it."""
        self.over = asyncio.Event()
        self._lines = source.count("\n") + 1
        self._cap = OutputCap(cap, spill_dir)
        self._rich_room = RICH_LIMIT
        self._clear_before_next = False
        self._queue: deque[RunEvent] = deque()
        self._news = asyncio.Event()

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        """Everything that happens, the end included."""
        while True:
            while self._queue:
                event = self._queue.popleft()
                yield event
                if isinstance(event, RunFinished):
                    return
            self._news.clear()
            await self._news.wait()

    # -- what arrives --------------------------------------------------------------------------------

    def stream(self, name: Literal["stdout", "stderr"], text: str) -> None:
        """Text; joins what is still queued of the same stream."""
        self._clear_if_due()
        shown = self._cap.admit(encodable(text))
        if not shown:
            return
        match self._queue[-1] if self._queue else None:
            case OutputArrived(output=StreamOutput(name=last, text=earlier)) if last == name:
                self._queue[-1] = OutputArrived(output=StreamOutput(name=name, text=earlier + shown))
            case _:
                self._put_output(StreamOutput(name=name, text=shown))

    def display(self, output: RichOutput) -> None:
        """A mime bundle, as far as it fits."""
        self._clear_if_due()
        fitting = self._fitting(output)
        if fitting is not None:
            self._put_output(fitting)

    def update(self, output: RichOutput) -> None:
        """A display changed; of updates that nobody has seen yet the last one counts."""
        fitting = self._fitting(output)
        if fitting is None or fitting.display_id is None:
            return
        event = DisplayUpdated(display_id=fitting.display_id, output=fitting)
        match self._queue[-1] if self._queue else None:
            case DisplayUpdated(display_id=last) if last == event.display_id:
                self._queue[-1] = event
            case _:
                self._put(event)

    def error(self, error: ErrorOutput) -> None:
        """An exception ended the run."""
        self._clear_if_due()
        self._put_output(
            ErrorOutput(
                name=encodable(error.name[:ERROR_LIMIT]),
                value=encodable(error.value[:ERROR_LIMIT]),
                traceback=_shortened(tuple(map(encodable, error.traceback))),
            )
        )

    def clear(self, *, wait: bool) -> None:
        """The outputs so far are to go, at once or when the next one arrives."""
        self._clear_before_next = True
        if not wait:
            self._clear_if_due()

    def line(self, number: int) -> None:
        """The active line moved."""
        if 1 <= number <= self._lines:
            self._put(LineReached(line=number))

    def ask(self, prompt: str, *, password: bool) -> None:
        """The run waits for a line."""
        self._put(InputWanted(prompt=encodable(prompt[:ERROR_LIMIT]), password=password))

    def dropped(self, characters: int) -> None:
        """Output was dropped before it came here."""
        self._cap.count(characters)

    def finish(self, finished: RunFinished) -> None:
        """The end; only the first one counts."""
        if self.over.is_set():
            return
        capped = self._cap.close()
        if capped is not None:
            self._put(capped)
        self._put(finished)
        self.over.set()

    # -- how it is queued ----------------------------------------------------------------------------

    def _put(self, event: RunEvent) -> None:
        if not self.over.is_set():
            self._queue.append(event)
            self._news.set()

    def _put_output(self, output: Output) -> None:
        self._put(OutputArrived(output=output))

    def _clear_if_due(self) -> None:
        if not self._clear_before_next:
            return
        self._clear_before_next = False
        self._cap.clear()
        self._rich_room = RICH_LIMIT
        self._put(OutputCleared())

    def _fitting(self, output: RichOutput) -> RichOutput | None:
        if not self._cap.charge(RICH_COST):
            return None
        data: dict[str, Any] = {}
        for mime, content in output.data.items():
            if mime == "text/plain" and isinstance(content, str):
                data[mime] = self._cap.admit(encodable(content))
                continue
            size = len(content) if isinstance(content, str) else len(msgspec.json.encode(content))
            if size > self._rich_room:
                self._cap.count(size)
                continue
            self._rich_room -= size
            data[mime] = encodable(content) if isinstance(content, str) else content
        return msgspec.structs.replace(output, data=data) if data else None


def _shortened(traceback: tuple[str, ...]) -> tuple[str, ...]:
    """Its beginning and, more telling, its end."""
    text = "\n".join(traceback)
    if len(text) <= ERROR_LIMIT:
        return traceback
    return (text[: ERROR_LIMIT // 4], "…", text[-ERROR_LIMIT // 4 * 3 :])


def encodable(text: str) -> str:
    """The text, with what UTF-8 cannot express (lone surrogates) replaced."""
    if text.isascii():
        return text
    return text.encode("utf-8", errors="replace").decode("utf-8")
