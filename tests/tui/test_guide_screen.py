"""F1: the keys of the place first, then the pages; searched by typing, left by Escape, at any size."""

import pytest

from oi_tui.app.screens.guide import GuideScreen
from oi_tui.widgets.lettering import Options, Words
from oi_tui.widgets.timeline.view import Timeline
from support.kinds import narrow
from support.stage import Play, Stage


def topics(screen: GuideScreen) -> list[str]:
    options = screen.query_one(Options)
    return [str(options.get_option_at_index(index).prompt) for index in range(options.option_count)]


def page(stage: Stage) -> str:
    """The rows of the pages that are on the screen."""
    timeline = stage.app.screen.query_one(Timeline)
    return "\n".join(timeline.render_line(y).text for y in range(timeline.size.height))


@pytest.mark.parametrize("size", [(80, 24), (40, 15)])
async def test_the_guide_begins_with_the_keys_of_the_place_and_is_searched_by_typing(
    play: Play, size: tuple[int, int]
) -> None:
    async with play(size=size) as stage:
        await stage.pilot.press("f1")
        await stage.settle()
        guide = narrow(stage.app.screen, GuideScreen)
        assert "Keys here" in page(stage)
        assert "The prompt" in page(stage)
        assert topics(guide)[:3] == ["here", "start", "keys"]
        await stage.pilot.press("tab")
        await stage.settle()
        assert page(stage).lstrip().startswith("First steps")
        await stage.pilot.press(*"model")
        await stage.until(lambda: str(guide.query_one("#guide-matches", Words).render()).partition(" of ")[1])
        assert topics(guide)[0] == "models"
        assert page(stage).lstrip().startswith("Models")
        first = str(guide.query_one("#guide-matches", Words).render())
        await stage.pilot.press("enter")
        await stage.until(lambda: str(guide.query_one("#guide-matches", Words).render()) not in ("", first))
        await stage.pilot.press(*"xyzzy", "enter")
        assert topics(guide) == []
        await stage.pilot.press("escape")
        assert len(topics(guide)) > 10
        await stage.pilot.press("pagedown", "down", "ctrl+end", "shift+tab", "escape")
        assert stage.app.screen is stage.app.chat


async def test_from_the_timeline_its_keys_come_first(play: Play) -> None:
    async with play() as stage:
        stage.app.chat.parts.timeline.focus()
        await stage.pilot.press("f1")
        await stage.settle()
        assert "The timeline" in page(stage)
        assert "The prompt" not in page(stage)
