"""Row V22: the tour shows the program without a model, and has an answer to whatever the person does."""

import ast
import asyncio
import re
from collections.abc import Callable

import pytest

from oi_tui.app.engine.agent.compaction import SUMMARISE
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.agent.prompt import FAILED, NEXT
from oi_tui.app.engine.core.blocks import CodeBlock, ProseBlock
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, TextDelta
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested, ExecutionStarted, OutputAdded
from oi_tui.app.engine.core.outputs import ErrorOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.models.tour import TourModel
from oi_tui.app.engine.models.tour_script import STEPS, tour_answer
from oi_tui.app.engine.session.titles import ASK
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, Happenings, stdout_output
from support.turns import play

FAST = 1_000_000.0
"""Pieces a second."""

Asked = Callable[[DecisionRequested, str], Decide]


def happenings(source: str) -> Happenings:
    """What the code of the tour gives, without a kernel."""
    if "cofee" in source:
        error = ErrorOutput(name="KeyError", value="'cofee'", traceback=("KeyError: 'cofee'",))
        return [OutputAdded(block_id="", output=error), RunResult(status="error")]
    text = "pandas: yes\nmatplotlib: no\n" if "find_spec" in source else "██\n" if "█" in source else "done\n"
    return [stdout_output(text), RunResult(status="ok")]


def approved(asked: DecisionRequested, _: str) -> Decide:
    return Decide(request_id=asked.request_id, verdict="run")


class Tour:
    """A session on the tour, in which every question is answered so."""

    def __init__(self) -> None:
        self.kernel = FakeKernel(happenings)
        kernels = FakeKernels(python=self.kernel)
        self.session = Session(kernels=kernels, settings=LoopSection(), model=TourModel(pace=FAST))

    async def say(self, text: str, answer: Asked = approved) -> str:
        """Send a prompt; what was said and proposed since."""
        before = len(self.session.transcript.blocks)

        def react(event: AnyEvent) -> None:
            if isinstance(event, DecisionRequested):
                self.session.decide(answer(event, event.source))
            elif isinstance(event, ExecutionStarted) and self.kernel.blocked:
                asyncio.get_running_loop().call_soon(self.session.interrupt)

        await play(self.session, self.session.run(text), react)
        blocks = self.session.transcript.blocks[before:]
        said = [block.text if isinstance(block, ProseBlock) else f"[{block.state}] {block.source}" for block in blocks
                if isinstance(block, ProseBlock | CodeBlock)]  # fmt: skip
        return "\n".join(said)


async def test_V22_the_tour_leads_through_all_its_steps_to_the_end() -> None:
    tour = Tour()
    said = await tour.say("hi")
    assert "Welcome" in said
    for number, step in enumerate(STEPS, 1):
        assert f"**{number} of {len(STEPS)} · {step.title}**" in said
        assert f"[{'error' if number == 5 else 'ok'}]" in said
        assert "Type `next`" in said.splitlines()[-1]
        if number == 5:
            assert said.count("[ok]") == 1, "the error is mended in the same turn"
        said = await tour.say("next")
    assert said.startswith("**The end**")
    assert "1 of 7" in await tour.say("1")


async def test_V22_it_uses_the_libraries_that_there_are() -> None:
    tour = Tour()
    await tour.say("hi")
    assert "import pandas" in await tour.say("table")
    assert "import matplotlib" not in (plotted := await tour.say("plot"))
    assert "viewer of pictures" not in plotted
    fresh = Tour()
    await fresh.say("hi", lambda asked, _: Decide(request_id=asked.request_id, verdict="skip", reason="no"))
    assert "import pandas" not in await fresh.say("3")


async def test_V22_a_refusal_an_edit_and_an_interrupt_are_answered() -> None:
    tour = Tour()
    refused = await tour.say(
        "hi", lambda asked, _: Decide(request_id=asked.request_id, verdict="skip", reason="too long")
    )
    assert "You refused it" in refused
    assert "“too long”" in refused
    edited = await tour.say(
        "next", lambda asked, source: Decide(request_id=asked.request_id, verdict="edit", source=f"{source}\n# mine")
    )
    assert "as you edited it" in edited
    tour.kernel.blocked = True
    interrupted = await tour.say("6")
    assert "Interrupted. The kernel lives" in interrupted


async def test_V22_a_turn_that_the_person_stopped_goes_on_where_it_was() -> None:
    tour = Tour()
    await tour.say("hi", lambda asked, _: Decide(request_id=asked.request_id, verdict="stop"))
    assert "**2 of 7" in await tour.say("next", lambda asked, _: Decide(request_id=asked.request_id, verdict="skip"))
    assert "**2 of 7" in await tour.say("again")
    assert "**1 of 7" in await tour.say("back")


@pytest.mark.parametrize(
    ("typed", "answered"),
    [
        ("What is the weather like in Oslo today?", "I am a script"),
        ("", "I am a script"),
        ("```python\nprint(1)\n```", "I am a script"),
        ("NEXT!", "**4 of 7"),
        ("an error", "**5 of 7"),
        ("7", "**7 of 7"),
        ("8", "I am a script"),
        ("stop", "/quit"),
        ("the sandbox", "**7 of 7"),
    ],
)
def test_V22_whatever_is_typed_has_an_answer_that_says_how_to_go_on(typed: str, answered: str) -> None:
    said = tour_answer(
        [
            ChatMessage(role="system", text="You do tasks."),
            ChatMessage(role="user", text="hi"),
            ChatMessage(role="assistant", text="**3 of 7 · A table**\n\nHere"),
            ChatMessage(role="user", text=typed),
        ]
    )
    assert answered in said
    assert "next" in said or "```python" in said


def test_V22_what_else_a_model_is_asked_has_a_short_answer() -> None:
    def asked(system: str, text: str = "x") -> str:
        return tour_answer([ChatMessage(role="system", text=system), ChatMessage(role="user", text=text)])

    assert asked(ASK) == "A tour of oi-tui"
    summary = asked(SUMMARISE.format(words=100), "[assistant] **4 of 7 · A plot**")
    assert "**4 of 7" in asked("You do tasks.", f"Summary of the conversation:\n{summary}\n\nagain")
    assert "I am a script" in tour_answer([ChatMessage(role="user", text="2 + 2?")])


def test_V22_the_tour_knows_how_the_session_speaks_to_models() -> None:
    assert NEXT.startswith("If the task is done")
    assert FAILED.startswith("The task is not done")


def test_V22_its_code_is_short_and_valid_with_and_without_libraries() -> None:
    for step in STEPS:
        for there in (frozenset[str](), frozenset({"pandas", "matplotlib", "sandbox"})):
            said = step.begin(there)
            (code,) = re.findall(r"```python\n(.*?)\n```", said, re.DOTALL)
            ast.parse(code)
            assert len(code.splitlines()) <= 9, "a question at 80x24 shows as much"
            assert max(map(len, code.splitlines())) <= 76


async def test_V22_the_model_of_the_tour_costs_nothing_and_streams() -> None:
    model = TourModel(pace=FAST)
    request = ChatRequest(messages=(ChatMessage(role="system", text="x"), ChatMessage(role="user", text="hi")))
    pieces = [delta async for delta in model.stream(request)]
    assert len([piece for piece in pieces if isinstance(piece, TextDelta)]) > 20
    assert (model.name, model.tells_price) == (TOUR, True)
