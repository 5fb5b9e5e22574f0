"""An empty session: what it can do, and three prompts that fit the folder."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import DescendantBlur, DescendantFocus, Key, Paste
from textual.message import Message
from textual.widgets import OptionList

from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.lettering import Options, Words, lettering
from oi_tui.widgets.prompt_start import start_prompt

_ASKED = "You approve all code before it runs."
_UNASKED = "Code runs without approval: /approve ask changes that."
_NO_MODEL = "No model yet? /model chooses one. /profile demo is a tour that needs none."
_TOUR = "A tour of oi-tui in seven steps: a script answers instead of a model. Enter begins."
_INDENT = 2
"""Columns of the mark before each prompt."""
_LOOK_AT = 200
"""Entries of the folder; a folder of a million files must not hold up the first frame."""


class Welcome(Vertical):
    """Shown until the first block comes; a choice is put into the composer, not sent."""

    DEFAULT_CSS = """
    Welcome {
        height: 1fr;
        padding: 1 3;
        & > Static { height: auto; color: $dim; margin-bottom: 1; }
        & > OptionList {
            height: auto; border: none; padding: 0; background: $background; color: $text;
            scrollbar-size-vertical: 1;
            &:focus { border: none; background-tint: $background 0%; }
            & > .option-list--option-highlighted { background: $background; color: $text; }
            &:focus > .option-list--option-highlighted { background: $surface-focus; color: $accent; }
        }
    }
    """

    class ExampleChosen(Message):
        """This prompt would do."""

        def __init__(self, prompt: str) -> None:
            super().__init__()
            self.prompt = prompt

    _folder: Path | None = None
    _prompts: list[str]
    _words = ""

    def compose(self) -> ComposeResult:
        """What to do; the prompts follow when it is known which fit."""
        self._words = _first_words(asks=True, model=None)
        yield Words(self._words, id="welcome-words")

    def look_at(self, folder: Path) -> None:
        """Fit the prompts to the folder; looks again only if it is another one."""
        if folder == self._folder:
            return
        self._folder = folder
        self._prompts = example_prompts(folder)
        lines = [_choice_line(prompt, self.content_size.width, chosen=False) for prompt in self._prompts]
        if shown := self.query(Options):
            shown.first().clear_options()
            shown.first().add_options(lines)
        else:
            self.mount(Options(*lines))

    def on_resize(self) -> None:
        """A prompt longer than a line continues below its first word."""
        for shown in self.query(Options):
            chosen = shown.highlighted if shown.has_focus else None
            for number, prompt in enumerate(self._prompts):
                line = _choice_line(prompt, self.content_size.width, chosen=number == chosen)
                shown.replace_option_prompt_at_index(number, line)

    @on(DescendantFocus)
    @on(DescendantBlur)
    @on(OptionList.OptionHighlighted)
    def _mark(self) -> None:
        """One of them is chosen while the keys are here."""
        for shown in self.query(Options):
            if shown.has_focus and shown.highlighted is None and shown.option_count:
                shown.highlighted = 0
        self.on_resize()

    def on_key(self, event: Key) -> None:
        """The first letter of a prompt goes there, and the others after it."""
        start_prompt(self, event)

    def on_paste(self, event: Paste) -> None:
        """A paste is for the prompt."""
        start_prompt(self, event)

    def tell_situation(self, *, asks: bool, model: str | None) -> None:
        """The lines are true in each mode, and with each `model`; "" is none, None not known yet."""
        words = _first_words(asks=asks, model=model)
        if words != self._words:
            self._words = words
            self.query_one("#welcome-words", Words).update(words)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Up to the screen."""
        event.stop()
        self.post_message(self.ExampleChosen(self._prompts[event.option_index]))


def _first_words(*, asks: bool, model: str | None) -> str:
    if model == TOUR:
        return f"{_TOUR}\n\nLater, with a model, you could ask:"
    lacks = f"{_NO_MODEL}\n\n" if model == "" else ""
    return f"{lacks}Describe a task. {_ASKED if asks else _UNASKED}\n\nFor example (↑ choose):"


def _choice_line(prompt: str, width: int, *, chosen: bool) -> Content:
    lines = lettering(prompt).wrap(width - _INDENT) if width > 2 * _INDENT else [lettering(prompt)]
    rest = [part for line in lines[1:] for part in (f"\n{' ' * _INDENT}", line.rstrip())]
    mark = ("▸ " if chosen else "▹ ").ljust(_INDENT)
    return lettering((mark, "$accent"), lines[0].rstrip(), *rest)


def example_prompts(folder: Path) -> list[str]:
    """Three prompts; about the data, the repository or the documents that are there."""
    return list(islice(_prompts(_names(folder)), 3))


def _prompts(names: list[str]) -> Iterator[str]:
    for suffix in (".csv", ".parquet", ".xlsx", ".json"):
        data = next((name for name in names if name.endswith(suffix)), None)
        if data is not None:
            yield f"Read @{data}, say what is in it, and plot what is interesting."
            break
    if ".git" in names:
        yield "Which files of this repository change most often, and why?"
    if any(name.endswith((".png", ".jpg", ".jpeg")) for name in names):
        yield "Make a contact sheet of the pictures in this folder."
    yield "What takes up the space in this folder? Show the ten largest files as a table."
    yield "Plot the sine and cosine from 0 to 2π."
    yield "What is this machine: processor, memory, disk, Python?"


def _names(folder: Path) -> list[str]:
    try:
        names = [entry.name for entry in islice(folder.iterdir(), _LOOK_AT)]
    except OSError:
        return []  # the folder cannot be read; the general prompts fit any
    return sorted(name for name in names if " " not in name and safe_text(name) == name)
