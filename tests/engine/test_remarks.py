"""Why a run failed, where it was not the code."""

import pytest

from oi_tui.app.engine.agent.run_hints import run_hints
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, StreamOutput, Tail
from oi_tui.app.engine.core.values import Confinement

READ_ONLY = ErrorOutput(name="OSError", value="[Errno 30] Read-only file system: '/etc/x'")
NO_NAMES = StreamOutput(name="stderr", text="curl: (6) Could not resolve host: example.org\n")
LONG = StreamOutput(
    name="stdout", text="head", tail=Tail(text="Temporary failure in name resolution", left_out_characters=9)
)
ENCLOSED = Confinement(sandboxed=True, offline=True)


def titles(confinement: Confinement, *outputs: Output) -> list[str]:
    block = CodeBlock(id="c", language="python", source="x", state="error", outputs=outputs, duration=0.1)
    return [remark.title for remark in run_hints(block, (), confinement)]


def test_what_the_sandbox_stopped_is_said_to_be_its_doing() -> None:
    assert "kept the code from writing" in titles(ENCLOSED, READ_ONLY)[0]
    assert "from the network" in titles(ENCLOSED, NO_NAMES)[0]
    assert "from the network" in titles(ENCLOSED, LONG)[0]
    assert len(titles(ENCLOSED, READ_ONLY, NO_NAMES)) == 2


@pytest.mark.parametrize(
    ("confinement", "output"),
    [
        (Confinement(), READ_ONLY),
        (Confinement(sandboxed=True), NO_NAMES),
        (ENCLOSED, StreamOutput(name="stdout", text="all is well\n")),
    ],
)
def test_where_no_sandbox_stands_in_the_way_nothing_is_said(confinement: Confinement, output: Output) -> None:
    assert titles(confinement, output) == []
