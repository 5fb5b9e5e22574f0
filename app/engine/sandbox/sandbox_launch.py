"""One way into a sandbox: what has to be started instead of a command, and the proof that the sandbox holds.

entrance = await Entrance.open(profile, argv, environ, private=folder)
process = start(entrance.argv, entrance.env, pass_fds=entrance.pass_fds)
await entrance.prove()                              # KernelError if a promise is broken
pid = leader(process.pid)                           # of the command itself, as it is seen from here
...
await entrance.close()                              # after the process has ended
"""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.sandbox import bubblewrap, placeholders, places, seccomp, selftest
from oi_tui.app.engine.sandbox.environments import enclosed_environment
from oi_tui.app.engine.sandbox.hosts import OnRefusal, Refusal
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.proxy import Proxy

PATIENCE = 2.0
"""Seconds that the stand-ins have to be gone after the sandbox is."""

INSIDE_PROGRAM = Path(__file__).with_name("inside.py")
KEEPER = Path(placeholders.__file__)

NO_FALLBACK = "Nothing was run. To do without: --sandbox danger-full-access, or /sandbox on the screen."


class SandboxLaunch:
    """Made by `open`; owns descriptors, the proxy and the stand-ins of its sandbox."""

    def __init__(self, profile: Profile, on_refusal: OnRefusal | None = None) -> None:
        self._profile = profile
        self._on_refusal = on_refusal or _ignore_refusal
        self.argv: list[str] = []
        self.env: dict[str, str] = {}
        """Of what is started: what bubblewrap itself gets can be read inside."""
        self._ours: list[int] = []
        """Descriptors that are ours until the process has its own."""
        self._passed: list[int] = []
        self._report = -1
        self._probe: selftest.Probe | None = None
        self._proxy: Proxy | None = None
        self._placeholder_process: asyncio.subprocess.Process | None = None

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """Descriptors that it needs."""
        return tuple(self._passed)

    @classmethod
    async def open(
        cls,
        profile: Profile,
        argv: Sequence[str],
        environ: Mapping[str, str],
        *,
        private: Path,
        shared: bool = True,
        extra: Mapping[str, str] | None = None,
        on_refusal: OnRefusal | None = None,
    ) -> Self:
        """Get everything ready. KernelError if there can be no such sandbox here.

        `private` is a folder of ours, which code in there may change where it is `shared`: we must not write in it
        then, for there may be links. Pipes and sockets in it can be used by both sides in any case. `extra` are
        variables that are passed on as they are. `on_refusal` is told of what asks for the network in vain.
        """
        bubblewrap.check(profile)
        program = bubblewrap.find_bubblewrap(profile)
        if program is None:
            raise KernelError(
                "There is no sandbox here: bubblewrap is not installed.",
                hint=f"Install it (the package “bubblewrap”). {NO_FALLBACK}",
            )
        if not seccomp.is_supported():
            raise KernelError("There is no sandbox for this processor.", hint=NO_FALLBACK)
        if shutil.which(argv[0], path=environ.get("PATH", os.defpath)) is None:
            raise KernelError(f"The kernel could not be started: there is no program {argv[0]}.")
        entrance = cls(profile, on_refusal)
        kind = bubblewrap.MountKind.WRITABLE if shared else bubblewrap.MountKind.READABLE
        try:
            await entrance._prepare(program, argv, environ, bubblewrap.Mount(private, kind), extra or {})
        except OSError as error:
            await entrance.close()
            raise KernelError(f"The sandbox could not be prepared: {error}.", hint=NO_FALLBACK) from error
        except BaseException:
            await entrance.close()
            raise
        return entrance

    async def prove(self) -> None:
        """Wait for the proof; KernelError without it, or where it fails: the command has not run then."""
        self._let_go()
        report = selftest.Report.parse(await _read_to_end(self._take_report()))
        self._close_probe()
        if report is None:
            raise KernelError("The sandbox could not be set up.", hint=f"The details say why. {NO_FALLBACK}")
        if not report.holds:
            raise KernelError(
                "The sandbox does not keep what it promises.",
                hint=f"The details say which promise is broken. {NO_FALLBACK}",
                details="\n".join(report.broken) or "Not every promise was checked.",
            )

    async def close(self) -> None:
        """Give everything back; idempotent."""
        self._let_go()
        self._close_probe()
        if self._report >= 0:
            os.close(self._take_report())
        if self._proxy is not None:
            await self._proxy.close()
        if self._placeholder_process is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._placeholder_process.wait()

    async def _prepare(
        self,
        program: str,
        argv: Sequence[str],
        environ: Mapping[str, str],
        private: bubblewrap.Mount,
        extra: Mapping[str, str],
    ) -> None:
        profile = self._profile
        sync = await self._keep_placeholders()
        plan = bubblewrap.plan(profile, private, places.program_places(argv[0]))
        socket = private.path / "proxy" if profile.network == "hosts" else None
        if socket is not None:
            self._proxy = await Proxy(profile.hosts, self._on_refusal).open(socket)
        usual = enclosed_environment(environ, profile.environment, profile.home, proxy=socket is not None)
        self.env = usual | dict(extra)
        self._probe = selftest.Probe()
        filter_ = self._memory(seccomp.filter_program())
        told = self._memory(selftest.encode_promises(profile, plan, self.env, bait=self._probe, proxy=socket))
        self._report, said = os.pipe()
        self._pass(said)
        arguments = bubblewrap.arguments(profile, plan.mounts, inside=INSIDE_PROGRAM, seccomp=filter_, sync=sync)
        # Not on the command line, where it would be in the way of everybody who lists processes.
        listed = self._memory(b"".join(f"{argument}\0".encode("utf-8", "surrogateescape") for argument in arguments))
        self.argv = [
            *(program, "--args", str(listed), "--"),
            *(sys.executable, "-I", "-S", bubblewrap.INSIDE_PATH, str(told), str(said)),
            *argv,
        ]

    async def _keep_placeholders(self) -> int | None:
        """The descriptor that has to be open as long as the stand-ins are needed, if any are."""
        claimed = placeholders.claim(map(str, bubblewrap.missing_paths(self._profile)))
        if not claimed:
            return None
        end, sync = os.pipe()
        self._pass(sync)
        named = [text for path, descriptor in claimed.items() for text in (path, str(descriptor))]
        try:
            self._placeholder_process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(KEEPER), *named),
                stdin=end,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                pass_fds=tuple(claimed.values()),
                env={},
                cwd="/",
                start_new_session=True,  # it has to live on when everything else is killed
            )
        except BaseException:
            placeholders.release(claimed)
            raise
        finally:
            os.close(end)
        for descriptor in claimed.values():
            os.close(descriptor)
        return sync

    def _memory(self, data: bytes) -> int:
        """A descriptor from which this can be read."""
        descriptor = os.memfd_create("oi-tui")
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return self._pass(descriptor)

    def _pass(self, descriptor: int) -> int:
        self._ours.append(descriptor)
        self._passed.append(descriptor)
        return descriptor

    def _let_go(self) -> None:
        for descriptor in self._ours:
            os.close(descriptor)
        self._ours.clear()

    def _close_probe(self) -> None:
        if self._probe is not None:
            self._probe.close()
            self._probe = None

    def _take_report(self) -> int:
        descriptor, self._report = self._report, -1
        return descriptor


async def unavailable(profile: Profile) -> str:
    """Why there can be no such sandbox here, in plain words; "" if there can. Starts one to find out."""
    with tempfile.TemporaryDirectory(prefix="oi-") as private:
        try:
            entrance = await SandboxLaunch.open(profile, [sys.executable, "-c", ""], os.environ, private=Path(private))
        except KernelError as error:
            return error.title
        try:
            return await _try_launch(entrance)
        finally:
            await entrance.close()


async def _try_launch(entrance: SandboxLaunch) -> str:
    process = await asyncio.create_subprocess_exec(
        *entrance.argv,
        env=entrance.env,
        pass_fds=entrance.pass_fds,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        await entrance.prove()
    except KernelError as error:
        _, said = await process.communicate()
        return " ".join(f"{error.title} {error.details} {said.decode(errors='replace')}".split())
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return ""


def leader(pid: int) -> int:
    """The process of the command, by that of bubblewrap: the first one after the sandbox's own init."""
    with suppress(psutil.Error):
        for init in psutil.Process(pid).children():
            for child in init.children():
                return child.pid
    raise KernelError("The sandbox ended as soon as it was started.")


def _ignore_refusal(refusal: Refusal) -> None:
    """There is nobody to tell."""


async def _read_to_end(descriptor: int) -> bytes:
    """All that is written to a pipe, which is closed then."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    try:
        return await reader.read()
    finally:
        transport.close()
