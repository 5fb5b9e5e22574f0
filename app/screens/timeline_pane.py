"""The timeline with what belongs to it: the line to search in it, and what is done with its blocks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.app.engine.core.kernel_looks import FrameSeen, WidgetsFound
from oi_tui.app.engine.core.protocol import ContextFound
from oi_tui.app.engine.core.tool_replies import ChangesFound
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.open_screen import is_open
from oi_tui.themes.palette import Palette
from oi_tui.widgets.arming import Clock
from oi_tui.widgets.keyrow import key_hint, key_in_use
from oi_tui.widgets.search_bar import SearchBar
from oi_tui.widgets.timeline.graphics import IN_CELLS, Graphics
from oi_tui.widgets.timeline.logical import shown_widgets
from oi_tui.widgets.timeline.row_pieces import BlockKeys
from oi_tui.widgets.timeline.table_data import TableData
from oi_tui.widgets.timeline.view import Timeline

if TYPE_CHECKING:  # the viewer and all that it shows: loaded for the first block that something is done with
    from oi_tui.app.screens.block_actions import BlockActions


class TimelinePane(Vertical):
    """The upper part of the chat screen."""

    DEFAULT_CSS = """
    TimelinePane { height: 1fr; min-height: 1; align-vertical: bottom; }
    TimelinePane > SearchBar { display: none; }
    """

    def __init__(self, timeline: Timeline, bridge: Bridge, *, editor: str, clock: Clock, id: str | None = None) -> None:
        super().__init__(id=id)
        self.timeline = timeline
        self.search = SearchBar()
        self._bridge = bridge
        self._editor, self._clock = editor, clock
        self._palette: Palette | None = None
        self._graphics = IN_CELLS
        self._made_actions: BlockActions | None = None
        self._anchored = False

    def compose(self) -> ComposeResult:
        """The line to search in, below what is searched."""
        yield self.timeline
        yield self.search

    def on_mount(self) -> None:
        """The line tells what the search knows."""

        def tell_matches(matches: str) -> None:
            self.search.matches = matches

        self.renew()
        self.watch(self.timeline, "matches", tell_matches)
        self.watch(self.timeline, "extent", self._place)

    def renew(self) -> None:
        """The keys changed: rows of blocks name some."""
        keys = {name: key_in_use(self.timeline, f"timeline.{name}") for name in BlockKeys._fields}
        self.timeline.set_look(keys=BlockKeys(**keys))

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self._palette = palette
        self.timeline.set_look(palette=palette)
        if self._made_actions is not None:
            self._made_actions.palette = palette

    def set_graphics(self, graphics: Graphics) -> None:
        """Another way to show pictures."""
        self._graphics = graphics
        self.timeline.set_look(graphics=graphics)
        if self._made_actions is not None:
            self._made_actions.graphics = graphics

    @property
    def _actions(self) -> "BlockActions":
        """What is done with blocks, in the look of the timeline."""
        if self._made_actions is None:
            from oi_tui.app.screens.block_actions import BlockActions  # most sessions begin and end without

            self._made_actions = BlockActions(self, self._bridge, editor=self._editor, clock=self._clock)
            self._made_actions.palette, self._made_actions.graphics = self._palette, self._graphics
        return self._made_actions

    def reset(self, blocks: Sequence[Block]) -> bool:
        """Show these blocks; a search in others is over. Returns whether what the keys act on is still there."""
        self.search.display = False
        self._anchored = self._anchored and bool(blocks)
        kept = self.timeline.reset(blocks) and self.timeline.has_focus
        self._place()
        return kept

    @property
    def hint(self) -> str:
        """The keys for the block at the cursor."""
        blocks, cursor = self._bridge.transcript.blocks, self.timeline.cursor
        runs = cursor is not None and cursor < len(blocks) and isinstance(blocks[cursor], Action)
        again = ("timeline.run_again", "run again") if runs else ("timeline.ask_again", "ask again")
        keys = [("timeline.copy", "copy"), ("timeline.view", "view"), again, ("timeline.search", "search")]
        if runs and shown_widgets(blocks[cursor or 0]):
            keys.insert(0, ("timeline.widgets", "operate"))
        return key_hint(self.timeline, *keys, ("focus", "back"))

    def anchor_to_bottom(self) -> None:
        """Put blocks that do not fill the room at its lower edge, next to the question about them."""
        self._anchored = True
        self._place()

    def on_resize(self) -> None:
        """Other rooms are filled by other sessions."""
        self._place()

    def show_match(self, block_id: str, needle: str) -> None:
        """Go to a match of another search, and mark it; n and N continue from there."""
        self.search.display = bool(needle)
        self.search.fill(needle)
        self.timeline.search(needle)
        self.timeline.show_block(block_id)

    def step_back(self) -> bool:
        """End the search; False if there is none."""
        if not self.search.display:
            return False
        self.search.display = False
        self.timeline.search("")
        self.timeline.focus()
        return True

    def show_table(self, title: str, table: TableData, language: str) -> None:
        """A table that is in no block, on the whole screen."""
        from oi_tui.app.screens.viewer import TableContent  # as above

        self._actions.show(TableContent(title, table), language)

    def take(self, found: FrameSeen | WidgetsFound) -> None:
        """Rows of the table that is open, or what can be operated in the widgets that are."""
        actions = self._made_actions
        if actions is None:
            return  # nobody looks
        if isinstance(found, FrameSeen):
            if actions.frame is not None:
                actions.frame.take(found)
        elif actions.widgets is not None and is_open(actions.widgets):
            actions.widgets.take(found)

    def show_found(self, found: ContextFound | ChangesFound) -> None:
        """What takes the room in the model's context; what was changed in files, or what undo would do."""
        if isinstance(found, ContextFound):
            self._actions.context.show(found.context)
        else:
            from oi_tui.app.screens.undo_screen import show_changes  # as above

            show_changes(self.app, found, self._bridge, self._palette)

    def rebuild(self) -> None:
        """Let the person choose runs to repeat."""
        self._actions.rebuild()

    def on_click(self) -> None:
        """A click here leaves the panel beside it; letters then go to the prompt, or to the question."""
        if not self.timeline.has_focus:
            self.screen.query_one(Bottom).focus_shown()

    # -- messages of the timeline ------------------------------------------------------------------------------

    def on_timeline_action_requested(self, event: Timeline.ActionRequested) -> None:
        """Run an action on a block; the timeline stays responsive."""
        event.stop()
        self.run_worker(self._actions.do(event.wish, event.block), group="block", exclusive=False)

    def on_timeline_link_clicked(self, event: Timeline.LinkClicked) -> None:
        """A link of a model."""
        event.stop()
        self.run_worker(self._actions.open_link(event.href), group="block", exclusive=False)

    def on_timeline_search_wanted(self) -> None:
        """What to look for?"""
        self.search.display = True
        self.search.begin()

    # -- messages of the line ------------------------------------------------------------------------------------

    def on_search_bar_changed(self, event: SearchBar.Changed) -> None:
        """Mark while it is typed."""
        event.stop()
        self.timeline.search(event.needle)

    def on_search_bar_accepted(self, event: SearchBar.Accepted) -> None:
        """Go to the first match; n and N continue from there."""
        event.stop()
        if not self.timeline.matches:
            self.timeline.search(event.needle)
        self.timeline.focus()
        self.timeline.action_find(-1)

    def on_search_bar_left(self, event: SearchBar.Left) -> None:
        event.stop()
        self.step_back()

    def _place(self) -> None:
        rows = self.timeline.extent
        self.timeline.styles.height = rows if self._anchored and 0 < rows < self.size.height else "1fr"
