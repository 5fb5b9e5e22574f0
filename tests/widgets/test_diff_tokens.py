"""A diff in colours: which words are marked, that nothing of it is lost, and that it can be read in every theme."""

from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Token

from oi_tui.widgets.timeline.diff_tokens import ADDED, ADDED_WORD, REMOVED, REMOVED_WORD, lex_diff


def test_f14_words_that_changed_are_marked_and_others_are_not() -> None:
    lines = lex_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-open at seven\n+open at nine\n same")
    assert lines[3] == [(REMOVED, "-"), (REMOVED, "open at "), (REMOVED_WORD, "seven")]
    assert lines[4] == [(ADDED, "+"), (ADDED, "open at "), (ADDED_WORD, "nine")]
    assert lines[5] == [(Token, " same")]


def test_f14_the_head_of_a_second_file_is_no_changed_line_and_a_line_of_dashes_is() -> None:
    lines = lex_diff("@@ -1,2 +1 @@\n same\n--- text\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+new")
    assert [line[0][0] for line in lines[2:]] == [REMOVED, Token.Comment, Token.Comment, Token.Comment, ADDED]


@given(st.text(alphabet="a1, +-@\n", max_size=200))
def test_f14_the_tokens_of_any_text_are_that_text(text: str) -> None:
    text = f"@@ -1,2 +1 @@\n{text}"
    assert "\n".join("".join(piece for _, piece in line) for line in lex_diff(text)) == text
