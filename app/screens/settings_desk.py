"""The settings while the screen is there: the screen that changes them, and what of a change the app itself does."""

import os
from collections.abc import Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import UNSET
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import ImageMode, Settings
from oi_tui.app.flags import Flags
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.screens.chat import ChatScreen
from oi_tui.app.screens.typing_pause import preload
from oi_tui.app.settings.control import LOOK_INTERVAL, SettingsControl
from oi_tui.app.terminal.calling import Attention, means_of
from oi_tui.app.terminal.guarded_driver import use_mouse
from oi_tui.app.terminal.probe import TerminalFacts
from oi_tui.app.terminal.probing_driver import TerminalKnown
from oi_tui.widgets.status import StatusBar

if TYPE_CHECKING:
    from oi_tui.app.screens.profile_desk import ProfileDesk


def _key_faults(settings: Settings) -> tuple[str, ...]:
    from oi_tui.app.screens.key_sets import key_faults  # it knows every widget that has keys

    return key_faults(settings)


class ThemeChoice(Protocol):
    """The theme in use."""

    chosen: str
    """A name, or `auto`."""

    def choose(self, name: str = "") -> None: ...


class ChangesLook(Protocol):
    """What the screen's settings change while the program runs."""

    @property
    def themes(self) -> ThemeChoice: ...

    images: ImageMode
    known: TerminalFacts
    attention: Attention


class SettingsDesk:
    """Opens the screens of settings and profiles, and looks at the files."""

    def __init__(
        self,
        app: App[Any],
        look: ChangesLook,
        chat: ChatScreen,
        flags: Flags | None,
        place: Workplace | None,
    ) -> None:
        """`look` is the app, as what changes its look. Without the `flags` that the settings came from, as on a
        recorded session, nothing is watched."""
        self._app = app
        self._look_of = look
        self._chat = chat
        self._watches = flags is not None
        self._wanted = ("", "")
        """Name and server of a model that becomes the default once it is in use."""
        flags = flags or Flags()
        try:
            before = place.requested_settings if place is not None else flags.settings().settings
        except SettingsError:
            before = chat.settings  # the screen shows it
        self._place = place
        self._profiles: ProfileDesk | None = None
        self.control = SettingsControl(flags, chat.bridge, self._use_screen, before, _key_faults)

    def begin(self) -> None:
        """The person can ask for the screen from now on; the files are looked at."""
        self._chat.desk.settings = self
        for status in self._chat.query(StatusBar):  # there is none any more where the person leaves meanwhile
            self._app.watch(status, "status", self._follow_model, init=False)
        if self._place is not None and (remarks := self._place.settings_remarks):
            self._app.notify(" ".join(remarks), timeout=15)
        if self._watches:
            self._app.set_interval(LOOK_INTERVAL, self._look)

    def open(self, words: str = "") -> None:
        """Show all settings, those with these words first."""
        self._app.run_worker(self._open(words), name="settings", exclusive=True)

    def choose_profile(self, name: str = "") -> None:
        """Use a profile in this session; without a name, show all of them."""
        from oi_tui.app.screens.profile_desk import ProfileDesk  # seldom wanted

        if self._profiles is None:
            place = self._place
            folder, in_use = (Path.cwd(), "") if place is None else (place.folder, place.setup.profile)
            self._profiles = ProfileDesk(self._app, self._chat, folder, in_use)
        if self._app.screen is self._chat:
            self._profiles.choose(name)

    async def _open(self, words: str) -> None:
        await preload("oi_tui.app.screens.settings_screen")
        from oi_tui.app.screens.settings_screen import SettingsScreen  # seldom seen

        if self._app.screen is self._chat:
            self._app.push_screen(SettingsScreen(self.control, words))

    def keep(self, values: Mapping[str, Any]) -> None:
        """Write what was chosen on another screen, and say so. UNSET removes a key, which needs no words."""
        self._app.run_worker(self._keep(values), name="keep")

    def keep_model(self, name: str, api_base: str) -> None:
        """Keep this model for new sessions, as soon as it is in use: one that cannot be opened is not kept."""
        self._wanted = (name, api_base)
        self._follow_model()

    def _follow_model(self) -> None:
        name, api_base = self._wanted
        if name and name == self._chat.bridge.transcript.model:
            self._wanted = ("", "")
            self.keep({"model.name": name, "model.api_base": api_base or UNSET})

    async def _keep(self, values: Mapping[str, Any]) -> None:
        await preload("oi_tui.app.screens.setting_change")
        from oi_tui.app.screens.setting_change import SettingChanger  # it asks, and writes

        def tell(words: str, failed: bool) -> None:
            self._app.notify(words, severity="warning" if failed else "information", timeout=8)

        SettingChanger(self._app, self.control).keep(values, tell)

    def _look(self) -> None:
        words, failed = self.control.look()
        if words:
            self._app.notify(words, severity="warning" if failed else "information", timeout=0 if failed else 8)

    def _use_screen(self, settings: Settings, changed: Set[str]) -> None:
        look, screen = self._look_of, settings.screen
        if changed & {"screen.keys", "keys"}:
            self._chat.parts.keys.use(settings)
        if "screen.theme" in changed and screen.theme != look.themes.chosen:
            look.themes.choose(screen.theme)
        if "screen.mouse" in changed and isinstance(self._app._driver, LinuxDriver):
            use_mouse(self._app._driver, screen.mouse)
        if "screen.images" in changed:
            look.images = screen.images
            self._app.post_message(TerminalKnown(look.known))
        look.attention.means = means_of(
            os.environ, bell=screen.bell, notifications=screen.notifications, title=screen.title
        )
