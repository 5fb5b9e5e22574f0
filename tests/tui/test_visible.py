"""Nothing that a person approves can hide from them."""

import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from oi_tui.widgets.visible import MARK, visible_text, without_hidden

EVERYTHING = st.text(st.characters(codec=None, exclude_categories=()))


def test_U5_every_character_without_a_shape_is_written_out():
    hidden = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code))[0] in "CZ" and chr(code) not in "\n\t "
    ]
    assert [character for character in hidden if not MARK.fullmatch(visible_text(character).text)] == []


def test_ordinary_source_is_shown_as_it_is():
    source = "if a:\n\tprint('Grüße, 世界', \"→ é\")\n"
    assert visible_text(source) == (source, 0)
    assert without_hidden(source) == source


@given(EVERYTHING)
def test_U5_what_is_shown_hides_nothing_and_the_count_is_right(text):
    shown, hidden = visible_text(text)
    assert visible_text(shown) == (shown, 0)
    assert hidden == sum(visible_text(character).hidden for character in text)


@given(EVERYTHING)
def test_U5_what_an_editor_gets_hides_nothing(text):
    assert visible_text(without_hidden(text)).hidden == 0
