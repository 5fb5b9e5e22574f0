"""Running code asks for a line (`input()`, `getpass()`, a shell's password prompt), or a tool asks something.

Nothing that is answered here approves code: it goes to who asked, who is named. The line has the focus all the time, so
that a number, an arrow or words of one's own are all an answer only when Enter sends them.
"""

from dataclasses import dataclass
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click, Key, Paste
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from oi_tui.app.engine.core.blocks import ActionBlock, Block
from oi_tui.app.engine.core.events import InputRequested
from oi_tui.app.engine.core.verbs import Answer
from oi_tui.app.engine.text.input_answers import asker_words, choice_lines, input_answer, picked_choices
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.whereabouts import describe_running_line
from oi_tui.widgets.arming import LOOK_INTERVAL, Arming
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import KeyLabel, KeyRow, back_label, joint_label, key_in_use, stop_key
from oi_tui.widgets.lettering import Words, lettering
from oi_tui.widgets.stray_keys import NOT_ARMED

MOST_ROWS = 10
"""Of what is asked."""

PLANNER = "tool plan"
"""Who asks for a plan: the panel of the plan is a key away."""

WHITHER = "Your answer goes there and to the model. It approves no code."
NOTHING_PICKED = "Pick a choice by its number or an arrow, or type an answer; {key} gives none."


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


class ChoiceList(Widget, can_focus=False):
    """Answers to pick from, a row each; the one at the arrow is always among those that are shown."""

    class Clicked(Message):
        """One was clicked on."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: tuple[str, ...] = ()
        self._marked: frozenset[int] = frozenset()
        self.current: int | None = None
        """The one that the arrows led to."""

    def show(self, request: InputRequested) -> None:
        """The choices of this question, none of them picked."""
        self._rows, self._marked, self.current = tuple(choice_lines(request)), frozenset(), None
        self.display = bool(self._rows)
        self.refresh(layout=True)

    def mark(self, picked: tuple[int, ...], *, written: bool) -> None:
        """These are meant by what is `written`."""
        self._marked = frozenset(picked)
        if written:
            self.current = picked[-1] if picked else None
        self.refresh()

    def move(self, step: int) -> None:
        """Move to the next one; from nowhere to the first or the last."""
        start = (-1 if step > 0 else len(self._rows)) if self.current is None else self.current
        self.current = min(max(start + step, 0), len(self._rows) - 1)
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row for each choice, as far as there is room."""
        return len(self._rows)

    @property
    def _first(self) -> int:
        """The row at the top."""
        return max(0, (self.current or 0) - self.content_size.height + 1)

    def render(self) -> Content:
        """The rows; what is picked has a mark that is seen without colours."""
        shown = range(self._first, min(len(self._rows), self._first + max(1, self.content_size.height)))
        rows = [self._row(index) for index in shown]
        return Content("\n").join(rows)

    def _row(self, index: int) -> Content:
        picked = index in self._marked or index == self.current
        text = f"{'❯' if picked else ' '} {self._rows[index]}"
        width = self.content_size.width
        shown = text if len(text) <= width else f"{text[: width - 1]}…"
        return lettering((shown, "bold $accent")) if picked else lettering(shown)

    def on_click(self, event: Click) -> None:
        """The row that was clicked on."""
        event.stop()
        offset = event.get_content_offset(self)
        if offset is not None and self._first + offset.y < len(self._rows):
            self.post_message(self.Clicked(self._first + offset.y))


class QuestionPanel(Widget):
    """Asks about one `InputRequested`; what is typed goes to who asked and nowhere else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "pick(-1)", "The choice above", id="question.up"),
        Binding("down", "pick(1)", "The choice below", id="question.down"),
    ]

    DEFAULT_CSS = """
    QuestionPanel {
        height: auto;
        background: $surface;
        & > #question-title { height: 1; color: $accent; background: $background; }
        & > #question-prompt { height: auto; max-height: 10; padding: 0 1; }
        & > ChoiceList { height: auto; max-height: 7; padding: 0 1; display: none; }
        & > #question-whither { height: auto; padding: 0 1; color: $dim; display: none; }
        & > #question-said { height: auto; padding: 0 1; color: $warning; display: none; }
        & > Input {
            height: 1; border: none; padding: 0 1; background: $surface-focus;
            &:focus { border: none; background: $surface-focus; }
        }
    }
    """

    class Answered(Message):
        """The line, as typed."""

        def __init__(self, answer: Answer) -> None:
            super().__init__()
            self.answer = answer

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
        """Title with who asks, their own words, the choices, the line, where it goes, a remark, the keys."""
        yield Words(id="question-title")
        yield Words(id="question-prompt")
        yield ChoiceList(id="question-choices")
        yield AnswerInput(self._arming, id="question-answer")
        yield Words(WHITHER, id="question-whither")
        yield Words(id="question-said")
        yield KeyRow(id="question-keys")

    def ask(self, request: InputRequested, cell: Block) -> None:
        """Put this question of this cell."""
        self.request, self.asked_id = request, request.request_id
        of_code = isinstance(cell, ActionBlock) and not request.asked_by
        self._origin = describe_running_line(cell) if isinstance(cell, ActionBlock) and of_code else ""
        self._arming.show()
        self.call_after_refresh(self._arming.show)  # it is seen only then
        self.armed = False
        self.say("")
        prompt = safe_text(request.prompt).strip() or ("Password:" if request.password else "A line of input:")
        self.query_one("#question-prompt", Words).update(_fit_prompt(prompt, max(20, self.app.size.width - 4)))
        self.query_one(ChoiceList).show(request)
        self.query_one("#question-whither").display = bool(request.asked_by)
        answer = self.query_one(Input)
        answer.value, answer.placeholder = "", "a number, or an answer of your own" if request.choices else ""
        answer.password = request.password
        answer.focus()
        self._show_title()
        self._show_keys()

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

    def on_input_changed(self, event: Input.Changed) -> None:
        """Numbers mark the choices that they mean."""
        event.stop()
        if self.request is not None:
            self.query_one(ChoiceList).mark(picked_choices(self.request, event.value), written=bool(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send it, and forget it here."""
        event.stop()
        request, choices = self.request, self.query_one(ChoiceList)
        if request is None:
            return
        line = event.value
        if request.choices and not line.strip():
            if choices.current is None:
                self.say(NOTHING_PICKED.format(key=stop_key(self)))
                return
            line = str(choices.current + 1)
        self._send(input_answer(request, line))

    def action_pick(self, step: int) -> None:
        """Move to the choice above or below; Enter sends it."""
        if self.request is not None and self.request.choices and self._arming.is_armed:
            self.query_one(Input).value = ""
            self.query_one(ChoiceList).move(step)
            self.say("")

    def on_choice_list_clicked(self, event: "ChoiceList.Clicked") -> None:
        """A click marks a choice; Enter sends it. With several, it adds its number."""
        event.stop()
        if self.request is None or not self._arming.is_armed:
            self.say(NOT_ARMED)
            return
        line = self.query_one(Input)
        if self.request.several:
            line.value = f"{line.value.rstrip()} {event.index + 1}".strip()
        else:
            line.value = str(event.index + 1)
        line.cursor_position = len(line.value)
        line.focus()

    @property
    def is_of_tool(self) -> bool:
        """Whether a tool asks; code that asks can only be interrupted."""
        return self.request is not None and bool(self.request.asked_by)

    def decline(self) -> None:
        """Refuse to answer; the tool gets None."""
        if self.request is not None and self._arming.is_armed:
            self._send(Answer(request_id=self.request.request_id, text="", declined=True))
        else:
            self.say(NOT_ARMED)

    def _send(self, answer: Answer) -> None:
        self.request = None
        self.query_one(Input).value = ""
        self.post_message(self.Answered(answer))

    def show_arming(self) -> None:
        """Bring the keys up to date."""
        if self.request is not None:
            self._arming.look(begun=bool(self.query_one(Input).value))
            self.armed = self._arming.is_armed

    def _show_keys(self) -> None:
        asked = self.request
        if asked is not None and asked.asked_by:
            picks = (
                (joint_label(self, "pick", "question.up", "question.down")._replace(enabled=self.armed),)
                if asked.choices
                else ()
            )
            panel = key_in_use(self, "steps") if asked.asked_by == PLANNER else ""
            self.query_one(KeyRow).labels = (
                *picks,
                KeyLabel("enter", "answer", "answer", self.armed),
                KeyLabel(panel, "change and accept", "change", self.armed),
                back_label(self, "no answer")._replace(enabled=self.armed, owner=None),
            )
            return
        self.query_one(KeyRow).labels = (
            KeyLabel("enter", "send to the code", "send", self.armed),
            back_label(self, "interrupt the code")._replace(short="interrupt", owner=None),  # pressed, not clicked
        )

    def _show_title(self) -> None:
        words = asker_words(self.request) if self.request is not None else "The code is waiting for input"
        left, right = f"━━ {words} ", f" {safe_text(self._origin)}"
        room = max(2, self.size.width - len(left) - len(right) - 1)
        self.query_one("#question-title", Words).update(lettering((left, "bold"), "━" * room, right))


def _fit_prompt(prompt: str, width: int) -> str:
    """The part that fits, with a mark if that is not all."""
    rows = [row for line in prompt.split("\n") for row in (wrap(line, width) or [""])]
    return prompt if len(rows) <= MOST_ROWS else "\n".join([*rows[: MOST_ROWS - 1], "… (the question is longer)"])
