"""A paste is text: whatever is in it, no part of it is taken for a key."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from oi_tui.app.terminal.guarded_driver import Pastes

PIECES = st.sampled_from(
    ["\x1b", "\x1b[", "\x1b[200~", "\x1b[20", "1", "\x1b]0;", "y", "\r", "\x1by", "\x07", "[201~", "é"]
)
PASTED = st.lists(PIECES, max_size=12).map("".join).filter(lambda text: "\x1b[201~" not in text)
CUTS = st.lists(st.integers(0, 60), max_size=6).map(sorted)


def events_of(sent: str, cuts: list[int]) -> list[Message]:
    """What Textual makes of it, read in these pieces."""
    pastes, parser = Pastes(), XTermParser()
    ends = [0, *cuts, len(sent)]
    read = [pastes.feed(sent[a:b]) for a, b in pairwise(ends)]
    return [event for text in read if text for event in parser.feed(text)]


@given(PASTED, CUTS)
@example("\x1b\x1b[201", [8])
def test_T1_no_key_comes_out_of_a_paste(text: str, cuts: list[int]) -> None:
    first, *pasted, last = events_of(f"a\x1b[200~{text}\x1b[201~b", cuts)
    assert isinstance(first, events.Key)
    assert isinstance(last, events.Key)
    assert (first.key, last.key) == ("a", "b")
    assert "".join(event.text for event in pasted if isinstance(event, events.Paste)) == text.replace("\x1b", "")
    assert all(isinstance(event, events.Paste) for event in pasted)


@pytest.mark.parametrize("keys", ["\x1b[A", "\x1b", "y\r", "\x1bOP\x1b[Z", "\x1b[200"])
def test_keys_are_passed_on_at_once(keys: str) -> None:
    assert Pastes().feed(keys) == keys


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("\x1b\r", "alt+enter"),
        ("\x1b[13;3u", "alt+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[13;2u", "shift+enter"),
    ],
)
def test_a_new_line_has_keys_in_every_terminal(sent: str, key: str) -> None:
    assert [event.key for event in events_of(sent, []) if isinstance(event, events.Key)] == [key]
    assert [event for event in events_of(f"\x1b[200~{sent}\x1b[201~", []) if isinstance(event, events.Key)] == []
