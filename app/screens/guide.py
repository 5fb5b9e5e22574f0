"""The guide on the screen: first the keys of the place that it was opened from, then its pages, one under the other."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList

from oi_tui.app.engine.core.blocks import ProseBlock
from oi_tui.app.guide.pages import guide_pages
from oi_tui.themes.palette import Palette
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyRow, joint_label, key_labels
from oi_tui.widgets.lettering import Options, Words
from oi_tui.widgets.timeline.view import Timeline

HERE = "here"
"""The topic of the first page, which is made when the guide is opened."""

ROOMY = 64
"""Columns from which on the topics are beside the pages."""


class GuideScreen(ModalScreen[None]):
    """Pages to read and to search: what is typed is looked for in all of them. Escape ends the search, then leaves."""

    CSS_PATH = "guide.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("tab", "topic(1)", "Next topic", id="guide.next_topic", priority=True, label="next topic", short="topic"),
        Binding("shift+tab", "topic(-1)", "Previous topic", id="guide.topic_before", priority=True),
        Hint("enter", "find", "Next match", id="guide.next_match", priority=True, label="next match", short="match"),
        Hint("escape,f1", "step_back", "End the search, or leave", id="guide.back", priority=True, label="back"),
        Binding("up", "go('row', -1)", "A row up", id="guide.up", priority=True),
        Binding("down", "go('row', 1)", "A row down", id="guide.down", priority=True),
        Binding("pageup", "go('page', -1)", "A page up", id="guide.page_up", priority=True),
        Binding("pagedown", "go('page', 1)", "A page down", id="guide.page_down", priority=True),
        Binding("ctrl+home", "go('start')", "Start", id="guide.start", priority=True),
        Binding("ctrl+end", "go('end')", "End", id="guide.end", priority=True),
    ]

    def __init__(self, keys: str, palette: Palette) -> None:
        """`keys` is the first page, those of the place that one comes from."""
        super().__init__()
        self._texts = {HERE: keys} | {page.topic: page.text for page in guide_pages()}
        self._shown = list(self._texts)
        """Topics in the list: all, or those with what is looked for."""
        self._jumped = True
        """Whether the topic is the one that was gone to, and not the one at the upper edge."""
        self._timeline = Timeline(palette=palette, id="guide-pages")
        self._timeline.can_focus = False

    def compose(self) -> ComposeResult:
        """The line to search in, topics beside the pages, the keys."""
        with Horizontal(id="guide-head"):
            yield Words("Guide", id="guide-title")
            yield Field(id="guide-words", placeholder="type to search")
            yield Words(id="guide-matches")
        with Horizontal(id="guide-body"):
            yield Options(*self._shown, id="guide-topics", compact=True)
            yield self._timeline
        yield KeyRow(id="guide-keys")

    def on_mount(self) -> None:
        """From the first page on."""
        self.query_one(Options).can_focus = False
        self.query_one(Input).focus()
        self.query_one(KeyRow).labels = (
            joint_label(self, "scroll", "guide.up", "guide.down", "guide.page_up", "guide.page_down"),
            *key_labels(self, "tab", "enter", "esc"),
        )
        self._timeline.reset([ProseBlock(id=topic, text=text, state="complete") for topic, text in self._texts.items()])
        self.watch(self._timeline, "matches", lambda matches: self.query_one("#guide-matches", Words).update(matches))
        for place in ("cursor", "top_block"):
            self.watch(self._timeline, place, self._mark_topic)
        self._open_topic(HERE)

    def on_resize(self, event: events.Resize) -> None:
        """Without room for both, there are only the pages."""
        self.set_class(event.size.width < ROOMY, "-narrow")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for it in all pages; topics without it leave the list, those called so come first."""
        event.stop()
        wanted = event.value.lower()
        found = [topic for topic, text in self._texts.items() if wanted in text.lower()]
        self._shown = sorted(found, key=lambda topic: wanted not in topic) if wanted else found
        topics = self.query_one(Options)
        topics.clear_options()
        topics.add_options(self._shown)
        self._timeline.search(event.value)
        if wanted and self._shown:
            self._open_topic(self._shown[0])
            self._timeline.call_after_refresh(self._find_first, event.value)
        self._mark_topic()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click on a topic."""
        event.stop()
        self._open_topic(self._shown[event.option_index])

    def on_timeline_action_requested(self, event: Timeline.ActionRequested) -> None:
        """Pages are only read: no action applies."""
        event.stop()

    # -- actions -------------------------------------------------------------------------------------------------

    def action_topic(self, step: int) -> None:
        """The next topic of the list, or the one before; around its ends."""
        if self._shown:
            at = self._shown.index(self._topic) if self._topic in self._shown else -step
            self._open_topic(self._shown[(at + step) % len(self._shown)])

    def action_go(self, way: str, step: int = 1) -> None:
        """Another part of the pages."""
        match way:
            case "row" | "page" | "start" | "end":
                self._jumped = False
                self._timeline.action_go(way, step)

    def action_find(self) -> None:
        """Go to the next match, in this page or a later one."""
        if self.query_one(Input).value:
            self._jumped = True
            self._timeline.action_find(1)

    def action_step_back(self) -> None:
        """End the search; without one, leave."""
        field = self.query_one(Input)
        if field.value:
            field.value = ""
        else:
            self.dismiss()

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _topic(self) -> str:
        index = self._timeline.cursor if self._jumped else self._timeline.top_block
        return list(self._texts)[min(index or 0, len(self._texts) - 1)]

    def _open_topic(self, topic: str) -> None:
        self._jumped = True
        self._timeline.show_block(topic, at_top=True)
        self._mark_topic()

    def _find_first(self, words: str) -> None:
        """Go to the first match, unless more was typed meanwhile."""
        if self.query_one(Input).value == words:
            self._timeline.action_find(1)

    def _mark_topic(self) -> None:
        topic, topics = self._topic, self.query_one(Options)
        topics.highlighted = self._shown.index(topic) if topic in self._shown else None
        title = f"Guide · {topic}" if self.has_class("-narrow") else "Guide"
        self.query_one("#guide-title", Words).update(title)
