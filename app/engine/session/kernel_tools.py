"""Tools of the session that an assistant leads: what its kernels hold, and a fresh one."""

from collections.abc import Awaitable, Callable
from typing import Any

from oi_tui.app.engine.core.values import Confinement, Language
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.kernels.inspection import Inspectable
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.session.frame_reader import askable_kernel
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolFailed, ToolOutput

LIST_VARIABLES, SHOW_VARIABLE, RESTART_KERNEL = "list_variables", "show_variable", "restart_kernel"

_WITHIN = Confinement(sandboxed=True, offline=True)
"""They reach the kernels of this session, and nothing else."""

_WHY_NOT = {
    "cold": "Nothing has run in it yet.",
    "dead": "Its process has ended; the next run starts a new one.",
    "busy": "It runs something: try again when that is over.",
}


def kernel_tools(kernels: KernelSource, restart: Callable[[Language], Awaitable[str]]) -> tuple[Tool, ...]:
    """The tools of a session with these kernels. `restart` gives a language a fresh one, and returns the languages that
    have one now."""

    async def list_variables(arguments: Arguments, output: ToolOutput) -> str:
        listing = await _inspectable_kernel(kernels, _language(arguments)).variables((), again=True)
        if listing is None:
            raise ToolFailed("It did not answer in time.")
        rows = [row.variable for row in listing.variables]
        lines = [" ".join(filter(None, (f"{one.name}:", one.type, one.shape, one.peek))) for one in rows]
        more = ["[the list is cut here]"] if listing.cut else []
        return "\n".join([*lines, *more]) or "There are no variables."

    async def show_variable(arguments: Arguments, output: ToolOutput) -> str:
        seen = await _inspectable_kernel(kernels, _language(arguments)).peek(str(arguments["name"]))
        if seen is None:
            raise ToolFailed("It did not answer in time.")
        if seen.text is None:
            raise ToolFailed("There is no such variable.")
        return seen.text or "To see more of it, run code that prints it."

    async def restart_kernel(arguments: Arguments, output: ToolOutput) -> str:
        return await restart(_language(arguments))

    return (
        _tool(LIST_VARIABLES, "List the variables of a kernel: name, type, size, value in short.", list_variables),
        _tool(
            SHOW_VARIABLE,
            "Look at one variable of a kernel, in up to 40 lines.",
            show_variable,
            {"name": {"type": "string", "maxLength": 100, "description": "Of the variable."}},
        ),
        _tool(RESTART_KERNEL, "Start a kernel afresh: its variables are gone.", restart_kernel, changes=True),
    )


def _tool(
    name: str,
    description: str,
    run: Callable[[Arguments, ToolOutput], Awaitable[str]],
    properties: dict[str, Any] | None = None,
    *,
    changes: bool = False,
) -> Tool:
    language = {"type": "string", "maxLength": 100, "description": "Of the kernel; the default is python."}
    return Tool(
        name=name,
        description=description,
        schema={
            "type": "object",
            "properties": {**(properties or {}), "language": language},
            "required": list(properties or ()),
            "additionalProperties": False,
        },
        run=run,
        capabilities=Capabilities(writes=changes, destroys=False, network=False, repeatable=True),
        read=lambda arguments: SourceFacts(),
        confinement=_WITHIN,
    )


def _language(arguments: Arguments) -> Language:
    return str(arguments.get("language") or "python")


def _inspectable_kernel(kernels: KernelSource, language: Language) -> Inspectable:
    """The kernel that is asked; ToolFailed where none can be."""
    wanted = kernels.canonical(language)
    kernel = next((one for one in kernels.started_kernels() if one.language == wanted), None)
    asked = askable_kernel(kernel)
    if isinstance(asked, str):
        raise ToolFailed(_WHY_NOT.get(asked, "It cannot be asked for its variables: run code that prints them."))
    return asked
