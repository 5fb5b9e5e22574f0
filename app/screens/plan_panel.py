"""The panel of the plan on the chat screen: opened and closed by one key, changed by the person."""

from textual import on
from textual.screen import Screen

from oi_tui.app.engine.core.tool_verbs import ChangePlan
from oi_tui.app.engine.text.plan_lines import block_numbers
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.timeline_pane import TimelinePane
from oi_tui.widgets.plan_steps import PlanSteps
from oi_tui.widgets.question import PLANNER, QuestionPanel
from oi_tui.widgets.stray_keys import NOT_ARMED


def plan_question(screen: Screen[object]) -> QuestionPanel | None:
    """The question whether to accept the plan, while it is asked."""
    for question in screen.query(QuestionPanel):
        if question.display and question.request is not None and question.request.asked_by == PLANNER:
            return question
    return None


class PlanPanel(PlanSteps):
    """Closed at first. What it shows is the session's plan whenever it is open."""

    def __init__(self, bridge: Bridge, pane: TimelinePane, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._bridge, self._pane = bridge, pane
        self.display = False

    def toggle(self) -> None:
        """Open it beside what one is doing; when it is open, go to it; when one is in it, close it."""
        if not self.display:
            self.display = True
            self.follow()
            if plan_question(self.screen) is not None:  # the person wants to change what they are asked about
                self.focus_rows()
        elif self.has_focus_within:
            self.close()
        else:
            self.focus_rows()

    def follow(self) -> None:
        """Show the plan as it is by now."""
        plan = self._bridge.transcript.plan
        if self.display and self.is_attached:
            asked = plan_question(self.screen) is not None
            self.show(plan, block_numbers(self._bridge.transcript.blocks), is_asked=asked)

    @on(PlanSteps.CloseRequested)
    def close(self) -> None:
        """Put it away, back to what one did before."""
        self.display = False
        self.screen.query_one(Bottom).focus_shown()

    def on_plan_steps_changed(self, event: PlanSteps.Changed) -> None:
        """The engine keeps it, and the model reads it at the next step. What is accepted must still be the plan, and
        the question waits until the engine says so."""
        event.stop()
        accepts = ""
        if event.accepts:
            question = plan_question(self.screen)
            if question is None or question.request is None:
                return
            if not question.armed:
                question.say(NOT_ARMED)
                return
            accepts = question.request.request_id
        self._bridge.send(ChangePlan(steps=event.steps, version=event.version, accepts=accepts))

    def on_plan_steps_block_wanted(self, event: PlanSteps.BlockWanted) -> None:
        """The cursor of the timeline goes there; the panel stays."""
        event.stop()
        self._pane.timeline.show_block(event.block_id, at_top=True)
