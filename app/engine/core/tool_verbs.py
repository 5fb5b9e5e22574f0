"""What a front end can ask about the tools of a session; `session/tool_desk.py` follows it."""

from typing import Literal

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


ServerChange = Literal["agree", "restart", "disable", "enable", "look"]
"""To agree to what was shown, to start anew, to end until it is enabled, and to read the files again."""


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


class FileVerb(ToolDeskVerb, frozen=True, kw_only=True):
    """Base of those about changes of files."""

    scope: UndoScope = "turn"
    block_id: str = ""
    """Of the block, or of one of the turn; "" is the last one that changed a file."""


class ReadChanges(FileVerb, frozen=True, kw_only=True, tag=True):
    """What was changed, or what undo or redo would change; answered with `ChangesFound`."""

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
    """The person's plan in the place of the one that has this version; the model reads it at the next step."""

    steps: tuple[PlanStep, ...]
    version: int


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


ToolVerb = FindTools | SwitchTool | FindServers | ChangeServer | ReadChanges | UndoChanges | ChangePlan | SetPlanMode
