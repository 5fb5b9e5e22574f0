"""Looks into a kernel: what a front end asks of it beside runs, and what it is answered."""

from typing import Any

from oi_tui.app.engine.core.values import Language, SessionReply, SessionVerb
from oi_tui.app.engine.core.variable import CodeName, ColumnFigures, FramePage, FrameQuestion, Telling, Variable
from oi_tui.app.engine.core.widget_controls import WidgetControl


class LookVerb(SessionVerb, frozen=True, kw_only=True):
    """Base of those that look into a kernel: nothing of the person's runs for them, and no kernel is started."""


class Inspect(LookVerb, frozen=True, kw_only=True, tag=True):
    """Tell the variables now and after every run (`on`), or no longer; answered with `VariablesFound`."""

    on: bool


class Peek(LookVerb, frozen=True, kw_only=True, tag=True):
    """A longer look at one variable of the kernel listed last; answered with `VariableSeen`."""

    name: str


class CompleteCode(LookVerb, frozen=True, kw_only=True, tag=True):
    """Complete the Python name before `place` in the source; answered with `NamesFound`, or not at all."""

    request_id: str
    source: str
    place: int


class ReadFrame(LookVerb, frozen=True, kw_only=True, tag=True):
    """A part of a frame that was shown; answered with `FrameSeen`, also while the kernel is busy: it is asked later."""

    request_id: str
    language: Language
    question: FrameQuestion


class WatchWidgets(LookVerb, frozen=True, kw_only=True, tag=True):
    """Tell what can be operated in these widgets, now and after every run, or with none no longer; answered with
    `WidgetsFound`."""

    language: Language
    names: tuple[str, ...] = ()
    """Of the widgets, as their displays have them (`model_id`)."""


class VariablesFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """The variables of a kernel, and how its last run changed them; only while somebody looks (`Inspect`)."""

    language: Language
    telling: Telling = "told"
    """If not `told`: why there is no list. A front end may keep showing the list before, marked as such."""
    variables: tuple[Variable, ...] = ()
    """Those that the last run names first, then those that were known, then the newest."""
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """As far as a cheap look tells: an element deep inside a large one may change unseen."""
    removed: tuple[str, ...] = ()
    cut: bool = False
    """The list is truncated."""


class VariableSeen(SessionReply, frozen=True, kw_only=True, tag=True):
    """A longer look at one variable: the answer to `Peek`."""

    language: Language
    name: str
    telling: Telling = "told"
    """`gone`: there is no such variable any more."""
    text: str = ""
    """A few lines; "" where more could only be known by running code of the value's own."""
    table: Any = None
    """Of a frame: JSON as in an output. Validate it before drawing."""


class FrameSeen(SessionReply, frozen=True, kw_only=True, tag=True):
    """A part of a frame, or the `problem` why not: the answer to `ReadFrame`. After `busy` another one follows."""

    request_id: str
    telling: Telling = "told"
    problem: str = ""
    page: FramePage | None = None
    figures: ColumnFigures | None = None


class NamesFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """Completions of a name that begins at `start` in the source: the answer to `CompleteCode`."""

    request_id: str
    start: int = 0
    names: tuple[CodeName, ...] = ()
    telling: Telling = "told"
    """If not `told`: why there are none."""


class WidgetsFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """The controls of widgets as they are now: the answer to `WatchWidgets`, sent again when they change."""

    names: tuple[str, ...]
    """Those that were asked for."""
    telling: Telling = "told"
    """If not `told`: why they cannot be operated now. `gone`: the kernel does not have them any more."""
    controls: tuple[WidgetControl, ...] = ()


AnyLookVerb = Inspect | Peek | CompleteCode | ReadFrame | WatchWidgets

AboutKernels = VariablesFound | VariableSeen | FrameSeen | NamesFound | WidgetsFound
