"""The widgets of one block, to be operated: that runs the code that hangs on them, as the person's own."""

import math
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import OptionList

from oi_tui.app.engine.core.kernel_looks import WatchWidgets, WidgetsFound
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.core.variable import Telling
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.engine.core.widget_controls import ControlKind, ControlValue, OperateWidget, WidgetControl
from oi_tui.app.engine.text.operable_widgets import LONGEST_TEXT, bounds_in_words, value_in_words
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.external_editor import EditorFailed, edit_text
from oi_tui.app.screens.line_ask import LineAskScreen
from oi_tui.app.screens.widget_values import WrongValue, moment_from, number_from, range_from, stepped_value
from oi_tui.widgets.keyrow import Hint, KeyRow, key_hint, key_labels
from oi_tui.widgets.lettering import Options, Words

PAUSE = 0.4
"""Seconds after a key for less or more in which another one may follow, before the kernel gets the value."""

_LABEL, _TRACK = 24, 20
"""Cells of a label and of a slider."""

_NOT_NOW: dict[Telling, str] = {
    "busy": "The kernel runs something: widgets can be operated when that is over.",
    "gone": "There is nothing to operate: the kernel does not have these widgets any more, or they take no values. "
    "Run the code again that made them.",
    "cold": "The kernel that made these widgets has ended. Run the code again.",
    "dead": "The kernel that made these widgets has ended. Run the code again.",
    "silent": "This kernel has no widgets that can be operated.",
}


_READERS: dict[ControlKind, Callable[[WidgetControl, str], ControlValue]] = {
    "number": number_from,
    "range": range_from,
    **dict.fromkeys(("date", "time", "datetime"), moment_from),
}
"""What reads a line that was typed, by the kind of the control."""


class WidgetsScreen(ModalScreen[None]):
    """A list of what can be operated. A value is sent at once, or after a pause where another key may follow."""

    CSS_PATH = "widgets_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter,space", "change", "Press it, choose or type a value", id="widgets.change", label="change"),
        Hint("left,minus", "step(-1)", "Less; the choice before", id="widgets.less", label="less", key_display="←"),
        Hint("right,plus", "step(1)", "More; the next choice", id="widgets.more", label="more", key_display="→"),
        Hint("escape", "dismiss(None)", "Back", id="widgets.back", label="back"),
    ]

    def __init__(self, names: tuple[str, ...], language: Language, bridge: Bridge, *, editor: str) -> None:
        """`names` are those of the widgets that the block shows."""
        super().__init__()
        self._names = names
        self._language = language
        self._bridge = bridge
        self._editor = editor
        self._controls: tuple[WidgetControl, ...] = ()
        self._telling: Telling | None = None
        """None until the engine has answered."""
        self._wished: dict[str, ControlValue] = {}
        """Values that are not sent yet, by the names of their widgets."""
        self._operating = False
        """An operation was sent, and the widgets have not been sent since."""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The list, a note, and the keys."""
        yield Words("Widgets", id="widgets-title")
        yield Options(id="widgets-list", compact=True)
        yield Words("Asking the kernel …", id="widgets-about")
        yield KeyRow(id="widgets-keys")

    def on_mount(self) -> None:
        """Ask for the controls; they are sent again after each run."""
        self.query_one(KeyRow).labels = key_labels(self)
        self.query_one(Options).focus()
        self._send(WatchWidgets(language=self._language, names=self._names))

    def on_unmount(self) -> None:
        self._send(WatchWidgets(language=self._language))

    def take(self, found: WidgetsFound) -> None:
        """Handle a reply about these widgets."""
        if found.names != self._names:
            return
        self._telling = found.telling
        if found.telling == "told":
            self._controls = found.controls
            self._operating = False
        elif found.telling != "busy":
            self._controls, self._wished = (), {}
        self._show()
        if self._wished and self._timer is None:
            self._send_wished()

    # -- keys ----------------------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click is what Enter is."""
        event.stop()
        self.action_change()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show()

    def action_step(self, step: int) -> None:
        """Less or more of it."""
        control = self._control
        if control is None or not self._may_operate(control):
            return
        value = stepped_value(control, self._value_of(control), step)
        if value is None:
            self.app.bell()
            return
        self._wished[control.name] = value
        self._show()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(PAUSE, self._send_wished)

    def action_change(self) -> None:
        """What Enter does to it."""
        control = self._control
        if control is None or not self._may_operate(control):
            return
        if control.name in self._wished:  # it has been changed: no need to wait
            self._send_wished()
            return
        match control.kind:
            case "press":
                self._wish(control, None)
            case "toggle":
                self._wish(control, not control.value)
            case _:
                self.run_worker(self._ask_for(control), group="widget", exclusive=True)

    # -- values --------------------------------------------------------------------------------------------------

    async def _ask_for(self, control: WidgetControl) -> None:
        title = one_line(safe_text(control.label))
        match control.kind:
            case "choice" | "several":
                chosen = control.value if isinstance(control.value, tuple) else ()
                marks = [
                    (("✓ " if at in chosen else "  ") if control.kind == "several" else "") + option
                    for at, option in enumerate(control.options)
                ]
                at = control.value if type(control.value) is int else 0
                number = await self.app.push_screen_wait(ChooseScreen(title, marks, at)) if marks else None
                if number is not None:
                    one = tuple(sorted({*chosen} ^ {number}))
                    self._wish(control, one if control.kind == "several" else number)
            case "range" if control.options and isinstance(control.value, tuple):
                ends: list[int] = []
                for which, place in zip(("from", "to"), control.value, strict=False):
                    choices = ChooseScreen(f"{title}: {which}", control.options, int(place))
                    if (end := await self.app.push_screen_wait(choices)) is None:
                        return
                    ends.append(end)
                self._wish(control, tuple(sorted(ends)))
            case "text" if isinstance(control.value, str) and "\n" in control.value:
                self._edit(control, control.value)
            case "text" | "secret":
                secret = control.kind == "secret"
                text = "" if secret else str(control.value or "")
                screen = LineAskScreen(title, text, limit=LONGEST_TEXT, secret=secret)
                if (typed := await self.app.push_screen_wait(screen)) is not None:
                    self._wish(control, typed)
            case _:
                await self._ask_for_line(control, title, _READERS[control.kind])

    async def _ask_for_line(
        self, control: WidgetControl, title: str, read: Callable[[WidgetControl, str], ControlValue]
    ) -> None:
        typed, hint = value_in_words(control, control.value), ""
        while True:
            answer = await self.app.push_screen_wait(LineAskScreen(title, typed, hint=hint, limit=80))
            if answer is None:
                return
            try:
                self._wish(control, read(control, answer))
                return
            except WrongValue as wrong:
                typed, hint = answer, str(wrong)

    def _edit(self, control: WidgetControl, text: str) -> None:
        """Several lines, in the person's editor."""
        try:
            after = edit_text(self.app, text, self._editor, ".txt")
        except EditorFailed as failed:
            self.notify(str(failed), severity="warning")
            return
        if after != text:
            self._wish(control, after[:LONGEST_TEXT])

    def _wish(self, control: WidgetControl, value: ControlValue) -> None:
        self._wished[control.name] = value
        self._send_wished()

    def _may_operate(self, control: WidgetControl) -> bool:
        if control.disabled:
            self.notify("It is disabled: the code that made it must enable it.", severity="warning")
        elif self._telling != "told" and not self._operating:
            self.notify(_NOT_NOW.get(self._telling or "busy", _NOT_NOW["busy"]), severity="warning")
        else:
            return True
        return False

    def _send_wished(self) -> None:
        """The first value that waits, unless the one before it is still at work: then, after that."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        busy = self._bridge.busy
        if not self._wished or (self._operating and busy):
            return
        if busy:
            self._wished.clear()
            self.notify(_NOT_NOW["busy"], severity="warning")
            self._show()
            return
        name = next(iter(self._wished))
        self._operating = True
        self._send(OperateWidget(language=self._language, name=name, value=self._wished.pop(name)))

    def _send(self, verb: AnyVerb) -> None:
        if not self._bridge.stopped:
            self._bridge.send(verb)

    # -- what is shown -------------------------------------------------------------------------------------------

    @property
    def _control(self) -> WidgetControl | None:
        at = self.query_one(Options).highlighted
        return self._controls[at] if at is not None and at < len(self._controls) else None

    def _value_of(self, control: WidgetControl) -> ControlValue:
        return self._wished.get(control.name, control.value)

    def _show(self) -> None:
        options = self.query_one(Options)
        count = len(self._controls)
        if count != options.option_count:
            place = options.highlighted or 0
            options.clear_options()
            options.add_options([""] * count)
            options.highlighted = min(place, count - 1) if count else None
        for at, one in enumerate(self._controls):
            mark = "▸ " if at == options.highlighted else "  "  # a colour alone is no mark
            options.replace_option_prompt_at_index(at, mark + _line(one, self._value_of(one)))
        self._tell()

    def _tell(self) -> None:
        control, words = self._control, ""
        if self._telling is not None and self._telling != "told":
            words = _NOT_NOW[self._telling]
            if self._telling == "busy" and self._operating:
                words = "What hangs on it runs: its output is in a block of its own at the end."
        elif control is not None:
            words = _help(control)
            if control.name in self._wished:
                words = f"{words} {key_hint(self, ('widgets.change', 'sends it now'))}"
        self.query_one("#widgets-about", Words).update(words)


def _line(control: WidgetControl, value: ControlValue) -> str:
    label = one_line(safe_text(control.label))
    label = label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"
    words = one_line(safe_text(value_in_words(control, value)))
    match control.kind:
        case "press":
            shown = "[ press ]"
        case "toggle":
            shown = "[x]" if value else "[ ]"
        case "choice":
            shown = f"‹ {words} ›"
        case "number" if (share := _share(control, value)) is not None:
            at = round(share * (_TRACK - 1))
            shown = f"{'─' * at}●{'─' * (_TRACK - 1 - at)} {words}"
        case _:
            shown = f"[{words}]"
    return f"{label:<{_LABEL}} {shown}{'  (disabled)' if control.disabled else ''}"


def _share(control: WidgetControl, value: ControlValue) -> float | None:
    """How far a number is from the lower end, from 0 to 1; None if it has no two ends."""
    low, high = control.low, control.high
    number = value if isinstance(value, int | float) else low
    if low is None or high is None or number is None or high <= low:
        return None
    if control.log_base is not None and low > 0 and number > 0:
        low, high, number = math.log(low), math.log(high), math.log(number)
    return min(1, max(0, (number - low) / (high - low)))


def _help(control: WidgetControl) -> str:
    """What it takes, in a line."""
    match control.kind:
        case "press":
            return "A button."
        case "toggle":
            return "On or off."
        case "choice":
            return f"One of {len(control.options):,}."
        case "several":
            return f"Any of {len(control.options):,}."
        case "range" if control.options:
            return f"From one of {len(control.options):,} to another."
        case "range":
            return f"Two numbers. {bounds_in_words(control)}"
        case _:
            return bounds_in_words(control) or "A text."
