"""Runs inside a Python kernel, after `in_kernel.py`: never imported by us, only sent as text.

ipykernel knows for asyncio tasks which cell started them. What threads and subprocesses print it gives to whatever
cell runs at that moment. Here it goes to the cell that started the thread, gave the task to a pool, or left the
subprocess running.

No first-party imports. Leave nothing in the user namespace.
"""

import codecs
import concurrent.futures
import contextlib
import functools
import os
import selectors
import signal
import sys
import threading
from typing import Any

PIECE = 65_536
"""Bytes of one read."""


def install_background() -> None:
    """Prepare the kernel that executes this."""
    from IPython import get_ipython

    shell = get_ipython()
    for part in (own_processes, own_threads, own_tasks):  # the thread of the first belongs to no cell
        # Boundary: the insides of another version of ipykernel or Python; without a part its output goes as it went.
        with contextlib.suppress(Exception):
            part(shell)


def own_threads(shell: Any) -> None:
    """A thread prints into the cell that started it."""
    kind: Any = threading.Thread
    start, run = kind.start, kind._bootstrap_inner
    shell.reset_thread_parent(shell.set_thread_parent(shell.get_parent()))  # raises here, not in every thread
    parents: dict[int, Any] = {}

    @functools.wraps(start)
    def start_owned(thread: threading.Thread) -> None:
        parents[id(thread)] = shell.get_parent()
        try:
            start(thread)  # returns when it runs
        finally:
            parents.pop(id(thread), None)

    @functools.wraps(run)
    def run_owned(thread: threading.Thread) -> None:
        parent = parents.pop(id(thread), None)
        if parent is not None:
            shell.set_thread_parent(parent)
        run(thread)

    kind._bootstrap_inner, kind.start = run_owned, start_owned


def own_tasks(shell: Any) -> None:
    """The threads of a pool live on; what they do belongs to the cell that gave it to them."""
    pool: Any = concurrent.futures.ThreadPoolExecutor
    submit = pool.submit

    @functools.wraps(submit)
    def submit_owned(self: Any, task: Any, /, *args: Any, **named: Any) -> Any:
        parent = shell.get_parent()

        def run_task(*args: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            before = shell.set_thread_parent(parent)
            try:
                return task(*args, **named)
            finally:
                shell.reset_thread_parent(before)

        return submit(self, run_task, *args, **named)

    pool.submit = submit_owned


def own_processes(shell: Any) -> None:
    """A subprocess that outlives its cell keeps the pipe of that cell; later cells get another one."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if getattr(stream, "_fid", None) is not None]
    reader = PipeReader()
    for stream in streams:
        take_over(stream)
        reader.lay(stream)

    def leave(_result: Any) -> None:
        # An interrupt must not come between the steps.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for stream in streams:
                reader.leave(stream, shell.get_parent())
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    if streams:
        threading.Thread(target=reader.read, name="oi-tui-pipes", daemon=True).start()
        shell.events.register("post_run_cell", leave)


def take_over(stream: Any) -> None:
    """ipykernel reads what is written to the descriptors 1 and 2 in a thread for each, which ends here."""
    stream._should_watch = False
    os.write(stream._original_stdstream_fd, b"\0")  # wakes it, and is shown nowhere
    stream.watch_fd_thread.join()
    os.close(stream._fid)


class PipeReader:
    """One thread that reads what is written to the descriptors 1 and 2, or was while an earlier cell ran."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._owners: dict[int, Any] = {}
        """By the end that is read: the cell, where it is not the one that runs."""

    def lay(self, stream: Any) -> None:
        """Open a fresh pipe; `stream._fid` is where ipykernel has its reading end, too."""
        out, into = os.pipe()
        os.dup2(into, stream._original_stdstream_fd)
        os.close(into)
        stream._fid = out
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._selector.register(out, selectors.EVENT_READ, (stream, decoder))

    def leave(self, stream: Any, parent: Any) -> None:
        """A cell has ended: its pipe is its own from now on, and ends with the last process that has it."""
        out = stream._fid
        if os.fstat(out).st_ino != os.fstat(stream._original_stdstream_fd).st_ino:
            return  # somebody else catches what is written there
        self._owners[out] = parent
        self.lay(stream)

    def read(self) -> None:
        while True:
            for key, _ in self._selector.select():
                stream, decoder = key.data
                piece = os.read(key.fd, PIECE)
                if not piece:
                    self._selector.unregister(key.fd)
                    self._owners.pop(key.fd, None)
                    os.close(key.fd)
                    continue
                # Boundary: a stream that somebody has closed or replaced must not silence the other one.
                with contextlib.suppress(Exception):
                    self._write(stream, decoder.decode(piece), self._owners.get(key.fd))
                with contextlib.suppress(OSError):
                    os.write(stream._original_stdstream_copy, piece)

    def _write(self, stream: Any, text: str, owner: Any) -> None:
        if owner is None:
            stream.write(text)
            return
        before = stream.set_thread_parent(owner)
        try:
            stream.write(text)
        finally:
            stream.reset_thread_parent(before)


if __name__ == "oi_tui_in_kernel":
    install_background()
