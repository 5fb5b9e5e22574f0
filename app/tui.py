"""The Textual app: colours, screens and leaving. What happens in a session is the chat screen's."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on
from textual._compositor import CompositorUpdate
from textual.binding import BindingType
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Resize
from textual.geometry import Offset
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES
from textual.widgets import Input, TextArea

from oi_tui.app.commands.registry import bindings
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import Flags
from oi_tui.app.frontend.workplace import FolderChoice, Workplace
from oi_tui.app.look import ThemeControl, remember_look
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.chat import ChatScreen
from oi_tui.app.screens.defects import keep_trace, spare
from oi_tui.app.screens.typing_pause import preload
from oi_tui.app.terminal.calling import Attention, means_of
from oi_tui.app.terminal.compositing import FrontCompositor
from oi_tui.app.terminal.end_signals import leave_at_signals, restore_signals
from oi_tui.app.terminal.guarded_driver import GuardedDriver, tell_terminal, use_mouse
from oi_tui.app.terminal.probe import TerminalFacts, Window, graphics, window_size
from oi_tui.app.terminal.probing_driver import ProbingDriver, TerminalKnown
from oi_tui.app.terminal.screen_copy import FrameDifference, ScreenCopy
from oi_tui.app.terminal.typing_order import TypingOrder
from oi_tui.widgets.arming import Clock, NotesKeys
from oi_tui.widgets.text_box import Completer

if TYPE_CHECKING:  # loaded with the bridge
    from oi_tui.app.frontend.client import Connect, EngineClient

SHOW_CURSOR = "\x1b[?25h"


class OiTui(TypingOrder):
    """The terminal front end of one session."""

    TITLE = "oi-tui"
    CSS = "ToastRack { dock: top; align: right top; margin: 0; }"  # below, it would hide what is typed and asked
    CSS_PATH = "screens/chat.tcss"  # Textual loads the sheet of every screen but the default one
    BINDINGS: ClassVar[list[BindingType]] = bindings(of_the_app=True)
    ENABLE_COMMAND_PALETTE = False
    """Ours lists keys and choices."""

    def __init__(
        self,
        connect: "Connect",
        settings: Settings,
        *,
        prompt: str | None = None,
        session_id: str | None = None,
        picks: bool = False,
        clock: Clock = time.monotonic,
        workplace: Workplace | None = None,
        recorded: bool = False,
        outlives: bool = False,
        flags: Flags | None = None,
        expect_engine: Callable[[], None] | None = None,
    ) -> None:
        """With `picks`, it begins with the list of sessions. With a `workplace`, no engine starts before a decision
        about the folder. `recorded`: the other side plays a recording. `outlives`: the engine keeps running, detached,
        if the terminal is lost. With `flags`, those that the settings came from, the files of these are watched.
        `expect_engine` is called when the first frame is there."""
        asks = "auto" in (settings.screen.images, settings.screen.theme)
        super().__init__(driver_class=ProbingDriver if asks else GuardedDriver)
        self.images = "off" if self.no_color and settings.screen.images == "auto" else settings.screen.images
        self._cursor_is_shown = settings.screen.cursor == "terminal"
        if settings.screen.motion == "reduced":
            self.animation_level = "none"
        self.known = TerminalFacts()
        self._copy = ScreenCopy()
        look = settings.screen
        means = means_of(os.environ, bell=look.bell, notifications=look.notifications, title=look.title)
        self.attention = Attention(lambda said: tell_terminal(self._driver, said), means, clock)
        self.themes = ThemeControl(self, settings.screen.theme)
        self._connect, self.clock = connect, clock
        self._expect_engine = expect_engine
        self._flags = flags
        self._workplace = workplace
        self._recorded = recorded
        self.chat = ChatScreen(
            self._start_engine,
            settings,
            self.themes.palette,
            session_id=session_id,
            clock=clock,
            recorded=recorded,
            follow=self.attention.follow,
            outlives=outlives,
            workplace=workplace,
        )
        self.themes.chat = self.chat
        self.chat._compositor = FrontCompositor()
        self.code_completer: Completer | None = None  # known when the screen is complete
        if prompt:
            folder = workplace.folder if workplace is not None else Path()  # it may not be decided yet
            self.chat.begin = lambda: self.chat.desk.begin_with(prompt, folder)
        elif picks:
            self.chat.begin = lambda: self.chat.run_worker(self.chat.action_part("sessions"), group="part")

    async def run_async(self, *, headless: bool = False, **options: Any) -> None:
        """As in the base class. From before the terminal is taken until it was put back, a signal ends the program as
        a key does: the session is saved."""
        if headless:
            return await super().run_async(headless=headless, **options)

        async def leave(code: int) -> None:
            await self.chat.leaving.obey_signal(code)  # a property: it needs the screen, for which `call_later` waits

        leave_at_signals(asyncio.get_running_loop(), lambda code: self.call_later(leave, code))
        try:
            return await super().run_async(**options)
        finally:
            restore_signals()

    def get_css_variables(self) -> dict[str, str]:
        """The colours of our theme; empty before it is set, because Textual's default theme is never shown."""
        return super().get_css_variables() if self.current_theme is not BUILTIN_THEMES.get(self.theme) else {}

    def get_default_screen(self) -> Screen[None]:
        return self.chat

    def on_mount(self) -> None:
        """Prepare what the screen does from its first frame on."""
        if isinstance(self._driver, GuardedDriver):
            self._driver.farewell = self.attention.leave
            self._driver.key_read = self.chat.typing_pause.note_read
        self.attention.timer = self.set_interval(1.0, self.attention.look, pause=True)
        self.watch(self, "app_focus", self.attention.note_focus, init=False)
        # After `fg` the terminal holds whatever the shell left there.
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())
        if self._cursor_is_shown:
            self.action_redraw()
        if self._expect_engine is not None:
            self.chat.call_after_refresh(self._expect_engine)
        self.themes.start()
        if self.themes.complaint:
            self.notify(self.themes.complaint, severity="warning")

        async def know_settings() -> None:
            await self.chat.complete.wait()
            await self.chat.typing_pause.import_aside("oi_tui.app.screens.settings_desk")
            from oi_tui.app.screens.settings_desk import SettingsDesk  # not for the first frame

            SettingsDesk(self, self, self.chat, self._flags, self._workplace).begin()

        async def tell_detached() -> None:
            await self.chat.complete.wait()
            await self.chat.leaving.tell_detached()

        self.run_worker(spare(self, know_settings(), "Reading the settings"), name="settings")
        if self._workplace is not None:
            self.run_worker(spare(self, tell_detached(), "Looking for detached sessions"), name="detached")
        if not self.is_headless:
            self.run_worker(remember_look(self.chat, self.console), name="look")

    async def _start_engine(self) -> "EngineClient":
        """The decision about the folder comes first: nothing in it is read, and nothing runs, before."""
        place = self._workplace
        if place is not None and place.is_undecided and await self._ask_about_folder(place) is None:
            await self.chat.leaving.leave()
            raise OiTuiError("Nothing was decided about the folder.")
        return await self._connect()

    async def _ask_about_folder(self, place: Workplace, *, again: bool = False) -> FolderChoice | None:
        """What the person chose; the next engine is configured with it."""
        await preload("oi_tui.app.screens.folder")  # meanwhile keys are not kept waiting
        from oi_tui.app.screens.folder import FolderScreen

        write = self.chat.query_one(Bottom).go_on_writing
        chosen = await self.push_screen_wait(FolderScreen(place, again=again, write=write, clock=self.clock))
        self.chat.bridge.use_settings(place.settings)
        return chosen

    async def action_sandbox(self) -> None:
        """Show the sandbox of this folder, and offer another."""
        if self._workplace is None or len(self.screen_stack) > 1:
            return
        if self.chat.bridge.busy:
            self.notify("Code is running. Interrupt it, then try again.", severity="warning")
            return
        if self.chat.bridge.extraction is not None:
            self.notify("An extraction is not done. Stop it in /extract, then try again.", severity="warning")
            return
        place, before = self._workplace, self._workplace.setup

        async def decide_again() -> None:
            if await self._ask_about_folder(place, again=True) is not None and place.setup != before:
                await self.chat.bridge.renew()

        self.run_worker(decide_again(), name="sandbox", exclusive=True)

    @on(TerminalKnown)
    @on(Resize)
    def _use_graphics(self, event: TerminalKnown | Resize) -> None:
        """Use what the terminal reports that it can show; another font may have another size."""
        if isinstance(event, TerminalKnown):
            self.known = event.known
            self.themes.note_terminal(event.known.light)
        if not self.is_headless:
            window = window_size(sys.__stdin__.fileno()) if sys.__stdin__ is not None else Window()
            self.chat.set_graphics(graphics(self.images, self.known, window, os.environ))

    def action_redraw(self) -> None:
        """Write the whole screen again: something else wrote on it."""
        self._copy.forget()
        if self._cursor_is_shown and self._driver is not None and not self.is_headless:
            self._driver.write(SHOW_CURSOR)  # Textual hides it
        self.refresh(layout=True)

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        """As in the base, but only the difference to what the terminal shows. Sixels cover cells that are not
        written."""
        if isinstance(renderable, CompositorUpdate) and not self.is_headless:
            if self.chat.graphics.protocol == "sixel":
                self._copy.forget()
            else:
                renderable = FrameDifference(renderable, self._copy, self.size)
        with self._driver.gather_writes() if isinstance(self._driver, GuardedDriver) else nullcontext():
            super()._display(screen, renderable)

    def note_typing(self, age: float) -> None:
        """Called with all that is typed, on any screen and widget."""
        self.attention.note_key()
        for screen in {self.chat, self.screen}:
            if isinstance(screen, NotesKeys):
                screen.note_key(age)

    @property
    def cursor_position(self) -> Offset:
        """The place of the terminal's own cursor: at the caret, or at the line that the keys act on, for input methods,
        magnifiers and screen readers. Textual's text areas set it when their text changes, even without the focus, and
        not when a layout moves them. So it is computed with every frame.
        """
        focused = self.screen.focused if self._screen_stack else None
        if focused is None:
            return Offset(0, 0)
        place = getattr(focused, "cursor_screen_offset", None)
        return place if isinstance(place, Offset) else focused.region.offset

    @cursor_position.setter
    def cursor_position(self, _: Offset) -> None:
        pass

    def action_palette(self, command_id: str = "", at_once: bool = False) -> None:
        """Every command, or the choices of one; `at_once` does that one, if it needs no choice. An open question stays
        open, undecided."""
        from oi_tui.app.commands.typed import SlashLine  # not for the first frame
        from oi_tui.app.screens.palette_screen import PaletteScreen, Picked  # seldom seen

        def run(picked: Picked | None) -> None:
            if picked is not None and picked.command.slash:
                line = SlashLine(name=picked.command.slash, argument=picked.argument)
                self.call_later(self.chat.desk.commander.run, line, written=False)
                if picked.setting:
                    self.call_later(self.chat.desk.keep, {picked.setting: picked.argument})
            elif picked is not None:
                self.call_later(self.chat.run_action, picked.command.action)

        commander = self.chat.desk.commander
        row = commander.commands.find(command_id)
        if self.screen is not self.chat:
            return
        if at_once and row is not None and (not row.argument or row.argument.startswith("[")):
            run(Picked(row))
        else:
            current = {"approve": self.chat.bridge.transcript.approval}
            self.push_screen(PaletteScreen(commander.commands.rows(), commander.situation, current, row), run)

    async def action_quit(self) -> None:
        """Leave; ask first if that interrupts something."""
        if not self.chat.bridge.busy and self.chat.bridge.extraction is None:
            await self.chat.leaving.leave()
            return
        from oi_tui.app.screens.confirm import ConfirmScreen  # with its row of keys
        from oi_tui.app.screens.leave_question import leave_question  # with that screen

        if isinstance(self.screen, ConfirmScreen) or (question := leave_question(self.chat.bridge)) is None:
            return

        async def finish(yes: bool | None) -> None:
            if yes:
                await self.chat.leaving.leave()

        self.push_screen(question, finish)

    def action_help(self) -> None:
        """The guide, from the keys of this place on."""
        from oi_tui.app.screens.guide import GuideScreen  # seldom seen
        from oi_tui.app.screens.key_help import keys_page  # it knows every widget that has keys

        if not isinstance(self.screen, GuideScreen):
            self.push_screen(
                GuideScreen(keys_page(self.screen, self.chat.desk.commander.commands.rows()), self.chat.palette)
            )

    def action_use_theme(self, name: str = "") -> None:
        """Another theme; without a name, one of a list."""
        self.themes.choose(name)

    def action_toggle_mouse(self) -> None:
        """The mouse to the terminal, whose own selection then works, or back."""
        driver = self._driver
        if not isinstance(driver, LinuxDriver):
            self.notify("This terminal's mouse cannot be switched.", severity="warning")
        elif driver._mouse:
            use_mouse(driver, False)
            self.notify("The mouse is the terminal's now. /mouse takes it back.")
        else:
            use_mouse(driver, True)
            self.notify("The mouse works here again.", timeout=2)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A passing message, sanitised and never read as markup: above the prompt, or a toast over another screen."""
        if self._screen_stack and self.screen is self.chat:
            seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
            self.chat.desk.tell(message, failed=severity != "information", seconds=seconds)
            return
        super().notify(safe_text(message), title=safe_text(title), severity=severity, timeout=timeout, markup=False)

    async def action_stop(self) -> None:
        """Ctrl+C: copy what is selected, else stop what runs, else clear the prompt, else quit at the second time."""
        focused = self.focused
        selected = focused.selected_text if isinstance(focused, TextArea | Input) else ""
        if selected or (selected := self.screen.get_selected_text() or ""):
            self.run_worker(self.chat.desk.copy(selected), group="copy")
        else:
            await self.chat.stops.stop(self.screen)

    def _fatal_error(self) -> None:
        """A defect of ours: the stack trace goes to the log, where Textual would print it with all locals, keys too."""
        self.panic(Text(safe_text(f"✗ oi-tui crashed. Details: {keep_trace()}")))  # the caller prints how to resume
