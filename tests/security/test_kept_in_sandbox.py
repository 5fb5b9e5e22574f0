"""The test of a function before it is kept: a real ipykernel of its own, in the sandbox of its session."""

from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import NoticeAdded
from oi_tui.app.engine.core.outputs import ErrorOutput
from oi_tui.app.engine.core.tool_replies import FunctionDrafted
from oi_tui.app.engine.core.tool_verbs import DraftFunction, KeepFunction, UseFunction
from oi_tui.app.engine.core.values import FRESH_KERNEL
from oi_tui.app.engine.core.verbs import Open, Run
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.skills.kept_functions import find_function
from oi_tui.app.engine.testing import FakeModel
from support.front import Front, engine
from support.kinds import narrow

pytestmark = pytest.mark.kernel

SOURCE = '''\
from pathlib import Path

def note(text: str) -> str:
    """Writes a note."""
    Path.home().joinpath("left-by-a-test").write_text(text)
    return "written"

def shout(text: str) -> str:
    """Louder."""
    return text.upper()

loud = shout("hi")
written = note("x")
'''


def ran(front: Front) -> CodeBlock:
    return next(block for block in reversed(front.transcript.blocks) if isinstance(block, CodeBlock))


async def drafted(front: Front, name: str) -> FunctionDrafted:
    await front.client.send(DraftFunction(name=name))
    return narrow(await front.until(lambda reply: isinstance(reply, FunctionDrafted)), FunctionDrafted)


async def test_H6_the_test_runs_in_the_sandbox_in_a_kernel_that_knows_nothing_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_env: dict[str, str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    home, work = tmp_path / "home", tmp_path / "home" / "work"
    work.mkdir(parents=True)
    profile = Profile(mode="workspace-write", workspace=work, home=home)
    launch = Launch(cwd=work, sandbox=profile, environ=clean_env | {"HOME": str(home)})
    async with engine(tmp_path, FakeModel(), kernels=lambda ties: Kernels(launch)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source=SOURCE))
        shown = await drafted(front, "shout")
        assert shown.passed, shown.tested
        tested = ran(front)
        assert (tested.apart, tested.state) == (FRESH_KERNEL, "ok")
        assert "HI" in str(tested.outputs)
        await front.client.send(KeepFunction(name="shout", digest=shown.digest))
        await front.until_event(NoticeAdded)
        assert find_function("shout").head.example == "shout('hi')"
        # What the test defined is not there, and what it wrote outside of the folder is not on the machine.
        await front.client.send(Run(language="python", source="del shout\nshout"))
        failed = await drafted(front, "note")
        gone = next(block for block in reversed(front.transcript.blocks[:-1]) if isinstance(block, CodeBlock))
        assert narrow(gone.outputs[-1], ErrorOutput).name == "NameError"
        assert not (home / "left-by-a-test").exists()
        assert failed.passed or "Error" in failed.tested
        await front.client.send(UseFunction(name="shout"))
        await front.client.send(Run(language="python", source="print(shout('again'))"))
        await front.until(lambda reply: "AGAIN" in str(ran(front).outputs))
