"""One line that a person types, and what to write so that the terminal shows it: characters, blanks and backspaces.

No control sequence is needed for that, so a dumb terminal shows the line as well, and a screen reader says what was
typed and nothing else. What has no room in one row is only changed at its end; where that crosses a row, the line is
written once more below.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from oi_tui.app.engine.text.safe import visible_text, without_hidden

ENTER, END_OF_INPUT, OPEN_EDITOR, COMPLETE = "\r", "\x04", "\x07", "\t"

_PASTED = re.compile(r"\x1b\[200~(.*?)\x1b\[201~", re.DOTALL)
_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z~]|O[A-Za-z]|[^\[O\x1b])")
_WORD_BACK = re.compile(r"\S*\s*\Z")
_WORD_AHEAD = re.compile(r"\s*\S*")
_LONGEST_PASTE = 1_000_000
_LONGEST_SEQUENCE = 32

Motion = Literal["left", "right", "start", "end", "word left", "word right"]

_MOTIONS: dict[str, Motion] = {
    "\x01": "start", "\x05": "end", "\x02": "left", "\x06": "right", "\x1b[D": "left", "\x1b[C": "right",
    "\x1bOD": "left", "\x1bOC": "right", "\x1b[H": "start", "\x1b[F": "end", "\x1bOH": "start", "\x1bOF": "end",
    "\x1b[1~": "start", "\x1b[4~": "end", "\x1bb": "word left", "\x1bf": "word right",
    "\x1b[1;5D": "word left", "\x1b[1;5C": "word right",
}  # fmt: skip
_OLDER, _NEWER = frozenset({"\x10", "\x1b[A", "\x1bOA"}), frozenset({"\x0e", "\x1b[B", "\x1bOB"})
_BACKSPACE, _DELETE = frozenset({"\x7f", "\x08"}), frozenset({"\x1b[3~"})


class Key(NamedTuple):
    """A key, or a paste."""

    name: str
    """The character or sequence; "" for a paste."""
    pasted: str = ""


class KeyReader:
    """Keys from what a terminal sends, wherever it was cut."""

    def __init__(self) -> None:
        self._held = ""

    def read(self, text: str) -> Iterator[Key]:
        """The keys that are complete."""
        text, self._held = self._held + text, ""
        place = 0
        while place < len(text):
            if text[place] != "\x1b":
                name = text[place]
                yield Key(ENTER if name == "\n" else name)
                place += 1
            elif (paste := _PASTED.match(text, place)) is not None:
                yield Key("", paste[1])
                place = paste.end()
            elif text.startswith("\x1b[200~", place) and len(text) - place < _LONGEST_PASTE:
                self._held = text[place:]
                return
            elif (found := _SEQUENCE.match(text, place)) is None:
                if len(text) - place < _LONGEST_SEQUENCE:
                    self._held = text[place:]
                    return
                place += 1
            else:
                yield Key(found[0])
                place = found.end()


class LineEditor:
    """The line that is being typed. Each method returns what to write to the terminal."""

    def __init__(self, columns: int = 80) -> None:
        self.columns = columns
        self.text = ""
        self.place = 0
        """Characters before the cursor."""
        self.hidden = False
        """Whether nothing of it is shown: a password."""
        self.prompt = ""
        """The text before it in its row."""
        self.history: list[str] = []
        """Earlier lines, the newest last."""
        self._past: int | None = None
        self._draft = ""
        """What was typed before an earlier line was taken."""

    def press(self, key: Key) -> str:
        """Do what an editing key does, or take a character."""
        name = key.name
        if not name:
            return self.insert(without_hidden(key.pasted.replace("\r", "\n")).rstrip("\n"))
        if name in _MOTIONS:
            return self._show(self.text, self._place_after(_MOTIONS[name]))
        if name in _OLDER | _NEWER:
            return self._recall(-1 if name in _OLDER else 1)
        before, behind = self.text[: self.place], self.text[self.place :]
        if name in _BACKSPACE:
            return self._show(before[:-1] + behind, len(before[:-1]))
        if name in _DELETE or name == END_OF_INPUT:
            return self._show(before + behind[1:], len(before))
        if name == "\x15":
            return self._show(behind, 0)
        if name == "\x0b":
            return self._show(before, len(before))
        if name in ("\x17", "\x1b\x7f"):
            kept = _WORD_BACK.sub("", before)
            return self._show(kept + behind, len(kept))
        if len(name) > 1 or unicodedata.category(name)[0] == "C":
            return ""
        return self.insert(name)

    def insert(self, text: str) -> str:
        """Put text at the cursor."""
        before, behind = self.text[: self.place], self.text[self.place :]
        return self._show(before + text + behind, len(before) + len(text))

    def replace(self, text: str) -> str:
        return self._show(text, len(text))

    def take(self) -> str:
        """The line, which is over."""
        line, self.text, self.place, self._past = self.text, "", 0, None
        return line

    def remember(self, line: str) -> None:
        """Have it among the earlier lines."""
        if line.strip() and self.history[-1:] != [line]:
            self.history.append(line)

    def whole_row(self) -> str:
        """Prompt and line, to be written at the beginning of a row. The cursor is at the end then."""
        self.place = len(self.text)
        return self.prompt + ("" if self.hidden else _visible(self.text))

    def _recall(self, step: int) -> str:
        if self.hidden or not self.history:
            return ""
        if self._past is None:
            self._past, self._draft = len(self.history), self.text
        self._past = min(max(self._past + step, 0), len(self.history))
        return self.replace(self.history[self._past] if self._past < len(self.history) else self._draft)

    def _place_after(self, motion: Motion) -> int:
        match motion:
            case "left":
                return max(0, self.place - 1)
            case "right":
                return min(len(self.text), self.place + 1)
            case "start":
                return 0
            case "end":
                return len(self.text)
            case "word left":
                return len(_WORD_BACK.sub("", self.text[: self.place]))
            case "word right":
                found = _WORD_AHEAD.match(self.text, self.place)
                return found.end() if found is not None else self.place

    def _show(self, text: str, place: int) -> str:
        before, at, self.text, self.place = self.text, self.place, text, place
        if self.hidden or (before == text and at == place):
            return ""
        if self._fits(before) and self._fits(text):
            return _change(before, at, text, place)
        self.place = len(text)
        if at == len(before) and text.startswith(before):
            return _visible(text[len(before) :])
        if at == len(before) and before.startswith(text) and self._ends_in_same_row(before, text):
            gone = width_of(_visible(before[len(text) :]))
            return "\b" * gone + " " * gone + "\b" * gone
        return "" if before == text else f"\n{self.prompt.splitlines()[-1] if self.prompt else ''}{_visible(text)}"

    def _fits(self, text: str) -> bool:
        return "\n" not in text and width_of(self.prompt) % self.columns + width_of(_visible(text)) < self.columns

    def _ends_in_same_row(self, longer: str, shorter: str) -> bool:
        start = width_of(self.prompt) % self.columns
        rows = [(start + width_of(_visible(text)) - 1) // self.columns for text in (longer, shorter)]
        return "\n" not in longer and rows[0] == rows[1] and (start + width_of(_visible(shorter))) % self.columns != 0


def _visible(text: str) -> str:
    return visible_text(text).text.replace("\t", " ")


def _change(before: str, at: int, after: str, place: int) -> str:
    """From one line with its cursor to another, in one row."""
    shared = shared_length(before, after) if before != after else place
    back, ahead = width_of(_visible(before[shared:at])), _visible(before[at:shared])
    if before == after:
        return "\b" * back + ahead
    rest = _visible(after[shared:])
    blanks = max(0, width_of(_visible(before[shared:])) - width_of(rest))
    return f"{chr(8) * back}{ahead}{rest}{' ' * blanks}{chr(8) * (blanks + width_of(_visible(after[place:])))}"


def width_of(text: str) -> int:
    """Columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shared_length(one: str, other: str) -> int:
    """Characters with which both begin."""
    return next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


def complete_word(text: str, words: Sequence[str]) -> str:
    """The line with its only word completed as far as these words agree; as it was if none begins so."""
    begun = [word for word in words if word.startswith(text)]
    if not begun:
        return text
    return f"{begun[0]} " if len(begun) == 1 else min(begun)[: shared_length(min(begun), max(begun))]
