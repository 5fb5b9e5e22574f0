"""Repeating runs that are on record, to have their variables again: in order, compared, up to the first failure."""

from pathlib import Path

import pytest

from oi_tui.app.engine.agent.decisions import Decisions
from oi_tui.app.engine.agent.runners import Runners
from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.events import (
    InputRequested,
    OutputAdded,
    RerunFinished,
    RerunStarted,
    TurnEnded,
)
from oi_tui.app.engine.core.outputs import ErrorOutput
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import Answer, Interrupt, Open, Rebuild, Run, Submit
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import short_form
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, Happenings, Script, asks, stdout_output
from oi_tui.app.engine.tools.toolbox import Toolbox
from support.front import Front, engine
from support.rebuilds import codes, rebuild, resumed

THREE = "```python\na = 1\n```\n\n```python\nprint(a)\n```\n\n```python\nb = a\n```"


async def past(tmp_path: Path, kernel: FakeKernel | None = None) -> str:
    """A session on record in which three sources ran, in a kernel that is gone."""
    async with engine(tmp_path, FakeModel(THREE, "Done."), kernels=FakeKernels(python=kernel or FakeKernel())) as front:
        await front.client.send(Open())
        await front.turn("go")
        return front.transcript.session_id


def notices(front: Front) -> list[NoticeBlock]:
    return [block for block in front.transcript.blocks if isinstance(block, NoticeBlock)]


async def test_the_chosen_runs_are_repeated_in_order_in_a_fresh_kernel_and_the_record_stays(tmp_path: Path) -> None:
    session_id = await past(tmp_path)
    kernel = FakeKernel()
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await resumed(front, session_id)
        before = codes(front)
        summary = await rebuild(front, before[2], before[0], before[1])
        assert kernel.ran == ["a = 1", "print(a)", "b = a"]
        assert (summary.level, summary.title) == ("info", "Re-ran 3 of 3 cells: 3 unchanged.")
        assert [block.rerun for block in codes(front)] == ["same"] * 3
        assert [block.outputs for block in codes(front)] == [block.outputs for block in before]


async def test_other_output_is_marked_and_told_line_by_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    session_id = await past(tmp_path)
    kernel = FakeKernel({"print(a)": [stdout_output("2\n"), RunResult(status="ok")]})
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await resumed(front, session_id)
        summary = await rebuild(front, *codes(front))
        assert [block.rerun for block in codes(front)] == ["same", "differs", "same"]
        assert summary.level == "warning"
        assert "+2" in summary.details


async def test_the_first_failure_stops_it(tmp_path: Path) -> None:
    session_id = await past(tmp_path)
    failure: Happenings = [
        OutputAdded(block_id="", output=ErrorOutput(name="OSError", value="gone")),
        RunResult(status="error"),
    ]
    kernel = FakeKernel({"print(a)": failure})
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await resumed(front, session_id)
        summary = await rebuild(front, *codes(front))
        assert kernel.ran == ["a = 1", "print(a)"]
        assert [block.rerun for block in codes(front)] == ["same", "error", ""]
        assert "OSError: gone" in summary.details
        assert "1 more" in summary.hint


async def test_a_run_that_failed_on_record_may_fail_again(tmp_path: Path) -> None:
    failure: Happenings = [
        OutputAdded(block_id="", output=ErrorOutput(name="ValueError", value="x")),
        RunResult(status="error"),
    ]
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=FakeKernel({"bad": failure}))) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source="bad"))
        await front.client.send(Run(language="python", source="good"))
        await front.until(lambda _: len(codes(front)) == 2 and codes(front)[1].duration is not None)
        await rebuild(front, *codes(front))
        assert [block.rerun for block in codes(front)] == ["same", "same"]


async def test_interrupting_ends_it(tmp_path: Path) -> None:
    session_id = await past(tmp_path)
    kernel = FakeKernel()
    kernel.blocked = True
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await resumed(front, session_id)
        ids = tuple(block.id for block in codes(front))
        await front.client.send(Rebuild(block_ids=ids))
        await front.until_event(RerunStarted)
        await front.client.send(Interrupt())
        finished = await front.until_event(RerunFinished)
        assert isinstance(finished, RerunFinished)
        assert finished.outcome == "interrupted"

        def summed_up(_: object = None) -> bool:
            return any(isinstance(block, NoticeBlock) and "Re-ran" in block.title for block in front.transcript.blocks)

        if not summed_up():  # it may come in one batch with the end
            await front.until(summed_up)
        assert kernel.ran == ["a = 1"]


async def test_what_running_code_asks_is_asked_again(tmp_path: Path) -> None:
    script: Script = {
        "name = input()": [
            asks("name? "),
            RunResult(status="ok"),
        ]
    }
    kernel = FakeKernel(script)
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source="name = input()"))
        await answer(front)
        await front.until(lambda _: codes(front)[0].duration is not None)
        await front.client.send(Rebuild(block_ids=(codes(front)[0].id,)))
        await answer(front)
        await front.until(lambda _: codes(front)[0].rerun == "same")
        assert kernel.answers == ["Ada", "Ada"]


async def answer(front: Front) -> None:
    asked = await front.until_event(InputRequested)
    assert isinstance(asked, InputRequested)
    await front.client.send(Answer(request_id=asked.request_id, text="Ada"))


async def test_a_rule_that_denies_it_now_still_does(tmp_path: Path) -> None:
    session_id = await past(tmp_path)
    kernel = FakeKernel()
    policy = Policy(mode="plan")
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel), policy=policy) as front:
        await resumed(front, session_id)
        summary = await rebuild(front, *codes(front))
        assert kernel.ran == []
        assert "plan" in summary.details


async def test_what_a_look_at_the_source_asks_about_is_refused_with_the_reason(tmp_path: Path) -> None:
    kernel = FakeKernel()
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source="a = 'x\u202ey'"))
        await front.until(lambda _: len(codes(front)) == 1 and codes(front)[0].duration is not None)
        summary = await rebuild(front, *codes(front))
        assert len(kernel.ran) == 1
        assert "hidden or deceiving characters: run it again by itself with r" in summary.details


@pytest.mark.parametrize(("mode", "refused"), [("ask", False), ("auto", False), ("never", True)])
async def test_of_a_choice_the_mode_asks_nothing_more_and_a_rule_that_asks_is_not_passed(
    mode: ApprovalMode, refused: bool
) -> None:
    block = CodeBlock(id="c", language="shell", source="git push origin")
    decisions = Decisions(mode, Runners(FakeKernels(), Toolbox()), can_ask=False)
    assert bool(decisions.denial_reason(await decisions.rule(block))) == refused
    policy = Policy(rules=(short_form("Shell(git push *)", "ask"),))
    decisions = Decisions(mode, Runners(FakeKernels(), Toolbox()), can_ask=True, policy=policy)
    assert decisions.denial_reason(await decisions.rule(block))


async def test_marks_are_gone_when_the_session_is_opened_again(tmp_path: Path) -> None:
    session_id = await past(tmp_path)
    async with engine(tmp_path, FakeModel()) as front:
        await resumed(front, session_id)
        await rebuild(front, *codes(front))
    async with engine(tmp_path, FakeModel()) as front:
        await resumed(front, session_id)
        assert {block.rerun for block in codes(front)} == {""}


async def test_L20_a_variable_of_before_gives_a_hint_and_the_model_knows_that_it_is_gone(tmp_path: Path) -> None:
    session_id = await past(tmp_path)
    missing = ErrorOutput(name="NameError", value="name 'a' is not defined")
    kernel = FakeKernel({"a + 1": [OutputAdded(block_id="", output=missing), RunResult(status="error")]})
    model = FakeModel("```python\na + 1\n```", "Sorry.")
    async with engine(tmp_path, model, kernels=FakeKernels(python=kernel)) as front:
        await resumed(front, session_id)
        await front.client.send(Submit(text="add one"))
        await front.until_event(TurnEnded)
        assert any("“a” was set by code that ran before" in notice.title for notice in notices(front))
    assert "variables and imports of the code above are gone" in model.requests[0].messages[-1].text
