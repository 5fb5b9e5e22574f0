"""Nothing that a person approves can hide from them."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.text import MARK, safe_text, visible_text, without_hidden

EVERYTHING = st.text(
    st.one_of(st.characters(codec=None, exclude_categories=()), st.sampled_from("aevx_\\n1аеνο\u0581"))
)


def test_U5_every_character_without_a_shape_is_written_out():
    hidden = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code))[0] in "CZ" and chr(code) not in "\n\t "
    ]
    shown = visible_text("\n".join(hidden)).text.split("\n")
    assert [character for character, text in zip(hidden, shown, strict=True) if not MARK.fullmatch(text)] == []


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("p\u0430ypal", "p<U+0430>ypal"),
        ("os.r\u0435m\u043eve(x)", "os.r<U+0435>m<U+043E>ve(x)"),
        ("\u039fpen_file()", "<U+039F>pen_file()"),
        ("print('\\n\u0430x')", "print('\\n<U+0430>x')"),
        ("s = '\x1b]0;hidden\x07'", "s = '<U+001B>]0;hidden<U+0007>'"),
    ],
)
def test_U5_a_foreign_letter_in_a_latin_word_is_written_out(source, shown):
    text, hidden = visible_text(source)
    assert text == shown
    assert hidden == len(MARK.findall(shown))


@pytest.mark.parametrize(
    "source",
    [
        "if a:\n\tprint('Grüße, 世界', \"→ é\")\n",
        "\u0394t = \u03c3_x * 2\u03c0 / \u03bb_max  # \u03bcm, k\u03a9\n",
        "print('\\n\u041f\u0440\u0438\u0432\u0435\u0442, %d\u0440\u0443\u0431')\n",
        "# \u043e\u043d \u0430 \u0441\u043e\u0440\n",
        "\u0441\u043a\u043e\u0440\u043e\u0441\u0442\u044c_x = 1\n",
        "sıfır = 0\n",
    ],
)
def test_ordinary_source_is_shown_as_it_is(source):
    assert visible_text(source) == (source, 0)
    assert without_hidden(source) == source


@given(EVERYTHING)
def test_U5_what_is_shown_hides_nothing_and_the_count_is_right(text):
    shown, hidden = visible_text(text)
    assert visible_text(shown) == (shown, 0)
    assert hidden == len(MARK.findall(shown)) - len(MARK.findall(text))


@given(EVERYTHING)
def test_T1_what_is_made_visible_is_safe_for_a_terminal(text):
    shown = visible_text(text).text
    assert safe_text(shown) == shown


@given(EVERYTHING)
def test_U5_what_an_editor_gets_hides_nothing(text):
    assert [character for character in without_hidden(text) if visible_text(character).hidden] == []
