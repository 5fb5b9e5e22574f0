"""The parser of answers: deltas of a model in, pieces of prose and code out.

Whatever the cuts between the deltas, the pieces are the same once neighbours of one kind are joined, and
every character of the answer is in one of them, but for the fence lines of code and blank lines around it.
"""

from oi_tui.app.engine.core.chat_model import ToolDelta
from oi_tui.app.engine.parsing.answer_text import AnswerText
from oi_tui.app.engine.parsing.calls import Canonical
from oi_tui.app.engine.parsing.native_calls import NativeCall
from oi_tui.app.engine.parsing.pieces import CodeClosed, CodeOpened, CodeText, Piece, ProseText, ThinkingEnded

__all__ = ["AnswerParser", "CodeClosed", "CodeOpened", "CodeText", "Piece", "ProseText", "ThinkingEnded"]


class AnswerParser:
    """Reads one answer. Native calls come out one after the other, in order, however their fragments arrive.

    A native call ends the text before it; text that arrives before a call is over comes out behind it.
    """

    def __init__(self, canonical: Canonical) -> None:
        """`canonical` says which language that runs here a label of the model means, if any."""
        self._canonical = canonical
        self._text = AnswerText(canonical)
        self._calls: dict[int, NativeCall] = {}
        """The latest call of each index."""
        self._waiting: list[NativeCall] = []
        """Calls that are not over; the first is the one that is read."""
        self._later: list[str] = []
        self._prose_from: object = None
        """What the last prose came from, None after code."""

    def feed(self, text: str) -> list[Piece]:
        """More text of the answer."""
        if self._waiting:
            self._later.append(text)
            return []
        return self._join(self._text, self._text.feed(text))

    def feed_call(self, delta: ToolDelta) -> list[Piece]:
        """A fragment of a native call."""
        pieces: list[Piece] = []
        call = self._calls.get(delta.index)
        if call is None or (delta.id and call.id and delta.id != call.id):
            if not self._waiting:
                pieces = self._end_text(complete=True)
            call = self._calls[delta.index] = NativeCall(self._canonical, thought=self._text.thinking.on)
            self._waiting.append(call)
        call.add(call_id=delta.id, name=delta.name, arguments=delta.arguments)
        return pieces + self._read_calls()

    def finish(self, complete: bool = True) -> list[Piece]:
        """The end of the answer; not `complete` if it was broken off or cut by a limit."""
        pieces: list[Piece] = []
        for call in self._waiting:
            pieces += self._join(call, call.finish(complete))
        self._waiting.clear()
        return pieces + self._read_later() + self._end_text(complete)

    def _read_calls(self) -> list[Piece]:
        pieces: list[Piece] = []
        while self._waiting:
            call = self._waiting[0]
            pieces += self._join(call, call.read())
            if not call.closed:
                return pieces
            del self._waiting[0]
        return pieces + self._read_later()

    def _read_later(self) -> list[Piece]:
        text = "".join(self._later)
        self._later.clear()
        return self._join(self._text, self._text.feed(text))

    def _end_text(self, complete: bool) -> list[Piece]:
        text = self._text
        pieces = self._join(text, text.finish(complete))
        self._text = AnswerText(self._canonical, thinking=text.thinking.on)
        return pieces

    def _join(self, origin: object, pieces: list[Piece]) -> list[Piece]:
        """The pieces, with a blank line where prose of one origin follows prose of another."""
        joined: list[Piece] = []
        for piece in pieces:
            if isinstance(piece, ProseText):
                if self._prose_from not in (None, origin):
                    joined.append(ProseText(text="\n\n"))
                self._prose_from = origin
            elif not isinstance(piece, ThinkingEnded):
                self._prose_from = None
            joined.append(piece)
        return joined
