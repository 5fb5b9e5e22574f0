"""Runs in a terminal of a Jupyter server, where no file is shared with us: only sent as text, never imported by us.

It runs a bash on a pseudo-terminal of its own, with the same pipes as the local shell, and carries their data over the
server's terminal in numbered frames: a lost connection loses nothing, and what others write on that terminal is
ignored. Python 3.9 and its standard library must be enough.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from typing import Any

from oi_tui.app.engine.kernels.in_terminal_line import (  # left out of the text that is sent
    LOOK,
    CtrlC,
    Head,
    Link,
    foreground_group,
    prepare_terminal,
    shows_input,
)

PIECE = 24_000
"""Bytes of one frame."""

WINDOW = 400_000
"""Characters on their way that nobody has acknowledged; beyond that nothing is read, and who writes has to wait."""

FIFO_ROOM = 1_048_576
"""Bytes that one pipe can hold at most."""

PATIENCE = 600.0
"""Seconds of silence after which nobody is expected to reconnect: everything ends."""


class TerminalAgent:
    """The bash, its terminal and its pipes on the server, controlled by frames."""

    def __init__(self, mark: str) -> None:
        self._link = Link(mark, self._write, self._follow)
        self._unwritten = bytearray()
        self._folder = ""
        self._pid = 0
        self._terminal = self._commands = self._ends = -1
        self._modes: list[Any] = []
        self._run_line = ""
        self._outputs: dict[int, tuple[int, str]] = {}
        """What bash and its jobs write to: run (0: of nobody any more, -1: of each) and name, by descriptor."""
        self._keepers: list[int] = []
        """Our own writing ends of the outputs of the run."""
        self._source = b""
        self._number = 0
        """Of the current run, 0 without one."""
        self._press: CtrlC | None = None
        self._next_look = 0.0
        self._shows_input = True
        self._heard = time.monotonic()
        self._over = False

    def serve(self) -> None:
        """Serve until asked to end, or until the connection is silent."""
        for name in ("SIGHUP", "SIGTERM"):
            signal.signal(getattr(signal, name), _leave)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans become ours, so that they can be found
        os.set_blocking(0, False)
        try:
            self._link.put({"say": "here"})
            while not self._over and time.monotonic() - self._heard < PATIENCE:
                self._take_turn()
        finally:
            for name in ("SIGHUP", "SIGTERM"):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
            self._end_all()

    def _take_turn(self) -> None:
        readable = [0] + ([self._ends] if self._ends >= 0 else [])
        room = self._link.in_flight < WINDOW
        readable += [fd for fd, (number, _) in self._outputs.items() if room or not number]
        busy = self._number or self._press
        ready, _, _ = select.select(readable, [1] if self._unwritten else [], [], LOOK if busy else 1.0)
        if 0 in ready:
            self._listen()
        for fd in ready:
            if fd in self._outputs:
                self._carry(fd)
        if self._ends in ready and self._ends >= 0:
            said = os.read(self._ends, PIECE)
            self._drain()
            self._link.put({"say": "ends"}, said)
        self._flush()
        self._look()

    def _look(self) -> None:
        here, now = self._terminal >= 0, time.monotonic()
        if here and self._press is not None and now >= self._next_look:
            self._next_look = now + LOOK
            if self._press.look(foreground_group(self._terminal)):
                self._type(b"\x03")
        if here and self._number and (shown := shows_input(self._terminal)) != self._shows_input:
            self._shows_input = shown
            self._link.put({"say": "echo", "on": shown})
        if self._pid:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._pid, leader = 0, pid
                self._drain()
                code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
                self._link.put({"say": "ended", "code": code})
                _end_processes(leader)

    # -- the line ------------------------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        self._unwritten += text.encode()

    def _flush(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._unwritten:
                del self._unwritten[: os.write(1, self._unwritten[:4096])]

    def _listen(self) -> None:
        try:
            data = os.read(0, 65_536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._over = True
            return
        self._heard = time.monotonic()
        self._link.feed(data.decode("ascii", "replace"))

    def _follow(self, head: Head, body: bytes) -> None:
        """Do what one frame says."""
        wish = head.get("do")
        if wish == "start":
            try:
                self._start(head)
            except (OSError, ValueError) as error:
                self._link.put({"say": "failed", "why": str(error)})
        elif wish == "source":
            self._source += body
        elif wish == "run":
            self._begin(int(head["number"]))
        elif wish == "finish":
            self._finish()
        elif wish == "type":
            self._type(body)
        elif wish == "ctrl-c":
            self._press = CtrlC()
        elif wish == "kill":
            self._kill_foreground()
        elif wish == "close":
            self._over = True

    # -- the shell -----------------------------------------------------------------------------------------

    def _start(self, head: Head) -> None:
        argv = head["argv"]
        if shutil.which(argv[0]) is None:
            raise ValueError(f"{argv[0]} is not installed there")
        self._folder = tempfile.mkdtemp(prefix="oi-tui-")
        ends, commands, rc = (os.path.join(self._folder, name) for name in ("ends", "commands", "rc"))
        with open(rc, "w", encoding="utf-8") as file:
            file.write(head["rc"].format(ends=shlex.quote(ends), activate=""))
        self._run_line = head["run"]
        os.mkfifo(ends, 0o600)
        os.mkfifo(commands, 0o600)
        self._ends = os.open(ends, os.O_RDWR | os.O_NONBLOCK)
        self._commands = os.open(commands, os.O_RDWR | os.O_NONBLOCK)
        self._terminal, inner = os.openpty()
        self._modes = prepare_terminal(inner)
        os.set_blocking(self._terminal, False)
        self._pid = os.fork()
        if not self._pid:
            self._become_bash(inner, commands, [*argv, rc, "-i"])
        os.close(inner)
        self._outputs[self._terminal] = (-1, "terminal")

    def _become_bash(self, inner: int, commands: str, argv: list[str]) -> None:
        """In the child: never returns."""
        try:
            os.setsid()
            fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
            os.dup2(os.open(commands, os.O_RDONLY), 0)
            os.dup2(inner, 1)
            os.dup2(inner, 2)
            os.closerange(3, 256)
            for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            hidden = ("COLUMNS", "LINES")
            variables = {name: value for name, value in os.environ.items() if name not in hidden}
            os.execvpe(argv[0], argv, {**variables, "TERM": "dumb"})
        finally:
            os._exit(127)

    def _begin(self, number: int) -> None:
        source, self._source = self._source, b""
        self._drain()  # what still came of the run before is not for this one
        self._number = number
        paths = {name: os.path.join(self._folder, str(number) + end) for name, end in _ENDINGS.items()}
        with open(paths["file"], "wb") as file:
            file.write(source)
        for name in ("out", "err"):
            os.mkfifo(paths[name], 0o600)
            reading = os.open(paths[name], os.O_RDONLY | os.O_NONBLOCK)
            self._outputs[reading] = (number, name)
            self._keepers.append(os.open(paths[name], os.O_WRONLY | os.O_NONBLOCK))
        # Flushes as well: an answer that came too late is not for this run.
        termios.tcsetattr(self._terminal, termios.TCSAFLUSH, self._modes)
        self._shows_input = True
        quoted = {name: shlex.quote(path) for name, path in paths.items()}
        os.write(self._commands, self._run_line.format(number=number, **quoted).encode())

    def _finish(self) -> None:
        """The run is over: what its jobs write from now on belongs to nobody, but is read, or they would stop."""
        number, self._number, self._press = self._number, 0, None
        self._outputs.update({fd: (0, name) for fd, (of, name) in self._outputs.items() if of == number})
        while self._keepers:
            os.close(self._keepers.pop())
        for end in _ENDINGS.values():
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, str(number) + end))

    def _carry(self, fd: int) -> bool:
        """One piece of what an output has; whether there was any."""
        number, name = self._outputs[fd]
        try:
            data = os.read(fd, PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            del self._outputs[fd]
            if fd == self._terminal:
                self._terminal = -1
            os.close(fd)
            return False
        if number:
            self._link.put({"say": name, "number": self._number if number < 0 else number}, data)
        return True

    def _drain(self) -> None:
        for fd in list(self._outputs):
            for _ in range(FIFO_ROOM // PIECE):
                if fd not in self._outputs or not self._carry(fd):
                    break

    def _type(self, data: bytes) -> None:
        # The terminal does not block: a program that never reads its input must not stop us.
        if self._terminal >= 0:
            with contextlib.suppress(OSError):
                os.write(self._terminal, data)

    def _kill_foreground(self) -> None:
        group = foreground_group(self._terminal) if self._terminal >= 0 else 0
        if group not in (0, self._pid):
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)

    def _end_all(self) -> None:
        _end_processes(self._pid)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


_ENDINGS = {"file": "", "out": ".out", "err": ".err"}
"""Of the files of one run."""


def _leave(number: int, frame: object) -> None:
    sys.exit(0)


def _end_processes(leader: int) -> None:
    """Kill the session of the shell, and all that descends from us."""
    for _ in range(5):
        parents = _parents()
        doomed = {pid for pid in parents if leader and _session(pid) == leader}
        wave = {os.getpid()}
        while wave:
            wave = {pid for pid, parent in parents.items() if parent in wave and pid not in doomed}
            doomed |= wave
        doomed -= {os.getpid()}
        for pid in doomed:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not doomed:
            return


def _session(pid: int) -> int:
    with contextlib.suppress(OSError):
        return os.getsid(pid)
    return 0


def _parents() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    if os.path.isdir("/proc/self"):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                    if state != b"Z":
                        found[int(name)] = int(parent)
        return found
    with contextlib.suppress(OSError):
        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, check=False).stdout
        for line in listing.splitlines():
            pid, parent = line.split()
            found[int(pid)] = int(parent)
    return found
