"""The tools of one session, by name."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from oi_tui.app.engine.core.chat_model import FIND_TOOLS, RECALL, ToolSpec
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.kernel_call import ASK_MODEL
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.tools.execute import EXECUTE, execute_spec
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.tools.tool_runner import Perform, ToolRunner
from oi_tui.app.engine.tools.tool_search import MOST_OFFERED, finder_tool, search_tools

_log = logging.getLogger(__name__)


class Toolbox:
    """The tools of a session."""

    def __init__(self, tools: Iterable[Tool] = (), *, spill_dir: Path | None = None) -> None:
        """A tool whose name is taken is named in the log and left out. Long outputs are kept in `spill_dir`."""
        self._tools: dict[str, Tool] = {}
        self.left_out: list[Tool] = []
        """Those whose name was taken."""
        self._inner: dict[str, Tool] = {}
        """Those that only running code can call."""
        self.spill_dir = spill_dir
        self.off: frozenset[str] = frozenset()
        """Names of those that the person switched off: the model is not offered them, and nothing runs them."""
        self._found: dict[str, None] = {}
        """Names that the model found, the newest last."""
        self._finder = finder_tool(self.search)
        self.perform: Perform | None = None
        """Performs what calls call."""
        self.questions = asyncio.Lock()
        """A lock for questions: calls that run side by side ask one after the other."""
        self.add(tools)

    def add(self, tools: Iterable[Tool]) -> None:
        """More of them; of two with one name the second is left out."""
        for tool in tools:
            if tool.name in (EXECUTE, RECALL, FIND_TOOLS, ASK_MODEL) or tool.name in self._tools:
                _log.error("there are two tools named %s: the second is left out", tool.name)
                self.left_out.append(tool)
                continue
            self._tools[tool.name] = tool

    def replace(self, origin: str, tools: Iterable[Tool]) -> None:
        """Replace the tools of an origin. A call that runs continues."""
        self._tools = {name: tool for name, tool in self._tools.items() if tool.origin != origin}
        self.add(tools)

    @property
    def names(self) -> frozenset[str]:
        """Names of all tools that a model may call, but `execute`."""
        there = frozenset(self._tools) - self.off
        return there | {FIND_TOOLS} if self._has_many() else there

    def has(self, name: str) -> bool:
        """Whether something runs calls of this tool."""
        return self.find(name) is not None

    def add_recall(self, tool: Tool) -> None:
        """The one tool that is the session's own: no plugin can have its name."""
        self._tools[RECALL] = tool

    def add_inner(self, tool: Tool) -> None:
        """A tool of the session's own that is never offered to a model: running code calls it."""
        self._inner[tool.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        """All that a model may call, but `execute`."""
        return iter(tuple(self._tools.values()))

    def instructions(self) -> str:
        """What the system message says of the program's own tools."""
        own = (tool for name, tool in self._tools.items() if not tool.origin and name not in self.off)
        return "\n".join(filter(None, (tool.instructions() for tool in own if tool.instructions is not None)))

    def specs(
        self, languages: Sequence[Language], *, recall: bool = False, small: bool = False
    ) -> tuple[ToolSpec, ...]:
        """The descriptions for a model, `execute` first; `recall` only where the model was not sent everything. A
        `small` one is offered less."""
        first = (execute_spec(languages),) if languages else ()
        chosen = (tool for tool in self._choose_tools() if tool.for_small or not small)
        named = (tool.spec for tool in chosen if recall or tool.name != RECALL)
        return (*first, *named)

    def search(self, query: str) -> list[Tool]:
        """The tools that fit these words best; the model is offered them from now on."""
        found = search_tools((tool for name, tool in self._tools.items() if name not in {*self.off, RECALL}), query)
        names = [tool.name for tool in found]
        kept = [name for name in self._found if name not in names]
        self._found = dict.fromkeys([*kept, *reversed(names)][-MOST_OFFERED:])
        return found

    def _choose_tools(self) -> list[Tool]:
        """The tools that the model is offered: all, or if there are many, those of the program itself, those that it
        found, and the tool that finds more."""
        there = [tool for name, tool in self._tools.items() if name not in self.off]
        if not self._has_many():
            return there
        core = [tool for tool in there if not tool.origin and tool.name != RECALL][:MOST_OFFERED]
        names = {RECALL, *self._found, *(tool.name for tool in core)}
        return [*(tool for tool in there if tool.name in names), self._finder]

    def switch(self, name: str, *, on: bool) -> None:
        """Set whether the model may call this tool; an unknown name changes nothing."""
        if name in self._tools and name != RECALL:
            self.off = self.off - {name} if on else self.off | {name}

    def _has_many(self) -> bool:
        """Whether they are too many to tell a model of all."""
        return len(self._tools.keys() - self.off - {RECALL}) > MOST_OFFERED

    def find(self, name: str) -> Tool | None:
        """The tool of this name, None if there is none."""
        if name in self.off:
            return None
        return self._inner.get(name) or self._tools.get(name) or (self._finder if name == FIND_TOOLS else None)

    def get(self, name: str) -> ToolRunner:
        """What runs one call of this tool; KernelError if there is none."""
        if (tool := self.find(name)) is None:
            raise KernelError(f"There is no tool named {name}.", hint="What brought it is not here, or is not enabled.")
        return ToolRunner(tool, self.spill_dir, self.questions, self.perform)
