"""The blocks of one answer, as events, while it is read.

All prose between two codes (or the ends of the answer) is one block. There is text in it: blank lines between two codes
are no prose, nor are those at the edges of a block.
"""

import msgspec

from oi_tui.app.engine.core.chat_model import FENCED_CALLS
from oi_tui.app.engine.core.events import (
    CallFinished,
    CallGrew,
    CallStarted,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    Emit,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    ThoughtFinished,
    ThoughtGrew,
    ThoughtRecognised,
    ThoughtStarted,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.parsing.calls import Call, Canonical
from oi_tui.app.engine.parsing.code_repair import repair_code


class AnswerBlocks:
    """Opens a prose block when prose comes and closes it before code."""

    def __init__(self, canonical: Canonical, emit: Emit) -> None:
        self.code: dict[str, str] = {}
        """The sources of the actions that may be run, in order, each by its id."""
        self.thought: dict[str, str] = {}
        """Those of the actions that are whole, but were the model's thinking: never to be run."""
        self.empty = True
        """Whether nothing at all has come."""
        self._canonical = canonical
        self._emit = emit
        self._prose = ""
        """The id of the prose block that is open, "" if none is."""
        self._said: list[str] = []
        """The ids of all prose blocks."""
        self._thought = ""
        """The id of the thought that is open, "" if none is."""
        self._prose_from: object = None
        """What its last text came from."""
        self._open_code = self._open_call = ""

    def prose(self, text: str, origin: object) -> None:
        """More prose; a blank line comes before that of another origin."""
        self.empty = False
        if not self._prose:
            self.close_thought(complete=True)
            self._prose = new_id()
            self._said.append(self._prose)
            self._emit(ProseStarted(block_id=self._prose))
        elif self._prose_from is not origin:
            text = f"\n\n{text}"
        self._prose_from = origin
        self._emit(ProseGrew(block_id=self._prose, text=text))

    def think(self, text: str) -> None:
        """More of a thought; blank lines before it are none."""
        if not self._thought:
            text = text.lstrip()
            if not text:
                return
            self.close_prose(complete=True)
            self._thought = new_id()
            self._emit(ThoughtStarted(block_id=self._thought))
        self._emit(ThoughtGrew(block_id=self._thought, text=text))

    def close_prose(self, *, complete: bool) -> None:
        """The prose block that is open, if any, is over."""
        block_id, self._prose = self._prose, ""
        if block_id:
            self._emit(ProseFinished(block_id=block_id, complete=complete))

    def close_thought(self, *, complete: bool) -> None:
        """The thought that is open, if any, is over."""
        block_id, self._thought = self._thought, ""
        if block_id:
            self._emit(ThoughtFinished(block_id=block_id, complete=complete))

    def close_text(self, *, complete: bool) -> None:
        """The open prose or thought, if any, is complete."""
        self.close_thought(complete=complete)
        self.close_prose(complete=complete)

    def open(self, language: Language, call_id: str | None = None) -> None:
        """Code begins that can be run here; `call_id` is that of the native call that it comes in."""
        if language in FENCED_CALLS:
            self.open_call(language, call_id)
            return
        self.empty = False
        self.close_text(complete=True)
        self._open_code = new_id()
        self._emit(CodeStarted(block_id=self._open_code, language=language, call_id=call_id))

    def grow(self, text: str) -> None:
        """More of the code that is open."""
        if text and self._open_call:
            self.grow_call(text)
        elif text:
            self._emit(CodeGrew(block_id=self._open_code, text=text))

    def close(self, language: Language, source: str, *, complete: bool, thought: bool = False) -> None:
        """The code is complete, and this is its source; if not `complete`, or `thought`, it never runs."""
        if language in FENCED_CALLS:
            text = {FENCED_CALLS[language]: source.strip()}
            fields = source if source.lstrip().startswith("{") else msgspec.json.encode(text).decode()
            self.close_call(language, fields, complete=complete, thought=thought)
            return
        language, source = repair_code(language, source, self._canonical)
        if complete:
            (self.thought if thought else self.code)[self._open_code] = source
        self._emit(CodeFinished(block_id=self._open_code, language=language, source=source, complete=complete))

    def open_call(self, tool: str, call_id: str | None) -> None:
        """A call begins of a tool that is here."""
        self.empty = False
        self.close_text(complete=True)
        self._open_call = new_id()
        self._emit(CallStarted(block_id=self._open_call, tool=tool, call_id=call_id))

    def grow_call(self, text: str) -> None:
        """More of the arguments of the call that is open."""
        if text:
            self._emit(CallGrew(block_id=self._open_call, text=text))

    def close_call(self, tool: str, arguments: str, *, complete: bool, thought: bool = False) -> None:
        """The call is complete. If the arguments are no JSON object it never runs; JSON is pretty-printed for
        people."""
        source = arguments
        try:
            plain = msgspec.json.encode(msgspec.json.decode(arguments, type=dict))
            source = msgspec.json.format(plain, indent=2).decode()
        except (msgspec.DecodeError, RecursionError):
            complete = False
        if complete:
            (self.thought if thought else self.code)[self._open_call] = source
        self._emit(CallFinished(block_id=self._open_call, tool=tool, source=source, complete=complete))
        self._open_call = ""

    def recognise_thought(self) -> None:
        """All text before was the model's thinking, though it was not marked as such."""
        self.close_text(complete=True)
        if self._said:
            self._emit(ThoughtRecognised(block_ids=tuple(self._said)))
            self._said.clear()
        self.thought |= self.code
        self.code.clear()


class TextBlocks:
    """The blocks that the text of an answer gives, in which prose has no blank lines at its edges."""

    def __init__(self, blocks: AnswerBlocks) -> None:
        self._blocks = blocks
        self._begun = False
        self._blank: list[str] = []

    def prose(self, text: str) -> None:
        """More prose; what is certain of it with this text is passed on."""
        self.say(text, thought=False)

    def say(self, text: str, *, thought: bool) -> None:
        """The same for prose, or for what the model thinks."""
        body = text.rstrip()
        if not body:
            self._blank.append(text)
            return
        whole = "".join(self._blank) + body
        self._blank = [text[len(body) :]]
        if not self._begun:
            self._begun = True
            whole = whole[whole.rfind("\n", 0, len(whole) - len(whole.lstrip())) + 1 :]
        if thought:
            self._blocks.think(whole)
        else:
            self._blocks.prose(whole, self)

    def turn(self) -> None:
        """Change from prose to a thought, or back."""
        self._begun = False
        self._blank.clear()
        self._blocks.close_text(complete=True)

    def open(self, language: Language) -> None:
        """Begin code; text after it is a new block of prose."""
        self._begun = False
        self._blank.clear()
        self._blocks.open(language)

    def call(self, call: Call, *, complete: bool) -> None:
        """Code that came at once, as a call."""
        self.open(call.language)
        self._blocks.grow(call.source)
        self._blocks.close(call.language, call.source, complete=complete)
