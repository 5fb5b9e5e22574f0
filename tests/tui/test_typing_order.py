"""Keys that arrive in one piece (a slow line, a script) do what they do one after the other."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from textual.events import AppBlur, DescendantFocus, Key, Paste
from textual.widgets import Input, Static

from oi_tui.app.engine.core.events import ProseFinished, ProseGrew, ProseStarted, TurnEnded, TurnStarted
from oi_tui.app.engine.core.library_replies import SessionsFound
from oi_tui.app.engine.core.library_verbs import EditSession
from oi_tui.app.engine.core.session_records import SessionRecord
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.frontend.client import EngineClient
from oi_tui.app.screens.extract_form import ExtractForm
from oi_tui.app.screens.guide import GuideScreen
from oi_tui.app.screens.plan_panel import PlanPanel
from oi_tui.app.screens.sessions_pane import SessionsPanel
from oi_tui.app.tui import OiTui
from oi_tui.widgets.timeline.view import Timeline
from support.stage import Play, ScriptedEngine, Stage

FOUND = SessionsFound(sessions=(SessionRecord(id="s1", created=1.0, active=1.0, cwd="/work", title="tell"),))


def type_at_once(stage: Stage, *keys: str) -> None:
    for key in keys:
        stage.app.post_message(Key(key, key if len(key) == 1 else None))


async def in_timeline(stage: Stage) -> None:
    """There is an answer, and the keys are in it."""
    stage.engine.say(
        TurnStarted(block_id="u", text="tell"),
        ProseStarted(block_id="p"),
        ProseGrew(block_id="p", text="words of an answer"),
        ProseFinished(block_id="p"),
        TurnEnded(reason="done"),
    )
    await stage.settle()
    stage.app.chat.query_one(Timeline).focus()
    await stage.settle()


async def test_alt_and_a_letter_is_a_key_and_no_text_in_terminals_that_send_escape_and_the_letter(play: Play) -> None:
    async with play() as stage:
        for key in (Key("a", "a"), Key("alt+shift+p", "P"), Key("alt+p", "p")):
            stage.app.post_message(key)
        await stage.until(lambda: any(panel.display for panel in stage.app.chat.query(PlanPanel)))
        assert stage.prompt.text == "a"


TYPED = [
    ((*"abc", "backspace", "X"), "abX"),
    ((*"abc", "home", "X"), "Xabc"),
    ((*"hello", "ctrl+u", *"bye"), "bye"),
    ((*"one", "ctrl+j", *"two"), "one\ntwo"),
    ((*"ab", "left", "left", "Y", "end", "Z"), "YabZ"),
]


async def test_in_the_prompt(play: Play) -> None:
    async with play() as stage:
        for keys, text in TYPED:
            type_at_once(stage, *keys)
            await stage.until(partial(lambda text: stage.prompt.text == text, text))
            stage.prompt.fill("")


async def test_a_search_in_the_timeline_is_begun_typed_and_corrected(play: Play) -> None:
    async with play() as stage:
        await in_timeline(stage)
        type_at_once(stage, "slash", *"answex", "backspace", "r")
        await stage.until(lambda: any(field.value == "answer" for field in stage.app.screen.query(Input)))
        assert not stage.prompt.text


async def test_a_key_waits_for_the_one_before_it_however_slow_the_machine_is(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with play() as stage:
        app = stage.app  # the time is up before anything was done
        monkeypatch.setattr(app, "set_timer", lambda delay, then: app.call_later(then))
        await in_timeline(stage)
        stage.prompt.focus()
        await stage.settle()
        type_at_once(stage, "tab", "slash", *"answer")
        await stage.until(lambda: any(field.value == "answer" for field in stage.app.screen.query(Input)))
        assert not stage.prompt.text


async def test_a_key_that_a_screen_answers_first_waits_for_the_letters_before_it(play: Play) -> None:
    async with play() as stage:
        form = ExtractForm({}, Path("/work"), model="m")
        await stage.app.push_screen(form)
        form.query_one("#extract-schema", Input).focus()
        await stage.settle()
        type_at_once(stage, *"price: num", "tab", *", kind")
        await stage.until(lambda: form.query_one("#extract-schema", Input).value == "price: number, kind")


async def test_a_session_is_renamed(play: Play) -> None:
    async with play() as stage:
        type_at_once(stage, "ctrl+b")
        await stage.settle()
        stage.engine.reply(FOUND)
        await stage.settle()
        type_at_once(stage, "tab", "r", "ctrl+u", *"Newx", "left", "delete", "enter")
        await stage.until(lambda: EditSession(session_id="s1", title="New") in stage.engine.verbs)


async def test_a_paste_waits_for_the_key_before_it(play: Play) -> None:
    async with play() as stage:
        type_at_once(stage, *"ab", "home")
        stage.app.post_message(Paste("X"))
        type_at_once(stage, "enter")
        await stage.until(lambda: Submit(text="Xab") in stage.engine.verbs)


async def test_a_window_that_is_left_at_the_start_loses_nothing_of_what_was_typed_before(play: Play) -> None:
    async with play() as stage:
        stage.app._has_place = False  # as until the prompt has the focus
        stage.app.post_message(Paste("a task"))
        type_at_once(stage, "enter")
        stage.app.post_message(AppBlur())
        await stage.settle()
        stage.app.post_message(DescendantFocus(stage.prompt))
        await stage.until(lambda: Submit(text="a task") in stage.engine.verbs)
        await stage.until(lambda: not stage.app.app_focus)


async def test_keys_behind_one_that_opens_a_screen_are_for_that_screen(play: Play) -> None:
    async with play() as stage:
        type_at_once(stage, "f1", "escape", *"after")
        await stage.until(lambda: stage.prompt.text == "after")
        assert not isinstance(stage.app.screen, GuideScreen)


async def test_a_panel_that_is_asked_for_before_it_is_there_comes_when_it_is(scripted_engine: ScriptedEngine) -> None:
    async def connect() -> EngineClient:
        return scripted_engine

    app = OiTui(connect, Settings())
    async with asyncio.timeout(30), app.run_test() as pilot:
        await app.chat.action_part("sessions")  # the first frame may be all there is
        while not any(panel.display for panel in app.chat.query(SessionsPanel)):
            await pilot.pause(0.02)


async def test_what_is_taken_away_while_it_has_a_key_does_not_keep_the_next_ones(play: Play) -> None:
    async with play() as stage:
        gone = Static()
        gone.can_focus = True
        await stage.app.chat.query_one("#upper").mount(gone)
        stage.app.screen.set_focus(gone)
        await stage.app.on_event(Key("down", None))
        type_at_once(stage, *"xy")
        gone.remove()
        await stage.pilot.pause()
        await stage.until(lambda: not stage.app._waiting)
        stage.prompt.focus()
        await stage.settle()
        type_at_once(stage, *"yz")
        await stage.until(lambda: stage.prompt.text.endswith("yz"))
