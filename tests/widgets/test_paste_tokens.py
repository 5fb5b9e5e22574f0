"""Tokens of a prompt: what they stand for, also when a prompt comes back."""

from oi_tui.widgets.paste_tokens import PASTE_BYTES, PasteTokens


def test_P4_pictures_go_with_their_tokens_and_come_back_with_a_prompt_of_earlier() -> None:
    tokens = PasteTokens()
    one, two = tokens.keep_picture("data:1", "6×4"), tokens.keep_picture("data:2", "6×4")
    assert (one, two) == ("[picture #1: 6×4]", "[picture #2: 6×4]")
    assert tokens.pictures_of(f"{two} and {one}") == ("data:2", "data:1")
    assert tokens.lost_pictures(f"{one} [picture #3: 6×4] [picture of mine]") == ("[picture #3: 6×4]",)
    later = PasteTokens()
    assert later.lost_pictures(f"{one} and {two}") == (one, two)
    later.bring_back(f"{two} first, then {one}", ["data:2", "data:1"])
    assert later.pictures_of(f"{one} and {two}") == ("data:1", "data:2")
    assert later.keep_picture("data:3", "6×4") == "[picture #3: 6×4]"


def test_V1_a_large_paste_is_found_by_its_token() -> None:
    tokens, text = PasteTokens(), "x" * (PASTE_BYTES + 1)
    token = tokens.shorten(text)
    assert token == "[paste #1: 1 line]"
    assert tokens.expand(f"a {token} b [paste #2: 1 line]") == f"a {text} b [paste #2: 1 line]"
    assert list(tokens.find(f"a {token}")) == [(2, 2 + len(token), text)]
