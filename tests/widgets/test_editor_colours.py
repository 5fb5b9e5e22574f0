"""The editor of code colours the languages that it names, with grammars that are required by name."""

import pytest
from packaging.requirements import Requirement
from textual.app import App, ComposeResult

from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.editor import SourceEditor
from support.lean_install import canonical_name, own_requirements

SOURCES = {
    "python": "def f(): return 'text'  # why",
    "shell": "for f in *; do echo 'text'; done  # why",
    "javascript": "const f = () => { return 'text' } // why",
    "rust": "fn f() -> u8 { return 1 } // why",
}


REQUIRED = {canonical_name(Requirement(line).name) for line in own_requirements()}
PALETTE = load_palette("harbour")


class Desk(App[None]):
    """The editor, alone on a screen."""

    def __init__(self) -> None:
        super().__init__()
        chosen = textual_theme(PALETTE)
        self.register_theme(chosen)
        self.theme = chosen.name

    def compose(self) -> ComposeResult:
        yield SourceEditor()


@pytest.mark.parametrize("language", SOURCES)
async def test_each_language_is_coloured_by_a_grammar_that_is_required(language: str) -> None:
    app = Desk()
    async with app.run_test(size=(60, 5)) as pilot:
        editor = app.query_one(SourceEditor)
        editor.set_palette(PALETTE)
        for _ in range(5):  # one after the other: what the first leaves behind must not harm the next
            editor.begin(SOURCES[language], language)
            await pilot.pause()
        assert editor.language is not None
        assert f"tree-sitter-{editor.language}" in REQUIRED
        line = editor.render_line(0)
    shown = {segment.style.color.name for segment in line if segment.style and segment.style.color}
    assert {PALETTE.code.keyword.lower(), PALETTE.code.comment.lower()} <= shown


async def test_a_language_without_a_grammar_is_edited_without_colours() -> None:
    app = Desk()
    async with app.run_test(size=(60, 5)):
        editor = app.query_one(SourceEditor)
        editor.begin("select 1", "sql")
        assert editor.language is None
