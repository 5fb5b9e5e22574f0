"""The wire between a front end and the engine: one JSON object a line, verbs in, replies out.

First line each way is `Hello`; a different `version` ends the conversation with a clear error. The front
end's second line is `Configure`. What the engine sends is a `Reply`: session events (stored, folded) and the few
answers that are not part of a session (models, downloads, variables, the list of sessions, `Failed`). Several sessions
may be open in one engine: verbs and replies about one say which. See README.md of the engine.
"""

from typing import Literal

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.context_use import ContextUse
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.extractions import ExtractionFound
from oi_tui.app.engine.core.instructions import InstructionPart
from oi_tui.app.engine.core.kernel_choice import KernelChoice
from oi_tui.app.engine.core.kernel_looks import AboutKernels
from oi_tui.app.engine.core.library_replies import (
    FormatsFound,
    PromptsFound,
    SessionEdited,
    SessionExported,
    SessionSeen,
    SessionsFound,
)
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.tool_replies import AboutTools
from oi_tui.app.engine.core.values import SessionReply, Value
from oi_tui.app.engine.core.verbs import AnyVerb

PROTOCOL_VERSION = 1
"""Incremented whenever a line of an older version would be misread. A line without a `session_id`, from before there
were several sessions, means the only open one."""

FRAME = 1 / 30
"""Seconds between two batches while text streams, the rate at which front ends draw. Anything else, and the first text
after a pause, is sent at once."""

REPLAYED = 2_000
"""Events in one batch of a replay: the front end folds them while the next ones are made ready."""


class Hello(Value, frozen=True, kw_only=True, tag=True):
    """First line each way."""

    version: int
    """`PROTOCOL_VERSION` of the sender; required, so that it is on every wire."""
    program: str = ""


class Attach(Value, frozen=True, kw_only=True, tag=True):
    """Second line of a front end that comes to an engine that is detached, instead of `Configure`. Its first `Open` is
    answered with what is open there, as it is."""

    take_over: bool = False
    """Disconnect another front end that is attached."""
    outlives: bool = False
    """As in `Configure`, from here on."""


WorkState = Literal["running", "waiting for approval", "waiting for input", "idle", "paused", "stopped", "errored"]
"""What a session does; the last three: it rests, and this is how its last turn ended."""


class Batch(SessionReply, frozen=True, kw_only=True, tag=True):
    """Session events in order; with `replay`, those of a stored session that is being opened."""

    events: tuple[AnyEvent, ...]
    replay: bool = False
    """They are of a stored session that was opened; the transcript starts over."""
    further: bool = False
    """It does not: these come behind those of the last batch, in the same replay."""
    more: bool = False
    """Further ones follow, and there is no need to show anything before them."""


class LastBlocks(SessionReply, frozen=True, kw_only=True, tag=True):
    """How a long session ends that is being opened, as `Open.end_first` asked: something to look at until the replay,
    which holds it too, is complete."""

    blocks: tuple[Block, ...]


class ModelOffer(Value, frozen=True, kw_only=True):
    """One way to get a model, best first."""

    id: str
    """What `UseModel.name` or, for an embedded model that is not here yet, `FetchModel.model_id` takes."""
    kind: Literal["key", "server", "embedded", "tour"]
    title: str
    detail: str = ""
    api_base: str | None = None
    """As in `UseModel`."""
    download_bytes: int = 0
    """What choosing it would download; 0 when it is ready."""
    recommended: bool = False
    current: bool = False
    """It is in use."""
    recent: bool = False
    """It was used before."""
    is_kept: bool = False
    """Its key was given to be kept, so its provider may be asked for a list of models."""
    wants_key: bool = False
    """The key that it was used with was typed, and is not known any more."""


class ModelsFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindModels`; `why` explains the recommended embedded model in one line."""

    offers: tuple[ModelOffer, ...]
    why: str = ""
    default: str = ""
    """What new sessions begin with."""
    more: bool = False
    """Servers are still being asked what they have; the answer comes again."""
    key_file: str = ""
    """Where a key is kept if that is wanted and there is no keyring."""
    kept: tuple[tuple[str, Literal["keyring", "file"]], ...] = ()
    """Whose keys are kept and can be deleted, by the name of the provider or the address of the server, and where."""


class KernelsFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindKernels`: what is here, the one in use first, or what is on a server."""

    server: str = ""
    """Whose kernelspecs and kernels these are; "" is this machine, with the servers that are known."""
    choices: tuple[KernelChoice, ...] = ()
    why: str = ""
    """Why there are none."""


class InstructionsFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindInstructions`: the system message of the next request, as it leaves."""

    parts: tuple[InstructionPart, ...]
    remarks: tuple[str, ...] = ()
    """What is not used that somebody might expect, and why; one sentence each."""
    own: str = ""
    """The person's own instructions as they were written, to be changed."""
    edited: bool = False
    """Whether those of this session replace those of the settings."""


class FetchProgressed(SessionReply, frozen=True, kw_only=True, tag=True):
    """How far a download is."""

    model_id: str
    done_bytes: int
    total_bytes: int
    stage: Literal["downloading", "joining", "verifying", "starting"] = "downloading"


class FetchEnded(SessionReply, frozen=True, kw_only=True, tag=True):
    """The embedded model is in use now, or why not (`error` empty and not `ready`: cancelled)."""

    model_id: str
    ready: bool
    error: str = ""
    hint: str = ""


class DraftKept(Value, frozen=True, kw_only=True, tag=True):
    """The draft in this folder when the program last ended; sent once, if there is one."""

    text: str


class Standing(Value, frozen=True, kw_only=True, tag=True):
    """What a detached engine sends after its `Hello` to every front end that connects, before that sends more than
    `Hello`."""

    session_id: str
    """The one that was opened last."""
    state: WorkState
    attached: bool
    """Whether a front end is there."""
    cwd: str
    settings: Settings
    """With which it was configured."""


class Detached(SessionReply, frozen=True, kw_only=True, tag=True):
    """The engine keeps running without the front end that receives this."""

    idle_limit: float
    """Seconds without work after which it ends; 0: it lives as long as the assistant that it serves."""
    taken_over: bool = False
    """Whether another front end came, and this one did not ask to go."""


class ContextFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """The parts of the next request, as the answer to `ReadContext`."""

    context: ContextUse


class SandboxFailed(SessionReply, frozen=True, kw_only=True, tag=True):
    """A sandbox is required and cannot be made: no code runs until that is fixed. Sent on its own soon after the start;
    a notice of the session says why, and what to do."""


class PromptsQueued(SessionReply, frozen=True, kw_only=True, tag=True):
    """The waiting prompts, in order, sent when they change; `steers`: whether the model reads each at the next step."""

    prompts: tuple[str, ...] = ()
    steers: tuple[bool, ...] = ()
    withdrawn: str | None = None
    settled: str = ""
    """Answers: the one that was just taken back, as `Withdraw` asked; the id of a `Settle`."""


class SessionGone(SessionReply, frozen=True, kw_only=True, tag=True):
    """The answer to `Leave`: the session has ended, and everything about it was sent before this."""


class Failed(SessionReply, frozen=True, kw_only=True, tag=True):
    """The engine cannot continue, or could not follow a verb; `fatal_reply` when it ends now."""

    title: str
    hint: str = ""
    details: str = ""
    fatal: bool = False
    exit_code: int = 1
    """What a program that does one task ends with (see `errors`)."""


def failure_reply(error: OiTuiError, *, fatal: bool = False) -> Failed:
    """An error of ours on the wire."""
    return Failed(title=error.title, hint=error.hint, details=error.details, fatal=fatal, exit_code=error.exit_code)


def fatal_reply(error: OiTuiError) -> Failed:
    """An error of ours as the last word of an engine."""
    return failure_reply(error, fatal=True)


Reply = (
    Hello
    | Batch
    | LastBlocks
    | ModelsFound
    | KernelsFound
    | InstructionsFound
    | FetchProgressed
    | FetchEnded
    | AboutKernels
    | SessionsFound
    | SessionSeen
    | SessionEdited
    | SessionExported
    | PromptsFound
    | FormatsFound
    | DraftKept
    | PromptsQueued
    | ContextFound
    | Standing
    | Detached
    | AboutTools
    | ExtractionFound
    | SandboxFailed
    | SessionGone
    | Failed
)
AboutSessions = SessionsFound | SessionSeen | SessionEdited | SessionExported | Failed
"""`Failed` may be about something else: it does not name the request."""

AboutModels = ModelsFound | FetchProgressed | FetchEnded

AboutPrompts = PromptsFound | PromptsQueued | DraftKept

ViewReply = (
    AboutModels
    | FormatsFound
    | AboutSessions
    | AboutKernels
    | AboutPrompts
    | KernelsFound
    | InstructionsFound
    | ContextFound
    | AboutTools
    | ExtractionFound
    | Detached
)
"""What a screen shows that is no part of a session."""

Request = Hello | Configure | Attach | AnyVerb
