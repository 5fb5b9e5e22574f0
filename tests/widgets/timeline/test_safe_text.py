"""Nothing that a terminal obeys or that cannot be seen gets through `safe_text`."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.text import safe_text

SEQUENCES = r"\e \e[ \e]52;c; \e]0; \a \e\ \eP \e_G \e^ \e[31m m \e[6n \e[2J \ec \e(0"
CHARACTERS = "\0 \x7f \r \b \n \t \u202e \u2066 \u2028 \u200b \u200d \ufe0f \U000e0041 👩 💻 ❤ 1 \u20e3 \ud800"
PIECES = st.one_of(
    st.text(max_size=6),
    st.characters(),
    st.sampled_from(SEQUENCES.replace(r"\e", "\x1b").replace(r"\a", "\x07").split()),
    st.sampled_from(["\x9b", "\x9d", "\x9c", "\x90"]),
    st.sampled_from(CHARACTERS.split(" ")),
)
HOSTILE = st.lists(PIECES, max_size=25).map("".join)


@given(HOSTILE)
def test_T1_no_control_or_unseen_character_survives(text: str) -> None:
    for character in safe_text(text).replace("\u200d", "").replace("\ufe0f", ""):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")


@given(HOSTILE)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert safe_text(safe_text(text)) == safe_text(text)


@given(HOSTILE)
def test_T2_lines_are_cleaned_each_on_its_own(text: str) -> None:
    assert safe_text(text) == "\n".join(safe_text(line) for line in text.split("\n"))


@given(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert safe_text(text) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a\x1b]52;c;aGk=\x07b", "ab"),
        ("a\x1b]52;c;aGk=\x1b\\b", "ab"),
        ("\x1b[2J\x1b[6nrest", "rest"),
        ("\x9b31mred\x9d0;title\x9c!", "red!"),
        ("open \x1b]0;never closed\nnext", "open \nnext"),
        ("\x1bPq...\x1b\\x\x1b_Gdata\x1b\\y\x1bc\x1b(0z", "xyz"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("pay\u200bpal \U000e0041", "paypal "),
        ("a\ud800b", "a\ufffdb"),
        ("a\r\nb\rc", "a\nbc"),
        ("👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3", "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3"),
        ("a\u200db x\ufe0f", "ab x"),
        ("žluťoučký 日本語 한국어 עברית", "žluťoučký 日本語 한국어 עברית"),
    ],
)
def test_T1_known_tricks_leave_only_what_is_seen(hostile: str, shown: str) -> None:
    assert safe_text(hostile) == shown
