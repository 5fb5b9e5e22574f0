"""The programs that are compared, as they are started in a terminal."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from support.terminal import Terminal, clean_env

HERE = Path(__file__).parent
OI_TUI = Path(sys.executable).with_name("oi-tui")
BARE = (sys.executable, str(HERE / "bare_app.py"))
READY = "Ask"
"""Both show this in their empty text area: the first frame is there."""


def oi_tui(url: str, cwd: Path) -> tuple[str, ...]:
    """Our command, asking the server at `url`."""
    model = ("-m", "openai/scripted", "--api-base", url, "--api-key", "none")
    return (str(OI_TUI), *model, "--cwd", str(cwd))


@contextmanager
def scripted_server(*turns: object) -> Iterator[str]:
    """The URL of a model server in a process of its own, so that its work is not in what is measured."""
    with TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps(turns), encoding="utf-8")
        command = [sys.executable, str(HERE.parent / "support" / "openai_server.py"), "--script", str(script)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip()
            finally:
                server.terminate()


@contextmanager
def shown(argv: Sequence[str], *, columns: int = 120, rows: int = 40) -> Iterator[Terminal]:
    """The program in a terminal and a home of its own."""
    with TemporaryDirectory() as home, ExitStack() as stack:
        env = clean_env(Path(home))
        yield stack.enter_context(Terminal(argv, env=env, cwd=home, columns=columns, rows=rows, timeout=60))
