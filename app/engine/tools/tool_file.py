"""A Python file whose functions are tools, as it can be read without running any of it.

CAPABILITIES = {"writes": False, "network": False, "repeatable": True}

def convert(amount: float, unit: Literal["km", "mi"]) -> float:
    '''Convert a distance to metres.'''

Each public function on the top level that has a docstring is a tool: hints say what it takes, the docstring says what
it does. What has none is the file's own. What the file declares is what its kernel is held to.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from oi_tui.app.engine.core.encoding import as_json
from oi_tui.app.engine.tools.argument_types import OUTPUT, Parameter, argument_type, arguments_schema
from oi_tui.app.engine.tools.docstring_words import read_docstring
from oi_tui.app.engine.tools.hint_types import HintTypes, WrongHint, last_word, literal_default
from oi_tui.app.engine.tools.tool import LONGEST_DESCRIPTION, NAME, Capabilities

LARGEST_FILE = 200_000
"""Characters: it goes to the kernel with each call."""

MOST_FUNCTIONS = 50

LARGEST_SCHEMA = 20_000
"""Characters of what a model reads about the arguments of one function."""

DECLARATION = "CAPABILITIES"
"""What the file calls its dict."""

UNDECLARED = Capabilities(network=False)
"""What holds where a file declares nothing."""


class WrongToolFile(Exception):
    """Why it cannot be used, as the rest of a sentence about it."""


class FileFunction(NamedTuple):
    """One function that is a tool."""

    name: str
    description: str
    schema: dict[str, Any]
    signature: str
    """As it is written: `convert(amount: float, unit: Literal['km', 'mi'])`."""
    output: str = ""
    """The parameter that gets the `ToolOutput`, "" if none does."""
    is_async: bool = False


class DeclaredTools(NamedTuple):
    """What the text of a file offers, and what it says that its functions may do."""

    functions: tuple[FileFunction, ...]
    capabilities: Capabilities = UNDECLARED


class ToolFile(NamedTuple):
    """A file that the person agreed to, with the very text that was agreed to."""

    origin: str
    """What the person calls it: `tools/units.py`."""
    place: str
    """Its path, for tracebacks."""
    text: str
    declared: DeclaredTools


def declared_tools(text: str) -> DeclaredTools:
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
    return DeclaredTools(tuple(found.values()), _capabilities(tree))


def _capabilities(tree: ast.Module) -> Capabilities:
    """What the file declares. A dict that is written out, and once: what is shown is what holds."""
    written: list[ast.expr | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value) if DECLARATION in map(last_word, targets):
                written.append(value)
            case ast.AnnAssign(target=target, value=value) if last_word(target) == DECLARATION:
                written.append(value)
            case _:
                pass
    if not written:
        return UNDECLARED
    try:
        [value] = written
        declared = ast.literal_eval(value) if value is not None else None
    except (ValueError, TypeError) as error:
        raise WrongToolFile(f"has {DECLARATION} that is not one dict, written out and set once") from error
    known = Capabilities.__struct_fields__
    if not isinstance(declared, dict) or not all(
        name in known and isinstance(on, bool) for name, on in declared.items()
    ):
        raise WrongToolFile(f"has {DECLARATION} that is no dict of {', '.join(known)} with True or False")
    return msgspec.structs.replace(UNDECLARED, **declared)


def _functions(tree: ast.Module) -> Iterator[FileFunction]:
    types = HintTypes(tree)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name[0] == "_":
            continue
        if (docstring := ast.get_docstring(node)) is not None:
            yield _function(node, docstring, types)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, docstring: str, types: HintTypes) -> FileFunction:
    if not NAME.fullmatch(node.name):
        raise WrongToolFile(f"has the function {node.name}, whose name is none for a tool: letters, digits, _ and -")
    taken = node.args
    if taken.vararg or taken.kwarg or taken.posonlyargs:
        raise WrongToolFile(f"has the function {node.name}, which takes arguments without a name")
    told = read_docstring(docstring)
    defaults = [*[None] * (len(taken.args) - len(taken.defaults)), *taken.defaults, *taken.kw_defaults]
    parameters: list[Parameter] = []
    output = ""
    for argument, default in zip([*taken.args, *taken.kwonlyargs], defaults, strict=True):
        if _is_output(argument):
            output = argument.arg
            continue
        if argument.annotation is None:
            raise WrongToolFile(f"has the function {node.name}, whose argument {argument.arg} has no type hint")
        try:
            read = types.read(argument.annotation)
            kind = argument_type(read.hint)
        except (WrongHint, TypeError) as error:
            why = error if isinstance(error, WrongHint) else f"is {error}"
            raise WrongToolFile(f"has the function {node.name}, whose argument {argument.arg} {why}") from error
        described = (read.description or told.arguments.get(argument.arg, ""))[:LONGEST_DESCRIPTION]
        parameters.append(Parameter(argument.arg, kind, described, default is None, literal_default(default)))
    schema = arguments_schema(parameters)
    if len(as_json(schema)) > LARGEST_SCHEMA:
        raise WrongToolFile(f"has the function {node.name}, whose arguments take more words than fit into a request")
    return FileFunction(
        name=node.name,
        description=(told.description or docstring)[:LONGEST_DESCRIPTION],
        schema=schema,
        signature=f"{node.name}({ast.unparse(taken)})",
        output=output,
        is_async=isinstance(node, ast.AsyncFunctionDef),
    )


def _is_output(argument: ast.arg) -> bool:
    match argument.annotation:
        case None:
            return argument.arg == OUTPUT
        case ast.Constant(value=str(quoted)):
            return quoted.rpartition(".")[2] == "ToolOutput"
        case hint:
            return last_word(hint) == "ToolOutput"
