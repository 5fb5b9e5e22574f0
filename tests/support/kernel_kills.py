"""Kernels whose start is interrupted at any moment by killing any process, and whatever remains of them."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.kernels.spec import KernelSpec
from oi_tui.app.engine.sandbox.profile import Profile
from support.enclosure import make_home, processes_with, profile

LONGEST = 0.7
"""Seconds that a start may take on a busy machine."""

LIMIT = 10.0
"""Seconds in which everything must be gone; on an idle machine it takes a tenth."""

ENGINE = """
import asyncio, sys
from pathlib import Path
from support.enclosure import profile
from support.kernel_kills import marked_kernel
async def main(work, home, rung, language, mark):
    made = marked_kernel(profile(Path(work), Path(home), rung=rung), language, mark)
    print("now", flush=True)
    await made.start()
    print("started", flush=True)
    await asyncio.sleep(600)
asyncio.run(main(*sys.argv[1:]))
"""


def marked_kernel(sandbox: Profile, language: str, mark: str) -> JupyterKernel | ShellKernel:
    """One whose processes have the mark on their command line, or the folder that is named so."""
    launch = Launch(cwd=sandbox.workspace, sandbox=sandbox)
    if language == "shell":
        return ShellKernel(launch)
    argv = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", f"--Session.username={mark}")
    return JupyterKernel(launch, spec=KernelSpec(name="python", argv=argv, env={}, signals=True))


class StartScene:
    """A folder to work in, and one for sockets, both of this test alone."""

    def __init__(self, base: Path, runtime: Path, rung: str) -> None:
        """`runtime` is where kernels make their folders: $XDG_RUNTIME_DIR while this is used."""
        self.mark = f"oi-tui-kill-{uuid.uuid4().hex[:12]}"
        self.runtime = runtime
        self.work, home = base / self.mark, make_home(base / "home")
        self.work.mkdir()
        self.profile = profile(self.work, home, rung=rung)
        self.slowest = 0.0
        """Seconds that it took at most until all was gone."""

    def left(self) -> list[str]:
        """All that is there of a sandbox."""
        processes = [f"process {pid}" for pid in self.processes()]
        return [*processes, *(str(path) for folder in (self.work, self.runtime) for path in folder.iterdir())]

    def processes(self) -> set[int]:
        """Of a sandbox: by the command line, or the folder that they are in."""
        found = set(processes_with(self.mark))
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if Path(process.cwd()).name == self.mark:
                    found.add(process.pid)
        return found

    async def becomes_empty(self, after: str) -> None:
        """Wait until nothing is left."""
        begun = time.monotonic()
        while left := self.left():
            await asyncio.sleep(0.02)
            if time.monotonic() - begun > LIMIT:
                for pid in self.processes():
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                raise AssertionError(f"left {after}: {left}")
        self.slowest = max(self.slowest, time.monotonic() - begun)


@contextmanager
def busy_machine(loops: int = 3) -> Iterator[None]:
    """This many busy loops in other processes."""
    running = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()


async def kill_engine(scene: StartScene, language: str, delay: float) -> None:
    """The program that starts it is killed."""
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    given = (scene.work, scene.profile.home, scene.profile.rung, language, scene.mark)
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ENGINE, *map(str, given), env=env, cwd="/", stdout=subprocess.PIPE
    )
    assert victim.stdout is not None
    assert await victim.stdout.readline() == b"now\n"
    await asyncio.sleep(delay)  # the moment is what this is about
    victim.kill()
    await victim.communicate()


async def cancel_start(scene: StartScene, language: str, delay: float) -> None:
    """Who waits for the start gives up."""
    made = marked_kernel(scene.profile, language, scene.mark)
    starting = asyncio.create_task(made.start())
    await asyncio.sleep(delay)
    starting.cancel()
    await asyncio.wait([starting])
    await made.close()
    if not starting.cancelled():
        starting.exception()


async def kill_first(scene: StartScene, language: str, delay: float) -> None:
    """The process that is started is killed."""
    made = marked_kernel(scene.profile, language, scene.mark)
    starting = asyncio.create_task(made.start())
    await asyncio.sleep(delay)
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if Path(child.cwd()).name == scene.mark:
                child.kill()
    with suppress(KernelError):
        await starting
    await made.close()


async def kill_a_start(scene: StartScene, number: int, seed: int) -> None:
    """Interrupt the start of a kernel; AssertionError if anything remains of it."""
    chance = random.Random(f"{seed} {number}")
    way, language = (kill_engine, cancel_start, kill_first)[number % 3], chance.choice(["python", "shell"])
    delay = chance.random() * (LONGEST if language == "python" else LONGEST / 3)
    await way(scene, language, delay)
    await scene.becomes_empty(f"after {way.__name__} of a {language} kernel {delay:.3f} s after its start")
