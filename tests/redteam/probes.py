"""A sandbox from inside and from outside: what `assault.py` does in there must change nothing here.

    python -m redteam.probes RUNG FOLDER KIND SEED SECONDS [ATTEMPT]

is run as whoever starts it, also as another user; it prints its tally as JSON.
"""

import asyncio
import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil
from redteam.assault import KNOWN
from redteam.attempts import Attack, Order, Tally

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from support.enclosure import SECRET, SECRETS, make_home, make_project, profile
from support.promises import BREACHES, broken_promises, unpromised
from support.runs import collect

ASSAULT = Path(__file__).with_name("assault.py")
BATCH = 1.5
"""Seconds of attempts between two looks from outside."""
MANY = 400
"""Attempts between two looks."""
ALONE = 25.0
"""Seconds for a batch that is repeated one by one."""

GUARDED = (".git", ".oi", ".vscode", ".mcp.json", ".envrc", ".venv", ".env", ".env.local", ".env.example", "sub/.env")


class Sentinels:
    """What must be the same afterwards: files, a process, listeners, settings of the system."""

    def __init__(self, base: Path, stack: ExitStack, *, weaker: bool) -> None:
        self.mark = f"oi-tui-{uuid.uuid4().hex[:12]}"
        self.home, self.out, self.work = make_home(base / "home"), base / "out", make_project(base / "work")
        self.out.mkdir()
        (self.out / "file").write_text("as it was")
        (self.home / ".bashrc").write_text("as it was")
        self.named = base / "named"
        self.weaker = weaker
        self.runtime = Path(os.environ["XDG_RUNTIME_DIR"])
        command = [sys.executable, "-S", "-c", "import time; time.sleep(3600)", SECRET]
        self.process = stack.enter_context(subprocess.Popen(command, env={"KEY": SECRET}, start_new_session=True))
        stack.callback(self.process.kill)
        self._listeners = [stack.enter_context(one) for one in self._listen()]
        self.ports = [one.getsockname()[1] for one in self._listeners if one.family != socket.AF_UNIX]

    def _listen(self) -> Iterator[socket.socket]:
        for address in ("127.0.0.1", "::1"):
            family = socket.AF_INET if "." in address else socket.AF_INET6
            with suppress(OSError):  # there may be no IPv6
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    made = socket.socket(family, kind)
                    made.bind((address, 0))
                    yield made
        for name in (str(self.named), "\0" + self.mark, f"{self.named}2", "\0" + self.mark + "2"):
            made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if name.endswith("2") else socket.SOCK_STREAM)
            made.bind(name)
            yield made

    def listen(self) -> None:
        """From now on somebody who knocks is heard."""
        for one in self._listeners:
            one.setblocking(False)
            if one.type == socket.SOCK_STREAM:
                one.listen()

    def facts(self) -> dict[str, Any]:
        """What the other side is told."""
        return {
            "home": str(self.home),
            "out": str(self.out),
            "work": str(self.work),
            "mark": self.mark,
            "pid": self.process.pid,
            "ports": self.ports,
            "named": str(self.named),
            "weaker": self.weaker,
            "secrets": SECRETS,
        }

    def state(self) -> dict[str, str]:
        """All that is watched, by name."""
        found = dict(self._files(self.home)) | dict(self._files(self.out))
        for name in () if self.weaker else GUARDED:
            found |= dict(self._files(self.work / name))
        for folder in ("/etc", "/usr/lib", "/run", "/tmp", "/var/tmp", sys.prefix):
            for ending in ("", ".pth"):
                found[f"{folder}/{self.mark}{ending}"] = str(os.path.lexists(f"{folder}/{self.mark}{ending}"))
        for name in ("hostname", "domainname", "core_pattern", "modprobe"):
            with suppress(OSError):
                found[f"/proc/sys/kernel/{name}"] = Path("/proc/sys/kernel", name).read_text()
        for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx"):
            found[f"/dev/{name}"] = f"{Path('/dev', name).stat().st_mode:o}"
        found["heard"] = ", ".join(self._heard())
        return found | self._of_process()

    def _files(self, top: Path) -> Iterator[tuple[str, str]]:
        for path in (top, *sorted(top.rglob("*"))):
            if not os.path.lexists(path):
                yield str(path), "not there"
                continue
            state = path.lstat()
            said = os.readlink(path) if path.is_symlink() else ""
            if path.is_file() and not path.is_symlink():
                said = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
            yield str(path), f"{stat.S_IFMT(state.st_mode):o} {state.st_nlink} {said}"
            if not self.weaker:
                more = "" if path.is_symlink() else ",".join(os.listxattr(path))
                owner = f"{state.st_uid}:{state.st_gid}"
                yield f"of {path}", f"{state.st_mode:o} {owner} {state.st_mtime_ns} {more}"

    def _heard(self) -> Iterator[str]:
        for one in self._listeners:
            with suppress(BlockingIOError):
                if one.type == socket.SOCK_STREAM:
                    one.accept()[0].close()
                else:
                    one.recv(10)
                yield repr(one.getsockname())

    def _of_process(self) -> dict[str, str]:
        try:
            seen = psutil.Process(self.process.pid)
            limits = [seen.rlimit(getattr(psutil, name)) for name in dir(psutil) if name.startswith("RLIMIT_")]
            values = (seen.nice(), seen.ionice(), seen.cpu_affinity(), limits)
            more = "" if self.weaker else f"{values} {os.sched_getscheduler(seen.pid)}"
            return {"process": f"{seen.status() == 'stopped'} {os.getpgid(seen.pid)} {more}"}
        except (psutil.Error, OSError) as error:
            return {"process": f"gone: {error!r} {self.process.poll()}"}

    def left(self) -> list[str]:
        """Processes in the workspace, and folders of sockets, when all should be over."""
        found = [str(path) for path in self.runtime.iterdir()]
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if Path(process.cwd()).is_relative_to(self.work):
                    found.append(f"process {process.pid} {process.cmdline()[:3]}")
        return found


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """What is another than before, in words."""
    names = sorted(before.keys() | after.keys())
    return [
        f"{name}: {before.get(name, 'not there')} -> {after.get(name, 'not there')}"
        for name in names
        if before.get(name) != after.get(name)
    ]


class Prober:
    """One kernel in one sandbox, and the sentinels around it."""

    def __init__(self, attack: Attack, rung: str, sentinels: Sentinels, **options: object) -> None:
        self._attack = attack
        self._sentinels = sentinels
        self._launch = Launch(cwd=sentinels.work, sandbox=profile(sentinels.work, sentinels.home, rung=rung, **options))
        self._kernel = JupyterKernel(self._launch)

    async def batch(self, first: int, count: int, seconds: float = BATCH) -> list[tuple[int, str, str]]:
        """Attempts from this number on; each with what it was, and what it got. A kernel that ended is made anew."""
        given = self._sentinels.facts() | {"seed": f"{self._attack.order.seed} {self._attack.order.kind}"}
        given |= {"first": first, "count": count, "seconds": seconds}
        source = (
            "import subprocess, sys\n"
            f"done = subprocess.run([sys.executable, '-I', '-c', {ASSAULT.read_text()!r}], input={json.dumps(given)!r},"
            " text=True, stdout=subprocess.PIPE)\nprint(done.stdout)"
        )
        try:
            run = await collect(self._kernel, source)
        except (KernelError, TimeoutError):
            await self.close()
            self._kernel = JupyterKernel(self._launch)
            return [(first, "the kernel was ended", "")]
        found = [json.loads(line) for line in run.text().splitlines() if line.startswith("[")]
        return [(one[0], one[1], one[2]) for one in found] or [(first, "it ended itself", "")]

    async def assault(self) -> None:
        """Batches until the time is over."""
        only, first = self._attack.order.only, 0
        before = self._sentinels.state()
        while True:
            found = await self.batch(first if only is None else only, MANY if only is None else 1)
            after = self._sentinels.state()
            self._attack.tally.attempts += len(found)
            for number, what, got in found:
                self._attack.count(what.partition(":")[0])
                if got.startswith(KNOWN):
                    self._attack.tally.known += 1
                    self._attack.count(got)
                elif got:
                    self._attack.through(number, f"{what}: {got}")
            if differences := changes(before, after):
                before = after
                culprit = "" if only is not None else await self._culprit(found[0][0], found[-1][0])
                number = int(culprit.partition(" ")[0]) if culprit else found[0][0]
                self._attack.through(number, f"{culprit or found[0][1]}; outside is changed: {'; '.join(differences)}")
                before = self._sentinels.state()
            if only is not None or self._attack.is_over:
                return
            first = found[-1][0] + 1

    async def _culprit(self, first: int, last: int) -> str:
        """Which of a batch did it, found by doing it again one by one."""
        loop = asyncio.get_running_loop()
        end = loop.time() + ALONE
        for number in range(first, last + 1):
            before = self._sentinels.state()
            found = await self.batch(number, 1)
            if changes(before, self._sentinels.state()):
                return f"{number} {found[0][1]}"
            if loop.time() > end:
                break
        return ""

    async def close(self) -> None:
        """End the kernel."""
        await self._kernel.close()


async def probe(order: Order, rung: str, folder: Path) -> Tally:
    """The promises one by one, then the generator; at the end nothing may be left."""
    attack = Attack(order)
    if order.only is None:
        broken = await broken_promises(rung, folder / "promises")
        attack.tally.attempts += len(BREACHES)
        attack.count("promises", len(BREACHES))
        for promise in sorted(broken - unpromised(rung)):
            attack.through(-1, f"a promise is broken: {promise}")
    with ExitStack() as stack:
        (folder / "scene").mkdir()
        sentinels = Sentinels(folder / "scene", stack, weaker=rung == "lock")
        sentinels.listen()
        prober = Prober(attack, rung, sentinels)
        try:
            await prober.assault()
        finally:
            await prober.close()
        for _ in range(100):
            if not (left := sentinels.left()):
                break
            await asyncio.sleep(0.05)  # nobody else tells
        if left:
            attack.through(-1, f"left at the end: {left}")
    return attack.tally


def main() -> None:
    """Print the tally."""
    rung, folder, kind, seed, seconds, *only = sys.argv[1:]
    runtime = Path(folder, "run")
    runtime.mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    order = Order(kind, seed, float(seconds), int(only[0]) if only else None)
    print(msgspec.json.encode(asyncio.run(probe(order, rung, Path(folder)))).decode())


if __name__ == "__main__":
    main()
