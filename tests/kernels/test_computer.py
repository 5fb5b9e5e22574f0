"""`import computer` in a real Python kernel: what it calls runs in a real shell, and nothing of it is in the way."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested, ExecutionStarted
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.outputs import ErrorOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.text.mime import plain_text
from support.turns import play


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def kernels(
    tmp_path_factory: pytest.TempPathFactory, kernel_environ: dict[str, str]
) -> AsyncIterator[tuple[Kernels, Path]]:
    """Those of all tests here, and their folder."""
    folder = tmp_path_factory.mktemp("computer")
    pool = Kernels(Launch(cwd=folder, environ=kernel_environ))
    yield pool, folder
    await pool.close()


async def cell(kernels: Kernels, source: str, *verdicts: Verdict, answers: tuple[str, ...] = ()) -> CodeBlock:
    """The cell, run in a session of its own, with these answers to what is asked about its calls."""
    session = Session(kernels=kernels, settings=LoopSection(approve="ask"), model=FakeModel(*answers, ""))
    waiting = list(verdicts)

    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict=waiting.pop(0)))

    await play(session, session.run_code("python", source), react, limit=30.0)
    block = next(block for block in session.transcript.blocks if isinstance(block, CodeBlock))
    assert not waiting
    return block


def said(block: CodeBlock) -> str:
    return "".join(map(plain_text, block.outputs))


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_L38_code_in_a_kernel_calls_the_shell_and_the_model(kernels: tuple[Kernels, Path]) -> None:
    source = """
import computer
print("before")
found = computer.run("bash", "echo from-the-$((40 + 2))")
print([found, computer.ask("what?")])
print(input.__name__)
"""
    block = await cell(kernels[0], source, "run", "run", answers=("an answer",))
    assert said(block).split("\n")[:2] == ["before", "['from-the-42\\n', 'an answer']"]
    assert block.state == "ok"


async def test_U31_a_refusal_is_an_error_that_code_can_catch(kernels: tuple[Kernels, Path]) -> None:
    source = """
import computer
try:
    computer.run("shell", "touch made")
except computer.ComputerError as error:
    print(error)
computer.run("python", "1")
"""
    block = await cell(kernels[0], source, "skip")
    assert "Not run" in said(block)
    assert not (kernels[1] / "made").exists()
    (error,) = (output for output in block.outputs if isinstance(output, ErrorOutput))
    assert (error.name, "run python code here directly" in error.value) == ("ComputerError", True)


async def test_L3_a_cell_that_waits_for_what_it_called_can_be_interrupted(kernels: tuple[Kernels, Path]) -> None:
    session = Session(kernels=kernels[0], settings=LoopSection(approve="auto"), model=FakeModel(""))
    session.decisions.add_rule("allow", "Shell(sleep *)")
    begun: list[str] = []

    def react(event: AnyEvent) -> None:
        match event:
            case DecisionRequested():
                session.decide(Decide(request_id=event.request_id, verdict="run"))
            case ExecutionStarted():
                begun.append(event.block_id)
                if len(begun) == 2:
                    session.interrupt()
            case _:
                pass

    source = "import computer\ncomputer.run('shell', 'sleep 60')"
    await play(session, session.run_code("python", source), react, limit=30.0)
    blocks = [block for block in session.transcript.blocks if isinstance(block, CodeBlock)]
    assert [block.state for block in blocks] == ["interrupted", "interrupted"]
    assert said(await cell(kernels[0], "print(input('name? ') if False else 'still here')")) == "still here\n"


async def test_L38_a_module_of_the_persons_own_comes_first_and_threads_cannot_call(
    kernels: tuple[Kernels, Path],
) -> None:
    threads = """
import computer, threading
def call():
    try: computer.run("shell", "ls")
    except computer.ComputerError as error: print(error)
thread = threading.Thread(target=call); thread.start(); thread.join()
"""
    assert "main thread" in said(await cell(kernels[0], threads))
    (kernels[1] / "computer.py").write_text("mine = True\n")
    own = "import sys; sys.modules.pop('computer'); import computer; print(computer.mine, 'ask' in dir(computer))"
    assert said(await cell(kernels[0], own)) == "True False\n"
