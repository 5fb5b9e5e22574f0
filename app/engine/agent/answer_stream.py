"""One answer of the model while it streams: deltas in, block events out."""

from collections.abc import Callable, Iterator

from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, Delta, Retrying, TextDelta, ToolDelta
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    DecisionMade,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    RetryScheduled,
    UsageReported,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.parsing.parser import (
    AnswerParser,
    CodeClosed,
    CodeOpened,
    CodeText,
    Piece,
    ProseText,
    ThinkingEnded,
)

THOUGHT = "it stood in the model's thinking"


class AnswerStream:
    """Opens a prose block when prose comes and closes it before code; whatever happens, `close` leaves none open."""

    def __init__(self, canonical: Callable[[str], Language | None]) -> None:
        self.empty = True
        """Whether nothing at all has come."""
        self.truncated = False
        """Whether the model said that it had to stop at its token limit."""
        self._parser = AnswerParser(canonical)
        self._whole: dict[str, str] = {}
        """The sources of the code blocks that were not broken off."""
        self._thought: dict[str, str] = {}
        """Those that turned out to be the model's thinking: never to be run."""
        self._prose: str | None = None
        self._code = ""

    def events(self, delta: Delta) -> Iterator[AnyEvent]:
        """What this delta changes."""
        match delta:
            case TextDelta():
                yield from self._pieces(self._parser.feed(delta.text))
            case ToolDelta():
                yield from self._pieces(self._parser.feed_call(delta))
            case Retrying():
                yield RetryScheduled(delay=delta.delay, why=delta.why)
            case AnswerUsage():
                yield UsageReported(
                    input_tokens=delta.input_tokens,
                    output_tokens=delta.output_tokens,
                    cost=delta.cost,
                    estimated=delta.estimated,
                )
            case AnswerEnded():
                self.truncated = delta.reason == "length"

    @property
    def remark(self) -> tuple[str, str] | None:
        """What the person should know of it, and what to do."""
        if self.truncated:
            title = "The answer was cut: the model reached its limit of output tokens."
            return title, "Type /retry to let it go on."
        return ("The model answered with nothing.", "Type /retry to ask again.") if self.empty else None

    def close(self, *, complete: bool) -> Iterator[AnyEvent]:
        """The answer is over: what was broken off (also by the token limit) is marked so, what was thought refused."""
        complete = complete and not self.truncated
        yield from self._pieces(self._parser.finish(complete))
        yield from self._close_prose(complete=complete)
        for block_id, source in self._thought.items():
            yield DecisionMade(block_id=block_id, verdict="skip", decider="rule", source=source, reason=THOUGHT)

    def _pieces(self, pieces: list[Piece]) -> Iterator[AnyEvent]:
        for piece in pieces:
            self.empty = False
            match piece:
                case ProseText():
                    if self._prose is None:
                        self._prose = new_id()
                        yield ProseStarted(block_id=self._prose)
                    yield ProseGrew(block_id=self._prose, text=piece.text)
                case CodeOpened():
                    yield from self._close_prose(complete=True)
                    self._code = new_id()
                    yield CodeStarted(block_id=self._code, language=piece.language, call_id=piece.call_id)
                case CodeText():
                    yield CodeGrew(block_id=self._code, text=piece.text)
                case CodeClosed():
                    yield CodeFinished(
                        block_id=self._code, language=piece.language, source=piece.source, complete=piece.complete
                    )
                    if piece.complete:
                        (self._thought if piece.thought else self._whole)[self._code] = piece.source
                case ThinkingEnded():
                    self._thought |= self._whole

    def _close_prose(self, *, complete: bool) -> Iterator[AnyEvent]:
        if self._prose is not None:
            yield ProseFinished(block_id=self._prose, complete=complete)
            self._prose = None
