"""One run of a Jupyter kernel: messages in, events out, and the rule for when it is over.

It is over when the shell channel brought the reply and the iopub channel says idle. Either can be lost (a
flood overruns the socket), so one of them with silence after it is enough. Every message is checked
for its shape: https://jupyter-client.readthedocs.io/en/stable/messaging.html says what is right, and
a kernel may send what it likes.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.core.kernel_call import read_call
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput
from oi_tui.app.engine.kernels.base import RunRequest, RunResult
from oi_tui.app.engine.kernels.json_cleaner import clean_content
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.traceback_cap import PARTS_LIMIT
from oi_tui.app.engine.kernels.widget_displays import WidgetDisplays

NAME_LIMIT = 1_000
"""Characters of the name of a display."""

GRACE = 2.0
"""Seconds of silence after which a reply without idle (or the other way round) ends the run."""
LOOKS = 8
"""It waits in this many parts: while this process is stalled, on a busy machine, messages wait unread in their socket,
and at most one part passes."""

EXIT_GRACE = 1.5
"""Seconds in which a kernel must exit after it said it would."""

WAITS_FOR_OTHERS = "Others use this kernel too, and it works for them: this run waits until that has ended."

NO_IDLE = "The end of this run's output never came from the kernel: output may be missing."

OVERSTAYED = "got the exit of this run, did not exit in time, and was ended"
"""Of a kernel elsewhere it is the rule: its server looks for it every few seconds."""


class JupyterRun:
    """Knows the messages of one run, and what they mean for its output."""

    def __init__(
        self,
        request: RunRequest,
        *,
        doom: Callable[[str], None] = lambda _how: None,
        widgets: WidgetDisplays | None = None,
        without_reply: int = 0,
    ) -> None:
        """`doom` ends a kernel that cannot recover, with this message. `widgets`: those of its kernel. `without_reply`:
        what was sent are so many messages that get no reply; it is over when the kernel has said idle so often."""
        self.request = request
        self.output = OutputStream(request)
        self._kill = doom
        self._widgets = widgets or WidgetDisplays()
        self._without_reply = without_reply
        self._idles = 0
        self._status = ""
        """Of the reply; empty until it came."""
        self._has_failed = False
        """Whether the kernel sent an error."""
        self._idle = False
        self._leaving = False
        """The code called `exit()`: the kernel says ok and ends a moment later."""
        self._timer: asyncio.TimerHandle | None = None

    def on_iopub(self, kind: str, content: Mapping[str, Any]) -> None:
        """Output, or a change of the kernel's state."""
        self.output.taken = True
        match kind, content:
            case "stream", {"name": "stdout" | "stderr" as name, "text": str(text)}:
                self.output.stream(name, text)
            case (("display_data" | "execute_result"), {"data": dict()}):
                rich = _rich(content, is_result=kind == "execute_result")
                self.output.display(self._widgets.draw(rich, self.output))
            case "comm_open" | "comm_msg" | "comm_close", _:
                self._widgets.take(kind, content)
            case "update_display_data", {"data": dict()}:
                self.output.update(_rich(content, is_result=False))
            case "error", {"ename": str(name), "evalue": str(value)}:
                self.output.error(ErrorOutput(name=name, value=value, traceback=_lines(content.get("traceback"))))
                self._has_failed = True
            case "clear_output", _:
                self.output.clear(wait=content.get("wait") is True)
            case "status", {"execution_state": "idle"}:
                self._idles += 1
                self._idle = self._idles >= self._without_reply
            case "oi_tui_lost", {"messages": int(count)}:
                what = "1 message" if count == 1 else f"{count:,} messages"
                self.output.tell(f"The connection was lost, and {what} of the kernel never came.", responds=True)
            case "oi_tui_waits", _:
                self.output.tell(WAITS_FOR_OTHERS, responds=True)
            case "oi_tui_line", {"line": int(number)} if not isinstance(number, bool):
                self.output.line(number)
            case "oi_tui_skipped", {"name": "stdout" | "stderr" as name, "characters": characters, "lines": lines}:
                if type(characters) is int and type(lines) is int and 0 <= lines <= characters and characters:
                    self.output.skip(name, characters, lines)
        self._settle()

    def on_reply(self, content: Mapping[str, Any]) -> None:
        """The reply to our request."""
        self.output.taken = True
        status = content.get("status")
        self._status = status if isinstance(status, str) and status else "error"
        payload = content.get("payload")
        for entry in payload if isinstance(payload, list) else ():
            match entry:
                case {"source": "ask_exit", "keepkernel": False | None}:
                    self._leaving = True
        self._settle()

    def on_too_large(self, size: int, *, is_reply: bool) -> None:
        """A message of this many bytes was dropped. A reply is only large because of the error in it."""
        self.output.drop(size)
        if is_reply:
            text = f"The message of the error is too large ({size / 1e6:,.1f} MB) and was left out."
            self.output.error(ErrorOutput(name="Error", value=text))
            self.on_reply({"status": "error"})

    def on_stdin(self, kind: str, content: Mapping[str, Any]) -> None:
        match kind, content:
            case "input_request", {"prompt": str(prompt)}:
                self.output.ask(prompt, password=content.get("password") is True, call=read_call(prompt))

    def _settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.output.over.is_set() or not (self._status or self._idle):
            return
        if self._without_reply:
            self._status = "error" if self._has_failed or self.output.interrupting else "ok"
        if self._status and self._idle and not self._leaving:
            self._end()
            return
        loop = asyncio.get_running_loop()
        if self._leaving:
            self._timer = loop.call_later(EXIT_GRACE, self._overstay)
        else:
            self._timer = loop.call_later(GRACE / LOOKS, self._wait_on, LOOKS - 1)

    def _overstay(self) -> None:
        if not self.output.over.is_set():
            self._kill(OVERSTAYED)

    def _wait_on(self, looks: int) -> None:
        if not looks:
            if not self._idle:
                self.output.tell(NO_IDLE, responds=True)
            self._end()
        else:
            self._timer = asyncio.get_running_loop().call_later(GRACE / LOOKS, self._wait_on, looks - 1)

    def _end(self) -> None:
        self._widgets.redraw()
        match self._status:
            case "ok" | "":
                self.output.finish(RunResult(status="ok"))
            case _ if self.output.interrupting:
                self.output.finish(RunResult(status="interrupted"))
            case _:
                self.output.finish(RunResult(status="error"))


def _rich(content: Mapping[str, Any], *, is_result: bool) -> RichOutput:
    content = clean_content(content)
    data = {mime: body for mime, body in content["data"].items() if isinstance(mime, str) and body is not None}
    metadata = content.get("metadata")
    transient = content.get("transient")
    display_id = transient.get("display_id") if isinstance(transient, dict) else None
    return RichOutput(
        data=data,
        metadata=metadata if isinstance(metadata, dict) else {},
        display_id=expressible(display_id[:NAME_LIMIT]) if isinstance(display_id, str) else None,
        is_result=is_result,
    )


def _lines(traceback: object) -> tuple[str, ...]:
    if not isinstance(traceback, list):
        return ()
    if len(traceback) > 2 * PARTS_LIMIT:
        traceback = [*traceback[:PARTS_LIMIT], *traceback[-PARTS_LIMIT:]]
    return tuple(line for line in traceback if isinstance(line, str))
