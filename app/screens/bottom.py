"""The region above the status line: the composer, or in its place what waits for the person's answer."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, TextArea

from oi_tui.app.screens.typing_pause import TypingPause
from oi_tui.widgets.composer import Composer, PromptArea
from oi_tui.widgets.stray_keys import ERASE
from oi_tui.widgets.text_box import with_line_feeds

if TYPE_CHECKING:  # slow imports that the first frame does not need
    from oi_tui.app.engine.core.events import DecisionRequested, InputRequested
    from oi_tui.app.frontend.bridge import Bridge
    from oi_tui.app.screens.recall import Recall
    from oi_tui.widgets.approval import ApprovalPanel
    from oi_tui.widgets.enter_line import EnterLine
    from oi_tui.widgets.question import QuestionPanel
    from oi_tui.widgets.trouble import TroubleRow

FULL = "-approval-full"
"""Class of the screen while the question has the room of the timeline as well."""


class Bottom(Vertical):
    """One of three is shown: the composer, the question about code, the question of running code."""

    _bridge: "Bridge"
    """Set with what asks for it, by `add`."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._approval: ApprovalPanel | None = None
        self._question: QuestionPanel | None = None
        self._recall: Recall | None = None
        self._trouble: TroubleRow | None = None
        self._enter_line: EnterLine | None = None
        self.on_decided: Callable[[], None] = lambda: None
        """Called when the person decided about code, or answered it."""

    def compose(self) -> ComposeResult:
        """At first there is nothing to ask."""
        yield Composer(id="composer")

    async def add(
        self,
        bridge: "Bridge",
        approval: "ApprovalPanel",
        question: "QuestionPanel",
        trouble: "TroubleRow",
        enter: "EnterLine",
        recall: "Recall",
        pause: TypingPause,
    ) -> None:
        """Mount the two panels with questions and the widgets above the prompt, and set a callback for changes of the
        text."""
        self._bridge = bridge
        approval.display = question.display = False
        for part, before in ((approval, None), (question, None), (trouble, 0)):
            await pause.wait()
            await self.mount(part, before=before)
        self._approval, self._question, self._trouble, self._recall = approval, question, trouble, recall
        self._enter_line = enter
        self.fit()

    def ask(self, decision: "DecisionRequested | None", question: "InputRequested | None") -> None:
        """Bring up what waits for the person, or the composer."""
        assert self._approval is not None
        assert self._question is not None
        if decision is not None:
            if decision.request_id != self._approval.asked_id:
                area = self.query_one(PromptArea)
                writing = area.has_focus and bool(area.text.strip())
                self._bring_up("approval")
                self._approval.ask(decision, writing=writing)
        elif question is not None:
            if question.request_id != self._question.asked_id:
                self._bring_up("question")
                self._question.ask(question, self._bridge.transcript.block(question.block_id))
        elif not self.query_one(Composer).display:
            self._approval.request = self._question.request = None
            self._bring_up("composer")
        else:
            self._offer_help()

    def note_past(self) -> None:
        """What the session holds now did not happen just now."""
        if self._trouble is not None:
            self._trouble.note_past(self._bridge.transcript.blocks)

    def _offer_help(self) -> None:
        """After an error that something can be done about, say what and by which key."""
        if self._trouble is None:
            return
        transcript, area = self._bridge.transcript, self.query_one(PromptArea)
        at_rest = not (transcript.turn_open or self._bridge.stopped)
        free = not area.text and self.screen.focused in (area, None) and self.screen.is_current
        self._trouble.offer(transcript.blocks if at_rest else (), take_keys=free)

    def offer_enter(self, now: float) -> None:
        """Say above the prompt what Enter on an empty prompt continues, if anything."""
        if self._enter_line is None:
            return
        bridge, area = self._bridge, self.query_one(PromptArea)
        if bridge.waits_to_retry:
            words = "The model waits before its next attempt."
        elif bridge.transcript.ended == "paused" and not (bridge.busy or bridge.stopped):
            words = "⏸ The turn is paused."
        else:
            words = ""
        if not (words or self._enter_line.is_attached):
            return
        if not self._enter_line.is_attached:  # few sessions need it
            self.query_one(Composer).mount(self._enter_line, before=0)
        takes = area.has_focus and not area.text
        does = "tries now" if bridge.waits_to_retry else "continues it, or type a prompt"
        self._enter_line.offer(words and (f"{words} enter {does}." if takes else words), takes=takes, now=now)

    def take_enter(self, pressed: float) -> None:
        """Enter was pressed at this moment, in an empty prompt: it counts only if it was offered then."""
        if self._enter_line is not None and self._enter_line.counts(pressed):
            self._bridge.send(self._enter_line.verb(now=self._bridge.waits_to_retry))

    def on_trouble_row_command_chosen(self, event: "TroubleRow.CommandChosen") -> None:
        """What helps against the error that ended the turn."""
        event.stop()
        self.query_one(PromptArea).focus()
        if event.verb is not None:
            self._bridge.send(event.verb)

    def go_on_writing(self, text: str, *, pasted: bool) -> None:
        """Put what arrived elsewhere into the prompt, which has the keys from now on."""
        area = self.query_one(PromptArea)
        self.screen.set_focus(area)
        area.call_later(self._write, text, pasted=pasted)  # it has the focus then, and completes what begins so

    def say(self, words: str, *, failed: bool = False, seconds: float = 0.0) -> None:
        """Say it in what is shown: above the prompt for so many seconds (0: until its text changes), or in the
        question until the next key."""
        if self._approval is not None and self._approval.display:
            self._approval.say(words)
        elif self._question is not None and self._question.display:
            self._question.say(words)
        else:
            self.query_one(Composer).say(words, failed=failed, seconds=seconds)

    def fit(self) -> None:
        """The panel keeps its keys on the screen, and leaves the timeline some rows."""
        height = self.screen.size.height
        if self._approval is not None:
            self._approval.fit(height - 1 if self.screen.has_class(FULL) else max(6, height * 6 // 10))

    def focus_shown(self) -> None:
        """The focus to what is shown."""
        if self._approval is not None and self._approval.display:
            self._approval.focus_stage()
        elif self._question is not None and self._question.display:
            self._question.query_one(Input).focus()
        else:
            self.query_one(PromptArea).focus()

    def step_back(self) -> bool:
        """One level back inside the question about code, or no answer to a tool; False where there is neither."""
        if self._question is not None and self._question.display and self._question.is_of_tool:
            if self._question.has_focus_within:
                self._question.decline()
            else:
                self.focus_shown()
            return True
        return self._approval is not None and self._approval.step_back()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """A draft is not lost; an editor of code in the question is none."""
        if self._recall is not None and isinstance(event.text_area, PromptArea):
            self._recall.schedule_save()

    def keep_draft(self) -> None:
        """Keep the unsent text for the next start."""
        if self._recall is not None:
            self._recall.keep()

    def on_approval_panel_decided(self, event: "ApprovalPanel.Decided") -> None:
        """The answer to the question about code; of an edited call, the next question comes from the engine."""
        event.stop()
        self._bridge.send(event.answer)
        if event.is_final:
            self._bring_up("composer")
            self.on_decided()

    def on_approval_panel_prompt_typed(self, event: "ApprovalPanel.PromptTyped") -> None:
        """Text meant for the prompt goes there."""
        event.stop()
        self._write(event.text, pasted=event.pasted)

    def on_approval_panel_full_toggled(self, event: "ApprovalPanel.FullToggled") -> None:
        """The panel gets the room of the timeline, or gives it back."""
        event.stop()
        self.screen.set_class(event.full, FULL)
        self.fit()

    def on_question_panel_answered(self, event: "QuestionPanel.Answered") -> None:
        """The answer to running code, or to a tool."""
        event.stop()
        self._bridge.send(event.answer)
        self._bring_up("composer")
        self.on_decided()

    def _write(self, text: str, *, pasted: bool) -> None:
        area = self.query_one(PromptArea)
        if pasted:
            area.insert_paste(with_line_feeds(text))
        elif text == ERASE:
            area.action_delete_left()
        else:
            area.insert(text)

    def _bring_up(self, name: str) -> None:
        self.screen.remove_class(FULL)
        for child in self.children:
            child.display = child.id == name
        self._offer_help()
        self.fit()
        if name == "composer":
            self.query_one(PromptArea).focus()
