"""A picture as each kind of terminal is given it (R6), and poor terminals (V7), through the installed program."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel]

READY = "Ask, or !shell"
DRAW = '%from PIL import Image; Image.new("RGB", (64, 48), "red")\r'
CAPTION = "figure · 64×48"

Start = Callable[..., Terminal]


@pytest.fixture
def started(terminal: Start, bare_command: list[str], clean_env: dict[str, str], folder: Path) -> Start:
    """Starts the program in a terminal with a changed environment; no model is chosen."""

    def start(images: str = "auto", **changed: str) -> Terminal:
        env = clean_env | changed
        settings = Path(env["XDG_CONFIG_HOME"]) / "oi-tui" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f'[screen]\nimages = "{images}"\n', encoding="utf-8")
        shown = terminal(bare_command, env=env, cwd=folder, columns=80, rows=24, timeout=40)
        shown.wait_for("esc skip")
        shown.send("\x1b")
        shown.wait_for(READY)
        return shown

    return start


@pytest.mark.parametrize(
    ("setting", "written"), [("kitty", b"\x1b_Ga=T,U=1,f=100"), ("sixel", b"\x1bP0;1;0q"), ("half", "▀▀▀▀".encode())]
)
def test_R6_a_picture_of_a_kernel_is_shown_by_the_chosen_protocol(started: Start, setting: str, written: bytes) -> None:
    shown = started(setting)
    shown.send(DRAW)
    shown.wait_for(CAPTION)
    shown.wait_raw(written)


def test_R6_a_terminal_that_only_knows_text_is_told_of_the_picture_and_how_to_save_it(started: Start) -> None:
    shown = started("off")
    shown.send(DRAW)
    shown.wait_for(re.compile(f"{CAPTION} · s save"))
    assert "▀▀" not in shown.screen


@pytest.mark.parametrize(
    "changed",
    [
        {"NO_COLOR": "1"},
        pytest.param({"TERM": "xterm", "COLORTERM": ""}, marks=pytest.mark.thorough),
        {"LANG": "C", "LC_ALL": "C"},
        {"TERM": "vt100", "COLORTERM": ""},
    ],
    ids=["no colours", "16 colours", "no UTF-8", "vt100"],
)
def test_V7_a_poor_terminal_is_usable_and_a_picture_in_it_harmless(started: Start, changed: dict[str, str]) -> None:
    shown = started(**changed)
    shown.send(DRAW)
    shown.wait_for(CAPTION)
    shown.send("!echo still-$((40 + 2))\r")
    shown.wait_for("still-42")
    if "NO_COLOR" in changed:
        codes = {code for sent in re.findall(rb"\x1b\[([\d;]*)m", shown.raw) for code in sent.split(b";")}
        assert codes <= {b"", b"0", b"1", b"2", b"3", b"4", b"7", b"9"}, "a colour was written"
        assert b"7" in codes, "the caret cannot be seen"
