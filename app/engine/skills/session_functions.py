"""A function of a session as a file that needs no other: its source, the imports and other functions that it needs, and
a call of it that ran. Read off the sources that ran, without running anything.
"""

import ast
import builtins
import symtable
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from oi_tui.app.engine.policy.magics import split_magics
from oi_tui.app.engine.skills.kept_functions import LARGEST_FUNCTION, Definition
from oi_tui.app.engine.text.words import one_line, quantity

MOST_NEEDED = 60
"""Definitions and imports that one function may need."""

LONGEST_CONSTANT, LONGEST_EXAMPLE = 2_000, 1_000
"""Characters."""

_BUILTIN = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "display", "get_ipython"}


_PYTHON_CELLS = ("time", "capture")
"""Cell magics below which there is Python, in the kernel's own names."""


class CannotKeep(Exception):
    """Why a function cannot be kept, as sentences for the person."""


class SessionFunction(NamedTuple):
    """The function as it would be kept."""

    name: str
    code: str
    """Imports, constants, functions that it needs, and itself at the end."""
    example: str = ""
    """A call that needs nothing else; "" where none ran and its docstring has none."""
    needs: tuple[str, ...] = ()
    """Names of other functions, classes and constants of the session that the code holds."""
    imports: tuple[str, ...] = ()
    """Import statements that the code holds."""
    example_ran: bool = True
    """Whether the example is a call that ran: what a docstring says was decided about by nobody."""


class _Piece(NamedTuple):
    """A statement at the top of a cell that binds a name."""

    kind: str
    """`import`, `constant`, `definition`; `variable` cannot be kept."""
    source: str
    order: int


class _Statement(NamedTuple):
    node: ast.stmt
    source: str


def read_session_function(name: str, cells: Sequence[str]) -> SessionFunction:
    """The function or class of this name as the cells left it, which ran in this order; CannotKeep."""
    statements = [statement for cell in cells for statement in _statements(cell)]
    pieces = _read_pieces(statements)
    own = pieces.get(name)
    if own is None or own.kind != "definition":
        there = [one for one, piece in pieces.items() if piece.kind == "definition"]
        known = f" There are: {', '.join(there[-20:])}." if there else ""
        what = "is no function or class" if own is not None else "is not defined at the top of a cell that ran"
        raise CannotKeep(f"{name} {what} in this session.{known}")
    needed = _find_needs(name, pieces)
    imports, constants, others = (
        sorted((pieces[one].order, one) for one in needed if pieces[one].kind == kind and one != name)
        for kind in ("import", "constant", "definition")
    )
    lines = list(dict.fromkeys(pieces[one].source for _, one in imports))
    parts = ["\n".join(lines), "\n".join(pieces[one].source for _, one in constants)]
    parts += [pieces[one].source for _, one in others] + [own.source]
    code = "\n\n\n".join(filter(None, parts)) + "\n"
    if len(code) > LARGEST_FUNCTION:
        raise CannotKeep(f"{name} and what it needs have {len(code):,} characters: {LARGEST_FUNCTION:,} at most.")
    ran = _example(name, needed, statements)
    helpers = tuple(one for _, one in (*constants, *others))
    example = ran or _doctest(own.source)
    return SessionFunction(name, code, example, helpers, tuple(lines), example_ran=ran == example)


def defined_names(source: str) -> tuple[str, ...]:
    """Functions and classes that a cell defines at its top."""
    return tuple(dict.fromkeys(one.node.name for one in _statements(source) if isinstance(one.node, Definition)))


def _statements(cell: str) -> Iterator[_Statement]:
    """The top-level statements of a cell, each with its text; none if it is not Python."""
    python = cell
    tree = _parse(cell)
    if tree is None:
        split = split_magics(cell)
        timed = split.magics and split.magics[0].sign == "%%" and split.magics[0].rest.split(" ")[0] in _PYTHON_CELLS
        python = split.body if timed else split.python
        tree = _parse(python)
    if tree is None:
        return
    lines = python.split("\n")
    for node in tree.body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        whole = "\n".join(lines[first - 1 : node.end_lineno])
        one_of_several = sum(first <= other.lineno <= (node.end_lineno or first) for other in tree.body) > 1
        yield _Statement(node, (ast.get_source_segment(python, node) or "") if one_of_several else whole)


def _parse(source: str) -> ast.Module | None:
    try:
        tree = compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    assert isinstance(tree, ast.Module)
    return tree


def _read_pieces(statements: Iterable[_Statement]) -> dict[str, _Piece]:
    """What each name is bound to in the end."""
    pieces: dict[str, _Piece] = {}
    for order, (node, source) in enumerate(statements):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pieces[node.name] = _Piece("definition", source, order)
            case ast.Import():
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    line = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                    before = pieces.get(bound)
                    if before is not None and before.kind == "import" and not alias.asname:
                        line = "\n".join(dict.fromkeys([*before.source.split("\n"), line]))  # `import os.path` too
                    pieces[bound] = _Piece("import", line, order)
            case ast.ImportFrom():
                place = "." * node.level + (node.module or "")
                for alias in node.names:
                    line = f"from {place} import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                    pieces[alias.asname or alias.name] = _Piece("import", line, order)
            case _:
                constant = _constant_name(node, source)
                for name in _bound_names(source):
                    pieces[name] = _Piece("constant" if name == constant else "variable", source, order)
    return pieces


def _constant_name(node: ast.stmt, source: str) -> str:
    """The name that this gives a plain value to, "" if it is anything else."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if len(source) <= LONGEST_CONSTANT:
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if len(source) <= LONGEST_CONSTANT:
            pass
        case _:
            return ""
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ""
    return name


def _bound_names(source: str) -> set[str]:
    table = _table(source)
    if table is None:
        return set()
    written = (symbol for one in _tables(table) for symbol in one.get_symbols() if one is table or symbol.is_global())
    return {symbol.get_name() for symbol in written if symbol.is_assigned() or symbol.is_imported()}


def _read_names(source: str) -> set[str]:
    """Names that this takes from outside of itself, when it is defined or when it runs."""
    table = _table(source)
    if table is None:
        return set()
    top = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    inner = {
        symbol.get_name()
        for one in _tables(table)
        if one is not table
        for symbol in one.get_symbols()
        if symbol.is_global() and (symbol.is_referenced() or symbol.is_assigned())
    }
    return (top | inner) - _BUILTIN


def _table(source: str) -> symtable.SymbolTable | None:
    try:
        return symtable.symtable(source, "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return None


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _find_needs(name: str, pieces: dict[str, _Piece]) -> set[str]:
    """The name and all that it reads, directly or through what it reads; CannotKeep for what cannot be kept with it."""
    needed, ahead = {name}, [name]
    while ahead:
        by = ahead.pop()
        if pieces[by].kind in ("import", "constant"):
            continue
        for read in sorted(_read_names(pieces[by].source) - needed):
            piece = pieces.get(read)
            if piece is None:
                raise CannotKeep(f"{by} reads {read}, which no cell of this session defines.")
            if piece.kind == "variable":
                line = one_line(piece.source)[:80]
                raise CannotKeep(
                    f"{by} reads {read}, a variable of this session ({line}). Make it an argument, then keep it."
                )
            needed.add(read)
            ahead.append(read)
        if len(needed) > MOST_NEEDED:
            raise CannotKeep(f"{name} needs more than {quantity(MOST_NEEDED, 'other definition')}.")
    return needed


def _example(name: str, needed: set[str], statements: Sequence[_Statement]) -> str:
    """The newest call that ran and needs nothing else."""
    for node, _ in reversed(statements):
        if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) and node.value is not None:
            calls = (one.func for one in ast.walk(node.value) if isinstance(one, ast.Call))
            if any(isinstance(func, ast.Name) and func.id == name for func in calls):
                text = ast.unparse(node.value)
                if len(text) <= LONGEST_EXAMPLE and _names_in(node.value) <= needed:
                    return text
    return ""


def _names_in(value: ast.expr) -> set[str]:
    """Names that an expression reads, which may await something."""
    return _read_names(f"async def _():\n return ({ast.unparse(value)})") - {"_"}


def _doctest(source: str) -> str:
    """The examples of its docstring."""
    import doctest  # it brings the debugger and unittest along

    node = ast.parse(source).body[0]
    assert isinstance(node, Definition)
    try:
        found = doctest.DocTestParser().get_examples(ast.get_docstring(node) or "")
    except ValueError:
        return ""
    text = "".join(example.source for example in found).strip()
    return text if len(text) <= LONGEST_EXAMPLE else ""
