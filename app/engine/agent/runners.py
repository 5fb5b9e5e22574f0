"""Who runs an action: the kernel of its language, or its tool; and what the policy is asked about it."""

from collections.abc import Iterable

from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.kernels.base import InterruptMeans, KernelSource, RejoinableKernel, Runner, RunResult
from oi_tui.app.engine.policy.decision import PolicyRequest
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.tools.toolbox import Toolbox


class RejoinedRun:
    """Runs nothing: follows, to its end, what a kernel ran when the program before ended."""

    def __init__(self, kernel: RejoinableKernel) -> None:
        self._kernel = kernel
        self.confinement, self.place, self.elsewhere = kernel.confinement, kernel.place, kernel.elsewhere

    @property
    def state(self) -> KernelState:
        return self._kernel.state

    @property
    def generation(self) -> int:
        return self._kernel.generation

    async def start(self) -> None:
        """The kernel runs already."""

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        return await self._kernel.rejoin(emit)

    async def answer(self, text: str) -> None:
        await self._kernel.answer(text)

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        return await self._kernel.interrupt(restart=restart)


class Runners:
    """The kernels and tools of one session."""

    def __init__(self, kernels: KernelSource, tools: Toolbox) -> None:
        self.kernels = kernels
        self.tools = tools

    def get(self, block: ActionBlock) -> Runner:
        """The kernel or tool that runs this action; KernelError if there is none."""
        if isinstance(block, CallBlock):
            return self.tools.get(block.tool)
        return self.kernels.get(block.language)

    def confinement(self, block: ActionBlock) -> Confinement:
        """The sandbox of what would run this now; without one, nothing is promised."""
        try:
            return self.get(block).confinement
        except KernelError:
            return Confinement()

    def runs_elsewhere(self, block: ActionBlock) -> bool:
        """Whether what would run this now need not see the files of this machine."""
        try:
            return self.get(block).elsewhere
        except KernelError:
            return False

    def place(self, block: ActionBlock) -> str:
        """The place where it would run now, "" if unknown."""
        try:
            return self.get(block).place
        except KernelError:
            return ""

    def time_limit(self, block: ActionBlock) -> float | None:
        """The time limit that a tool sets for its calls, in seconds; None if it sets none."""
        tool = self.tool(block)
        return None if tool is None else tool.time_limit

    def is_side_by_side(self, block: ActionBlock, others: Iterable[ActionBlock] = ()) -> bool:
        """Whether this may run while these others like it run."""
        tool = self.tool(block)
        if tool is None or not tool.capabilities.side_by_side:
            return False
        return not tool.kernel or all(other is None or other.kernel != tool.kernel for other in map(self.tool, others))

    def may_change_files(self, block: ActionBlock) -> bool:
        """Whether running this may change files of this machine; our own tools keep what they change by themselves."""
        if isinstance(block, CodeBlock):
            return not self.runs_elsewhere(block)
        tool = self.tool(block)
        if tool is None or not tool.origin or not tool.capabilities.writes:
            return False
        reach = tool.confinement.reach
        return reach is None or bool(reach.writes)

    def tool(self, block: ActionBlock) -> Tool | None:
        """The tool of a call, None for code and where there is none (any more)."""
        return self.tools.find(block.tool) if isinstance(block, CallBlock) else None

    def next_generation(self, block: ActionBlock) -> int:
        """Generation of the kernel or tool that would run this now."""
        if isinstance(block, CallBlock):
            return self.tools.get(block.tool).generation if self.tools.has(block.tool) else 0
        started = self.kernels.started_kernels()
        kernel = next((kernel for kernel in started if kernel.language == block.language), None)
        return 1 if kernel is None else kernel.generation + (kernel.state in ("cold", "dead"))

    def request(self, block: ActionBlock, reading: SourceFacts | None = None) -> PolicyRequest:
        """The action for the policy; an existing reading of its source is reused."""
        confinement = self.confinement(block)
        if isinstance(block, CodeBlock):
            return PolicyRequest(block.language, block.source, confinement=confinement, reading=reading)
        if not self.tools.has(block.tool):
            return PolicyRequest("", block.source, tool=block.tool, confinement=confinement, reading=reading)
        tool = self.tools.get(block.tool).tool
        return PolicyRequest(
            "",
            block.source,
            tool=block.tool,
            confinement=confinement,
            reading=tool.facts(block.source) if reading is None else reading,
            reads_only=not tool.capabilities.writes,
            unasked=tool.unasked,
        )
