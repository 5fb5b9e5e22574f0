"""A person who looks elsewhere is called, in fixed words and as the terminal can; the title is always put back."""

import re
from typing import get_args

import pytest

from oi_tui.app.terminal.calling import PATIENCE, Attention, Call, Means, call_sequence, means_of
from support.grammar import violations
from support.stage import HandClock

WITH_ALL = Means(notifications="osc9")


def made(means: Means = WITH_ALL) -> tuple[Attention, list[str], HandClock]:
    said: list[str] = []
    clock = HandClock()
    return Attention(said.append, means, clock), said, clock


def test_nobody_is_called_who_has_the_window_before_them() -> None:
    caller, said, clock = made()
    caller.note_focus(True)
    for call in get_args(Call):
        caller.begin(call)
        clock.now += 100
        caller.look()
    assert said == []


def test_a_question_and_the_end_of_a_turn_call_who_looks_elsewhere_and_the_title_is_put_back() -> None:
    caller, said, _ = made()
    caller.note_focus(False)
    caller.begin("approval")
    assert said == ["\x07\x1b]9;oi-tui: approval needed\x1b\\", "\x1b[22;2t\x1b]2;oi-tui: approval needed\x1b\\"]
    caller.begin("done")
    assert said[2:] == ["\x07\x1b]9;oi-tui: done\x1b\\", "\x1b]2;oi-tui: done\x1b\\"]
    caller.note_focus(True)
    assert said[4:] == ["\x1b]2;oi-tui\x1b\\\x1b[23;2t"]
    assert caller.leave() == "", "it is put back once"


def test_the_title_tells_who_leaves_a_question_open_and_is_put_back_when_the_program_leaves() -> None:
    caller, said, _ = made()
    caller.note_focus(True)
    caller.begin("input")
    caller.note_focus(False)
    assert said == ["\x1b[22;2t\x1b]2;oi-tui: input needed\x1b\\"]
    assert caller.leave() == "\x1b]2;oi-tui\x1b\\\x1b[23;2t"


def test_a_session_calls_at_a_new_question_and_at_the_end_of_a_turn_and_at_nothing_else() -> None:
    caller, said, _ = made(Means(title=False))
    caller.note_focus(False)
    caller.follow("", is_input=False, busy=False, failed=True)  # as it was left
    caller.follow("", is_input=False, busy=True, failed=False)
    assert said == []
    for _ in range(2):
        caller.follow("d1", is_input=False, busy=True, failed=False)
    assert said == ["\x07"]
    caller.follow("", is_input=False, busy=True, failed=False)
    caller.follow("", is_input=False, busy=False, failed=False)
    assert said == ["\x07", "\x07"]


def test_where_the_focus_is_not_known_only_a_question_rings_once_after_some_seconds_without_a_key() -> None:
    caller, said, clock = made()
    caller.begin("done")
    assert not caller.is_listening
    caller.begin("approval")
    clock.now += PATIENCE - 1
    caller.note_key()
    clock.now += PATIENCE - 1
    caller.look()
    assert said == []
    clock.now += 2
    caller.look()
    clock.now += 100
    caller.look()
    assert said == ["\x07"]


@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({"TERM": "xterm-kitty"}, "osc9"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"TERM": "foot"}, "osc777"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "osc777"),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "KITTY_WINDOW_ID": "1"}, "osc9"),
        ({"TERM": "screen", "STY": "x", "KITTY_WINDOW_ID": "1"}, "none"),
        *(({"TERM": term}, "none") for term in ("xterm-256color", "linux", "dumb", "")),
    ],
)
def test_a_terminal_gets_the_notification_that_it_understands(environ: dict[str, str], kind: str) -> None:
    means = means_of(environ, bell=True, notifications=True, title=True)
    assert means.notifications == kind
    assert means_of(environ, bell=True, notifications=False, title=True).notifications == "none"


def test_each_way_can_be_switched_off() -> None:
    caller, said, clock = made(Means(bell=False, title=False, notifications="none"))
    caller.begin("approval")
    assert not caller.is_listening
    caller.note_focus(False)
    caller.begin("approval")
    clock.now += 100
    caller.look()
    assert "".join(said) == ""


@pytest.mark.parametrize("in_tmux", [False, True])
def test_T1_only_fixed_words_call_somebody(in_tmux: bool) -> None:
    for call in get_args(Call):
        for kind in ("none", "osc9", "osc777"):
            said = call_sequence(call, Means(notifications=kind, in_tmux=in_tmux))
            bare = re.sub(r"^\x07", "", said)
            if in_tmux and bare:
                assert bare.startswith("\x1bPtmux;\x1b\x1b]")
                bare = bare.removeprefix("\x1bPtmux;").removesuffix("\x1b\\").replace("\x1b\x1b", "\x1b")
            assert violations(bare.encode(), 80, 24) == []
