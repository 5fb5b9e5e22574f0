"""One answer of the model while it streams: deltas in, events out."""

import time
from collections.abc import Callable, Container

import msgspec

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerNote,
    AnswerUsage,
    Delta,
    Retrying,
    SealDelta,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallStarted,
    CodeStarted,
    DecisionMade,
    Emit,
    NoticeAdded,
    ThoughtFinished,
    ThoughtsSealed,
    ThoughtStarted,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.parsing.parser import AnswerParser

THOUGHT = "it was part of the model's thinking"


class AnswerStream:
    """Emits the blocks that the deltas make up; whatever happens, `close` leaves none open."""

    def __init__(
        self,
        canonical: Callable[[str], Language | None],
        emit: Emit,
        tools: Container[str] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tools` are the names of those that may be called beside `execute`."""
        self.truncated = False
        """Whether the model stopped at its token limit."""
        self._emit = emit
        self._parser = AnswerParser(canonical, self._emit_timed, tools)
        self._clock = clock
        self._thinks_since = 0.0
        self._first_call = ""
        """Block of the first native call, \"\" while there is none."""
        self._seal: SealDelta | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing at all has come."""
        return self._parser.blocks.empty

    @property
    def remark(self) -> tuple[str, str] | None:
        """A note about the answer for the person, and what to do."""
        if self.truncated:
            title = "The answer was cut: the model reached its limit of output tokens."
            return title, "Type /retry to continue."
        return ("The model sent an empty answer.", "Type /retry to ask again.") if self.empty else None

    def take(self, delta: Delta) -> None:
        """Emit what this delta changes."""
        match delta:
            case TextDelta():
                self._parser.feed(delta.text)
            case ThoughtDelta():
                self._parser.feed_thought(delta.text)
            case ToolDelta():
                self._parser.feed_call(delta)
            case SealDelta():
                self._seal = delta
            case Retrying():
                self._emit(delta.event())
            case AnswerNote():
                self._emit(NoticeAdded(block_id=new_id(), level="info", title=delta.title))
            case AnswerUsage():
                self._emit(delta.event())
            case AnswerEnded():
                self.truncated = delta.reason == "length"

    def close(self, *, complete: bool) -> None:
        """The answer is over: an interrupted block (also by the token limit) is marked, code in a thought refused."""
        self._parser.finish(complete and not self.truncated)
        if self._seal is not None and self._first_call:
            self._emit(ThoughtsSealed(block_id=self._first_call, thoughts=self._seal.thoughts))
        for block_id, source in self._parser.blocks.thought.items():
            self._emit(DecisionMade(block_id=block_id, verdict="skip", decider="rule", source=source, reason=THOUGHT))

    def _emit_timed(self, event: AnyEvent) -> None:
        """Emit an event, with how long the model thought."""
        match event:
            case ThoughtStarted():
                self._thinks_since = self._clock()
            case ThoughtFinished():
                event = msgspec.structs.replace(event, seconds=self._clock() - self._thinks_since)
            case CodeStarted(call_id=str()) | CallStarted(call_id=str()):
                self._first_call = self._first_call or event.block_id
            case _:
                pass
        self._emit(event)
