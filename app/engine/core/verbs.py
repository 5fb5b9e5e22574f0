"""What a front end can ask of the engine and its sessions: the only way back from the screen."""

from typing import Annotated, Literal

import msgspec

from oi_tui.app.engine.core.blocks import ContextMark
from oi_tui.app.engine.core.extractions import AnyExtractionVerb
from oi_tui.app.engine.core.kernel_looks import AnyLookVerb
from oi_tui.app.engine.core.library_verbs import (
    EditSession,
    ExportSession,
    FindFormats,
    FindPrompts,
    FindSessions,
    PreviewSession,
)
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.tool_verbs import CallTool, DraftFunction, TestFunction, ToolVerb, UseFunction
from oi_tui.app.engine.core.values import ApprovalMode, Language, ScopeKind, SessionVerb, Verb
from oi_tui.app.engine.core.widget_controls import OperateWidget


class Open(Verb, frozen=True, kw_only=True, tag=True):
    """First verb: a new session, or (with an id) a stored one, whose events come first, marked as `replay`.
    Later it leaves the session opened last: running code there is interrupted, and its kernels end."""

    session_id: str | None = None
    anew: bool = False
    """Create the session if it does not exist: a session in which nothing happened is not kept."""
    beside: bool = False
    """Leave no session: this one is open besides the others."""
    end_first: bool = False
    """Of a long one, tell the `LastBlocks` before everything else: there is nothing on the screen yet."""


class Leave(SessionVerb, frozen=True, kw_only=True, tag=True):
    """End one session, with its runs and kernels; answered with `SessionGone`, after everything else about it."""


Place = Literal["before", "after"]


class Fork(SessionVerb, frozen=True, kw_only=True, tag=True):
    """A new session with everything before or up to this block, opened as with `Open`, on the same kernels."""

    block_id: str
    place: Place = "after"


class Rebuild(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Run these blocks again up to the first error: in fresh kernels, outputs compared, or (`here`) as new blocks."""

    block_ids: tuple[str, ...]
    here: bool = False


class Submit(SessionVerb, frozen=True, kw_only=True, tag=True):
    """A prompt: begins a turn. While a turn runs, it waits."""

    text: str
    files: tuple[str, ...] = ()
    steer: bool = False
    """If a turn runs, the model reads this at its next step, and not after the turn."""
    command: str = ""
    """The command that made the text, as it was typed."""
    schema: str = ""
    """JSON schema that the answer must fit, as JSON; "" is none."""


class Withdraw(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Take back the prompt with this text that waits and was sent last; answered with `PromptsQueued`."""

    text: str


class KernelVerb(SessionVerb, frozen=True, kw_only=True):
    """Base of what is done about kernels and their server while code may run."""


class SaveRemote(KernelVerb, frozen=True, kw_only=True, tag=True):
    """Make a file on the server on which code runs, never over another one. A notice says that it is there."""

    path: str
    """Relative to where the server's files begin."""
    data: bytes


class Run(SessionVerb, frozen=True, kw_only=True, tag=True):
    """The person's own code (`!ls`, `%python`): runs without a question; the model sees it with the next prompt."""

    language: Language
    source: str


class Decide(SessionVerb, frozen=True, kw_only=True, tag=True):
    """The answer to `DecisionRequested`. An unknown or decided id changes nothing."""

    request_id: str
    verdict: Verdict
    source: str | None = None
    """Verdict `edit`: the source to run instead."""
    reason: str = ""
    """With `skip`: the reason that the model reads."""
    scope: ScopeKind = "source"
    """With `always`: how far it reaches. One that was not offered for what runs grants nothing."""
    install: bool = False
    """With `run`: with what `DecisionRequested.offer` says, once; without an offer it changes nothing."""
    time_limit: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Seconds that this run may take, 0 for no limit; None leaves `kernel.time_limit` as it is."""


class Revise(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Change the arguments of a call whose question is open. The question comes again with what the call would do now.
    An unknown or decided id changes nothing."""

    request_id: str
    source: str


class Answer(SessionVerb, frozen=True, kw_only=True, tag=True):
    """The answer to `InputRequested`."""

    request_id: str
    text: str
    declined: bool = False
    """Refuse to answer. A tool gets None; code keeps waiting."""


class Interrupt(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Interrupt the current run (the turn continues), or with `turn` stop the whole turn."""

    turn: bool = False


class Restart(SessionVerb, frozen=True, kw_only=True, tag=True):
    """A fresh kernel for this language (None: all that were started)."""

    language: Language | None = None


class Retry(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Continue the last turn without a new prompt; with `now` only end a model's wait for its next attempt."""

    now: bool = False


class Clear(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Forget the conversation and the state of the kernels."""


class Pause(SessionVerb, frozen=True, kw_only=True, tag=True):
    """End the turn after the step that runs; `Retry` continues it."""


class SetComplete(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Whether the loop insists until the model says that the task is done, impossible, or needs input."""

    on: bool


class Compact(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Have all but the last turn summarised for the model; `focus` says what matters. The session keeps all of it."""

    focus: str = ""


class Settle(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Answered with `PromptsQueued.settled` when all that was asked for before has come to its end."""

    request_id: str


class ContextVerb(SessionVerb, frozen=True, kw_only=True):
    """Base of those about what the model reads."""


class ChangeSummary(ContextVerb, frozen=True, kw_only=True, tag=True):
    """Another text of a summary, or whether it is used; without it the model reads what it covers again."""

    block_id: str
    text: str
    used: bool = True


class MarkContext(ContextVerb, frozen=True, kw_only=True, tag=True):
    """Pin a block, leave it out of what the model is sent, or ("") neither."""

    block_id: str
    mark: ContextMark


class ReadContext(ContextVerb, frozen=True, kw_only=True, tag=True):
    """List what the next request consists of; answered with `ContextFound`."""


class UseModel(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Another model from the next step on."""

    name: str
    api_base: str | None = None
    """A server; "" is the provider's own, None the one that is in use, if it may have a model of this name."""
    api_key: str | None = None
    """Never in an event. `$NAME` means that environment variable."""
    keep: bool = False
    """Also what new sessions begin with."""
    keep_key: bool = False
    """Keep the key for another day too: in the keyring, else in a file that only the person can read."""


class UseKernel(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Run Python code in another environment or on a server from now on, in a fresh kernel: variables go."""

    name: str
    """Of an environment or its path, of a server, or what else `kernels/remote/address.py` reads."""
    agreed: bool = False
    """Whether the person knows what it means to use a kernel that somebody else started."""


class InstallKernel(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Install ipykernel with the `command` that the person agreed to (no other runs), and run Python code there."""

    name: str
    command: str
    """`KernelChoice.remedy`."""


class FindKernels(KernelVerb, frozen=True, kw_only=True, tag=True):
    """Look for what Python code can run in, also while code runs; answered with `KernelsFound`."""

    server: str = ""
    """What is on this server instead, which is asked over the network."""


class SetApproval(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Another approval mode from the next decision on."""

    mode: ApprovalMode


class AddRule(SessionVerb, frozen=True, kw_only=True, tag=True):
    """One more rule such as `Shell(git log *)`, until the session is left; what denies and asks still counts first."""

    verdict: Literal["allow", "ask", "deny"]
    rule: str


class SetBudget(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Change the limits of this session, from the next request on; without any, report them and what is spent."""

    max_cost: float | None = None
    """US dollars; 0 is no limit, None leaves it as it is."""
    max_tokens: int | None = None


class UseInstructions(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Other instructions of the person's own from the next step on; None: those of the settings. `Failed` if wrong."""

    text: str | None = None


class FindInstructions(SessionVerb, frozen=True, kw_only=True, tag=True):
    """List what the model reads before the first prompt, and its origins; answered with `InstructionsFound`."""


class TellUsage(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Say in a notice what was spent in this session, today and this month, and on which models."""


class FindModels(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Look for keys, local servers and embedded models; answered with `ModelsFound`."""


class FetchModel(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Download the embedded model of this id, which the person agreed to, start it, and use it."""

    model_id: str


class ForgetKey(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Delete a key of `ModelsFound.kept`, which the person agreed to; answered with a notice and `ModelsFound`."""

    whose: str


class CancelFetch(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Stop the download; what has arrived is kept for the next time."""


class KeepDraft(Verb, frozen=True, kw_only=True, tag=True):
    """Keep text that is typed but not sent; `DraftKept` returns it when the program next starts in this folder."""

    text: str


class Detach(Verb, frozen=True, kw_only=True, tag=True):
    """Keep running without this front end, questions wait. `Detached`: now the front end may go; or `Failed`."""


class Close(Verb, frozen=True, kw_only=True, tag=True):
    """Save all sessions, end kernels and model server, and end."""


Job = (
    Submit
    | Run
    | CallTool
    | Retry
    | Clear
    | Compact
    | Restart
    | Rebuild
    | UseKernel
    | InstallKernel
    | Settle
    | OperateWidget
    | DraftFunction
    | TestFunction
    | UseFunction
)
"""What a session does one after the other."""

WorkVerb = (
    Job
    | Decide
    | Revise
    | Answer
    | Interrupt
    | UseModel
    | SetApproval
    | SetBudget
    | SetComplete
    | Pause
    | TellUsage
    | AddRule
    | UseInstructions
    | FindInstructions
    | FindKernels
    | FindModels
    | FetchModel
    | CancelFetch
    | ForgetKey
    | AnyLookVerb
    | Withdraw
    | SaveRemote
    | ChangeSummary
    | MarkContext
    | ReadContext
    | ToolVerb
    | AnyExtractionVerb
)
"""What is done within one session."""

AnyVerb = (
    WorkVerb
    | Open
    | Leave
    | Fork
    | FindSessions
    | PreviewSession
    | EditSession
    | ExportSession
    | FindPrompts
    | FindFormats
    | KeepDraft
    | Detach
    | Close
)


def address_verb(verb: AnyVerb, session_id: str) -> AnyVerb:
    """The verb as one about this session, if it is about one and does not say which."""
    if isinstance(verb, SessionVerb) and not verb.session_id:
        return msgspec.structs.replace(verb, session_id=session_id)
    return verb
