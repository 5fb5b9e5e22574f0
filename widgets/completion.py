"""What can complete a word that is being typed: a list over the screen, just above the text, and the keys for it.

The list never takes the focus. Its box passes it each key first; other keys are typed as usual.
"""

from typing import ClassVar, NamedTuple, Protocol

from textual.content import Content
from textual.events import Click
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.lettering import lettering

ROWS = 8
"""Choices that are visible at once, where there is room."""

MOST = 200
"""Choices of one list."""

_GAP = 2


class CompletionChoice(NamedTuple):
    """One row of the list."""

    text: str
    """What takes the place of the word."""
    label: str
    help: str = ""
    keys: str = ""
    sends: bool = False
    """Whether nothing needs to follow: Enter sends the text as well."""


class CompletionOffer(NamedTuple):
    """The completions for the word that ends at the cursor."""

    start: tuple[int, int]
    """Line and column where the word begins."""
    choices: tuple[CompletionChoice, ...]
    note: str = ""
    """What the list says below its rows, such as that more is being looked for."""
    is_free: bool = False
    """Whether any other word would do: then Enter takes no row that nobody went to."""


class CompletedWord(Protocol):
    """The word that the list is for."""

    @property
    def word(self) -> str:
        """The typed part of it."""
        ...

    def insert(self, text: str, start: tuple[int, int]) -> None:
        """Replace the word that begins there and ends at the cursor."""
        ...

    def dismiss(self) -> None:
        """Offer nothing for this word any more."""
        ...


class CompletionList(Widget, can_focus=False):
    """The rows, the chosen one marked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"completion--chosen", "completion--help"}

    DEFAULT_CSS = """
    CompletionList {
        overlay: screen;
        position: absolute;
        display: none;
        width: auto;
        height: auto;
        background: $surface;
        color: $text;
        & > .completion--chosen { background: $surface-focus; color: $accent; text-style: bold; }
        & > .completion--help { color: $dim; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._word: CompletedWord | None = None
        self._offer = CompletionOffer((0, 0), ())
        self._chosen = 0
        self._moved = False
        """Whether the person chose a row; else the best one is marked, whatever it is."""
        self._top = 0
        self._room = ROWS
        self._width = 0

    @property
    def is_open(self) -> bool:
        """Whether something is offered."""
        return self._word is not None

    @property
    def offer(self) -> CompletionOffer:
        """What is offered now."""
        return self._offer

    def is_for(self, word: CompletedWord) -> bool:
        """Whether it is open for this word."""
        return self._word is word

    def open(self, word: CompletedWord, offer: CompletionOffer, above: Widget) -> None:
        """Offer this for the word at the cursor; the list is above another widget, or below if there is no room."""
        chosen = self._chosen_label if self._word is word and offer.start == self._offer.start else ""
        self._word, self._offer = word, offer._replace(choices=offer.choices[:MOST])
        labels = [choice.label for choice in self._offer.choices]
        self._chosen = labels.index(chosen) if chosen in labels and self._moved else 0
        self._moved = self._moved and chosen in labels
        self._place(above)
        self.display = True
        self.refresh(layout=True)

    def close(self) -> None:
        """Offer nothing any more; the text stays."""
        self._word, self._moved = None, False
        self._offer = CompletionOffer((0, 0), ())
        self.display = False

    def take_key(self, key: str) -> bool:
        """Whether this key was for the list. Enter on a choice that needs nothing more is for both."""
        word = self._word
        if word is None:
            return False
        match key:
            case "up":
                self._step(-1)
            case "down":
                self._step(1)
            case "pageup":
                self._step(-self._room, wrap=False)
            case "pagedown":
                self._step(self._room, wrap=False)
            case "escape":
                word.dismiss()
            case "tab":
                return self._take()
            case "enter":
                return self._take_by_enter(word)
            case _:
                return False
        return True

    def on_click(self, event: Click) -> None:
        """A click on a row takes it."""
        event.stop()
        row = self._top + event.y
        if self._word is not None and event.y < self._room and row < len(self._offer.choices):
            self._chosen = row
            self._take()

    def render(self) -> Content:
        """The rows that fit, each as wide as the list."""
        chosen, dim = (self.get_visual_style(f"completion--{name}", partial=True) for name in ("chosen", "help"))
        rows = self._offer.choices[self._top : self._top + self._room]
        lines = []
        for number, choice in enumerate(rows, self._top):
            label, help_text = self._lay_out(choice)
            is_chosen = number == self._chosen and (self._moved or not self._offer.is_free)
            mark = "›" if is_chosen else " "
            lines.append(lettering((f"{mark}{label}", chosen if is_chosen else ""), (help_text, dim)))
        if note := self._note():
            lines.append(lettering((f" {note}"[: self._width].ljust(self._width), dim)))
        return Content("\n").join(lines)

    # -- inside -----------------------------------------------------------------------------------------------

    @property
    def _chosen_label(self) -> str:
        choices = self._offer.choices
        return choices[self._chosen].label if self._chosen < len(choices) else ""

    def _note(self) -> str:
        hidden = len(self._offer.choices) - self._room
        more = f"{self._chosen + 1} of {len(self._offer.choices)}" if hidden > 0 else ""
        return " · ".join(part for part in (self._offer.note, more) if part)

    def _step(self, step: int, *, wrap: bool = True) -> None:
        if count := len(self._offer.choices):
            # The first step down goes to the first row, where none is marked yet.
            place = self._chosen + step - (self._offer.is_free and not self._moved and step > 0)
            self._moved = True
            self._chosen = place % count if wrap else max(0, min(count - 1, place))
            self._top = max(min(self._top, self._chosen), self._chosen - self._room + 1)
            self.refresh()

    def _take(self) -> bool:
        word, choices = self._word, self._offer.choices
        if word is None or not choices:
            return False
        choice, start = choices[self._chosen], self._offer.start
        self.close()
        word.insert(choice.text, start)
        return True

    def _take_by_enter(self, word: CompletedWord) -> bool:
        if not self._offer.choices:
            self.close()
            return False
        choice = self._offer.choices[self._chosen]
        if (self._offer.is_free or word.word == choice.text.rstrip()) and not self._moved:
            self.close()
            return False
        self._take()
        if choice.sends:
            self.close()
        return not choice.sends

    def _lay_out(self, choice: CompletionChoice) -> tuple[str, str]:
        """The label and its help, together exactly as wide as the list."""
        widest = max(len(_line(one.label)) for one in self._offer.choices)
        has_help = any(one.help or one.keys for one in self._offer.choices)
        column = min(widest, max(12, self._width * 2 // 3)) if has_help else widest
        label = _cut(_line(choice.label), column).ljust(column)[: self._width - 1]
        rest = max(0, self._width - len(label) - 1)
        said = _line(choice.help)
        keys = f"{choice.keys} " if choice.keys and len(choice.keys) + 6 < rest - _GAP else ""
        said = f"{' ' * _GAP}{_cut(said, rest - _GAP - len(keys) - 1)}" if said and rest > _GAP + 4 else ""
        return label, f"{said.ljust(rest - len(keys))}{keys}"[:rest]

    def _place(self, above: Widget) -> None:
        """As wide as its rows need and the screen allows, as high as there is room above."""
        size, region = self.screen.size, above.region
        wide = max((len(_line(one.label)) + len(_line(one.help)) for one in self._offer.choices), default=24)
        keys = max((len(one.keys) + 1 for one in self._offer.choices if one.keys), default=0)
        self._width = max(20, min(size.width - 2, wide + keys + _GAP + 3, 100))
        count = len(self._offer.choices)
        room_above, room_below = region.y, size.height - region.bottom
        is_above = room_above >= min(3, count + 1) or room_above >= room_below
        room = max(1, (room_above if is_above else room_below) - 1)
        self._room = min(ROWS, count, room)
        self._top = max(0, min(self._top, self._chosen, count - self._room), self._chosen - self._room + 1)
        height = self._room + bool(self._note())
        self.styles.width, self.styles.height = self._width, max(1, height)
        self.absolute_offset = Offset(max(0, region.x), region.y - max(1, height) if is_above else region.bottom)


def completion_list(screen: Screen[object]) -> CompletionList:
    """The one of this screen."""
    found = screen.query(CompletionList)
    if found:
        return found.first()
    made = CompletionList()
    screen.mount(made)
    return made


def _line(text: str) -> str:
    return " ".join(safe_text(text).split())


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…" if width > 0 else ""
