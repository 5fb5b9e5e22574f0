"""T1 to T3 at every sink: hostile text goes in wherever text comes from, and the raw output of the program is read.

Whatever is on the screen, the terminal was told nothing but what the grammar in `support/grammar.py` allows.
"""

import json
import re
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from oi_tui.app.engine.models.scripted import ScriptedAnswer
from support.grammar import violations
from support.hostile import CONTROLS, HOSTILE, MARKUP, STRINGS, assert_clean, hostile, leave
from support.openai_server import OpenAIServer, Turn
from support.question import wait_armed
from support.script import Script
from support.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel]

OI_TUI = str(Path(sys.executable).with_name("oi-tui"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a hostile name, and a hostile file in it."""
    work = tmp_path / f"work{HOSTILE.replace('/', '')}"[:200]
    work.mkdir()
    (work / f"file{CONTROLS.replace('/', '')}.txt"[:120]).write_text(HOSTILE)
    return work


@pytest.fixture
def start(
    terminal: Callable[..., Terminal], openai_server: OpenAIServer, clean_env: dict[str, str], folder: Path
) -> Iterator[Callable[..., Terminal]]:
    """Starts the program with a model of hostile name and waits until it can be typed into."""

    shells: list[Terminal] = []

    def started(*turns: Turn | str, model: Sequence[str] = (), arguments: tuple[str, ...] = ()) -> Terminal:
        openai_server.script(*turns)
        wired = ["-m", f"openai/m{HOSTILE}", "--api-base", openai_server.url, "--api-key", "x"]
        shown = terminal(
            [OI_TUI, *(model or wired), "--cwd", str(folder), *arguments],
            env=clean_env,
            cwd=folder,
            columns=120,
            rows=40,
            timeout=40,
        )
        shells.append(shown)
        shown.wait_for("Ask, or !shell")
        return shown

    yield started
    for shown in shells:
        assert_clean(shown)


def typed(shown: Terminal, text: str, seen: str | re.Pattern[str]) -> None:
    shown.send(text)
    shown.wait_for(seen)


def test_T1_T3_model_text_the_question_refusals_and_errors_of_the_server(start: Callable[..., Terminal]) -> None:
    code = f"print('''{hostile('code')}''')"
    shown = start(
        Turn(text=f"{hostile('prose')}\n\n```python\n{code}\n```\n", chunk=1),
        Turn(
            text=f"# {hostile('title')}\n\n- {hostile('item')}\n\n| a | {MARKUP} |\n|---|---|\n| {CONTROLS} | b |\n",
        ),
        Turn(status=400, error=hostile("error")),
    )
    shown.paste(f"go in-prompt {HOSTILE}")
    shown.send("\r")
    shown.send("\x1b[O")  # the window loses the focus: a person is called, in our words
    shown.wait_raw(b"\x1b[22;2t\x1b]2;oi-tui: approval needed\x1b\\")
    shown.send("\x1b[I")
    shown.wait_raw(b"\x1b]2;oi-tui\x1b\\\x1b[23;2t")
    wait_armed(shown)
    shown.wait_for("after-prose")
    shown.wait_for("after-code")
    shown.wait_for("<U+001B>")
    assert MARKUP in shown.screen
    typed(shown, "?", re.compile("hidden|asked|because", re.IGNORECASE))
    shown.send("?v")
    shown.send("v")
    wait_armed(shown)
    typed(shown, "e", "ctrl+s")
    shown.send("\x1b")
    wait_armed(shown)
    typed(shown, "n", "Refuse")
    shown.paste(f"reason {HOSTILE}")
    shown.wait_for("reason ]52")
    shown.send("\r")
    shown.wait_for("after-item")
    shown.wait_for("ctrl+p commands")
    shown.send("again\r")
    shown.wait_for("details · enter")
    typed(shown, "\t", re.compile(r"^▌.*refused the request", re.MULTILINE))
    typed(shown, "\r", "after-error")
    shown.send("\x1b")
    for command in ("nothing", "theme", "approve", "restart", "model"):
        shown.paste(f"/{command} {HOSTILE}")
        shown.send("\r")
    shown.send("\x1b[A")
    leave(shown)


OUTPUTS = """
import json, sys
from IPython.display import display
evil = json.loads({evil})
class Odd:
    def __repr__(self): return evil
Odd.__name__ = Odd.__qualname__ = evil.replace(chr(0), '')
odd, text, listed = Odd(), evil, [evil]
print(evil)
print(evil[:9], end='', flush=True)
sys.stderr.write('err ' + evil + '\\n')
kinds = 'text/plain text/html text/markdown text/latex image/svg+xml application/json'.split()
for kind in (*kinds, 'application/x-' + evil):
    display({{kind: [evil, {{evil: evil}}] if 'json' in kind else evil}}, raw=True)
linked = '<a href="http://x.test/' + evil + '">' + evil + '</a><table><tr><td>' + evil + '</td></tr></table>'
display({{'text/html': linked}}, raw=True)
answer = input(evil)
print('answered', answer)
raise type(Odd.__name__, (Exception,), {{}})(evil)
"""


@pytest.fixture
def leak() -> Iterator[socket.socket]:
    """Somebody who would like to be asked for a picture; nobody may connect."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_T1_T4_outputs_of_every_kind_and_the_screens_that_look_at_them(
    start: Callable[..., Terminal], leak: socket.socket, script: Script
) -> None:
    url = f"http://127.0.0.1:{leak.getsockname()[1]}/?leak=1"
    pictures = (
        f"![p]({url}) [good.test]({url}) <img src='{url}'> [local](file:///etc/passwd) [js](javascript:alert\\(1\\))"
    )
    evil = json.dumps(json.dumps(f"{HOSTILE}\n{pictures}\nafter-output"))
    script.write(f"Look {pictures}\n\n```python\n{OUTPUTS.format(evil=evil)}\n```\n", f"Done. {HOSTILE}\n\n{pictures}")
    shown = start(model=script.arguments, arguments=("-y",))
    shown.send("go\r")
    shown.wait_for("The code is waiting for input")
    wait_armed(shown, "enter send to the code")
    shown.send("an answer")
    shown.wait_for(re.compile("^ an answer", re.MULTILINE))
    shown.send("\r")
    shown.wait_for("Done.")
    shown.wait_for("ctrl+p commands")
    shown.wait_for(f"good.test ({url}")  # where it really leads
    typed(shown, "\x1bOQ", "Variables  python · 9")
    typed(shown, "\t", re.compile("^▌", re.MULTILINE))
    typed(shown, "/", re.compile("^ */ *", re.MULTILINE))
    shown.paste(f"sought \x05\x0e\x7f\u202e{CONTROLS}")
    shown.wait_for("/ sought")
    shown.send("\r\x1b")
    shown.wait_gone("/ sought")
    typed(shown, "v", "wrap")  # the answer on the whole screen
    shown.send("\x1b")
    shown.wait_gone("wrap")
    typed(shown, "s", "Save")  # its file
    shown.paste("\x05\x0e\x7f\x9b2J\u202esaved")
    shown.wait_for("saved")
    shown.send("\r\x1b")
    shown.wait_for("Ask, or !shell")
    leave(shown)


def test_T1_what_the_commands_print(
    terminal: Callable[..., Terminal],
    openai_server: OpenAIServer,
    script: Script,
    clean_env: dict[str, str],
    folder: Path,
) -> None:
    settings = Path(clean_env["XDG_CONFIG_HOME"], "oi-tui", "config.toml")
    settings.parent.mkdir(parents=True, exist_ok=True)
    script.write(
        ScriptedAnswer(text=f"{hostile('prose')}\n\n```python\nprint({hostile('code')!r})\n```\n", chunk=1),
        ScriptedAnswer(text=hostile("answer"), chunk=1),
    )
    openai_server.script(Turn(status=400, error=hostile("error")))
    model = ["-m", f"openai/m{HOSTILE}", "--api-base", openai_server.url, "--api-key", "x", "--cwd", str(folder)]
    key = '"' + "".join(f"\\U{ord(character):08X}" for character in f"k{HOSTILE}") + '"'
    for argv, seen in (
        ([*script.arguments, "--cwd", str(folder), "run", "-y", f"go {HOSTILE}"], "after-answer"),
        ([*model, "run", "-y", "again"], "refused the request"),
        (["sessions"], "go li"),
        ([f"--no{HOSTILE}"], "No such option"),
        (["models", "list", HOSTILE], "[bold]"),
        (["--profile", HOSTILE], "[bold]"),
        (model, "[bold]"),
    ):
        if argv is model:
            settings.write_text(f"[screen]\n{key} = {key}\n")
        shown = terminal([OI_TUI, *argv], env=clean_env, cwd=folder, columns=120, rows=40, timeout=40)
        shown.wait_exit()
        assert seen in shown.screen.replace("\n", ""), argv
        assert_clean(shown)


@pytest.mark.parametrize("sequence", re.findall("\x1b[^\x1b]*|[^\x1b]", STRINGS + CONTROLS.partition("\x9b")[0]))
def test_the_grammar_knows_what_is_hostile(sequence: str) -> None:
    if sequence != "\x1b\\":
        assert violations(f"plain {sequence} text".encode(), 80, 24) != []
    assert violations("plain ⊘ text\x1b[1;38;2;1;2;3m\x1b[24;80H\r\n".encode(), 80, 24) == []
