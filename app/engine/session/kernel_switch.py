"""The kernel for Python code of a session: list them (also while code runs), use another one, restart."""

import asyncio
import logging
from collections.abc import Callable

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.errors import KernelError, OiTuiError, SettingsError
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.protocol import KernelsFound, Reply
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.core.verbs import FindKernels, InstallKernel, KernelVerb, Restart, SaveRemote, UseKernel
from oi_tui.app.engine.kernels.base import Kernel, KernelSource, RejoinableKernel, kernel_change

FRESH = "This session was resumed. Its kernels are fresh: variables of earlier runs are gone. /rebuild runs code again."

_MOMENT = "What the kernel said in the moment in which the program ended may be missing."

RUNS_ON = f"The output of code that ran when the program ended is added to its block, and continues there. {_MOMENT}"

ENDED_UNSEEN = f"What ran when the program ended is over; how it ended is not known. {_MOMENT}"

INSTALL_TIME = 600.0
"""Seconds that an installation may take."""

_log = logging.getLogger(__name__)


class KernelSwitch:
    """Restarts kernels, moves them elsewhere, and lists the choices."""

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
        """By server; "" is this machine."""
        self._saving: set[asyncio.Task[None]] = set()

    def tasks(self) -> list[asyncio.Task[None]]:
        """Running tasks, to be awaited when the session closes."""
        return [*self._finding.values(), *self._saving]

    async def follow(self, job: Restart | UseKernel | InstallKernel) -> None:
        """Do what the person wants of the kernels."""
        match job:
            case Restart():
                await self.restart_and_tell(job.language)
            case UseKernel():
                await self.use(job.name, agreed=job.agreed)
            case InstallKernel():
                await self.install(job.name, job.command)

    def tell_states(self, *, moved: bool = False) -> None:
        """Report the state of the kernels that were started, and of Python if the user should know before it starts: it
        `moved`, it is on another machine, or recorded code would run again, perhaps in another place."""
        kernels = self._kernels.started_kernels()
        if "python" in self._kernels.languages and not any(kernel.language == "python" for kernel in kernels):
            python = self._kernels.get("python")
            ran = any(isinstance(one, CodeBlock) and one.place for one in self._session.transcript.blocks)
            if moved or ran or python.elsewhere:
                kernels = (*kernels, python)
        for kernel in kernels:
            self._tell_kernel(kernel, kernel.state, kernel.place)

    async def begin(self, *, returns: bool) -> None:
        """Find out what a server offers; with `returns`, reconnect to the kernels left alive there."""
        try:
            left = self._kernels.left_alive() if returns else ()
        except OiTuiError as error:  # a list that cannot be read
            self._session.report(error)
            return
        try:
            await self._kernels.look_around()
        except KernelError as error:
            if not left:
                self._session.report(error, "warning")
            for kernel in left:
                self._say_unreachable(kernel, error)
            return
        for kernel in left:
            try:
                await self._come_back(kernel)
            except OiTuiError as error:
                self._say_unreachable(kernel, error)

    async def _come_back(self, kernel: RejoinableKernel) -> None:
        session, orphan = self._session, self._find_orphan(kernel.language)
        self._tell_kernel(kernel, "starting", kernel.place)
        found = await kernel.come_back("" if orphan is None else orphan.id, "" if orphan is None else orphan.source)
        self._tell_kernel(kernel, kernel.state, kernel.place)
        if found == "gone":
            session.notice("warning", f"The kernel of this session is gone: {kernel.place}.", FRESH)
            return
        title = f"Back at the kernel of this session: {kernel.place}. Its variables are there."
        if orphan is None:
            session.notice("info", title)
        elif found == "runs":
            session.notice("info", title, RUNS_ON)
        else:
            session.notice("info", title, ENDED_UNSEEN)
        await session.come_back(kernel, orphan.id if orphan is not None and found == "runs" else "")

    def _find_orphan(self, language: Language) -> CodeBlock | None:
        """The last run of this language, if its end is not on record."""
        blocks = reversed(self._session.transcript.blocks)
        last = next(
            (one for one in blocks if isinstance(one, CodeBlock) and one.language == language and _began(one)), None
        )
        if last is None or last.duration is not None or last.state != "interrupted":
            return None
        return last

    def _say_unreachable(self, kernel: RejoinableKernel, error: OiTuiError) -> None:
        self._tell_kernel(kernel, kernel.state, kernel.place)
        title = f"The kernel of this session may still live, but there is no way to it: {kernel.place}."
        self._session.notice("warning", title, f"{error.title} The next run tries again.", error.details)

    async def use(self, name: str, *, agreed: bool = False) -> None:
        """Run Python code elsewhere from now on. SettingsError if that does not exist or cannot run it, and without
        `agreed` if somebody else started it."""
        move = await self._kernels.use(name, agreed=agreed)
        self.tell_states(moved=True)
        variables = "Its variables are there" if move.keeps_variables else "Variables are gone"
        self._session.notice("info", f"Code now runs in {move.place}. {variables}.")
        for left in move.left:
            self._session.report(left, "warning")

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
            self._tell_kernel(shell, shell.state)  # the last report was about the installer
        if block.state == "ok":
            await self.use(name)
        else:
            hint = "Its output is above. Code runs where it ran before."
            self._session.notice("warning", f"ipykernel was not installed in {name}.", hint)

    def _stop_installing(self) -> None:
        self._session.notice("warning", f"Stopped: nothing was installed within {self._install_time / 60:.0f} minutes.")
        self._session.interrupt(turn=True)

    def language(self, label: str) -> Language:
        """The language with this label; SettingsError if there is no kernel for it."""
        if (language := self._kernels.canonical(label)) is None:
            raise SettingsError(f"There is no kernel for {label!r}.")
        return language

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

    async def restart_and_tell(self, language: Language | None) -> None:
        """The same, and a notice that says which."""
        names = ", ".join(await self.restart(language))
        self._session.notice("info", f"Restarted: {names}. Variables are gone." if names else "No kernel runs yet.")

    def begin_task(self, verb: KernelVerb) -> None:
        """Begin a task that runs while code may run."""
        match verb:
            case FindKernels():
                self.find(verb.server)
            case SaveRemote():
                self.save(verb.path, verb.data)
            case _:
                raise TypeError(f"no verb about kernels: {verb}")

    def find(self, server: str) -> None:
        """List the kernels of this machine or of this server; answered with `KernelsFound`, once for several
        questions."""
        if (finding := self._finding.get(server)) is None or finding.done():
            self._finding[server] = asyncio.create_task(self._find(server))

    def save(self, path: str, data: bytes) -> None:
        """Create a file on the server where code runs; a notice reports the result."""
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
            # Boundary: a failed list must not keep the person from naming a kernel.
            _log.exception("looking for kernels failed")
            found = KernelsFound(server=server, why=f"Looking for kernels failed: {error!r}.")
        self._tell(found)


def _began(block: CodeBlock) -> bool:
    """Whether it was given to a kernel."""
    return block.duration is not None or (block.ending is not None and block.ending.stage == "running")
