"""The state that the status line shows: of the session, the settings and the engine."""

import re
import time

from oi_tui.app.engine.core.blocks import Action
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallStarted,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    NoticeAdded,
    ProseStarted,
    RerunFinished,
    RerunStarted,
    RetryScheduled,
    StepStarted,
    SummaryEnded,
    SummaryStarted,
    ThoughtStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.extractions import ExtractionFound
from oi_tui.app.engine.core.modes import OF_APPROVAL, effective_mode, strictest
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.settings import Settings, describe_sandbox
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.widgets.arming import Clock
from oi_tui.widgets.status import OPENING, STARTING, THINKING, Activity, Status

_ELSEWHERE = r"(kernel )?\S+ on (?P<host>\S+)|kernel \S+, started by .+"
"""A kernel on a server, or one of a provisioner; the folder of an environment may be called anything."""

RUNNING = "running"
"""The activity while code runs."""

_NO_EXTRACTION = ExtractionFound()

FAILS = "sandbox fails"
"""A sandbox is required and impossible: no code runs. Short, for a narrow line."""


LOADING = "loading"
"""The activity between a prompt that was sent and the engine's first event about it: it may still be starting."""


def activity(event: AnyEvent, before: str, *, turn_open: bool) -> str:
    """The activity after this event, in a word or two; "" when idle."""
    match event:
        case TurnStarted():  # before its first step, the model may still be opening
            return OPENING
        case StepStarted():
            return THINKING
        case ThoughtStarted():
            return THINKING
        case ProseStarted() | CodeStarted(author="assistant") | CallStarted(author="assistant"):
            return "writing"
        case RetryScheduled(attempt=attempt, attempts=attempts) if attempt:
            return f"{event.why}, retry {attempt} of {attempts}"
        case RetryScheduled():
            return f"{event.why}, retry"
        case DecisionMade(verdict="run") | ExecutionStarted():
            return RUNNING
        case DecisionMade(verdict="skip" | "stop") if not turn_open:
            return ""
        case KernelChanged(state="starting" | "restarting") if before:
            return f"starting {event.language}"
        case SummaryStarted():
            return f"summarising {event.turns} turns" if event.turns > 1 else "summarising"
        case ExecutionFinished() | SummaryEnded():
            return THINKING if turn_open else ""
        case RerunStarted():
            return "rebuilding"
        case RerunFinished() | TurnEnded():
            return ""
        case _:
            return before


class ActivityWatch:
    """The current activity and its start, event by event."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._sent: float | None = None
        """When a prompt was sent that the engine has not acknowledged yet."""
        self.now = Activity(word=STARTING)
        self.extraction = ExtractionFound()
        """The session's, in short."""
        self._runs: set[str] = set()
        """Blocks that run: one may have called another."""

    def say(self, word: str) -> None:
        """Show words for which there is no event; without a clock."""
        self.now, self._sent = Activity(word=word), None

    def rest(self) -> None:
        """An engine that has just opened a session is idle, as far as it has not said otherwise."""
        self.now, self.extraction = Activity(), ExtractionFound()

    def note_prompt(self) -> None:
        """A prompt was sent while nothing was under way."""
        self._sent = self._clock()

    def follow(self, event: AnyEvent, *, turn_open: bool) -> None:
        """Follow an event; the clock runs on while the word stays the same."""
        if isinstance(event, TurnStarted | TurnEnded) or (isinstance(event, NoticeAdded) and event.level == "error"):
            self._sent = None
        word = activity(event, self.now.word, turn_open=turn_open)
        match event:
            case ExecutionStarted():
                self._runs.add(event.block_id)
            case ExecutionFinished():
                self._runs.discard(event.block_id)
                word = RUNNING if self._runs else word
            case TurnStarted() | TurnEnded():
                self._runs.clear()
            case _:
                pass
        if isinstance(event, RetryScheduled):
            self.now = Activity(word=word, since=self._clock(), due=self._clock() + event.delay)
        elif word != self.now.word or isinstance(event, StepStarted):
            self.now = Activity(word=word, since=self._clock() if word else None)

    @property
    def shown_activity(self) -> Activity:
        """What the line shows: a prompt waiting for a starting engine counts as activity."""
        if self._sent is not None and self.now.word in ("", STARTING):
            return Activity(word=LOADING, since=self._sent)
        return self.now


class KernelBoard:
    """The state of each kernel: how it is, where it runs, and whether that is another machine."""

    def __init__(self) -> None:
        self.states: dict[str, KernelState] = {}
        self.places: dict[str, str] = {}
        self._elsewhere: set[str] = set()

    def follow(self, event: KernelChanged) -> None:
        """Take in that a kernel is in another state, or another place."""
        self.states[event.language] = event.state
        if event.detail:
            self.places[event.language] = event.detail
        (self._elsewhere.add if event.elsewhere else self._elsewhere.discard)(event.language)

    def forget(self) -> None:
        """Another engine, or another session: nothing is known of its kernels."""
        self.states.clear()
        self.places.clear()
        self._elsewhere.clear()

    @property
    def has_left(self) -> bool:
        """Whether Python code runs on another machine, where no sandbox of ours is."""
        return "python" in self._elsewhere

    def labels(self) -> tuple[tuple[str, KernelState], ...]:
        """Each kernel, as a narrow line names it, with its state."""
        return tuple((self._label(language), state) for language, state in self.states.items())

    def _label(self, language: str) -> str:
        return kernel_label(language, self.places.get(language, ""), told=self.has_left)


def kernel_label(language: str, place: str, *, told: bool = False) -> str:
    """A kernel on a narrow line: "python in .venv" for one in "Python 3.12.4 in /home/me/project/.venv", and for one on
    another machine a note that the line's sandbox does not apply to it, unless `told` says that the line has it
    already."""
    if found := re.fullmatch(_ELSEWHERE, place):
        where = f"{language} on {found['host']}" if found["host"] else language
        return where if told else f"{where}, no sandbox"
    environment = place.partition(" in ")[2].rpartition("/")[2]
    return f"{language} in {environment}" if environment else language


def current_status(
    transcript: Transcript,
    settings: Settings,
    kernels: KernelBoard,
    doing: Activity,
    extraction: ExtractionFound = _NO_EXTRACTION,
    *,
    fails: bool,
    recorded: bool,
) -> Status:
    """`fails`: the sandbox was tried and does not work; no kernel has started since. If Python code runs on another
    machine, there is no sandbox, whatever isolates code here; until that is known, this is ""."""
    awaited = bool(settings.kernel.server) and "python" not in kernels.places
    without = settings.sandbox.mode == "danger-full-access" or kernels.has_left
    waiting = "waiting for approval" if transcript.pending_decision else ""
    waiting = waiting or ("waiting for input" if transcript.pending_input else "")
    waiting = waiting or ("paused" if transcript.ended == "paused" and not doing.word else "")
    return Status(
        model=transcript.model or ("" if transcript.session_id else settings.model.name),
        approval=transcript.approval,
        floor=effective_mode(settings.policy, settings.sandbox),
        sandbox="" if awaited else "no sandbox" if without else FAILS if fails else describe_sandbox(settings.sandbox),
        exposed=fails or without or settings.sandbox.rung == "lock",
        recorded=recorded,
        activity=Activity(word=waiting) if waiting else doing,
        patience=settings.model.timeout,
        extraction=_spell_extraction(extraction),
        kernels=kernels.labels(),
        usage=transcript.usage,
        context_window=settings.model.context_window or transcript.context_window,
        max_cost=transcript.max_cost,
        max_tokens=transcript.max_tokens,
    )


def _spell_extraction(found: ExtractionFound) -> str:
    """How far it is, "" if there is nothing to stop."""
    if not found.is_open:
        return ""
    word = {"paused": "extraction paused", "stopping": "extraction stops"}.get(found.state, "extracting")
    return f"{word} {found.ended_count:,}/{found.total:,}" if found.total else word


def lacks_model(transcript: Transcript) -> bool:
    """Whether a model has to be chosen before anything can happen: not where another assistant is at work."""
    acts = (block for block in transcript.blocks if isinstance(block, Action))
    return not (transcript.model or any(block.author == "assistant" and not block.step for block in acts))


def next_approval(status: Status) -> ApprovalMode:
    """The mode after the one shown: ask, auto, plan, never, ask. `auto` is left out where code would run unasked
    without a sandbox, or though it destroys something: who wants that says so by /approve auto."""
    lets_all = strictest(status.floor, OF_APPROVAL["auto"]) == "bypassPermissions"
    unasked: list[ApprovalMode] = [] if status.exposed or lets_all else ["auto"]
    cycle: list[ApprovalMode] = ["ask", *unasked, "plan", "never"]
    place = cycle.index(status.approval) if status.approval in cycle else 0
    return cycle[(place + 1) % len(cycle)]
