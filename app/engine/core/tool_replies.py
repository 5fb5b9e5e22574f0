"""What the engine answers about the tools of a session."""

from oi_tui.app.engine.core.tool_verbs import LookPurpose, SkillKind, UndoScope
from oi_tui.app.engine.core.values import SessionReply, Value


class ToolRecord(Value, frozen=True, kw_only=True):
    """A tool, as it is listed."""

    name: str
    description: str
    origin: str = ""
    """Who brought it: "plugin lab", "MCP server time"; "" is the program itself."""
    effects: tuple[str, ...] = ()
    """What its calls may do, in plain words."""
    schema: str = ""
    """Of its arguments, as JSON."""
    time_limit: float | None = None
    """Seconds that a call may take, None where it says nothing."""
    off: bool = False
    """The person switched it off."""


class ToolsFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindTools` and `SwitchTool`: what the model may call in this session, but `execute`."""

    tools: tuple[ToolRecord, ...] = ()


class ServerRecord(Value, frozen=True, kw_only=True):
    """An MCP server, as it is listed."""

    name: str
    state: str
    """`disabled`, `not agreed`, `starting`, `ready`, `changed`, `failed`, `ended`."""
    trouble: str = ""
    """Why it is not ready, as a sentence."""
    about: str = ""
    """What is started or asked."""
    folder: str = ""
    """The folder that names it; "" is the person's own file."""
    wishes: tuple[str, ...] = ()
    """What it asks for beyond what each server gets, in words."""
    variables: tuple[str, ...] = ()
    """Of the environment, which it is given."""
    tools: tuple[str, ...] = ()
    """Each with what it says of itself, on one line."""
    changes: str = ""
    """What changed since the person agreed, as a diff."""
    digest: str = ""
    """Of what the person agrees to."""
    log: str = ""
    resources: tuple[str, ...] = ()
    """Addresses of its resources."""
    prompts: tuple[str, ...] = ()
    """Prompts that it has ready, as they are typed behind a slash: "notes:explain topic"."""


class ServersFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindServers` and `ChangeServer`: all that the files name."""

    servers: tuple[ServerRecord, ...] = ()
    problem: str = ""
    """What could not be done, as a sentence."""


class PromptRecord(Value, frozen=True, kw_only=True):
    """A prompt that a server has ready; safe to show."""

    name: str
    slash: str
    """What is typed for it behind the slash: "notes:explain"."""
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


class ResourceRecord(Value, frozen=True, kw_only=True):
    """Something that a server lets one read; safe to show."""

    uri: str
    """Its address; with variables, `note://{day}`, a template of addresses."""
    name: str = ""


class ServerOffers(Value, frozen=True, kw_only=True):
    """Prompts and resources of a server that is ready."""

    name: str
    prompts: tuple[PromptRecord, ...] = ()
    resources: tuple[ResourceRecord, ...] = ()
    templates: tuple[ResourceRecord, ...] = ()


class OffersFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindOffers`, and news of it."""

    servers: tuple[ServerOffers, ...] = ()


class OfferCompleted(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `CompleteOffer`, whose words it repeats."""

    server: str
    offer: str
    argument: str
    typed: str = ""
    values: tuple[str, ...] = ()


class ChangedFile(Value, frozen=True, kw_only=True):
    """A file that was changed, or would be."""

    name: str
    """Relative to the folder where it is in it."""
    diff: str
    """Unified, bounded."""
    problem: str = ""
    """Why it would not be brought back, in words that follow its name; "" if it would."""
    forceable: bool = False
    """Whether it would be, if the person insists."""


class ChangesFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `ReadChanges`: each file once, whatever was done to it in between."""

    scope: UndoScope = "turn"
    block_id: str = ""
    purpose: LookPurpose = "diff"
    files: tuple[ChangedFile, ...] = ()
    state: str = ""
    """Differs where anything of it would be another by now."""
    why: str = ""
    """Why there is nothing, "" if there is something."""


class SkillRecord(Value, frozen=True, kw_only=True):
    """A skill or a kept function, as it is listed."""

    kind: SkillKind
    name: str
    summary: str = ""
    """One line: what it says of itself."""
    place: str = ""
    """Its file or folder."""
    text: str = ""
    """What is shown of it: the file of a function, the `SKILL.md` of a skill."""
    digest: str = ""
    wrong: str = ""
    """Why it cannot be used, as the rest of a sentence about it."""
    agreed: bool = True
    """Whether it is as the person agreed to it; what is not is not used."""
    version: int = 0
    tested: str = ""
    """How the last test of a function went: `passed`, what failed, or "" where none ran."""
    own: bool = True
    """Whether it is the person's own, rather than the folder's."""


class SkillsFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `FindSkills` and `ChangeSkill`."""

    skills: tuple[SkillRecord, ...] = ()
    problem: str = ""
    """What could not be done, as a sentence."""
    names: bool = False
    """As `FindSkills` asked."""


class FunctionDrafted(SessionReply, frozen=True, kw_only=True, tag=True):
    """Answer to `DraftFunction`: what would be kept, for the person to look at."""

    name: str
    text: str
    """The whole file."""
    digest: str
    version: int = 1
    changes: str = ""
    """What is different from the kept version, as a diff; "" where there is none."""
    needs: tuple[str, ...] = ()
    """Other names of the session that the file holds."""
    passed: bool = True
    tested: str = ""
    """How its test went, in a sentence."""


AboutTools = ToolsFound | ServersFound | OffersFound | OfferCompleted | ChangesFound | SkillsFound | FunctionDrafted
