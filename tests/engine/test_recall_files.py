"""What the model reads of a cut output is the file of that run, whatever a stored session or code put in its place."""

import os
from pathlib import Path
from typing import cast

import pytest

from oi_tui.app.engine.agent.recall import recall_tool
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import StreamOutput, WholeOutput
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.tools.tool import Arguments, ToolOutput

NAME = f"output-{'0' * 32}.txt"


async def recalled(path: Path, folder: Path) -> str:
    """What a model is told that asks for all of a run whose file is said to be this."""
    output = StreamOutput(name="stdout", text="the beginning")
    block = CodeBlock(
        id="b", language="python", state="ok", outputs=(output,), whole=WholeOutput(path=str(path)), duration=1.0
    )
    tool = recall_tool(lambda: [block], Redactor(), folder)
    asked: Arguments = {"block": 1}
    return str(await tool.run(asked, cast(ToolOutput, None)))


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """The folder with the outputs of sessions, beside a file that is nobody's business."""
    (tmp_path / NAME).write_text("private")
    folder = tmp_path / "outputs"
    folder.mkdir()
    return folder


async def test_U32_all_of_a_cut_output_is_read_from_its_file(outputs: Path) -> None:
    (outputs / NAME).write_text("all that it wrote")
    assert "all that it wrote" in await recalled(outputs / NAME, outputs)


@pytest.mark.parametrize("attack", ["elsewhere", "parents", "link", "hard link", "link of the folder", "fifo", "name"])
async def test_U32_recall_opens_nothing_but_the_file_of_a_run(outputs: Path, attack: str) -> None:
    path = outputs / NAME
    private = outputs.parent / NAME
    match attack:
        case "elsewhere":
            path = private
        case "parents":
            path = Path(f"{outputs}/../{NAME}")
        case "link":
            path.symlink_to(private)
        case "hard link":
            path.hardlink_to(private)
        case "link of the folder":
            (outputs / "sub").symlink_to(outputs.parent)
            path = outputs / "sub" / NAME
        case "fifo":
            os.mkfifo(path)
        case "name":
            path = outputs / "output-of-mine.txt"
            path.write_text("private")
    told = await recalled(path, outputs)
    assert "private" not in told
    assert "the beginning" in told
