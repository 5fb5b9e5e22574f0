"""The kernels of a session, by language: made when first asked for, kept until the end."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from oi_tui.app.engine.core.errors import KernelError, OiTuiError
from oi_tui.app.engine.core.kernel_choice import KernelChoice, KernelMove
from oi_tui.app.engine.core.programs import LanguageProgram, Program
from oi_tui.app.engine.core.values import FRESH_KERNEL, Language
from oi_tui.app.engine.environments.discovery import named_environment, usable_environment
from oi_tui.app.engine.environments.machine import machine_in_words
from oi_tui.app.engine.kernels.base import Kernel, RejoinableKernel, ServerFile
from oi_tui.app.engine.kernels.choices import ask_server, find_choices
from oi_tui.app.engine.kernels.installing import InstallRunner, installer
from oi_tui.app.engine.kernels.jupyter import JupyterKernel, installed_kernelspecs, kernelspec
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.page_kernel import PAGE_LANGUAGE, PageKernel
from oi_tui.app.engine.kernels.preparation import for_tool_files
from oi_tui.app.engine.kernels.programs import ProgramKernel, program_spec
from oi_tui.app.engine.kernels.remote.contents import read_remote, write_remote
from oi_tui.app.engine.kernels.remote.kernel import RemoteKernel
from oi_tui.app.engine.kernels.remote.living import living_kernels
from oi_tui.app.engine.kernels.remote.seat import RemotePlace
from oi_tui.app.engine.kernels.remote.server_kernels import ServerKernels
from oi_tui.app.engine.kernels.remote.servers import KnownServer, known_servers
from oi_tui.app.engine.kernels.remote.terminal import remote_shell
from oi_tui.app.engine.kernels.remote.terminals import find_obstacle, no_shell, tell_where
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.kernels.spec import FOREIGN, PYTHON_NAMES, SHELL_NAMES
from oi_tui.app.engine.kernels.worker import WorkerKernel

SHORT_NAMES = {"js": "javascript", "ts": "typescript", "jl": "julia", "rb": "ruby", "rs": "rust", "hs": "haskell"}
COMPUTER = (
    "In Python, `import computer` gives computer.run(language, code) for other languages and computer.ask(prompt) "
    "for a model; both return text."
)
MOST_LANGUAGES = 20
"""The labels a model reads about; other labels still work in a fence."""


class Kernels:
    """Makes and keeps one kernel for each language."""

    def __init__(
        self,
        launch: Launch,
        remark: str = "",
        server: KnownServer | None = None,
        *,
        there: ServerKernels | None = None,
        programs: Mapping[Language, Program] | None = None,
    ) -> None:
        """`remark` is what the person has to know of how the Python was chosen. With a `server`, or where `there` has a
        place, Python and the shell run there. `programs` run further languages."""
        self.remark = remark
        self._launch = launch
        self._there = there or ServerKernels(launch, known_servers(), living_kernels())
        if server is not None:
            self._there.place = RemotePlace(server=server, kernelspec=server.kernel)
        self._no_shell: str | None = None
        """Why no shell can run on the server, as the end of a sentence; "" if one can, None as long as nobody asked."""
        self._kernels: dict[Language, WorkerKernel] = {}
        self._installed: dict[str, str] | None = None
        self._programs = dict(programs or {})
        self._tool_kernels: dict[tuple[bool, bool], JupyterKernel] = {}
        """By what they may do: write, reach the network."""

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages that can be run here, best first."""
        shell = () if self._no_shell else ("shell",)
        there = self._there.languages
        here = (name for name in sorted(self._specs()) if name not in there)
        page = () if self._launch.small_model() else (PAGE_LANGUAGE,)  # many small models answer with HTML unasked
        return ("python", *shell, *page, *self._programs, *there, *here)[:MOST_LANGUAGES]

    @property
    def surroundings(self) -> str:
        """For the model: what code in them can reach and change."""
        launch = self._launch
        if (server := self._server) is not None:
            where = tell_where(server.host, shell_there=self._shell_on_server, no_shell=bool(self._no_shell))
            others = ", ".join(self._there.languages)
            return f"{where} There run too: {others}." if others else where
        sandbox = "" if launch.sandbox is None else launch.sandbox.tell_model()
        if launch.small_model():
            return sandbox
        return f"{sandbox} The system is {machine_in_words()}. {launch.python.tell_model()} {COMPUTER}".strip()

    @property
    def _server(self) -> KnownServer | None:
        return None if self._there.place is None else self._there.place.server

    @property
    def _shell_on_server(self) -> bool:
        return self._server is not None and self._launch.settings.shell == "server"

    async def settle(self) -> KernelError | None:
        """Ask the server in use, once, whether a shell can run there."""
        if self._server is None or not self._shell_on_server or self._no_shell is not None:
            return None
        self._no_shell = await find_obstacle(self._launch, self._server)
        return no_shell(self._server.host, self._no_shell) if self._no_shell else None

    async def read_file(self, path: str) -> ServerFile:
        """A file of the server in use."""
        return await read_remote(self._launch, self._server, path)

    async def write_file(self, path: str, data: bytes) -> str:
        """A new file on the server in use."""
        return await write_remote(self._launch, self._server, path, data)

    def get(self, language: Language) -> Kernel:
        """The kernel of this language, not necessarily started; KernelError naming those there are."""
        if language not in self._kernels:
            self._kernels[language] = self._make(language)
        return self._kernels[language]

    def canonical(self, alias: str) -> Language | None:
        """The language that a fence or a tool call means by this name, None if it cannot be run here."""
        name = alias.strip().lower()
        if not name:
            return None
        if name in PYTHON_NAMES:
            return "python"
        if name in SHELL_NAMES:
            return "shell"
        if name == PAGE_LANGUAGE:
            return PAGE_LANGUAGE
        for language, program in self._programs.items():
            if name == language or name in program.aliases:
                return language
        name = SHORT_NAMES.get(name, name)
        return self._there.find(name) or self._find_installed(name)

    def pip_installer(self, arguments: tuple[str, ...]) -> Kernel:
        """What runs `pip install` with these arguments, beside the kernels."""
        return InstallRunner(self._launch, arguments)

    def fresh_kernel(self) -> Kernel:
        """Here, also where Python runs on a server: only here it has our sandbox."""
        kernel = JupyterKernel(self._launch)
        kernel.confinement = structs.replace(kernel.confinement, apart=FRESH_KERNEL)
        return kernel

    def tool_kernel(self, *, writes: bool, network: bool) -> Kernel:
        """Here, also where Python runs on a server: only here it has our sandbox."""
        may = (writes, network)
        if may not in self._tool_kernels:
            launch = self._launch
            held = None if launch.sandbox is None else launch.sandbox.narrow(writes=writes, network=network)
            cells = (for_tool_files(), *launch.cells_at_start)
            self._tool_kernels[may] = JupyterKernel(replace(launch, sandbox=held, cells_at_start=cells))
        return self._tool_kernels[may]

    def started_kernels(self) -> tuple[Kernel, ...]:
        """The kernels that were started at least once."""
        return tuple(kernel for kernel in self._kernels.values() if kernel.generation > 0)

    def left_alive(self) -> tuple[RejoinableKernel, ...]:
        """Kernels on a server that this session left running, and that may still live."""
        languages = self._there.left_languages() if not self.started_kernels() else ()
        return tuple(kernel for kernel in map(self.get, languages) if isinstance(kernel, RemoteKernel))

    async def look_around(self) -> None:
        """Find out what the server in use can start; KernelError if it does not say."""
        await self._there.look_around()

    def hand_over(self, session_id: str, heir: str) -> None:
        """Another session takes over these kernels."""
        self._there.hand_over(session_id, heir)
        for kernel in self._kernels.values():
            if isinstance(kernel, RemoteKernel):
                kernel.seat.note_heir()

    async def use(self, name: str, *, agreed: bool = False) -> KernelMove:
        """Run Python code in this environment from now on, and have it active in the shell; or on this server."""
        launch = self._launch
        before = self._there.languages
        if not await self._there.choose(name, agreed=agreed):
            python = await asyncio.to_thread(
                usable_environment, name, launch.cwd, launch.environ, trusted=launch.trusted
            )
            self._launch = replace(launch, python=python)
            self._there.leave()
            left_behind, self._tool_kernels = self._tool_kernels, {}
            await asyncio.gather(*(kernel.close() for kernel in left_behind.values()))
        self._no_shell = None
        left: list[OiTuiError] = []
        for language in ("python", "shell", *before, *self._there.languages):
            old = self._kernels.pop(language, None)
            if old is not None:
                try:
                    await (old.end() if isinstance(old, RemoteKernel) else old.close())
                except OiTuiError as error:  # it is left even so, and the others must be
                    left.append(error)
                if language not in self.languages:
                    continue
                # Approvals for the last kernel do not apply to this one.
                fresh = self._kernels[language] = self._make(language)
                fresh.generation = old.generation
        return KernelMove(self.get("python").place, self._there.attaches, tuple(left))

    async def installer(self, name: str) -> tuple[Kernel, str]:
        """For the environment of this name."""
        launch = self._launch
        found = await asyncio.to_thread(named_environment, name, launch.cwd, launch.environ, trusted=launch.trusted)
        return await asyncio.to_thread(installer, launch, found)

    async def choices(self, server: str = "") -> tuple[KernelChoice, ...]:
        """The kernels of this machine or of this server."""
        if server:
            found = await ask_server(self._launch, server, ours=await asyncio.to_thread(self._there.started_ids))
            used = self._there.address_in_use
            return tuple(structs.replace(choice, in_use=choice.name == used) for choice in found)
        return tuple(await asyncio.to_thread(lambda: find_choices(self._launch, self._server, self._specs())))

    async def restart(self, language: Language | None = None) -> None:
        """A fresh process for this language, or for all that were started."""
        beside = (kernel for kernel in self._tool_kernels.values() if kernel.generation and language is None)
        for kernel in (*beside, *self.started_kernels()):
            if language in (None, kernel.language):
                await kernel.restart()

    async def close(self) -> None:
        """End all of them; idempotent."""
        await asyncio.gather(*(kernel.close() for kernel in (*self._kernels.values(), *self._tool_kernels.values())))

    def _make(self, language: Language) -> WorkerKernel:
        if language == "shell":
            server = self._server if self._shell_on_server else None
            return ShellKernel(self._launch) if server is None else remote_shell(self._launch, server)
        if (there := self._there.make(self._launch, language)) is not None:
            return there
        match language:
            case "python":
                return JupyterKernel(self._launch)
            case "html":
                return PageKernel(self._launch)
            case _:
                program = self._programs.get(language)
                if isinstance(program, LanguageProgram):
                    return ProgramKernel(self._launch, program)
                spec = kernelspec(language) if program is None else program_spec(program)
                return JupyterKernel(self._launch, language=language, spec=spec)

    def _find_installed(self, name: str) -> Language | None:
        specs = self._specs()
        for label in (name, name.removeprefix(FOREIGN)):
            if label in specs:
                return label
        return next((spec for spec, language in specs.items() if language.lower() == name), None)

    def _specs(self) -> dict[str, str]:
        if self._installed is None:
            self._installed = installed_kernelspecs()
        return self._installed
