"""Collects what has been read of an answer as pieces, in their grammar."""

from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.parsing.calls import Call, Canonical
from oi_tui.app.engine.parsing.code_repair import repair_code
from oi_tui.app.engine.parsing.pieces import CodeClosed, CodeOpened, CodeText, Piece, ProseText, ThinkingEnded


class PieceList:
    """The pieces since the last `taken`."""

    def __init__(self, canonical: Canonical) -> None:
        self._canonical = canonical
        self._pieces: list[Piece] = []
        self._run = ProseRun()

    def prose(self, text: str) -> None:
        """More prose."""
        text = self._run.grow(text)
        if text:
            self._pieces.append(ProseText(text=text))

    def open(self, language: Language) -> None:
        """Code begins; the run of prose before it is over."""
        self._run.end()
        self._pieces.append(CodeOpened(language=language))

    def code(self, text: str) -> None:
        """More of the code that is open."""
        if text:
            self._pieces.append(CodeText(text=text))

    def close(self, language: Language, source: str, *, complete: bool) -> None:
        """The code is over, and this is what was meant by it."""
        language, source = repair_code(language, source, self._canonical)
        self._pieces.append(CodeClosed(language=language, source=source, complete=complete))

    def end_thinking(self) -> None:
        """All before was thinking."""
        self._pieces.append(ThinkingEnded())

    def call(self, call: Call, *, complete: bool) -> None:
        """Code that came at once, as a call."""
        self.open(call.language)
        self.code(call.source)
        self.close(call.language, call.source, complete=complete)

    def take(self) -> list[Piece]:
        """The pieces; after this there are none."""
        pieces, self._pieces = self._pieces, []
        return pieces


class ProseRun:
    """Prose between two codes: no blank lines at its edges, and none at all if nothing but blanks came."""

    def __init__(self) -> None:
        self._begun = False
        self._blank: list[str] = []

    def grow(self, text: str) -> str:
        """The part of the run that is certain with this text."""
        body = text.rstrip()
        if not body:
            self._blank.append(text)
            return ""
        whole = "".join(self._blank) + body
        self._blank = [text[len(body) :]]
        if not self._begun:
            self._begun = True
            whole = whole[whole.rfind("\n", 0, len(whole) - len(whole.lstrip())) + 1 :]
        return whole

    def end(self) -> None:
        """Code comes; what follows it is another run."""
        self._begun = False
        self._blank.clear()
