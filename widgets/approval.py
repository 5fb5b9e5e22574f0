"""The question before code runs: what exactly, why, and the keys that answer it.

Only a key on this panel (or a click on a key's label) decides, and only while it is armed and the end of the
source has been on the screen. Enter decides nothing here, ever. What is shown is made of the very string
that is sent back with the decision.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key, Resize
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.text.safe import collapse_blanks, visible_text
from oi_tui.themes.palette import Palette
from oi_tui.widgets.approval_view import ApprovalStage, ApprovalView, changed_lines
from oi_tui.widgets.arming import LOOK_INTERVAL, Arming
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.timeline.source_view import SourceView

_LETTERS = frozenset("yeainrsvjk? ")
"""What means something here; any other letter is a part of something else."""

_SCROLL_KEYS = frozenset({"up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "ctrl+up"})


class ApprovalPanel(Widget, can_focus=True):
    """Asks about one `DecisionRequested` and posts one `Decided`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y", "decide('run')", "Run it once", id="approval.run", label="run"),
        Hint("e", "enter('editing')", "Edit it before it runs", id="approval.edit", label="edit"),
        Hint(
            "a",
            "decide('always')",
            "Run it, and this exact source again without asking",
            id="approval.always",
            label="always this code",
            short="always",
        ),
        Hint(
            "i",
            "decide('install')",
            "Let an installation write and ask its index, once",
            id="approval.install",
            label="install once",
            short="install",
        ),
        Hint("n", "decide('skip')", "Refuse", id="approval.refuse", label="no"),
        Hint(
            "r",
            "enter('reason')",
            "Refuse with a reason; the model is told and goes on",
            id="approval.reason",
            label="no, because…",
            short="because",
        ),
        Hint("s", "decide('stop')", "Stop the turn", id="approval.stop", label="stop"),
        Hint("v", "toggle_full", "Full screen and back", id="approval.full", label="full screen", short="full"),
        Hint("question_mark", "toggle_why", "Why am I asked?", id="approval.why", key_display="?", label="why"),
        Binding("up,k", "scroll_source(-1)", "Scroll the source up", id="approval.up"),
        Binding("down,j", "scroll_source(1)", "Scroll the source down", id="approval.down"),
        Binding("pageup", "scroll_source(0, -1)", "A page up", id="approval.page_up"),
        Binding("pagedown,space", "scroll_source(0, 1)", "A page down", id="approval.page_down"),
        Binding("home", "scroll_source(-1000000)", "The beginning", id="approval.home"),
        Binding("end", "scroll_source(1000000)", "The end", id="approval.end"),
    ]

    DEFAULT_CSS = """
    ApprovalPanel {
        height: auto;
        background: $surface;
        & > #approval-title { height: 1; color: $accent; background: $background; }
        & > #approval-note { height: auto; padding: 0 1; color: $dim; }
        & > #approval-more { height: 1; padding: 0 1; color: $warning; }
        & > #approval-reason {
            height: 1; border: none; padding: 0 1; background: $surface-focus;
            &:focus { border: none; background: $surface-focus; }
        }
    }
    """

    full: reactive[bool] = reactive(False)

    @dataclass
    class Decided(Message):
        """The person answered; `source` is exactly what was shown."""

        request_id: str
        verdict: Verdict
        source: str
        reason: str = ""
        install: bool = False

    @dataclass
    class FullToggled(Message):
        """Wants the whole screen, or no longer."""

        full: bool

    def __init__(self, *, arming: Arming, id: str | None = None) -> None:
        super().__init__(id=id)
        self.arming = arming
        """Told of every key of the program by whoever made it."""
        self.request: DecisionRequested | None = None
        """What is asked now; None once it was answered."""
        self.asked_id = ""
        """Id of the last question that was put: none is put twice."""
        self.source = ""
        self.stage: ApprovalStage = "question"
        self.armed = False
        """Whether the keys were last shown as ready."""
        self._why = False
        self._limit = 12

    def compose(self) -> ComposeResult:
        """Title, note, the source (or its editor), what is below, and the keys."""
        yield Words(id="approval-title")
        yield Words(id="approval-note")
        yield SourceView(id="approval-source")
        yield SourceEditor(id="approval-editor")
        yield Words(id="approval-more")
        yield Field(id="approval-reason", placeholder="What should the model do instead?")
        yield KeyRow(id="approval-keys")

    def on_mount(self) -> None:
        """While it is shown, look now and then whether the question is armed."""
        self._looking = self.set_interval(LOOK_INTERVAL, self.show_arming, pause=True)

        def note_app_focus(focused: bool) -> None:
            if focused:  # the click that brings the window back is not an answer
                self.arming.show()
                self.show_arming()

        self.watch(self.app, "app_focus", note_app_focus, init=False)

    # -- what the screen calls ---------------------------------------------------------------------------

    def ask(self, request: DecisionRequested) -> None:
        self.request, self.asked_id = request, request.request_id
        self.source = request.source
        self._why = False
        self.full = False
        self.query_one(Input).value = ""
        self._show_source()
        self._enter("question")

    def fit(self, height: int) -> None:
        """Use at most this many rows."""
        self._limit = max(4, height)
        self._refresh()

    def focus_stage(self) -> None:
        """Give the keys to what is going on: the question, the editor, or the reason."""
        widgets: dict[ApprovalStage, Widget] = {
            "question": self,
            "editing": self.query_one(SourceEditor),
            "reason": self.query_one(Input),
        }
        widgets[self.stage].focus()

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self.query_one(SourceView).set_palette(palette)
        self.query_one(SourceEditor).set_palette(palette)

    # -- actions --------------------------------------------------------------------------------------

    def action_decide(self, verdict: Verdict | Literal["install"]) -> None:
        """Answer, if answers count now; `install` runs it as it was offered, where it was and nothing was changed."""
        runs = verdict in ("run", "always", "install")
        if not self._may_answer() or (runs and not self.query_one(SourceView).end_seen):
            return
        request = self.request
        assert request is not None
        same = self.source == request.source
        if verdict == "install":
            if request.offer and same:
                self._answer("run", install=True)
            return
        self._answer("edit" if verdict == "run" and not same else verdict)

    def action_enter(self, stage: ApprovalStage) -> None:
        """Change the source first, or refuse and say why."""
        if self._may_answer():
            self._enter(stage)

    def action_toggle_full(self) -> None:
        """The whole screen for long sources."""
        if self._may_answer():
            self.full = not self.full
            self.post_message(self.FullToggled(self.full))

    def action_toggle_why(self) -> None:
        """Explain the question and its answers."""
        self._why = not self._why
        self._refresh()

    def action_scroll_source(self, rows: int, pages: int = 0) -> None:
        """Move the source, not the transcript; a page is what is visible of it."""
        view = self.query_one(SourceView)
        distance = rows + pages * max(1, view.size.height - 1)
        view.scroll_relative(y=distance, animate=False, immediate=True)

    # -- events -----------------------------------------------------------------------------------------

    def on_key(self, event: Key) -> None:
        """Keys that were on their way when the question came are dropped."""
        if self.stage != "question" or event.key in _SCROLL_KEYS:
            return
        self.arming.look()
        if self.arming.is_armed and event.is_printable and event.character not in _LETTERS:
            self.arming.show()  # somebody is writing a sentence: its next letter must not decide
        if not self.arming.is_armed and event.key != "escape":
            event.stop()
            event.prevent_default()

    def on_show(self) -> None:
        self._looking.resume()

    def on_hide(self) -> None:
        """An idle program does not wake up ten times a second."""
        self._looking.pause()

    def on_source_editor_finished(self, event: SourceEditor.Finished) -> None:
        """Back to the question, about the source as it is now."""
        event.stop()
        if event.source is not None:
            self.source = event.source
            self._show_source()
        self._enter("question")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A refusal with words; Enter here can only refuse."""
        event.stop()
        if self.stage == "reason" and event.value.strip():
            self._answer("skip", event.value.strip())

    def step_back(self) -> bool:
        """One level back inside the panel; False if it is at its first level, or asks nothing."""
        if self.request is None:
            return False
        if self.stage != "question":
            self._enter("question")
            return True
        if self.full:
            self.full = False
            self.post_message(self.FullToggled(False))
            return True
        return False

    # -- inside --------------------------------------------------------------------------------------------

    def _may_answer(self) -> bool:
        self.arming.look()
        return self.request is not None and self.stage == "question" and self.arming.is_armed

    def _answer(self, verdict: Verdict, reason: str = "", *, install: bool = False) -> None:
        request, self.request = self.request, None
        if request is not None:
            self.post_message(self.Decided(request.request_id, verdict, self.source, reason, install))

    def show_arming(self) -> None:
        """Bring the keys up to date."""
        self.arming.look()
        if self.request is not None and self.armed != self.arming.is_armed:
            self.armed = self.arming.is_armed
            self._refresh()

    def _enter(self, stage: ApprovalStage) -> None:
        self.stage = stage
        self.query_one(SourceView).display = stage != "editing"
        self.query_one(SourceEditor).display = stage == "editing"
        reason = self.query_one(Input)
        reason.display = stage == "reason"
        match stage:
            case "reason":
                reason.focus()
            case "question":
                self.arming.show()
                self.call_after_refresh(self.arming.show)  # it is seen only then
                self.armed = False
                self.focus()
            case "editing":
                assert self.request is not None
                self.query_one(SourceEditor).begin(self.source, self.request.written_in)
        self._refresh()

    def _show_source(self) -> None:
        assert self.request is not None
        visible = visible_text(self.source)
        self.query_one(SourceView).show(
            collapse_blanks(visible.text), self.request.written_in, changed_lines(self.request.source, self.source)
        )

    @on(Resize)
    @on(SourceView.Viewed)
    def _refresh(self) -> None:
        """Say everything anew: another width may need more rows, another part of the source is visible."""
        if self.request is None:
            return
        view = self.query_one(SourceView)
        face = ApprovalView(
            request=self.request,
            source=self.source,
            stage=self.stage,
            armed=self.armed,
            end_seen=view.end_seen,
            below=view.rows_below,
            full=self.full,
            why=self._why,
        )
        self.query_one("#approval-title", Words).update(face.title(self.size.width))
        note = face.note()
        note_line = self.query_one("#approval-note", Words)
        note_line.display = bool(note.plain)
        note_line.update(note)
        more = self.query_one("#approval-more", Words)
        more.display = self.stage == "question" and face.below > 0
        more.update(face.more())
        match self.stage:
            case "editing":
                labels = key_labels(self.query_one(SourceEditor))
            case "reason":  # Enter is pressed, not clicked
                refuse = KeyLabel("enter", "refuse with this reason", "refuse")
                labels = refuse, KeyLabel("esc", "back", "back", owner=self, action="screen.step_back")
            case "question":
                words = {"v": ("smaller", "small")} if self.full else {}
                if self.request is not None and self.request.tool:
                    words["a"] = ("always this call", "always")
                labels = key_labels(self, words=words, off=face.off())
                if not self.request.offer or self.source != self.request.source:
                    labels = tuple(label for label in labels if label.key != "i")
        self.query_one(KeyRow).labels = labels
        self._resize(note)

    def _resize(self, note: Content) -> None:
        """Keys and title first; the note and the source share what is left."""
        width = self.size.width
        if not width:
            return
        left = max(2, self._limit - 1 - len(self.query_one(KeyRow).rows(width - 2)) - (self.stage == "reason"))
        note_rows = min(len(note.wrap(width - 2)) if note.plain else 0, left // 2)
        self.query_one("#approval-note", Words).styles.height = note_rows
        left -= note_rows
        view = self.query_one(SourceView)
        rows = view.row_count(width)
        self.query_one(SourceEditor).styles.height = left if self.full else min(left, max(rows + 1, 6))
        if rows > left:
            left = max(1, left - 1)  # the line that counts what is below
        view.styles.height = left if self.full else min(rows, left)
