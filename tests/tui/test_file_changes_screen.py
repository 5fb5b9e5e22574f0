"""Changes of files on the screen: a diff among the outputs, and nothing undone without a key on what was shown."""

from typing import Literal

import pytest
from msgspec.structs import replace

from oi_tui.app.engine.core.events import (
    CallFinished,
    CallStarted,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    FilesWritten,
    OutputAdded,
    ProseGrew,
    ProseStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import RichOutput, WrittenFile, WrittenFiles
from oi_tui.app.engine.core.tool_replies import ChangedFile, ChangesFound
from oi_tui.app.engine.core.tool_verbs import ReadChanges, UndoChanges
from oi_tui.app.screens.undo_screen import UndoScreen
from oi_tui.widgets.keyrow import KeyRow
from support.snapshot import Snap
from support.stage import Play, Stage

DIFF = """\
--- a/notes.md
+++ b/notes.md
@@ -1,4 +1,5 @@
 # Notes
-The harbour opens at seven in the morning.
+The harbour opens at nine in the morning.
+It closes at dusk.
 There is no harbour master.
 Bring a rope."""
NEW = "--- /dev/null\n+++ b/tide.csv\n@@ -0,0 +1,2 @@\n+hour,metres\n+6,1.4"


async def change(stage: Stage) -> None:
    """A call that changed a file."""
    told = "Changed notes.md: 2 lines added, 1 removed."
    stage.engine.say(
        TurnStarted(block_id="u1", text="The harbour opens at nine now"),
        CallStarted(block_id="t1", tool="edit_file"),
        CallFinished(block_id="t1", tool="edit_file", source='{"path": "notes.md"}'),
        DecisionMade(block_id="t1", verdict="run", decider="mode", source='{"path": "notes.md"}'),
        ExecutionStarted(block_id="t1", generation=1),
        OutputAdded(block_id="t1", output=RichOutput(data={"text/plain": told, "text/x-diff": DIFF}, is_result=True)),
        ExecutionFinished(block_id="t1", status="ok", duration=0.1),
        TurnEnded(reason="done"),
    )
    await stage.settle()


async def ask_to_undo(stage: Stage, *files: ChangedFile) -> UndoScreen:
    stage.prompt.fill("/undo")
    await stage.pilot.press("enter")
    assert await stage.engine.heard(1) == [ReadChanges(scope="turn", purpose="undo")]
    stage.engine.reply(ChangesFound(scope="turn", purpose="undo", files=files, state="s1"))
    screen = await stage.screen(UndoScreen)
    await stage.settle()
    return screen


async def test_f14_a_change_is_drawn_as_a_diff_with_its_words_marked(play: Play, snap: Snap) -> None:
    async with play(size=(80, 24)) as stage:
        await change(stage)
        assert "Changed notes.md: 2 lines added, 1 removed." in stage.seen
        assert "It closes at dusk." in stage.seen
        await snap(stage.pilot)


async def test_f15_undo_shows_what_it_would_do_and_waits_for_a_key(play: Play, snap: Snap) -> None:
    async with play(size=(80, 24)) as stage:
        await change(stage)
        theirs = ChangedFile(name="tide.csv", diff=NEW, problem="was changed since by somebody else", forceable=True)
        await ask_to_undo(stage, ChangedFile(name="notes.md", diff=DIFF), theirs)
        assert "tide.csv was changed since by somebody else: it stays as it is." in stage.seen
        await snap(stage.pilot)
        await stage.pilot.press("enter", "escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        assert len(stage.engine.asked) == 1, "nothing was undone"
        await ask_to_undo_again(stage, theirs)


async def ask_to_undo_again(stage: Stage, theirs: ChangedFile) -> None:
    """Once by the key that leaves other people's changes, once by the one that does not."""
    for key, force in (("y", False), ("f", True)):
        before = len(stage.engine.asked)
        stage.prompt.fill("/undo session")
        await stage.pilot.press("enter")
        await stage.engine.heard(before + 1)
        files = (ChangedFile(name="notes.md", diff=DIFF), theirs)
        stage.engine.reply(ChangesFound(scope="session", purpose="undo", files=files, state="s2"))
        await stage.screen(UndoScreen)
        await stage.settle()
        await stage.pilot.press(key)
        undone = UndoChanges(scope="session", shown="s2", force=force)
        assert (await stage.engine.heard(before + 2))[-1] == undone


@pytest.mark.parametrize(
    ("purpose", "keys"), [("diff", ["close"]), ("redo", ["redo", "all, over other changes", "close"])]
)
async def test_f15_the_keys_say_what_they_do_here(
    play: Play, purpose: Literal["diff", "redo"], keys: list[str]
) -> None:
    async with play(size=(80, 24)) as stage:
        await change(stage)
        stage.prompt.fill(f"/{purpose}")
        await stage.pilot.press("enter")
        await stage.engine.heard(1)
        stage.engine.reply(ChangesFound(purpose=purpose, files=(ChangedFile(name="notes.md", diff=DIFF),), state="s1"))
        screen = await stage.screen(UndoScreen)
        await stage.settle()
        assert [label.label for label in screen.query_one(KeyRow).labels] == keys


async def test_f15_where_nothing_was_changed_that_is_said(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await change(stage)
        stage.prompt.fill("/diff")
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [ReadChanges(scope="turn", purpose="diff")]
        stage.engine.reply(ChangesFound(why="There is nothing to be shown."))
        await stage.until(lambda: "There is nothing to be shown." in stage.seen)


async def test_f16_the_row_of_a_run_says_what_it_changed_and_u_shows_what_undo_would_do(play: Play, snap: Snap) -> None:
    async with play(size=(80, 24)) as stage:
        written = WrittenFiles(
            files=(WrittenFile(name="summary.csv", size=20),), deleted=("old.csv",), undoable=2, lost=1
        )
        stage.engine.say(
            TurnStarted(block_id="u1", text="Sum it up"),
            CodeStarted(block_id="c1", language="python"),
            CodeFinished(block_id="c1", language="python", source="sum_up()"),
            DecisionMade(block_id="c1", verdict="run", decider="mode", source="sum_up()"),
            ExecutionStarted(block_id="c1", generation=1),
            ExecutionFinished(block_id="c1", status="ok", duration=0.1),
            FilesWritten(block_id="c1", written=written),
            CodeStarted(block_id="c2", language="python"),
            CodeFinished(block_id="c2", language="python", source="1 + 1"),
            DecisionMade(block_id="c2", verdict="run", decider="mode", source="1 + 1"),
            ExecutionStarted(block_id="c2", generation=1),
            ExecutionFinished(block_id="c2", status="ok", duration=0.1),
            TurnEnded(reason="done"),
        )
        await stage.settle()
        assert "u undo · 1 cannot be undone" in stage.seen
        await snap(stage.pilot)
        await stage.pilot.press("tab", "up", "u")
        wanted = ReadChanges(scope="block", block_id="c1", purpose="undo")
        assert await stage.engine.heard(1) == [wanted]
        stage.engine.reply(
            ChangesFound(
                scope="block", block_id="c1", purpose="undo", state="s", files=(ChangedFile(name="tide.csv", diff=NEW),)
            )
        )
        await stage.screen(UndoScreen)
        await stage.settle()
        assert "Undo changes by this block: 1 file" in stage.seen
        await stage.pilot.press("y")
        assert (await stage.engine.heard(2))[-1] == UndoChanges(scope="block", block_id="c1", shown="s")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        await stage.pilot.press("down", "u")
        assert (await stage.engine.heard(3))[-1] == ReadChanges(scope="turn", block_id="c1", purpose="undo")
        stage.engine.say(FilesWritten(block_id="c1", written=replace(written, undoable=1, undone=1)))
        await stage.settle()
        assert "undone 1 of 3 · u undo" in stage.seen, stage.seen
        stage.engine.say(FilesWritten(block_id="c1", written=replace(written, undoable=0, undone=2, lost=0)))
        await stage.until(lambda: "u undo" not in stage.seen)
        assert "deleted old.csv · undone" in stage.seen
        await stage.pilot.press("up", "u")
        await stage.until(lambda: "Its changes were undone. /redo" in stage.seen)


async def test_f15_u_on_prose_undoes_its_turn_and_is_never_a_prompt(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await change(stage)
        stage.engine.say(
            TurnStarted(block_id="u2", text="Thanks"),
            ProseStarted(block_id="p2"),
            ProseGrew(block_id="p2", text="You are welcome."),
            TurnEnded(reason="done"),
        )
        await stage.settle()
        await stage.pilot.press("tab", "u")
        await stage.until(lambda: stage.told("This turn changed no file: there is nothing to undo."))
        assert stage.told("U uses its text as a prompt.")
        assert stage.prompt.text == ""
        await stage.pilot.press("home", "u")
        asked = ReadChanges(scope="turn", block_id="t1", purpose="undo")
        assert await stage.engine.heard(1) == [asked]
        found = (ChangedFile(name="notes.md", diff=DIFF),)
        stage.engine.reply(ChangesFound(scope="turn", block_id="t1", purpose="undo", files=found, state="s"))
        await stage.screen(UndoScreen)
        await stage.settle()
        assert "Undo changes by this turn: 1 file" in stage.seen
