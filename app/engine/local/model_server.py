"""The model server as the session sees it: started when a model is needed, one at a time, stopped with the app."""

import asyncio
import contextlib
import importlib.util
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.model_choice import measure_machine

ALIAS = "local"
"""The model's name in requests to the server."""
COMMAND = (sys.executable, "-P", "-m", "oi_tui.app.engine.local.server")
CONTEXT = 8192
"""Tokens."""
MOST_THREADS = 8
"""More of them wait for memory instead of computing, and the machine is not ours alone."""
TRIAL_PATIENCE = 30.0
"""Seconds that an import has."""


def is_available() -> bool:
    """Whether the runtime of embedded models is installed; whether it can be loaded, `try_runtime` finds out."""
    return importlib.util.find_spec("xllamacpp") is not None


async def try_runtime(command: Sequence[str] = COMMAND) -> None:
    """Import the runtime in a child process (0.2 s); LocalModelError with what the system says where that fails."""
    process = await asyncio.create_subprocess_exec(*command, "--try", stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    try:
        async with asyncio.timeout(TRIAL_PATIENCE):
            said = (await process.communicate())[0].decode(errors="replace").split()
    except TimeoutError as error:
        title = f"xllamacpp, which runs built-in models, did not load within {TRIAL_PATIENCE:.0f} seconds."
        raise LocalModelError(title) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    match said:
        case ["READY"]:
            return
        case ["MISSING", *why]:
            raise _missing(" ".join(why))
        case _:
            raise _missing(f"Python ended with status {process.returncode}")


async def obstacle() -> LocalModelError | None:
    """Why no embedded model can run here, None if they can."""
    try:
        await try_runtime()
    except LocalModelError as error:
        return error
    return None


def _missing(why: str) -> LocalModelError:
    """The system's error message, if any, and how to fix it, if known."""
    if not why:
        hint = "Install oi-tui again with what they need, from the folder of its source: pip install '.[local]'"
        return LocalModelError("Built-in models need xllamacpp, which is not installed.", hint=hint)
    hint = "Install the package libgomp1 (apt install libgomp1)." if "libgomp" in why else ""
    return LocalModelError(f"xllamacpp, which runs built-in models, cannot be loaded: {why}.", hint=hint)


class LocalServer:
    """Owns the child process; `async with` stops it."""

    def __init__(
        self,
        *,
        threads: int | None = None,
        start_timeout: float = 120.0,
        log: Path | None = None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        """`threads`: None takes the cores of this machine. `start_timeout`: seconds that loading may take."""
        self.log = log or paths.log_dir() / "local-model.log"
        """The server's output since its last start."""
        self._threads = threads
        self._start_timeout = start_timeout
        self._command = tuple(command)
        self._process: Process | None = None
        self._model_id = ""
        self._url = ""
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> "LocalServer":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def url(self) -> str | None:
        """`api_base` of the server that runs, else None."""
        alive = self._process is not None and self._process.returncode is None
        return self._url if alive and self._url else None

    async def start(self, model: LocalModel, path: Path) -> str:
        """The `api_base` (`http://127.0.0.1:PORT/v1`) of a server with this model; LocalModelError if there is none.

        A server that runs with it already is used again; one with another model is stopped before.
        """
        async with self._lock:
            if self.url is not None and self._model_id == model.id:
                return self._url
            await self._end()
            try:
                self._url = await self._begin(model, path)
            finally:
                if not self._url:
                    await self._end()
            self._model_id = model.id
            return self._url

    async def stop(self) -> None:
        """End the server; nothing happens if none runs."""
        async with self._lock:
            await self._end()

    async def _begin(self, model: LocalModel, path: Path) -> str:
        paths.private_dir(self.log.parent)
        threads = min(self._threads or measure_machine().cores, MOST_THREADS)
        with _private_file(self.log) as log:
            self._process = process = await asyncio.create_subprocess_exec(
                *self._command,
                *("--model", str(path), "--alias", ALIAS),
                *("--threads", str(threads), "--context", str(CONTEXT)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                # Ctrl+C in the terminal is meant for the turn, not for the server.
                start_new_session=True,
            )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(self._start_timeout):
                line = (await process.stdout.readline()).decode(errors="replace")
        except TimeoutError as error:
            raise self._start_error(
                f"{model.title} was not ready after {self._start_timeout:.0f} seconds.",
                "The machine may be short of memory: close other programs, or take the smaller model.",
            ) from error
        match line.split():
            case ["READY", address]:
                return f"{address}/v1"
            case ["MISSING", *why]:
                raise _missing(" ".join(why))
            case _:
                status = await process.wait()
                raise self._start_error(
                    f"The server of {model.title} ended while it started (status {status}).",
                    f"If the file was damaged, download it again: oi-tui models remove {model.id}",
                )

    async def _end(self) -> None:
        process, was_ready = self._process, bool(self._url)
        self._process, self._url, self._model_id = None, "", ""
        if process is None:
            return
        try:
            if was_ready:  # while it loads weights it hears nothing
                await _ask_to_end(process)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    def _start_error(self, title: str, hint: str) -> LocalModelError:
        """The error, with the end of the log in the folded details."""
        with contextlib.suppress(OSError):
            tail = self.log.read_bytes()[-4000:].decode(errors="replace").strip()
            return LocalModelError(title, hint=hint, details=f"{tail}\n\n(from {self.log})")
        return LocalModelError(title, hint=hint)


async def _ask_to_end(process: Process) -> None:
    """Close its stdin, and wait a little."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(3):
            await process.wait()


def _private_file(path: Path) -> IO[bytes]:
    """An empty file that only its owner may read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
