"""Everything that happens, as values in the past tense. The transcript is a fold over these.

Order within one session (brackets: may be absent, star: any number):

    SessionOpened
    ( TurnStarted
      ( StepStarted SecretsWithheld*
        ( ThoughtStarted ThoughtGrew* ThoughtFinished
        | ProseStarted ProseGrew* ProseFinished [ ThoughtRecognised ]
        | CodeStarted CodeGrew* CodeFinished
        | CallStarted CallGrew* CallFinished )*
        [ UsageReported ] [ ThoughtsSealed ]
        ( DecisionRequested* DecisionMade
          [ ExecutionStarted
            ( OutputAdded | OutputUpdated | OutputsCleared | OutputTailMoved | OutputKept | OutputDropped
            | ActiveLineChanged | ProgressReported
            | InputRequested InputAnswered
            | a called action: CodeStarted or CallStarted with a `caller` to its ExecutionFinished or refusal )*
            ExecutionFinished [ FilesWritten ] ] )*
        [ TurnStarted ]
      )*
      TurnEnded )*

What another assistant proposes (`oi-tui mcp serve`) comes between turns: code or a call, decided about and run as in a
step, without `TurnStarted` and `StepStarted`.

To rebuild the state of a kernel, runs that are on record are repeated between turns: for each block `RerunStarted`
( InputRequested InputAnswered )* `RerunFinished`; what comes out is compared with the record and does not replace it.

`NoticeAdded`, `KernelChanged`, `RunTraced`, `RetryScheduled`, `SettingsChanged`, `InstructionsChanged`,
`SummaryStarted` [ `ContextCompacted` ] `SummaryEnded`, `SummaryChanged`, `ContextMarked` and `PlanChanged` may stand
anywhere. The actions (code and calls) of a step are decided and run in the order in which they were finished, one at a
time; but neighbouring calls that only read are all decided first, and then run side by side, their events mixed. Late
output (a thread that prints after its run ended) comes as `OutputAdded` of the block it belongs to.

Deltas (`ProseGrew`, `ThoughtGrew`, `CodeGrew`, `CallGrew`, `OutputAdded` of a stream, `ActiveLineChanged`,
`ProgressReported`) may be coalesced on the way to a front end, and of several `OutputTailMoved` of one stream only the
last may arrive; everything else arrives exactly once and in order.
"""

from collections.abc import Callable
from typing import Literal

from oi_tui.app.engine.core.blocks import ContextMark
from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.outcomes import (
    Decider,
    ExecutionStatus,
    KernelState,
    RerunOutcome,
    StopReason,
    Verdict,
)
from oi_tui.app.engine.core.outputs import (
    Output,
    Progress,
    RichOutput,
    RunInput,
    StreamName,
    Tail,
    WholeOutput,
    WrittenFiles,
)
from oi_tui.app.engine.core.plan import PlanStep
from oi_tui.app.engine.core.values import (
    ApprovalMode,
    EditableText,
    GrantScope,
    KernelCall,
    Language,
    Level,
    Remedy,
    SealedThoughts,
    Value,
)


class Event(Value, frozen=True, kw_only=True):
    """Base of all events."""


class SessionOpened(Event, frozen=True, kw_only=True, tag=True):
    """First event of a session; comes again, with `resumed`, each time it is opened."""

    session_id: str
    created: float
    """Unix time in seconds."""
    cwd: str
    model: str
    approval: ApprovalMode
    resumed: bool = False


class TurnStarted(Event, frozen=True, kw_only=True, tag=True):
    """Between two steps, the person steered the turn that runs; else the person sent a prompt."""

    block_id: str
    text: str
    files: tuple[str, ...] = ()
    context: str = ""
    """What the model reads besides the text: the beginnings of the files."""
    command: str = ""
    """The person's own command that made the text, as it was typed: `/review app.py`."""
    origins: tuple[str, ...] = ()
    """Who else wrote of the text or the context: "MCP server notes"."""


class StepStarted(Event, frozen=True, kw_only=True, tag=True):
    """The model is asked; the first step of a turn has number 1."""

    number: int


class SecretsWithheld(Event, frozen=True, kw_only=True, tag=True):
    """Some of this block is withheld from the model; sent again only when that changes."""

    block_id: str
    names: tuple[str, ...]
    """What is withheld, one name for each place: of a variable, or of the kind of key."""


class RetryScheduled(Event, frozen=True, kw_only=True, tag=True):
    """The model could not answer for a reason that may pass; it is asked again after `delay` seconds."""

    delay: float
    why: str
    """In two or three words: `rate limit`."""
    attempt: int = 0
    """Which further attempt that is, 1 the first; 0 if it is not known."""
    attempts: int = 0
    """How many further ones there are at most."""


class ProseStarted(Event, frozen=True, kw_only=True, tag=True):
    """The model began a piece of prose."""

    block_id: str


class ProseGrew(Event, frozen=True, kw_only=True, tag=True):
    """More text of the prose block that is open."""

    block_id: str
    text: str


class ProseFinished(Event, frozen=True, kw_only=True, tag=True):
    """The prose is over; `complete` is False if it was interrupted."""

    block_id: str
    complete: bool = True


class ThoughtStarted(Event, frozen=True, kw_only=True, tag=True):
    """The model began to think."""

    block_id: str


class ThoughtGrew(Event, frozen=True, kw_only=True, tag=True):
    """More of the thought that is open."""

    block_id: str
    text: str


class ThoughtFinished(Event, frozen=True, kw_only=True, tag=True):
    """The thought is over; `complete` is False if it was interrupted."""

    block_id: str
    complete: bool = True
    seconds: float | None = None
    """From its first to its last piece, None where nobody measured."""


class ThoughtRecognised(Event, frozen=True, kw_only=True, tag=True):
    """What was sent as prose in these blocks was thought: its end was marked, its beginning was not."""

    block_ids: tuple[str, ...]


class CodeStarted(Event, frozen=True, kw_only=True, tag=True):
    """The model began to write code that can be run here (or the person typed some)."""

    block_id: str
    language: Language
    author: Literal["assistant", "user"] = "assistant"
    call_id: str | None = None
    caller: str = ""
    """Id of the block whose run asked for it, "" where none did."""


class CodeGrew(Event, frozen=True, kw_only=True, tag=True):
    """More source of the code block that is open."""

    block_id: str
    text: str


class CodeFinished(Event, frozen=True, kw_only=True, tag=True):
    """The code is complete and proposed, or (`complete` False) was interrupted and is never run.

    `source` is the whole text, which replaces what the deltas gave: model habits that would spoil it
    (a call wrapped around it, trailing junk) have been undone by now.
    """

    block_id: str
    language: Language
    source: str
    complete: bool = True


class CallStarted(Event, frozen=True, kw_only=True, tag=True):
    """The model began to write a call of a tool that is here (or the person makes one again)."""

    block_id: str
    tool: str
    author: Literal["assistant", "user"] = "assistant"
    call_id: str | None = None
    caller: str = ""
    """As in `CodeStarted`."""


class CallGrew(Event, frozen=True, kw_only=True, tag=True):
    """More of the arguments of the call that is open."""

    block_id: str
    text: str


class CallFinished(Event, frozen=True, kw_only=True, tag=True):
    """The call is complete and proposed, or (`complete` False) was interrupted and is never run."""

    block_id: str
    tool: str
    source: str
    """The arguments, a JSON object if the call is complete; the whole text, which replaces what the deltas gave."""
    complete: bool = True


class ThoughtsSealed(Event, frozen=True, kw_only=True, tag=True):
    """The provider wants these thoughts back with the calls of this answer; the block is the first of them."""

    block_id: str
    thoughts: SealedThoughts


class UsageReported(Event, frozen=True, kw_only=True, tag=True):
    """Tokens and money of one step."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None
    """US dollars, None where the price is unknown."""
    estimated: bool = False
    """True when the server sent no usage and the numbers were counted here."""
    thought_tokens: int = 0
    """Those of `output_tokens` that were spent on thinking, as far as the server tells."""
    cached_tokens: int = 0
    """Those of `input_tokens` that the provider had in its cache."""
    aside: bool = False
    """Asked beside the conversation (for a title): it says nothing about how full the context is."""


class DecisionRequested(Event, frozen=True, kw_only=True, tag=True):
    """Nothing runs until the request of this id is decided (or the turn is interrupted)."""

    request_id: str
    block_id: str
    language: Language = ""
    """Of the code, "" for a call."""
    tool: str = ""
    """Name of the tool that is called, "" for code."""
    source: str
    sha256: str
    """Hex digest of the UTF-8 source; the decision holds for exactly this text."""
    why: str = ""
    """Why the person is asked, where it is more than the approval mode (for instance a repeat, or a rule)."""
    labels: tuple[str, ...] = ()
    """What the source does as far as it can be read, in plain words with lines: `deletes files, line 3`."""
    scopes: tuple[GrantScope, ...] = ()
    """How far an "always" may reach, beside this exact source."""
    asked_by: str = ""
    """Which running code asks for it, in words; "" where the model does."""
    offer: str = ""
    """What `Decide.install` allows once, where this is an installation that the sandbox would stop."""
    origin: str = ""
    """Who brought the tool that is called: "plugin lab"; "" is the program itself."""
    may_call: tuple[str, ...] = ()
    """Tools that this call may call without a further question, where nothing but the mode asks about them."""
    preview: RichOutput | None = None
    """What the call would do, as its tool says: a change as `text/x-diff`, or words."""
    preview_remark: str = ""
    """Why there is no preview, or not all of it."""
    editable: EditableText | None = None
    """What of a call is edited as a text of its own; None for code, and for all of the arguments."""
    edited: bool = False
    """Whether the person edited it, and it is asked about again (`Revise`)."""

    @property
    def asks_again(self) -> bool:
        """Whether an edit makes a new question, which shows what the edited call would do."""
        return bool(self.tool) and (self.preview is not None or self.editable is not None)

    @property
    def runs_in(self) -> str:
        """What would run it, as shown to the user: `python`, or `tool clock`."""
        return f"tool {self.tool}" if self.tool else self.language

    @property
    def written_in(self) -> str:
        """The language of the source."""
        return "json" if self.tool else self.language


class DecisionMade(Event, frozen=True, kw_only=True, tag=True):
    """The decision about code or a call, and who made it."""

    block_id: str
    verdict: Verdict
    decider: Decider
    source: str
    """What will run (verdicts run, edit, always) or would have."""
    reason: str = ""
    """With a refusal: the words the model reads. Deciders `rule` and `grant`, verdict `run`: which rule allowed it.
    Verdict `always`: which rules it made, "" for this exact source only."""
    request_id: str | None = None
    ending: Ending | None = None
    """With a refusal that is read from a file: nobody refused it."""
    install: bool = False
    """Verdict `run`: includes the access offered for an installation, once."""


class ExecutionStarted(Event, frozen=True, kw_only=True, tag=True):
    """The kernel was given the source, or the tool its arguments."""

    block_id: str
    generation: int
    """How often this kernel has been started, or this tool defined; a restart counts up. 0 for a run that is only known
    from a file."""
    place: str = ""
    """Where the kernel runs, as shown to the user: "Python 3.12.4 in .venv"."""
    elsewhere: bool = False
    """On a server, or started by a provisioner: what the sandbox here promises is not promised there."""
    apart: str = ""
    """As in `Confinement`: this run alone has another sandbox than those of its session."""
    apart_hosts: tuple[str, ...] = ()
    """As in `Confinement`."""
    reads_only: bool = False
    """The sandbox lets it change no file of this machine."""
    offline: bool = False
    """The sandbox lets it reach nothing."""
    origin: str = ""
    """Who brought the tool; "" for code, and for tools of the program itself."""


class ActiveLineChanged(Event, frozen=True, kw_only=True, tag=True):
    """The line (1-based) of the source that runs now."""

    block_id: str
    line: int | None


class ProgressReported(Event, frozen=True, kw_only=True, tag=True):
    """How far the call is that runs now."""

    block_id: str
    progress: Progress


class OutputAdded(Event, frozen=True, kw_only=True, tag=True):
    """One more output; text of the same stream as the last output joins it."""

    block_id: str
    output: Output


class OutputUpdated(Event, frozen=True, kw_only=True, tag=True):
    """The outputs of `output.display_id`, in whatever block of the session, are replaced."""

    block_id: str
    output: Output
    display_id: str


class OutputsCleared(Event, frozen=True, kw_only=True, tag=True):
    """The outputs so far of this block are gone (`clear_output`)."""

    block_id: str


class OutputTailMoved(Event, frozen=True, kw_only=True, tag=True):
    """A stream is longer than what is passed on of it; this is its end now, in place of the one before.

    No text of the stream is added after this, unless the outputs are cleared.
    """

    block_id: str
    name: StreamName
    tail: Tail


class OutputKept(Event, frozen=True, kw_only=True, tag=True):
    """The output is long: all of it goes to a file from now on, or (`whole.missing`) does not any more."""

    block_id: str
    whole: WholeOutput


class OutputDropped(Event, frozen=True, kw_only=True, tag=True):
    """`characters` more of output were too much to show, and are kept nowhere."""

    block_id: str
    characters: int


class InputRequested(Event, frozen=True, kw_only=True, tag=True):
    """Running code (`input()`, `getpass()`, a password prompt) or a tool asks the person for a line."""

    request_id: str
    block_id: str
    prompt: str
    password: bool = False
    asked_by: str = ""
    """The tool that asks, with its origin, in words; "" for code, which cannot continue without a line."""
    choices: tuple[str, ...] = ()
    """Answers that a tool offers; another line may be given."""
    several: bool = False
    """Whether more than one of the choices may be given, each on a line of its own."""
    call: KernelCall | None = None
    """What it asks of the session instead: only a kernel says that, and it is never emitted."""


class InputAnswered(Event, frozen=True, kw_only=True, tag=True):
    """The line was given, or (`cancelled`) the run was interrupted instead. The answer itself is not an event."""

    request_id: str
    block_id: str
    cancelled: bool = False


class ExecutionFinished(Event, frozen=True, kw_only=True, tag=True):
    """The run is over: the kernel or tool replied, or it died."""

    block_id: str
    status: ExecutionStatus
    duration: float
    """Seconds."""
    exit_code: int | None = None
    ending: Ending | None = None
    """Of status `interrupted`: what it was, where it was not the person; of `died`: why it never ran."""


class FilesWritten(Event, frozen=True, kw_only=True, tag=True):
    """Files of the working folder that changed during a run. Sent after the run if files changed or nothing was
    printed, and again when changes are undone or redone."""

    block_id: str
    written: WrittenFiles


class RunTraced(Event, frozen=True, kw_only=True, tag=True):
    """What the run of a block used, and what of it is stale; sent again when that changes."""

    block_id: str
    inputs: tuple[RunInput, ...] = ()
    """None where its kernel has ended."""


class RerunStarted(Event, frozen=True, kw_only=True, tag=True):
    """The kernel was given the source of a block again."""

    block_id: str
    generation: int


class RerunFinished(Event, frozen=True, kw_only=True, tag=True):
    """A repeated run ended; `outcome` compares it with the run on record."""

    block_id: str
    outcome: RerunOutcome
    difference: str = ""
    """Lines of a unified diff from what is on record to what came out now; "" where there is none."""


class KernelChanged(Event, frozen=True, kw_only=True, tag=True):
    """A kernel is in another state now."""

    language: Language
    state: KernelState
    generation: int = 0
    detail: str = ""
    """What it runs in, where that is not known yet: of one that starts, or that would start with the next run."""
    elsewhere: bool = False
    """On a server, or started by a provisioner."""


class SettingsChanged(Event, frozen=True, kw_only=True, tag=True):
    """The model, approval mode or budget of the session changed."""

    model: str
    approval: ApprovalMode
    context_window: int | None = None
    """Tokens that the model takes, None if unknown."""
    api_base: str = ""
    """Server that was named for it; a resumed session asks no other one."""
    max_cost: float = 0.0
    """US dollars that the session may cost, 0 is no limit."""
    max_tokens: int = 0
    """Tokens that it may use, 0 is no limit."""
    complete: bool = False
    """Whether the loop insists until the model says that the task is done."""


class InstructionsChanged(Event, frozen=True, kw_only=True, tag=True):
    """The person has other instructions for the model of this session from the next step on."""

    text: str | None = None
    """As they were written, which may be a template; None those of the settings again."""


class NoticeAdded(Event, frozen=True, kw_only=True, tag=True):
    """The program has something to say that belongs in the transcript."""

    block_id: str
    level: Level
    title: str
    hint: str = ""
    details: str = ""
    remedies: tuple[Remedy, ...] = ()
    """What a person can do about it with one key."""
    wait: float = 0.0
    """Seconds that a server asked to wait; 0 where it did not."""
    to_model: str = ""
    """What the model reads of it, "" for nothing."""


class SummaryStarted(Event, frozen=True, kw_only=True, tag=True):
    """A model is asked for a summary of old turns."""

    turns: int


class SummaryEnded(Event, frozen=True, kw_only=True, tag=True):
    """Nobody is asked for one any more: it came, failed or was stopped."""


class ContextCompacted(Event, frozen=True, kw_only=True, tag=True):
    """From now on the model reads this summary instead of everything up to a block. The session keeps those blocks."""

    block_id: str
    text: str
    """"" where there is no summary: what it covers is left out."""
    until: str
    """As in `SummaryBlock`, like all below."""
    turns: int = 0
    model: str = ""
    focus: str = ""


class SummaryChanged(Event, frozen=True, kw_only=True, tag=True):
    """The person changed a summary, undid it, or took that back."""

    block_id: str
    text: str
    used: bool


class ContextMarked(Event, frozen=True, kw_only=True, tag=True):
    """The person pinned a block, left it out of what the model is sent, or took that back."""

    block_id: str
    mark: ContextMark


class PlanChanged(Event, frozen=True, kw_only=True, tag=True):
    """The plan of the session is this from now on; none without steps."""

    steps: tuple[PlanStep, ...]
    author: Literal["assistant", "user"] = "assistant"


class ConversationCleared(Event, frozen=True, kw_only=True, tag=True):
    """The transcript is empty again and the kernels are fresh (reset)."""


class TurnEnded(Event, frozen=True, kw_only=True, tag=True):
    """Nothing more happens until the person does something. `detail` says why in plain words."""

    reason: StopReason
    detail: str = ""


AnyEvent = (
    SessionOpened
    | TurnStarted
    | StepStarted
    | SecretsWithheld
    | RetryScheduled
    | ProseStarted
    | ProseGrew
    | ProseFinished
    | ThoughtStarted
    | ThoughtGrew
    | ThoughtFinished
    | ThoughtRecognised
    | CodeStarted
    | CodeGrew
    | CodeFinished
    | CallStarted
    | CallGrew
    | CallFinished
    | ThoughtsSealed
    | UsageReported
    | DecisionRequested
    | DecisionMade
    | ExecutionStarted
    | ActiveLineChanged
    | ProgressReported
    | OutputAdded
    | OutputUpdated
    | OutputsCleared
    | OutputTailMoved
    | OutputKept
    | OutputDropped
    | InputRequested
    | InputAnswered
    | ExecutionFinished
    | FilesWritten
    | RunTraced
    | RerunStarted
    | RerunFinished
    | KernelChanged
    | SettingsChanged
    | InstructionsChanged
    | NoticeAdded
    | SummaryStarted
    | SummaryEnded
    | ContextCompacted
    | SummaryChanged
    | ContextMarked
    | PlanChanged
    | ConversationCleared
    | TurnEnded
)
"""The closed union that the fold matches on."""

Emit = Callable[[AnyEvent], None]
"""Takes each event when it happens."""
