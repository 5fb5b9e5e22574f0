"""What a front end can ask about the tools of a session; `session/tool_desk.py` follows it."""

from typing import Literal

import msgspec

from oi_tui.app.engine.core.plan import PlanStep
from oi_tui.app.engine.core.values import SessionVerb

UndoScope = Literal["block", "turn", "session"]
"""Which changes of files are meant together: of one block, of the turn that it belongs to, or all of the session."""

LookPurpose = Literal["diff", "undo", "redo"]
"""To see what was changed, or what undo or redo would do."""


class ToolDeskVerb(SessionVerb, frozen=True, kw_only=True):
    """Base of those that are followed at once: lists of tools and servers, changes of files, the plan."""


class FindTools(ToolDeskVerb, frozen=True, kw_only=True, tag=True):
    """Which tools the model may call; answered with `ToolsFound`."""


class ReadToolFiles(ToolDeskVerb, frozen=True, kw_only=True, tag=True):
    """The person enabled or disabled a file of tools: what it means counts at once, and a notice says what that is."""


ServerChange = Literal["agree", "restart", "disable", "enable", "look"]
"""Agree to what was shown, restart, disable, enable, or read the files again."""


class FindServers(ToolDeskVerb, frozen=True, kw_only=True, tag=True):
    """Which MCP servers there are, now and whenever one changes; answered with `ServersFound`."""

    on: bool = True
    """False: nobody looks any more."""


class ChangeServer(ToolDeskVerb, frozen=True, kw_only=True, tag=True):
    """Does something with an MCP server, for all sessions of the engine; answered with `ServersFound`."""

    name: str = ""
    change: ServerChange
    digest: str = ""
    """Of what was shown when the person agreed."""


class FindOffers(ToolDeskVerb, frozen=True, kw_only=True, tag=True):
    """List prompts and resources of MCP servers, now and whenever they change; answered with `OffersFound`."""


class CompleteOffer(ToolDeskVerb, frozen=True, kw_only=True, tag=True):
    """Complete an argument of a prompt or a variable of a template; answered with `OfferCompleted`."""

    server: str
    offer: str
    """Name of the prompt, or the template's address."""
    argument: str
    typed: str = ""
    """The beginning of it."""
    given: dict[str, str] = msgspec.field(default_factory=dict)
    """The arguments that are already set."""


class FileVerb(ToolDeskVerb, frozen=True, kw_only=True):
    """Base of those about changes of files."""

    scope: UndoScope = "turn"
    block_id: str = ""
    """Of the block, or of one of the turn; "" is the last one that changed a file."""


class ReadChanges(FileVerb, frozen=True, kw_only=True, tag=True):
    """List changes, or those that undo or redo would make; answered with `ChangesFound`."""

    purpose: LookPurpose = "diff"


class UndoChanges(FileVerb, frozen=True, kw_only=True, tag=True):
    """Bring files back, or (`redo`) what was undone last; a notice says what came of it."""

    redo: bool = False
    shown: str = ""
    """The `state` of the `ChangesFound` that the person saw: in another state nothing is done. "": whatever it is."""
    force: bool = False
    """Also files that were changed since by somebody else."""


class PlanVerb(ToolDeskVerb, frozen=True, kw_only=True):
    """Base of those about the plan."""


class ChangePlan(PlanVerb, frozen=True, kw_only=True, tag=True):
    """Replace the plan of this version by the person's; the model reads it at the next step."""

    steps: tuple[PlanStep, ...]
    version: int
    accepts: str = ""
    """Id of the question whether to accept the plan, which this answers: these steps are accepted, or nothing is."""


class SetPlanMode(PlanVerb, frozen=True, kw_only=True, tag=True):
    """Plan mode on, or back to the approval mode before it."""

    on: bool


class CallTool(SessionVerb, frozen=True, kw_only=True, tag=True):
    """The person's own call of a tool: asked about whatever the mode, decided about and on record like one of the
    model, which reads of it with the next prompt. It waits for what was asked for before."""

    tool: str
    source: str
    """The arguments, a JSON object."""


class SwitchTool(ToolDeskVerb, frozen=True, kw_only=True, tag=True):
    """Whether the model may call a tool in this session, as long as it is open; answered with `ToolsFound`."""

    name: str
    on: bool = True


SkillKind = Literal["function", "skill"]

SkillChange = Literal["remove", "restore"]
"""To remove it, and to bring back what was removed under that name."""


class SkillVerb(ToolDeskVerb, frozen=True, kw_only=True):
    """Base of those that are followed at once."""


class SkillJob(SessionVerb, frozen=True, kw_only=True):
    """Base of those that run code, and wait for what runs."""


class FindSkills(SkillVerb, frozen=True, kw_only=True, tag=True):
    """Which skills and kept functions there are; answered with `SkillsFound`."""

    names: bool = False
    """Only to complete a name: nobody asked to see the list."""


class ChangeSkill(SkillVerb, frozen=True, kw_only=True, tag=True):
    """Does something with one of them; answered with `SkillsFound`."""

    kind: SkillKind
    name: str
    change: SkillChange


class KeepFunction(SkillVerb, frozen=True, kw_only=True, tag=True):
    """Keep what `FunctionDrafted` showed last; a notice says how that went."""

    name: str
    digest: str = ""
    """Of what was shown, "" for whatever it was: anything else is not kept."""


class DraftFunction(SkillJob, frozen=True, kw_only=True, tag=True):
    """Have a function tested in a fresh kernel, before it is kept; answered with `FunctionDrafted`, or with a notice
    that says why it cannot be kept."""

    name: str = ""
    """"" is the last one of the block, or of the session."""
    block_id: str = ""
    text: str = ""
    """The file, as the person changed it; "" takes the function out of this session."""


class TestFunction(SkillJob, frozen=True, kw_only=True, tag=True):
    """Run a kept function and its example in a fresh kernel."""

    __test__ = False  # for pytest: it is no test
    name: str


class UseFunction(SkillJob, frozen=True, kw_only=True, tag=True):
    """Run the source of a kept function in this session's kernel, as the person's own code."""

    name: str


AboutServers = FindServers | ChangeServer | FindOffers | CompleteOffer
ToolVerb = (
    FindTools
    | ReadToolFiles
    | SwitchTool
    | AboutServers
    | ReadChanges
    | UndoChanges
    | ChangePlan
    | SetPlanMode
    | FindSkills
    | ChangeSkill
    | KeepFunction
)
