"""The person's own ssh, run once: our script at its other end, lines in and lines out. Their settings, keys, agent and
jump hosts count; nothing here sees a password. All that ssh and the other machine say is hostile."""

import asyncio
import os
import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Self

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.kernels.remote.address import KernelAddress
from oi_tui.app.engine.kernels.remote.ssh_script import BOOTSTRAP

STDERR_KEPT = 4_000
"""Bytes of the end of what ssh says."""

LINE_LIMIT = 65_536
"""Bytes of a line that is taken in."""

NOISE_LIMIT = 2_000
"""Lines of profiles and banners before ours; with more there is nothing to be talked to."""

LAST_MOMENT = 2.0
"""Seconds that ssh has to end by itself."""

OPTIONS = (
    "BatchMode=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    "LogLevel=ERROR",
    "RemoteCommand=none",
    "PermitLocalCommand=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ForkAfterAuthentication=no",
    "StdinNull=no",
    "ExitOnForwardFailure=no",
    "StreamLocalBindUnlink=yes",
    "StreamLocalBindMask=0177",
)
"""What counts more than the person's settings: nothing is asked, nothing of this machine is lent to the other one."""


def ssh_arguments(command: str, address: KernelAddress, *options: str) -> list[str]:
    """The command line; KernelError if the setting is not a command."""
    try:
        program = shlex.split(command)
    except ValueError:
        program = []
    if not program:
        raise KernelError(f"kernel.ssh_command is no command: “{command[:200]}”.", hint="Say for example: ssh -F FILE.")
    arguments = [*program, "-T", *(word for option in OPTIONS for word in ("-o", option)), *options]
    if address.user:
        arguments += ["-l", address.user]
    if address.port:
        arguments += ["-p", str(address.port)]
    return [*arguments, "--", address.host]


def printable(text: bytes) -> str:
    """The printable text, line by line."""
    said = text.decode(errors="replace").replace("\r\n", "\n")
    return "".join(sign for sign in said if sign.isprintable() or sign == "\n").strip()


class SshProcess:
    """One connection, with a script running at the other end."""

    def __init__(
        self, process: asyncio.subprocess.Process, pipes: asyncio.SubprocessTransport, address: KernelAddress
    ) -> None:
        self._process = process
        self._pipes = pipes
        self._address = address
        self._said = b""
        self._reader = asyncio.create_task(self._read_errors())

    @classmethod
    async def start(
        cls, arguments: Sequence[str], address: KernelAddress, environ: Mapping[str, str], script: str
    ) -> Self:
        """Start it, and give it the script; KernelError if there is no ssh."""
        loop = asyncio.get_running_loop()
        try:
            # As asyncio.create_subprocess_exec does, which keeps what can let go of the pipes to itself.
            pipes, protocol = await loop.subprocess_exec(
                lambda: asyncio.subprocess.SubprocessStreamProtocol(limit=LINE_LIMIT, loop=loop),
                *arguments,
                BOOTSTRAP,
                env=dict(environ),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # no terminal: there is nothing that ssh could ask on
            )
        except (OSError, ValueError) as error:
            raise KernelError(
                f"{arguments[0]} could not be started: {getattr(error, 'strerror', None) or error}.",
                hint="Install OpenSSH's client, or say in kernel.ssh_command which program it is.",
            ) from error
        made = cls(asyncio.subprocess.Process(pipes, protocol, loop), pipes, address)
        with suppress(KernelError):  # the reader gets the reason
            await made.send(script)
        return made

    @property
    def has_ended(self) -> bool:
        """Whether the connection is gone."""
        return self._process.returncode is not None

    async def send(self, text: str) -> None:
        """Say something to the script; KernelError if nobody is there."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode())
            await self._process.stdin.drain()
        except OSError:
            raise await self._failure() from None

    async def read(self, within: float) -> list[str]:
        """The words of the script's next line; KernelError if there is none in this time."""
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(within):
                for _ in range(NOISE_LIMIT):
                    line = await self._process.stdout.readline()
                    if not line:
                        raise await self._failure()
                    match line.decode("ascii", "replace").split():
                        case ["oi-tui", *words] if words:
                            return words
        except TimeoutError:
            raise KernelError(
                f"{self._address.host} did not answer over ssh within {within:g} seconds.", details=self._last_words()
            ) from None
        except ValueError:  # a line without an end
            pass
        raise KernelError(f"{self._address.host} says things over ssh that make no sense.", details=self._last_words())

    async def close(self) -> None:
        """End the connection, whatever still goes through it; the script sees the end of its input."""
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(LAST_MOMENT):
                await self._process.wait()
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self._process.wait()
        finally:
            await cancel_tasks(self._reader)
            # What ssh started (a proxy, a shared connection) may hold its pipes open for long.
            self._pipes.close()

    def _signal(self, number: signal.Signals) -> None:
        """By its pid: asyncio's own method may take the exit status away from the waiter."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while said := await self._process.stderr.read(LINE_LIMIT):
            self._said = (self._said + said)[-STDERR_KEPT:]

    def _last_words(self) -> str:
        return printable(self._said)

    async def _failure(self) -> KernelError:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_MOMENT):
                await self._process.wait()
                await self._reader
        return explain_failure(self._address, self._last_words())


def explain_failure(address: KernelAddress, said: str) -> KernelError:
    """Why ssh ended, by its messages, in plain words."""
    host = address.host
    words = [
        "ssh",
        *(["-p", str(address.port)] if address.port else []),
        *(["-l", address.user] if address.user else []),
    ]
    once = f"Run `{shlex.join([*words, host])}` once in a terminal"
    for pattern, title, hint in (
        (
            "IDENTIFICATION HAS CHANGED|host key for .* has changed",
            f"The host key of {host} is not the one that ssh knows: it may be another machine.",
            "Ask who runs it. ssh-keygen -R forgets the key that was known.",
        ),
        ("Host key verification failed|authenticity of host", f"ssh does not know the host key of {host} yet.",
         f"{once}, compare the key that it shows, then try again."),
        ("Permission denied|Too many authentication failures|No more authentication methods",
         f"{host} does not let ssh in without asking: a key is missing, is not accepted, or has a passphrase.",
         f"{once} and see what it asks; with a passphrase, ssh-add the key before."),
        ("Could not resolve hostname", f"ssh finds no machine called {host}.", "Is the name right?"),
        ("Connection refused|timed out|No route to host|Network is unreachable",
         f"{host} cannot be reached over ssh.", "Is it on, and the port right?"),
        ("not found|No such file", f"{host} has no usable shell for ssh.", f"{once} and see."),
    ):  # fmt: skip
        if re.search(pattern, said, re.IGNORECASE):
            return KernelError(title, hint=hint, details=said)
    return KernelError(f"The ssh connection to {host} ended.", hint=f"{once} and see what happens.", details=said)
