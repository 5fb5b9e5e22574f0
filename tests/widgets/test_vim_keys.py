"""Vim's keys as a table: a text with the cursor, keys, and what is there afterwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.widgets.vim_keys import Vim

NAMED = {"<esc>": "escape", "<c-r>": "ctrl+r", "<bs>": "backspace"}


def keys_of(spelled: str) -> list[str]:
    for name in NAMED:
        spelled = spelled.replace(name, chr(0xE000 + list(NAMED).index(name)))
    return [list(NAMED.values())[ord(one) - 0xE000] if ord(one) >= 0xE000 else one for one in spelled]


def play_keys(vim: Vim, text: str, cursor: int, keys: list[str]) -> tuple[str, int]:
    """Press them; letters that Vim leaves alone are typed."""
    for key in keys:
        step = vim.press(key, text, cursor)
        if step is None:
            if vim.mode == "insert" and len(key) == 1:
                text, cursor = text[:cursor] + key + text[cursor:], cursor + 1
            continue
        for change in step.changes:
            assert 0 <= change.start <= change.end <= len(text)
            text = text[: change.start] + change.text + text[change.end :]
        cursor = step.cursor
        if step.wish in ("up", "down"):  # as the widget does
            lines, column = text[:cursor].count("\n"), cursor - text.rfind("\n", 0, cursor) - 1
            target = max(0, min(text.count("\n"), lines + (step.times if step.wish == "down" else -step.times)))
            starts = [0, *(place + 1 for place, one in enumerate(text) if one == "\n")]
            end = text.find("\n", starts[target])
            length = (len(text) if end < 0 else end) - starts[target]
            cursor = starts[target] + max(0, min(column, length - 1))
    return text, cursor


TABLE = [
    ("|one two", "w", "one |two"),
    ("|one two three", "2w", "one two |three"),
    ("|one.two", "w", "one|.two"),
    ("|one.two x", "W", "one.two |x"),
    ("|one two", "e", "on|e two"),
    ("one two thr|ee", "b", "one two |three"),
    ("one two thr|ee", "2b", "one |two three"),
    ("one tw|o", "ge", "on|e two"),
    ("  one| two", "0", "|  one two"),
    ("  one| two", "^", "  |one two"),
    ("|one two", "$", "one tw|o"),
    ("one\ntwo\nth|ree", "gg", "|one\ntwo\nthree"),
    ("|one\ntwo\n  three", "G", "one\ntwo\n  |three"),
    ("|one\ntwo\nthree", "2G", "one\n|two\nthree"),
    ("on|e\ntwo", "j", "one\ntw|o"),
    ("one\ntw|o", "k", "on|e\ntwo"),
    ("|one two", "ft", "one |two"),
    ("|one two", "tt", "one| two"),
    ("one tw|o", "Fn", "o|ne two"),
    ("|a.b.c", "f.;", "a.b|.c"),
    ("|a.b.c", "2f.,", "a|.b.c"),
    ("f|(a(b))", "%", "f(a(b)|)"),
    ("f(a(b)|)", "%", "f|(a(b))"),
    ("|one", "l", "o|ne"),
    ("|one", "9l", "on|e"),
    ("on|e", "h", "o|ne"),
    ("on|e", "<bs>", "o|ne"),
    ("|a\n\nb", "}", "a\n|\nb"),
    # inserting
    ("|one", "iX<esc>", "|Xone"),
    ("|one", "aX<esc>", "o|Xne"),
    ("  on|e", "IX<esc>", "  |Xone"),
    ("|one", "AX<esc>", "one|X"),
    ("|one\ntwo", "oX<esc>", "one\n|X\ntwo"),
    ("one\n|two", "OX<esc>", "one\n|X\ntwo"),
    # deleting
    ("|one", "x", "|ne"),
    ("|one", "2x", "|e"),
    ("on|e", "x", "o|n"),
    ("on|e", "X", "o|e"),
    ("|one two", "dw", "|two"),
    ("one |two", "dw", "one| "),
    ("one |two\nthree", "dw", "one| \nthree"),
    ("|one two three", "d2w", "|three"),
    ("|one two three", "2dw", "|three"),
    ("one t|wo", "d0", "|wo"),
    ("o|ne two", "d$", "|o"),
    ("o|ne two", "D", "|o"),
    ("one t|wo", "db", "one |wo"),
    ("|one two", "de", "| two"),
    ("|one\ntwo\nthree", "dd", "|two\nthree"),
    ("one\ntwo\nth|ree", "dd", "one\n|two"),
    ("|one", "dd", "|"),
    ("|one\ntwo\nthree", "2dd", "|three"),
    ("|one\ntwo\nthree", "dj", "|three"),
    ("one\n|two\nthree", "dG", "|one"),
    ("one\n|two\nthree", "dgg", "|three"),
    ("|a.b.c", "df.", "|b.c"),
    ("|a.b.c", "dt.", "|.b.c"),
    # changing
    ("|one two", "cwX<esc>", "|X two"),
    ("o|ne two", "ceX<esc>", "o|X two"),
    ("one |t", "cwX<esc>", "one |X"),
    ("one |two\nthree", "ccX<esc>", "|X\nthree"),
    ("o|ne two", "CX<esc>", "o|X"),
    ("|one", "sX<esc>", "|Xne"),
    ("o|ne", "SX<esc>", "|X"),
    ("f(one, t|wo)", "ci(X<esc>", "f(|X)"),
    ('say "o|ne" two', 'ci"X<esc>', 'say "|X" two'),
    ("one t|wo three", "ciwX<esc>", "one |X three"),
    ("one t|wo three", "daw", "one |three"),
    ("f(|one)", "da(", "|f"),
    ("|one", "rX", "|Xne"),
    ("|one", "2rX", "X|Xe"),
    ("|one", "~", "O|ne"),
    ("|one", "3~", "ON|E"),
    ("|one two", "gUw", "|ONE two"),
    ("|one\n  two", "J", "one| two"),
    ("|a\nb\nc", "3J", "a b| c"),
    ("|one", ">>", "    |one"),
    ("      |one", "<<", "  |one"),
    # yanking and putting
    ("|one two", "ywP", "one| one two"),
    ("|one\ntwo", "yyp", "one\n|one\ntwo"),
    ("|one\ntwo", "yyP", "|one\none\ntwo"),
    ("|one\ntwo", "ddp", "two\n|one"),
    ("|ab", "xp", "b|a"),
    ("|ab", "x3p", "baa|a"),
    ("|one\ntwo\nx", "yj" + "Gp", "one\ntwo\nx\n|one\ntwo"),
    # visual
    ("|one two", "ved", "| two"),
    ("|one two", "vey$p", "one twoon|e"),
    ("|one two", "vecX<esc>", "|X two"),
    ("one t|wo", "vbd", "one |o"),
    ("|one\ntwo\nthree", "Vjd", "|three"),
    ("one t|wo x", "viwd", "one | x"),
    ("|abc", "vl~", "|ABc"),
    ("|abc", "vlrX", "|XXc"),
    ("|abcd", "vlod", "|cd"),
    ("|one", "v<esc>x", "|ne"),
    # again
    ("|one two three", "dw.", "|three"),
    ("|a b", "cwX<esc>w.", "X |X"),
    ("|one\ntwo", "AX<esc>j.", "oneX\ntwo|X"),
    ("|a\nb\nc", "dd.", "|c"),
    ("|one", "x.u", "|e"),
    # what is no command does nothing, and is never typed
    ("|one", "qZ", "|one"),
    ("|one", "dqx", "|ne"),
    ("|one", "2<esc>x", "|ne"),
    ("|one", "d<esc>w", "on|e"),
    ("|", "dwxpuddyyDJ~", "|"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "keys", "after"), TABLE)
def test_C16_keys_do_what_they_do_in_vim(before: str, keys: str, after: str) -> None:
    vim, cursor = Vim(), before.index("|")
    vim.press("escape", "", 0)
    text, at = play_keys(vim, before.replace("|", "", 1), cursor, keys_of(keys))
    assert f"{text[:at]}|{text[at:]}" == after


def test_C16_escape_leaves_insert_mode_first_then_what_waits_then_is_not_vims() -> None:
    vim = Vim()
    assert vim.press("x", "one", 1) is None
    assert vim.press("escape", "one", 2) is not None
    assert (vim.mode, vim.pending) == ("normal", "")
    vim.press("d", "one", 1)
    assert vim.pending == "d"
    assert vim.press("escape", "one", 1) is not None
    assert vim.pending == ""
    assert vim.press("escape", "one", 1) is None
    assert vim.press("f2", "one", 1) is None
    assert vim.press("y", "one", 1) is not None, "a letter is Vim's, whatever comes of it"


PRESSED = [*"hjklwbe0^$GgdcyxXDCpPuJr~.vV%f;ia(2o{", '"', "escape"]


@given(st.text('ab .("\n', max_size=30), st.integers(0, 30), st.lists(st.sampled_from(PRESSED), max_size=12))
def test_C16_any_keys_keep_the_cursor_in_the_text(text: str, cursor: int, keys: list[str]) -> None:
    vim = Vim()
    vim.press("escape", "", 0)
    text, at = play_keys(vim, text, min(cursor, len(text)), keys)
    assert 0 <= at <= len(text)
