"""An engine that is forked from the screen's process before Textual is imported, and waits for its front end.

The modules that both processes need are loaded by then, a third of the engine's: no second interpreter starts, and
nothing is imported twice. It does nothing until the first frame is drawn; then it loads the rest, and serves when the
front end asks for an engine. It exits with a front end that never asks. If the fork fails or the process has exited,
`ProcessClient` starts an engine as usual.
"""

import asyncio  # noqa: F401 - not used here: the screen and the engine both need it, and it is loaded once for both
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import NoReturn

NAME = "oi-tui engine"
"""Of the process, where its command line is the screen's; Linux takes 15 bytes."""

_LOAD, _SERVE = b"l", b"s"
"""What the front end asks for by a byte; with the second comes the log."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Those for which the screen has handlers."""

Serve = Callable[[int], None]
"""Serves the front end at the other end of this socket, and ends the process."""


class ForkedProcess:
    """A child that runs no program of its own, with the methods that are needed of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        """OSError where the system has no descriptors of processes."""
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)
        self._reaping = threading.Lock()
        self._status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, or the signal that ended it as a negative number; TimeoutExpired after so many seconds."""
        if self._status is None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(NAME, timeout or 0.0)
            with self._reaping:
                if self._status is None:
                    self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def kill(self) -> None:
        """End it at once, if it runs."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)


class WaitingEngine:
    """The front end's side of one that waits."""

    def __init__(self, connection: socket.socket, process: ForkedProcess) -> None:
        self._connection: socket.socket | None = connection
        self._process = process

    @classmethod
    def fork(cls, load: Callable[[], Serve]) -> "WaitingEngine | None":
        """One that will `load` what serves; None where none can be forked."""
        if sys.platform != "linux" or threading.active_count() > 1:  # elsewhere a fork without a program is no good
            return None
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as on_failure, theirs:
            on_failure.enter_context(ours)
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # which the child must not handle
            try:
                pid = os.fork()
                if pid == 0:
                    ours.close()
                    _wait_and_serve(theirs, load)
                process = ForkedProcess(pid)
            except OSError:  # no process left, or an old system; one that was forked ends with the connection
                return None
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            on_failure.pop_all()
            return cls(ours, process)

    def begin_loading(self) -> None:
        """Have it load what serves: it will be taken soon."""
        if self._connection is not None:
            with contextlib.suppress(OSError):  # it has exited; the next caller learns that
                self._connection.send(_LOAD)

    def take(self, log: int) -> tuple[socket.socket, ForkedProcess] | None:
        """Have it serve, with stdout and stderr going to this descriptor: the connection to it, and its process.

        None if it has gone, or serves already.
        """
        connection, self._connection = self._connection, None
        if connection is None:
            return None
        try:
            socket.send_fds(connection, [_SERVE], [log])
        except OSError:
            connection.close()
            return None
        return connection, self._process


def _wait_and_serve(connection: socket.socket, load: Callable[[], Serve]) -> NoReturn:
    """In the child. Never returns into what the screen was about to do."""
    try:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()  # Ctrl+C and Ctrl+Z in the terminal are keys of the front end, not signals for the engine
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)  # one that came before that ends both processes
        signal.signal(signal.SIGINT, signal.default_int_handler)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        os.close(nothing)
        with contextlib.suppress(OSError), open("/proc/self/comm", "w", encoding="ascii") as name:
            name.write(NAME)
        asked, logs, _, _ = socket.recv_fds(connection, 1, 1)
        if asked == _LOAD:
            with contextlib.suppress(Exception):  # it fails once more below, where there is a log
                load()
            _, logs, _, _ = socket.recv_fds(connection, 1, 1)
        if not logs:  # the front end went away
            os._exit(0)
        for descriptor in (1, 2):
            os.dup2(logs[0], descriptor)
        os.close(logs[0])
        load()(connection.detach())
    except BaseException:  # whatever it is, the screen's code must not continue in this process
        traceback.print_exc()
    os._exit(1)
