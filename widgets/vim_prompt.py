"""Vim's keys in the prompt: keys go to `vim_keys.py`, what they change goes into the text, with Textual's own undo."""

from collections.abc import Callable

from textual.events import Key
from textual.keys import key_to_character
from textual.widgets.text_area import Location, Selection

from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.vim_keys import Vim, VimStep
from oi_tui.widgets.vim_motions import line_end, line_start, on_character

_ARROWS = {"left": "h", "right": "l", "up": "k", "down": "j", "home": "0", "end": "$"}
"""In visual mode they select, too."""


class VimPrompt:
    """Vim's modes in the prompt: `show` is called with the mode and the keys that wait for others."""

    def __init__(self, area: PromptArea, show: Callable[[str, str], object]) -> None:
        self._area = area
        self._show = show
        self._vim = Vim()
        self._cursor = 0
        """The cursor in visual mode; that of the text area is after the selection."""
        self.tell()

    def tell(self) -> None:
        """Show the mode again."""
        mode = self._vim.mode
        self._show("visual lines" if mode == "lines" else mode, self._vim.pending)

    def begin(self) -> None:
        """Another text: insert mode."""
        self._vim.forget()
        self.tell()

    def take(self, event: Key) -> bool:
        """Whether this key was for Vim."""
        if event.key.startswith("alt+") and (letter := self._after_escape(event)):
            self._press("escape")
            taken = self._press(letter)
            if not taken:
                self._area.insert(letter)
            return True
        key = event.character if event.is_printable and event.character else event.key
        return self._press(_ARROWS.get(key, key) if self._vim.mode in ("visual", "lines") else key)

    def _after_escape(self, event: Key) -> str:
        """The letter, where Escape and a letter came so quickly that the terminal's bytes are those of alt and it."""
        key = event.key
        name = key.removeprefix("alt+")
        letter = key_to_character(name.removeprefix("shift+")) or ""
        letter = letter.upper() if name.startswith("shift+") else letter
        chain = self._area.screen._modal_binding_chain
        bound = any(key in bindings.key_to_bindings for _, bindings in chain)
        return "" if bound or not letter.isprintable() else letter

    def _press(self, key: str) -> bool:
        area, vim = self._area, self._vim
        in_visual = vim.mode in ("visual", "lines")
        text = area.text
        cursor = min(self._cursor, len(text)) if in_visual else _offset(text, area.cursor_location)
        step = vim.press(key, text, cursor)
        if step is not None:
            self._obey(step)
        elif key == "escape" and in_visual:
            area.selection = Selection.cursor(area.cursor_location)
        self.tell()
        return step is not None

    def _obey(self, step: VimStep) -> None:
        area = self._area
        match step.wish:
            case "undo" | "redo":
                for _ in range(step.times):
                    (area.undo if step.wish == "undo" else area.redo)()
                self._stand(on_character(area.text, _offset(area.text, area.cursor_location)))
            case "up" | "down":
                for _ in range(step.times):
                    area.action_line(-1 if step.wish == "up" else 1)
                self._stand(on_character(area.text, _offset(area.text, area.cursor_location)))
            case "search" | "next match" | "match before":
                name = {"search": "find", "next match": "match 1"}.get(step.wish, "match -1")
                area.run_worker(area.run_action(f"screen.part('{name}')"))
            case "commands":
                area.run_worker(area.run_action("app.palette"))
            case _:
                self._change(step)

    def _change(self, step: VimStep) -> None:
        area, shift = self._area, 0
        if step.changes:
            area.history.checkpoint()
        for change in step.changes:
            text = area.text
            left = len(text) - (change.end - change.start) + len(change.text)
            places = _location(text, change.start), _location(text, change.end)
            if change.foreign:
                area.insert_foreign(change.text, *places)
            else:
                area.replace(change.text, *places, maintain_selection_offset=False)
            shift += len(area.text) - left
        if step.changes:
            area.history.checkpoint()
        self._stand(step.cursor + shift)

    def _stand(self, cursor: int) -> None:
        area, vim = self._area, self._vim
        self._cursor = cursor
        text = area.text
        if vim.mode == "insert" or vim.mode == "normal":
            area.move_cursor(_location(text, cursor))
            return
        first, last = sorted((min(vim.anchor, len(text)), cursor))
        if vim.mode == "lines":
            first, last = line_start(text, first), line_end(text, last) - 1
        ends = _location(text, first), _location(text, min(last + 1, len(text)))
        area.selection = Selection(*(ends if cursor >= vim.anchor else ends[::-1]))


def _offset(text: str, location: Location) -> int:
    """Characters before a location."""
    row, column = location
    at = 0
    for _ in range(row):
        at = text.find("\n", at) + 1
    return at + column


def _location(text: str, offset: int) -> Location:
    return text.count("\n", 0, offset), offset - line_start(text, offset)
