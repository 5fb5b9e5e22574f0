"""Row L31 on the screen: what the model reads is shown with its origins, and the person's own part can be changed."""

from pathlib import Path

import pytest

from oi_tui.app.engine.core.instructions import InstructionPart
from oi_tui.app.engine.core.protocol import InstructionsFound
from oi_tui.app.engine.core.settings import InstructionsSection, Settings
from oi_tui.app.engine.core.verbs import FindInstructions, UseInstructions
from oi_tui.app.screens.instructions_screen import InstructionsEditor, InstructionsScreen
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.viewer.pane import TextPane
from support.hostile import hostile_line, seen_line
from support.snapshot import Snap
from support.stage import Play, Stage

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["narrow", "wide"])
FOUND = InstructionsFound(
    parts=(
        InstructionPart(origin="program", name="oi-tui", text="You do tasks for the user by running code."),
        InstructionPart(origin="folder", name="../AGENTS.md", text="Use polars, not pandas.\n", cut=90_000),
        InstructionPart(origin="own", name="config.toml", text="Answer in French."),
        InstructionPart(origin="facts", name="date", text="Today is 2026-11-23."),
    ),
    remarks=("AGENTS.md is not used: it is a link that leads out of the repository.",),
    own="Answer in French.",
)


async def opened(stage: Stage, found: InstructionsFound = FOUND) -> InstructionsScreen:
    stage.prompt.fill("/instructions")
    await stage.pilot.press("enter")
    assert await stage.engine.heard(1) == [FindInstructions()]
    stage.engine.reply(found)
    return await stage.screen(InstructionsScreen)


async def test_L31_e_changes_the_persons_own_for_this_session_and_shows_it(play: Play) -> None:
    settings = Settings(instructions=InstructionsSection(variables={"team": "data"}))
    async with play((120, 40), settings=settings) as stage:
        await opened(stage)
        await stage.pilot.press("e")
        editor = (await stage.screen(InstructionsEditor)).query_one(SourceEditor)
        assert editor.text == "Answer in French."
        editor.load_text("I am in {{ nobody }}.")
        await stage.pilot.press("ctrl+s")
        await stage.until(lambda: "'nobody' is undefined" in stage.seen)
        assert len(stage.engine.asked) == 1
        editor.load_text("I am in {{ team }}.")
        await stage.pilot.press("ctrl+s")
        asked = await stage.engine.heard(3)
        assert asked[1:] == [UseInstructions(text="I am in {{ team }}."), FindInstructions()]
        mine = InstructionPart(origin="own", name="this session", text="I am in data.")
        stage.engine.reply(InstructionsFound(parts=(mine,), own="I am in {{ team }}.", edited=True))
        await stage.until(lambda: "I am in data." in stage.seen)
        assert "polars" not in stage.seen
        await stage.pilot.press("r")
        assert (await stage.engine.heard(5))[3] == UseInstructions(text=None)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)


async def test_L31_what_the_model_reads_wraps_between_words(play: Play) -> None:
    text = "Files in this folder are kept, and everything else is scratch space that will be lost at the end of it."
    async with play() as stage:
        screen = await opened(stage, InstructionsFound(parts=(InstructionPart(origin="own", name="n", text=text),)))
        await stage.until(lambda: "↪" in stage.seen)
        pane = screen.query_one(TextPane)
        rows = [pane.render_line(row).text.replace("↪", " ").split() for row in range(pane.size.height)]
        assert set(text.split()) <= {word for row in rows for word in row}


async def test_L31_what_is_given_up_or_as_it_was_is_not_sent(play: Play) -> None:
    async with play() as stage:
        await opened(stage)
        for keys in (("e", "escape"), ("e", "ctrl+s"), ("r",)):
            await stage.pilot.press(*keys)
            await stage.screen(InstructionsScreen)
        assert stage.engine.asked == [FindInstructions()]


async def test_L31_names_and_texts_of_a_folder_cannot_command_the_terminal(play: Play) -> None:
    async with play((120, 40)) as stage:
        part = InstructionPart(origin="folder", name=hostile_line("name"), text=hostile_line("text"))
        await opened(stage, InstructionsFound(parts=(part,), remarks=(hostile_line("why"),)))
        await stage.until(lambda: seen_line("text") in stage.seen and seen_line("why") in stage.seen)


@SIZES
async def test_what_the_model_reads_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size) as stage:
        await opened(stage)
        await snap(stage.pilot)
        await stage.pilot.press("e")
        await stage.screen(InstructionsEditor)
        await snap(stage.pilot)


async def test_L36_a_profile_changes_the_session_and_says_what_waits(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    profiles = tmp_path / "oi-tui" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "work.toml").write_text('[instructions]\ntext = "Be brief."\n[kernel]\nkeep = true\n')
    async with play((120, 40)) as stage:
        stage.prompt.fill("/profile work")
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [UseInstructions(text="Be brief.")]
        await stage.until(lambda: "from the next start with --profile work: kernel.keep" in stage.seen)
