"""A look at a stored session before it is opened: its beginning, drawn as the timeline would."""

from textual.app import ComposeResult
from textual.containers import Vertical

from oi_tui.app.engine.core.library_replies import SessionSeen
from oi_tui.app.engine.core.session_records import SessionRecord
from oi_tui.app.engine.text.words import one_line, quantity
from oi_tui.widgets.keyrow import key_hint
from oi_tui.widgets.lettering import Words, lettering
from oi_tui.widgets.sessions.row_view import UNTITLED, count, folder_text, short_model
from oi_tui.widgets.sessions.session_rows import SessionRows
from oi_tui.widgets.timeline.view import Timeline


class Preview(Vertical):
    """Head, blocks, and how many more there are. It takes no keys: the list keeps them."""

    DEFAULT_CSS = """
    Preview {
        width: 1fr; height: 1fr; background: $background;
        & > #preview-head {
            height: 2; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: ellipsis;
        }
        & > #preview-words { height: 1fr; padding: 1 2; color: $dim; }
        & > #preview-blocks { margin-top: 1; }
        & > #preview-more {
            height: 1; padding: 0 1; color: $dim; background: $surface; text-wrap: nowrap; text-overflow: ellipsis;
        }
    }
    """

    def __init__(self, timeline: Timeline, *, home: str = "", id: str | None = None) -> None:
        super().__init__(id=id)
        self._home = home
        self.timeline = timeline
        timeline.can_focus = False
        self.session_id = ""
        """Whose beginning is wanted."""

    def compose(self) -> ComposeResult:
        """From the top down."""
        yield Words(id="preview-head")
        yield Words(id="preview-words")
        yield self.timeline
        yield Words(id="preview-more")

    def expect(self, record: SessionRecord) -> None:
        """This session was requested; the preview of another one goes."""
        self._show_head(record)
        if record.id == self.session_id:
            return
        self.session_id = record.id
        self.timeline.reset(())
        self._say("Reading…")
        self.query_one("#preview-more", Words).display = False

    def show(self, seen: SessionSeen) -> None:
        """Its blocks, from the first one, if it is still the one that is wanted."""
        if seen.session.id != self.session_id:
            return
        self._show_head(seen.session)
        self.timeline.reset(seen.blocks)
        self.timeline.action_go("start")
        self._say("" if seen.blocks else "Nothing was asked in it.")
        rest = seen.count - len(seen.blocks)
        more = self.query_one("#preview-more", Words)
        more.display = rest > 0
        opens = key_hint(self, ("sessions.open", "opens it"), owner=SessionRows)
        opens = opens and f" · {opens}"
        more.update(f"… {quantity(rest, 'more block')}{opens}")

    def scroll_half(self, step: int) -> None:
        """Half a page down or up."""
        self.timeline.action_go("half", step)

    def on_timeline_action_requested(self, event: Timeline.ActionRequested) -> None:
        """Nothing is done with blocks here."""
        event.stop()

    def on_timeline_link_clicked(self, event: Timeline.LinkClicked) -> None:
        event.stop()

    def _say(self, words: str) -> None:
        line = self.query_one("#preview-words", Words)
        line.display = bool(words)
        line.update(words)
        self.timeline.display = not words

    def _show_head(self, record: SessionRecord) -> None:
        tokens = record.input_tokens + record.output_tokens
        facts = [
            folder_text(record.cwd, self._home),
            short_model(record.model),
            f"{count(tokens)} tokens" if tokens else "",
            *(f"#{one_line(tag)}" for tag in record.tags),
        ]
        self.query_one("#preview-head", Words).update(
            lettering((one_line(record.title) or UNTITLED, "bold"), "\n", (" · ".join(filter(None, facts)), "$dim"))
        )
