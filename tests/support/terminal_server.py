"""A server with terminals as Jupyter's are, on the loopback: REST, a WebSocket for each, a real pseudo-terminal behind
it. What a cable and a strange server may do, it does when told."""

import asyncio
import codecs
import os
import signal
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from oi_tui.app.engine.kernels.local_shell import TAKE_TERMINAL

SHELL = ("bash", "--norc")


@dataclass
class ServedTerminal:
    """One pseudo-terminal with its listeners."""

    process: asyncio.subprocess.Process
    descriptor: int
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    remembered: deque[str] = field(default_factory=lambda: deque(maxlen=1000))
    decoder: Any = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))


class TerminalServer:
    """`/api/terminals` and `/terminals/websocket/NAME`; `refusal` is the status of all answers, if not 0."""

    def __init__(self, shell: tuple[str, ...] = SHELL) -> None:
        self.refusal = 0
        self.url = ""
        self.shell = shell
        self.noise = ""
        """Comes before each piece of output, as if somebody else wrote on the terminal."""
        self.terminals: dict[str, ServedTerminal] = {}
        self.made = 0
        self._runner: web.AppRunner | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> str:
        """Its address."""
        app = web.Application()
        app.router.add_get("/api/kernelspecs", _specs)
        app.router.add_route("*", "/api/terminals", self._terminals)
        app.router.add_route("*", "/api/terminals/{name}", self._terminal)
        app.router.add_get("/terminals/websocket/{name}", self._talk)
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/"
        return self.url

    async def close(self) -> None:
        for name, terminal in tuple(self.terminals.items()):
            self.end(name)
            await terminal.process.wait()
        await asyncio.wait_for(asyncio.gather(*self._tasks, return_exceptions=True), 5)
        assert self._runner is not None
        await self._runner.cleanup()

    def drop(self) -> int:
        """Break all connections as a cable does; how many there were."""
        sockets = [socket for terminal in self.terminals.values() for socket in terminal.sockets]
        for socket in sockets:
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()
        return len(sockets)

    def end(self, name: str) -> None:
        """Kill what runs in the terminal."""
        with suppress(OSError):
            self.terminals[name].process.kill()

    async def _terminals(self, request: web.Request) -> web.Response:
        if self.refusal:
            return web.json_response({"message": "no"}, status=self.refusal)
        if request.method == "GET":
            return web.json_response([{"name": name} for name in self.terminals])
        self.made += 1
        name = str(self.made)
        descriptor, inner = os.openpty()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", TAKE_TERMINAL, *self.shell),
            env={**os.environ, "TERM": "xterm-256color"},
            start_new_session=True,
            stdin=inner,
            stdout=inner,
            stderr=inner,
        )
        os.close(inner)
        self.terminals[name] = terminal = ServedTerminal(process, descriptor)
        asyncio.get_running_loop().add_reader(descriptor, self._read, name, terminal)
        return web.json_response({"name": name})

    async def _terminal(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self.terminals:
            return web.json_response({"message": "gone"}, status=404)
        if request.method == "DELETE":
            self.terminals[name].process.send_signal(signal.SIGHUP)
            return web.Response(status=204)
        return web.json_response({"name": name})

    async def _talk(self, request: web.Request) -> web.WebSocketResponse:
        terminal = self.terminals.get(request.match_info["name"])
        if terminal is None:
            raise web.HTTPNotFound
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json(["setup", {}])
        if terminal.remembered:
            await socket.send_json(["stdout", "".join(terminal.remembered)])
        terminal.sockets.append(socket)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    match message.json():
                        case ["stdin", str(text)]:
                            await asyncio.to_thread(os.write, terminal.descriptor, text.encode())
        except OSError:
            pass
        finally:
            with suppress(ValueError):
                terminal.sockets.remove(socket)
        return socket

    def _read(self, name: str, terminal: ServedTerminal) -> None:
        try:
            data = os.read(terminal.descriptor, 65_536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(terminal.descriptor)
            os.close(terminal.descriptor)
            self.terminals.pop(name, None)
            self._do(self._reap(terminal))
            return
        text = self.noise + terminal.decoder.decode(data)
        terminal.remembered.append(text)
        for socket in terminal.sockets:
            self._do(self._send(socket, ["stdout", text]))

    async def _reap(self, terminal: ServedTerminal) -> None:
        for socket in tuple(terminal.sockets):
            await self._send(socket, ["disconnect", 1])
            with suppress(OSError):
                await socket.close()
        await terminal.process.wait()

    async def _send(self, socket: web.WebSocketResponse, message: list[Any]) -> None:
        with suppress(OSError):
            await socket.send_json(message)

    def _do(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _specs(request: web.Request) -> web.Response:
    return web.json_response({"kernelspecs": {}})
