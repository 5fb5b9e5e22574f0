"""The panel of sessions on the chat screen: what is wanted there becomes verbs, and what the engine says, rows."""

from collections.abc import Callable
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from oi_tui.app.engine.core.blocks import UserBlock
from oi_tui.app.engine.core.library_replies import SessionEdited, SessionExported, SessionSeen, SessionsFound
from oi_tui.app.engine.core.library_verbs import EditSession, FindSessions, PreviewSession
from oi_tui.app.engine.core.protocol import AboutSessions, Failed
from oi_tui.app.engine.core.session_records import TITLE_LIMIT, SessionRecord
from oi_tui.app.engine.core.verbs import Fork, Open
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.branching import last_place, may_leave
from oi_tui.app.screens.line_ask import LineAskScreen
from oi_tui.app.screens.session_changes import SessionChanges
from oi_tui.app.screens.session_export import SHIPPED, ask_to_export
from oi_tui.app.screens.timeline_pane import TimelinePane
from oi_tui.widgets.sessions.panel import Panel
from oi_tui.widgets.sessions.preview import Preview
from oi_tui.widgets.sessions.session_rows import SessionRows

LOOKING = "-look"
"""Class of the screen while a session is previewed instead of the timeline."""

_IS_OPEN = "This session is open. Open another one first."


class SessionsPanel(Vertical):
    """Closed at first. The engine is asked whenever the panel gets the keys."""

    DEFAULT_CSS = """
    SessionsPanel {
        height: 1fr;
        & > Panel { width: 1fr; }
    }
    """

    def __init__(self, bridge: Bridge, preview: Preview, pane: TimelinePane, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._bridge = bridge
        self._preview = preview
        self._pane = pane
        self._panel = Panel(home=str(Path.home()))
        self._changes = SessionChanges(bridge.send)
        self.formats = SHIPPED
        """In which sessions can be written."""
        self.display = False

    def compose(self) -> ComposeResult:
        """What is seen of it."""
        yield self._panel

    # -- what the screen calls ---------------------------------------------------------------------------

    def toggle(self) -> None:
        """Open it and go there; when one is in it, put it away."""
        if self.display and self.has_focus_within:
            self.close()
            return
        self.display = True
        self.follow()
        self._bridge.send(FindSessions(archived=self._panel.shows_archive))
        self._panel.begin()

    def close(self) -> None:
        """Put it away; who was in it goes back to the prompt."""
        was_in = self.has_focus_within
        self._vanish()
        if was_in:
            self.screen.query_one(Bottom).focus_shown()

    def follow(self) -> None:
        """The session that is open, and its folder."""
        transcript = self._bridge.transcript
        self._panel.set_place(here=transcript.cwd, current=transcript.session_id)

    def export_open(self, typed: str) -> None:
        """Write the session that is open to a file; `typed` is the format, or the beginning of one."""
        transcript = self._bridge.transcript
        wanted = next((one for one in self.formats if typed and one.name.startswith(typed.lstrip("."))), None)
        title = next((block.text for block in transcript.blocks if isinstance(block, UserBlock)), "session")
        work = ask_to_export(self, self._bridge, transcript.session_id, title, formats=self.formats, wanted=wanted)
        self.run_worker(work, group="export", exclusive=True)

    def take(self, reply: AboutSessions) -> None:
        """Handle a reply of the engine."""
        match reply:
            case SessionsFound():
                self.follow()
                self._panel.show(reply)
            case SessionSeen():
                self._preview.show(reply)
            case SessionEdited() if not self._panel.is_mounted:
                pass  # a title that the model gave; the list is asked for when the panel is opened
            case SessionEdited():
                self._panel.put(reply.session)
                if words := self._changes.settle(reply.session):
                    self._panel.say(words)
            case SessionExported():
                self.app.notify(f"Written: {reply.path}", timeout=4)
            case Failed():
                self._show_failure(reply)

    def _show_failure(self, reply: Failed) -> None:
        """The timeline shows it; this pane too, if it may be about one of its own requests."""
        if self.display and (self._changes.waiting or self._panel.waiting):
            self._changes.give_up()
            self._panel.give_up()
            self._panel.say(f"✗ {reply.title} {reply.hint}".rstrip(), wrong=True)

    # -- messages ----------------------------------------------------------------------------------------------

    def on_panel_close_requested(self, event: Panel.CloseRequested) -> None:
        """Back to what one did before."""
        event.stop()
        self.close()

    def on_panel_searched(self, event: Panel.Searched) -> None:
        """What do texts contain?"""
        event.stop()
        self._bridge.send(FindSessions(query=event.query, archived=event.archived))

    @on(Panel.Listed)
    @on(SessionRows.CursorMoved)
    def _follow_cursor(self, event: Panel.Listed | SessionRows.CursorMoved) -> None:
        """What is looked at is what is under the cursor."""
        event.stop()
        if self._panel.looking:
            self._look(self._panel.record)

    def on_session_rows_look_scrolled(self, event: SessionRows.LookScrolled) -> None:
        """Half a page of it."""
        event.stop()
        self._preview.scroll_half(event.step)

    def on_panel_action_requested(self, event: Panel.ActionRequested) -> None:
        """Run an action; one that asks first must not block messages."""
        event.stop()
        self.run_worker(self._do(event), group="sessions", exclusive=False)

    async def _do(self, wanted: Panel.ActionRequested) -> None:
        if self.app.screen is not self.screen:
            return  # a key that was pressed twice, before what it brings up was there
        record = wanted.record
        match wanted.wish:
            case "undo":
                if not self._changes.undo_last():
                    self._panel.say("There is nothing to undo.")
            case "new":
                await self._leave_for(Open(), self._arrive)
            case _ if record is None:
                pass
            case "open":
                await self._open(record, wanted.block_id, wanted.needle)
            case "fork":
                await self._fork(record, wanted.block_id)
            case "look" if self._panel.looking:
                self._look_no_more()
            case "look":
                self._look(record)
            case "rename":
                await self._rename(record)
            case "tag":
                await self._tag(record)
            case "archive" | "delete" | "export":
                await self._change_session(wanted.wish, record)
            case _:
                pass  # the panel does these itself

    # -- opening -----------------------------------------------------------------------------------------------

    async def _open(self, record: SessionRecord, block_id: str, needle: str) -> None:
        if record.id == self._bridge.transcript.session_id:
            self._arrive(block_id, needle)
        else:
            await self._leave_for(Open(session_id=record.id), lambda: self._arrive(block_id, needle))

    async def _fork(self, record: SessionRecord, block_id: str) -> None:
        """Fork another session after opening it: only then is it known what is shared."""
        if record.id == self._bridge.transcript.session_id:
            if place := last_place(self._bridge.transcript.blocks, block_id):
                await self._leave_for(Fork(block_id=place), self._arrive)
            else:
                self._panel.say("There is nothing to fork yet.")
        else:
            await self._leave_for(Open(session_id=record.id), lambda: self._fork_from_opened(block_id))

    def _fork_from_opened(self, block_id: str) -> None:
        if place := last_place(self._bridge.transcript.blocks, block_id):
            self._bridge.switch(Fork(block_id=place), self._arrive)
        else:
            self._arrive()

    async def _leave_for(self, verb: Open | Fork, then: Callable[[], None]) -> None:
        if await may_leave(self, self._bridge):
            self._bridge.switch(verb, then)

    def _arrive(self, block_id: str = "", needle: str = "") -> None:
        """Focus the prompt of the open session and go to the place that was found; the panel stays if it covers
        nothing."""
        self._look_no_more()
        self.follow()
        if self.screen.has_class("-narrow"):
            self._vanish()
        else:
            self._bridge.send(FindSessions(archived=self._panel.shows_archive))
        self.screen.query_one(Bottom).focus_shown()
        if block_id:
            self._pane.show_match(block_id, needle)

    def _vanish(self) -> None:
        self._look_no_more()
        self._panel.forget()
        self.display = False

    # -- looking -----------------------------------------------------------------------------------------------

    def _look(self, record: SessionRecord | None) -> None:
        self._panel.looking = True
        self.screen.add_class(LOOKING)
        if record is not None and record.id != self._preview.session_id:
            self._preview.expect(record)
            self._bridge.send(PreviewSession(session_id=record.id))

    def _look_no_more(self) -> None:
        self._panel.looking = False
        self._preview.session_id = ""  # it may have grown when it is looked at again
        self.screen.remove_class(LOOKING)

    # -- changing ----------------------------------------------------------------------------------------------

    async def _rename(self, record: SessionRecord) -> None:
        title = await self.app.push_screen_wait(LineAskScreen("Title", record.title, limit=TITLE_LIMIT))
        if title and title != record.title:
            edit = EditSession(session_id=record.id, title=title)
            self._changes.ask(edit, EditSession(session_id=record.id, title=record.title), "Renamed")

    async def _tag(self, record: SessionRecord) -> None:
        screen = LineAskScreen("Tags", " ".join(record.tags), hint="Words; the filter finds them by #word.")
        typed = await self.app.push_screen_wait(screen)
        if typed is None:
            return
        tags = tuple(sorted({word.strip("#,") for word in typed.split()} - {""}))
        if tags != record.tags:
            edit = EditSession(session_id=record.id, tags=tags)
            self._changes.ask(edit, EditSession(session_id=record.id, tags=record.tags), "Tags changed")

    async def _change_session(self, wish: str, record: SessionRecord) -> None:
        name = f"“{one_line(record.title)[:40]}”"
        if wish == "export":
            await ask_to_export(self, self._bridge, record.id, record.title, formats=self.formats)
        elif wish == "archive":
            edit = EditSession(session_id=record.id, archived=not record.archived)
            undo = EditSession(session_id=record.id, archived=record.archived)
            self._changes.ask(
                edit, undo, f"{name} {'was unarchived' if record.archived else 'was archived: A shows it'}"
            )
        elif record.id == self._bridge.transcript.session_id:
            self._panel.say(_IS_OPEN)
        else:
            edit = EditSession(session_id=record.id, deleted=True)
            self._changes.ask(edit, EditSession(session_id=record.id, deleted=False), f"{name} was deleted")
