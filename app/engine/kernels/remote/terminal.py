"""A shell in a terminal of a Jupyter server, as a seat of `ShellKernel`: never sandboxed by us.

A terminal carries one stream of characters and files are not shared, so a small program of ours (`in_terminal.py`) is
typed into it first. Its output is not trusted: it is bounded, and anything that is no frame is ignored.
"""

import asyncio
import base64
import codecs
import importlib.resources
import json
import logging
import secrets
import zlib
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.in_terminal_line import Head, Link
from oi_tui.app.engine.kernels.json_cleaner import has_more_values
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.message_desk import LARGE, VALUES_LIMIT
from oi_tui.app.engine.kernels.processes import cancel_tasks, cause_of_end
from oi_tui.app.engine.kernels.remote.channels import PAUSES
from oi_tui.app.engine.kernels.remote.server import KernelGone
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.site import open_site
from oi_tui.app.engine.kernels.remote.terminals import Terminals
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.kernels.shell_seat import BASH, RC, RUN, ShellEars

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

KERNELS = "oi_tui.app.engine.kernels"
"""Where our program is kept."""

TYPED = 8_000
"""Characters that are typed at once."""

SOURCE_PIECE = 24_000
"""Bytes of a source in one frame."""

PING = 15.0
"""Seconds between two signs of life; they also show the other end what it missed."""

MOST_WAITING = 4_000
"""Pieces that may wait to be typed; beyond that, a server that reads none but asks for more gets no more."""

LONGEST_COMPLAINT = 4_000
"""Characters that are kept of what a terminal says that gives no shell."""

LAST_WORD = 3.0
"""Seconds that the other end has to clear up, and the server to end the terminal."""

LOADER = (
    'exec sh -c \'for p in python3 python /proc/$PPID/exe; do "$p" -c "import sys;sys.exit(sys.version_info<(3,9))"'
    ' && exec "$p" -I -c "import sys,tty,zlib,base64;tty.setraw(0);print({first}*{second},flush=True);'
    "exec(zlib.decompress(base64.b64decode(sys.stdin.readline())))\"; done 2>/dev/null; echo $(({first}*{third}))'\r"
)
"""Typed into whatever shell the terminal has: finds a Python, if only that of the server itself, which waits for our
program. What answers are products, since what is typed is shown as well."""

_log = logging.getLogger(__name__)


class RemoteSeat:
    """One terminal of a server, and the bash that our program keeps in it."""

    def __init__(self, launch: Launch, server: KnownServer) -> None:
        self.complaint = ""
        self._launch = launch
        self._server = server
        self._stack = AsyncExitStack()
        self._terminals: Terminals | None = None
        self._name = ""
        self._ears: ShellEars | None = None
        self._mark = secrets.token_hex(8)
        self._link = Link(self._mark, self._type_out, self._take)
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._loader = _Loader(self._mark)
        self._task: asyncio.Task[None] | None = None
        self._failed: asyncio.Future[None] | None = None
        """Why the shell cannot be had, until it is there."""
        self._number = 0
        """Of the current run."""
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}
        self._echoes = True
        self._over = asyncio.Event()
        """Our program has ended, or nobody can know."""

    async def arrive(self) -> None:
        site = await self._stack.enter_async_context(open_site(self._server, self._launch))
        self._terminals = Terminals(site)

    async def start(self, ears: ShellEars) -> None:
        assert self._terminals is not None
        self._ears = ears
        self._name = await self._terminals.start()
        socket = await self._terminals.connect(self._name)
        self._failed = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep_connected(socket))
        self._outgoing.put_nowait(self._loader.first_line)
        await self._failed

    def begin(self, number: int, source: str) -> None:
        self._number = number
        self._decoders.clear()
        self._echoes = True
        data = source.encode("utf-8", "surrogateescape")
        for at in range(0, len(data), SOURCE_PIECE):
            self._link.put({"do": "source"}, data[at : at + SOURCE_PIECE])
        self._link.put({"do": "run", "number": number})

    def drain(self) -> None:
        """What there was came before the end."""
        for name in tuple(self._decoders):
            self._hand_on(name, b"", final=True)

    def finish(self) -> None:
        self._link.put({"do": "finish"})

    def type(self, text: str) -> None:
        self._link.put({"do": "type"}, text.encode("utf-8", "surrogateescape")[:SOURCE_PIECE])

    def press_ctrl_c(self) -> None:
        self._link.put({"do": "ctrl-c"})

    def kill_foreground(self) -> None:
        self._link.put({"do": "kill"})

    def echoes(self) -> bool:
        return self._echoes

    async def close(self) -> None:
        self._ears = None
        if self._task is not None and not self._task.done():
            self._link.put({"do": "close"})
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORD):
                    await self._over.wait()
        if self._task is not None:
            await cancel_tasks(self._task)
        if self._terminals is not None and self._name:
            try:
                async with asyncio.timeout(LAST_WORD):
                    await self._terminals.remove(self._name)
            except (KernelError, TimeoutError) as error:
                _log.warning("a terminal may still be running on its server: %s", error)
        self._name = ""
        await self._stack.aclose()

    # -- the connection --------------------------------------------------------------------------------

    def _type_out(self, text: str) -> None:
        if self._outgoing.qsize() > MOST_WAITING:
            return  # it is kept, and repeated when the other end misses it
        for at in range(0, len(text), TYPED):
            self._outgoing.put_nowait(text[at : at + TYPED])

    async def _keep_connected(self, socket: "ClientWebSocketResponse | None") -> None:
        how = "was ended on the server"
        while socket is not None:
            writer = asyncio.create_task(self._write(socket))
            try:
                ended = await self._read(socket)
            finally:
                await cancel_tasks(writer)
                await socket.close()
            self._over.set()
            if ended:
                break
            try:
                socket = await self._come_back()
            except KernelGone:
                break
            except KernelError:
                how = "could not be reached any more"
                break
            self._over.clear()
            while not self._outgoing.empty():
                self._outgoing.get_nowait()  # of frames that are kept: they are repeated as a whole
            if self._loader.is_done:
                self._link.repeat()
        self._end(how)

    async def _come_back(self) -> "ClientWebSocketResponse":
        assert self._terminals is not None
        for pause in (*PAUSES, 0.0):
            try:
                if not await self._terminals.find(self._name):
                    raise KernelGone("The terminal is gone.")
                return await self._terminals.connect(self._name)
            except KernelGone:
                raise
            except KernelError as error:
                _log.info("no way back to the terminal yet: %s", error.title)
            await asyncio.sleep(pause)
        raise KernelError("The terminal cannot be reached any more.")

    async def _write(self, socket: "ClientWebSocketResponse") -> None:
        while True:
            try:
                async with asyncio.timeout(PING):
                    text = await self._outgoing.get()
            except TimeoutError:
                if self._loader.is_done:
                    self._link.put({"do": "ping"})
                continue
            try:
                await socket.send_str(json.dumps(["stdin", text]))
            except OSError as error:
                _log.info("the connection to a terminal was lost: %s", error)
                return

    async def _read(self, socket: "ClientWebSocketResponse") -> bool:
        """Take in what comes, until the terminal (then it is true) or the connection ends."""
        async for frame in socket:
            if not isinstance(frame.data, str):
                continue
            try:
                if len(frame.data) > LARGE and has_more_values(frame.data.encode(), VALUES_LIMIT):
                    continue
                message = json.loads(frame.data)
            except (ValueError, RecursionError):
                continue
            match message:
                case ["stdout", str(text)]:
                    self._hear(text)
                case ["disconnect", *_]:
                    return True
            await asyncio.sleep(0)  # a flood must not keep everything else from its turn
        return False

    # -- what comes ------------------------------------------------------------------------------------

    def _hear(self, text: str) -> None:
        if not self._loader.is_done:
            self.complaint = (self.complaint + text)[-LONGEST_COMPLAINT:]
            typed = self._loader.hear(text)
            if self._loader.why:
                self._fail(self._loader.why)
            elif typed:
                self._type_out(typed)
            return
        self._link.feed(text)

    def _fail(self, why: str) -> None:
        if self._failed is not None and not self._failed.done():
            details = _visible(self.complaint)
            self._failed.set_exception(
                KernelError(f"No shell can be had in a terminal of {self._server.host}: {why}.", details=details)
            )

    def _end(self, how: str) -> None:
        self._over.set()
        self._fail(how)
        ears, self._ears = self._ears, None
        if ears is not None and self._failed is not None and self._failed.exception() is None:
            ears.on_exit(None, how)

    def _take(self, head: Head, body: bytes) -> None:
        ears = self._ears
        if ears is None:
            return
        match head:
            case {"say": "here"}:
                self._link.put({"do": "start", "argv": BASH, "rc": RC, "run": RUN})
                if self._failed is not None and not self._failed.done():
                    self._failed.set_result(None)
            case {"say": "out" | "err" | "terminal" as name, "number": self._number}:
                self._hand_on(name, body)
            case {"say": "ends"}:
                ears.on_ends(body.decode("ascii", "replace"))
            case {"say": "echo", "on": bool(shown)}:
                self._echoes = shown
            case {"say": "ended", "code": int(code)}:
                self._ears = None
                ears.on_exit(None if code < 0 else code, cause_of_end(code, False))
            case {"say": "failed", "why": str(why)}:
                self._ears = None
                ears.on_exit(None, f"could not be started: {_visible(why[:500])}")

    def _hand_on(self, name: str, data: bytes, *, final: bool = False) -> None:
        if name not in self._decoders:
            self._decoders[name] = codecs.getincrementaldecoder("utf-8")(errors="replace")
        text = self._decoders[name].decode(data, final)
        if self._ears is None or not text:
            return
        match name:
            case "out":
                self._ears.on_output(self._number, "stdout", text)
            case "err":
                self._ears.on_output(self._number, "stderr", text)
            case _:
                self._ears.on_terminal(text)


class _Loader:
    """How our program gets into a terminal that has some shell or other."""

    def __init__(self, mark: str) -> None:
        first, second, third = (secrets.randbelow(900_000) + 100_000 for _ in range(3))
        self.first_line = LOADER.format(first=first, second=second, third=third)
        self._waits, self._fails = str(first * second), str(first * third)
        self._mark = mark
        self._heard = ""
        self.is_done = False
        self.why = ""

    def hear(self, text: str) -> str:
        """Handle output of the terminal; returns what to type next, "" for nothing yet."""
        self._heard = (self._heard + text)[-LONGEST_COMPLAINT:]
        if self._fails in self._heard:
            self.why = "there is no Python 3.9 or newer"
        elif self._waits in self._heard:
            self.is_done = True
            return program_text(self._mark) + "\n"
        return ""


def program_text(mark: str) -> str:
    """Our program, as one line that the loader reads."""
    line, agent = (
        importlib.resources.files(KERNELS).joinpath(name).read_text(encoding="utf-8")
        for name in ("in_terminal_line.py", "in_terminal.py")
    )
    head, _, rest = agent.partition(f"from {KERNELS}.")
    agent = head + rest.partition(")\n")[2] if rest else agent
    source = (
        "names = {'__name__': 'oi_tui_in_terminal'}\n"
        f"for text in ({line!r}, {agent!r}):\n"
        "    exec(compile(text, '<oi-tui>', 'exec'), names)\n"
        f"names['TerminalAgent']({mark!r}).serve()\n"
    )
    return base64.b64encode(zlib.compress(source.encode(), 9)).decode()


def remote_shell(launch: Launch, server: KnownServer) -> ShellKernel:
    """A shell in a terminal of this server."""
    # Nothing of ours holds it back there, so nothing is promised.
    launch = replace(launch, sandbox=None)
    return ShellKernel(launch, partial(RemoteSeat, launch, server), f"a terminal of {server.host}", elsewhere=True)


def _visible(text: str) -> str:
    """The visible part of a text from there."""
    return "".join(sign for sign in text if sign.isprintable() or sign == "\n")
