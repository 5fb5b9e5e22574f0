"""Events to streamed LMC chunks, one event at a time. See `lmc.py` for the language."""

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CallFinished,
    CallGrew,
    CallStarted,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    OutputAdded,
    OutputDropped,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    SessionOpened,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import StreamName, StreamOutput, Tail
from oi_tui.app.engine.formats.lmc.mime_map import (
    CONSOLE,
    STATUS,
    TEXT_OUTPUT,
    Chunk,
    Message,
    file_message,
    output_messages,
)
from oi_tui.app.engine.transcript.serial_runs import SerialRuns

REFUSED = "The user refused to run it."
"""Where no reason was given."""


class LmcWriter:
    """The chunks of one session. At most one run of chunks is open at a time."""

    def __init__(self) -> None:
        self._serial = SerialRuns()
        self._run: Chunk = {}
        """Keys of the run that is open; empty if none is."""
        self._written: list[str] = []
        """Content of the run that is open, if it is code."""
        self._actions: dict[str, tuple[Message, str]] = {}
        """Of the actions of this turn: the keys that say what runs them, and the source."""
        self._asked: set[str] = set()
        """Actions about which somebody was asked."""
        self._running = ""
        """The block that runs."""
        self._callers: list[tuple[str, int, dict[StreamName, Tail]]] = []
        """Those that wait for what they called, each with what was dropped and its tails."""
        self._dropped = 0
        self._tails: dict[StreamName, Tail] = {}
        """Newest tails of the streams that continue beyond the limit."""
        self._text_keys: Message = {}
        """Keys of the last text in the console run that is open."""
        self._at_line_start = True
        self._flows = False
        """Whether that text was a stream, and where it ended."""
        self._late: list[OutputAdded] = []
        """Output of blocks that do not run any more, until no run is open."""

    def chunks(self, event: AnyEvent) -> list[Chunk]:
        """The chunks that this event is; often none. Runs that go side by side come one after the other."""
        return [chunk for one in self._serial.in_order(event) for chunk in self._chunks(one)]

    def _chunks(self, event: AnyEvent) -> list[Chunk]:
        match event:
            case TurnStarted():
                return self._user(event)
            case ProseStarted():
                return self._open({"role": "assistant", "type": "message"})
            case ProseGrew() | CodeGrew() | CallGrew():
                return self._grow(event.text)
            case ProseFinished():
                return self._end()
            case CodeStarted():
                run = {"role": event.author, "type": "code", "format": event.language, "block": event.block_id}
                return self._open(run)
            case CodeFinished():
                return self._finish_action(event.block_id, {"format": event.language}, event.source)
            case CallStarted():
                run = {"role": event.author, "type": "code", **_tool_keys(event.tool), "block": event.block_id}
                return self._open(run)
            case CallFinished():
                return self._finish_action(event.block_id, _tool_keys(event.tool), event.source)
            case DecisionRequested():
                self._asked.add(event.block_id)
                keys = _tool_keys(event.tool) if event.tool else {"format": event.language}
                return [_confirmation(event.block_id, keys, event.source)]
            case InputRequested():
                return [*self._open_console(), _question(event)]
            case DecisionMade():
                return self._decision_chunks(event)
            case ExecutionStarted():
                ended: list[Chunk] = []
                if self._running:
                    ended = self._end()
                    self._callers.append((self._running, self._dropped, self._tails))
                self._running, self._dropped, self._tails = event.block_id, 0, {}
                return [*ended, *self._open_console()]
            case ActiveLineChanged():
                return self._active_line(event)
            case OutputAdded():
                return self._output(event)
            case OutputUpdated():
                return _updates(event)
            case OutputTailMoved():
                if event.block_id == self._running:
                    self._tails[event.name] = event.tail
                return []
            case OutputsCleared():
                self._text_keys = {}
                self._tails = {} if event.block_id == self._running else self._tails
                return [{**CONSOLE, "block": event.block_id, "format": "cleared", "content": ""}]
            case OutputDropped():
                self._dropped += event.characters if event.block_id == self._running else 0
                return []
            case ExecutionFinished():
                chunks = self._finish_running()
                if self._callers:
                    self._running, self._dropped, self._tails = self._callers.pop()
                return [*chunks, _execution_status(event)]
            case TurnEnded():
                return [
                    *self._close(),
                    {**STATUS, "content": "complete", "reason": event.reason, "detail": event.detail},
                ]
            case SessionOpened():
                return self._close()
            case _:
                return []

    # -- runs ----------------------------------------------------------------------------------------

    def _open(self, run: Chunk) -> list[Chunk]:
        ended = self._end()
        self._run, self._written, self._text_keys = run, [], {}
        return [*ended, {**run, "start": True}]

    def _grow(self, text: str) -> list[Chunk]:
        self._written.append(text)
        return [{**self._run, "content": text}] if text else []

    def _end(self) -> list[Chunk]:
        if not self._run:
            return []
        run, self._run = self._run, {}
        late, self._late = self._late, []
        return [{**run, "end": True}, *(chunk for event in late for chunk in _late_output(event))]

    # -- what is said --------------------------------------------------------------------------------

    def _user(self, event: TurnStarted) -> list[Chunk]:
        chunks = self._end()
        if event.text or not event.files:
            chunks += _whole({"role": "user", "type": "message", "content": event.text})
        for path in event.files:
            chunks += _whole(file_message(path))
        return chunks

    def _finish_action(self, block_id: str, keys: Message, source: str) -> list[Chunk]:
        self._actions[block_id] = keys, source
        if keys.items() <= self._run.items() and "".join(self._written) == source:
            return self._end()
        self._run = {**self._run, **keys}
        return [{**self._run, "content": source, "replace": True}, *self._end()]

    def _decision_chunks(self, event: DecisionMade) -> list[Chunk]:
        if event.ending is not None:
            return []  # nobody decided: a file only tells that it did not run
        keys, source = self._actions.get(event.block_id, ({"format": ""}, event.source))
        chunks = [] if event.block_id in self._asked else [_confirmation(event.block_id, keys, source)]
        if event.verdict in ("skip", "stop"):
            refusal = {**TEXT_OUTPUT, "refused": True, "content": event.reason or REFUSED}
            return [*chunks, *self._end(), *_whole(refusal, event.block_id)]
        if event.source == source:
            return chunks
        edited = {"role": "user", "type": "code", **keys, "content": event.source}
        return [*chunks, *self._end(), *_whole(edited, event.block_id)]

    # -- outputs and ends -----------------------------------------------------------------------

    def _open_console(self) -> list[Chunk]:
        return [] if self._run else self._open({**CONSOLE, "block": self._running})

    def _active_line(self, event: ActiveLineChanged) -> list[Chunk]:
        if event.line is None or event.block_id != self._running:
            return []
        return [*self._open_console(), {**self._run, "format": "active_line", "content": str(event.line)}]

    def _output(self, event: OutputAdded) -> list[Chunk]:
        if event.block_id != self._running:
            if not self._run:
                return _late_output(event)
            self._late.append(event)
            return []
        chunks: list[Chunk] = []
        for message in output_messages(event.output):
            if message["type"] == "console":
                chunks += self._console_text(message, flows=isinstance(event.output, StreamOutput))
            else:
                chunks += [*self._end(), *_whole(message, event.block_id)]
        return chunks

    def _console_text(self, message: Message, *, flows: bool) -> list[Chunk]:
        """Text in the console run. Text that is not part of a stream gets lines of its own."""
        if not message["content"]:
            return []
        opened = self._open_console()
        keys = {key: value for key, value in message.items() if key != "content"}
        joins = keys == self._text_keys and "display_id" not in keys
        if joins and not self._at_line_start and not (flows and self._flows):
            message = {**message, "content": "\n" + message["content"]}
        self._text_keys, self._flows = keys, flows
        self._at_line_start = message["content"].endswith("\n")
        return [*opened, {**self._run, **message}]

    def _close(self) -> list[Chunk]:
        self._actions.clear()
        self._asked.clear()
        self._callers.clear()
        return self._finish_running()

    def _finish_running(self) -> list[Chunk]:
        chunks: list[Chunk] = []
        if self._running:
            for name, tail in sorted(self._tails.items(), reverse=True):
                chunks += self._tail(name, tail)
            if self._dropped:
                note = f"[{self._dropped} more characters are not shown]\n"
                chunks += self._console_text({**TEXT_OUTPUT, "content": note}, flows=False)
        self._running, self._dropped, self._tails = "", 0, {}
        return [*chunks, *self._end()]

    def _tail(self, name: StreamName, tail: Tail) -> list[Chunk]:
        note = f"[{tail.left_out_characters} characters are not shown]\n" if tail.left_out_characters else ""
        (message,) = output_messages(StreamOutput(name=name, text=note + tail.text))
        return self._console_text(message, flows=not note)


def _whole(message: Message, block_id: str = "") -> list[Chunk]:
    """A message as a run of its own."""
    run = {key: value for key, value in message.items() if key != "content"}
    run |= {"block": block_id} if block_id else {}
    return [{**run, "start": True}, {**run, "content": message["content"]}, {**run, "end": True}]


def _late_output(event: OutputAdded) -> list[Chunk]:
    return [chunk for message in output_messages(event.output) for chunk in _whole(message, event.block_id)]


def _tool_keys(tool: str) -> Message:
    """The keys that mark a message as a call: its content has the arguments of this tool."""
    return {"format": "tool", "tool": tool}


def _confirmation(block_id: str, keys: Message, source: str) -> Chunk:
    code = {"type": "code", **keys, "content": source}
    return {"role": "computer", "type": "confirmation", "block": block_id, "format": "execution", "content": code}


def _question(event: InputRequested) -> Chunk:
    """The message of running code that asks the person for a line."""
    content = {"prompt": event.prompt, "password": event.password}
    if event.asked_by:
        content |= {"asked_by": event.asked_by, "choices": list(event.choices)}
    return {"role": "computer", "type": "confirmation", "block": event.block_id, "format": "input", "content": content}


def _execution_status(event: ExecutionFinished) -> Chunk:
    """How a run ended."""
    chunk = {**STATUS, "content": "executed", "block": event.block_id, "status": event.status}
    return chunk if event.exit_code is None else {**chunk, "exit_code": event.exit_code}


def _updates(event: OutputUpdated) -> list[Chunk]:
    extra = {"display_id": event.display_id, "block": event.block_id, "update": True}
    return [{**message, **extra} for message in output_messages(event.output)]
