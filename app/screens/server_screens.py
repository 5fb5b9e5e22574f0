"""The MCP servers as the chat's screen knows them: their panel, opened by command."""

from oi_tui.app.engine.core.tool_replies import ServersFound
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.app.screens.servers_screen import ServersScreen


class ServerScreens:
    """Opens the panel, and hands it what the engine says."""

    def __init__(self, bridge: Bridge, desk: PromptDesk) -> None:
        self._bridge = bridge
        self._desk = desk
        self._screen: ServersScreen | None = None

    def show_all(self) -> None:
        """All servers there are."""
        self._screen = ServersScreen(self._bridge.send)
        self._desk.area.app.push_screen(self._screen)

    def take(self, found: ServersFound) -> None:
        """What the engine says of them."""
        if self._screen is not None and self._screen.is_mounted:
            self._screen.take(found)
