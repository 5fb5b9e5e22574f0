"""The themes, and beside them a conversation in the colours of the one that is highlighted.

People move down the list and look; what they see is the whole program in these colours. Enter keeps them, Escape
returns to those from before. The conversation is the session's own, or an example as long as that is empty.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList

from oi_tui.app.commands.theme_folders import theme_folders
from oi_tui.app.engine.core.blocks import Block, CodeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, StreamOutput
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.screens.pick import PickScreen
from oi_tui.themes.loader import AUTO, ThemeError, theme_names
from oi_tui.themes.palette import Palette
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyRow, joint_label, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering
from oi_tui.widgets.timeline.view import Timeline

_MOST = 30
"""Blocks of the session that are shown."""

_CODE = """\
# the coldest day of each year
@cached
def coldest(days: list[Day]) -> float:
    if not days:
        raise ValueError("no days")
    return min(day.low for day in days) - 0.5
"""

_EXAMPLE: tuple[Block, ...] = (
    UserBlock(id="example-1", text="How cold did it get? Read days.csv."),
    ProseBlock(
        id="example-2",
        text="I'll define it **once** and use `days` from [the file](https://example.org/days.csv).",
        state="complete",
    ),
    CodeBlock(
        id="example-3",
        language="python",
        source=_CODE,
        state="ok",
        duration=0.42,
        outputs=(
            StreamOutput(
                name="stdout", text="-14.5 \x1b[32mpassed\x1b[0m \x1b[33mskipped\x1b[0m \x1b[31mfailed\x1b[0m\n"
            ),
            StreamOutput(name="stderr", text="a warning of a library\n"),
        ),
    ),
    CodeBlock(
        id="example-4",
        language="python",
        source='coldest(days["2031"])',
        state="error",
        duration=0.01,
        outputs=(ErrorOutput(name="KeyError", value="'2031'", traceback=("KeyError: '2031'",)),),
    ),
    ProseBlock(
        id="example-5", text="There is no 2031 in the file. The coldest day had **-14.5 °C**.", state="complete"
    ),
)


class ChosenTheme(NamedTuple):
    """What the person chose."""

    name: str
    keep: bool
    """Whether new sessions begin with it, too."""


class ThemeScreen(PickScreen[ChosenTheme | None]):
    """Dismissed with a theme, or None."""

    CSS_PATH: ClassVar[list[str]] = ["pick.tcss", "theme_screen.tcss"]  # type: ignore[assignment] # the base has one
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "take", "use it", id="pick.take", priority=True),
        Hint("ctrl+s", "keep", "also for new sessions", id="pick.keep", short="default", priority=True),
        Hint("escape", "dismiss(None)", "back", id="pick.back"),
    ]
    TITLE = "Theme"

    def __init__(self, chosen: str, preview: Callable[[str], Palette], blocks: Sequence[Block]) -> None:
        """`preview` changes the colours of the app; ThemeError if the theme cannot be read."""
        super().__init__()
        self._chosen = chosen
        self._preview = preview
        self._blocks = tuple(blocks[-_MOST:]) or _EXAMPLE
        self.names = [AUTO, *theme_names(theme_folders())]
        """As they are listed."""
        self._rows: list[str] = []
        self._shown = ""

    def compose(self) -> ComposeResult:
        """The list at the left, the conversation beside it."""
        with Vertical(id="theme-side"):
            yield Words(self.TITLE, id="pick-title")
            yield Field(id="pick-words", placeholder="type to filter", select_on_focus=False)
            yield Options(id="pick-list", compact=True)
            yield Words(" ", id="pick-text")
            yield KeyRow(id="pick-keys")
        yield Timeline(palette=self._preview(self._chosen), id="theme-preview")

    def on_mount(self) -> None:
        """The theme in use is highlighted."""
        timeline = self.query_one(Timeline)
        timeline.can_focus = False
        timeline.reset(self._blocks)
        timeline.follow = True
        super().on_mount()
        self.query_one(KeyRow).labels = (joint_label(self, "look", "pick.up", "pick.down"), *key_labels(self))

    def look_for(self, words: str) -> None:
        """Names that have these words."""
        self._rows = [name for name in self.names if all(word in name for word in words.casefold().split())]
        options = self.query_one(Options)
        options.clear_options()
        options.add_options(lettering(name) for name in self._rows)
        at = self._rows.index(self._chosen) if not words and self._chosen in self._rows else 0
        options.highlighted = at if self._rows else None
        self._mark()

    def take(self, number: int) -> None:
        """Choose it, if it can be read."""
        if self._show(self._rows[number]):
            self.dismiss(ChosenTheme(self._rows[number], keep=False))

    def action_keep(self) -> None:
        """Choose it, and write it into the settings."""
        highlighted = self.query_one(Options).highlighted
        if highlighted is not None and self._show(self._rows[highlighted]):
            self.dismiss(ChosenTheme(self._rows[highlighted], keep=True))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._mark()

    def _mark(self) -> None:
        options = self.query_one(Options)
        for index, name in enumerate(self._rows):
            mark = ("▸ ", "bold $accent") if index == options.highlighted else ("  ", "")
            options.replace_option_prompt_at_index(index, lettering(mark, name, " ✓" if name == self._chosen else ""))
        if options.highlighted is None:
            self.query_one("#pick-text", Words).update(f"No theme has {self.query_one(Input).value!r} in its name.")
        else:
            self._show(self._rows[options.highlighted])

    def _show(self, name: str) -> bool:
        told = self.query_one("#pick-text", Words)
        try:
            palette = self._preview(name)
        except ThemeError as error:
            told.update(safe_text(f"✗ {error}."))
            return False
        told.update(safe_text(palette.title if name != AUTO else "dark or light, as the terminal is"))
        if name != self._shown:
            self.query_one(Timeline).set_look(palette=palette)
            self._shown = name
        return True
