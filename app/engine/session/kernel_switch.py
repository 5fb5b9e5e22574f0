"""What Python code of a session runs in: finding what there is (also while code runs), another one, a fresh one."""

import asyncio
import logging
from collections.abc import Callable

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.protocol import KernelsFound, Reply
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.kernels.base import Kernel, KernelSource, kernel_change

INSTALL_TIME = 600.0
"""Seconds that an installation may take."""

_log = logging.getLogger(__name__)


class KernelSwitch:
    """Starts kernels anew, or elsewhere, and looks for what there is to choose from."""

    def __init__(
        self,
        session: Session,
        kernels: KernelSource,
        tell: Callable[[Reply], None],
        *,
        install_time: float = INSTALL_TIME,
    ) -> None:
        self._session = session
        self._kernels = kernels
        self._tell = tell
        self._install_time = install_time
        self._finding: dict[str, asyncio.Task[None]] = {}
        """By the server that is asked; "" is this machine."""
        self._saving: set[asyncio.Task[None]] = set()

    def tasks(self) -> list[asyncio.Task[None]]:
        """What is under way, for whoever closes the session."""
        return [*self._finding.values(), *self._saving]

    def tell_states(self) -> None:
        """How the kernels are doing: those that were started, and that in which code of the record would run again,
        which may be in another place than it was."""
        kernels = self._kernels.started_kernels()
        ran = any(isinstance(one, CodeBlock) and one.place for one in self._session.transcript.blocks)
        if ran and "python" in self._kernels.languages and not any(kernel.language == "python" for kernel in kernels):
            kernels = (*kernels, self._kernels.get("python"))
        for kernel in kernels:
            self._tell_kernel(kernel, kernel.state, kernel.place)

    async def use(self, name: str) -> None:
        """Run Python code elsewhere from now on; SettingsError if that is not there or cannot run it."""
        place = await self._kernels.use(name)
        self.tell_states()
        self._session.notice("info", f"Code now runs in {place}. Variables are gone.")

    async def install(self, name: str, command: str) -> None:
        """Run this command, which installs ipykernel in an environment, and run Python code there then. SettingsError
        if another command would run now, or there is nothing to install."""
        kernel, found = await self._kernels.installer(name)
        if found != command:
            raise SettingsError("Not installed: another command would run now.", hint="/kernel shows it.")
        stop = asyncio.get_running_loop().call_later(self._install_time, self._stop_installing)
        try:
            block = await self._session.run_code("shell", command, kernel)
        finally:
            stop.cancel()
            await kernel.close()
            shell = self._kernels.get("shell")
            self._tell_kernel(shell, shell.state)  # it was the installer's that was told last
        if block.state == "ok":
            await self.use(name)
        else:
            hint = "What it said stands above. Code runs where it ran before."
            self._session.notice("warning", f"ipykernel was not installed in {name}.", hint)

    def _stop_installing(self) -> None:
        self._session.notice("warning", f"Stopped: nothing was installed within {self._install_time / 60:.0f} minutes.")
        self._session.interrupt(turn=True)

    async def restart(self, language: Language | None) -> list[Language]:
        """A fresh process for this language, or for all that were started; those languages."""
        restarted = []
        for kernel in self._kernels.started_kernels():
            if language is None or kernel.language == language:
                self._tell_kernel(kernel, "restarting")
                await kernel.restart()
                self._tell_kernel(kernel, "idle")
                restarted.append(kernel.language)
        return restarted

    def find(self, server: str) -> None:
        """Look for what there is here, or on this server; answered with `KernelsFound`, once for several questions."""
        if (finding := self._finding.get(server)) is None or finding.done():
            self._finding[server] = asyncio.create_task(self._find(server))

    def save(self, path: str, data: bytes) -> None:
        """Make a file on the server on which code runs; how that went is told in a notice."""
        saving = asyncio.create_task(self._save(path, data))
        self._saving.add(saving)
        saving.add_done_callback(self._saving.discard)

    async def _save(self, path: str, data: bytes) -> None:
        try:
            host = await self._kernels.write_file(path, data)
        except OiTuiError as error:
            self._session.report(error)
        except Exception as error:
            # Boundary: a file that cannot be saved must not end the session.
            _log.exception("saving on a server failed")
            self._session.notice("error", f"{path} was not saved: {error!r}.")
        else:
            self._session.notice("info", f"Saved remote:{path} on {host}.")

    def _tell_kernel(self, kernel: Kernel, state: KernelState, place: str = "") -> None:
        self._session.emit(kernel_change(kernel.language, kernel, state, place))

    async def _find(self, server: str) -> None:
        try:
            found = KernelsFound(server=server, choices=await self._kernels.choices(server))
        except OiTuiError as error:
            found = KernelsFound(server=server, why=" ".join(part for part in (error.title, error.hint) if part))
        except Exception as error:
            # Boundary: looking for what there is must not keep anybody from naming one.
            _log.exception("looking for kernels failed")
            found = KernelsFound(server=server, why=f"Looking for kernels failed: {error!r}.")
        self._tell(found)
