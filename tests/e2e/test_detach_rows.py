"""Row V14 through the installed program: real terminals that are hung up, a real kernel, and coming back.

The check hangs up five times at random moments of a run; `make soak` fifty times. The seed is printed.
"""

import asyncio
import fcntl
import hashlib
import os
import pty
import random
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import psutil
import pytest

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import TurnEnded
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.verbs import Open, Submit
from oi_tui.app.engine.files.engine_sockets import connect_engine, engine_folder, peer_of
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.models.scripted import ScriptedAnswer
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.frontend.attaching import AttachedClient, LiveSession, live_sessions, stop_engine
from oi_tui.app.frontend.client import ProcessClient
from support.enclosure import UNENCLOSED
from support.front import Front
from support.script import Script
from support.terminal import RUN_ON_TTY, Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel, pytest.mark.timeout(540)]

HANG_UPS = int(os.environ.get("OI_TUI_SOAK_HANG_UPS", "5"))
SEED = int(os.environ.get("OI_TUI_SOAK_SEED", "20261123"))
IN_A_RUN = 5
"""Hang-ups of one run: that of the terminal, and those of front ends that came back meanwhile."""

ANSWERS = (
    ScriptedAnswer(
        text="I count, slowly.\n```python\nimport time\nfor n in range(20):\n"
        "    print('tick', n, flush=True)\n    time.sleep(0.1)\n```",
        pace=120,
    ),
    "And once more.\n```python\nn * 2\n```",
    ScriptedAnswer(text="The last tick was 19, and twice that is 38. " * 3, pace=200),
)
LONGEST = 2.5
"""Seconds after which a front end is hung up at the latest; a run takes about four."""


def digest(blocks: Sequence[Block]) -> str:
    """Of all that is shown, but for what is another in each run: ids (also of what a run used) and times."""
    values = msgspec.to_builtins(list(blocks))
    for number, value in enumerate(values):
        value["id"] = number
        value.pop("duration", None)
        value.pop("inputs", None)
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


@pytest.fixture(autouse=True)
def home(clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The environment of a person who came over SSH, for programs and for this process."""
    clean_env["SSH_CONNECTION"] = "192.0.2.1 50000 192.0.2.2 22"
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in clean_env.items():
        monkeypatch.setenv(name, value)
    yield clean_env
    for live in live_sessions():  # where the test failed: it would go on for hours
        stop_engine(live)


@pytest.fixture
def hung_up(
    script: Script, command: list[str], home: dict[str, str], folder: Path
) -> Iterator[Callable[[float], None]]:
    """Starts the program in a terminal, with a prompt, and hangs up after so many seconds of its run."""
    started: list[subprocess.Popen[bytes]] = []

    def begin_and_hang_up(seconds: float) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        argv = ["/bin/sh", "-c", RUN_ON_TTY, "sh", os.ttyname(slave), *command, "--yes", "count"]
        process = subprocess.Popen(argv, env=home, cwd=folder, start_new_session=True)
        started.append(process)
        read, asked = b"", script.path.with_name("script.requests")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([master], [], [], 0.05)[0]:
                read += os.read(master, 65536)
            if slave >= 0 and b"count" in read and asked.stat().st_size:
                os.close(slave)  # it is the program's alone from here on
                slave, end = -1, time.monotonic() + seconds
        assert slave < 0, "the model was not asked"
        os.close(master)
        process.wait(30)  # what it ends with, nobody sees

    yield begin_and_hang_up
    for process in started:
        process.kill()
        process.wait()


def only_live() -> LiveSession:
    """The one session that is detached, once it is."""
    for _ in range(1_000):
        if found := live_sessions():
            assert len(found) == 1
            return found[0]
        time.sleep(0.02)
    raise AssertionError("nothing is detached")


async def look_in(live: LiveSession, seconds: float) -> Front:
    """Attach, follow for so long or to the end of the turn, and lose the line."""
    client = await AttachedClient.attach(live, take_over=False, outlives=True)
    front = Front(client)
    await client.send(Open(session_id=live.session_id))
    try:
        async with asyncio.timeout(seconds):
            await front.until_event(TurnEnded)
    except TimeoutError:
        pass
    client._writer.transport.abort()
    client._is_left = True
    await client.close()
    return front


async def undisturbed(script: Script, folder: Path) -> str:
    """The digest of a run in which nothing is lost."""
    settings = Settings(model=ModelSection(name=script.name), loop=LoopSection(approve="auto"), sandbox=UNENCLOSED)
    client = await ProcessClient.start(Configure(settings=settings, cwd=str(folder)), log=folder.parent / "engine.log")
    front = Front(client)
    await client.send(Open())
    await client.send(Submit(text="count"))
    await front.until_event(TurnEnded)
    await client.close()
    return digest(front.transcript.blocks)


def test_V14_lines_lost_at_random_moments_cost_nothing_and_attach_shows_all_of_it(
    script: Script,
    folder: Path,
    hung_up: Callable[[float], None],
    terminal: Callable[..., Terminal],
    command: list[str],
    home: dict[str, str],
) -> None:
    chance = random.Random(SEED)
    script.write(*ANSWERS)
    expected = asyncio.run(undisturbed(script, folder))
    runs = -(-HANG_UPS // IN_A_RUN)
    for number in range(runs):
        script.write(*ANSWERS)
        script.path.with_name("script.requests").write_bytes(b"")
        hung_up(chance.uniform(0, LONGEST))
        live = only_live()
        for _ in range(IN_A_RUN - 1):
            asyncio.run(look_in(live, chance.uniform(0, LONGEST / 2)))
        front = asyncio.run(look_in(live, 60))
        assert digest(front.transcript.blocks) == expected, front.transcript.blocks
        line = connect_engine(live.path)
        assert line is not None
        engine = psutil.Process(peer_of(line).pid)
        line.close()
        family = [engine, *engine.children(recursive=True)]
        assert len(family) > 1, "the kernel lives"
        if number < runs - 1:
            engine.terminate()
        else:
            attach_and_be_killed(terminal, [command[0], "attach"], home, folder, engine)
        _, alive = psutil.wait_procs(family, 20)
        assert alive == []
        becomes_empty(engine_folder())
        assert [path for path in Path(home["XDG_RUNTIME_DIR"]).iterdir() if path.name.startswith("oi-tui")] == []
        with closing(Store(Path(home["XDG_DATA_HOME"]) / "oi-tui" / "sessions.db")) as store:
            assert digest(fold_events(store.load(live.session_id)).blocks) == expected
    print(f"V14: {runs * IN_A_RUN} lines lost at random moments of {runs} runs (seed {SEED}); `make soak` loses 50")


def attach_and_be_killed(
    terminal: Callable[..., Terminal], command: list[str], home: dict[str, str], folder: Path, engine: psutil.Process
) -> None:
    """A person comes back, reads, leaves again, and then the engine is killed."""
    shown = terminal(command, env=home, cwd=folder, timeout=30)
    shown.wait_for("twice that is 38")
    shown.send("/detach\r")
    shown.wait_for("Reconnect with: oi-tui attach")
    assert shown.wait_exit() == 0
    engine.send_signal(signal.SIGHUP)  # nothing to it
    os.kill(engine.pid, signal.SIGKILL)


def becomes_empty(folder: Path) -> None:
    """A moment after its engine was killed, its socket is gone."""
    for _ in range(500):
        if not list(folder.iterdir()):
            return
        time.sleep(0.02)
    raise AssertionError(list(folder.iterdir()))
