"""The MCP servers as the chat's screen knows them: their panel, opened by command, and what they have for a prompt."""

from typing import TYPE_CHECKING

from oi_tui.app.engine.core.tool_replies import OfferCompleted, OffersFound, ServersFound
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.open_screen import is_open
from oi_tui.app.screens.prompt_completion import complete_again
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.app.screens.server_offers import PromptOfferings

if TYPE_CHECKING:
    from oi_tui.app.screens.servers_screen import ServersScreen


class ServerScreens:
    """Opens the panel, and hands it what the engine says."""

    def __init__(self, bridge: Bridge, desk: PromptDesk) -> None:
        self._bridge = bridge
        self._desk = desk
        self._screen: ServersScreen | None = None
        self.offers = PromptOfferings(bridge, lambda: complete_again(desk.area))
        desk.server_rows = self.offers.rows

    def show_all(self) -> None:
        """All servers there are."""
        from oi_tui.app.screens.servers_screen import ServersScreen  # seldom seen

        self._screen = ServersScreen(self._bridge.send)
        self._desk.area.app.push_screen(self._screen)

    def take(self, found: ServersFound | OffersFound | OfferCompleted) -> None:
        """What the engine says of them."""
        if not isinstance(found, ServersFound):
            self.offers.take(found)
        elif self._screen is not None and is_open(self._screen):
            self._screen.take(found)
