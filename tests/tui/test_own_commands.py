"""Row C11: commands as files, on the screen."""

import os
from pathlib import Path

import pytest

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import TurnStarted
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.trust.folder_decisions import FolderDecisions
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.screens.palette_screen import PaletteScreen
from support.stage import Play, Stage

REVIEW = """---
description: Review a file
arguments:
  - name: level
    choices: [quick, thorough]
  - name: file
---
Review @{{file}}.

This is a {{level}} look.
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's commands."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "oi-tui" / "commands"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text(REVIEW)
    return folder


def offered(stage: Stage) -> list[str]:
    shown = stage.prompt.completion.open_list
    return [choice.label for choice in shown.offer.choices] if shown is not None else []


async def test_C11_an_own_command_completes_is_sent_as_a_prompt_and_shown_with_its_name(play: Play, own: Path) -> None:
    async with play() as stage:
        (stage.cwd / "app.py").write_text("x = 1")
        await stage.pilot.press(*"/rev")
        await stage.settle()
        assert "/review quick|thorough FILE" in stage.seen
        assert "yours: Review a file" in stage.seen
        await stage.pilot.press("tab", *"th", "tab", *"@app")
        await stage.until(lambda: "app.py" in offered(stage))
        await stage.pilot.press("tab", "enter")
        sent = Submit(
            text="Review @app.py.\n\nThis is a thorough look.", files=("app.py",), command="/review thorough @app.py"
        )
        assert await stage.engine.heard(1) == [sent]
        assert stage.prompt.text == ""
        stage.engine.say(TurnStarted(block_id="u1", text=sent.text, files=sent.files, command=sent.command))
        await stage.settle()
        assert "/review thorough @app.py" in stage.seen
        assert "This is a thorough look." in stage.seen


async def test_C11_the_palette_lists_an_own_command_and_a_draft_stays_where_it_is(play: Play, own: Path) -> None:
    (own / "tidy.md").write_text("Tidy up.")
    async with play() as stage:
        await stage.pilot.press(*"a draft", "ctrl+p", *"tidy")
        await stage.screen(PaletteScreen)
        await stage.settle()
        assert "yours: Tidy up." in stage.seen
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Submit(text="Tidy up.", command="/tidy")]
        assert stage.prompt.text == "a draft"
        await stage.pilot.press("f1")
        await stage.settle()
        await stage.pilot.press(*"Your commands")
        await stage.settle()
        assert "/tidy" in stage.seen


async def test_U34_a_folders_commands_are_used_once_it_is_trusted_and_not_after_a_change(
    play: Play, own: Path, tmp_path: Path
) -> None:
    folder = tmp_path / ".oi" / "commands"
    folder.mkdir(parents=True)
    (folder / "deploy.md").write_text("Deploy it.")
    folders = FolderDecisions(tmp_path / "folders.toml", owner=os.getuid(), home=tmp_path / "home")
    place = Workplace(Configure(settings=Settings(), cwd=str(tmp_path)), said=set(), folders=folders)
    place.choose("trust")
    async with play(workplace=place) as stage:
        await stage.pilot.press(*"/deploy", "enter")
        assert await stage.engine.heard(1) == [Submit(text="Deploy it.", command="/deploy")]
        (folder / "deploy.md").write_text("Delete all.")
        await stage.pilot.press(*"/deploy", "enter")
        await stage.settle()
        assert stage.told("/deploy cannot be used: the commands of this folder changed since you trusted it.")
        assert len(stage.engine.asked) == 1
