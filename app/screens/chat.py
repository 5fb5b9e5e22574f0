"""The main screen: the timeline above, the bottom region below it, and the status line.

It turns messages of widgets into verbs, and what the bridge says into calls of widgets. What a verb does, and
what a block looks like, is known elsewhere.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Input

from oi_tui.app.bridge import Bridge
from oi_tui.app.client import Connect
from oi_tui.app.commands import Typed, WrongArgument, bindings, meaning, slash_command
from oi_tui.app.engine.blocks import Block, CodeBlock, UserBlock
from oi_tui.app.engine.events import DecisionRequested, InputRequested
from oi_tui.app.engine.protocol import FetchEnded, FetchProgressed, ModelsFound
from oi_tui.app.engine.settings import Settings
from oi_tui.app.engine.text import safe_text
from oi_tui.app.engine.verbs import Answer, Decide, Interrupt
from oi_tui.app.screens.external_editor import EditorFailed, edit_text
from oi_tui.app.screens.setup import SetupScreen
from oi_tui.themes.palette import Palette
from oi_tui.widgets.arming import Arming, Clock
from oi_tui.widgets.composer import Composer, PromptArea
from oi_tui.widgets.status import Status, StatusBar
from oi_tui.widgets.welcome import Welcome

if TYPE_CHECKING:  # these take their time to load, and the first frame does without them
    from oi_tui.app.screens.parts import Parts
    from oi_tui.widgets.approval import ApprovalPanel
    from oi_tui.widgets.question import QuestionPanel

SECOND_ESCAPE = 1.0
"""Seconds within which another Escape stops the whole turn."""


class ChatScreen(Screen[None]):
    """One session on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(of_the_app=False)

    def __init__(
        self,
        connect: Connect,
        settings: Settings,
        palette: Palette,
        *,
        session_id: str | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__()
        self.bridge = Bridge(connect, self, session_id=session_id, context_window=settings.model.context_window)
        self.palette = palette
        self._settings = settings
        self._clock = clock
        self._arming = Arming(clock)
        self._escaped = float("-inf")
        self._queued = 0
        self._setup: SetupScreen | None = None
        self._parts: Parts | None = None

    def compose(self) -> ComposeResult:
        """The welcome, one of several in the bottom region, then the status."""
        yield Welcome(id="welcome")
        with Vertical(id="bottom"):
            yield Composer(id="composer")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        """The composer can be typed into at once; the rest follows when that has been seen."""
        self._show_timeline(False)
        self.query_one(PromptArea).focus()
        self.call_after_refresh(self._complete)

    async def _complete(self) -> None:
        """What the first frame does without, then the engine that has something to show."""
        from oi_tui.app.screens.parts import Parts  # with it come the timeline and the panels

        parts = Parts.make(self.bridge, self._settings.screen, self.palette, self._arming, self._clock)
        await self.mount(parts.pane, before="#bottom")
        await self.query_one("#bottom").mount(parts.approval, parts.question)
        self._parts = parts
        parts.set_palette(self.palette)
        self._fit(self.size.height)
        self.run_worker(self.bridge.run(), name="engine", exclusive=True)

    @property
    def parts(self) -> "Parts":
        """The widgets that came after the first frame; whatever the engine says comes later still."""
        assert self._parts is not None
        return self._parts

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self.palette = palette
        if self._parts is not None:
            self._parts.set_palette(palette)

    def note_key(self) -> None:
        """The app tells of every key, on whatever screen: no question may take one that was meant for another thing."""
        self._arming.touch()
        if not self.is_current:
            self._arming.show()

    def on_screen_resume(self) -> None:
        """A question that waited under another screen is seen only now."""
        self._arming.show()

    # -- what the bridge calls ---------------------------------------------------------------------------

    def reset(self, blocks: Sequence[Block]) -> None:
        """Another transcript."""
        self.parts.timeline.reset(blocks)
        self._show_timeline(bool(blocks))
        self.query_one(PromptArea).set_history([block.text for block in blocks if isinstance(block, UserBlock)])

    def put(self, index: int, block: Block) -> None:
        """One block."""
        if index == 0:
            self._show_timeline(True)
        self.parts.timeline.put(index, block)

    def show_status(self, status: Status, queued: int) -> None:
        """The bottom line, the hint beside the prompt, and examples that fit the session's folder."""
        self.query_one(StatusBar).status = status
        if folder := self.bridge.transcript.cwd:
            self.query_one(Welcome).look_at(Path(folder))
        self._queued = queued
        self._show_hint()

    def on_descendant_focus(self) -> None:
        """The hint tells of the keys that work now."""
        self._show_hint()

    def _show_hint(self) -> None:
        hint = "enter send · F1 help"
        if self._parts is not None and self._parts.timeline.has_focus:
            hint = "c copy · v view · r run again · / search · tab back"
        elif self.bridge.stopped:
            hint = "ctrl+r starts the engine"
        elif self._queued:
            hint = f"{self._queued} queued · esc stops"
        elif self.bridge.busy:
            hint = "enter queues · esc stops"
        self.query_one(Composer).hint = hint

    def ask(self, decision: DecisionRequested | None, question: InputRequested | None) -> None:
        """Bring up what waits for the person, or the composer."""
        approval, panel = self.parts.approval, self.parts.question
        if decision is not None:
            if decision.request_id != approval.asked_id:
                self._bring_up("approval")
                approval.ask(decision)
        elif question is not None:
            if question.request_id != panel.asked_id:
                self._bring_up("question")
                panel.ask(question, _origin(self.bridge.transcript.block(question.block_id)))
        elif not self.query_one(Composer).display:
            approval.request = panel.request = None
            self._bring_up("composer")

    def show_models(self, reply: ModelsFound | FetchProgressed | FetchEnded) -> None:
        """The choice of a model, and how a download goes."""
        if self._setup is not None and self._setup.is_attached:
            self._setup.show(reply)
        elif isinstance(reply, ModelsFound):
            self._setup = SetupScreen(reply, self.bridge.send, first=not self.bridge.transcript.model)
            self.app.push_screen(self._setup)

    # -- messages of widgets -----------------------------------------------------------------------------

    async def on_prompt_area_submitted(self, event: PromptArea.Submitted) -> None:
        """A prompt, the person's own code, or a command."""
        event.stop()
        asked = meaning(event.text, Path(self.bridge.transcript.cwd or "."))
        if isinstance(asked, Typed):
            await self.obey(asked)
            return
        if self._parts is not None:
            self._parts.timeline.scroll_to_end()
        self.bridge.send(asked)

    async def obey(self, typed: Typed) -> None:
        """Do what a slash command says."""
        row = slash_command(typed.name)
        if row is None:
            self.notify(
                f"There is no /{safe_text(typed.name)}. F1 lists the commands.", severity="warning", markup=False
            )
            return
        if row.verb is None:
            await self.run_action(f"{row.action}({typed.argument!r})" if row.argument else row.action)
            return
        try:
            self.bridge.send(row.verb(typed.argument))
        except WrongArgument as wrong:
            self.notify(str(wrong), severity="warning", markup=False)

    def on_welcome_chosen(self, event: Welcome.Chosen) -> None:
        """An example to begin with; the person sends it."""
        event.stop()
        area = self.query_one(PromptArea)
        area.fill(event.prompt)
        area.focus()

    def on_approval_panel_decided(self, event: "ApprovalPanel.Decided") -> None:
        """The answer to the question about code."""
        event.stop()
        self.bridge.send(
            Decide(request_id=event.request_id, verdict=event.verdict, source=event.source, reason=event.reason)
        )
        self._bring_up("composer")

    def on_approval_panel_full_toggled(self, event: "ApprovalPanel.FullToggled") -> None:
        """The panel gets the room of the timeline, or gives it back."""
        event.stop()
        self.set_class(event.full, "-approval-full")
        self._fit(self.size.height)

    def on_question_panel_answered(self, event: "QuestionPanel.Answered") -> None:
        """The answer to running code."""
        event.stop()
        self.bridge.send(Answer(request_id=event.request_id, text=event.text))
        self._bring_up("composer")

    def on_resize(self, event: Resize) -> None:
        """The panel keeps its keys on the screen."""
        self._fit(event.size.height)

    # -- actions ---------------------------------------------------------------------------------------------

    def action_step_back(self) -> None:
        """Stop what runs, harder the second time; with nothing running, one level back."""
        if self._parts is not None:
            on_top = (self._parts.approval, self._parts.pane)
            if any(part.step_back() for part in (on_top if self.focused is not self._parts.timeline else on_top[::-1])):
                return
        if not self.bridge.busy:
            self.query_one(PromptArea).focus()
            return
        now = self._clock()
        again, self._escaped = now - self._escaped <= SECOND_ESCAPE, now
        self.bridge.send(Interrupt(turn=again))
        if not again:
            self.notify("Interrupting. Escape again stops the whole turn.", timeout=SECOND_ESCAPE, markup=False)

    def action_page(self, step: int) -> None:
        """A page of the timeline, from wherever the focus is."""
        if self._parts is not None:
            self._parts.timeline.action_page(step)

    def action_switch_focus(self) -> None:
        """Between the timeline and what is at the bottom."""
        parts = self._parts
        upper = self.query_one("#welcome OptionList") if parts is None or self.has_class("-welcome") else parts.timeline
        if not upper.has_focus:
            upper.focus()
        elif parts is not None and parts.approval.display:
            parts.approval.focus_stage()
        elif parts is not None and parts.question.display:
            parts.question.query_one(Input).focus()
        else:
            self.query_one(PromptArea).focus()

    def action_restart_engine(self) -> None:
        """A new engine for the same session."""
        self.bridge.restart()

    def action_edit_external(self) -> None:
        """The prompt in the person's own editor."""
        area = self.query_one(PromptArea)
        try:
            area.fill(edit_text(self.app, area.full_text, self._settings.screen.editor))
        except EditorFailed as failed:
            self.notify(str(failed), severity="error", markup=False)

    # -- inside ------------------------------------------------------------------------------------------------

    def _show_timeline(self, shown: bool) -> None:
        self.set_class(not shown, "-welcome")
        if not shown:
            self.query_one(Welcome).look_at(Path(self.bridge.transcript.cwd or "."))

    def _bring_up(self, name: str) -> None:
        self.remove_class("-approval-full")
        for child in self.query_one("#bottom").children:
            child.display = child.id == name
        self._fit(self.size.height)
        if name == "composer":
            self.query_one(PromptArea).focus()

    def _fit(self, height: int) -> None:
        full = self.has_class("-approval-full")
        if self._parts is not None:
            self._parts.approval.fit(height - 1 if full else max(6, height * 6 // 10))


def _origin(block: Block) -> str:
    """Which code asks."""
    if not isinstance(block, CodeBlock):
        return ""
    first = next((line.strip() for line in block.source.splitlines() if line.strip()), "")
    return f"{block.language} · {first[:40]}"
