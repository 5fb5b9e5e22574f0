"""Fractions, roots, indices, powers and accents, on one line."""

import re
import unicodedata
from collections.abc import Sequence

from oi_tui.widgets.timeline.math_boxes import Atom, MathBox, join_side_by_side, row_of
from oi_tui.widgets.timeline.math_symbols import ACCENTS, VULGAR, symbol_class, to_subscript, to_superscript

MOST_MARKED = 8
"""Characters that get an accent each; over a longer text it is written as a word."""

_CALL = re.compile(r"\w+\([^()/ ⁄]*\)")


def atom(text: str) -> Atom:
    """A symbol or a number."""
    return Atom(MathBox((text,)), symbol_class(text))


def flat(atoms: Sequence[Atom]) -> str:
    """On one line, without spaces."""
    return row_of(atoms, spaced=False).rows[0]


def whole(atoms: Sequence[Atom]) -> Atom:
    """Several atoms as one."""
    return atoms[0] if len(atoms) == 1 else Atom(row_of(atoms), single=False)


def fraction(above: Sequence[Atom], below: Sequence[Atom]) -> Atom:
    """On one line, with parentheses only where they are needed."""
    divisor = whole(below)
    numerator, denominator = row_of(above).rows[0], divisor.text
    if shown := VULGAR.get((numerator, denominator)):
        return atom(shown)
    differential = numerator[:1] == denominator[:1] and denominator[:1] in ("d", "∂")
    closed = divisor.single or (differential and " " not in denominator) or _CALL.fullmatch(denominator) is not None
    opened = not any(mark in numerator for mark in " /⁄")
    bar = "⁄" if opened and closed else "/"
    left = numerator if opened else f"({numerator})"
    right = denominator if closed else f"({denominator})"
    return Atom(MathBox((left + bar + right,)), "inner", single=False)


def root(degree: str, inside: Sequence[Atom]) -> Atom:
    """A root with its degree, if it is not the square root."""
    sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(degree) or (to_superscript(degree) or f"({degree})") + "√"
    radicand = whole(inside)
    return Atom(MathBox((sign + (radicand.text if radicand.single else f"({radicand.text})"),)))


def with_script(base: Atom, mark: str, script: Sequence[Atom]) -> Atom:
    """An index (`_`) or a power (`^`) behind its base."""
    text = flat(script)
    if not text:
        return base
    shown = (to_superscript if mark == "^" else to_subscript)(text)
    if shown is None:
        shown = mark + (text if len(text) == 1 else f"({text})")
    height, line = len(base.box.rows), base.box.base
    if height == 1 and not base.single and " " in base.text.strip():
        return Atom(MathBox((f"({base.text}){shown}",)), base.kind)
    place = line if mark == "^" else line - height + 1
    box = join_side_by_side([base.box, MathBox((shown,), place if height > 1 else 0)])
    return Atom(box, base.kind, base.single)


def with_accent(name: str, text: str) -> Atom:
    """The text with the accent on each character; a long text in parentheses after the name of the accent."""
    if len(text) > MOST_MARKED:
        return Atom(MathBox((f"{name}({text})",)))
    marked = "".join(letter if letter == " " else letter + ACCENTS[name] for letter in text)
    return Atom(MathBox((unicodedata.normalize("NFC", marked),)))
