"""Ways to show many blocks with Textual: the timeline, and what one would take without it."""

from collections.abc import Sequence
from typing import Protocol

from stage import Fold
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Log, Markdown, Static

from oi_tui.app.engine.core.blocks import Block, CodeBlock, ProseBlock
from oi_tui.app.engine.core.events import CodeFinished, CodeStarted, ProseFinished, ProseGrew, ProseStarted
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.timeline.view import Timeline

WORDS = "words **enough** to wrap a few times, some `code`, and a [link](https://example.org) in between. "
SOURCE = "".join(f"value_{number} = compute({number}, 'text')\n" for number in range(7))


def paragraph(number: int) -> str:
    """The text of a block: about 200 characters, and no two alike."""
    return f"Paragraph {number}: {WORDS}{WORDS}"


def is_code(number: int) -> bool:
    """Every fifth block is seven lines of code."""
    return number % 5 == 4


class Kind(Protocol):
    """One way."""

    name: str
    most: int
    """Blocks it is measured with: as many as it bears."""

    @property
    def widget(self) -> Widget:
        """What shows it."""
        ...

    async def fill(self, start: int, end: int) -> None:
        """Show the blocks of these numbers under those that are there."""
        ...

    async def append(self, number: int) -> None:
        """Show one more block."""
        ...

    def jump(self, share: float) -> None:
        """Scroll to a place, 0 the start and 1 the end."""
        ...

    def recolour(self, light: bool) -> None:
        """What the app's change of theme does not do by itself."""
        ...


class Ours:
    """The timeline."""

    name = "oi-tui's timeline"
    most = 100_000

    def __init__(self) -> None:
        self.widget = Timeline()
        self._blocks: list[Block] = []
        self._palettes = [load_palette("harbour"), load_palette("harbour-light")]

    async def fill(self, start: int, end: int) -> None:
        """All in one go, as a resumed session."""
        self._blocks += [_block(number) for number in range(start, end)]
        self.widget.reset(self._blocks)

    async def append(self, number: int) -> None:
        """As when it arrives."""
        self.widget.put(number, _block(number))

    def jump(self, share: float) -> None:
        """As the scroll bar does."""
        self.widget.follow = self.widget._view.jump(int(self.widget._view.total * share))
        self.widget._frames.want()

    def recolour(self, light: bool) -> None:
        """Another palette."""
        self.widget.set_look(palette=self._palettes[light])


def _block(number: int) -> Block:
    if is_code(number):
        return CodeBlock(id=str(number), language="python", source=SOURCE, state="ok")
    return ProseBlock(id=str(number), text=paragraph(number), state="complete")


class Mounted:
    """A widget for each block."""

    def __init__(self) -> None:
        self.widget = VerticalScroll()

    async def fill(self, start: int, end: int) -> None:
        """All in one call."""
        await self.widget.mount_all([self._made(number) for number in range(start, end)])
        self.widget.scroll_end(animate=False)

    async def append(self, number: int) -> None:
        """Mount it at the end."""
        await self.widget.mount(self._made(number))
        self.widget.scroll_end(animate=False)

    def jump(self, share: float) -> None:
        """Scroll there."""
        self.widget.scroll_to(y=self.widget.max_scroll_y * share, animate=False)

    def recolour(self, light: bool) -> None:
        """Nothing to do."""

    def _made(self, number: int) -> Widget:
        raise NotImplementedError


class Statics(Mounted):
    """Plain text, wrapped."""

    name = "`Static` each"
    most = 3_000

    def _made(self, number: int) -> Widget:
        return Static(SOURCE if is_code(number) else paragraph(number), markup=False)


class Markdowns(Mounted):
    """Textual's Markdown."""

    name = "`Markdown` each"
    most = 1_000

    def _made(self, number: int) -> Widget:
        return Markdown(f"```python\n{SOURCE}```\n" if is_code(number) else paragraph(number))


class Lines:
    """Textual's log of plain lines, which neither wrap nor have a style."""

    name = "lines in a `Log`"
    most = 100_000

    def __init__(self) -> None:
        self.widget = Log()

    async def fill(self, start: int, end: int) -> None:
        """All in one call."""
        self.widget.write_lines([paragraph(number) for number in range(start, end)])

    async def append(self, number: int) -> None:
        """A line more."""
        self.widget.write_line(paragraph(number))

    def jump(self, share: float) -> None:
        """Scroll there."""
        self.widget.scroll_to(y=self.widget.max_scroll_y * share, animate=False)

    def recolour(self, light: bool) -> None:
        """Nothing to do."""


KINDS: dict[str, type[Ours | Statics | Markdowns | Lines]] = {
    "ours": Ours,
    "log": Lines,
    "static": Statics,
    "markdown": Markdowns,
}


class Told(Ours):
    """The timeline, told of each block by the events of a session: with everything that the screen keeps of it."""

    def __init__(self) -> None:
        super().__init__()
        self._fold = Fold(self.widget)

    async def fill(self, start: int, end: int) -> None:
        """Three events for each block."""
        for number in range(start, end):
            name = str(number)
            if is_code(number):
                told: Sequence[CodeStarted | CodeFinished | ProseStarted | ProseGrew | ProseFinished] = (
                    CodeStarted(block_id=name, language="python"),
                    CodeFinished(block_id=name, language="python", source=f"# {number}\n{SOURCE}"),
                )
            else:
                told = (
                    ProseStarted(block_id=name),
                    ProseGrew(block_id=name, text=paragraph(number)),
                    ProseFinished(block_id=name),
                )
            self._fold.apply(told)

    @property
    def text_bytes(self) -> int:
        """Memory of the texts themselves, which are ASCII, without what Python puts around them."""
        return sum(len(_text(block)) for block in self._fold.transcript.blocks)


def _text(block: Block) -> str:
    match block:
        case ProseBlock():
            return block.text
        case CodeBlock():
            return block.source
        case _:
            return ""
