"""The tools for files, called as a session calls them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oi_tui.app.engine.core.blocks import Block, CallBlock, UserBlock
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.rules import Base, Rule
from oi_tui.app.engine.sandbox.profile import IsolationMode, Profile
from oi_tui.app.engine.testing import FakeKernels
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.tools.tool import Tool, ToolFailed
from oi_tui.app.engine.workspace.checkpoints import Checkpoints
from oi_tui.app.engine.workspace.file_tools import file_tools


class Answers:
    """What a call is given to speak with: remembers questions and outputs, answers from a list."""

    def __init__(self, *answers: str | None) -> None:
        self.block_id = "block"
        self.asked: list[str] = []
        self.shown: list[RichOutput] = []
        self._answers = list(answers)

    def print(self, text: str) -> None:
        raise AssertionError("these tools print nothing")

    def show(self, output: RichOutput) -> None:
        self.shown.append(output)

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        raise AssertionError("these tools report nothing")

    async def ask(
        self, question: str, choices: Sequence[str] = (), *, several: bool = False, password: bool = False
    ) -> str | None:
        self.asked.append(question)
        return self._answers.pop(0)


class FileBench:
    """The tools of one session in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        mode: IsolationMode = "workspace-write",
        rules: tuple[Rule, ...] = (),
        hidden: tuple[Path, ...] = (),
        writable: tuple[Path, ...] = (),
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.folder = folder
        self.blocks: list[Block] = []
        self.policy = Policy(rules=rules, base=Base(cwd=str(folder), home=str(folder.parent)))
        self.profile = Profile(
            mode=mode, workspace=folder, home=folder.parent / "home", hidden=hidden, writable=writable
        )
        ties = ToolTies(
            session_id=lambda: "session",
            blocks=lambda: self.blocks,
            emit=lambda event: None,
            kernels=FakeKernels(),
            policy=lambda: self.policy,
        )
        self.tools: dict[str, Tool] = {tool.name: tool for tool in file_tools(self.profile, checkpoints)(ties)}

    async def call(self, name: str, output: Answers | None = None, **arguments: Any) -> RichOutput:
        """The result of a call."""
        result = await self.tools[name].run(arguments, output or Answers())
        assert isinstance(result, str | RichOutput)
        return RichOutput(data={"text/plain": result}) if isinstance(result, str) else result

    async def text(self, name: str, output: Answers | None = None, **arguments: Any) -> str:
        """Its text."""
        return str((await self.call(name, output, **arguments)).data["text/plain"])

    async def failure(self, name: str, output: Answers | None = None, **arguments: Any) -> str:
        """Why a call fails."""
        try:
            found = await self.call(name, output, **arguments)
        except ToolFailed as error:
            return str(error)
        raise AssertionError(f"it did not fail: {found}")

    async def shown(self, name: str, **arguments: Any) -> str:
        """The diff that a question shows of a call."""
        preview = self.tools[name].preview
        assert preview is not None
        shown = await preview(arguments)
        assert shown is not None
        return str(shown.data["text/x-diff"])

    def facts(self, name: str, **arguments: Any) -> SourceFacts:
        """What the policy is told of a call."""
        read = self.tools[name].read
        assert read is not None
        return read(arguments)

    def prompts(self, *ids: str) -> None:
        """A session of these blocks: prompts have names of several letters, calls of one."""
        for block in ids:
            self.blocks.append(
                UserBlock(id=block, text=block) if len(block) > 1 else CallBlock(id=block, tool="write_file")
            )

    def edited(self, source: str, original: str) -> None:
        """The person has edited the arguments of the call that comes next."""
        self.blocks.append(CallBlock(id="block", tool="write_file", source=source, original=original))
