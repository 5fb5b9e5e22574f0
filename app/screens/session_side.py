"""The side of the chat screen that knows the engine: what is sent to it, and what is shown of what it says.

It brings the whole protocol with it, for which nobody has to wait who only wants to see the prompt.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from textual.screen import Screen

from oi_tui.app.engine.core.blocks import Block, NoticeBlock, UserBlock
from oi_tui.app.engine.core.events import DecisionRequested, InputRequested
from oi_tui.app.engine.core.extractions import ExtractionFound
from oi_tui.app.engine.core.kernel_looks import FrameSeen, NamesFound, VariableSeen, VariablesFound, WidgetsFound
from oi_tui.app.engine.core.library_replies import FormatsFound, PromptsFound
from oi_tui.app.engine.core.protocol import (
    AboutModels,
    AboutSessions,
    ContextFound,
    Detached,
    DraftKept,
    InstructionsFound,
    KernelsFound,
    ModelsFound,
    PromptsQueued,
    ViewReply,
)
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.tool_replies import AboutTools, ChangesFound
from oi_tui.app.engine.core.verbs import SetApproval
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.frontend.client import Connect
from oi_tui.app.frontend.session_status import next_approval
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.brief_runs import BriefRuns
from oi_tui.app.screens.leaving import Leaving
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.app.screens.stop_keys import StopKeys
from oi_tui.app.screens.typing_pause import TypingPause
from oi_tui.widgets.arming import LOOK_INTERVAL, Clock
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.status import Status, StatusBar, runs_unasked
from oi_tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from oi_tui.app.screens.chat_parts import Parts
    from oi_tui.app.screens.setup import SetupScreen


class ProgressFollower(Protocol):
    """Gets whatever waits for the user (the id "" if nothing does), and whether the last message is an error."""

    def __call__(self, request_id: str, *, is_input: bool, busy: bool, failed: bool) -> None:
        """Something happened in the session."""
        ...


class SessionSide:
    """The bridge, what acts on it, and what it calls."""

    def __init__(
        self,
        screen: Screen[None],
        connect: Connect,
        settings: Settings,
        *,
        parts: Callable[[], "Parts"],
        show_queued: Callable[[int], None],
        is_writing: Callable[[], bool],
        complete: asyncio.Event,
        pause: TypingPause,
        session_id: str | None,
        clock: Clock,
        recorded: bool,
        follow: ProgressFollower,
        outlives: bool,
        workplace: Workplace | None,
    ) -> None:
        """`parts` are there when the screen is `complete`. `show_queued` gets the number of prompts that wait,
        `follow` the session's state whenever something happens in it. `is_writing` says whether a key of a prompt came
        just now. `outlives`: the engine keeps running, detached, if the terminal is lost."""
        self._screen, self._settings, self._pause = screen, settings, pause
        self._parts, self._show_queued = parts, show_queued
        self._follow = follow
        self.view = BriefRuns(self, self._call_after)
        self.bridge = Bridge(
            connect, self.view, session_id=session_id, settings=settings, recorded=recorded, clock=clock
        )
        self.desk = PromptDesk(screen, self.bridge)
        self.desk.workplace = workplace
        self.stops = StopKeys(self.bridge, self.desk, clock)
        self.leaving = Leaving(screen, self.bridge, complete, pause, outlives=outlives)
        self._is_writing = is_writing
        self._setup: SetupScreen | None = None
        self._found: ModelsFound | None = None
        """What is offered as soon as nobody writes a prompt."""

    @property
    def looks_busy(self) -> bool:
        """Whether leaving would interrupt anything, a run aside that is about to be over."""
        return self.bridge.busy and (self.bridge.transcript.turn_open or not self.view.holds_run)

    def _call_after(self, seconds: float, work: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, self._screen.call_next, work)

    def switch_approval(self) -> None:
        """To the approval mode after the one that the status line names."""
        self.desk.set_approval(SetApproval(mode=next_approval(self._screen.query_one(StatusBar).status)))

    # -- what the bridge calls ---------------------------------------------------------------------------

    def reset(self, blocks: Sequence[Block]) -> None:
        screen, pane = self._screen, self._parts().pane
        was_above = pane.has_focus_within
        stays = pane.reset(blocks)
        screen.query_one(Bottom).note_past()
        self._show_timeline(bool(blocks))
        if was_above and not stays:
            screen.query_one(Bottom).focus_shown()  # what had the focus is not on the screen any more
        screen.query_one(PromptArea).set_history([block.text for block in blocks if isinstance(block, UserBlock)])

    def put(self, index: int, block: Block) -> None:
        if index == 0:
            self._show_timeline(True)
        self._parts().timeline.put(index, block)

    def show_status(self, status: Status, queued: int) -> None:
        """The bottom line, the hint beside the prompt, and examples that fit the session's folder."""
        self._screen.query_one(StatusBar).status = status
        folder = self.bridge.transcript.cwd
        if (welcome := self._screen.query_one_optional(Welcome)) is not None:  # a moment after the first frame
            if folder:
                welcome.look_at(Path(folder))
            welcome.tell_situation(asks=not runs_unasked(status), model=status.model if folder else None)
        self.desk.offer_tour(status.model)
        self._show_queued(queued)

    def ask(self, decision: DecisionRequested | None, question: InputRequested | None) -> None:
        """Bring up what waits for the person, or the composer."""
        parts = self._parts()
        self._screen.query_one(Bottom).ask(decision, question)
        parts.steps.follow()
        waits = decision or question
        if waits is not None:
            parts.pane.anchor_to_bottom()
        last = self.bridge.transcript.blocks[-1:]
        failed = any(isinstance(block, NoticeBlock) and block.level == "error" for block in last)
        request_id = waits.request_id if waits is not None else ""
        self._follow(request_id, is_input=decision is None, busy=self.bridge.transcript.turn_open, failed=failed)

    def show(self, reply: ViewReply) -> None:
        """An answer that is not part of the session: about models, downloads, variables, other sessions."""
        app, parts = self._screen.app, self._parts()
        if isinstance(reply, ModelsFound | KernelsFound):
            parts.choices.note(reply)
        match reply:
            case VariablesFound() | VariableSeen() | FrameSeen() | WidgetsFound():
                parts.variables.take(reply)
            case _ if isinstance(reply, AboutSessions):
                parts.sessions.take(reply)
            case PromptsFound() | DraftKept():
                parts.recall.show(reply)
            case PromptsQueued():
                self.desk.show_queued(reply)
            case NamesFound():
                parts.names.show(reply)
            case Detached():
                self.leaving.follow(reply)
            case ContextFound() | ChangesFound():
                parts.pane.show_found(reply)
            case KernelsFound():
                parts.kernels.show(reply)
            case _ if isinstance(reply, AboutTools | FormatsFound | ExtractionFound):
                parts.take(reply)
            case InstructionsFound():
                from oi_tui.app.screens.instructions_screen import show_instructions  # seldom seen

                show_instructions(app, reply, self.bridge, self._settings, parts.palette)
            case _ if isinstance(reply, AboutModels) and self._setup is not None and self._setup.is_attached:
                self._setup.show(reply)
            case ModelsFound():
                is_waiting, self._found = self._found is not None, reply
                if not is_waiting:
                    self._offer_models()

    def _offer_models(self) -> None:
        """Show the choice of a model; not while a prompt is written, whose next letters and Enter it would take."""
        if self._is_writing():
            self._call_after(LOOK_INTERVAL, self._offer_models)
        elif self._found is not None:
            from oi_tui.app.screens.setup import SetupScreen  # seldom seen

            found, self._found = self._found, None
            self._setup = SetupScreen(found, self.desk.choose_model, model=self.bridge.transcript.model)
            self._screen.app.push_screen(self._setup)

    def _show_timeline(self, shown: bool) -> None:
        # On the screen, the class would style every widget once more.
        self._screen.query_one("#upper").set_class(not shown, "-welcome")
        if shown:
            self._parts().expect_actions(self._pause)
        else:
            self._screen.query_one(Welcome).look_at(Path(self.bridge.transcript.cwd or "."))
