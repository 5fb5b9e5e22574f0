r"""LaTeX mathematics as text that reads well in a terminal: `\frac{a}{b}` as a⁄b, `x^2` as x².

It reads what models write, not TeX: nothing is defined, expanded or loaded, so the work is linear in the length of the
formula. Unknown parts stay verbatim.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.math_atoms import atom, flat, fraction, root, whole, with_accent, with_script
from oi_tui.widgets.timeline.math_boxes import Atom, MathBox, TooLarge, bracket, join_side_by_side, matrix, row_of
from oi_tui.widgets.timeline.math_symbols import (
    SymbolClass,
    in_alphabet,
    negate,
    role,
    symbol,
    symbol_class,
    to_subscript,
)

LONGEST_FORMULA = 5_000
"""Characters of a formula; a longer one is shown verbatim."""

DEEPEST = 30
"""Groups inside each other."""

_TOKEN = re.compile(
    r"\\[A-Za-z]+|\\[\s\S]|%[^\n]*\n?|\s+|\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?|[A-Za-z]|'+|[\s\S][\u0300-\u036f]*"
)
_LENGTH = re.compile(r"\[\s*-?[\d.]+\s*[a-z]{2}\s*\]")
_ENVELOPE = re.compile(r"\s*(?:\$\$(?P<a>.*)\$\$|\$(?P<b>.*)\$|\\\[(?P<c>.*)\\\]|\\\((?P<d>.*)\\\))\s*", re.DOTALL)
_INSIDE = re.compile(r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<!\\)\$(.+?)(?<!\\)\$|\\\[(.+?)\\\]|\\\((.+?)\\\)", re.DOTALL)
_FRACTIONS = frozenset(("frac", "dfrac", "tfrac", "cfrac", "nicefrac", "sfrac"))
_BINOMIALS = frozenset(("binom", "dbinom", "tbinom"))
_FENCES = {
    "pmatrix": "()",
    "bmatrix": "[]",
    "Bmatrix": "{}",
    "vmatrix": "||",
    "Vmatrix": "‖‖",
    "cases": "{",
    "dcases": "{",
    "rcases": " }",
}
_ROLES: dict[str, SymbolClass] = {"mid": "rel", "bmod": "op", "mod": "op", "colon": "punct"}
_COUNT = re.compile(r"(?<=[A-Za-z)\]])\d+")
"""Of atoms in a molecule."""
_ESCAPED = re.compile(r"\\([^A-Za-z])")
_CENTRED = frozenset(("matrix", "smallmatrix", "array", "tabular", "gather", "gathered", "multline"))


class _Unreadable(Exception):
    """Too deep, or something closes that was never opened."""


def readable_math(latex: str, *, rows: bool = True) -> str:
    """A formula, with or without its dollars, in readable Unicode; safe to show. Never raises.

    Matrices and aligned equations take several lines; with `rows` off, everything is on one. Text with formulas between
    dollars keeps its words.
    """
    latex = safe_text(latex).strip()
    if len(latex) > LONGEST_FORMULA:
        return _plain_latex(latex, rows=rows)
    if (envelope := _ENVELOPE.fullmatch(latex)) and not _has_more_dollars(inner := envelope[envelope.lastgroup or 0]):
        return _formula(inner, rows=rows)
    if _INSIDE.search(latex):
        text = _INSIDE.sub(lambda found: _formula(found[found.lastindex or 0], rows=False), latex)
        return _plain_latex(safe_text(text), rows=rows)
    return _formula(latex, rows=rows)


def _has_more_dollars(latex: str) -> bool:
    return re.search(r"(?<!\\)(?:\$|\\[\]\[()])", latex) is not None


def _formula(latex: str, *, rows: bool) -> str:
    for several in (True, False) if rows else (False,):
        try:
            box = _Reader(latex, rows=several).all()
        except TooLarge:
            continue
        except _Unreadable:
            break
        lines = [safe_text(row).rstrip() for row in box.rows]
        return "\n".join(lines) if rows else " ".join(" ".join(lines).split())
    return _plain_latex(latex, rows=rows)


def _plain_latex(latex: str, *, rows: bool) -> str:
    return latex.expandtabs(4) if rows else " ".join(latex.split())


class _Reader:
    """Reads one formula; used once."""

    def __init__(self, latex: str, *, rows: bool) -> None:
        self._tokens = _TOKEN.findall(latex)
        self._next = 0
        self._rows = rows
        self._spaced = True
        self._depth = 0

    def all(self) -> MathBox:
        cells = self._cells("")
        if self._next < len(self._tokens):
            raise _Unreadable
        if len(cells) == 1 and len(cells[0]) == 1:
            return self._row(cells[0][0])
        return self._table("aligned", cells, "")

    # Tokens

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _skip_space(self) -> None:
        while (token := self._peek()) and (token.isspace() or token[0] == "%"):
            self._next += 1

    def _argument(self) -> list[Atom]:
        """A group in braces, or the next character or command."""
        self._skip_space()
        token = self._peek()
        if token in ("", "}", "&", "\\\\") or token in ("\\end", "\\right"):
            return []
        if token[0].isdigit() and len(token) > 1:
            self._tokens[self._next] = token[1:]
            return [atom(token[0])]
        with_rows, self._rows = self._rows, False
        atoms = list(self._atom(self._take()))
        self._rows = with_rows
        return atoms

    def _script(self) -> list[Atom]:
        """An index or a power, which is written close."""
        before, self._spaced = self._spaced, False
        atoms = self._argument()
        self._spaced = before
        return atoms

    def _row(self, atoms: Sequence[Atom]) -> MathBox:
        return row_of(atoms, spaced=self._spaced)

    def _raw(self, closing: str = "}") -> str:
        """The text of a group in braces, verbatim."""
        self._skip_space()
        if self._peek() != {"}": "{", "]": "["}[closing]:
            return self._take() if closing == "}" and self._peek() not in ("}", "") else ""
        self._take()
        taken: list[str] = []
        depth = 0
        while (token := self._take()) and (depth or token != closing):
            depth += (token == "{") - (token == "}")
            taken.append(token)
        return "".join(taken)

    # Rows and cells

    def _cells(self, closing: str) -> list[list[list[Atom]]]:
        """Rows of cells up to the closing token, which is not consumed."""
        cells: list[list[list[Atom]]] = [[[]]]
        while (token := self._peek()) and token != closing:
            if token in ("}", "\\end", "\\right") and closing != token:
                break
            self._take()
            if token == "&":
                cells[-1].append([])
            elif token in ("\\\\", "\\cr", "\\newline"):
                self._skip_length()
                cells.append([[]])
            else:
                self._extend(cells[-1][-1], token)
        while len(cells) > 1 and not any(cells[-1]):
            cells.pop()
        return cells

    def _skip_length(self) -> None:
        """`[2pt]` behind the end of a row."""
        ahead = "".join(self._tokens[self._next : self._next + 12])
        if found := _LENGTH.match(ahead):
            passed = 0
            while passed < found.end():
                passed += len(self._take())

    def _extend(self, atoms: list[Atom], token: str) -> None:
        if token in ("^", "_") or token[0] == "'":
            base = atoms.pop() if atoms else atom("")
            atoms.append(self._with_scripts(base, token))
        else:
            atoms += self._atom(token)

    def _table(self, name: str, cells: list[list[list[Atom]]], columns: str) -> MathBox:
        fences = _FENCES.get(name, "")
        left, right = fences[:1].strip(), fences[1:2]
        if not self._rows:
            flat = "; ".join(", ".join(self._row(cell).rows[0] for cell in row) for row in cells)
            if name not in _FENCES and name not in _CENTRED:
                flat = "; ".join(" ".join(self._row(cell).rows[0] for cell in row) for row in cells)
            return MathBox((left + flat + right,))
        boxes = [[self._row(cell) for cell in row] for row in cells]
        if "cases" in name:
            return bracket(matrix(boxes, "l"), left, right)
        if name in _CENTRED or name in _FENCES:
            return bracket(matrix(boxes, columns or "c"), left, right)
        return matrix(boxes, "rl", gap=4)

    def _environment(self) -> Iterator[Atom]:
        name = self._raw().strip().rstrip("*")
        columns = ""
        if name in ("array", "tabular"):
            columns = "".join(letter for letter in self._raw() if letter in "lcr")
        self._enter()
        cells = self._cells("\\end")
        self._depth -= 1
        if self._take():
            self._raw()
        yield Atom(self._table(name, cells, columns), "inner")

    # Atoms

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _Unreadable

    def _atom(self, token: str) -> Iterator[Atom]:
        self._enter()
        match token[0]:
            case "\\":
                yield from self._command(token[1:])
            case "{":
                yield from self._group()
            case "}" | "%" | "$" | "&":
                pass
            case "~":
                yield atom(" ")
            case _ if token.isspace():
                pass
            case "-":
                yield atom("−")
            case "^" | "_":
                yield self._with_scripts(atom(""), token)
            case _:
                yield atom(token)
        self._depth -= 1

    def _group(self) -> Iterator[Atom]:
        atoms: list[Atom] = []
        while (token := self._peek()) and token != "}":
            if token == "\\end" or token == "\\right":
                break
            self._take()
            if token == "\\\\":
                atoms.append(atom(","))
            else:
                self._extend(atoms, token)
        if self._peek() == "}":
            self._take()
        if len(atoms) == 1:
            yield atoms[0] if atoms[0].kind in ("op", "inner") else replace(atoms[0], kind="ord")
        elif atoms:
            yield Atom(self._row(atoms), "ord", single=False)

    def _command(self, name: str) -> Iterator[Atom]:
        match name:
            case _ if name in _FRACTIONS:
                yield fraction(self._argument(), self._argument())
            case _ if name in _BINOMIALS:
                above, below = row_of(self._argument()), row_of(self._argument())
                yield Atom(
                    join_side_by_side([MathBox(("(",)), above, MathBox((" choose ",)), below, MathBox((")",))]), "inner"
                )
            case "sqrt":
                yield root(self._raw("]").strip() if self._peek() == "[" else "", self._argument())
            case "begin":
                yield from self._environment()
            case "left":
                yield from self._between()
            case "not":
                yield Atom(MathBox((negate(flat(self._argument())),)), "rel")
            case "overset" | "stackrel" | "underset":
                script, base = self._script(), self._argument()
                mark = "_" if name == "underset" else "^"
                yield with_script(whole(base), mark, script)
            case "xrightarrow" | "xleftarrow":
                yield with_script(atom("→" if name == "xrightarrow" else "←"), "^", self._script())
            case "boxed":
                yield Atom(bracket(row_of(self._argument()), "[", "]"))
            case "pmod":
                yield Atom(join_side_by_side([MathBox(("(mod ",)), row_of(self._argument()), MathBox((")",))]), "inner")
            case "tag":
                yield Atom(MathBox((f"   ({self._raw()})",)))
            case "textcolor" | "colorbox":
                self._raw()
                yield from self._argument()
            case "substack":
                yield from self._argument()
            case "ce":
                formula = _COUNT.sub(lambda found: to_subscript(found[0]) or "", self._raw())
                yield Atom(MathBox((formula.replace("->", " → "),)), single=False)
            case _:
                yield from self._simple(name)

    def _simple(self, name: str) -> Iterator[Atom]:
        match role(name):
            case "symbol":
                shown = symbol(name) or ""
                yield Atom(MathBox((shown,)), _ROLES.get(name) or symbol_class(shown))
            case "word":
                yield Atom(MathBox((symbol(name) or name,)), "op")
            case "text":
                words = _ESCAPED.sub(r"\1", self._raw().replace("$", ""))
                yield Atom(MathBox((" ".join(re.split(r"\s+", words)),)), single=False)
            case "name":
                if self._peek() == "*":
                    self._take()
                yield Atom(MathBox((flat(self._argument()),)), "op")
            case "plain":
                yield from self._argument()
            case "accent":
                yield with_accent(name, flat(self._argument()))
            case "alphabet":
                yield Atom(MathBox((in_alphabet(name, flat(self._argument())),)))
            case "skipped":
                self._raw()
            case "dropped":
                pass
            case "unknown":
                yield Atom(MathBox((f"\\{name}" if name.isalpha() else name,)), "op" if name.isalpha() else "ord")

    def _between(self) -> Iterator[Atom]:
        left = self._delimiter()
        cells = self._cells("\\right")
        right = ""
        if self._peek() == "\\right":
            self._take()
            right = self._delimiter()
        inside = self._row([atom for row in cells for cell in row for atom in cell])
        yield Atom(bracket(inside, left, right), single=bool(left and right))

    def _delimiter(self) -> str:
        self._skip_space()
        token = self._take()
        if token[:1] == "\\" and token[1:].isalpha():
            return symbol(token[1:]) or ""
        return {".": "", "<": "⟨", ">": "⟩", "\\|": "‖"}.get(token, token.removeprefix("\\"))

    def _with_scripts(self, base: Atom, token: str) -> Atom:
        """`base` with the indices and powers that follow, indices first."""
        scripts: dict[str, list[Atom]] = {}
        while token and (token in ("^", "_") or token[0] == "'"):
            if token[0] == "'":
                scripts.setdefault("^", []).append(atom({1: "′", 2: "″", 3: "‴"}.get(len(token), "′" * len(token))))
            else:
                scripts.setdefault(token, []).extend(self._script())
            before = self._next
            self._skip_space()
            token = self._peek()
            if token and (token in ("^", "_") or token[0] == "'"):
                self._take()
            elif token in ("\\limits", "\\nolimits"):
                self._take()
                token = self._take()
            else:
                self._next = before
                break
        for mark in "_^":
            if mark in scripts:
                base = with_script(base, mark, scripts[mark])
        return base
