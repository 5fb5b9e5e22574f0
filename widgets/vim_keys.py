"""Vim's keys over a text and a cursor: what each of them changes. Nothing here knows a widget.

A command is a count, an operator and what it is for (`2dw`, `ci"`), or a letter (`x`, `p`). Keys that are no command
yet wait; those that can be none are dropped, so that a letter in normal mode is never typed into the text.
"""

from typing import Literal, NamedTuple

from oi_tui.widgets.vim_motions import (
    Aim,
    aim,
    first_word,
    line_end,
    line_start,
    on_character,
    text_object,
)

Mode = Literal["insert", "normal", "visual", "lines"]
"""`lines` is visual mode of whole lines."""

Wish = Literal["", "undo", "redo", "up", "down", "search", "next match", "match before", "commands"]
"""What only the widget around the text can do."""

_MOTIONS = frozenset("hjklwbeWBE0^$G%{};,")
_NEXT = {"g": frozenset("geE~uUJ"), **dict.fromkeys("fFtTr", None)}
"""Keys that need another one, and which; None for any."""
_OPERATORS = ("d", "c", "y", "g~", "gu", "gU", ">", "<")
_OBJECTS = frozenset("wWpbB\"'`()[]{}<>")
_SHORT = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "Y": "yy", "s": "cl", "S": "cc"}
_LETTERS = frozenset("iaIAoOpPuJ~.vVnN/:")
_INDENT = "    "


class Change(NamedTuple):
    """Replace the text between two offsets by `text`."""

    start: int
    end: int
    text: str
    foreign: bool = False
    """Whether it was not typed just now."""


class VimStep(NamedTuple):
    """What a key does: changes one after the other, then the cursor."""

    cursor: int
    changes: tuple[Change, ...] = ()
    wish: Wish = ""
    times: int = 1


class _Command(NamedTuple):
    number: int | None
    """The count before it."""
    operator: str
    what: str
    """A motion, an object, a letter, or the operator again for whole lines."""


class _Unknown(Exception):
    """These keys are no command."""


def _read(keys: str, *, visual: bool) -> _Command | None:
    """The command of these keys; None if more are needed."""
    count, rest = _count(keys)
    operator = ""
    if not visual:
        operator = next((one for one in _OPERATORS if rest.startswith(one)), "")
        if operator:
            more, rest = _count(rest[len(operator) :])
            count = (count or 1) * (more or 1) if count or more else None
    if not rest:
        return None
    if operator and rest in (operator, operator[-1]):
        return _Command(count, operator, operator)
    first, second = rest[0], rest[1:]
    if (operator or visual) and first in "ia":
        if second and second not in _OBJECTS:
            raise _Unknown
        return _Command(count, operator, rest) if second else None
    if first in _NEXT:
        allowed = _NEXT[first]
        if second and ((allowed is not None and second not in allowed) or (operator and first == "r")):
            raise _Unknown
        return _Command(count, operator, rest) if second else None
    if first in _MOTIONS or (not operator and (first in _LETTERS or first in _SHORT)):
        return _Command(count, operator, first)
    if visual and first in "dcyx<>so":
        return _Command(count, "", first)
    raise _Unknown


def _count(keys: str) -> tuple[int | None, str]:
    digits = len(keys) - len(keys.lstrip("0123456789"))
    if not digits or keys[0] == "0":
        return None, keys
    return min(int(keys[:digits][:6]), 9999), keys[digits:]


class Vim:
    """The mode, the keys that wait, what was cut, and what `.` repeats."""

    def __init__(self) -> None:
        self.mode: Mode = "insert"
        self.pending = ""
        """Keys that are no command yet."""
        self.anchor = 0
        """Where visual mode began."""
        self._cut = ""
        self._cut_lines = False
        self._sought = ""
        """The last `f` or `t`, for `;` and `,`."""
        self._last = ("", "")
        """Keys of the last change, and what was typed after them."""
        self._typing: tuple[str, int, str] | None = None
        """While typing after a command: the text, the cursor, and its keys."""

    def press(self, key: str, text: str, cursor: int) -> VimStep | None:
        """The effect of this key, a character or Textual's name of one; None if Vim's keys do not use it."""
        if self.mode == "insert":
            return self._leave_insert(text, cursor) if key == "escape" else None
        key = {"backspace": "h", "space": "l", " ": "l", "delete": "x"}.get(key, key) if not self.pending else key
        if key == "escape":
            return self._escape(text, cursor)
        if key == "ctrl+r":
            self.pending = ""
            return VimStep(cursor, wish="redo")
        if len(key) != 1:
            self.pending = ""
            return None
        self.pending += key
        try:
            command = _read(self.pending, visual=self.mode != "normal")
        except _Unknown:
            self.pending = ""
            return VimStep(cursor)
        if command is None:
            return VimStep(cursor)
        keys, self.pending = self.pending, ""
        return self._do(command, keys, text, cursor)

    def forget(self) -> None:
        """Another text: begin in insert mode."""
        self.mode, self.pending, self._typing = "insert", "", None

    # -- modes -----------------------------------------------------------------------------------------------------

    def _escape(self, text: str, cursor: int) -> VimStep | None:
        if not self.pending and self.mode == "normal":
            return None
        if not self.pending:
            self.mode = "normal"
        self.pending = ""
        return VimStep(on_character(text, cursor))

    def _leave_insert(self, text: str, cursor: int) -> VimStep:
        self.mode = "normal"
        if self._typing is not None:
            before, at, keys = self._typing
            kept = len(before) - at
            if text[:at] == before[:at] and text[len(text) - kept :] == before[at:]:
                self._last = (keys, text[at : len(text) - kept])
            self._typing = None
        return VimStep(max(line_start(text, cursor), cursor - 1))

    def _insert(self, keys: str, text: str, cursor: int, changes: tuple[Change, ...] = ()) -> VimStep:
        for change in changes:
            text = text[: change.start] + change.text + text[change.end :]
        self.mode, self._typing = "insert", (text, cursor, keys)
        return VimStep(cursor, changes)

    # -- commands --------------------------------------------------------------------------------------------------

    def _do(self, command: _Command, keys: str, text: str, cursor: int) -> VimStep:
        if self.mode != "normal":
            return self._in_visual(command, text, cursor)
        if command.what in _SHORT and not command.operator:
            short = _SHORT[command.what]
            command = _Command(command.number, short[0], short[1])
        if command.operator:
            return self._operate(command, keys, text, cursor)
        times = command.number or 1
        if command.what in ("j", "k"):
            return VimStep(cursor, wish="down" if command.what == "j" else "up", times=times)
        target = self._aim(command.what, command.number, text, cursor)
        if target is not None:
            return VimStep(on_character(text, target.to))
        return self._letter(command.what, times, keys, text, cursor)

    def _aim(self, what: str, count: int | None, text: str, cursor: int) -> Aim | None:
        again = what in (";", ",")
        if again and self._sought:
            what = self._sought if what == ";" else self._sought[0].swapcase() + self._sought[1]
        elif what[0] in "fFtT":
            self._sought = what
        return aim(text, cursor, what, count, again=again)

    def _letter(self, what: str, times: int, keys: str, text: str, cursor: int) -> VimStep:
        start, end = line_start(text, cursor), line_end(text, cursor)
        match what:
            case "i":
                return self._insert(keys, text, cursor)
            case "a":
                return self._insert(keys, text, min(end, cursor + 1))
            case "I":
                return self._insert(keys, text, first_word(text, cursor))
            case "A":
                return self._insert(keys, text, end)
            case "o":
                return self._insert(keys, text, end + 1, (Change(end, end, "\n"),))
            case "O":
                return self._insert(keys, text, start, (Change(start, start, "\n"),))
            case "v" | "V":
                self.mode, self.anchor = "visual" if what == "v" else "lines", cursor
                return VimStep(cursor)
            case "u":
                return VimStep(cursor, wish="undo", times=times)
            case "n" | "N":
                return VimStep(cursor, wish="next match" if what == "n" else "match before")
            case "/" | ":":
                return VimStep(cursor, wish="search" if what == "/" else "commands")
            case ".":
                return self._repeat(text, cursor)
        step = self._change(what, times, text, cursor)
        if step.changes:
            self._last = (keys, "")
        return step

    def _change(self, what: str, times: int, text: str, cursor: int) -> VimStep:
        """The letters that change the text and stay in normal mode."""
        end = line_end(text, cursor)
        match what[0]:
            case "p" | "P":
                return self._put(times, text, cursor, above=what == "P")
            case "J":
                return _join(text, cursor, max(1, times - 1))
            case "~":
                to = min(end, cursor + times)
                return _replace(text, cursor, to, text[cursor:to].swapcase(), to)
            case "r" if cursor + times <= end:
                return _replace(text, cursor, cursor + times, what[1] * times, cursor + times - 1)
        return _join(text, cursor, max(1, times - 1), "") if what == "gJ" else VimStep(cursor)

    def _operate(self, command: _Command, keys: str, text: str, cursor: int) -> VimStep:
        """An operator over a motion, an object, or lines."""
        operator, what, count = command.operator, command.what, command.number
        if what == operator:
            below = aim(text, cursor, "j", count - 1) if (count or 1) > 1 and count else None
            return self._over(operator, cursor, below.to if below is not None else cursor, keys, text, lines=True)
        if what[0] in "ia" and len(what) == 2:
            found = text_object(text, cursor, what)
            return VimStep(cursor) if found is None else self._over(operator, *found, keys, text, back_to=cursor)
        if operator == "c" and what in "wW" and not text[cursor : cursor + 1].isspace():
            what = "e" if what == "w" else "E"
            if cursor + 1 == len(text) or text[cursor + 1 : cursor + 2].isspace():  # already at its end
                return self._over(operator, cursor, cursor + 1, keys, text)
        target = self._aim(what, count, text, cursor)
        if target is None:
            return VimStep(cursor)
        to = target.to
        if target.reach == "lines":
            return self._over(operator, min(cursor, to), max(cursor, to), keys, text, lines=True)
        if what in "wW" and cursor < line_end(text, cursor) < to:
            to = line_end(text, cursor)  # the last word of a line leaves the next line alone
        first, last = sorted((cursor, to))
        return self._over(operator, first, last + (target.reach == "inclusive"), keys, text)

    def _in_visual(self, command: _Command, text: str, cursor: int) -> VimStep:
        what, lines = command.what, self.mode == "lines"
        first, last = sorted((self.anchor, cursor))
        operator = {"x": "d", "s": "c", "~": "g~", "X": "d", "D": "d", "C": "c", "Y": "y"}.get(what, what)
        if operator in _OPERATORS:
            self.mode = "normal"
            wide = lines or what in "XDCY<>"
            return self._over(operator, first, last if wide else last + 1, "", text, lines=wide)
        if what in ("v", "V"):
            other: Mode = "visual" if what == "v" else "lines"
            self.mode = "normal" if self.mode == other else other
            return VimStep(cursor)
        if what == "o":
            self.anchor, cursor = cursor, self.anchor
            return VimStep(cursor)
        if what[0] in "ia" and len(what) == 2 and (found := text_object(text, cursor, what)) is not None:
            self.anchor = found[0]
            return VimStep(max(found[0], found[1] - 1))
        if what[0] == "r" and len(what) == 2:
            self.mode = "normal"
            filled = "".join("\n" if one == "\n" else what[1] for one in text[first : last + 1])
            return _replace(text, first, min(len(text), last + 1), filled, first)
        if what in ("p", "P"):
            self.mode = "normal"
            return VimStep(first, (Change(first, min(len(text), last + 1), self._cut, foreign=True),))
        if what == "J":
            self.mode = "normal"
            return _join(text, first, max(1, text.count("\n", first, last)))
        target = self._aim(what, command.number, text, cursor)
        return VimStep(cursor if target is None else min(target.to, max(0, len(text) - (target.reach != "lines"))))

    def _over(
        self,
        operator: str,
        first: int,
        last: int,
        keys: str,
        text: str,
        *,
        lines: bool = False,
        back_to: int | None = None,
    ) -> VimStep:
        """Do it to what is between two offsets, or to the lines of them."""
        last = min(last, len(text))
        if lines:
            first, last = line_start(text, first), line_end(text, last)
        if operator in ("<", ">"):
            return self._shift(line_start(text, first), line_end(text, last), keys, text, right=operator == ">")
        if operator[0] == "g":
            case = {"g~": str.swapcase, "gu": str.lower, "gU": str.upper}[operator]
            self._last = (keys, "") if keys else self._last
            return _replace(text, first, last, case(text[first:last]), first)
        self._cut, self._cut_lines = text[first:last], lines
        if operator == "y":
            return VimStep(on_character(text, first if back_to is None or not lines else back_to))
        if operator == "c":
            return self._insert(keys, text, first, (Change(first, last, ""),))
        self._last = (keys, "") if keys else self._last
        if lines:
            if last < len(text):
                last += 1
            elif first > 0:
                first -= 1
        left = text[:first] + text[last:]
        cursor = first_word(left, min(first + (lines and first < len(left) and left[first] == "\n"), len(left)))
        if not lines:
            cursor = on_character(left, first)
        return VimStep(cursor, (Change(first, last, ""),))

    def _shift(self, first: int, last: int, keys: str, text: str, *, right: bool) -> VimStep:
        self._last = (keys, "") if keys else self._last
        shifted = []
        for line in text[first:last].split("\n"):
            blanks = len(line) - len(line.lstrip(" "))
            shifted.append((_INDENT + line if line else line) if right else line[min(blanks, len(_INDENT)) :])
        new = "\n".join(shifted)
        return _replace(text, first, last, new, first + len(new) - len(new.lstrip(" ")))

    def _put(self, times: int, text: str, cursor: int, *, above: bool) -> VimStep:
        if not self._cut:
            return VimStep(cursor)
        cut = self._cut
        if self._cut_lines:
            many = "\n".join([cut] * times)
            at = line_start(text, cursor) if above else line_end(text, cursor)
            new = f"{many}\n" if above else f"\n{many}"
            start = at + (not above)
            return VimStep(start + len(cut) - len(cut.lstrip(" \t")), (Change(at, at, new, foreign=True),))
        at = cursor if above else min(line_end(text, cursor), cursor + 1)
        return VimStep(at + max(0, len(cut) * times - 1), (Change(at, at, cut * times, foreign=True),))

    def _repeat(self, text: str, cursor: int) -> VimStep:
        """The last change again, with what was typed after it."""
        keys, typed = self._last
        if not keys:
            return VimStep(cursor)
        command = _read(keys, visual=False)
        assert command is not None
        step = self._do(command, keys, text, cursor)
        if self.mode == "insert":
            self.mode, self._typing = "normal", None
            end = step.cursor + len(typed)
            changes = (*step.changes, Change(step.cursor, step.cursor, typed)) if typed else step.changes
            step = VimStep(max(0, end - 1), changes)
        self._last = (keys, typed)
        return step


def _replace(text: str, first: int, last: int, new: str, cursor: int) -> VimStep:
    left = text[:first] + new + text[last:]
    return VimStep(on_character(left, cursor), (Change(first, last, new),) if text[first:last] != new else ())


def _join(text: str, cursor: int, times: int, blank: str = " ") -> VimStep:
    changes: list[Change] = []
    for _ in range(times):
        end = line_end(text, cursor)
        if end >= len(text):
            break
        after = end + 1
        while blank and after < len(text) and text[after] in " \t":
            after += 1
        joint = (
            "" if not blank or text[end - 1 : end].isspace() or text[after : after + 1] in ("", "\n", ")") else blank
        )
        changes.append(Change(end, after, joint))
        text, cursor = text[:end] + joint + text[after:], end
    return VimStep(on_character(text, cursor), tuple(changes))
