"""A Jupyter server of ours on another machine: started or found over ssh, reached through a socket here.

It outlives the connection, which reconnects when it is lost. The last one to leave stops it, unless kernels stay;
without kernels it ends by itself after a while, and so do kernels that nobody reconnects to.
"""

import asyncio
import logging
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.remote.address import KernelAddress
from oi_tui.app.engine.kernels.remote.server import KernelGone, ServerAsleep
from oi_tui.app.engine.kernels.remote.ssh_process import SshProcess, printable, ssh_arguments
from oi_tui.app.engine.kernels.remote.ssh_script import Way, begin_script, hold_script

BEGINNING = 120.0
"""Seconds until a server runs there, another one that starts it at the same time included."""

HOLDING = 30.0
"""Seconds until a connection must be open."""

CHECKING = 10.0
"""Seconds in which the other side says that it is there; longer, and a new connection is made."""

STOPPING = 8.0
"""Seconds that a server has to end."""

INSTALL = "python3 -m pip install --user jupyter_server ipykernel"

_SOCKET = re.compile(r"/[A-Za-z0-9/._-]{1,105}")
_TOKEN = re.compile(r"[!-~]{1,500}")

_log = logging.getLogger(__name__)


class SshServer:
    """The server there, and the local socket that leads to it."""

    def __init__(
        self, address: KernelAddress, folder: Path, *, python: str = "", command: str, environ: Mapping[str, str]
    ) -> None:
        """`folder` is private and short, for the socket. `python` is a program or an environment there; without one it
        is the login shell's jupyter. `command` is the ssh to run."""
        self.host = address.host
        self.socket = folder / "ssh"
        self.token = ""
        self._address = address
        self._python = python or address.path
        self._command = command
        self._environ = environ
        self._client = secrets.token_hex(8)
        self._way: Way = "socket"
        self._target = ""
        """Where the server listens there."""
        self._process: SshProcess | None = None
        self._checks = 0
        """How often it was asked whether it is there."""
        self._answered = 0
        """The last of these that was answered."""
        self._lock = asyncio.Lock()

    @property
    def is_silent(self) -> bool:
        """Whether the connection is gone, or did not answer what it was asked last."""
        return self._process is None or self._process.has_ended or self._answered != self._checks

    async def open(self, *, starts: bool = True) -> None:
        """Start the server or find it, and connect to it; KernelError in plain words if that fails. Without `starts` it
        must be running: ServerAsleep."""
        for _ in range(3):
            try:
                await self._begin(starts=starts)
            except ServerAsleep:
                if self._way == "port":
                    raise
                self._way = "port"
                continue
            try:
                await self._hold()
            except KernelGone:
                continue  # somebody stopped it in this moment
            if await self._answers():
                return
            if self._way == "port":
                break
            _log.info("no sockets over ssh to %s: a port of its loopback interface instead", self.host)
            await (self.stop() if starts else self.leave())
            self._way = "port"
        await self.leave()
        raise KernelError(
            f"ssh reaches {self.host}, but not the Jupyter server there.",
            hint="Does its sshd allow forwarding (AllowTcpForwarding, AllowStreamLocalForwarding)?",
        )

    async def ready(self) -> None:
        """Wait until the way is there again, if it is not; KernelGone if the server has ended."""
        async with self._lock:
            if self._process is not None and not self._process.has_ended:
                try:
                    if await self._is_alive(self._process):
                        return
                except KernelError as error:
                    _log.info("reconnecting to %s by ssh: %s", self.host, error)
                else:
                    raise KernelGone(f"The Jupyter server on {self.host} has ended.")
            await self._hold()

    async def stop(self) -> None:
        """Leave, and stop the server unless somebody else uses it."""
        if self._process is not None and not self._process.has_ended:
            try:
                await self._process.send("stop\n")
                async with asyncio.timeout(STOPPING):
                    while (await self._process.read(STOPPING))[0] not in ("stopped", "left"):
                        pass
            except (KernelError, TimeoutError) as error:
                _log.warning("the Jupyter server on %s ends later, by itself: %s", self.host, error)
        await self.leave()

    async def leave(self) -> None:
        """End the connection; the server stays."""
        if self._process is None:
            return
        await self._process.close()
        self._process = None
        if await self._is_open():  # a connection that the user shares (ControlMaster) keeps its forwardings
            options = ("-O", "cancel", "-L", f"{self.socket}:{self._target}")
            arguments = ssh_arguments(self._command, self._address, *options)
            cancelling = await SshProcess.start(arguments, self._address, self._environ, "")
            with suppress(KernelError):
                await cancelling.read(CHECKING)  # its end is an error
            await cancelling.close()

    # -- over ssh --------------------------------------------------------------------------------------

    async def _begin(self, *, starts: bool) -> None:
        arguments = ssh_arguments(self._command, self._address, "-o", "ClearAllForwardings=yes")
        script = begin_script(self._python, self._way, starts=starts)
        process = await SshProcess.start(arguments, self._address, self._environ, script)
        try:
            said = await process.read(BEGINNING)
        finally:
            await process.close()
        match said:
            case ["state", _, port, socket, token] if _TOKEN.fullmatch(token):
                self.token = token
                if self._way == "socket" and _SOCKET.fullmatch(socket):
                    self._target = socket
                    return
                if port.isascii() and port.isdecimal() and 0 < int(port) < 65_536:
                    self._target = f"127.0.0.1:{port}"
                    return
            case ["failed", "asleep", *_]:
                raise ServerAsleep(self.host)
            case ["failed", why, *log]:
                raise self._explain(why, _from_hex("".join(log)))
        raise KernelError(f"{self.host} answers, but not as our script does.")

    async def _hold(self) -> None:
        await self.leave()
        self.socket.unlink(missing_ok=True)
        arguments = ssh_arguments(self._command, self._address, "-L", f"{self.socket}:{self._target}")
        script = hold_script(self._python, self._way, self._client)
        self._process = process = await SshProcess.start(arguments, self._address, self._environ, script)
        try:
            said = await process.read(HOLDING)
        except BaseException:
            await self.leave()
            raise
        if said[0] == "gone":
            raise KernelGone(f"The Jupyter server on {self.host} has ended.")

    async def _is_alive(self, process: SshProcess) -> bool:
        self._checks += 1
        number = str(self._checks)
        await process.send(f"check {number}\n")
        try:
            async with asyncio.timeout(CHECKING):
                while True:
                    match await process.read(CHECKING):
                        case ["alive" | "gone" as state, said] if said == number:
                            self._answered = self._checks
                            return state == "alive"
        except TimeoutError:
            raise KernelError(f"{self.host} says other things over ssh than it is asked.") from None

    async def _answers(self) -> bool:
        """Whether there is a server behind the socket: a machine may forbid forwarding."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CHECKING):
                reader, writer = await asyncio.open_unix_connection(self.socket)
                try:
                    writer.write(b"GET /api HTTP/1.0\r\nHost: localhost\r\n\r\n")
                    return bool(await reader.read(1))
                finally:
                    writer.close()
        return False

    async def _is_open(self) -> bool:
        with suppress(OSError):
            _, writer = await asyncio.open_unix_connection(self.socket)
            writer.close()
            return True
        return False

    def _explain(self, why: str, log: str) -> KernelError:
        host = self.host
        if why == "jupyter" or re.search("jupyter-server. not found|No module named .?jupyter_server", log):
            where = f"{self._python} on {host} has" if self._python else f"{host} has"
            python = self._python if self._python.endswith(("python", "python3")) else ""
            install = INSTALL.replace("python3", python).replace(" --user", "") if python else INSTALL
            return KernelError(
                f"{where} no Jupyter server.",
                hint=f"Install it there: {install}. If it is there, say where: ssh://{host}/PATH/OF/ENVIRONMENT.",
                details=log,
            )
        if why == "python":
            return KernelError(
                f"There is no Python environment {self._python} on {host}.",
                hint="Say the folder of an environment or a Python there.",
            )
        told = {
            "folder": "its folder (~/.local/share/oi-tui) cannot be written",
            "slow": "it was not up within a minute",
        }
        reason = told.get(why, "it ended at once")
        return KernelError(f"The Jupyter server on {host} could not be started: {reason}.", details=log)


def _from_hex(text: str) -> str:
    try:
        return printable(bytes.fromhex(text))
    except ValueError:
        return ""
