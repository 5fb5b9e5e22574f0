"""Undo, redo and pastes, the same in all places where a person writes several lines."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.text_box import TextBox

LINES = "\n".join(f"line {number}" for number in range(15))
"""More than can be seen at once, and fewer than become a token in the prompt."""


class Stand(App[None]):
    """One place to write in, alone on a screen."""

    CSS = "Screen > * { height: auto; max-height: 10; }"

    def __init__(self, area: TextBox) -> None:
        super().__init__()
        self.area = area
        chosen = textual_theme(load_palette("harbour"))
        self.register_theme(chosen)
        self.theme = chosen.name

    def compose(self) -> ComposeResult:
        yield self.area


class Stage:
    """What a person does there."""

    def __init__(self, pilot: Pilot[None], area: TextBox) -> None:
        self.pilot = pilot
        self.area = area

    async def paste(self, text: str) -> None:
        self.area.post_message(events.Paste(text))
        await self.pilot.pause()

    async def press(self, key: str) -> str:
        """The text after a key; its lines are all laid out anew."""
        await self.pilot.press(key)
        assert self.area.virtual_size.height == self.area.text.count("\n") + 1
        return self.area.text


Place = Callable[[str], AbstractAsyncContextManager[Stage]]


@pytest.fixture(params=[PromptArea, SourceEditor])
def writing(request: pytest.FixtureRequest) -> Place:
    """`async with writing(text) as stage:` one of the places to write in, with more lines than it can show."""

    @asynccontextmanager
    async def opened(text: str) -> AsyncIterator[Stage]:
        area = request.param()
        async with Stand(area).run_test(size=(60, 16)) as pilot:
            area.load_text(text)
            area.focus()
            await pilot.pause()
            yield Stage(pilot, area)

    return opened


async def test_V10_many_pasted_lines_can_be_undone_and_redone(writing: Place) -> None:
    async with writing("") as stage:
        await stage.paste(LINES)
        for _ in range(2):
            assert await stage.press("ctrl+underscore") == ""
            assert await stage.press("ctrl+y") == LINES


async def test_V10_many_deleted_lines_can_be_undone_and_redone(writing: Place) -> None:
    async with writing(LINES) as stage:
        stage.area.clear()
        await stage.pilot.pause()
        for _ in range(2):
            assert await stage.press("ctrl+underscore") == LINES
            assert await stage.press("ctrl+y") == ""


async def test_V10_lines_that_were_written_one_by_one_can_be_undone_and_redone(writing: Place) -> None:
    async with writing("") as stage:
        for number in range(15):
            stage.area.insert(f"{number}\n")
        texts = [stage.area.text]
        while texts[-1] and len(texts) < 40:
            texts.append(await stage.press("ctrl+underscore"))
        assert texts[-1] == ""
        for text in reversed(texts[:-1]):
            assert await stage.press("ctrl+y") == text


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
async def test_V11_the_lines_of_a_paste_stay_lines_however_the_terminal_ends_them(writing: Place, end: str) -> None:
    async with writing("") as stage:
        await stage.paste(end.join(["a = 1", "b = 2", "", "c = 3"]))
        assert stage.area.text == "a = 1\nb = 2\n\nc = 3"


@pytest.mark.parametrize("end", ["\r", "\r\n"])
async def test_the_lines_of_what_was_copied_within_the_program_stay_lines(writing: Place, end: str) -> None:
    async with writing("") as stage:
        stage.pilot.app.copy_to_clipboard(end.join(["a = 1", "b = 2"]))
        await stage.pilot.press("ctrl+v")
        assert stage.area.text == "a = 1\nb = 2"
