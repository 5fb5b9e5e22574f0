"""Runs inside a Python kernel, once, before the first cell: never imported by us, only sent as text.

The kernel executes it silently in a namespace of its own, so the user's code sees nothing of it. It keeps line numbers
as shown, reports the line that runs, and limits a flood of output. The parts are independent: an ipykernel with other
internals lacks only the affected part.

No first-party imports. Leave nothing in the user namespace.
"""

import contextlib
import fcntl
import inspect
import json
import os
import sys
import termios
import threading
import time
import types
from collections.abc import Callable
from typing import Any

KEEP = 1_000_000_000
"""Characters of output of one cell that are sent, as many as the engine keeps; of the rest only the end is."""

END = 32_768
"""Characters of that end."""

BATCH = 1_000_000
"""Characters after which a writer waits until they are on their way, so that memory stays bounded."""

TICK = 0.1
"""Seconds between two looks at the line that runs."""

REPORTED = 100
"""Statements of one cell whose line is reported when they begin."""

DRAIN = 0.5
"""Seconds at most that the end of a cell waits for the output of its subprocesses."""

DEEP = 100
"""Frames of a stack that are formatted one by one."""

FIRST_FRAMES, LAST_FRAMES = 5, 25
"""Those of a deeper one that are shown: where it began and, more telling, where it ended."""

XPUB_NODROP = 69
"""The option of zmq, by which a socket that publishes waits for who reads too slowly."""

FRAME_WIDTH = 120
"""Columns of the text form of a pandas object, where nothing else was chosen."""


def prepare_kernel() -> None:
    """Prepare the kernel that executes this."""
    from IPython import get_ipython

    shell = get_ipython()
    if getattr(shell, "kernel", None) is None:
        return
    if "OI_TUI_IS_GUEST" in globals():  # somebody else's: how their code runs stays as it is
        take_parts(shell)
        return
    parts = (
        keep_no_copies,
        keep_blank_lines,
        flush_what_waits,
        cap_output,
        drain_pipes,
        report_lines,
        widen_frames,
        cut_stacks,
    )
    for part in (*parts, pack_any_text, import_from_folder, run_commands, take_parts, wait_for_reader):
        # Boundary: the insides of another version of ipykernel; without one part all the others still help.
        with contextlib.suppress(Exception):
            part(shell)


def keep_no_copies(shell: Any) -> None:
    """IPython keeps a copy of all output for its history; ours is the transcript."""
    if hasattr(type(shell), "_tee"):
        type(shell)._tee = lambda _self, channel: contextlib.nullcontext()
    if hasattr(shell, "_format_exception_for_storage"):  # the same traceback again, which may take seconds
        shell._format_exception_for_storage = lambda error, *_more, **_named: {
            "ename": type(error).__name__,
            "evalue": "",
            "traceback": [],
        }


def run_commands(shell: Any) -> None:
    """IPython runs `!command` in a new terminal; where none can be made, its output goes through a pipe."""
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
    except OSError:
        shell.system = shell.system_raw


def keep_blank_lines(shell: Any) -> None:
    """IPython drops blank lines at the top, which shifts all line numbers: put them back at the end."""
    blank = 0

    def count(lines: list[str]) -> list[str]:
        nonlocal blank
        blank = next((index for index, line in enumerate(lines) if line.strip()), 0)
        return lines

    def restore(lines: list[str]) -> list[str]:
        nonlocal blank
        count, blank = blank, 0
        return ["\n"] * count + lines

    shell.input_transformers_cleanup.insert(0, count)
    shell.input_transformers_post.append(restore)


def cap_output(shell: Any) -> None:
    """Text of one cell beyond `KEEP` is counted instead of sent, and a fast writer waits for its reader."""
    from ipykernel.iostream import OutStream

    send: Callable[[Any, str], Any] = OutStream.write
    lock = threading.RLock()
    written = waiting = 0
    skipped: dict[Any, Skipped] = {}
    shadowed = True

    def write(stream: Any, text: Any) -> Any:
        nonlocal written, waiting
        if not isinstance(text, str):
            return send(stream, text)  # raises what it always raised
        with lock:
            room = max(0, KEEP - written)
            written += len(text)
            if len(text) > room:
                skipped.setdefault(stream, Skipped()).add(text[room:])
        for start in range(0, min(room, len(text)), BATCH):
            piece = text[start : min(start + BATCH, room)]
            send(stream, encodable(piece))
            waiting += len(piece)
            if waiting >= BATCH:
                waiting = 0
                stream.flush()
        return len(text)

    def begin(_info: Any) -> None:
        nonlocal written, shadowed
        written = 0
        skipped.clear()
        if shadowed:
            # IPython's copying (see above) left the old method on the streams that it was copying from meanwhile.
            shadowed = False
            for stream in (sys.stdout, sys.stderr):
                vars(stream).pop("write", None)

    def end(_result: Any) -> None:
        for stream, part in skipped.items():
            end = part.text[-END:]
            missing = {"characters": part.characters - len(end), "lines": part.lines - end.count("\n")}
            stream.flush()
            publish(shell.kernel, "oi_tui_skipped", {"name": stream.name, **missing}, shell.kernel.get_parent())
            send(stream, encodable(end))
            stream.flush()
        skipped.clear()

    OutStream.write = write
    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)


def flush_what_waits(_shell: Any) -> None:
    """To flush a stream is to wait for the thread that sends, which ipykernel does for both streams before each result
    and four times behind each cell: only where something was written since the last time."""
    from ipykernel.iostream import OutStream

    send: Callable[[Any, Any], Any] = OutStream.write
    flush: Callable[[Any], None] = OutStream.flush
    written: dict[int, int] = {}
    flushed: dict[int, int] = {}

    def write(stream: Any, text: Any) -> Any:
        sent = send(stream, text)
        written[id(stream)] = written.get(id(stream), 0) + 1
        return sent

    def flush_if_waiting(stream: Any) -> None:
        # What another thread is flushing counts as flushed only when it is done: `os._exit` may be next.
        count = written.get(id(stream), 0)
        if count != flushed.get(id(stream), 0):
            flush(stream)
            if stream.pub_thread.thread is not threading.current_thread():  # it has the message, and has not sent it
                sent = threading.Event()
                stream.pub_thread.schedule(sent.set)
                sent.wait(stream.flush_timeout)
            flushed[id(stream)] = count

    OutStream.write, OutStream.flush = write, flush_if_waiting


class Skipped:
    """Text of a stream that is not sent: how much, and its end."""

    def __init__(self) -> None:
        self.characters = 0
        self.lines = 0
        self.text = ""

    def add(self, text: str) -> None:
        self.characters += len(text)
        self.lines += text.count("\n")
        self.text += text
        if len(self.text) > 4 * END:
            self.text = self.text[-END:]


def encodable(text: str) -> str:
    """The text, with what UTF-8 cannot express replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def drain_pipes(shell: Any) -> None:
    """Wait at the end of a cell for output of subprocesses, which goes through a pipe and a thread."""

    def drain() -> None:
        deadline = time.monotonic() + DRAIN
        for stream in (sys.stdout, sys.stderr):
            pipe = getattr(stream, "_fid", None)
            while pipe is not None and has_bytes(pipe) and time.monotonic() < deadline:
                time.sleep(0.001)

    shell.events.register("post_execute", drain)


def has_bytes(pipe: int) -> bool:
    """Whether bytes wait in the pipe."""
    try:
        return any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    except OSError:
        return False


def report_lines(shell: Any) -> None:
    """Reports the line of each statement before it runs, and while one takes long, the line the main thread is at."""
    running = threading.Event()
    main = threading.main_thread().ident
    current: tuple[str, Any] = ("", None)
    seen: tuple[Any, int] = (None, 0)
    statements = 0

    def report(line: int, parent: Any) -> None:
        nonlocal seen
        if line and seen != (parent, line):
            seen = (parent, line)
            publish(shell.kernel, "oi_tui_line", {"line": line}, parent)

    def begin(info: Any) -> None:
        nonlocal current, statements
        current = (shell.compile.get_code_name(info.raw_cell, info.raw_cell, 0), shell.kernel.get_parent())
        statements = 0 if "\n" in info.raw_cell.strip() else REPORTED  # of a single line, it says nothing
        running.set()

    def end(_result: Any) -> None:
        running.clear()

    def watch() -> None:
        while running.wait():
            time.sleep(TICK)
            filename, parent = current
            report(active_line(sys._current_frames().get(main or 0), filename) if running.is_set() else 0, parent)

    run_code = shell.run_code

    async def run_statement(code: Any, *more: Any, **named: Any) -> Any:
        nonlocal statements
        statements += 1
        if statements <= REPORTED and running.is_set() and code.co_filename == current[0]:
            if statements > 1:
                sys.stdout.flush()  # what the statement before printed comes first
            report(min((line for _, _, line in code.co_lines() if line), default=0), current[1])
        return await run_code(code, *more, **named)

    if inspect.iscoroutinefunction(run_code):  # it is since IPython 7
        shell.run_code = run_statement
    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)
    threading.Thread(target=watch, name="oi-tui-lines", daemon=True).start()


def active_line(frame: Any, filename: str) -> int:
    """The line of the innermost frame that belongs to the file, 0 if there is none."""
    while frame is not None:
        if frame.f_code.co_filename == filename:
            return frame.f_lineno or 0
        frame = frame.f_back
    return 0


def take_parts(shell: Any) -> None:
    """More of ours, when it is first needed; not as a cell, so that neither names nor hooks of the person's meet it."""

    def take(_stream: Any, _ident: Any, request: dict[str, Any]) -> None:
        exec(compile(request["content"]["source"], "<oi-tui>", "exec"), {"__name__": __name__})

    shell.kernel.shell_handlers["oi_tui_part"] = take


def wait_for_reader(shell: Any) -> None:
    """Code waits while nobody takes what it puts out; else zmq drops what comes after a thousand messages.

    Only over sockets in a folder, where nobody but us listens: a stranger who stops must not stop the code.
    """
    kernel = shell.kernel
    if kernel.parent.transport == "ipc":
        published = kernel.iopub_thread
        published.schedule(lambda: published.socket.setsockopt(XPUB_NODROP, 1))


def publish(kernel: Any, kind: str, content: dict[str, Any], parent: Any) -> None:
    """Send a message of our own beside the standard ones."""
    kernel.session.send(kernel.iopub_socket, kind, content, parent=parent)


def cut_stacks(shell: Any) -> None:
    """Format only both ends of a very deep stack: nine thousand frames would take half a minute."""
    formatter = shell.InteractiveTB
    records = formatter.get_records

    def ends(top: Any, *context: Any) -> Any:
        stack: list[Any] = []
        while top is not None:
            stack.append(top)
            top = top.tb_next
        if len(stack) <= DEEP:
            return records(stack[0], *context)
        return [
            *records(copy_traceback(stack[:FIRST_FRAMES]), *context),
            *gap(len(stack) - FIRST_FRAMES - LAST_FRAMES),
            *records(copy_traceback(stack[-LAST_FRAMES:]), *context),
        ]

    def gap(frames: int) -> list[Any]:
        # Boundary: the insides of another version of IPython or stack_data; the two ends help without a word between.
        with contextlib.suppress(Exception):
            from IPython.core.tbtools import FrameInfo
            from stack_data.core import RepeatedFrames  # IPython itself loads it at the first error

            stands_for = RepeatedFrames.__new__(RepeatedFrames)
            return [FrameInfo(f"{frames:,} frames are left out", "", 0, None, None, sd=stands_for)]
        return []

    formatter.get_records = ends


def pack_any_text(shell: Any) -> None:
    """A message with text that UTF-8 cannot express is sent with that text replaced; else an error would be lost."""
    session = shell.kernel.session
    pack = session.pack

    def pack_or_replace(content: Any) -> Any:
        try:
            return pack(content)
        except UnicodeEncodeError:
            return json.dumps(content, ensure_ascii=False, default=str).encode("utf-8", "replace")

    session.pack = pack_or_replace


def import_from_folder(_shell: Any) -> None:
    """Let the person's code import modules of the folder, which the kernel itself was started without."""
    if "" in sys.path or os.environ.get("PYTHONSAFEPATH"):
        return
    behind = (number for number, place in enumerate(sys.path) if place.endswith("-packages"))
    sys.path.insert(next(behind, len(sys.path)), "")  # where IPython puts it: behind the standard library


def copy_traceback(stack: list[Any]) -> Any:
    """The same part of a traceback once more, so that the one that it was taken from stays whole."""
    linked: Any = None
    for part in reversed(stack):
        linked = types.TracebackType(linked, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return linked


def widen_frames(shell: Any) -> None:
    """Pandas folds tables at 80 columns; registered by name, so pandas is not imported for it."""

    def show(frame: Any, printer: Any, _cycle: bool) -> None:
        pandas = sys.modules["pandas"]
        width = pandas.get_option("display.width")
        with pandas.option_context("display.width", FRAME_WIDTH if width == 80 else width):
            printer.text(repr(frame))

    plain = shell.display_formatter.formatters["text/plain"]
    for module in ("pandas", "pandas.core.frame"):
        plain.for_type_by_name(module, "DataFrame", show)


if __name__ == "oi_tui_in_kernel":
    prepare_kernel()
