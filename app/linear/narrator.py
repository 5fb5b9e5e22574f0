"""The events of a session as lines: each is written once, and says what it is about."""

import time
from collections.abc import Callable, Iterable

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CodeFinished,
    ContextCompacted,
    ConversationCleared,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    FilesWritten,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    RerunFinished,
    RetryScheduled,
    SecretsWithheld,
    SettingsChanged,
    StepStarted,
    SummaryEnded,
    SummaryStarted,
    ThoughtStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamName, StreamOutput, WrittenFiles
from oi_tui.app.engine.text.safe import collapse_blanks, safe_text, visible_text
from oi_tui.app.engine.text.words import one_line, quantity, size_in_words, some_names
from oi_tui.app.engine.transcript.serial_runs import SerialRuns
from oi_tui.app.linear.output_words import StreamLines, error_lines, name_columns, rich_lines, stream_label
from oi_tui.app.linear.prose_words import Sentences
from oi_tui.app.linear.spoken import ENDED, STOPPED, Patience, spoken_time

RESULTS = 20
"""Results of one run that are printed; further ones share the limit of other output."""

DETAILS = 8
"""Lines of a notice's details that are printed."""


class Narrator:
    """Tells one session to `say`, which takes a text of one or several lines."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self.patience = Patience(clock)
        self._serial = SerialRuns()
        self._numbers: dict[str, int] = {}
        """By the id of an action: its number, from 1."""
        self._prose = Sentences()
        self._streams: dict[StreamName, StreamLines] = {}
        self._stream: StreamName | None = None
        """The stream whose label was printed last."""
        self._place = ""
        """Where code ran last."""
        self._results = 0
        """Those of this run."""
        self._over: set[str] = set()
        """Runs that have ended, of which it was not said which files they left."""
        self._settings: tuple[str, str] = ("", "")
        self._waiting: list[str] = []
        """Prompts that were sent while a turn ran."""

    # -- numbers ------------------------------------------------------------------------------------------

    def begin(self, blocks: Iterable[Block]) -> None:
        """Begin another session, which has these blocks."""
        self._numbers = {}
        self._over = set()
        self._settings = ("", "")
        self._streams, self._prose = {}, Sentences()
        self.patience.end()
        for block in blocks:
            if isinstance(block, Action):
                self.number_of(block.id)

    def know(self, model: str, approval: str) -> None:
        """Set model and approval mode, which were printed already."""
        self._settings = (model, approval)

    def number_of(self, block_id: str) -> int:
        """The number by which an action is called; a new one gets the next."""
        return self._numbers.setdefault(block_id, len(self._numbers) + 1)

    def block_id(self, number: int) -> str | None:
        """The action with this number."""
        return next((block_id for block_id, one in self._numbers.items() if one == number), None)

    @property
    def count(self) -> int:
        """The highest number that an action has."""
        return len(self._numbers)

    # -- events -------------------------------------------------------------------------------------------

    def expect(self, prompt: str) -> None:
        """A prompt waits: it is printed when its turn comes."""
        self._waiting.append(prompt)

    def remind(self) -> None:
        """Print that something still runs, if it is time to."""
        if said := self.patience.reminder():
            newest = next((stream.newest for stream in self._streams.values() if stream.newest), "")
            self._say(f"{said}{f': {newest}' if newest else ''}.")

    def tell(self, event: AnyEvent) -> None:
        """Print an event; events of runs that go side by side, one run after the other."""
        for one in self._serial.in_order(event):
            self._tell(one)

    def _tell(self, event: AnyEvent) -> None:
        match event:
            case TurnStarted():
                self._tell_prompt(event)
            case StepStarted():
                self.patience.begin("Still waiting for the model")
            case ThoughtStarted():
                self._say("The model is thinking.")
                self.patience.begin("The model is still thinking")
            case ProseStarted():
                self._prose = Sentences()
                self._say("Answer:")
                self.patience.end()
            case ProseGrew():
                self._say_all(self._prose.feed(event.text))
            case ProseFinished():
                self._say_all(self._prose.finish())
                if not event.complete:
                    self._say("The answer was cut off here.")
            case CodeFinished() | CallFinished():
                self._tell_source(event)
            case DecisionMade():
                self._tell_decision(event)
            case (
                ExecutionStarted()
                | OutputAdded()
                | OutputUpdated()
                | OutputsCleared()
                | OutputTailMoved()
                | OutputKept()
                | OutputDropped()
                | ExecutionFinished()
                | InputRequested()
            ):
                self._tell_run(event)
            case FilesWritten() if event.block_id in self._over:
                self._over.remove(event.block_id)  # it comes again when changes are undone, which a notice says
                self._tell_written(f"Code {self.number_of(event.block_id)}", event.written)
            case TurnEnded():
                self.patience.end()
                detail = f" {one_line(event.detail)}" if event.detail else ""
                self._say(f"{STOPPED[event.reason]}{detail}")
            case _:
                self._tell_aside(event)

    def _tell_aside(self, event: AnyEvent) -> None:
        """Print an event beside the conversation."""
        match event:
            case NoticeAdded():
                kind = {"info": "Note", "warning": "Warning", "error": "Error"}[event.level]
                hint = f" {event.hint}" if event.hint else ""
                self._say(f"{kind}: {event.title}{hint}")
                lines = name_columns([line for line in event.details.strip().split("\n") if line.strip()])
                self._say_all([*lines[:DETAILS], *([f"… {len(lines) - DETAILS} more"] if len(lines) > DETAILS else [])])
            case RetryScheduled():
                count = f", attempt {event.attempt} of {event.attempts}" if event.attempt else ""
                self._say(f"The model did not answer: {event.why}. Asked again in {spoken_time(event.delay)}{count}.")
            case KernelChanged(state="starting"):
                detail = f", {event.detail}" if event.detail else ""
                self._say(f"Starting {event.language}{detail}.")
            case KernelChanged(state="dead"):
                self._say(f"The kernel of {event.language} ended.")
            case SettingsChanged():
                self._tell_settings(event)
            case SecretsWithheld() if event.names:
                self._say(f"Withheld from the model: {', '.join(event.names)}.")
            case SummaryStarted():
                self._say(f"Summarising {quantity(event.turns, 'turn')} for the model.")
                self.patience.begin("Still summarising")
            case ContextCompacted():
                self._say("The model reads a summary of what was before from now on. The session keeps all of it.")
            case SummaryEnded():
                self.patience.end()
            case RerunFinished():
                self._say(f"Code {self.number_of(event.block_id)} ran again: {event.outcome}.")
            case ConversationCleared():
                self._numbers.clear()
                self._say("The conversation is cleared.")
            case _:
                pass

    def _say_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._say(line)

    def _tell_prompt(self, event: TurnStarted) -> None:
        self.patience.begin("Still waiting for the model")
        if event.text in self._waiting:
            self._waiting.remove(event.text)
            self._say(f"Your prompt is sent now: {one_line(event.text)[:80]}")

    def _tell_settings(self, event: SettingsChanged) -> None:
        before, self._settings = self._settings, (event.model, event.approval)
        if before[0] != event.model and event.model:
            self._say(f"Model: {event.model}.")
        if before[1] != event.approval:
            self._say(f"Approval: {event.approval}.")

    def _tell_source(self, event: CodeFinished | CallFinished) -> None:
        self.patience.end()
        number = self.number_of(event.block_id)
        what = event.language if isinstance(event, CodeFinished) else f"tool {event.tool}"
        if not event.complete:
            self._say(f"Code {number}, {what}, was cut off while it was written. It is not run.")
            return
        self._say_source(f"Code {number}, {what}", event.source)

    def _say_source(self, heading: str, source: str) -> None:
        lines = source_lines(source)
        self._say("\n".join([f"{heading}, {quantity(len(lines), 'line')}.", *lines]))
        if hidden := visible_text(source).hidden:
            self._say(f"Warning: it has {quantity(hidden, 'hidden character')}, written as U+ and a number.")

    def _tell_decision(self, event: DecisionMade) -> None:
        number = self.number_of(event.block_id)
        why = f": {one_line(event.reason)}" if event.reason else ""
        if event.verdict in ("skip", "stop"):
            self._say(f"Code {number} is not run{why}.")
        elif event.decider == "rule" and event.reason:
            self._say(f"Code {number} runs without a question{why}.")
        elif event.verdict == "edit":
            self._say(f"Code {number} runs as you edited it.")

    # -- a run ---------------------------------------------------------------------------------------------

    def _tell_run(self, event: AnyEvent) -> None:
        match event:
            case ExecutionStarted():
                self._begin_run(event)
            case OutputAdded(output=StreamOutput(name=name, text=text)):
                self._say_stream(name, self._streams.setdefault(name, StreamLines()).feed(text))
            case OutputAdded(output=ErrorOutput() as error):
                self._end_streams(event.block_id)
                self._say_all(error_lines(error, self.number_of(event.block_id)))
            case OutputAdded(output=RichOutput() as output):
                self._results += 1
                if self._results > RESULTS:
                    return
                self._end_streams(event.block_id)
                self._say_all(rich_lines(output, self.number_of(event.block_id)))
            case OutputTailMoved():
                self._streams.setdefault(event.name, StreamLines()).move_tail(event.tail)
            case OutputsCleared():
                self._streams.clear()
            case OutputKept() if event.whole.path and not event.whole.missing:
                self._say(f"The output is long. All of it is in the file {event.whole.path}")
            case OutputDropped():
                self._say(f"{quantity(event.characters, 'character')} of output were too much, and are not kept.")
            case InputRequested():
                for name, stream in self._streams.items():
                    self._say_stream(name, stream.pause())
                self.patience.end()
            case ExecutionFinished():
                self._end_run(event)
            case _:
                pass

    def _begin_run(self, event: ExecutionStarted) -> None:
        number = self.number_of(event.block_id)
        self._streams, self._stream, self._results = {}, None, 0
        self.patience.begin(f"Code {number} is still running")
        where = f" in {one_line(event.place)}" if event.place not in ("", self._place) else ""
        self._place = event.place or self._place
        self._say(f"Code {number} runs{where}.")

    def _end_run(self, event: ExecutionFinished) -> None:
        self._end_streams(event.block_id)
        self.patience.end()
        if (unsaid := self._results - RESULTS) > 0:
            self._say(f"… {quantity(unsaid, 'more result')}: /show {self.number_of(event.block_id)}")
        self._over.add(event.block_id)
        code = f", exit code {event.exit_code}" if event.exit_code else ""
        why = f", {event.ending.describe()}" if event.ending is not None else ""
        number, took = self.number_of(event.block_id), spoken_time(event.duration)
        self._say(f"Code {number} {ENDED[event.status]}{code}{why}, {took}.")

    def _tell_written(self, who: str, written: WrittenFiles) -> None:
        left = [f"{one_line(file.name)} {size_in_words(file.size)}" for file in written.files]
        if left:
            self._say(f"{who} wrote: {some_names(left, len(left), written.more)}.")
        if gone := list(map(one_line, written.deleted)):
            self._say(f"{who} deleted: {some_names(gone, len(gone), written.more_deleted)}.")

    def _say_stream(self, name: StreamName, lines: list[str]) -> None:
        if lines and self._stream != name:
            self._stream = name
            self._say(stream_label(name))
        self._say_all(lines)

    def _end_streams(self, block_id: str) -> None:
        for name, stream in sorted(self._streams.items(), reverse=True):
            self._say_stream(name, stream.finish(self.number_of(block_id)))
        self._streams, self._stream = {}, None


def source_lines(source: str) -> list[str]:
    """Code to be read before it runs: nothing in it is hidden."""
    return safe_text(collapse_blanks(visible_text(source.rstrip()).text)).split("\n")
