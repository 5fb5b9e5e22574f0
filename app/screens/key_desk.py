"""The person's own keys while the screen is there: bound when everything is there, changed on a screen of their own."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen

from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.screens.typing_pause import preload
from oi_tui.app.terminal.typing_order import TypingOrder

if TYPE_CHECKING:  # it knows every widget that has keys
    from oi_tui.app.screens.key_control import KeyControl


class KeyDesk:
    """Loads what binds keys only where some are not as declared."""

    _chat: Screen[None]
    _show: Callable[[], object]

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._control: KeyControl | None = None

    def begin(self, chat: Screen[None], show: Callable[[], object]) -> None:
        """Bind what the settings say on this screen and all others, and tell what cannot be bound."""
        self._chat, self._show = chat, show
        if self._settings.keys or self._settings.screen.keys != "default":
            chat.run_worker(self._use(), name="keys")

    def use(self, settings: Settings) -> None:
        """Use the keys of these settings from now on."""
        self._settings = settings
        self._chat.run_worker(self._use(), name="keys")

    def open(self, words: str = "") -> None:
        """Show all keys, those with these words first."""
        self._chat.run_worker(self._open(words), name="keys")

    async def _use(self) -> None:
        control, wished = await self._load(), (self._settings.keys, self._settings.screen.keys)
        from oi_tui.app.screens.key_sets import place_of_fault  # loaded with it

        if not self._chat.query("StatusBar"):
            return  # the program is ending already
        if faults := control.use(*wished):
            more = f" ({len(faults) - 1} more: oi-tui doctor)" if len(faults) > 1 else ""
            self._chat.notify(f"{place_of_fault(faults[0])}{more}", severity="warning", timeout=15)

    async def _open(self, words: str) -> None:
        control = await self._load()
        from oi_tui.app.screens.keys_screen import KeysScreen  # seldom seen

        if self._chat.is_current:
            self._chat.app.push_screen(KeysScreen(control, words))

    async def _load(self) -> "KeyControl":
        await preload("oi_tui.app.screens.keys_screen")
        from oi_tui.app.screens.key_control import KeyControl  # it knows every widget that has keys

        if self._control is None:
            app = self._chat.app
            assert isinstance(app, TypingOrder)
            self._control = KeyControl(app, self._chat, self._settings, self._show)
        return self._control
