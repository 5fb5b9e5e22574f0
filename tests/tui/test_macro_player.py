"""Rows C19 and U35: macros on the screen: recorded, played, stopped."""

from pathlib import Path

import pytest

from oi_tui.app.commands.macro_file import save_macro
from oi_tui.app.commands.macros import read_macros
from oi_tui.app.engine.core.events import NoticeAdded, TurnEnded, TurnStarted
from oi_tui.app.engine.core.protocol import PromptsQueued
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import AnyVerb, Decide, Interrupt, Run, SetApproval, Settle, Submit, TellUsage
from support.kinds import narrow
from support.stage import Play, Stage


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()


async def settle(stage: Stage, count: int) -> list[AnyVerb]:
    """Once the engine was asked so many things: answer that all has ended. What it was asked, without that."""
    asked = await stage.engine.heard(count)
    stage.engine.reply(PromptsQueued(settled=narrow(asked[-1], Settle).request_id))
    await stage.settle()
    return [verb for verb in asked if not isinstance(verb, Settle)]


async def send(stage: Stage, text: str) -> None:
    stage.prompt.fill(text)
    await stage.pilot.press("enter")
    await stage.settle()


async def test_C19_what_is_sent_is_recorded_and_played_again_step_by_step(play: Play) -> None:
    async with play() as stage:
        await send(stage, "/macro record tidy")
        await stage.until(lambda: stage.told("● recording tidy"))
        await send(stage, "/usage")
        await send(stage, "!ls")
        await send(stage, "Explain it.")
        await stage.until(lambda: stage.told("● recording tidy: 3 steps · /macro stop"))
        await send(stage, "/macro stop")
        await stage.until(lambda: stage.told("Macro tidy has 3 steps: /macro tidy."))
        assert read_macros().steps == {"tidy": ("/usage", "!ls", "Explain it.")}

        before = len(stage.engine.asked)
        stage.prompt.fill("a draft")
        await stage.pilot.press("ctrl+p", *"macro tidy", "enter")
        assert (await stage.engine.heard(before + 2))[before] == TellUsage()
        await stage.until(lambda: stage.told("macro tidy, step 1 of 3 · esc stops"))
        await settle(stage, before + 2)
        assert (await stage.engine.heard(before + 4))[before + 2] == Run(language="shell", source="ls")
        await settle(stage, before + 4)
        assert (await stage.engine.heard(before + 6))[before + 4] == Submit(text="Explain it.")
        stage.engine.say(TurnStarted(block_id="u1", text="Explain it."), TurnEnded(reason="done"))
        await settle(stage, before + 6)
        await stage.until(lambda: stage.told("Macro tidy: 3 steps done."))
        assert stage.prompt.text == "a draft"


async def test_C19_a_key_plays_a_macro_which_waits_while_a_question_is_open_and_escape_ends_it(play: Play) -> None:
    save_macro("tidy", ["Do it.", "/usage"])
    async with play(settings=Settings(keys={"macro.tidy": "f8"})) as stage:
        await stage.until(lambda: stage.app.keymap)
        await stage.propose("rm x", "shell")
        await stage.arm()
        await stage.pilot.press("f8")
        await stage.settle()
        assert stage.engine.asked == []  # the question waits for the person
        stage.engine.say(TurnEnded(reason="done"))
        assert (await stage.engine.heard(2))[0] == Submit(text="Do it.")
        stage.engine.say(TurnStarted(block_id="u9", text="Do it."))
        await stage.settle()
        await stage.pilot.press("escape")
        assert (await stage.engine.heard(3))[2] == Interrupt(turn=False)
        await stage.until(lambda: stage.told("The macro ends."))
        stage.engine.say(TurnEnded(reason="interrupted"))
        stage.engine.reply(PromptsQueued(settled=narrow(stage.engine.asked[1], Settle).request_id))
        await stage.settle()
        assert len(stage.engine.asked) == 3


async def test_C19_an_error_ends_a_macro_and_says_at_which_step(play: Play) -> None:
    save_macro("tidy", ["/usage", "/nonsense", "!ls"])
    save_macro("ask", ["Do it.", "!ls"])
    save_macro("warn", ["/usage", "!ls"])
    async with play() as stage:
        await send(stage, "/macro tidy")
        await settle(stage, 2)
        await stage.until(lambda: stage.told("Stopped: macro tidy, step 2 of 3. No command /nonsense."))
        await send(stage, "/macro ask")
        await stage.engine.heard(4)
        stage.engine.say(TurnStarted(block_id="u1", text="Do it."), TurnEnded(reason="model_error"))
        await settle(stage, 4)
        await stage.until(lambda: stage.told("Stopped: macro ask, step 1 of 2. The turn ended: model error."))
        await send(stage, "/macro warn")
        await stage.engine.heard(6)
        stage.engine.say(NoticeAdded(block_id="n1", level="error", title="No ledger."))
        await settle(stage, 6)
        await stage.until(lambda: stage.told("Stopped: macro warn, step 1 of 2. No ledger."))


async def test_U35_decisions_and_modes_are_not_recorded_and_the_person_is_told(play: Play) -> None:
    async with play() as stage:
        await send(stage, "/macro record tidy")
        await send(stage, "/approve never")
        await stage.until(lambda: stage.told("● recording tidy, but not this: /approve decides about code"))
        await stage.pilot.press("shift+tab")
        await stage.settle()
        await stage.until(lambda: stage.told("but not this: the approval mode is no step"))
        await send(stage, "/rule allow Shell(ls)")
        await stage.until(lambda: stage.told("but not this: /rule decides about code"))
        await stage.propose("rm x", "shell")
        await stage.arm()
        await stage.pilot.press("y")
        await stage.settle()
        await stage.until(lambda: stage.told("but not this: you decide and answer each time yourself"))
        stage.engine.say(TurnEnded(reason="done"))
        await stage.settle()
        await send(stage, "/macro stop")
        await stage.until(lambda: stage.told("Nothing was recorded, so tidy is not kept."))
        asked = stage.engine.asked
        assert [type(verb) for verb in asked].count(SetApproval) == 2
        assert any(isinstance(verb, Decide) for verb in asked)


async def test_U35_a_hand_written_decision_is_not_played(play: Play, tmp_path: Path) -> None:
    save_macro("fine", ["/usage"])
    file = tmp_path / "config" / "oi-tui" / "macros.toml"
    file.write_text('bad = ["!ls", "/approve auto"]')
    async with play() as stage:
        await send(stage, "/macro bad")
        await stage.until(
            lambda: stage.told("Macro bad is not played. macros.toml, line 1: bad: /approve decides about code")
        )
        assert stage.engine.asked == []
