"""Real programs that draw on a terminal: what we make of their output is what a terminal would show."""

import os
import pty
import subprocess
import sys

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.widgets.timeline.ink import Sgr
from oi_tui.widgets.timeline.terminal import TerminalText
from oi_tui.widgets.timeline.terminal_row import LONGEST_ROW

COLUMNS, LINES = 100, 60

TQDM = """
from tqdm import tqdm
for _ in tqdm(range(300), desc="one", mininterval=0, ncols=60):
    pass
print("between")
for _ in tqdm(range(3), desc="outer", mininterval=0, ncols=60, ascii=True):
    for _ in tqdm(range(20), desc="inner", mininterval=0, leave=False, ncols=60):
        pass
for _ in tqdm(range(5), desc="kept", mininterval=0, ncols=60):
    for _ in tqdm(range(5), desc="nested", mininterval=0, position=1, ncols=60):
        pass
tqdm.write("written")
print("\\nend")
"""

RICH = """
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, BarColumn, TextColumn
from rich.table import Table
console = Console(force_terminal=True, width=70, color_system="truecolor")
with Progress(TextColumn("{task.description}"), BarColumn(), SpinnerColumn(), console=console) as progress:
    tasks = [progress.add_task(f"[red]task {n} 日本", total=20) for n in range(3)]
    for step in range(20):
        for task in tasks:
            progress.update(task, advance=1, refresh=True)
        if step % 7 == 0:
            console.print(f"step [bold]{step}[/bold]")
with console.status("working"):
    console.print("[link=https://example.org]a link[/link] and [u]more[/u]")
table = Table(title="Table")
table.add_column("naïve"); table.add_column("日本")
table.add_row("1", "二")
console.print(table)
print("end")
"""

PLAIN = r"""
import sys
w = sys.stdout.write
w("abc\b\bX\n"); w("one\ttwo\n"); w("\x1b[?25lhidden cursor\x1b[?25h\n"); w("\x1b]8;;https://e.org\x1b\\link\x1b]8;;\x1b\\\n")
w("12345\x1b[1G67\n"); w("erase\x1b[2K\rnew\n"); w("first\x1b[3D\x1b[1KX\n"); w("日本語\rab\n"); w("日本語\r a\n")
w("x\x1b[5Cy\x1b[3DZ\n"); w("one\ntwo\nthree\x1b[2A\x1b[2K\rONE\x1b[2E!\n"); w("\x1b(Bcharset\x1b[0;1;4mend\x1b[m\n")
"""


def on_a_terminal(program: str) -> bytes:
    """What a Python program writes on a terminal."""
    ours, its = pty.openpty()
    environ = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": str(LINES), "TERM": "xterm-256color"}
    with subprocess.Popen([sys.executable, "-c", program], stdout=its, stderr=its, stdin=its, env=environ) as process:
        os.close(its)
        written = bytearray()
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux, at the end
                piece = b""
            if not piece:
                break
            written += piece
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return bytes(written)


def shown_by_a_terminal(text: str) -> list[str]:
    screen = pyte.Screen(COLUMNS, LINES)
    pyte.Stream(screen).feed(text)
    return trimmed(screen.display)


def shown_by_us(text: str) -> list[str]:
    terminal = TerminalText()
    for start in range(0, len(text), 1_000):
        terminal.update(text[: start + 1_000])
    assert not terminal.behind
    return trimmed(terminal.plain().split("\n"))


def trimmed(lines: list[str]) -> list[str]:
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


@pytest.mark.parametrize("program", [TQDM, RICH, PLAIN], ids=["tqdm", "rich", "sequences"])
def test_R7_a_program_looks_as_on_a_terminal(program: str) -> None:
    text = on_a_terminal(program).decode()
    assert shown_by_us(text) == shown_by_a_terminal(text)


def test_R7_the_colours_of_rich_arrive() -> None:
    terminal = TerminalText()
    program = "from rich.console import Console\nConsole(color_system='truecolor').print({!r})"
    terminal.update(on_a_terminal(program.format("[#102030 on red]x[/] [bold italic strike]y[/]")).decode())
    assert terminal.line(0) == [
        ("x", Sgr("#102030", 1)),
        (" ", Sgr()),
        ("y", Sgr(attributes=frozenset({"bold", "italic", "strike"}))),
    ]


@pytest.mark.parametrize(
    ("numbers", "sgr"),
    [
        ("4:3", Sgr(attributes=frozenset({"underline"}))),
        ("4;4:0", Sgr()),
        ("58;5;1;7", Sgr(attributes=frozenset({"reverse"}))),
        ("58:2::1:2:3;2", Sgr(attributes=frozenset({"dim"}))),
        ("38:2::1:2:3", Sgr("#010203")),
        ("38:2:1:2:3", Sgr("#010203")),
        ("48:5:200", Sgr(None, 200)),
        ("38;5;300", Sgr()),
        ("8", Sgr()),
        ("1;22;9;29;31;39", Sgr()),
        ("97;107", Sgr(15, 15)),
        ("38;2;1;2", Sgr()),
    ],
)
def test_R7_colours_in_all_their_forms(numbers: str, sgr: Sgr) -> None:
    terminal = TerminalText()
    terminal.update(f"\x1b[{numbers}mx")
    assert terminal.line(0) == [("x", sgr)]


MOVES = ["\r", "\b", "\r\n", "\x1b[A", "\x1b[2C", "\x1b[3D", "\x1b[2G", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J"]
DROPPED = ["\x1b[31m", "\x1b[?7h", "\x1b[4l", "\x1b]8;;https://example.org\x1b\\", "\x1b(B"]
LINES_BEFORE = "first\r\nsecond\r\n\r\n"


@given(st.lists(st.sampled_from([*MOVES, *DROPPED, "a", "bcd"]), max_size=25))
def test_R7_any_order_of_moves_looks_as_on_a_terminal(pieces: list[str]) -> None:
    text = LINES_BEFORE + "".join(pieces)
    assert shown_by_us(text) == shown_by_a_terminal(text)


@given(st.lists(st.sampled_from(["\r", "日", "本語", "\x1b[5G", "\x1b[2D", "\r\n", "\x1b[A", "\x1b[K"]), max_size=25))
def test_R7_wide_characters_take_two_columns(pieces: list[str]) -> None:
    text = LINES_BEFORE.replace("first", "日日日日") + "".join(pieces)
    ours = shown_by_us(text)
    assert [line.replace(" ", "") for line in ours] == [
        line.replace(" ", "") for line in shown_by_a_terminal(text)
    ]  # pyte draws no blank behind a wide character


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("日本語\rab", "ab本語"),
        ("日本語\ra", "a 本語"),
        ("日本語\x1b[2D\x1b[K", "日本"),
        ("日本語\x1b[3D\x1b[K", "日"),
        ("日本語\x1b[2Gx", " x本語"),
        ("ab\r日", "日"),
        ("e\u0301x\ry", "yx"),
    ],
)
def test_R7_overwriting_counts_cells(written: str, shown: str) -> None:
    assert shown_by_us(written) == [shown]


def test_T2_a_line_in_which_the_cursor_moves_is_bounded() -> None:
    terminal = TerminalText()
    terminal.update("x" * 50_000 + "\b" + "y" * 50_000 + "\x1b[999C" + "z\nnext")
    assert [len(line) for line in terminal.plain().split("\n")] == [LONGEST_ROW, 4]
