"""The door of a detached engine: a socket of its own, at which front ends of the same person come in, one at a time."""

import asyncio
import logging
import socket
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

from oi_tui.app.engine.core.protocol import Attach, Standing
from oi_tui.app.engine.core.protocol_lines import ProtocolError
from oi_tui.app.engine.files.engine_sockets import PATIENCE, is_own, listen_for, peer_of
from oi_tui.app.engine.session.line import LINE_LIMIT, Line

REMOVE_AFTERWARDS = 'read -r _; rm -f -- "$1"'
"""Waits for our end, however that comes about, and removes the socket. Its name is never used again."""

Welcome = Callable[[Line, Attach], Awaitable[None]]
"""Takes a front end in, or refuses it."""

_log = logging.getLogger(__name__)


class Listener:
    """Listens until it is closed. Make it with `open`."""

    def __init__(self, session_id: str, path: Path, describe: Callable[[], Standing], welcome: Welcome) -> None:
        self.session_id = session_id
        self.path = path
        self._describe = describe
        self._welcome = welcome
        self._server: asyncio.Server | None = None
        self._remover: subprocess.Popen[bytes] | None = None

    @classmethod
    async def open(cls, session_id: str, describe: Callable[[], Standing], welcome: Welcome) -> "Listener":
        """OiTuiError if it cannot listen. `describe` answers every request for the state."""
        listening, path = await asyncio.to_thread(listen_for, session_id)
        made = cls(session_id, path, describe, welcome)
        made._remover = _start_remover(path)
        made._server = await asyncio.start_unix_server(made._come_in, sock=listening, limit=LINE_LIMIT)
        return made

    def close(self) -> None:
        """Accept no further front ends."""
        if self._server is not None:
            self._server.close()
        self.path.unlink(missing_ok=True)
        if self._remover is not None:
            self._remover.communicate()

    async def _come_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: socket.socket = writer.get_extra_info("socket")
        peer = peer_of(connection)
        line = Line(reader, writer)
        if not is_own(peer):
            _log.warning("process %d of user %d was not let in", peer.pid, peer.uid)
            line.hang_up()
            return
        try:
            async with asyncio.timeout(PATIENCE):
                if not await line.is_greeted():
                    return
                await line.send(self._describe())
                attach = await line.request()
        except TimeoutError:
            line.hang_up()
            return
        except ProtocolError as error:
            await line.refuse(error)  # or it only wanted to know, and is gone
            return
        if isinstance(attach, Attach):
            await self._welcome(line, attach)
        else:
            await line.refuse(ProtocolError("The second line must be Attach."))


def _start_remover(path: Path) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", REMOVE_AFTERWARDS, "sh", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        _log.warning("nobody will remove %s if we are killed: %s", path, error)
        return None
