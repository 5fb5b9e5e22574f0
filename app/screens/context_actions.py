"""What a person does about what the model reads: looks at what takes the room, pins, leaves out, changes a summary."""

from typing import Literal

from textual.widget import Widget

from oi_tui.app.engine.core.blocks import Action, Block, ContextMark, ProseBlock, SummaryBlock, UserBlock
from oi_tui.app.engine.core.context_use import ContextUse
from oi_tui.app.engine.core.verbs import ChangeSummary, MarkContext
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.context_screen import ContextScreen
from oi_tui.app.screens.open_screen import is_open
from oi_tui.app.screens.summary_screen import SummaryScreen
from oi_tui.themes.palette import Palette
from oi_tui.widgets.timeline.view import Timeline


class ContextActions:
    """Does what is wanted; the engine tells what came of it."""

    def __init__(self, place: Widget, bridge: Bridge) -> None:
        self._place = place
        self._bridge = bridge

    def mark(self, wish: Literal["pin", "leave_out"], block: Block) -> None:
        """Pin the block or leave it out, or take that back."""
        if not isinstance(block, UserBlock | ProseBlock | Action):
            self._place.app.notify("This is never sent to the model.", timeout=3)
            return
        mark: ContextMark = "pinned" if wish == "pin" else "left out"
        self._bridge.send(MarkContext(block_id=block.id, mark="" if block.mark == mark else mark))

    async def change_summary(self, wish: Literal["rerun", "undo"], block: SummaryBlock, palette: Palette) -> None:
        """Change a summary, or stop using it, by the keys for change and undo."""
        if wish == "undo":
            self._bridge.send(ChangeSummary(block_id=block.id, text=block.text, used=not block.used))
            return
        text = await self._place.app.push_screen_wait(SummaryScreen(block.text, palette))
        if text is not None:
            self._bridge.send(ChangeSummary(block_id=block.id, text=text))

    def show(self, context: ContextUse) -> None:
        """On a screen of its own, or on the one that shows it."""
        screen = self._place.app.screen
        if isinstance(screen, ContextScreen) and is_open(screen):
            screen.show(context)
        elif screen is self._place.screen:
            self._place.app.push_screen(ContextScreen(context, self._bridge.send), self._go_to)

    def _go_to(self, block_id: str | None) -> None:
        if block_id is not None:
            timeline = self._place.query_one(Timeline)
            timeline.show_block(block_id)
            timeline.focus()
