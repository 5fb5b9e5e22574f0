"""A real terminal without a window: a pseudo-terminal, an emulator, and the answers that programs ask terminals for.

The program under test is a child process like any other; it is seen only through what it writes. A thread
reads and time-stamps the output at once and answers queries; the emulator catches up when somebody looks
at the screen, so that a flood is never slowed down by emulating it and latencies are those of the program.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pyte

from support.queries import CELL_HEIGHT, CELL_WIDTH, LONGEST_QUERY, QUERY, SYNCHRONISED_OUTPUT, answer

RUN_ON_TTY = 'tty=$1; shift; exec "$@" <>"$tty" >&0 2>&0'
"""A session leader that opens a terminal gets it as its controlling one; no fork of this process is needed."""

PRIVATE_MODE = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<=>][\d;:]*[a-zA-Z]|\x1b\[\?[\d;]*(?:\$p|u)|\x1b[_^XP][^\x1b]*\x1b\\")
UNFINISHED = re.compile(rb"\x1b(?:\[[^@-~]*|\][^\x07\x1b]*\x1b?|[_^XP][^\x1b]*\x1b?)?\Z")

RESTORED_AT_EXIT = frozenset({1000, 1002, 1003, 1004, 1006, 1049, 2004})
"""Private modes (mouse, focus, alternate screen, bracketed paste) that no program may leave switched on."""


class ScreenTimeout(AssertionError):
    """The expected text did not appear; the message shows the screen."""


def clean_env(home: Path, **more: str) -> dict[str, str]:
    """An environment in which nothing of this machine's user is seen: own folders, no keys, a modern terminal.

    Code runs without a sandbox there, so that every machine can run every test; those about the sandbox say so. Models
    are asked for nothing but answers.
    """
    measured = (name for name in os.environ if name.startswith("COVERAGE_"))
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", *measured) if name in os.environ}
    folders = {
        "XDG_CONFIG_HOME": home / "config",
        "XDG_DATA_HOME": home / "data",
        "XDG_CACHE_HOME": home / "cache",
        "XDG_STATE_HOME": home / "state",
        "XDG_RUNTIME_DIR": home / "run",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
    terminal |= {"OI_TUI_SANDBOX": "danger-full-access", "OI_TUI_TITLES": "false"}
    terminal |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    return kept | terminal | {"HOME": str(home)} | {name: str(path) for name, path in folders.items()} | more


class Terminal:
    """A program in a terminal of `columns` x `rows`; a context manager that ends the program and its children.

    Waits end after `timeout` seconds; at the end, program and children each have `grace` seconds after the hang-up.
    """

    modes: frozenset[bytes] = frozenset({SYNCHRONISED_OUTPUT})

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | str,
        columns: int = 80,
        rows: int = 24,
        timeout: float = 20.0,
        grace: float = 3.0,
    ) -> None:
        self.columns, self.rows, self.timeout, self.grace = columns, rows, timeout, grace
        self.raw = bytearray()
        """Everything that was written, as it came."""
        self._arrivals: list[tuple[int, float]] = []
        """Of each piece of it, where it ends and when it came."""
        self._emulator = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._emulator)
        self._pending: deque[tuple[float, bytes]] = deque()
        self._held = b""
        self._tail = b""
        self._ended = False
        self._lines = [""] * rows
        self._drawing = threading.RLock()  # the emulator's; the reader takes it for one rare query only
        self._changed = threading.Condition()
        self._master, self._slave = pty.openpty()
        os.set_blocking(self._master, False)
        self._set_size()
        command = ["/bin/sh", "-c", RUN_ON_TTY, "sh", os.ttyname(self._slave), *argv]
        self.started = time.perf_counter()
        self.process = subprocess.Popen(command, env=dict(env), cwd=cwd, start_new_session=True)
        self._exit = os.pidfd_open(self.process.pid)
        self._reader = threading.Thread(target=self._read, name=f"terminal of {argv[0]}", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- what a person does

    def send(self, keys: str | bytes) -> float:
        """Press keys; returns the time at which they were pressed (`time.perf_counter`)."""
        data = keys.encode() if isinstance(keys, str) else keys
        pressed = time.perf_counter()
        self._write(data)
        return pressed

    def paste(self, text: str) -> float:
        """Paste as a terminal with bracketed paste does."""
        return self.send(f"\x1b[200~{text}\x1b[201~")

    def click(self, text: str) -> None:
        """Press and release the left button on the first cell of this text."""
        row, column = self._find(text)
        at = f"{column + 1};{row + 1}"
        self.send(f"\x1b[<0;{at}M\x1b[<0;{at}m")

    def wheel(self, steps: int, *, row: int = 3) -> None:
        """Turn the wheel over a row of the screen (from 1): up where `steps` is negative."""
        button = 64 if steps < 0 else 65
        self.send(f"\x1b[<{button};10;{row}M" * abs(steps))

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size; the program gets SIGWINCH."""
        with self._drawing:
            self._catch_up()
            self.columns, self.rows = columns, rows
            self._emulator.resize(rows, columns)
            self._emulator.dirty.update(range(rows))
            self._lines = [""] * rows
        self._set_size()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program alone."""
        self.process.send_signal(number)

    # --- what a person sees

    @property
    def screen(self) -> str:
        """The text on the screen now, one line a row."""
        with self._drawing:
            self._catch_up()
            return self._text()

    def colour(self, text: str) -> str:
        """The colour of this text on the screen."""
        with self._drawing:
            row, column = self._find(text)
            return str(self._emulator.buffer[row][column].fg)

    def background(self, text: str) -> str:
        """The colour behind this text on the screen."""
        with self._drawing:
            row, column = self._find(text)
            return str(self._emulator.buffer[row][column].bg)

    @property
    def private_modes(self) -> frozenset[int]:
        """The DEC private modes that the program has switched on and not off again."""
        changes = PRIVATE_MODE.findall(bytes(self.raw))
        state = {int(mode): final == b"h" for modes, final in changes for mode in modes.split(b";") if mode}
        return frozenset(mode for mode, on in state.items() if on)

    @property
    def faults(self) -> list[str]:
        """What would be wrong in this terminal for the next program; empty when it is usable."""
        local = termios.tcgetattr(self._slave)[3]
        cooked = {"echo": termios.ECHO, "line mode": termios.ICANON, "signal keys": termios.ISIG}
        faults = [f"{name} is off" for name, flag in cooked.items() if not local & flag]
        faults += [f"private mode {mode} is on" for mode in sorted(self.private_modes & RESTORED_AT_EXIT)]
        cursor = re.findall(rb"\x1b\[\?25([hl])", self.raw)
        return faults + (["the cursor is hidden"] if cursor and cursor[-1] == b"l" else [])

    def wait_for(self, wanted: str | re.Pattern[str], timeout: float | None = None) -> float:
        """Wait until the text (or pattern) is on the screen; the time at which it had arrived."""
        matches = _matcher(wanted)
        return self._wait(lambda: matches(self._text()), f"{wanted!r} on the screen", timeout)

    def wait_gone(self, unwanted: str | re.Pattern[str], timeout: float | None = None) -> float:
        """Wait until the text (or pattern) is not on the screen any more."""
        matches = _matcher(unwanted)
        return self._wait(lambda: not matches(self._text()), f"{unwanted!r} gone from the screen", timeout)

    def wait_until(self, condition: Callable[[], bool], what: str, timeout: float | None = None) -> float:
        """Wait until `condition`, looked at after every piece of output, is true."""
        return self._wait(condition, what, timeout)

    def wait_raw(self, wanted: bytes, timeout: float | None = None, *, since: int = 0) -> float:
        """Wait until these bytes have been written, counted from a place in `raw`; the time at which they had arrived.

        Nothing is emulated meanwhile, which takes longer than the program takes to write it, and a processor.
        """
        found, looked = -1, since

        def is_there() -> bool:
            nonlocal found, looked
            found = self.raw.find(wanted, looked)
            looked = max(since, len(self.raw) - len(wanted) + 1)
            return found >= 0 or self._ended

        with self._changed:
            self._changed.wait_for(is_there, timeout or self.timeout)
        if found < 0:
            raise ScreenTimeout(self._report(f"{wanted!r} in the output"))
        place = bisect_left(self._arrivals, found + len(wanted), key=lambda arrival: arrival[0])
        return self._arrivals[place][1]

    def wait_exit(self, timeout: float | None = None) -> int:
        """Wait until the program has ended; its exit code (negative: the signal that ended it)."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._ended, timeout or self.timeout):
                raise ScreenTimeout(self._report("the program to end"))
        return self.process.wait()

    def close(self) -> None:
        """Hang up, end what is left of the program and of its children; idempotent."""
        if self._master < 0:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            family = psutil.Process(self.process.pid).children(recursive=True)
            self.process.send_signal(signal.SIGHUP)
            if not self._ends_within(self.grace):
                self.process.kill()
            _, left = psutil.wait_procs(family, timeout=self.grace)
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.process.wait()
        self._reader.join()
        for descriptor in (self._master, self._slave, self._exit):
            os.close(descriptor)
        self._master = -1

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor, from 1."""
        with self._drawing:
            self._catch_up()
            return self._emulator.cursor.y + 1, self._emulator.cursor.x + 1

    # --- the machinery

    def _ends_within(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._ended, seconds)

    def _write(self, data: bytes) -> None:
        """Write all of it, as fast as the program reads."""
        while data:
            _, writable, _ = select.select([], [self._master], [], self.timeout)
            if not writable:
                raise ScreenTimeout(f"the program does not read its keyboard: {len(data)} bytes are left")
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(self._master, data[:1024]) :]

    def _set_size(self) -> None:
        pixels = self.columns * CELL_WIDTH, self.rows * CELL_HEIGHT
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, *pixels))

    def _wait(self, condition: Callable[[], bool], what: str, timeout: float | None) -> float:
        deadline = time.monotonic() + (timeout or self.timeout)
        arrived = time.perf_counter()
        while True:
            with self._drawing:
                if condition():
                    return arrived
                if self._pending and time.monotonic() < deadline:
                    arrived = self._feed_one()
                    continue
            with self._changed:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ScreenTimeout(self._report(what))
                if not self._pending and self._ended:
                    raise ScreenTimeout(self._report(f"{what}, but the program ended"))
                if not self._pending:
                    self._changed.wait(left)

    def _report(self, what: str) -> str:
        with self._drawing:
            self._catch_up()
            seen = self._text()
        rule = "─" * self.columns
        return f"waited for {what}\n{rule}\n{seen}\n{rule}"

    def _find(self, text: str) -> tuple[int, int]:
        """Row and column of a text; column by column, because a wide character takes two."""
        with self._drawing:
            self._catch_up()
            for number in range(self.rows):
                cells = self._cells(number)
                before, found, _ = "".join(cells).partition(text)
                if found:
                    lengths = accumulate(map(len, cells), initial=0)
                    return number, next(column for column, length in enumerate(lengths) if length >= len(before))
        raise ScreenTimeout(self._report(f"{text!r} on the screen"))

    def _cells(self, row: int) -> list[str]:
        """The characters of a row; "" is the right half of a wide one."""
        line = self._emulator.buffer[row]
        return [line[column].data for column in range(self.columns)]

    def _text(self) -> str:
        """The screen; only the rows that changed are put together anew, for it is looked at often."""
        changed, self._emulator.dirty = self._emulator.dirty, set()
        for number in changed:
            if number < self.rows:
                self._lines[number] = "".join(self._cells(number)).rstrip()
        return "\n".join(self._lines)

    def _catch_up(self) -> None:
        while self._pending:
            self._feed_one()

    def _feed_one(self) -> float:
        arrived, data = self._pending.popleft()
        data = self._held + data
        unfinished = UNFINISHED.search(data)
        complete = data[: unfinished.start()] if unfinished else data
        self._held = data[len(complete) :]
        self._stream.feed(UNKNOWN_TO_PYTE.sub(b"", complete))
        return arrived

    def _read(self) -> None:
        """The reader thread: everything the program writes, until it has ended and all was read."""
        while True:
            ready, _, _ = select.select([self._master, self._exit], [], [])
            if self._master in ready:
                self._take(os.read(self._master, 65536))
                continue
            with self._changed:
                self._ended = True
                self._changed.notify_all()
            return

    def _take(self, data: bytes) -> None:
        self._keep(data)
        seen = self._tail + data
        answered = 0
        for query in QUERY.finditer(seen):
            self._write(answer(query, self))
            answered = query.end()
        self._tail = seen[max(answered, len(seen) - LONGEST_QUERY) :]
        with self._changed:
            self._changed.notify_all()

    def _keep(self, data: bytes) -> None:
        """It came just now."""
        arrived = time.perf_counter()
        self._arrivals.append((len(self.raw) + len(data), arrived))
        self.raw += data
        self._pending.append((arrived, data))


def _matcher(wanted: str | re.Pattern[str]) -> Callable[[str], bool]:
    if isinstance(wanted, str):
        return lambda text: wanted in text
    return lambda text: wanted.search(text) is not None
