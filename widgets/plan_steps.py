"""The panel of the plan: its steps with their states, and keys that change them.

It shows what it is given, and asks for each change by `Changed`, for a block by `BlockWanted`, to go away by
`CloseRequested`. Nothing is changed here before it was agreed to: the next plan that is shown has it.
"""

from collections.abc import Callable
from typing import ClassVar, Literal

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import DescendantBlur, DescendantFocus
from textual.message import Message
from textual.widgets import Input, OptionList

from oi_tui.app.engine.core.plan import MOST_STEPS, PlanStep, SessionPlan, StepState
from oi_tui.app.engine.text.plan_lines import MARKS, plan_summary
from oi_tui.app.engine.text.words import one_line
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_in_use, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering

NEXT: dict[StepState, StepState] = {"todo": "doing", "doing": "done", "done": "todo", "dropped": "todo"}

NO_PLAN = "No plan yet. The model makes one for a longer task, /plan asks for one first, and a adds a step."

Writing = Literal["", "text", "new", "done_when"]
"""What the line is for."""

_ASKED: dict[Writing, str] = {
    "": "",
    "text": "what to do",
    "new": "a step more: what to do",
    "done_when": "what must be so for it to be done",
}


class PlanSteps(Vertical):
    """The steps of one session's plan."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("e", "write('text')", "Change the step's words", id="plan.edit", label="edit"),
        Hint("a", "write('new')", "Add a step below", id="plan.add", label="add"),
        Hint("space", "turn", "To do, doing, done", id="plan.state", label="state"),
        Hint("d", "turn(True)", "Drop the step, or take it up again", id="plan.drop", label="drop"),
        Hint("shift+down,J", "shift(1)", "Move the step down", id="plan.down", key_display="J", label="down"),
        Hint("shift+up,K", "shift(-1)", "Move the step up", id="plan.up", key_display="K", label="up"),
        Binding("c", "write('done_when')", "How to tell that it is done", id="plan.done_when"),
        Binding("ctrl+s", "accept", "Accept the plan as it is shown", id="plan.accept"),
        Hint("g", "go", "To a block that did it; again, to the next", id="plan.evidence", label="evidence"),
        Hint("escape", "step_back", "Back, or close", id="plan.close", label="back"),
    ]

    DEFAULT_CSS = """
    PlanSteps {
        width: 44; height: 1fr; background: $background;
        & > #plan-title { height: 1; padding: 0 1; text-overflow: ellipsis; text-wrap: nowrap; }
        & > #plan-empty { height: 1fr; padding: 1 1; color: $dim; }
        & > #plan-rows {
            height: 1fr; max-height: 100%; border: none; padding: 0 1; background: $background; color: $foreground;
            scrollbar-size-vertical: 1;
            &:focus { border: none; background-tint: $background 0%; }
            & > .option-list--option { padding: 0; }
            & > .option-list--option-highlighted { background: $surface-focus; color: $foreground; }
            &:focus > .option-list--option-highlighted { background: $selection; text-style: bold; }
            & > .option-list--option-hover { background: $surface; }
        }
        & > #plan-detail { height: auto; max-height: 6; padding: 0 1; background: $surface; }
        & > #plan-line {
            height: 1; border: none; padding: 0 1; background: $surface; display: none;
            &:focus { border: none; background: $surface-focus; }
        }
        & > #plan-keys { background: $surface; & > .keyrow--label { color: $foreground; } }
    }
    """

    class Changed(Message):
        """The person replaced the steps of that version by these, or accepted them."""

        def __init__(self, steps: tuple[PlanStep, ...], version: int, *, accepts: bool = False) -> None:
            super().__init__()
            self.steps, self.version, self.accepts = steps, version, accepts

    class BlockWanted(Message):
        """Go to this block."""

        def __init__(self, block_id: str) -> None:
            super().__init__()
            self.block_id = block_id

    class CloseRequested(Message):
        """The panel is not wanted any more."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._plan = SessionPlan()
        self._number_of: Callable[[str], int] = lambda block_id: 0
        self._is_asked = False
        """Whether the model waits for the plan to be accepted."""
        self._writing: Writing = ""
        self._place = 0
        """Index of the step at the cursor."""
        self._gone = 0
        """Which evidence of it was gone to last."""

    def compose(self) -> ComposeResult:
        """How far it is, the steps or why there are none, more of one of them, and a line to write one."""
        yield Words(id="plan-title")
        yield Words(NO_PLAN, id="plan-empty")
        yield Options(id="plan-rows")
        yield Words(id="plan-detail")
        yield Field(id="plan-line", select_on_focus=False)  # words are corrected, not replaced
        yield KeyRow(id="plan-keys")

    def on_mount(self) -> None:
        """Nothing is known yet."""
        self._refresh()

    def show(self, plan: SessionPlan, number_of: Callable[[str], int], *, is_asked: bool = False) -> None:
        """Show the present plan; `number_of` returns the number of a block, 0 for an unknown one. With `is_asked` it
        can be accepted here."""
        changed = plan != self._plan or is_asked != self._is_asked
        self._plan, self._number_of, self._is_asked = plan, number_of, is_asked
        if changed and self.is_mounted:
            self._refresh()

    def focus_rows(self) -> None:
        """Give the keys to the panel."""
        self.query_one(Options).focus()

    # -- keys ----------------------------------------------------------------------------------------------

    def action_write(self, what: Writing) -> None:
        """A line for the words of a step."""
        step = self._step
        if (step is None and what != "new") or (what == "new" and len(self._plan.steps) >= MOST_STEPS):
            return
        line = self.query_one(Field)
        line.value = "" if step is None or what == "new" else step.text if what == "text" else step.done_when
        line.placeholder, line.display, self._writing = _ASKED[what], True, what
        line.cursor_position = len(line.value)
        line.focus()
        self._show_keys()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter keeps what was written; nothing written changes nothing, but what says that a step is done may go."""
        event.stop()
        words, what, step = event.value.strip(), self._writing, self._step
        self._end_writing()
        steps = list(self._plan.steps)
        if what == "new" and words:
            self._place = min(self._place + 1, len(steps)) if steps else 0
            steps.insert(self._place, PlanStep(text=words))
        elif what == "text" and words and step is not None:
            steps[self._place] = replace(step, text=words)
        elif what == "done_when" and step is not None:
            steps[self._place] = replace(step, done_when=words)
        self._ask(steps)

    def action_turn(self, drop: bool = False) -> None:
        """The next state of the step; or drop it, or take it up again."""
        steps, step = list(self._plan.steps), self._step
        if step is not None:
            state = NEXT[step.state] if not drop or step.state == "dropped" else "dropped"
            steps[self._place] = replace(step, state=state)
            self._ask(steps)

    def action_shift(self, by: int) -> None:
        """Move the step; the cursor goes with it."""
        steps, place = list(self._plan.steps), self._place
        if self._step is not None and 0 <= place + by < len(steps):
            steps.insert(place + by, steps.pop(place))
            self._place = place + by
            self._ask(steps)

    def action_go(self) -> None:
        """Go to the blocks that did it, one after the other."""
        step = self._step
        there = [block_id for block_id in step.evidence if self._number_of(block_id)] if step is not None else []
        if there:
            self.post_message(self.BlockWanted(there[self._gone % len(there)]))
            self._gone += 1

    def action_accept(self) -> None:
        """Accept what is shown, where that is asked and no step is being written."""
        if self._is_asked and not self._writing:
            self.post_message(self.Changed(self._plan.steps, self._plan.version, accepts=True))

    def action_step_back(self) -> None:
        """Out of the line, or of the panel."""
        if self._writing:
            self._end_writing()
        else:
            self.post_message(self.CloseRequested())

    @on(OptionList.OptionHighlighted)
    def _follow(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        place = self.query_one(Options).highlighted  # the event may be of rows that were there before
        if place is not None and place != self._place:
            self._place, self._gone = place, 0
            self._show_detail()

    @on(OptionList.OptionSelected)
    def _change_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_write("text")

    # -- inside ----------------------------------------------------------------------------------------------

    @property
    def _step(self) -> PlanStep | None:
        return self._plan.steps[self._place] if self._place < len(self._plan.steps) else None

    def _ask(self, steps: list[PlanStep]) -> None:
        if tuple(steps) != self._plan.steps:
            self.post_message(self.Changed(tuple(steps), self._plan.version))

    def _end_writing(self) -> None:
        line = self.query_one(Field)
        line.value, line.display, self._writing = "", False, ""
        self.focus_rows()
        self._show_keys()

    def _refresh(self) -> None:
        steps, rows = self._plan.steps, self.query_one(Options)
        self._place = min(self._place, max(0, len(steps) - 1))
        self.query_one("#plan-title", Words).update(lettering(("Plan", "bold"), f" · {plan_summary(steps)}"))
        top = rows.scroll_y
        rows.set_options(
            lettering(
                (f"{MARKS[step.state]} {one_line(step.text)}", "$dim" if step.state in ("done", "dropped") else "")
            )
            for step in steps
        )
        rows.display, self.query_one("#plan-empty").display = bool(steps), not steps
        if steps:
            rows.scroll_to(y=top, animate=False, immediate=True)
            rows.highlighted = self._place
        self._show_detail()
        self._show_keys()

    def _show_detail(self) -> None:
        detail, step = self.query_one("#plan-detail", Words), self._step
        said = [f"Done when: {one_line(step.done_when)}"] if step is not None and step.done_when else []
        numbers = [self._number_of(block_id) for block_id in step.evidence] if step is not None else []
        if there := [str(number) for number in numbers if number]:
            said.append(f"Evidence: block {', '.join(there)}")
        detail.display = bool(said)
        detail.update("\n".join(said))

    @on(DescendantFocus)
    @on(DescendantBlur)
    def _show_keys(self) -> None:
        if self._writing:
            self.query_one(KeyRow).labels = (KeyLabel("enter", "keep it", "keep"), *key_labels(self, "esc"))
        else:
            key = key_in_use(self, "plan.accept") if self._is_asked else ""
            accept = (KeyLabel(key, "accept the plan", "accept"),) if key else ()
            here = key_labels(self) if self.has_focus_within else ()
            self.query_one(KeyRow).labels = (*accept, *here)
