"""A tool as a value: its description for a model, the facts of a call for the policy, and the function that runs it.

async def now(arguments, output):
    return datetime.now(ZoneInfo(arguments["zone"])).isoformat()

Tool(name="clock", description="The time in a zone.", schema=ZONE, run=now, capabilities=Capabilities(writes=False))
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote

import msgspec

from oi_tui.app.engine.core.chat_model import ToolSpec
from oi_tui.app.engine.core.encoding import decode_arguments
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import Confinement, EditableText, Value
from oi_tui.app.engine.policy.reading import Handover, PathUse, ReplacedFile, Risk, SourceFacts, Unread, merge_facts
from oi_tui.app.engine.policy.risks import EXPOSED, FOREIGN, MAY_CHANGE, MAY_DESTROY, NETWORK, SECRETS
from oi_tui.app.engine.policy.secrets import names_secret
from oi_tui.app.engine.tools.later import LaterResult, Pending

Arguments = dict[str, Any]
"""Of a call, as its JSON object says; they fit the tool's schema when `run` gets them."""

WHOLE = 0
"""The line of a fact that is true of a call as a whole."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""What all providers take as a name."""

LONGEST_DESCRIPTION = 4_000
"""Characters of a description that is read off a docstring."""

_DEEPEST = 50
"""Levels of arguments that are looked through for paths."""


class ToolFailed(Exception):
    """A call that failed; its text is for the model and the user."""


class Capabilities(Value, frozen=True, kw_only=True):
    """What calls of a tool may do. A promise can only make it stricter: without one, the worst is assumed."""

    writes: bool = True
    """Change files, settings, or what others keep."""
    destroys: bool = True
    """Delete or overwrite what cannot be brought back; without meaning where it does not write."""
    network: bool = True
    """Reach other machines."""
    repeatable: bool = False
    """A second call with the same arguments does no more than the first: it may be repeated."""

    @property
    def side_by_side(self) -> bool:
        """Whether such calls may run at the same time: none changes what another one reads."""
        return not self.writes


class ToolOutput(Protocol):
    """Where a call says what it does while it runs, from any thread; TypeError or ValueError for nonsense."""

    @property
    def block_id(self) -> str:
        """The block of this call."""
        ...

    def print(self, text: str) -> None:
        """Text, shown as it comes; end a line with a line end."""
        ...

    def show(self, output: RichOutput) -> None:
        """A picture, a table, or whatever else has a mime type."""
        ...

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """How far it is, in finite numbers."""
        ...

    async def ask(
        self, question: str, choices: Sequence[str] = (), *, several: bool = False, password: bool = False
    ) -> str | None:
        """A line from the person, who may pick one of the choices (`several`: more, each on a line) or type another.
        None where nobody can be asked, or gives no answer. From the engine's own loop only; one question at a time, and
        the time limit pauses meanwhile."""
        ...


class CallingOutput(ToolOutput, Protocol):
    """The same, for a call that calls other tools, or whose result comes later."""

    async def call(self, name: str, arguments: Arguments) -> str:
        """The text of what another tool gives, after it was decided about like a call of the model; ToolFailed where it
        fails or is refused. From the engine's own loop only; 3 levels deep, and 20 in all, at most."""
        ...

    def finish_later(self) -> LaterResult:
        """Where the result of this call goes, if the call itself returns `Pending`."""
        ...


RunCall = Callable[[Arguments, Any], Awaitable[str | RichOutput | Pending | None]]
"""Runs a call; the second is a `CallingOutput`, of which most need no more than `ToolOutput`. What it returns is its
result; another type is an error. ToolFailed, or any other error, ends it as one. It is cancelled when the person
interrupts it, and must end soon then."""


Preview = Callable[[Arguments], Awaitable[RichOutput | None]]
"""What a call would do, as `text/x-diff`, `text/markdown` or `text/plain`: shown to the person who is asked about it,
and to nobody else. It gets arguments that fit the schema, reads, changes nothing, and takes 5 seconds at most. After
ToolFailed nobody is asked: the call cannot work, and the model reads why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that a model may call by name; the person is asked about each call as about code."""

    name: str
    """A letter, then letters, digits, `_` and `-`, at most 64."""
    description: str
    """For the model: what it does, and when to call it."""
    schema: dict[str, Any]
    """JSON schema of the arguments, an object."""
    run: RunCall
    capabilities: Capabilities = field(default_factory=Capabilities)
    read: Callable[[Arguments], SourceFacts] | None = None
    """What this call does, for rules and labels, beyond what each call may do. None: its texts count as paths."""
    confinement: Confinement = field(default_factory=Confinement)
    """Its sandbox; without a sandbox, each call is asked about in the mode `auto`, and in every mode but
    `bypassPermissions` where it may destroy something."""
    unasked: str = ""
    """Why no call needs approval, such as “it reads this conversation only”; only the program itself says so. Rules
    that deny or ask count all the same, and so does the mode `never`."""
    origin: str = ""
    """Who brought it, for the question, the list of tools and the audit log: "plugin lab", "MCP server time",
    "tools/units.py"; "" is the program itself."""
    place: str = ""
    """Where its calls run, if not in the engine: a kernel in the sandbox of `confinement`."""
    kernel: str = ""
    """Which kernel that is: of calls in the same one, the next begins when the one before has ended."""
    foreign: bool = False
    """What it returns was written by others, who may want to steer the model: the session counts as tainted by it."""
    preview: Preview | None = None
    """What the question shows beside the arguments, such as a change as a diff."""
    editable: Callable[[Arguments], EditableText | None] | None = None
    """Which argument of a call a person edits in the question as a text of its own, and its language; it gets arguments
    that may not fit the schema."""
    time_limit: float | None = None
    """Seconds that a call may take; None is the session's limit for runs. The person can give one call another."""
    for_small: bool = True
    """Whether small models are offered it: each tool more makes them worse at the others."""
    instructions: Callable[[], str] | None = None
    """What the system message says of it, also to models that are not offered it; only of tools of the program."""
    asks_model: bool = False
    """Whether its calls may ask the session's model, by the tool `ask_model`: the person is asked each time."""
    may_call: tuple[str, ...] = ()
    """Names of tools that its calls may call; the question names them, and who says yes agrees to these as well."""

    def __post_init__(self) -> None:
        """SettingsError for a name that no model API accepts, and for approval that somebody else gives itself."""
        if self.unasked and self.origin:
            raise SettingsError(f"The tool {self.name} cannot say by itself that it needs no approval.")
        if not NAME.fullmatch(self.name):
            raise SettingsError(f"{self.name!r} is no name for a tool: a letter, then letters, digits, _ and -.")

    @property
    def spec(self) -> ToolSpec:
        """The description for a model."""
        return ToolSpec(name=self.name, description=self.description, schema=self.schema)

    def facts(self, source: str) -> SourceFacts:
        """The effects of a call with these arguments, as far as known. Never raises."""
        may, held = self.capabilities, self.confinement
        exposed = not (held.sandboxed or held.own_rules)
        risks = [Risk(MAY_DESTROY if may.destroys and exposed else MAY_CHANGE, WHOLE)] * may.writes
        risks += [Risk(NETWORK, WHOLE)] * may.network + [Risk(EXPOSED, WHOLE)] * exposed
        risks += [Risk(FOREIGN, WHOLE)] * self.foreign
        known = SourceFacts(risks=tuple(risks))
        try:
            arguments = decode_arguments(source)
            read = self.read(arguments) if self.read is not None else self._paths(arguments)
            read = msgspec.convert(msgspec.to_builtins(read), SourceFacts)
        except (Exception, SystemExit) as error:
            # Boundary: the tool may be somebody else's, and its arguments are a model's.
            why = f"arguments that cannot be read: {error_text(error)}"
            return merge_facts(known, SourceFacts(unread=(Unread(why, WHOLE),)))
        unkept = () if held.own_rules else (place for place in read.places if place.writes)
        written = tuple(ReplacedFile(place.path, place.line) for place in unkept)
        return merge_facts(known, read, SourceFacts(replaced=written))

    def _paths(self, arguments: Arguments) -> SourceFacts:
        """Every text that may be a path counts as one, also a key that the schema does not name. What is set aside is
        unread; a path within other text is not found, so what a rule denies must not even be mentioned."""
        named = self.schema.get("properties", {})
        keys = [key for key in arguments if key not in named]
        texts = [text.strip() for text in _texts([keys, list(arguments.values())])]
        spelled = [path for text in texts for path in _spellings(text)]
        uses = tuple(PathUse(path, WHOLE, writes=self.capabilities.writes) for path in spelled)
        aside = dict.fromkeys(filter(None, map(_why_aside, texts)))
        return SourceFacts(
            places=uses,
            risks=(Risk(SECRETS, WHOLE, grave=True),) if any(map(names_secret, spelled)) else (),
            unread=tuple(Unread(why, WHOLE) for why in aside),
            handovers=(Handover(self.name, WHOLE),),
        )


session_tool = partial(
    Tool,
    capabilities=Capabilities(writes=False, destroys=False, network=False, repeatable=True),
    read=lambda arguments: SourceFacts(),
    confinement=Confinement(sandboxed=True, offline=True),
)
"""A tool of the program that reaches nothing but its session, and that may be called again."""


def error_text(error: BaseException) -> str:
    """Its message, or its type if it has none."""
    try:
        return str(error)
    except Exception:
        # Boundary: somebody else's error, which may not even know its own words.
        return type(error).__name__


_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ELSEWHERE = re.compile(r"(?:https?|wss?|ftps?|ssh|git)://[^/\s]\S*", re.IGNORECASE)
"""An address of another machine."""
_FILE = re.compile(r"file:(?://[^/]*)?([^?#]*)(?:[?#].*)?", re.IGNORECASE | re.DOTALL)


def _spellings(text: str) -> Iterator[str]:
    """The paths this text may contain: itself, the part after `=`, and both without `file://`."""
    if _ELSEWHERE.fullmatch(text):
        return
    for part in dict.fromkeys((text, text.partition("=")[2].strip(), text.rpartition("=")[2].strip())):
        found = _FILE.fullmatch(part)
        if path := unquote(found[1]) if found is not None else part:
            yield path


def _why_aside(text: str) -> str:
    """Why a text is not known to lead nowhere else, "" if it is."""
    if len(text.splitlines()) > 1:
        return "text of several lines, which is not looked through"
    parts = (text, text.rpartition("=")[2])
    odd = any(_SCHEME.match(part) and not _FILE.fullmatch(part) and not _ELSEWHERE.fullmatch(part) for part in parts)
    return "an address that may be that of a file" if odd else ""


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    """All texts, keys too; ValueError where they are nested too deeply."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    match value:
        case str():
            yield value
        case dict():
            yield from value
            for item in value.values():
                yield from _texts(item, depth + 1)
        case list():
            for item in value:
                yield from _texts(item, depth + 1)
        case _:
            pass
