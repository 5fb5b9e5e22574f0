"""What wants to run, what decides about it, and the decision."""

from typing import Literal, NamedTuple

from oi_tui.app.engine.core.settings import FunctionsSection
from oi_tui.app.engine.core.values import Confinement, Language, PermissionMode, Value
from oi_tui.app.engine.policy.losses import Loss, Target
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.rules import Base, Effect, Rule
from oi_tui.app.engine.policy.taint import Taint

Ground = Literal["mode", "rule", "guard", "harm", "grant"]
"""What decided: the approval mode, a rule, a look at the source, that it destroys something, or an earlier "always"."""


class PolicyRequest(NamedTuple):
    """A request to run something."""

    language: Language
    """Of code, "" for a call."""
    source: str
    changed: bool = False
    """Shell: something ran in it before, after which words may mean something else."""
    taint: Taint = Taint()
    """What the session has read before."""
    made: frozenset[str] = frozenset()
    """Files that the session wrote whole before, absolute: to delete them destroys nothing else."""
    folders: tuple[str, ...] = ()
    """Those that earlier sources changed to, absolute: a relative path may begin in them."""
    losses: tuple[Loss, ...] = ()
    """What running it would overwrite beyond recovery (see `PolicyDecision.targets`)."""
    handed: frozenset[str] = frozenset()
    """Keys of the handovers that a person approved in this session."""
    confinement: Confinement = Confinement()
    """Of the kernel or tool that would run it."""
    reading: SourceFacts | None = None
    """The reading of the source, if there is one already (of a call: from its tool); None reads it."""
    tool: str = ""
    """Name of the tool that is called, "" for code."""
    reads_only: bool = False
    """Whether the tool promises that this call changes nothing; never so for code."""
    unasked: str = ""
    """Why this call needs no approval in any mode where something may run; "" where that is not so."""

    @property
    def name(self) -> str:
        """The language or tool that would run it."""
        return self.tool or self.language


class Policy(Value, frozen=True, kw_only=True):
    """Everything that decides, beside the source and the mode that the session is in."""

    mode: PermissionMode = "bypassPermissions"
    """No milder than this, whatever the session's mode."""
    rules: tuple[Rule, ...] = ()
    base: Base = Base()
    own: tuple[str, ...] = ()
    """Folders of our settings and rules, absolute."""
    allow_destructive: bool = False
    """What would be destroyed does not matter."""
    functions: FunctionsSection = FunctionsSection()
    """Lists of what may be called."""


class PolicyDecision(NamedTuple):
    """The decision, and why."""

    verdict: Effect
    by: str
    """The mode or rule, in plain words that follow “because of”."""
    ground: Ground
    labels: tuple[str, ...] = ()
    """Risks in plain words: `deletes files, line 3`."""
    lasting: bool = False
    """Running it may change what later shell commands mean."""
    rereads: bool = False
    """Running it may change what later code in the same kernel is read as."""
    taint: Taint = Taint()
    """What running it brings in."""
    reading: SourceFacts | None = None
    """The reading of the source, for a second request about the same source."""
    targets: tuple[Target, ...] = ()
    """What it would overwrite: the caller looks at these files, and asks again with the `losses`."""
    offer: tuple[str, ...] = ()
    """Arguments of `pip install`, if it is nothing else and the sandbox alone is in its way."""
    installs: bool = False
    """Whether the user approves the offered installation: in a process of its own, which may install."""
    time_limit: float | None = None
    """Seconds that the user gave this run, 0 for as long as it takes; None leaves the limit as it is."""
