"""Running code asks for a line: `input()`, `getpass()`, a shell's password prompt."""

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.events import Key, Paste
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from oi_tui.app.engine.core.blocks import ActionBlock, Block
from oi_tui.app.engine.core.events import InputRequested
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.whereabouts import describe_running_line
from oi_tui.widgets.arming import LOOK_INTERVAL, Arming
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import KeyLabel, KeyRow, back_label
from oi_tui.widgets.lettering import Words, lettering
from oi_tui.widgets.stray_keys import NOT_ARMED


class AnswerInput(Field):
    """A line that takes no key that was under way when the question came."""

    @dataclass
    class Dropped(Message):
        """A key or a paste came too early, and is gone."""

    def __init__(self, arming: Arming, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._arming = arming

    def on_key(self, event: Key) -> None:
        """Only Escape counts from the first moment."""
        self._arming.look(begun=bool(self.value))
        if not self._arming.is_armed and event.key != "escape":
            self._drop(event)

    def on_paste(self, event: Paste) -> None:
        """A paste may have been under way as well."""
        self._arming.look(begun=bool(self.value))
        if not self._arming.is_armed:
            self._drop(event)

    def _drop(self, event: Key | Paste) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Dropped())


class QuestionPanel(Widget):
    """Asks about one `InputRequested`; what is typed goes to the running code and nowhere else."""

    DEFAULT_CSS = """
    QuestionPanel {
        height: auto;
        background: $surface;
        & > #question-title { height: 1; color: $accent; background: $background; }
        & > #question-prompt { height: auto; max-height: 6; padding: 0 1; }
        & > #question-said { height: auto; padding: 0 1; color: $warning; display: none; }
        & > Input {
            height: 1; border: none; padding: 0 1; background: $surface-focus;
            &:focus { border: none; background: $surface-focus; }
        }
    }
    """

    @dataclass
    class Answered(Message):
        """The line, as typed."""

        request_id: str
        text: str

    armed: reactive[bool] = reactive(False)
    """Whether the keys were last shown as ready."""

    def __init__(self, *, arming: Arming, id: str | None = None) -> None:
        super().__init__(id=id)
        self._arming = arming
        self.request: InputRequested | None = None
        """What is asked now; None once it was answered."""
        self.asked_id = ""
        """Id of the last question that was put: none is put twice."""
        self._origin = ""
        self._said = ""

    def compose(self) -> ComposeResult:
        """Title with the origin, the code's own words, the line, a remark, the keys."""
        yield Words(id="question-title")
        yield Words(id="question-prompt")
        yield AnswerInput(self._arming, id="question-answer")
        yield Words(id="question-said")
        yield KeyRow(id="question-keys")

    def ask(self, request: InputRequested, cell: Block) -> None:
        """Put this question of this cell."""
        self.request, self.asked_id = request, request.request_id
        self._origin = describe_running_line(cell) if isinstance(cell, ActionBlock) else ""
        self._arming.show()
        self.call_after_refresh(self._arming.show)  # it is seen only then
        self.armed = False
        self.say("")
        prompt = safe_text(request.prompt).strip() or ("Password:" if request.password else "A line of input:")
        self.query_one("#question-prompt", Words).update(prompt)
        answer = self.query_one(Input)
        answer.value = ""
        answer.password = request.password
        answer.focus()
        self._show_title()

    def say(self, words: str) -> None:
        """Say this below the line that is typed; "" for nothing."""
        self._said = words
        said = self.query_one("#question-said", Words)
        said.update(words)
        said.display = bool(words)

    def on_mount(self) -> None:
        """While it is shown, look now and then whether the question is armed."""
        self._show_keys()
        self._looking = self.set_interval(LOOK_INTERVAL, self.show_arming, pause=True)

    def on_show(self) -> None:
        self._looking.resume()

    def on_hide(self) -> None:
        """An idle program does not wake up ten times a second."""
        self._looking.pause()

    def watch_armed(self) -> None:
        """The keys count now, or no longer."""
        if self.is_mounted:
            self._show_keys()
            if self._said == NOT_ARMED:
                self.say("")

    def on_answer_input_dropped(self, event: AnswerInput.Dropped) -> None:
        """Say so: without a word, it would look as if nothing worked."""
        event.stop()
        self.say(NOT_ARMED)

    def on_resize(self) -> None:
        """The rule of the title is as wide as the screen."""
        self._show_title()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send it, and forget it here."""
        event.stop()
        request, self.request = self.request, None
        if request is not None:
            self.post_message(self.Answered(request.request_id, event.value))
        event.input.value = ""

    def show_arming(self) -> None:
        """Bring the keys up to date."""
        if self.request is not None:
            self._arming.look(begun=bool(self.query_one(Input).value))
            self.armed = self._arming.is_armed

    def _show_keys(self) -> None:
        self.query_one(KeyRow).labels = (
            KeyLabel("enter", "send to the code", "send", self.armed),
            back_label(self, "interrupt the code")._replace(short="interrupt", owner=None),  # pressed, not clicked
        )

    def _show_title(self) -> None:
        left, right = "━━ The code is waiting for input ", f" {safe_text(self._origin)}"
        room = max(2, self.size.width - len(left) - len(right) - 1)
        self.query_one("#question-title", Words).update(lettering((left, "bold"), "━" * room, right))
