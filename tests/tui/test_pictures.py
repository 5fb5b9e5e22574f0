"""Pictures of the main states, narrow and wide: what a change does to the screen is seen before it is released."""

import pytest
from textual.widgets import Input, TextArea

from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.protocol import ModelOffer, ModelsFound
from oi_tui.app.engine.core.settings import ScreenSection, Settings
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.question import QuestionPanel
from support.snapshot import Snap
from support.stage import Play, Stage

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["narrow", "wide"])

SOURCE = """import csv
rows = list(csv.DictReader(open("data.csv")))
scores = [float(row["score"]) for row in rows]
print(f"{len(scores)} rows, mean {sum(scores) / len(scores):.1f}")
"""
OFFERS = (
    ModelOffer(id="ollama/llama3.2", kind="server", title="Ollama at 127.0.0.1:11434", detail="llama3.2"),
    ModelOffer(id="openai/gpt-5", kind="key", title="OpenAI gpt-5", detail="key in OPENAI_API_KEY"),
    ModelOffer(
        id="qwen2.5-coder-1.5b",
        kind="embedded",
        title="Built-in: Qwen2.5-Coder 1.5B",
        detail="1.1 GB download, 2.0 GB memory, no key, stays on this machine · Apache-2.0",
        download_bytes=1_117_320_768,
        recommended=True,
    ),
)


async def still(stage: Stage) -> None:
    """No cursor blinks while a picture is taken."""
    for area in stage.app.screen.query(TextArea):
        area.cursor_blink = False
    for line in stage.app.screen.query(Input):
        line.cursor_blink = False
    await stage.settle()


async def converse(stage: Stage) -> None:
    """A question, code that ran, what it printed, a summary and a notice."""
    stage.engine.say(
        TurnStarted(block_id="u1", text="What is the mean score in data.csv?"),
        ProseStarted(block_id="p1"),
        ProseGrew(block_id="p1", text="I'll read the file and take the mean of `score`."),
        ProseFinished(block_id="p1"),
        CodeStarted(block_id="c1", language="python"),
        CodeFinished(block_id="c1", language="python", source=SOURCE),
        ExecutionStarted(block_id="c1", generation=1),
        OutputAdded(block_id="c1", output=StreamOutput(name="stdout", text="56 rows, mean 79.7\n")),
        ExecutionFinished(block_id="c1", status="ok", duration=0.2),
        ProseStarted(block_id="p2"),
        ProseGrew(block_id="p2", text="The mean over **56 rows** is **79.7**."),
        ProseFinished(block_id="p2"),
        TurnEnded(reason="done"),
        UsageReported(input_tokens=3100, output_tokens=420, cost=0.0012),
        KernelChanged(language="python", state="idle"),
        NoticeAdded(block_id="n1", level="warning", title="The server was busy.", hint="It was asked again after 2 s."),
    )
    await stage.until(lambda: "after 2 s." in stage.seen)
    await still(stage)


@SIZES
async def test_an_empty_session_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size) as stage:
        await still(stage)
        await snap(stage.pilot)


@SIZES
@pytest.mark.parametrize("theme", ["harbour", "harbour-light"])
async def test_a_conversation_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int], theme: str) -> None:
    async with play(size, settings=Settings(screen=ScreenSection(theme=theme))) as stage:
        await converse(stage)
        await snap(stage.pilot)


@SIZES
async def test_the_question_about_code_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size) as stage:
        await stage.propose(SOURCE)
        await stage.until(lambda: "waiting for approval" in stage.seen)
        await still(stage)
        await stage.arm()
        stage.app.chat.query_one(ApprovalPanel).show_arming()
        await stage.settle()
        await snap(stage.pilot)


@SIZES
async def test_the_question_of_running_code_looks_like_its_picture(
    play: Play, snap: Snap, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        await stage.run_and_ask("Your name? ")
        await still(stage)
        await stage.arm(2.0)
        stage.app.chat.query_one(QuestionPanel).show_arming()
        await stage.pilot.press(*"Ada")
        await stage.until(lambda: "2.0 s" in stage.seen)
        await snap(stage.pilot)


@SIZES
async def test_the_choice_of_a_model_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size, model="") as stage:
        stage.engine.reply(ModelsFound(offers=OFFERS, why="This machine has 8 cores and 12 GB of memory free."))
        await still(stage)
        await snap(stage.pilot)


@SIZES
async def test_the_help_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size) as stage:
        await still(stage)
        await stage.pilot.press("f1")
        await stage.settle()
        await snap(stage.pilot)
