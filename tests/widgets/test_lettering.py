"""Whatever words are given to the doors, what stands on the screen is only what a person can see."""

from textual.app import App, ComposeResult
from textual.widget import Widget

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.field import Field
from oi_tui.widgets.lettering import Options, Words, lettering
from support.hostile import MARKUP, hostile, hostile_line, seen_line


class Shown(App[None]):
    """The doors, each fed with something hostile: when it is made, and later."""

    def compose(self) -> ComposeResult:
        """One below the other."""
        yield Words(hostile("made"))
        yield Words(id="later")
        yield Options(hostile_line("offered"))
        yield Field(hostile_line("typed"))

    def on_mount(self) -> None:
        """What is said later."""
        self.query_one("#later", Words).update(hostile("later"))
        self.query_one(Options).add_options([hostile_line("added"), lettering("x")])
        self.query_one(Options).replace_option_prompt_at_index(2, hostile_line("replaced"))


def rows(widget: Widget) -> list[str]:
    """What stands in it."""
    return [widget.render_line(y).text.strip() for y in range(widget.size.height)]


async def test_no_door_shows_what_a_terminal_obeys_or_reads_markup() -> None:
    async with Shown().run_test(size=(240, 20)) as pilot:
        await pilot.pause()
        for words, name in zip(pilot.app.query(Words), ("made", "later"), strict=True):
            first, second = rows(words)
            assert first == safe_text(hostile(name)).split("\n")[0].strip()
            assert first.endswith(MARKUP)
            assert second == f"after-{name}"
        listed = rows(pilot.app.query_one(Options))
        assert [row for row in listed if "in-" in row] == [seen_line(name) for name in ("offered", "added", "replaced")]
        assert any(seen_line("typed") in row for row in rows(pilot.app.query_one(Field)))


def test_each_part_is_made_safe_by_itself_so_that_none_swallows_the_next() -> None:
    drawn = lettering("a \x1b]0;open", (" b \x9d0;open", "$dim"), lettering(" c"))
    assert drawn.plain == "a  b  c"
    assert [span[:2] for span in drawn.spans] == [(2, 5)]
