"""What stands on the screen before the program can: in its colours, taking keys, and gone without a trace."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.cli import program
from oi_tui.app.look import keep_look
from oi_tui.app.start import WITHOUT_SCREEN, opens_screen
from oi_tui.app.terminal.skeleton import load_look
from support.script import Script
from support.terminal import Terminal

OI_TUI = str(Path(sys.executable).with_name("oi-tui"))
READY = "Ask, or"

SLOW = """
import sys
from oi_tui.app import start
start.begin(sys.argv[2:])
open(sys.argv.pop(1)).read()  # the imports that follow take as long as the test wants
start.main()
"""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A pipe: the slow program goes on when something is written into it."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


@pytest.fixture
def seen(terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path, script: Script) -> Terminal:
    """The program ran once in this home and was left."""
    shown = terminal([OI_TUI, *script.arguments], env=clean_env, cwd=tmp_path)
    shown.wait_for(READY)
    cache = Path(clean_env["XDG_CACHE_HOME"], "oi-tui", "first-frame")
    shown.wait_until(cache.exists, "the look kept")
    return shown


LOOK = ("48;5;16", "38;5;66", "38;5;79")


@pytest.fixture
def kept(clean_env: dict[str, str]) -> None:
    """The look is there, as if the program had run in this home."""
    keep_look(LOOK, clean_env)


Slow = Callable[..., Terminal]


@pytest.fixture
def slow(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path, script: Script, gate: Path
) -> Slow:
    """Starts the program so that its imports wait at the gate."""

    def start(*more: str, **env: str) -> Terminal:
        argv = [sys.executable, "-c", SLOW, str(gate), *script.arguments, *more]
        return terminal(argv, env=clean_env | env, cwd=tmp_path)

    return start


def test_skeleton_has_the_colours_and_places_of_the_frame_that_follows(seen: Terminal, slow: Slow) -> None:
    early = slow()
    early.wait_for("starting")
    for text in ("────", "›"):
        assert (early.colour(text), early.background(text)) == (seen.colour(text), seen.background(text))
    before, after = early.screen.split("\n"), seen.screen.split("\n")
    assert before[-3] == after[-3]
    assert before[-2].rstrip() == " ›"
    assert after[-2].startswith(" ›")
    assert early.background("starting") == seen.background("sk, or")


@pytest.mark.usefixtures("kept")
def test_keys_typed_on_the_skeleton_are_not_shown_and_come_to_the_prompt(slow: Slow, gate: Path) -> None:
    early = slow()
    early.wait_for("starting")
    early.send("a sum, pl")
    assert "a sum" not in early.screen
    gate.write_text("go")
    early.wait_for("› a sum, pl")
    early.send("ease")
    early.wait_for("› a sum, please")
    early.send("\x11")
    assert early.wait_exit() == 0
    assert early.faults == []


@pytest.mark.usefixtures("kept")
def test_a_paste_on_the_skeleton_is_one_and_is_not_sent(slow: Slow, gate: Path, script: Script) -> None:
    early = slow()
    early.wait_for("starting")
    early.paste("first\rsecond\r")
    gate.write_text("go")
    early.wait_for("second")
    assert "› first" in early.screen
    assert script.requests == []


@pytest.mark.usefixtures("kept")
def test_keys_typed_on_the_skeleton_decide_nothing(slow: Slow, gate: Path) -> None:
    """The question about the folder comes up under them."""
    early = slow(OI_TUI_SANDBOX="")
    early.wait_for("starting")
    early.send("1ty\r")
    gate.write_text("go")
    early.wait_for("Trust")
    early.send("\x1b")
    assert "no sandbox" not in early.screen


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("words", [["--theme"], ["--cwd", "/nonexistent"], ["--sandbox", "none"]])
def test_an_error_is_said_on_the_terminal_as_it_was(slow: Slow, gate: Path, words: list[str]) -> None:
    early = slow(*words)
    early.wait_for("starting")
    gate.write_text("go")
    assert early.wait_exit() == 2
    assert early.faults == []
    assert words[0] in early.raw.decode().rpartition("\x1b[?1049l")[2]


@pytest.mark.usefixtures("kept")
def test_a_prompt_typed_on_the_skeleton_is_no_command_for_the_shell_after_an_error(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path, gate: Path
) -> None:
    program = [sys.executable, "-c", SLOW, str(gate), "--cwd", "/nonexistent"]
    shell = ["/bin/sh", "-c", '"$@"; read -r line; echo "the shell read: $line."', "sh", *program]
    early = terminal(shell, env=clean_env, cwd=tmp_path)
    early.wait_for("starting")
    early.send("delete everything\r")
    gate.write_text("go")
    early.wait_for("not a folder")
    early.send("ls\r")
    early.wait_for("the shell read: ls.")


SIGNALLED = """
import os, sys

event, _, place = os.environ["SIGNAL_AT"].partition(" ")

def send(frame, happened, argument):
    if happened != event:
        return
    name = argument.__name__ if event.startswith("c_") else frame.f_code.co_qualname
    if f"{frame.f_globals['__name__']}.{name}" == place:
        sys.setprofile(None)
        os.killpg(0, int(os.environ["SIGNAL"]))  # as the terminal does it

sys.setprofile(send)
"""
"""A `sitecustomize`: a signal comes at one moment, while a function is called, or when it returns."""

MOMENTS = (
    "c_return oi_tui.app.terminal.skeleton.tcsetattr",
    "c_call oi_tui.app.terminal.skeleton.write",
    "c_return oi_tui.app.terminal.skeleton.write",
    "return oi_tui.app.terminal.skeleton.show_skeleton",
    "return oi_tui.app.start.begin",
    "call oi_tui.app.flags.<module>",
    "return oi_tui.app.flags.plain_flags",
    "call oi_tui.app.cli.<module>",
    "call oi_tui.app.opening.<module>",
    "call oi_tui.app.opening.open_app",
    "c_call oi_tui.app.frontend.waiting_engine.fork",
    "c_call oi_tui.app.frontend.waiting_engine.setsid",
    "call oi_tui.app.tui.<module>",
    "call oi_tui.app.opening.run_screen",
    "call textual.app.App.run_async",
    "call textual.drivers.linux_driver.LinuxDriver.__init__",
    "call oi_tui.app.terminal.guarded_driver.GuardedDriver.start_application_mode",
    "c_return textual.drivers.linux_driver.tcsetattr",
    "return textual.drivers.linux_driver.LinuxDriver.start_application_mode",
    "return oi_tui.app.terminal.guarded_driver.GuardedDriver.start_application_mode",
    "call oi_tui.app.screens.chat.ChatScreen.compose",
    "call oi_tui.app.tui.OiTui.on_mount",
    "return oi_tui.app.tui.OiTui.on_mount",
)
"""From the first byte on the terminal until the screen is there, in order."""

Signalled = Callable[[str, signal.Signals], Terminal]


@pytest.fixture
def signalled(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], kept: None, tmp_path: Path, script: Script
) -> Signalled:
    """Starts the program, to which a signal comes at this moment."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(SIGNALLED)

    def start(moment: str, number: signal.Signals) -> Terminal:
        env = clean_env | {"PYTHONPATH": str(hooks), "SIGNAL_AT": moment, "SIGNAL": str(int(number))}
        prompt = ["hello"] if "cli" in moment else []
        return terminal([OI_TUI, *script.arguments, *prompt], env=env, cwd=tmp_path)

    return start


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        *((moment, signal.SIGINT) for moment in MOMENTS),
        *((moment, signal.SIGTERM) for moment in MOMENTS),
        *((moment, signal.SIGHUP) for moment in MOMENTS[::6]),
    ],
)
def test_a_signal_at_any_moment_of_the_start_leaves_the_terminal_as_it_was(
    signalled: Signalled, moment: str, number: signal.Signals
) -> None:
    shown = signalled(moment, number)
    assert shown.wait_exit() == 128 + number
    assert shown.faults == []
    assert b"Traceback" not in shown.raw


BEGUN = """
import sys
from oi_tui.app import start
start.begin(sys.argv[1:])
print("begun", flush=True)
"""

Begun = Callable[..., bytes]


@pytest.fixture
def begun(terminal: Callable[..., Terminal], clean_env: dict[str, str], kept: None, tmp_path: Path) -> Begun:
    """What the program has written to the terminal before its first import."""

    def start(**env: str) -> bytes:
        shown = terminal([sys.executable, "-c", BEGUN], env=clean_env | env, cwd=tmp_path)
        assert shown.wait_exit() == 0
        return bytes(shown.raw)

    return start


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"ACCESSIBLE": "1"}, {"TERM": "dumb"}])
def test_there_is_none_where_it_could_harm(begun: Begun, clean_env: dict[str, str], env: dict[str, str]) -> None:
    assert b"starting" in begun()
    keep_look(LOOK, clean_env | env)
    assert begun(**env) == b"begun\r\n"


@pytest.mark.parametrize("env", [{"TERM": "xterm"}, {"COLORTERM": ""}])
def test_there_is_none_where_the_colours_are_others(begun: Begun, env: dict[str, str]) -> None:
    assert b"starting" in begun()
    assert begun(**env) == b"begun\r\n"


@pytest.mark.parametrize(
    "settings",
    ["[screen]\nlinear = true\n", "screen.linear=true", "theme = 1\nscreen = { linear = true, mouse = false }"],
)
def test_there_is_none_where_the_settings_want_lines(begun: Begun, clean_env: dict[str, str], settings: str) -> None:
    file = Path(clean_env["XDG_CONFIG_HOME"], "oi-tui", "config.toml")
    file.parent.mkdir()
    for text in ("", "[screen]\nlinear = false\nmouse = true\n# linear = true\n"):
        file.write_text(text)
        assert b"starting" in begun()
    file.write_text(settings)
    assert begun() == b"begun\r\n"


def test_settings_that_cannot_be_read_are_not_waited_for(begun: Begun, clean_env: dict[str, str]) -> None:
    folder = Path(clean_env["XDG_CONFIG_HOME"], "oi-tui")
    folder.mkdir()
    os.mkfifo(folder / "config.toml")
    assert b"starting" in begun()


@pytest.mark.usefixtures("kept")
def test_it_is_gone_before_a_session_in_lines_that_a_profile_wants(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path, script: Script
) -> None:
    file = Path(clean_env["XDG_CONFIG_HOME"], "oi-tui", "profiles", "lines.toml")
    file.parent.mkdir(parents=True)
    file.write_text("[screen]\nlinear = true\n")
    shown = terminal([OI_TUI, *script.arguments, "--profile", "lines"], env=clean_env, cwd=tmp_path)
    shown.wait_raw(b"> ")
    seen, left, lines = bytes(shown.raw).partition(b"\x1b[?1049l")
    assert b"starting" in seen
    assert left
    assert b"\x1b[?1049h" not in lines
    shown.send("\x04")
    assert shown.wait_exit() == 0
    assert shown.faults == []


def test_a_look_is_kept_for_one_kind_of_terminal(tmp_path: Path) -> None:
    environ = {"TERM": "xterm-256color", "XDG_CACHE_HOME": str(tmp_path)}
    assert load_look(environ) is None
    keep_look(LOOK, environ)
    assert load_look(environ) == LOOK
    assert load_look(environ | {"TERM": "tmux"}) is None
    assert (tmp_path / "oi-tui" / "first-frame").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "\n", "48;5;16\n38;5;66", "48;5;16\n38;5;66m\x1b]0;t\x07\n1", "4\n5\n\n", "0\n1\n9999", "9" * 5_000, "é"],
)
def test_a_file_that_holds_anything_else_is_not_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    environ = {"TERM": "xterm", "XDG_CACHE_HOME": str(tmp_path)}
    keep_look(LOOK, environ)
    file = tmp_path / "oi-tui" / "first-frame"
    file.write_text(f"{file.read_text().splitlines()[0]}\n{text}")
    assert load_look(environ) is None


def test_commands_that_open_no_screen_are_known() -> None:
    names = set(program.list_commands(program.make_context("oi-tui", ["sessions"], resilient_parsing=True)))
    assert names - {"app"} == {word for word in WITHOUT_SCREEN if not word.startswith("-")}
    assert opens_screen([])
    assert opens_screen(["-m", "gpt", "what is this?"])
    assert not opens_screen(["-m", "gpt", "run", "it"])
