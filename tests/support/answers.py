"""A parser of answers whose events are kept, and held against their grammar."""

from oi_tui.app.engine.core.chat_model import ToolDelta
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    ThoughtFinished,
    ThoughtGrew,
    ThoughtRecognised,
    ThoughtStarted,
)
from oi_tui.app.engine.parsing.calls import Canonical
from oi_tui.app.engine.parsing.parser import AnswerParser

Piece = ProseGrew | ThoughtGrew | ThoughtRecognised | CodeStarted | CodeGrew | CodeFinished


class AnswerReader:
    """Gives what comes of each part, without the ids of blocks; that prose begins and ends is only checked."""

    def __init__(self, canonical: Canonical) -> None:
        self._parser = AnswerParser(canonical, self._take)
        self._pieces: list[Piece] = []
        self._open = ""
        self._kind: type[AnyEvent] | None = None
        """What opened it."""
        self._prose: list[str] = []
        self._finished: dict[str, CodeFinished] = {}

    @property
    def runnable(self) -> list[tuple[str, str]]:
        """Language and source of the code, up to here, that may be run."""
        blocks = self._parser.blocks
        whole = [block_id for block_id, code in self._finished.items() if code.complete]
        assert sorted([*blocks.code, *blocks.thought]) == sorted(whole)
        assert all(self._finished[block_id].source == source for block_id, source in blocks.thought.items())
        return [(self._finished[block_id].language, self._finished[block_id].source) for block_id in blocks.code]

    def feed(self, text: str) -> list[Piece]:
        """More text of the answer."""
        self._parser.feed(text)
        return self._new()

    def feed_thought(self, text: str) -> list[Piece]:
        """More of what the model thinks, told apart by its server."""
        self._parser.feed_thought(text)
        return self._new()

    def feed_call(self, delta: ToolDelta) -> list[Piece]:
        """A fragment of a native call."""
        self._parser.feed_call(delta)
        return self._new()

    def finish(self, complete: bool = True) -> list[Piece]:
        """The end of the answer."""
        self._parser.finish(complete)
        assert not self._open
        return self._new()

    def _new(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _take(self, event: AnyEvent) -> None:
        match event:
            case ProseStarted() | ThoughtStarted() | CodeStarted():
                assert not self._open
                self._open, self._kind = event.block_id, type(event)
            case ProseGrew() | ThoughtGrew() | CodeGrew() | CodeFinished() | ProseFinished() | ThoughtFinished():
                assert event.block_id == self._open
                assert self._kind is not None
                assert self._kind.__name__[:4] == type(event).__name__[:4]
            case ThoughtRecognised():
                assert not self._open
                assert event.block_ids
                assert set(event.block_ids) <= set(self._prose)
            case _:
                raise AssertionError(event)
        match event:
            case ProseStarted():
                self._prose.append(event.block_id)
            case ProseGrew():
                self._pieces.append(ProseGrew(block_id="", text=event.text))
            case ThoughtGrew():
                self._pieces.append(ThoughtGrew(block_id="", text=event.text))
            case ThoughtRecognised():
                numbers = tuple(str(self._prose.index(block_id)) for block_id in event.block_ids)
                self._pieces.append(ThoughtRecognised(block_ids=numbers))
            case CodeStarted():
                self._pieces.append(CodeStarted(block_id="", language=event.language, call_id=event.call_id))
            case CodeGrew():
                self._pieces.append(CodeGrew(block_id="", text=event.text))
            case CodeFinished():
                self._open = ""
                self._finished[event.block_id] = event
                finished = CodeFinished(
                    block_id="", language=event.language, source=event.source, complete=event.complete
                )
                self._pieces.append(finished)
            case ProseFinished() | ThoughtFinished():
                self._open = ""
            case _:
                pass


def merged(pieces: list[Piece]) -> list[Piece]:
    """Neighbours of one kind joined: what must not depend on the cuts."""
    result: list[Piece] = []
    for piece in pieces:
        last = result[-1] if result else None
        match last, piece:
            case ProseGrew(text=before), ProseGrew(text=more):
                result[-1] = ProseGrew(block_id="", text=before + more)
            case ThoughtGrew(text=before), ThoughtGrew(text=more):
                result[-1] = ThoughtGrew(block_id="", text=before + more)
            case CodeGrew(text=before), CodeGrew(text=more):
                result[-1] = CodeGrew(block_id="", text=before + more)
            case _:
                result.append(piece)
    return result
