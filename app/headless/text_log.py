"""What a task without a screen tells on stderr while it runs: the events as lines of text."""

from typing import Literal, TextIO

from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CodeFinished,
    DecisionMade,
    ExecutionFinished,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    OutputsCleared,
    OutputTailMoved,
    ProseFinished,
    ProseGrew,
    RetryScheduled,
)
from oi_tui.app.engine.core.outputs import StreamName, StreamOutput, Tail
from oi_tui.app.engine.core.protocol import FetchProgressed
from oi_tui.app.engine.text.mime import apply_carriage_returns, plain_text
from oi_tui.app.engine.text.safe import SafeStream, collapse_blanks, safe_text, visible_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.transcript.serial_runs import SerialRuns

_SYMBOLS = {"info": "i", "warning": "!", "error": "✗"}


class TextLog:
    """Tells one session; everything foreign is cleaned on the way."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._serial = SerialRuns()
        self._at_line_start = True
        self._growing: dict[StreamName | Literal["prose"], SafeStream] = {}
        """What comes in pieces that may be cut anywhere, also within something that a terminal obeys."""
        self._runs_in: dict[str, str] = {}
        """By the id of an action: the language or tool."""
        self._tails: dict[StreamName, Tail] = {}
        """Newest ends of long outputs, printed when the run is over."""

    def say(self, text: str) -> None:
        self._write(safe_text(text))

    def tell(self, event: AnyEvent) -> None:
        """The lines about this event; runs that go side by side come one after the other.

        Code is shown with its decision: if a person decides, it is in the question.
        """
        for one in self._serial.in_order(event):
            self._tell(one)

    def _tell(self, event: AnyEvent) -> None:
        match event:
            case ProseGrew():
                self._grow("prose", event.text)
            case ProseFinished():
                self._finish_growing()
                self._new_line()
            case CodeFinished():
                self._runs_in[event.block_id] = event.language
                self._new_line()
            case CallFinished():
                self._runs_in[event.block_id] = f"tool {event.tool}"
                self._new_line()
            case DecisionMade():
                self._tell_decision(event)
            case OutputAdded(output=StreamOutput(name=name, text=text)):
                self._grow(name, apply_carriage_returns(text))
            case OutputAdded():
                self.say(plain_text(event.output))
                self._new_line()
            case OutputTailMoved():
                self._tails[event.name] = event.tail
            case OutputsCleared():
                self._tails.clear()
            case ExecutionFinished():
                self._finish_growing()
                self._tell_tails()
                self._new_line()
                self.say(_end_line(event))
            case KernelChanged(state="starting"):
                self.say(f"● starting {event.language}{f' ({event.detail})' if event.detail else ''}…\n")
            case RetryScheduled():
                count = f" {event.attempt} of {event.attempts}" if event.attempt else ""
                self.say(f"● {event.why}; retry{count} in {event.delay:.0f} s\n")
            case NoticeAdded():
                self._new_line()
                self.say(f"{_SYMBOLS[event.level]} {event.title} {event.hint}\n")
            case _:
                pass

    def progress(self, progress: FetchProgressed) -> None:
        """How far a download is; to a terminal only, on one line."""
        if self._err.isatty():
            share = progress.done_bytes / max(1, progress.total_bytes)
            self._err.write(f"\r\x1b[K{progress.stage} {share:4.0%} of {progress.total_bytes / 1e6:,.0f} MB")
            self._err.flush()

    def _write(self, text: str) -> None:
        if text:
            self._err.write(text)
            self._err.flush()
            self._at_line_start = text.endswith("\n")

    def _grow(self, name: StreamName | Literal["prose"], text: str) -> None:
        self._write(self._growing.setdefault(name, SafeStream()).feed(text))

    def _finish_growing(self) -> None:
        for stream in self._growing.values():
            self._write(stream.finish())
        self._growing.clear()

    def _tell_decision(self, event: DecisionMade) -> None:
        if event.request_id is None or not self._err.isatty():  # else it has just been read in the question
            self._new_line()
            self.say(code_in_full(self._runs_in[event.block_id], event.source))
        if event.verdict in ("skip", "stop"):
            self.say(f"⊘ not run{': ' if event.reason else ''}{event.reason}\n")
        elif event.decider == "rule":
            self.say(f"● {event.reason}\n")

    def _tell_tails(self) -> None:
        for name, tail in sorted(self._tails.items(), reverse=True):
            if tail.left_out_characters:
                self._new_line()
                self.say(f"… {tail.left_out_characters:,} characters left out\n")
            self.say(plain_text(StreamOutput(name=name, text=tail.text)))
        self._tails.clear()

    def _new_line(self) -> None:
        if not self._at_line_start:
            self.say("\n")


def code_in_full(runs_in: str, source: str) -> str:
    """Code, or the arguments of a call, to read before it runs: nothing in it is hidden."""
    shown, hidden = visible_text(source)
    warning = f"! {quantity(hidden, 'hidden character')}, written as <U+…>\n" if hidden else ""
    return f"── {safe_text(runs_in)} ──\n{collapse_blanks(shown.rstrip())}\n──\n{warning}"


def _end_line(event: ExecutionFinished) -> str:
    code = f" · exit code {event.exit_code}" if event.exit_code else ""
    return f"{'✓' if event.status == 'ok' else '✗'} {event.status} · {event.duration:.1f} s{code}\n"
