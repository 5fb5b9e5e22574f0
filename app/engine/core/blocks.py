"""The things a transcript consists of, as values; what a person sees one under the other."""

from typing import Literal

from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.outputs import Output, Progress, RunInput, WholeOutput, WrittenFiles
from oi_tui.app.engine.core.values import Language, Level, Remedy, SealedThoughts, Value

ProseState = Literal["streaming", "complete", "cut"]
"""`cut`: the stream broke or was interrupted; the text is what had arrived."""

ActionState = Literal[
    "streaming",  # the model is still writing it
    "cut",  # the model was interrupted while writing it: never run
    "proposed",  # complete, no decision asked for yet
    "waiting",  # a decision has been asked for
    "running",
    "ok",
    "error",  # raised, a shell command with a non-zero exit code, or a tool that failed
    "interrupted",  # by the person, where there is no `ending`
    "died",  # the kernel ended under it
    "refused",  # never run; nobody refused it where there is an `ending`
]


ContextMark = Literal["", "pinned", "left out"]
"""Whether the person pinned a block (always sent to the model) or left it out (never sent)."""


RerunState = Literal["", "running", "same", "differs", "error", "interrupted", "died", "refused"]
"""Not repeated, under way, or how that ended (see `events.RerunOutcome`)."""


class UserBlock(Value, frozen=True, kw_only=True, tag="user"):
    """What the person asked."""

    id: str
    text: str
    files: tuple[str, ...] = ()
    """Paths given with the prompt, which need not exist, and pictures as `data:` URLs (`text/attached.py`)."""
    context: str = ""
    """What the model reads besides the text: the beginnings of the files."""
    command: str = ""
    """The command that made the text, as it was typed."""
    origins: tuple[str, ...] = ()
    """Who else wrote of the text or the context: "MCP server notes"."""
    withheld: tuple[str, ...] = ()
    """Names of the secrets in it that are withheld from the model, one for each place."""
    mark: ContextMark = ""


class ProseBlock(Value, frozen=True, kw_only=True, tag="prose"):
    """Markdown text of the model."""

    id: str
    text: str = ""
    state: ProseState = "streaming"
    step: int = 0
    """Which answer of the model it belongs to, counted through the session."""
    mark: ContextMark = ""


class ThoughtBlock(Value, frozen=True, kw_only=True, tag="thought"):
    """What the model thought before its answer: never code, never sent back as prose."""

    id: str
    text: str = ""
    state: ProseState = "streaming"
    step: int = 0
    """As in `ProseBlock`."""
    seconds: float | None = None
    """How long it took, None where nobody measured."""
    tokens: int = 0
    """What the server counted for all thoughts of its step; 0 where it did not."""


class Action(Value, frozen=True, kw_only=True):
    """What is proposed, decided about and run, and what running it gave: code for a kernel, or a call of a tool."""

    id: str
    source: str = ""
    """Code, or the arguments of a call as JSON; what is shown, approved and run: byte for byte the same text."""
    original: str | None = None
    """The model's text where the person edited it before the run, else None."""
    state: ActionState = "streaming"
    step: int = 0
    """Which answer of the model it belongs to, counted through the session; 0 for what the person typed."""
    author: Literal["assistant", "user"] = "assistant"
    """`user`: code that the person typed (`!ls`, `%python`), which runs without being proposed; or a call that the
    person makes again."""
    call_id: str | None = None
    """Id of the native tool call it came in, None for fenced code."""
    sealed: SealedThoughts | None = None
    """As in `ThoughtsSealed`."""
    caller: str = ""
    """Id of the block whose run asked for it (`computer.run`), "" where none did. The model reads what that run prints
    of it, and nothing else."""
    refusal: str = ""
    """The person's reason, where one was given, or the rule that denied it."""
    ending: Ending | None = None
    """Why it is `refused`, `interrupted` or `died`, where no person refused or interrupted it and it did not run."""
    allowance: str = ""
    """The rule that let it run without a question, "" if it was none."""
    outputs: tuple[Output, ...] = ()
    asked: bool = False
    """Whether the run asked the person for a line: it cannot be repeated without one."""
    dropped: int = 0
    """Characters of output that are kept nowhere: results too large to show."""
    whole: WholeOutput | None = None
    """Where all of a long output is, None if it is short."""
    written: WrittenFiles | None = None
    """Files that changed while it ran, None where nobody looked."""
    exit_code: int | None = None
    """Shell only."""
    duration: float | None = None
    """Seconds of the run, None until it ended."""
    withheld: tuple[str, ...] = ()
    """Names of the secrets in source and outputs that are withheld from the model, one for each place."""
    mark: ContextMark = ""

    @property
    def is_edited(self) -> bool:
        """Whether the person changed the source before it ran."""
        return self.original is not None


class CodeBlock(Action, frozen=True, kw_only=True, tag="code"):
    """Source that a kernel runs."""

    language: Language
    active_line: int | None = None
    """1-based line that runs now, None when unknown or not running."""
    rerun: RerunState = ""
    """How it went when it was run once more to rebuild the state of its kernel."""
    place: str = ""
    """What it ran in: "Python 3.12.4 in .venv"; "" before it ran, and where there is nothing to tell."""
    apart: str = ""
    """The folder into which it installed something, by a process of its own, or `FRESH_KERNEL`; "" where it ran in the
    kernel of its language."""
    inputs: tuple[RunInput, ...] = ()
    """Variables of other blocks that it used, as far as the kernel that ran it lives."""

    @property
    def is_stale(self) -> bool:
        """Whether something that it used has changed since."""
        return any(one.stale_by for one in self.inputs)

    @property
    def runs_in(self) -> str:
        """What runs it, as shown to the user: the language of the kernel."""
        return self.language

    @property
    def written_in(self) -> str:
        """The language of its source."""
        return self.language


class CallBlock(Action, frozen=True, kw_only=True, tag="call"):
    """A call of a tool; `source` are its arguments, a JSON object."""

    tool: str
    progress: Progress | None = None
    """How far the run says it is, None while it says nothing."""
    origin: str = ""
    """Who brought the tool, as known when it ran; "" is the program itself."""

    @property
    def runs_in(self) -> str:
        """What runs it, as shown to the user: `tool clock`."""
        return f"tool {self.tool}"

    @property
    def written_in(self) -> str:
        """The language of its source."""
        return "json"


class NoticeBlock(Value, frozen=True, kw_only=True, tag="notice"):
    """Something the program itself has to say: what happened, what to do."""

    id: str
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


class SummaryBlock(Value, frozen=True, kw_only=True, tag="summary"):
    """A summary that the model reads instead of everything up to a block, except pinned blocks. The session keeps those
    blocks."""

    id: str
    text: str = ""
    """By a model, or as the person changed it; "" where what it covers is only left out."""
    until: str
    """The id of the last block that it covers."""
    turns: int = 0
    """Prompts among those."""
    model: str = ""
    """Who wrote it."""
    focus: str = ""
    """What the person asked to keep."""
    used: bool = True
    """False where the person undid it: the model reads what it covers again."""


ActionBlock = CodeBlock | CallBlock
"""The two kinds of `Action`."""

Block = UserBlock | ProseBlock | ThoughtBlock | CodeBlock | CallBlock | NoticeBlock | SummaryBlock
