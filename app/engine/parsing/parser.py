"""The parser of answers: deltas of a model in, events of prose, thoughts, code and calls out.

Whatever the cuts between the deltas, the blocks are the same, and every character of the answer is in one of them, but
for the fence lines of code, the tags around thoughts, and blank lines around both.
"""

from collections.abc import Container

from oi_tui.app.engine.core.chat_model import ToolDelta
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.parsing.answer_blocks import AnswerBlocks
from oi_tui.app.engine.parsing.answer_text import AnswerText
from oi_tui.app.engine.parsing.calls import Canonical
from oi_tui.app.engine.parsing.native_calls import NativeCall
from oi_tui.app.engine.parsing.thinking import thinks_after


class AnswerParser:
    """Reads one answer. Native calls come out one after the other, in order, however their fragments arrive.

    A native call ends the text before it; text that arrives before a call is over comes out behind it.
    """

    def __init__(self, canonical: Canonical, emit: Emit, tools: Container[str] = frozenset()) -> None:
        """`canonical` says which language that runs here a label of the model means, if any; `tools` are the names of
        those that may be called beside `execute`."""
        self.blocks = AnswerBlocks(canonical, emit)
        self._canonical = canonical
        self._tools = tools
        self._text = AnswerText(canonical, self.blocks)
        self._calls: dict[int, NativeCall] = {}
        """The latest call of each index."""
        self._waiting: list[NativeCall] = []
        """Calls that are not over; the first is the one that is read."""
        self._later: list[str] = []

    def feed(self, text: str) -> None:
        """More text of the answer."""
        if self._waiting:
            self._later.append(text)
        else:
            self._text.feed(text)

    def feed_thought(self, text: str) -> None:
        """More of what the model thinks, by a server that tells it apart from the answer."""
        if not self._waiting:
            self._end_text(complete=True)
        self.blocks.think(text)

    def feed_call(self, delta: ToolDelta) -> None:
        """A fragment of a native call."""
        call = self._calls.get(delta.index)
        if call is None or (delta.id and call.id and delta.id != call.id):
            if not self._waiting:
                self._end_text(complete=True)
            thought = thinks_after("".join(self._later), self._text.thinking.on)
            call = NativeCall(self._canonical, self.blocks, self._tools, thought=thought)
            self._calls[delta.index] = call
            self._waiting.append(call)
        call.add(call_id=delta.id, name=delta.name, arguments=delta.arguments)
        self._read_calls()

    def finish(self, complete: bool = True) -> None:
        """The end of the answer; not `complete` if it was interrupted or cut by a limit."""
        for call in self._waiting:
            call.finish(complete)
        self._waiting.clear()
        self._read_later()
        self._end_text(complete)
        self.blocks.close_text(complete=complete)

    def _read_calls(self) -> None:
        while self._waiting:
            call = self._waiting[0]
            call.read()
            if not call.closed:
                return
            del self._waiting[0]
        self._read_later()

    def _read_later(self) -> None:
        text = "".join(self._later)
        self._later.clear()
        self._text.feed(text)

    def _end_text(self, complete: bool) -> None:
        text = self._text
        text.finish(complete)
        self._text = AnswerText(self._canonical, self.blocks, thinking=text.thinking.on)
