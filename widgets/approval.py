"""The question before code runs: what exactly, why, and the keys that answer it.

Only a key on this panel (or a click on a key's label) decides, and only while it is armed and the end of the
source has been on the screen. Enter and Space run nothing, ever. What is shown is made of the very string
that is sent back with the decision.
"""

from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Blur, DescendantBlur, DescendantFocus, Focus, Hide, Key, Paste, Resize, Show
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.values import ScopeKind
from oi_tui.app.engine.core.verbs import Decide, Revise
from oi_tui.themes.palette import Palette
from oi_tui.widgets.approval_keys import ANSWER_KEYS, answer_keys, answer_letters, stage_labels
from oi_tui.widgets.approval_source import share_rows, show_again, show_source, source_of_edited, text_to_edit
from oi_tui.widgets.approval_view import TIME_LIMITS, ApprovalStage, ApprovalView
from oi_tui.widgets.arming import LOOK_INTERVAL, Arming
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import KeyRow, keymap_of
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.stray_keys import TOO_EARLY, WRITTEN_ON, StrayKeys
from oi_tui.widgets.timeline.source_view import SourceView

_SCROLL_KEYS = frozenset({"up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "ctrl+up"})

BY_NUMBER = "Press a number to approve. Enter never approves."
_UNSEEN = "Look at the end first"
_OF_ARMING = (BY_NUMBER, TOO_EARLY, WRITTEN_ON)  # removed when the keys count again


class ApprovalPanel(Widget, can_focus=True):
    """Asks about one `DecisionRequested` and posts `Decided`."""

    BINDINGS: ClassVar[list[BindingType]] = ANSWER_KEYS
    DECIDES = True

    DEFAULT_CSS = """
    ApprovalPanel {
        height: auto;
        background: $surface;
        & > #approval-title { height: 1; color: $accent; background: $background; }
        & > #approval-note { height: auto; padding: 0 1; color: $dim; }
        & > #approval-more { height: 1; padding: 0 1; color: $warning; }
        & > #approval-scopes { height: auto; padding: 0 1; }
        & > #approval-said { height: 1; padding: 0 1; color: $warning; }
        & > #approval-reason {
            height: 1; border: none; padding: 0 1; background: $surface-focus;
            &:focus { border: none; background: $surface-focus; }
        }
    }
    """

    full: reactive[bool] = reactive(False)

    class Decided(Message):
        """The user's answer; its `source` is exactly the source on the screen. An edited call is asked about again."""

        def __init__(self, answer: Decide | Revise) -> None:
            super().__init__()
            self.answer = answer
            self.is_final = isinstance(answer, Decide)
            """Whether nothing more is asked about this code."""

    class FullToggled(Message):
        """Wants the whole screen, or no longer."""

        def __init__(self, full: bool) -> None:
            super().__init__()
            self.full = full

    class PromptTyped(Message):
        """Text for the prompt that arrived here; `ERASE` is a Backspace."""

        def __init__(self, text: str, pasted: bool = False) -> None:
            super().__init__()
            self.text, self.pasted = text, pasted

    def __init__(self, *, arming: Arming, id: str | None = None) -> None:
        super().__init__(id=id)
        self.arming = arming
        """The panel's owner reports every key of the program to it."""
        self.request: DecisionRequested | None = None
        """What is asked now; None once it was answered."""
        self.asked_id = ""
        """Id of the last question that was put: none is put twice."""
        self.source = ""
        self.stage: ApprovalStage = "question"
        self.armed = False
        """Whether the keys were last shown as ready."""
        self._stray = StrayKeys()
        self._said = ""
        """The message about the last key."""
        self._why = self._revising = False  # an explanation is shown; an edited call waits for its question
        self._time_limit: float | None = None
        self._limit = 12

    def compose(self) -> ComposeResult:
        """Title, note, the source (or its editor), what is below, the choices, a remark, and the keys."""
        yield Words(id="approval-title")
        yield Words(id="approval-note")
        yield SourceView(id="approval-source")
        yield SourceEditor(id="approval-editor")
        yield Words(id="approval-more")
        yield Words(id="approval-scopes")
        yield Field(id="approval-reason", placeholder="What should the model do instead? (optional)")
        yield Words(id="approval-said")
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

    def ask(self, request: DecisionRequested, *, writing: bool = False) -> None:
        """Put this question; `writing`: while the person is writing a prompt."""
        self.request, self.asked_id, self.source = request, request.request_id, request.source
        self._why, self._time_limit, self._revising = False, None, False
        self.full = False
        self.query_one(Input).value = ""
        run, letters = answer_keys(keymap_of(self))["approval.run"], answer_letters(keymap_of(self))
        self._stray.begin(letters, run, writing=writing and self.arming.is_typing)
        show_source(self.query_one(SourceView), request, self.source)
        self._enter("question")

    def say(self, words: str) -> None:
        """Say this above the keys, until the next one."""
        self._said = words
        self._refresh()

    def fit(self, height: int) -> None:
        """Use at most this many rows."""
        self._limit = max(4, height)
        self._refresh()

    def focus_stage(self) -> None:
        """Focus the current part: the question, the editor, or the reason."""
        match self.stage:
            case "editing":
                self.query_one(SourceEditor).focus()
            case "reason":
                self.query_one(Input).focus()
            case _:
                self.focus()

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self.query_one(SourceView).set_palette(palette)
        self.query_one(SourceEditor).set_palette(palette)

    # -- actions --------------------------------------------------------------------------------------

    def action_decide(self, verdict: Literal["run", "stop", "install"]) -> None:
        """Answer, if answers count now; `install` runs the offered installation, if there was an offer and nothing was
        changed."""
        if not self._may_answer(runs=verdict != "stop"):
            return
        request = self.request
        assert request is not None
        same = self.source == request.source
        match verdict:
            case "install" if request.offer and same:
                self._answer("run", install=True)
            case "run":
                self._answer("run" if same else "edit")
            case "stop":
                self._answer("stop")
            case _:
                pass

    def action_grant(self, number: int) -> None:
        """Run it, and what the scope of this number says without asking."""
        scopes = self._face().scopes
        self.arming.look()
        if self.stage == "scope" and self.request is not None and number < len(scopes) and self.arming.is_armed:
            self._answer("always", scope=scopes[number])

    def action_enter(self, stage: ApprovalStage) -> None:
        """Change the source first, choose how far "always" reaches, or refuse and say why."""
        if self._may_answer(runs=stage == "scope"):
            self._enter(stage)

    def action_change(self, what: Literal["full", "why", "limit"]) -> None:
        """The whole screen for long sources; an explanation of the question and its answers; another time limit of
        this run."""
        if what == "why":
            self._why = not self._why
            self._refresh()
        elif what == "limit" and self._may_answer():
            self._time_limit = TIME_LIMITS[(TIME_LIMITS.index(self._time_limit) + 1) % len(TIME_LIMITS)]
            self._refresh()
        elif self._may_answer():
            self.full = not self.full
            show_again(self.query_one(SourceView), self.request, self.source, full=self.full)
            self.post_message(self.FullToggled(self.full))

    def action_scroll_source(self, rows: int, pages: int = 0) -> None:
        """Move the source, not the transcript; a page is what is visible of it."""
        view = self.query_one(SourceView)
        distance = rows + pages * max(1, view.size.height - 1)
        view.scroll_relative(y=distance, animate=False, immediate=True)

    # -- events -----------------------------------------------------------------------------------------

    def on_key(self, event: Key) -> None:
        """Keys that were on their way when the question came go to the prompt, or are dropped with a word."""
        if self.stage not in ("question", "scope") or event.key in _SCROLL_KEYS or event.key == "escape":
            return
        self.arming.look()
        character = event.character if event.is_printable else None
        if self.stage == "scope" and character is not None and character.isdigit() and self.arming.is_armed:
            return
        fate = self._stray.judge(event.key, character, armed=self.arming.is_armed)
        self._said = BY_NUMBER if self.stage == "scope" and fate.does != "write" else fate.why
        if fate.does == "write":
            self.arming.show()  # somebody is writing a sentence: its next letter must not decide
            self.post_message(self.PromptTyped(fate.text))
        if fate.does != "act":
            event.stop()
            event.prevent_default()
        self._refresh()

    def on_paste(self, event: Paste) -> None:
        """A paste here is ignored: it was meant for the prompt."""
        if self.stage in ("question", "scope"):
            event.stop()
            self.arming.show()
            self.post_message(self.PromptTyped(event.text, pasted=True))

    @on(Show)
    @on(Hide)
    def _look_while_shown(self, event: Show | Hide) -> None:
        """An idle program does not wake up ten times a second."""
        if isinstance(event, Show):
            self._looking.resume()
        else:
            self._looking.pause()

    def on_source_editor_finished(self, event: SourceEditor.Finished) -> None:
        """Return to the question, with the source in its current state; an edited call with a preview is asked about
        again."""
        event.stop()
        request = self.request
        if event.source is not None and request is not None:
            before, self.source = self.source, source_of_edited(request, self.source, event.source)
            show_source(self.query_one(SourceView), request, self.source, full=self.full)
            if self.source != before and request.asks_again:
                self._revising = True
                self.post_message(self.Decided(Revise(request_id=request.request_id, source=self.source)))
        self._enter("question", own_act=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A refusal, with words or without; Enter here can only refuse."""
        event.stop()
        if self.stage == "reason":
            self._answer("skip", event.value.strip())

    def step_back(self) -> bool:
        """One level back inside the panel; False if it is at its first level, or asks nothing."""
        if self.request is None:
            return False
        if self.stage != "question":
            self._enter("question", own_act=True)
            return True
        if self.full:
            self.full = False
            show_again(self.query_one(SourceView), self.request, self.source, full=self.full)
            self.post_message(self.FullToggled(False))
            return True
        return False

    # -- inside --------------------------------------------------------------------------------------------

    def _may_answer(self, *, runs: bool = False) -> bool:
        """Whether an answer counts now; `runs`: one that needs the end of the source to have been seen."""
        self.arming.look()
        if self.request is None or self._revising or self.stage != "question" or not self.arming.is_armed:
            return False
        seen = self.query_one(SourceView).end_seen
        if runs and not seen:
            key = answer_keys(keymap_of(self))["approval.end"]
            self._said = f"{_UNSEEN}: {key} shows it." if key else f"{_UNSEEN}."
            self._refresh()
        return seen or not runs

    def _answer(
        self, verdict: Verdict, reason: str = "", *, scope: ScopeKind = "source", install: bool = False
    ) -> None:
        request, self.request = self.request, None
        if request is not None:
            answer = Decide(
                request_id=request.request_id,
                verdict=verdict,
                source=self.source,
                reason=reason,
                scope=scope,
                install=install,
                time_limit=self._time_limit,
            )
            self.post_message(self.Decided(answer))

    def show_arming(self) -> None:
        """Bring the keys up to date."""
        self.arming.look()
        if self.request is not None and self.armed != self.arming.is_armed:
            self.armed = self.arming.is_armed
            over = self.armed and (self._said in _OF_ARMING or self._said.startswith(_UNSEEN))
            self._said = "" if over else self._said
            self._refresh()

    def _enter(self, stage: ApprovalStage, *, own_act: bool = False) -> None:
        """`own_act`: by a key that the person pressed within this panel, so that the next one counts at once."""
        self.stage, self._said = stage, ""
        self.query_one(SourceView).display = stage != "editing"
        self.query_one(SourceEditor).display = stage == "editing"
        self.query_one(Input).display = stage == "reason"
        if stage == "editing":
            assert self.request is not None
            self.query_one(SourceEditor).begin(*text_to_edit(self.request, self.source))
        elif stage == "question":
            if own_act:
                self.arming.go_on()
            else:
                self.arming.show()
                self.call_after_refresh(self.arming.show)  # it is seen only then
            self.armed = own_act
        self.focus_stage()
        self._refresh()

    def _face(self) -> ApprovalView:
        """All that the words of the panel depend on now."""
        assert self.request is not None
        view, focused = self.query_one(SourceView), self.screen.focused
        return ApprovalView(
            request=self.request,
            source=self.source,
            stage=self.stage,
            armed=self.armed,
            end_seen=view.end_seen,
            below=view.rows_below,
            full=self.full,
            why=self._why,
            keys=answer_keys(keymap_of(self)),
            away=self.app.app_focus and (focused is None or self not in focused.ancestors_with_self),
            time_limit=self._time_limit,
            said=self._said,
        )

    @on(Resize)
    @on(Focus)
    @on(Blur)
    @on(DescendantFocus)
    @on(DescendantBlur)
    @on(SourceView.Viewed)
    @on(SourceEditor.Hesitated)
    def _refresh(self) -> None:
        """Update all texts: another width may need more rows, another part of the source is visible."""
        if self.request is None:
            return
        face = self._face()
        self.query_one("#approval-title", Words).update(face.title(self.size.width))
        note = face.note()
        rows = {"note": note, "more": face.more(), "scopes": face.choices(), "said": face.remark()}
        for name, words in rows.items():
            line = self.query_one(f"#approval-{name}", Words)
            line.display = bool(words.plain)
            line.update(words)
        self.query_one(KeyRow).labels = stage_labels(self, face, self.query_one(SourceEditor).labels())
        width = self.size.width
        if not width:
            return
        # Keys and title first; the note and the source share what is left.
        others = sum(len(rows[name].wrap(width - 2)) for name in ("scopes", "said") if rows[name].plain)
        left = self._limit - 1 - len(self.query_one(KeyRow).rows(width - 2)) - (self.stage == "reason") - others
        view, editor = self.query_one(SourceView), self.query_one(SourceEditor)
        note_rows = share_rows(view, editor, note, max(2, left), width, full=self.full)
        self.query_one("#approval-note", Words).styles.height = note_rows
