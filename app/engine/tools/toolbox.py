"""The tools of one session, by name."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from oi_tui.app.engine.core.chat_model import RECALL, ToolSpec
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.kernel_call import ASK_MODEL
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.tools.execute import EXECUTE, execute_spec
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.tools.tool_runner import ToolRunner

_log = logging.getLogger(__name__)


class Toolbox:
    """What there is beside the kernels."""

    def __init__(self, tools: Iterable[Tool] = (), *, spill_dir: Path | None = None) -> None:
        """A tool whose name is taken is named in the log and left out. Long outputs are kept in `spill_dir`."""
        self._runners: dict[str, ToolRunner] = {}
        self._inner: dict[str, ToolRunner] = {}
        """Those that only running code can call."""
        self.spill_dir = spill_dir
        self.add(tools)

    def add(self, tools: Iterable[Tool]) -> None:
        """More of them; of two with one name the second is left out."""
        for tool in tools:
            if tool.name in (EXECUTE, RECALL, ASK_MODEL) or tool.name in self._runners:
                _log.error("there are two tools named %s: the second is left out", tool.name)
                continue
            self._runners[tool.name] = ToolRunner(tool, self.spill_dir)

    def replace(self, origin: str, tools: Iterable[Tool]) -> None:
        """What an origin brings now, in the place of what it brought before. A call that runs goes on."""
        self._runners = {name: runner for name, runner in self._runners.items() if runner.tool.origin != origin}
        self.add(tools)

    @property
    def names(self) -> frozenset[str]:
        """Names of all tools that a model may call, but `execute`."""
        return frozenset(self._runners)

    def has(self, name: str) -> bool:
        """Whether something runs calls of this tool."""
        return name in self._runners or name in self._inner

    def add_recall(self, tool: Tool) -> None:
        """The one tool that is the session's own: no plugin can have its name."""
        self._runners[RECALL] = ToolRunner(tool, self.spill_dir)

    def add_inner(self, tool: Tool) -> None:
        """A tool of the session's own that is never offered to a model: running code calls it."""
        self._inner[tool.name] = ToolRunner(tool, self.spill_dir)

    def __iter__(self) -> Iterator[Tool]:
        """All that a model may call, but `execute`."""
        return (runner.tool for runner in self._runners.values())

    def specs(
        self, languages: Sequence[Language], *, recall: bool = False, small: bool = False
    ) -> tuple[ToolSpec, ...]:
        """The descriptions for a model, `execute` first; `recall` only where the model was not sent everything. A
        `small` one is offered less."""
        first = (execute_spec(languages),) if languages else ()
        named = (tool.spec for tool in self if recall or tool.name != RECALL if tool.for_small or not small)
        return (*first, *named)

    def get(self, name: str) -> ToolRunner:
        """What runs calls of this tool; KernelError if there is none."""
        if (runner := self._inner.get(name) or self._runners.get(name)) is None:
            raise KernelError(
                f"There is no tool named {name}.", hint="It may have come from a plugin that is not here."
            )
        return runner
