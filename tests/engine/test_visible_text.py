"""Nothing that a person approves can hide from them."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.text.safe import (
    SPELLED_OUT,
    collapse_blanks,
    editable_text,
    safe_text,
    visible_text,
    without_hidden,
)
from oi_tui.app.headless.text_log import code_in_full

EVERYTHING = st.text(
    st.one_of(st.characters(codec=None, exclude_categories=()), st.sampled_from("aevx_\\n1аеνο\u0581"))
)


def test_U5_every_character_without_a_shape_is_written_out() -> None:
    def matters(code: int) -> bool:
        """Of those that mean nothing, a million, one in a hundred; the last two of each plane are no characters."""
        meaningless = unicodedata.category(chr(code)) in ("Cn", "Co")
        return not meaningless or code % 101 == 0 or code & 0xFFFE == 0xFFFE

    hidden = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code))[0] in "CZ" and chr(code) not in "\n\t " and matters(code)
    ]
    shown = visible_text("\n".join(hidden)).text.split("\n")
    assert [character for character, text in zip(hidden, shown, strict=True) if not SPELLED_OUT.fullmatch(text)] == []


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
def test_U5_a_foreign_letter_in_a_latin_word_is_written_out(source: str, shown: str) -> None:
    text, hidden = visible_text(source)
    assert text == shown
    assert hidden == len(SPELLED_OUT.findall(shown))


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
def test_ordinary_source_is_shown_as_it_is(source: str) -> None:
    assert visible_text(source) == (source, 0)
    assert without_hidden(source) == source


@given(EVERYTHING)
def test_U5_what_is_shown_hides_nothing_and_the_count_is_right(text: str) -> None:
    shown, hidden = visible_text(text)
    assert visible_text(shown) == (shown, 0)
    assert hidden == len(SPELLED_OUT.findall(shown)) - len(SPELLED_OUT.findall(text))


@given(EVERYTHING)
def test_T1_what_is_made_visible_is_safe_for_a_terminal(text: str) -> None:
    shown = visible_text(text).text
    assert safe_text(shown) == shown


@given(EVERYTHING)
def test_U5_what_is_pasted_into_an_editor_hides_nothing(text: str) -> None:
    pasted = without_hidden(text)
    assert [one for one in pasted if visible_text(one).hidden and one not in "\u200d\ufe0f"] == []
    assert safe_text(pasted) == pasted


JOINED = st.text(
    st.sampled_from("a1#<>U+202E\u200d\ufe0f\u20e3\u2764\U0001f468\U0001f469\U0001f3fd\u202e\u0430\r\n\u0301")
)


@given(st.one_of(EVERYTHING, JOINED))
def test_U5_what_holds_an_emoji_together_is_all_that_may_stay(text: str) -> None:
    shown, hidden = visible_text(text, emoji=True)
    assert hidden == len(SPELLED_OUT.findall(shown)) - len(SPELLED_OUT.findall(text))
    assert safe_text(shown) == shown
    assert visible_text(shown, emoji=True) == (shown, 0)
    strict = visible_text(shown).text
    assert strict.replace("<U+200D>", "\u200d").replace("<U+FE0F>", "\ufe0f") == shown.replace(
        "<U+200D>", "\u200d"
    ).replace("<U+FE0F>", "\ufe0f")


def test_U5_emoji_of_several_parts_are_seen_as_they_are() -> None:
    source = "print('\u26a0\ufe0f \U0001f468\u200d\U0001f469 1\ufe0f\u20e3', 'e\u0301')"
    assert visible_text(source, emoji=True) == (source, 0)
    assert editable_text(source).text == source
    assert visible_text("a\u200db\ufe0f", emoji=True) == ("a<U+200D>b<U+FE0F>", 2)


@given(st.one_of(EVERYTHING, JOINED))
def test_U1_a_source_that_was_only_looked_at_in_an_editor_is_the_same_source(source: str) -> None:
    editable = editable_text(source)
    assert editable.read(editable.text) == source
    assert editable.text.splitlines() == editable.text.removesuffix("\n").split("\n") or not editable.text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("a\u202e = '<U+202E>'", "a<U+202E> = '<U+003C>U+202E>'"),
        ("a\u202e = '<U+003C>'", "a<U+202E> = '<U+003C>U+003C>'"),
        ("a = '<U+202E>'", "a = '<U+202E>'"),
        ("a = 1\r\nb = 2\r\n", "a = 1\nb = 2\n"),
        ("a = 1\r\nb = 2\n", "a = 1<U+000D>\nb = 2\n"),
    ],
)
def test_U1_what_a_mark_stands_for_is_certain(source: str, shown: str) -> None:
    editable = editable_text(source)
    assert editable.text == shown
    assert editable.read(shown) == source


def test_U1_only_characters_that_were_there_come_back_out_of_an_editor() -> None:
    editable = editable_text("a\u202eb")
    assert editable.read("a<U+202E>b <U+200B> <U+202") == "a\u202eb <U+200B> <U+202"
    assert editable.read("ab") == "ab"


LOOKALIKES = "ⲟꓳᎪᴏ०০੦૦୦௦౦೦൦ꓐꓑⲔⵔᏴ𝐀𝚊ｏ𝟎ꮯ𐐄𐔖𑣈ⅼᖇᗷᒪ"


@pytest.mark.parametrize("letter", LOOKALIKES)
def test_U26_lookalikes_of_all_alphabets_are_written_out(letter: str) -> None:
    spelled = f"<U+{ord(letter):04X}>"
    assert visible_text(f"rm{letter}ve(x)") == (f"rm{spelled}ve(x)", 1)


@pytest.mark.parametrize("glyph", ["\U0001d159", "\U00016fe4"])
def test_U26_glyphs_that_are_empty_are_written_out(glyph: str) -> None:
    assert visible_text(f"a{glyph}b").text == f"a<U+{ord(glyph):04X}>b"


def test_U26_code_behind_thousands_of_blanks_is_brought_near_and_the_blanks_are_counted() -> None:
    source = "print(1)" + " " * 4_000 + "; evil()\nx = 1" + "\t" * 100 + "# y\n" + " " * 90 + "indented()\n"
    shown = collapse_blanks(source)
    assert shown == "print(1) ⟨4,000 blanks⟩ ; evil()\nx = 1 ⟨100 blanks⟩ # y\n ⟨90 blanks⟩ indented()\n"
    ordinary = "def f():\n    return 1" + " " * 40 + "# aligned" + " " * 200 + "\n"
    assert collapse_blanks(ordinary) == ordinary
    assert "⟨4,000 blanks⟩ ; evil()" in code_in_full("python", source)
