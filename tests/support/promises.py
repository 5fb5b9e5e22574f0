"""What a sandbox promises, each with what code does that breaks it: the table in the sandbox's README is made so."""

import asyncio
import json
import os
import re
import socket
import sys
import uuid
from contextlib import ExitStack
from pathlib import Path

from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.sandbox.guarding import guard_obstacle
from oi_tui.app.engine.sandbox.rungs import LADDER
from support.enclosure import make_home, make_project, processes_with, profile
from support.runs import collect
from support.unprivileged import ROOT

BREACHES = {
    "S1 nothing is written outside": "open(OUT + '/x', 'w')",
    "S1 nothing is written in the machine's /tmp": "open('/tmp/' + MARK, 'w').close(); seen('/tmp/' + MARK)",
    "S1 the mode of what is outside cannot be changed": "os.chmod(OUT, 0o700)",
    "S2 secrets of the home folder cannot be read": "open(HOME + '/.ssh/id_rsa')",
    "S2 the home folder cannot be listed": "'.ssh' in os.listdir(HOME) or stop()",
    "S2 that a secret is there cannot be seen": "os.stat(HOME + '/.ssh/id_rsa')",
    "S4 `.git` cannot be written": "open('.git/config', 'a')",
    "S5 `.git` cannot be moved": "os.rename('.git', 'gone'); os.rename('gone', '.git')",
    "S6 what is guarded and missing cannot be made": "os.mkdir('.vscode'); os.rmdir('.vscode')",
    "S7 links lead nowhere": "os.symlink(HOME + '/.ssh/id_rsa', MARK); open(MARK)",
    "S7 nothing outside can be linked to": "os.link(HOME + '/.ssh/id_rsa', MARK + '2')",
    "S9 `.env` of the folder cannot be read": "open('.env')",
    "S10 scratch files have an end": "open(tempfile.gettempdir() + '/full', 'wb').write(bytes(30_000_000))",
    "S11 there are no capabilities": "int(field('CapEff'), 16) or stop()",
    "S12 no device can be made": "os.mknod('disk', 0o60600, os.makedev(8, 0))",
    "S12 the mode of a device cannot be changed": "os.statvfs('/dev/null').f_flag & os.ST_RDONLY and stop()",
    "S12 nothing can be mounted": "call('mount', b'none', b'/tmp', b'tmpfs', 0, None)",
    "S13 the environment of other processes cannot be read": "open(f'/proc/{PID}/environ', 'rb').read(1)",
    "S13 the command line of other processes cannot be read": "open(f'/proc/{PID}/cmdline', 'rb').read(1)",
    "S14 no other process can be looked into": "open(f'/proc/{PID}/mem', 'rb')",
    "S15 sockets with a path are out of reach": "socket.socket(socket.AF_UNIX).connect(NAMED)",
    "S15 sockets without a path are out of reach": "socket.socket(socket.AF_UNIX).connect('\\0' + MARK)",
    "S16 ports of the machine are out of reach": "socket.create_connection(('127.0.0.1', PORT), 1)",
    "S16 nothing is sent by UDP": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT)); heard()",
    "S16 packets cannot be made by hand": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "S17 no other process can be traced": "call('ptrace', 0x4206, PID, 0, 0)",
    "S17 no namespace can be made": "call('unshare', 0x10000000)",
    "S17 other processes cannot be signalled": "os.kill(PID, 0)",
    "S18 what was detached ends with the kernel": "",
    "S24 no setting of the system can be opened": "os.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY))",
    "S24 no pressure file can be opened": "os.close(os.open('/proc/pressure/memory', os.O_WRONLY))",
    "S27 the shell is held as well": "",
}
"""The promise, with its row, and a statement that raises OSError if it is kept."""

PROGRAM = """
import ctypes, json, os, socket, tempfile
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *given):
    if getattr(libc, name)(*given) < 0: raise OSError(ctypes.get_errno(), name)
def stop(): raise OSError(0, "it is not so")
def field(name): return next(line.split()[1] for line in open("/proc/self/status") if line.startswith(name))
def seen(path): seen_files.append(path)
def heard(): sent.append(1)
seen_files, sent, broken = [], [], []
for promise, statement in BREACHES.items():
    try:
        exec(statement)
        broken.append(promise)
    except OSError: pass
print(json.dumps(broken))
"""


LINUX_RUNGS = [rung for rung in LADDER if rung.name != "seatbelt"]
"""Those that these tests can try; the other one is macOS'."""


def promise_table() -> dict[str, dict[str, bool]]:
    """Of the sandbox's README: rung, promise, and whether it is kept."""
    text = (ROOT / "app" / "engine" / "sandbox" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (S\d+ .+?) \| (.+?) \| (.+?) \| (.+?) \| .+? \|$", text, re.MULTILINE)
    words = {"kept": True, "**not kept**": False}
    return {rung.name: {row[0]: words[row[number]] for row in rows} for number, rung in enumerate(LINUX_RUNGS, 1)}


def unpromised(rung: str) -> set[str]:
    """What this rung does not promise; where the system allows no guard, names are not guarded, as the README says."""
    unguarded = bool(guard_obstacle())
    return {name for name, kept in promise_table()[rung].items() if not kept or (unguarded and name.startswith("S6 "))}


async def broken_promises(rung: str, base: Path) -> set[str]:
    """Those that code in this kind of sandbox breaks."""
    home, out, mark = make_home(base / "home"), base / "out", f"oi-tui-{uuid.uuid4().hex[:12]}"
    work = make_project(base / "work")
    (work / ".vscode").rmdir()
    out.mkdir()
    chosen = profile(work, home, rung=rung)
    launch = Launch(cwd=work, sandbox=chosen)
    with ExitStack() as stack:
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        datagrams = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", port))
        datagrams.setblocking(False)
        for address in ("\0" + mark, str(base / "named")):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        known = {"HOME": str(home), "OUT": str(out), "MARK": mark, "PID": os.getpid(), "PORT": port}
        known |= {"NAMED": str(base / "named"), "BREACHES": {name: what for name, what in BREACHES.items() if what}}
        kernel = JupyterKernel(launch)
        try:
            run = await collect(kernel, f"globals().update({known!r})\n{PROGRAM}")
            assert run.finished.status == "ok", run.events
            found = set(json.loads(run.text()))
            detached = f"setsid bash -c 'exec -a {mark} sleep 600' >/dev/null 2>&1 &"
            await collect(kernel, f"import os; os.system({detached!r})")
            await until(lambda: bool(processes_with(mark)))
        finally:
            await kernel.close()
        try:
            heard = bool(datagrams.recv(1))
        except BlockingIOError:
            heard = False
    if processes_with(mark):
        found.add("S18 what was detached ends with the kernel")
    # Where it went is what counts: into memory, and to nobody.
    if not os.path.lexists(f"/tmp/{mark}"):
        found.discard("S1 nothing is written in the machine's /tmp")
    if not heard:
        found.discard("S16 nothing is sent by UDP")
    if await shell_breaks_out(ShellKernel(launch), home, out):
        found.add("S27 the shell is held as well")
    return found


async def shell_breaks_out(shell: Kernel, home: Path, out: Path) -> bool:
    """Whether a shell gets at what is outside."""
    try:
        run = await collect(shell, f"cat {home}/.ssh/id_rsa; echo x >{out}/shell; echo $((40 + 2))")
        assert run.text().endswith("42\n"), run.events
        return run.text() != "42\n" or (out / "shell").exists()
    finally:
        await shell.close()


async def until(condition: object) -> None:
    """Wait for what nobody tells."""
    assert callable(condition)
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # nobody else tells
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    print(json.dumps(sorted(asyncio.run(broken_promises(sys.argv[1], Path(sys.argv[2]))))))
