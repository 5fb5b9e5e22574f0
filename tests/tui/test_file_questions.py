"""The question about a change of a file: the diff, and the new text edited in place."""

import json
from typing import Any

import pytest

from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import EditableText
from oi_tui.app.engine.core.verbs import Decide, Revise
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.editor import SourceEditor
from support.snapshot import Snap
from support.stage import Play, Stage

BEFORE = "def area(width, height):\n    return width + height\n"
AFTER = "def area(width, height):\n    return width * height\n"
DIFF = "\n".join(
    [
        "--- a/shapes.py",
        "+++ b/shapes.py",
        "@@ -1,4 +1,5 @@",
        " import math",
        " ",
        "-def area(width, height):",
        "-    return width + height",
        "+def area(width: float, height: float) -> float:",
        "+    return width * height",
        "+",
        " ",
        "",
    ]
)
SOURCE = json.dumps({"path": "shapes.py", "old": BEFORE, "new": AFTER}, indent=2)
WIDTHS = pytest.mark.parametrize("size", [(48, 24), (120, 40)])


async def ask(stage: Stage) -> ApprovalPanel:
    await stage.propose_call(
        "edit_file",
        SOURCE,
        preview=RichOutput(data={"text/x-diff": DIFF}),
        editable=EditableText(argument="new", language="python"),
    )
    await stage.arm()
    return stage.app.chat.query_one(ApprovalPanel)


@WIDTHS
async def test_F20_a_question_with_a_diff_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size) as stage:
        await ask(stage)
        await snap(stage.pilot)


async def test_F20_a_change_is_shown_once_and_its_arguments_in_full_screen(play: Play) -> None:
    async with play((80, 24)) as stage:
        await ask(stage)
        assert "more line" not in stage.seen, "all of it is there: no key before the answer"
        assert "51 characters" not in stage.seen
        await stage.pilot.press("v")
        await stage.settle()
        assert "51 characters" in stage.seen
        await stage.pilot.press("v", "y")
        assert await stage.engine.heard(1) == [Decide(request_id="d1", verdict="run", source=SOURCE)]


@pytest.mark.parametrize(
    ("fields", "diff"),
    [
        ({"origin": "plugin lab"}, DIFF),
        ({"preview_remark": "it was cut"}, DIFF),
        ({}, f"{DIFF}\n… 20 more lines of the diff"),
        ({}, f"{DIFF}\n+{'x' * 2_000}"),
        ({"source": json.dumps({"path": "shapes.py", "old": "a\r\n", "new": "a\n", "ends": "51 characters"})}, DIFF),
    ],
)
async def test_F20_arguments_are_shown_with_a_diff_that_may_not_say_all(
    play: Play, fields: dict[str, Any], diff: str
) -> None:
    async with play((120, 60)) as stage:
        preview = RichOutput(data={"text/x-diff": diff})
        about: dict[str, Any] = fields
        await stage.propose_call("edit_file", about.pop("source", SOURCE), preview=preview, **about)
        assert "51 characters" in stage.seen


async def test_F20_e_opens_the_new_text_and_the_question_about_what_was_edited_is_the_one_that_counts(
    play: Play,
) -> None:
    async with play((100, 40)) as stage:
        panel = await ask(stage)
        await stage.pilot.press("e")
        editor = stage.app.chat.query_one(SourceEditor)
        assert editor.text == AFTER
        assert editor.language == "python"
        await stage.pilot.press("ctrl+s")
        assert stage.engine.asked == [], "nothing was edited"
        await stage.pilot.press("e")
        editor.text = edited = AFTER.replace("area", "size")
        await stage.pilot.press("ctrl+s")
        source = json.dumps({"path": "shapes.py", "old": BEFORE, "new": edited}, indent=2)
        assert await stage.engine.heard(1) == [Revise(request_id="d1", source=source)]
        await stage.arm()
        await stage.pilot.press("y", "y")
        assert len(stage.engine.asked) == 1, "what is shown now has no preview yet"
        assert "looking at what it would do now" in stage.seen
        stage.engine.say(
            DecisionRequested(
                request_id="d2",
                block_id="t1",
                tool="edit_file",
                source=source,
                sha256="0" * 64,
                preview=RichOutput(data={"text/x-diff": DIFF.replace("area", "size")}),
                editable=EditableText(argument="new", language="python"),
                edited=True,
            )
        )
        await stage.until(lambda: "+def size" in stage.seen)
        assert "edited by you" in stage.seen
        await stage.pilot.press("y")
        assert len(stage.engine.asked) == 1, "it was not there long enough"
        await stage.arm()
        await stage.pilot.press("end", "y")
        assert (await stage.engine.heard(2))[1] == Decide(request_id="d2", verdict="run", source=source)
        assert panel.request is None
