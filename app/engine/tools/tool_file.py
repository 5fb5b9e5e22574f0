"""A Python file whose functions are tools, as it can be read without running any of it.

def convert(amount: float, unit: Literal["km", "mi"]) -> float:
    '''Convert a distance to metres.'''

Each public function on the top level that has a docstring is a tool: hints say what it takes, the docstring says what
it does. What has none is the file's own.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from oi_tui.app.engine.tools.docstring_words import read_docstring
from oi_tui.app.engine.tools.hint_schema import WrongHint, hint_schema
from oi_tui.app.engine.tools.tool import LONGEST_DESCRIPTION, NAME

LARGEST_FILE = 200_000
"""Characters: it goes to the kernel with each call."""

MOST_FUNCTIONS = 50


class WrongToolFile(Exception):
    """Why it cannot be used, as the rest of a sentence about it."""


class FileFunction(NamedTuple):
    """One function that is a tool."""

    name: str
    description: str
    schema: dict[str, Any]
    signature: str
    """As it is written: `convert(amount: float, unit: Literal['km', 'mi'])`."""
    paths: tuple[str, ...] = ()
    """Arguments that it wants as a `Path`."""
    is_async: bool = False


class ToolFile(NamedTuple):
    """A file that the person agreed to, with the very text that was agreed to."""

    origin: str
    """What the person calls it: `tools/units.py`."""
    place: str
    """Its path, for tracebacks."""
    text: str
    functions: tuple[FileFunction, ...]


def read_functions(text: str) -> tuple[FileFunction, ...]:
    """The tools of a file with this text; WrongToolFile if it is none."""
    if len(text) > LARGEST_FILE:
        raise WrongToolFile(f"has more than {LARGEST_FILE:,} characters")
    try:
        tree = ast.parse(text)
        found = {function.name: function for function in _functions(tree)}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongToolFile(f"is no Python: {error}") from error
    if not found:
        raise WrongToolFile("has no public function with a docstring")
    if len(found) > MOST_FUNCTIONS:
        raise WrongToolFile(f"has more than {MOST_FUNCTIONS} functions")
    return tuple(found.values())


def _functions(tree: ast.Module) -> Iterator[FileFunction]:
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name[0] == "_":
            continue
        if (docstring := ast.get_docstring(node)) is not None:
            yield _function(node, docstring)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, docstring: str) -> FileFunction:
    if not NAME.fullmatch(node.name):
        raise WrongToolFile(f"has the function {node.name}, whose name is none for a tool: letters, digits, _ and -")
    taken = node.args
    if taken.vararg or taken.kwarg or taken.posonlyargs:
        raise WrongToolFile(f"has the function {node.name}, which takes arguments without a name")
    told = read_docstring(docstring)
    defaults = [*[None] * (len(taken.args) - len(taken.defaults)), *taken.defaults, *taken.kw_defaults]
    pairs = list(zip([*taken.args, *taken.kwonlyargs], defaults, strict=True))
    properties: dict[str, Any] = {}
    paths: list[str] = []
    for argument, default in pairs:
        if argument.annotation is None:
            raise WrongToolFile(f"has the function {node.name}, whose argument {argument.arg} has no type hint")
        try:
            hint = hint_schema(argument.annotation)
        except WrongHint as error:
            raise WrongToolFile(f"has the function {node.name}, whose argument {argument.arg} {error}") from error
        described = (hint.description or told.arguments.get(argument.arg, ""))[:LONGEST_DESCRIPTION]
        properties[argument.arg] = hint.schema | ({"description": described} if described else {}) | _default(default)
        paths += [argument.arg] * hint.is_path
    required = [argument.arg for argument, default in pairs if default is None]
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return FileFunction(
        name=node.name,
        description=(told.description or docstring)[:LONGEST_DESCRIPTION],
        schema=schema | ({"required": required} if required else {}),
        signature=f"{node.name}({ast.unparse(taken)})",
        paths=tuple(paths),
        is_async=isinstance(node, ast.AsyncFunctionDef),
    )


def _default(written: ast.expr | None) -> dict[str, Any]:
    """What is told of a default; nothing of one that only the run knows."""
    if written is None:
        return {}
    try:
        value = ast.literal_eval(written)
    except (ValueError, TypeError):  # the second: `{[]: 1}` has no value
        return {}
    return {"default": value} if isinstance(value, str | int | float | bool | None) else {}
