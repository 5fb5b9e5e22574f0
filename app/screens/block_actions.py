"""What a person does with one block of the timeline: copy it, look at it closely, use it again.

The timeline says what was asked for and of which block; here it is done, or said why it cannot be.
"""

from textual.widget import Widget

from oi_tui.app.bridge import Bridge
from oi_tui.app.clipboard import copy
from oi_tui.app.engine.blocks import Block, CodeBlock
from oi_tui.app.engine.markdown import as_markdown
from oi_tui.app.engine.text import safe_text, visible_text
from oi_tui.app.engine.verbs import Run
from oi_tui.app.screens.run_again import RunAgainScreen
from oi_tui.themes.palette import Palette
from oi_tui.widgets.composer import PromptArea, as_prompt
from oi_tui.widgets.timeline.logical import logical_text, output_text
from oi_tui.widgets.timeline.view import Wish

_DECIDED = ("ok", "error", "interrupted", "died")
"""States of code that ran: every byte of it was decided about."""


class BlockActions:
    """Does what is wanted of blocks."""

    def __init__(self, place: Widget, bridge: Bridge, *, editor: str) -> None:
        self._place = place
        self._bridge = bridge
        self._editor = editor
        self.palette: Palette | None = None
        """Colours of what is opened from here."""

    async def do(self, wish: Wish, block: Block) -> None:
        """Do it, or say why it cannot be done."""
        match wish:
            case "copy":
                await self.copy(logical_text(block))
            case "copy_output":
                await self.copy(output_text(block))
            case "copy_markdown":
                await self.copy(as_markdown(block))
            case "reuse":
                self._reuse(block)
            case "rerun" | "edit_rerun":
                self._run_again(block, edited=wish == "edit_rerun")
            case _:
                pass

    async def copy(self, text: str, what: str = "") -> None:
        """Into the clipboard, and say how much it was."""
        if not text:
            self._tell("There is nothing to copy.")
            return
        trouble = await copy(self._place.app, text)
        lines = text.count("\n") + 1
        self._tell(what or f"Copied {lines:,} {'line' if lines == 1 else 'lines'}.")
        if trouble:
            self._tell(f"The desktop's clipboard: {trouble}", warning=True)

    async def open_link(self, href: str) -> None:
        """A link of a model is not opened, only copied: where it leads is for the person to judge."""
        await self.copy(href, f"Link copied: {safe_text(href)}")

    # -- code --------------------------------------------------------------------------------------------------

    def _run_again(self, block: Block, *, edited: bool) -> None:
        if not isinstance(block, CodeBlock) or not block.source.strip():
            self._tell("There is no code in this block.")
        elif edited or block.state not in _DECIDED or visible_text(block.source).hidden:
            assert self.palette is not None
            screen = RunAgainScreen(block.source, block.language, self.palette)
            self._place.app.push_screen(screen, lambda source: self._run(block.language, source))
        else:
            self._run(block.language, block.source)

    def _run(self, language: str, source: str | None) -> None:
        if source is not None:
            self._bridge.send(Run(language=language, source=source))

    def _reuse(self, block: Block) -> None:
        area = self._place.screen.query_one(PromptArea)
        area.fill(as_prompt(logical_text(block)))
        area.focus()

    def _tell(self, text: str, *, warning: bool = False) -> None:
        self._place.app.notify(text, severity="warning" if warning else "information", timeout=3, markup=False)
