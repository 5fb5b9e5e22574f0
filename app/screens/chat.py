"""The main screen: the timeline above, the bottom region below it, and the status line.

It hands messages of widgets on, as soon as there is somebody to take them: the first frame is composed without anything
that knows the engine (`session_side.py`), or what a block looks like (`chat_parts.py`).
"""

import asyncio
import gc
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import DescendantFocus, Resize, ScreenResume
from textual.screen import Screen
from textual.widgets import TextArea

from oi_tui.app.commands.registry import bindings
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.screens.bottom import FULL, Bottom
from oi_tui.app.screens.typing_pause import TypingPause
from oi_tui.themes.palette import Palette
from oi_tui.widgets.arming import Arming, Clock
from oi_tui.widgets.composer import Composer, PromptArea
from oi_tui.widgets.prompt_start import PromptStarted
from oi_tui.widgets.status import StatusBar
from oi_tui.widgets.text_box import CompletesCode
from oi_tui.widgets.timeline.graphics import Graphics

if TYPE_CHECKING:  # slow imports that the first frame does not need
    from oi_tui.app.frontend.bridge import Bridge
    from oi_tui.app.frontend.client import Connect
    from oi_tui.app.screens.chat_parts import Parts
    from oi_tui.app.screens.leaving import Leaving
    from oi_tui.app.screens.prompt_desk import PromptDesk
    from oi_tui.app.screens.session_side import ProgressFollower, SessionSide
    from oi_tui.app.screens.stop_keys import StopKeys
    from oi_tui.widgets.welcome import Welcome

WIDE = 100
"""Columns from which on the variables are beside the timeline; on a narrower screen they are below it."""


def _ignore_progress(request_id: str, *, is_input: bool, busy: bool, failed: bool) -> None:
    pass


class ChatScreen(Screen[None]):
    """One session on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(of_the_app=False)
    AUTO_FOCUS: ClassVar[str | None] = ""  # the prompt's, see below: to find out by searching styles it once more

    def __init__(
        self,
        connect: "Connect",
        settings: Settings,
        palette: Palette,
        *,
        session_id: str | None = None,
        clock: Clock = time.monotonic,
        recorded: bool = False,
        follow: "ProgressFollower" = _ignore_progress,
        outlives: bool = False,
        workplace: Workplace | None = None,
    ) -> None:
        """`follow` gets the session's state whenever something happens in it. `outlives`: the engine keeps running,
        detached, if the terminal is lost."""
        super().__init__()
        self.palette = palette
        self.settings = settings
        self._clock = clock
        self._arming = Arming(clock)
        self.typing_pause = TypingPause()
        self._queued, self._pressed = 0, clock()
        self._parts: Parts | None = None
        self.begin: Callable[[], object] = lambda: None
        """What is done as soon as there is a prompt."""
        self.complete = asyncio.Event()
        """Set when everything is there that the first frame did without."""
        self.graphics = Graphics("none" if settings.screen.images == "off" else "cells")

        def open_side() -> "SessionSide":
            from oi_tui.app.screens.session_side import SessionSide  # with all that an engine can say

            return SessionSide(
                self,
                connect,
                settings,
                parts=lambda: self.parts,
                show_queued=self.show_queued,
                is_writing=lambda: self._arming.is_typing and bool(self.query_one(PromptArea).text),
                complete=self.complete,
                pause=self.typing_pause,
                session_id=session_id,
                clock=clock,
                recorded=recorded,
                follow=follow,
                outlives=outlives,
                workplace=workplace,
            )

        self._open_side = open_side

    def compose(self) -> ComposeResult:
        """Room for what comes after the first frame, one of several in the bottom region, then the status."""
        yield Horizontal(id="upper", classes="-welcome")
        yield Bottom(id="bottom")
        yield StatusBar(clock=self._clock, id="status")

    def on_mount(self) -> None:
        """The composer can be typed into at once; the rest follows when that has been seen."""
        self.query_one(PromptArea).focus()
        self.begin()
        # Beside what the screen does, which could paint nothing meanwhile.
        self.call_after_refresh(lambda: self.run_worker(self._complete(), group="complete"))

    async def _complete(self) -> None:
        """Everything the first frame does not need, while the engine with the content starts."""
        await self.typing_pause.wait()  # as before each step: keys that came meanwhile are painted first
        await self.typing_pause.import_aside("oi_tui.widgets.welcome")
        from oi_tui.widgets.welcome import Welcome  # it is there now

        welcome = Welcome(id="welcome")
        await self.query_one("#upper").mount(welcome)
        await self.typing_pause.wait()
        welcome.look_at(Path())
        await self.typing_pause.wait()
        await self.typing_pause.import_aside("oi_tui.app.screens.session_side")
        self.run_worker(self.bridge.run(self.complete), name="engine", exclusive=True)
        await self.typing_pause.wait()
        await self.typing_pause.import_aside("oi_tui.app.screens.chat_parts")
        from oi_tui.app.screens.chat_parts import STYLES, Parts  # it is there now

        self.app.stylesheet.read(STYLES)
        parts = Parts(self.bridge, self.settings, self.graphics, self.palette, self._arming, self._clock, self.desk)
        await self.typing_pause.wait()
        await self.query_one("#upper").mount(parts.pane)
        bottom = self.query_one(Bottom)
        await bottom.add(
            self.bridge, parts.approval, parts.question, parts.trouble, parts.enter, parts.recall, self.typing_pause
        )
        self._parts = parts
        self.watch(parts.timeline, "cursor", self.show_keys, init=False)
        if isinstance(self.app, CompletesCode):
            self.app.code_completer = parts.names
        self.set_graphics(self.graphics)  # the terminal may have answered meanwhile
        parts.set_palette(self.palette)
        if not gc.isenabled():  # not during the start; everything so far is permanent
            gc.freeze()
            gc.enable()
        self.complete.set()
        parts.keys.begin(self, self.show_keys)
        parts.expect_plugins(self.typing_pause)

    @cached_property
    def _side(self) -> "SessionSide":
        return self._open_side()

    @property
    def bridge(self) -> "Bridge":
        """The connection to the engine."""
        return self._side.bridge

    @property
    def desk(self) -> "PromptDesk":
        """Turns what is typed into prompts, own code and commands."""
        return self._side.desk

    @property
    def stops(self) -> "StopKeys":
        """What Escape and Ctrl+C stop."""
        return self._side.stops

    @property
    def leaving(self) -> "Leaving":
        """How the screen is left."""
        return self._side.leaving

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

    def set_graphics(self, graphics: Graphics) -> None:
        """Another way to show pictures, or cells of another size."""
        self.graphics = graphics
        if self._parts is not None:
            self._parts.set_graphics(graphics)

    def note_key(self, age: float) -> None:
        """Called with every key, on whatever screen: no question may take one that was meant for something else."""
        self._arming.touch(age)
        self._pressed = self._clock() - age
        self.typing_pause.note_key()
        if not self.is_current:
            self._arming.show()

    def on_screen_resume(self, event: ScreenResume) -> None:
        """A question that waited under another screen is seen only now."""
        self._arming.show()
        if self._parts is None:
            event.refresh_styles = False  # everything was styled a moment ago, when it was mounted
        elif self.focused is None:
            self.query_one(Bottom).focus_shown()

    def show_queued(self, count: int) -> None:
        """Show how many prompts are queued."""
        self._queued = count
        self.show_keys()

    @on(DescendantFocus)
    @on(TextArea.Changed)
    def show_keys(self) -> None:
        """Show the keys that are bound now in the hint; until everything is loaded, they are the declared ones."""
        if self._parts is None:
            return
        from oi_tui.widgets.keyrow import key_hint  # loaded with the parts

        area = self.query_one(PromptArea)
        hint = key_hint(self, ("palette", "commands"), ("help", "help"))
        if self._parts.timeline.has_focus:
            hint = self._parts.pane.hint
        elif self._parts.sessions_have_focus:
            hint = ""  # it shows its own keys
        elif self.bridge.stopped:
            hint = key_hint(self, ("engine", "starts the engine")) or "/engine starts it"
        elif self._queued and not area.text:
            keys = key_hint(area, ("composer.up", "edit"), ("composer.drop", "drop"))
            hint = f"{self._queued} queued · {keys}".removesuffix(" · ")
        elif self._side.looks_busy:
            does = (("composer.send", "steer"), ("composer.queue", "queue"))
            hint = key_hint(area, *(does if area.text else (("composer.send", "steers"), ("interrupt", "stops"))))
        elif area.text:
            hint = key_hint(area, ("composer.newline", "new line"))
        self.query_one(Composer).hint = hint
        self.query_one(Bottom).offer_enter(self._clock())

    async def on_prompt_area_submitted(self, event: PromptArea.Submitted) -> None:
        """A prompt, the person's own code, or a command."""
        event.stop()
        if not event.text.strip():
            if not event.wait:
                self.query_one(Bottom).take_enter(self._pressed)
        elif await self.desk.take(event.text, wait=event.wait) and self._parts is not None:
            self._parts.timeline.follow = True

    def on_prompt_area_withdrawn(self, event: PromptArea.Withdrawn) -> None:
        """A queued prompt is edited or dropped."""
        event.stop()
        self.desk.withdraw(event.text, drop=event.drop)

    def on_welcome_example_chosen(self, event: "Welcome.ExampleChosen") -> None:
        """An example to begin with; the person sends it."""
        event.stop()
        self.desk.area.fill(event.prompt)
        self.desk.area.focus()

    def on_prompt_started(self, event: PromptStarted) -> None:
        """A prompt that was started on an example, or on the row after an error."""
        event.stop()
        self.query_one(Bottom).go_on_writing(event.text, pasted=event.pasted)

    def on_resize(self, event: Resize) -> None:
        """Some things have another place on a narrow screen."""
        self.set_class(event.size.width < WIDE, "-narrow")
        self.query_one(Bottom).fit()

    # -- actions ---------------------------------------------------------------------------------------------

    def action_step_back(self) -> None:
        """Stop what runs, harder the second time; with nothing running, one level back."""
        if self._parts is not None:
            on_top = (self.query_one(Bottom), self._parts.pane)
            if any(part.step_back() for part in (on_top if self.focused is not self._parts.timeline else on_top[::-1])):
                return
        if self._parts is None or not self.stops.interrupt():
            self.query_one(Bottom).focus_shown()

    def action_page(self, step: int) -> None:
        """A page of the timeline, from wherever the focus is."""
        if self._parts is not None:
            self._parts.timeline.action_go("page", step)

    def action_switch_focus(self) -> None:
        """Between the timeline and what is at the bottom; a question that fills the screen keeps the keys."""
        if self.has_class(FULL):
            self.query_one(Bottom).focus_shown()
            return
        hidden = self._parts is None or self.query_one("#upper").has_class("-welcome")
        examples = self.query("#welcome OptionList")
        if hidden and not examples:
            return  # they come a moment after the first frame
        upper = examples.first() if hidden else self.parts.timeline
        if upper.has_focus:
            self.query_one(Bottom).focus_shown()
        else:
            upper.focus()

    async def action_part(self, name: str, argument: str = "") -> None:
        """What is done by key or command with parts of the screen, once all are there."""

        async def when_complete() -> None:
            await self.complete.wait()
            await self.action_part(name, argument)

        if self._parts is None:
            self.run_worker(when_complete(), group="part")
            return
        match name:
            case "variables":
                await self._parts.mount_variables(self.query_one("#upper"))
                self._parts.variables.toggle()
            case "sessions":
                await self._parts.mount_sessions(self.query_one("#upper"))
                self._parts.sessions.toggle()
            case "export":
                self._parts.sessions.export_open(argument)
            case "engine":
                self.bridge.restart()
            case "editor" | "clipboard":
                self.desk.fill_from(name, self.settings)
            case "profile" | "settings":
                self.desk.open_choices(name, argument)
            case "macro":
                self.desk.commander.macros.obey(argument)
            case "approval":
                self._side.switch_approval()
            case _:
                self._parts.act(name, argument)
