"""What takes the room in the model's context: a bar by part, and the largest blocks, pinned or left out by key."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import OptionList

from oi_tui.app.engine.core.blocks import ContextMark
from oi_tui.app.engine.core.context_use import ContextRow, ContextUse
from oi_tui.app.engine.core.verbs import AnyVerb, MarkContext, ReadContext
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering
from oi_tui.widgets.status import name_in_short

PATTERNS = (("█", "$accent"), ("▓", "$dim"), ("▚", "$warning"), ("▒", "$accent"), ("▓", "$text"))
"""How parts are drawn, one after the other: they differ without colours too."""

FREE = ("░", "$faint")

_COLUMNS = f"{'tokens':>8}  {'sent':<11}{'block':>5}  largest first"

GAP = "   "
"""Between the parts."""


class ContextScreen(ModalScreen[str | None]):
    """Dismissed with the id of a block to go to, or None."""

    CSS_PATH = "context_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("p", "mark('pinned')", "Pin: it is sent however full the context is", id="context.pin", label="pin"),
        Hint(
            "x", "mark('left out')", "Leave it out of what the model is sent", id="context.leave_out", label="leave out"
        ),
        Hint("enter", "go", "Go to the block", id="context.go", label="go to it", priority=True),
        Hint("escape,q", "dismiss(None)", "Back", id="context.back", label="back"),
    ]

    def __init__(self, found: ContextUse, send: Callable[[AnyVerb], None]) -> None:
        super().__init__()
        self._found = found
        self._send = send

    def compose(self) -> ComposeResult:
        """The sum, its parts, what is largest, and the keys."""
        yield Words(id="context-title")
        yield Words(id="context-bar")
        yield Words(id="context-parts")
        yield Words(id="context-columns")
        yield Options(id="context-list", compact=True)
        yield KeyRow(id="context-keys")

    def on_mount(self) -> None:
        self.show(self._found)

    def on_resize(self, event: Resize) -> None:
        """The bar is as wide as the screen."""
        self._draw(event.size.width)

    def show(self, found: ContextUse) -> None:
        """Newer counts; the highlighted block stays so."""
        options = self.query_one(Options)
        block_id = self._row.block_id if self._row is not None else ""
        self._found = found
        options.clear_options()
        options.add_options([context_line(row) for row in found.rows])
        options.display = bool(found.rows)
        self.query_one("#context-columns", Words).update(_COLUMNS if found.rows else "Nothing has been said yet.")
        places = [index for index, row in enumerate(found.rows) if row.block_id == block_id]
        if found.rows:
            options.highlighted = places[0] if places else 0
        self._draw(self.size.width)
        self._show_keys()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show_keys()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click chooses a block, and goes nowhere."""
        event.stop()

    def action_mark(self, mark: ContextMark) -> None:
        """Mark the highlighted block, or take the same mark back."""
        if (row := self._row) is not None:
            self._send(MarkContext(block_id=row.block_id, mark="" if row.state == mark else mark))
            self._send(ReadContext())

    def action_go(self) -> None:
        """Go to the block in the timeline."""
        if (row := self._row) is not None:
            self.dismiss(row.block_id)

    @property
    def _row(self) -> ContextRow | None:
        index = self.query_one(Options).highlighted
        return self._found.rows[index] if index is not None and index < len(self._found.rows) else None

    def _draw(self, width: int) -> None:
        found = self._found
        self.query_one("#context-title", Words).update(context_title(found))
        self.query_one("#context-bar", Words).update(context_bar(found, max(10, width - 2)))
        self.query_one("#context-parts", Words).update(context_legend(found, max(10, width - 2)))

    def _show_keys(self) -> None:
        row = self._row
        words = {"p": ("unpin", "unpin")} if row is not None and row.state == "pinned" else {}
        if row is not None and row.state == "left out":
            words = {"x": ("send it again", "send")}
        off = {"p", "x", "enter"} if row is None else ()
        self.query_one(KeyRow).labels = key_labels(self, words=words, off=off)


def context_title(found: ContextUse) -> str:
    """How much goes of how much there is room for."""
    used = sum(part.tokens for part in found.parts)
    if not found.model:
        return "Context: no model is chosen"
    if not found.window:
        return f"Context: ~{used:,} tokens; how many {name_in_short(found.model)} takes is not known"
    share = round(100 * used / found.window)
    return f"Context: ~{used:,} of {found.window:,} tokens (~{share}%)"


def context_bar(found: ContextUse, width: int) -> Content:
    """The parts to scale, then what is free."""
    used = sum(part.tokens for part in found.parts)
    scale = width / max(1, found.window or used, used)
    cells: list[tuple[str, str]] = []
    reached, drawn = 0.0, 0
    for number, part in enumerate(found.parts):
        reached += part.tokens * scale
        count = max(1, round(reached) - drawn) if drawn < width else 0
        sign, style = PATTERNS[number % len(PATTERNS)]
        cells.append((sign * min(count, width - drawn), style))
        drawn = min(width, drawn + count)
    return lettering(*cells, (FREE[0] * (width - drawn), FREE[1]))


def context_legend(found: ContextUse, width: int) -> Content:
    """The names of the parts, with what each is drawn as, wrapped between them."""
    told = [
        (PATTERNS[number % len(PATTERNS)], f" {part.name} ~{part.tokens:,}") for number, part in enumerate(found.parts)
    ]
    if found.reserve:
        told.append((FREE, f" {found.reserve:,} kept for the answer"))
    if found.counted:
        told.append((("", "$dim"), f"last request: {found.counted:,}"))
    pieces: list[str | tuple[str, str]] = []
    column = 0
    for swatch, words in told:
        size = len(swatch[0]) + len(words)
        if column and column + len(GAP) + size > width:
            pieces.append("\n")
            column = 0
        pieces += [GAP if column else "", swatch, words]
        column += size + (len(GAP) if column else 0)
    return lettering(*pieces)


def context_line(row: ContextRow) -> Content:
    """Tokens, how it goes, its number, and what it is, below `_COLUMNS`."""
    style = {"pinned": "$accent", "whole": "$text"}.get(row.state, "$dim")
    return lettering(
        (f"{f'~{row.tokens:,}':>8}  ", "$text"),
        (f"{row.state:<11}", "$dim" if row.state == "whole" else style),
        (f"{row.number:>5}  ", "$dim"),
        (row.title, "$text" if row.state in ("whole", "pinned", "shortened") else "$dim"),
    )
