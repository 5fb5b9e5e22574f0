"""The tools of one session, by name."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from oi_tui.app.engine.core.chat_model import ToolSpec
from oi_tui.app.engine.core.errors import KernelError
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
        for tool in tools:
            if tool.name == EXECUTE or tool.name in self._runners:
                _log.error("there are two tools named %s: the second is left out", tool.name)
                continue
            self._runners[tool.name] = ToolRunner(tool, spill_dir)

    @property
    def names(self) -> frozenset[str]:
        """Names of all tools but `execute`."""
        return frozenset(self._runners)

    def specs(self, languages: Sequence[Language]) -> tuple[ToolSpec, ...]:
        """The descriptions for a model, `execute` first."""
        first = (execute_spec(languages),) if languages else ()
        return (*first, *(runner.tool.spec for runner in self._runners.values()))

    def get(self, name: str) -> ToolRunner:
        """What runs calls of this tool; KernelError if there is none."""
        if (runner := self._runners.get(name)) is None:
            raise KernelError(
                f"There is no tool named {name}.", hint="It may have come from a plugin that is not here."
            )
        return runner
