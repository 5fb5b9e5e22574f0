"""A tool from a Python function: its name, docstring and type hints say what the model needs to know.

def convert(amount: float, unit: Annotated[Literal["km", "mi"], "What the amount is in."]) -> float:
    '''Convert a distance to metres.'''

tool_of(convert, capabilities=Capabilities(writes=False, network=False))

A synchronous function runs in a thread of its own. Arguments have the types of the hints when the function gets them;
`output` (or whatever is annotated `ToolOutput`) is where it says what it does. What it returns is shown by its type
(`results.py`).
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.tools.argument_types import OUTPUT, Parameter, argument_type, arguments_schema
from oi_tui.app.engine.tools.docstring_words import DocstringWords, read_docstring
from oi_tui.app.engine.tools.results import tool_result
from oi_tui.app.engine.tools.thread_call import call_in_thread
from oi_tui.app.engine.tools.tool import (
    LONGEST_DESCRIPTION,
    NAME,
    Arguments,
    CallingOutput,
    Tool,
    ToolFailed,
    ToolOutput,
    error_text,
)


def tool_of(function: Callable[..., Any], **about: Any) -> Tool:
    """The tool that this function is. `about` are fields of `Tool`: what the function cannot say (`capabilities`,
    `preview`, `time_limit`), or says worse (`description`). SettingsError if it cannot be one."""
    name = str(about.pop("name", getattr(function, "__name__", "")))
    if not NAME.fullmatch(name):
        raise SettingsError(f"{name!r} is no name for a tool: a letter, then letters, digits, _ and -.")
    told = read_docstring(inspect.getdoc(function) or "")
    parameters, output = _parameters(function, name, told)
    schema = about.pop("schema", None) or arguments_schema(parameters)
    description = str(about.pop("description", "") or told.description or name.replace("_", " "))[:LONGEST_DESCRIPTION]
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)

    async def run(arguments: Arguments, said: ToolOutput) -> Any:
        values = _values(parameters, arguments) | ({output: said} if output else {})
        if is_async:
            return tool_result(await function(**values))
        return tool_result(await call_in_thread(lambda: function(**values), name))

    try:
        return Tool(name=name, description=description, schema=schema, run=run, **about)
    except TypeError as error:
        raise SettingsError(f"The function {name} cannot be a tool: {error}") from error


def _parameters(function: Callable[..., Any], name: str, told: DocstringWords) -> tuple[list[Parameter], str]:
    """The parameters of calls, and the name of the one that gets the output, "" if none does."""
    try:
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise SettingsError(f"The type hints of the function {name} cannot be read: {error}") from error
    parameters: list[Parameter] = []
    output = ""
    for one in signature.parameters.values():
        hint = hints.get(one.name, Any)
        if {ToolOutput, CallingOutput} & {hint, *get_args(hint)} or (one.name == OUTPUT and one.name not in hints):
            output = one.name
            continue
        if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            raise SettingsError(f"The function {name} cannot be a tool: {one} takes what has no name.")
        plain, written = _plain_hint(hint)
        try:
            kind = argument_type(plain)
        except TypeError as error:
            raise SettingsError(f"The function {name} cannot be a tool: {one.name} is {error}") from error
        described = written or told.arguments.get(one.name, "")
        parameters.append(
            Parameter(one.name, kind, described[:LONGEST_DESCRIPTION], one.default is one.empty, one.default)
        )
    return parameters, output


def _plain_hint(hint: Any) -> tuple[Any, str]:
    """A hint without the text in its `Annotated`, and that text."""
    if get_origin(hint) is not Annotated:
        return hint, ""
    plain, *extras = get_args(hint)
    texts = [one if isinstance(one, str) else getattr(one, "description", None) for one in extras]
    kept = [one for one in extras if not isinstance(one, str)]
    return Annotated[(plain, *kept)] if kept else plain, next((text for text in texts if isinstance(text, str)), "")


def _values(parameters: list[Parameter], arguments: Arguments) -> dict[str, Any]:
    """The arguments as the function wants them; ToolFailed for one that is none."""
    values: dict[str, Any] = {}
    for one in parameters:
        if one.name in arguments:
            try:
                values[one.name] = one.kind.convert(arguments[one.name])
            except ValueError as error:
                raise ToolFailed(f"The argument {one.name} does not fit: {error_text(error)}") from error
    return values
