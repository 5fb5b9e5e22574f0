"""Skills and kept functions as the chat's screen knows them: the list, and the question before one is kept."""

from oi_tui.app.engine.core.tool_replies import FunctionDrafted, SkillsFound
from oi_tui.app.engine.core.tool_verbs import KeepFunction
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.keep_screen import KeepScreen
from oi_tui.app.screens.open_screen import is_open
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.app.screens.skills_screen import SkillsScreen
from oi_tui.themes.palette import Palette


class SkillScreens:
    """Opens them when the engine answers."""

    def __init__(self, bridge: Bridge, desk: PromptDesk, palette: Palette, editor: str) -> None:
        self._bridge, self._desk = bridge, desk
        self.palette, self._editor = palette, editor

    def take(self, reply: SkillsFound | FunctionDrafted) -> None:
        """In the list, or as a question."""
        app = self._desk.area.app
        if isinstance(reply, FunctionDrafted):
            self._ask(reply)
        elif (screen := next((one for one in app.screen_stack if isinstance(one, SkillsScreen)), None)) is not None:
            if is_open(screen):
                screen.take(reply)
        else:
            app.push_screen(SkillsScreen(reply, self._bridge.send, self.palette, self._editor))

    def _ask(self, draft: FunctionDrafted) -> None:
        def decide(yes: bool | None) -> None:
            if yes:
                self._bridge.send(KeepFunction(name=draft.name, digest=draft.digest))

        self._desk.area.app.push_screen(KeepScreen(draft, self.palette), decide)
