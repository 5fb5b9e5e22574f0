"""What was changed in files, or what undo and redo would do, as a diff; nothing is brought back without a key."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from oi_tui.app.engine.core.blocks import Action, Block, CallBlock, UserBlock
from oi_tui.app.engine.core.chat_model import EDIT_FILE, WRITE_FILE
from oi_tui.app.engine.core.tool_replies import ChangesFound
from oi_tui.app.engine.core.tool_verbs import ReadChanges, UndoChanges
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.themes.palette import Palette
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.timeline.source_view import SourceView

_PARTS = {
    "block": "the last block that changed files",
    "turn": "the last turn that changed files",
    "session": "this session",
}
_CHOSEN = {"block": "this block", "turn": "this turn"}
_TITLES = {"diff": "Changes by", "undo": "Undo changes by", "redo": "Redo what was undone last"}


class UndoScreen(ModalScreen[bool | None]):
    """Dismissed with whether files that somebody else changed are brought back too, None where nothing is."""

    CSS_PATH = "undo_screen.tcss"
    DECIDES = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y", "agree", "undo or redo"),
        Hint("f", "force", "all, over other changes"),
        Hint("n,escape", "close", "close"),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
    ]

    def __init__(self, found: ChangesFound, palette: Palette | None) -> None:
        super().__init__()
        self._found, self._palette = found, palette
        self._blocked = [file for file in found.files if file.problem]

    def compose(self) -> ComposeResult:
        """Title, what is left as it is, the diff, the keys."""
        found = self._found
        part = (_CHOSEN if found.block_id else _PARTS).get(found.scope, _PARTS[found.scope])
        by = "" if found.purpose == "redo" else f" {part}"
        yield Words(f"{_TITLES[found.purpose]}{by}: {quantity(len(found.files), 'file')}", id="undo-title")
        left = [f"{file.name} {safe_text(file.problem)}: it stays as it is." for file in self._blocked]
        yield Words("\n".join(left[:5] + [f"… and {len(left) - 5} more"] * (len(left) > 5)), id="undo-left")
        yield SourceView(id="undo-diff")
        yield KeyRow(id="undo-keys")

    def on_mount(self) -> None:
        view = self.query_one(SourceView)
        if self._palette is not None:
            view.set_palette(self._palette)
        view.show("\n".join(file.diff for file in self._found.files if file.diff), "diff")
        self.query_one("#undo-left").display = bool(self._blocked)
        off = [key for key, counts in (("y", self._can_agree), ("f", self._can_force)) if not counts]
        keys = ("n",) if self._found.purpose == "diff" else ("y", "f", "n")
        words = {"y": (self._found.purpose, self._found.purpose)}
        self.query_one(KeyRow).labels = key_labels(self, *keys, words=words, off=tuple(off))

    @property
    def _can_agree(self) -> bool:
        return self._found.purpose != "diff" and len(self._blocked) < len(self._found.files)

    @property
    def _can_force(self) -> bool:
        return self._found.purpose != "diff" and any(file.forceable for file in self._blocked)

    def action_agree(self) -> None:
        """Bring back what nobody else changed."""
        if self._can_agree:
            self.dismiss(False)

    def action_force(self) -> None:
        """Bring back the others too."""
        if self._can_force:
            self.dismiss(True)

    def action_close(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)

    def action_scroll(self, rows: int) -> None:
        """Move the diff by rows."""
        self.query_one(SourceView).scroll_relative(y=rows, animate=False)

    def action_page(self, pages: int) -> None:
        """Move the diff by pages."""
        view = self.query_one(SourceView)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)


def show_changes(app: App[object], found: ChangesFound, bridge: Bridge, palette: Palette | None) -> None:
    """On a screen of its own, or in a word where there is nothing."""
    if not found.files:
        app.notify(found.why or "No file was changed.", timeout=5)
        return

    def decide(force: bool | None) -> None:
        if force is not None:
            redo = found.purpose == "redo"
            bridge.send(
                UndoChanges(scope=found.scope, block_id=found.block_id, redo=redo, shown=found.state, force=force)
            )

    app.push_screen(UndoScreen(found, palette), decide)


def undo_look(blocks: Sequence[Block], block: Block) -> ReadChanges | None:
    """What asks how undo would change files back: those of the block, or of its turn where it changed none itself. None
    where the turn changed none."""
    if _has_changes(block):
        return ReadChanges(scope="block", block_id=block.id, purpose="undo")
    made = [one.id for one in _turn_of(blocks, block) if _has_changes(one)]
    return ReadChanges(scope="turn", block_id=made[-1], purpose="undo") if made else None


def _has_changes(block: Block) -> bool:
    """Whether it changed files in a way that can be undone."""
    if isinstance(block, CallBlock) and block.tool in (EDIT_FILE, WRITE_FILE):
        return block.state == "ok"
    return isinstance(block, Action) and block.written is not None and block.written.undoable > 0


def _turn_of(blocks: Sequence[Block], block: Block) -> Sequence[Block]:
    """The blocks of the turn that this one belongs to: from its prompt to the next."""
    here = next((number for number, one in enumerate(blocks) if one.id == block.id), 0)
    first = next((number for number in range(here, -1, -1) if isinstance(blocks[number], UserBlock)), 0)
    last = next((number for number in range(here + 1, len(blocks)) if isinstance(blocks[number], UserBlock)), None)
    return blocks[first:last]
