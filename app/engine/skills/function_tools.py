"""The tools by which a model finds kept functions and has one loaded. It reads how a function is called and what it
says of itself; its source goes into the kernel as a run of its own, which is decided about like code of the model.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from oi_tui.app.engine.core.chat_model import FIND_FUNCTIONS, LOAD_FUNCTION
from oi_tui.app.engine.core.embedding import Embedding
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.skills.function_search import (
    NoMeaning,
    merge_found,
    search_by_meaning,
    search_by_words,
)
from oi_tui.app.engine.skills.kept_functions import KeptFunction, find_function, find_functions, names_in_words
from oi_tui.app.engine.tools.execute import EXECUTE
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.tools.tool import Arguments, CallingOutput, Tool, ToolFailed, ToolOutput, session_tool

LONGEST_NAMES = 600
"""Characters of names in the system message."""

LONGEST_DOCSTRING = 1_500
"""Characters of what the model reads of a function that it loaded."""

PATIENCE = 10.0
"""Seconds that an embedding may take."""

_FIND = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "Words for what it should do."}},
    "required": ["query"],
}
_LOAD = {
    "type": "object",
    "properties": {"name": {"type": "string", "description": "Of the function."}},
    "required": ["name"],
}
_tool_of_functions = partial(session_tool, for_small=False)
"""Neither does anything by itself: what is loaded is code that is decided about."""


def make_function_tools(ties: ToolTies, find_embedding: Callable[[], Embedding | None], cache: Path) -> Iterable[Tool]:
    """Both tools, if there are functions that the person agreed to."""
    if not _usable():
        return
    loading = asyncio.Lock()

    async def find(arguments: Arguments, output: ToolOutput) -> str:
        query = str(arguments["query"])
        functions = await asyncio.to_thread(_usable)
        lists, remark = [await asyncio.to_thread(search_by_words, functions, query)], ""
        if (embedding := find_embedding()) is not None:
            try:
                searching = asyncio.to_thread(search_by_meaning, functions, query, embedding, cache)
                lists.append(await asyncio.wait_for(searching, PATIENCE))
            except NoMeaning as error:
                remark = f"\n{error} These were found by words only."
            except TimeoutError:
                remark = f"\nThe embedding {embedding.name} took too long. These were found by words only."
        return _tell_found(functions, merge_found(*lists)) + remark

    async def load(arguments: Arguments, output: CallingOutput) -> str:
        name = str(arguments["name"]).strip()
        async with loading:
            function = await asyncio.to_thread(_usable_function, name)
            await output.call(EXECUTE, {"language": "python", "code": function.code})
        return _tell_loaded(function)

    yield _tool_of_functions(
        name=FIND_FUNCTIONS,
        description="Find Python functions that the user kept from earlier sessions, by what they do.",
        schema=_FIND,
        run=find,
        unasked="it reads what functions that you kept say of themselves",
        instructions=_tell_names,
    )
    yield _tool_of_functions(
        name=LOAD_FUNCTION,
        description="Define a function that the user kept, and all that it needs, in the Python kernel.",
        schema=_LOAD,
        run=load,
        unasked="the code that it runs is decided about by itself",
    )


def _usable() -> list[KeptFunction]:
    return [one for one in find_functions() if one.agreed]


def _usable_function(name: str) -> KeptFunction:
    try:
        function = find_function(name)
    except SettingsError as error:
        there = names_in_words(_usable())
        raise ToolFailed(f"There is no kept function {name[:80]!r}. There are: {there or 'none'}.") from error
    if function.wrong:
        raise ToolFailed(f"{name} {function.wrong}.")
    if not function.agreed:
        raise ToolFailed(f"{name} was changed since the user agreed to it: the user must look at it first (/skills).")
    return function


def _tell_names() -> str:
    """For the system message: models without tools read it too."""
    names, room = [], LONGEST_NAMES
    functions = _usable()
    for one in functions:
        room -= len(one.name) + 2
        if room < 0:
            break
        names.append(one.name)
    if not names:
        return ""
    more = f" and {len(functions) - len(names)} more" if len(names) < len(functions) else ""
    return (
        f"The user kept these Python functions from earlier sessions: {', '.join(names)}{more}. To use one, call "
        f"{LOAD_FUNCTION}, or reply with a ```{LOAD_FUNCTION} block that contains its name; to find one by what it "
        f"does, {FIND_FUNCTIONS} with words."
    )


def _tell_found(functions: Sequence[KeptFunction], found: Sequence[KeptFunction]) -> str:
    if not functions:
        return "No function is kept."
    if not found:
        return f"None fits these words. Kept are: {names_in_words(functions)}."
    lines = (f"{one.signature}: {one.summary or 'says nothing of itself'}" for one in found)
    return "\n".join([*lines, f"{LOAD_FUNCTION} defines one of them in the Python kernel."])


def _tell_loaded(function: KeptFunction) -> str:
    lines = [f"Defined in the Python kernel: {function.signature}", function.docstring[:LONGEST_DOCSTRING]]
    if function.head.example:
        lines.append(f"Example: {function.head.example}")
    return "\n".join(filter(None, lines))
