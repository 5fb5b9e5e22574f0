"""What is read off the events of a session for the list and the search, and how its log gets shorter. Pure.

A `Digest` takes events in order. What it found is taken off it: texts to be searched, running totals, and pieces that
became one: once a block is complete, the pieces in which it streamed say nothing that the whole does not say.
"""

from typing import NamedTuple

import msgspec

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CallFinished,
    CallGrew,
    CodeFinished,
    CodeGrew,
    ConversationCleared,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    SessionOpened,
    SettingsChanged,
    ThoughtFinished,
    ThoughtGrew,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamName, StreamOutput
from oi_tui.app.engine.core.session_records import HitKind
from oi_tui.app.engine.log.store.words import OUTPUT_LIMIT, middle_out, searchable
from oi_tui.app.engine.text.mime import apply_carriage_returns, without_escapes
from oi_tui.app.engine.text.safe import visible_text


class FoundText(NamedTuple):
    """A text to be searched, instead of the one that this block had of this kind."""

    kind: HitKind
    block_id: str
    seq: int
    at: float
    text: str


class Merged(NamedTuple):
    """Rows that are replaced by one: `event` takes the place of the first (None: no row is needed)."""

    seqs: tuple[int, ...]
    event: AnyEvent | None


class Totals(msgspec.Struct):
    """Totals of a session so far."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    model: str = ""

    def take(self, event: AnyEvent) -> None:
        match event:
            case TurnStarted():
                self.turns += 1
            case UsageReported():
                self.input_tokens += event.input_tokens
                self.output_tokens += event.output_tokens
                if event.cost is not None:
                    self.cost = (self.cost or 0.0) + event.cost
            case SessionOpened(model=model) | SettingsChanged(model=model) if model:
                self.model = model
            case ConversationCleared():
                self.turns = 0
            case _:
                pass


class _Growing(msgspec.Struct):
    """A run of neighbouring pieces."""

    seqs: list[int] = msgspec.field(default_factory=list)
    texts: list[str] = msgspec.field(default_factory=list)

    def add(self, seq: int, text: str) -> None:
        self.seqs.append(seq)
        self.texts.append(text)


class _Run(msgspec.Struct):
    """A code block while its events are read."""

    lines: list[int] = msgspec.field(default_factory=list)
    """Rows that say which line is active."""
    words: str = ""
    stream: StreamName | None = None
    """The one that grows, None after anything else."""
    growing: _Growing = msgspec.field(default_factory=_Growing)


class Digest:
    """Reads one session; `settled` when everything that was begun is complete."""

    def __init__(self) -> None:
        self.texts: list[FoundText] = []
        self.merged: list[Merged] = []
        self.cleared = False
        """Whether the earlier conversation is forgotten."""
        self._prose: dict[str, _Growing] = {}
        self._thoughts: dict[str, _Growing] = {}
        self._code: dict[str, _Growing] = {}
        self._runs: dict[str, _Run] = {}

    @property
    def is_settled(self) -> bool:
        """Whether nothing is half open: what comes next can be read without what came before."""
        return not (self._prose or self._thoughts or self._code or self._runs)

    def take(self, seq: int, at: float, event: AnyEvent) -> None:
        """The next event, which is row `seq`."""
        match event:
            case TurnStarted(block_id=block_id, text=text):
                self._find("prompt", block_id, seq, at, text)
            case ProseStarted(block_id=block_id):
                self._prose[block_id] = _Growing()
            case ProseGrew(block_id=block_id, text=text):
                self._prose.setdefault(block_id, _Growing()).add(seq, text)
            case ProseFinished(block_id=block_id):
                self._end_prose(block_id, seq, at)
            case ThoughtGrew(block_id=block_id, text=text):
                self._thoughts.setdefault(block_id, _Growing()).add(seq, text)
            case ThoughtFinished(block_id=block_id):
                self._end_thought(block_id)
            case CodeGrew(block_id=block_id, text=text) | CallGrew(block_id=block_id, text=text):
                self._code.setdefault(block_id, _Growing()).add(seq, text)
            case CodeFinished(block_id=block_id, source=source) | CallFinished(block_id=block_id, source=source):
                self._end_code(block_id)
                self._find("code", block_id, seq, at, source)
            case DecisionMade(block_id=block_id, verdict="edit", source=source):
                self._find("code", block_id, seq, at, source)
            case ExecutionStarted(block_id=block_id):
                self._runs[block_id] = _Run()
            case ActiveLineChanged(block_id=block_id) if block_id in self._runs:
                self._runs[block_id].lines.append(seq)
            case OutputAdded(block_id=block_id, output=output):
                self._output(seq, block_id, output)
            case OutputsCleared(block_id=block_id) | OutputTailMoved(block_id=block_id):
                self._between(event, block_id)
            case OutputUpdated(block_id=block_id, output=output) if block_id in self._runs:
                self._say(self._runs[block_id], output)
            case ExecutionFinished(block_id=block_id):
                self._end_run(block_id, seq, at)
            case ConversationCleared():
                self._forget()
            case TurnEnded() | SessionOpened():
                self._settle(seq, at)
            case _:
                pass

    def take_texts(self) -> tuple[list[FoundText], list[Merged], bool]:
        """The changes since the last call: texts, merged rows, whether earlier texts are forgotten."""
        found = self.texts, self.merged, self.cleared
        self.texts, self.merged, self.cleared = [], [], False
        return found

    def _find(self, kind: HitKind, block_id: str, seq: int, at: float, text: str) -> None:
        seen = visible_text(text, emoji=True).text if kind == "code" else text
        if clean := searchable(seen).strip():
            self.texts.append(FoundText(kind, block_id, seq, at, clean))

    def _end_prose(self, block_id: str, seq: int, at: float) -> None:
        growing = self._prose.pop(block_id, None)
        if growing is None:
            return
        text = "".join(growing.texts)
        if len(growing.seqs) > 1:
            self.merged.append(Merged(tuple(growing.seqs), ProseGrew(block_id=block_id, text=text)))
        self._find("answer", block_id, seq, at, text)

    def _end_thought(self, block_id: str) -> None:
        """Thoughts are kept, but not searched: they are no message."""
        growing = self._thoughts.pop(block_id, None)
        if growing is not None and len(growing.seqs) > 1:
            text = "".join(growing.texts)
            self.merged.append(Merged(tuple(growing.seqs), ThoughtGrew(block_id=block_id, text=text)))

    def _end_code(self, block_id: str) -> None:
        """`CodeFinished` has the whole source and replaces its pieces."""
        if (growing := self._code.pop(block_id, None)) is not None:
            self.merged.append(Merged(tuple(growing.seqs), None))

    def _output(self, seq: int, block_id: str, output: Output) -> None:
        if (run := self._runs.get(block_id)) is None:
            return  # late output is neither searched nor merged
        match output:
            case StreamOutput(name=name, text=text, tail=None):
                if name != run.stream:
                    self._end_stream(block_id, run)
                run.stream = name
                run.growing.add(seq, text)
            case _:
                self._end_stream(block_id, run)
        self._say(run, output)

    def _between(self, event: OutputsCleared | OutputTailMoved, block_id: str) -> None:
        """The text of a stream does not join the text before this."""
        if (run := self._runs.get(block_id)) is None:
            return
        self._end_stream(block_id, run)
        match event:
            case OutputsCleared():
                run.words = ""
            case OutputTailMoved(tail=tail):
                run.words = middle_out(run.words + "\n" + tail.text, OUTPUT_LIMIT)

    def _end_stream(self, block_id: str, run: _Run) -> None:
        seqs, texts = run.growing.seqs, run.growing.texts
        if run.stream is not None and len(seqs) > 1:
            output = StreamOutput(name=run.stream, text="".join(texts))
            self.merged.append(Merged(tuple(seqs), OutputAdded(block_id=block_id, output=output)))
        run.growing, run.stream = _Growing(), None

    def _say(self, run: _Run, output: Output) -> None:
        match output:
            case StreamOutput(text=text):
                words = text
            case ErrorOutput():
                words = "\n" + ("\n".join(output.traceback) or f"{output.name}: {output.value}")
            case RichOutput(data={"text/plain": str(text)}) | RichOutput(data={"text/markdown": str(text)}):
                words = f"\n{text}\n"
            case _:
                return
        run.words = middle_out(run.words + middle_out(words, OUTPUT_LIMIT), 2 * OUTPUT_LIMIT)

    def _end_run(self, block_id: str, seq: int, at: float) -> None:
        if (run := self._runs.pop(block_id, None)) is None:
            return
        self._end_stream(block_id, run)
        if run.lines:
            self.merged.append(Merged(tuple(run.lines), None))
        words = middle_out(apply_carriage_returns(without_escapes(run.words)), OUTPUT_LIMIT)
        self._find("output", block_id, seq, at, words)

    def _forget(self) -> None:
        self.cleared = True
        self.texts.clear()
        self._prose.clear()
        self._thoughts.clear()
        self._code.clear()
        self._runs.clear()

    def _settle(self, seq: int, at: float) -> None:
        """Everything begun and never ended is over."""
        for block_id in tuple(self._prose):
            self._end_prose(block_id, seq, at)
        for block_id in tuple(self._thoughts):
            self._end_thought(block_id)
        for block_id, growing in tuple(self._code.items()):
            self._find("code", block_id, seq, at, "".join(growing.texts))
        self._code.clear()
        for block_id in tuple(self._runs):
            self._end_run(block_id, seq, at)
