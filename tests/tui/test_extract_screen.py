"""The form and the screen of `/extract`: what is named before anything is asked, and how it is seen to go on."""

import asyncio
from typing import Literal

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from oi_tui.app.engine.core.events import CodeStarted, ExecutionStarted
from oi_tui.app.engine.core.extractions import (
    BeginExtraction,
    ChangeExtraction,
    ExtractedRow,
    ExtractionFound,
    FindExtraction,
)
from oi_tui.app.engine.core.library_replies import SessionsFound
from oi_tui.app.engine.core.library_verbs import FindSessions
from oi_tui.app.engine.core.verbs import Open, Run
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.extract_form import ExtractForm, WrongField, proposed_output, read_form
from oi_tui.app.screens.extract_screen import ExtractScreen, reading_code
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.status import StatusBar
from support.snapshot import Snap
from support.stage import Play, Stage

ASKED = BeginExtraction(
    source="products.csv",
    schema="name, price: number",
    output="products.extracted.jsonl",
    task="Prices in euros",
    workers=8,
    max_cost=1.5,
)
ROWS = tuple(
    ExtractedRow(source=str(number), text=f'{{"name": "fruit {number}\\u001b[2J", "price": {number}.5, "tags": ["a"]}}')
    for number in range(1, 4)
)
RUNNING = ExtractionFound(
    state="running",
    asked=ASKED,
    model="scripted",
    total=40,
    done=9,
    failed=1,
    cost=0.0123,
    seconds=10.0,
    newest=(*ROWS, ExtractedRow(source="4", text='{"name": "cut off her')),
    failures=(ExtractedRow(source="7", text="$.price: 'many' is not of type 'number'"),),
)


CHANGES: tuple[tuple[str, Literal["pause", "continue", "stop"], str], ...] = (
    ("p", "pause", "paused"),
    ("p", "continue", "running"),
    ("s", "stop", "stopping"),
)
"""Keys, what they ask for, and what the engine says then."""


async def open_form(stage: Stage) -> None:
    stage.prompt.fill("/extract")
    await stage.pilot.press("enter")
    await stage.until(lambda: FindExtraction() in stage.engine.asked)
    stage.engine.reply(ExtractionFound())
    await stage.screen(ExtractForm)
    await stage.settle()


async def type_into(stage: Stage, text: str) -> None:
    focused = stage.app.screen.focused
    assert isinstance(focused, Input)
    focused.insert_text_at_cursor(text)
    await stage.settle()


async def test_E20_the_form_is_filled_in_by_keys_and_begins_what_it_says(play: Play, snap: Snap) -> None:
    async with play((80, 24)) as stage:
        (stage.cwd / "products.csv").write_text("what\n")
        await open_form(stage)
        await snap(stage.pilot, "form")
        await stage.pilot.press("ctrl+s")
        await stage.until(lambda: "Which records?" in stage.seen)
        await type_into(stage, "pro")
        await stage.pilot.press("tab")
        await stage.until(lambda: "products.csv" in stage.seen)
        await stage.pilot.press("enter")
        await type_into(stage, "name, price: number")
        await stage.pilot.press("enter")
        await stage.until(lambda: "products.extracted.jsonl" in stage.seen)
        await stage.pilot.press("enter")
        await type_into(stage, "Prices in euros")
        await stage.pilot.press("escape")
        await stage.until(lambda: FindExtraction(on=False) in stage.engine.asked)
        await open_form_again(stage)
        await stage.until(lambda: "Prices in euros" in stage.seen)
        await stage.pilot.press("up")
        await stage.pilot.press("backspace")
        await type_into(stage, "1.5")
        await stage.pilot.press("up")
        await stage.pilot.press("backspace")
        await type_into(stage, "8")
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: ASKED in stage.engine.asked)
        assert stage.engine.asked.index(ASKED) < len(stage.engine.asked) - 1, "then how it stands is asked for"


def key_words(stage: Stage) -> list[str]:
    return [f"{label.key} {label.label}" for label in stage.app.screen.query_one(KeyRow).labels]


async def test_E20_the_output_is_named_and_selected_and_tab_completes_a_type(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await open_form(stage)
        await type_into(stage, "shops.jsonl")
        await stage.pilot.press("enter")
        await type_into(stage, "name, price: nu")
        assert key_words(stage) == ["enter next", "tab complete", "ctrl+s start", "esc back"]
        await stage.pilot.press("tab")
        fields = stage.app.screen.query_one("#extract-schema", Input)
        assert (fields.value, fields.has_focus) == ("name, price: number", True)
        await stage.settle()
        assert key_words(stage) == ["enter next", "ctrl+s start", "esc back"]
        await stage.pilot.press("tab")
        await stage.settle()
        output = stage.app.screen.query_one("#extract-output", Input)
        assert output.selected_text == output.value == "shops.extracted.jsonl"
        await stage.pilot.press(*"p.csv")
        assert output.value == "p.csv"
        await stage.pilot.press("down", "down", "down", "down")
        await stage.until(lambda: key_words(stage) == ["enter start", "esc back"])


async def test_E20_other_records_have_another_output_unless_it_was_named(play: Play) -> None:
    async with play((80, 24)) as stage:
        for source, typed, output in (
            ("shops", (), "shops.extracted.jsonl"),
            ("fruit.csv", (), "fruit.extracted.jsonl"),
            ("fruit.csv", (*["backspace"] * 4, *".txt"), "fruit.extracted.jsonl"),
            ("fruit.csv", ("ctrl+u", *"shops"), "shops.extracted.jsonl"),
            ("shops", ("down", "down", *"mine.csv"), "mine.csv"),
            ("fruit.csv", (), "mine.csv"),
        ):
            stage.prompt.fill(f"/extract {source}")
            await stage.pilot.press("enter")
            await stage.screen(ExtractForm)
            await stage.settle()
            if typed:
                stage.app.screen.query_one("#extract-source", Input).focus()
                await stage.settle()
                await stage.pilot.press(*typed)
            stage.app.screen.query_one("#extract-output", Input).focus()
            await stage.settle()
            assert stage.app.screen.query_one("#extract-output", Input).value == output
            await stage.pilot.press("escape")
            await stage.until(lambda: stage.app.screen is stage.app.chat)


async def open_form_again(stage: Stage) -> None:
    before = len(stage.engine.asked)
    stage.prompt.fill("/extract")
    await stage.pilot.press("enter")
    await stage.until(lambda: FindExtraction() in stage.engine.asked[before:])
    stage.engine.reply(ExtractionFound())
    await stage.screen(ExtractForm)
    await stage.settle()


async def test_E20_a_module_is_imported_after_a_yes_only(play: Play) -> None:
    async with play((80, 24)) as stage:
        stage.prompt.fill("/extract docs/*.txt")
        await stage.pilot.press("enter")
        await stage.screen(ExtractForm)
        await stage.settle()
        await type_into(stage, "shop.models:Order")
        await stage.pilot.press("ctrl+s")
        await stage.screen(ConfirmScreen)
        await stage.until(lambda: "with your permissions" in stage.seen)
        await stage.pilot.press("n")
        await stage.screen(ExtractForm)
        assert not [verb for verb in stage.engine.asked if isinstance(verb, BeginExtraction)]
        await stage.pilot.press("ctrl+s")
        await stage.screen(ConfirmScreen)
        await stage.agree()
        wanted = BeginExtraction(source="docs/*.txt", schema="shop.models:Order", output="docs.extracted.jsonl")
        await stage.until(lambda: wanted in stage.engine.asked)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_E20_results_failures_and_what_is_left_are_shown_and_keys_act(
    play: Play, snap: Snap, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        stage.prompt.fill("/extract")
        await stage.pilot.press("enter")
        await stage.until(lambda: FindExtraction() in stage.engine.asked)
        stage.engine.reply(RUNNING)
        await stage.screen(ExtractScreen)
        await stage.until(lambda: "10 of 40" in stage.seen and "1 failed" in stage.seen)
        assert "$0.0123 · 30" in stage.seen
        assert "fruit 3" in stage.seen
        assert "'many' is not of type 'number'" in stage.seen
        assert "\x1b" not in stage.seen
        await snap(stage.pilot, f"running-{size[0]}")
        for key, change, state in CHANGES:
            before = len(stage.engine.asked)
            await stage.pilot.press(key)
            await stage.engine.heard(before + 1)
            assert stage.engine.asked[before:] == [ChangeExtraction(change=change)]
            stage.engine.reply(replaced(state))
            await stage.settle()
        await stage.pilot.press("o", "n")
        assert isinstance(stage.app.screen, ExtractScreen), "it is not done"
        stage.engine.reply(replaced("done"))
        await stage.until(lambda: "done in 10 s" in stage.seen)
        await stage.pilot.press("o")
        await stage.until(lambda: Run(language="python", source=reading_code(ASKED.output)) in stage.engine.asked)
        await stage.until(lambda: FindExtraction(on=False) in stage.engine.asked)


async def test_E20_news_while_its_screen_is_left_end_nothing(play: Play) -> None:
    async with play((80, 24)) as stage:
        stage.prompt.fill("/extract")
        await stage.pilot.press("enter")
        await stage.until(lambda: FindExtraction() in stage.engine.asked)
        stage.engine.reply(RUNNING)
        shown = await stage.screen(ExtractScreen)
        shown.dismiss("")
        while shown.is_attached:  # its parts go one by one, before it
            stage.app.chat.parts.extractions.take(RUNNING)
            await asyncio.sleep(0)
        await stage.until(lambda: "The extraction continues. /extract shows it." in stage.seen)


async def test_E20_in_a_form_that_opens_with_other_records_what_is_typed_replaces_them(play: Play) -> None:
    async with play((80, 24)) as stage:
        await open_form(stage)
        await type_into(stage, "a.csv")
        await stage.pilot.press("enter")
        await type_into(stage, "name")
        await stage.pilot.press("enter", "ctrl+s")
        await stage.until(lambda: stage.engine.asked[-1] == FindExtraction())
        failed = ExtractionFound(state="failed", asked=ASKED, why="No.")
        for found, selected in ((failed, "a.csv"), (replace(failed, wrong="source"), "")):
            stage.engine.reply(found)
            await stage.screen(ExtractScreen)
            await stage.pilot.press("n")
            await stage.screen(ExtractForm)
            await stage.settle()
            records = stage.app.screen.query_one("#extract-source", Input)
            assert (records.has_focus, records.selected_text) == (True, selected)
            (stage.cwd / "a.extracted.jsonl.part").touch()
            await stage.pilot.press("down", "down")
            await stage.until(lambda: "not complete yet" in stage.seen)
            await stage.pilot.press("ctrl+s")
            await stage.settle()


async def begun(stage: Stage, found: ExtractionFound = RUNNING) -> None:
    """An extraction that nobody looks at."""
    await stage.settle()
    stage.engine.reply(replace(found, newest=(), failures=()))
    await stage.settle()


def status_line(stage: Stage) -> str:
    return stage.app.chat.query_one(StatusBar).render().plain.strip()


def asked_words(stage: Stage) -> str:
    return str(stage.app.screen.query_one("#confirm-text", Words).content)


async def test_E20_the_status_line_says_how_far_it_is(play: Play) -> None:
    async with play((80, 24)) as stage:
        await begun(stage)
        assert (
            status_line(stage)
            .strip()
            .startswith("qwen2.5-coder-1.5b · approval: ask · sandbox, no network · extracting 10/40")
        )
        await begun(stage, replaced("paused"))
        assert "extraction paused 10/40" in status_line(stage)
        await begun(stage, ExtractionFound(state="starting", asked=ASKED))
        assert status_line(stage).endswith("· extracting")
        await begun(stage, replaced("done"))
        assert "extract" not in status_line(stage)


@pytest.mark.parametrize("keys", [("ctrl+q",), ("ctrl+d",), ("slash", *"quit", "enter")])
async def test_E20_leaving_asks_while_it_is_not_done_and_says_what_becomes_of_it(
    play: Play, keys: tuple[str, ...]
) -> None:
    async with play((80, 24)) as stage:
        await begun(stage)
        await stage.pilot.press(*keys)
        await stage.screen(ConfirmScreen)
        assert asked_words(stage) == (
            "Leaving stops it at 9 of 40 records, which stay in products.extracted.jsonl.part. /extract with the same "
            "fields, task, model and output continues it. /detach keeps it."
        )
        await stage.pilot.press("n")
        assert not stage.engine.closed
        await begun(stage, replaced("done"))
        await stage.pilot.press("ctrl+q")
        await stage.until(lambda: stage.engine.closed)


async def test_E20_another_session_is_opened_after_a_yes_only(play: Play, snap: Snap) -> None:
    async with play((80, 24)) as stage:
        stage.engine.say(
            CodeStarted(block_id="c", language="python", author="user"), ExecutionStarted(block_id="c", generation=1)
        )
        await begun(stage)
        await stage.pilot.press("ctrl+b")
        await stage.until(lambda: FindSessions() in stage.engine.verbs)
        stage.engine.reply(SessionsFound())
        await stage.settle()
        await stage.pilot.press("tab", "n")
        await stage.screen(ConfirmScreen)
        assert "Something is still running." in stage.seen
        assert "stops the extraction at 9 of 40 records" in asked_words(stage)
        await snap(stage.pilot, "leave")
        await stage.pilot.press("n")
        assert not [verb for verb in stage.engine.verbs[1:] if isinstance(verb, Open)]


async def test_E20_an_engine_that_is_lost_extracts_nothing(play: Play) -> None:
    async with play((80, 24)) as stage:
        await begun(stage)
        stage.engine.die()
        await stage.until(lambda: "engine stopped" in status_line(stage))
        assert "extract" not in status_line(stage)
        await stage.pilot.press("ctrl+q")
        await stage.until(lambda: not stage.app.is_running)


def replaced(state: str) -> ExtractionFound:
    changed: ExtractionFound = replace(RUNNING, state=state)
    return changed


def test_E20_what_is_typed_is_read_or_said_to_be_wrong() -> None:
    typed = {"source": "a.csv", "schema": "x", "output": "", "task": "", "model": "", "workers": "", "max_cost": "$2"}
    assert read_form(typed).max_cost == 2.0
    assert read_form(typed).output == "a.extracted.jsonl"
    assert [proposed_output(one) for one in ("docs/", "docs/*.txt", "*.txt", "a/b.csv")] == [
        "docs.extracted.jsonl", "docs.extracted.jsonl", "records.extracted.jsonl", "a/b.extracted.jsonl"
    ]  # fmt: skip
    wrongs = {"workers": "99", "max_cost": "much", "output": "out.xlsx", "schema": " "}
    for name, text in wrongs.items():
        with pytest.raises(WrongField) as wrong:
            read_form({**typed, name: text})
        assert wrong.value.field == name
    assert reading_code("a.csv") == "import pandas as pd\npd.read_csv('a.csv')"


async def test_E20_an_extraction_that_could_not_begin_counts_nothing(play: Play) -> None:
    async with play((80, 24)) as stage:
        stage.prompt.fill("/extract")
        await stage.pilot.press("enter")
        await stage.until(lambda: FindExtraction() in stage.engine.asked)
        why = "The field price has an unknown type: nu."
        stage.engine.reply(ExtractionFound(state="failed", asked=ASKED, why=why))
        await stage.screen(ExtractScreen)
        await stage.until(lambda: why in stage.seen)
        assert "counting" not in stage.seen
        assert "No results." in stage.seen
        stage.engine.reply(ExtractionFound(state="failed", asked=ASKED, why=why, wrong="schema"))
        await stage.pilot.press("n")
        await stage.screen(ExtractForm)
        await stage.until(lambda: stage.app.screen.query_one("#extract-schema", Input).has_focus)
