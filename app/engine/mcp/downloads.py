"""Servers that `uvx` or `npx` would download at each start: downloaded once, into a folder of ours, by uv or npm as the
person has set them up. From then on the program in that folder is started, which needs no network.

Nothing of the packages runs meanwhile: uv takes wheels only, npm runs no scripts.
"""

import asyncio
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.offline import HINT, is_offline
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.kernels.processes import LoggedProcess
from oi_tui.app.engine.mcp.packages import CURRENT, NODE_PACKAGE, PackageDownload
from oi_tui.app.engine.sandbox.environments import kernel_environment

PATIENCE = 300.0
"""Seconds of one download."""

_OTHERWISE = "Install it yourself, and add the server with the program's own name instead."

_FOR_INSTALLERS = ("UV_", "NPM_", "npm_", "NODE_EXTRA_CA_CERTS")
"""Beginnings of variables that say where packages come from; a login at an index may be one of them."""


async def fetch_program(download: PackageDownload, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command that starts the server, with all its arguments; downloaded first where it is not here. KernelError
    in plain words where that fails."""
    if not download.is_here:
        await _fetch(download, environ)
    return (str(await asyncio.to_thread(_program, download)), *download.args)


def delete_download(download: PackageDownload) -> None:
    """Remove what was downloaded."""
    shutil.rmtree(download.folder, ignore_errors=True)


async def _fetch(download: PackageDownload, environ: Mapping[str, str]) -> None:
    what = ", ".join(download.packages)
    if is_offline():
        raise KernelError(f"oi-tui is offline: {what} cannot be downloaded.", hint=HINT)
    installer = shutil.which(download.tool, path=environ.get("PATH"))
    if installer is None:
        raise KernelError(f"{what} cannot be downloaded: there is no {download.tool} here.", hint=_OTHERWISE)
    # Nobody else writes there: it takes its place as a whole, when all of it is there.
    place = private_dir(download.folder / new_id())
    given = {name: value for name, value in environ.items() if name.startswith(_FOR_INSTALLERS)}
    argv, more = _installation(installer, download, place)
    try:
        # In an empty folder: settings of uv and npm that a project has do not count.
        process = await LoggedProcess.start(argv, kernel_environment(environ) | given | more, place)
        try:
            async with asyncio.timeout(PATIENCE):
                code = await process.wait()
        finally:
            await process.close()
        if code:
            raise KernelError(f"{what} could not be downloaded.", hint=_OTHERWISE, details=process.last_lines())
        link = place.with_name(f"{place.name}.link")
        link.symlink_to(place.name)
        link.replace(download.folder / CURRENT)
    except TimeoutError:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        raise KernelError(f"{what} could not be downloaded within {PATIENCE:.0f} seconds.", hint=_OTHERWISE) from None
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        raise


def _installation(installer: str, download: PackageDownload, place: Path) -> tuple[list[str], dict[str, str]]:
    """The command of uv or npm, and its variables."""
    if download.tool == "npm":
        options = ("--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", str(place))
        return [installer, "install", *options, "--", *download.packages], {}
    first, *others = download.packages
    extra = tuple(word for one in others for word in ("--with", one))
    python = ("--python", download.python) if download.python else ()
    places = {"UV_TOOL_DIR": str(place / "tools"), "UV_TOOL_BIN_DIR": str(place / "bin")}
    # Copied: what is linked with a cache could be changed through another environment that has the same file.
    argv = [installer, "tool", "install", "--quiet", "--no-build", "--link-mode", "copy"]
    return [*argv, *extra, *python, "--", first], places


def _program(download: PackageDownload) -> Path:
    """KernelError if the packages have no such program."""
    place = (download.folder / CURRENT).resolve()
    name = download.program
    if download.tool == "uv":
        found = place / "bin" / name
    else:
        name = name or _bin_of(place, download.packages[0])
        found = place / "node_modules/.bin" / name
    if not found.exists():
        raise KernelError(f"{download.packages[0]} has no program {name}.", hint="Its page says how it is started.")
    return found


def _bin_of(place: Path, package: str) -> str:
    """The program that npx would start: the only one, or the one with the package's name."""
    match = NODE_PACKAGE.fullmatch(package)
    assert match is not None
    plain = match["name"].rpartition("/")[2]
    try:
        about: Any = msgspec.json.decode((place / "node_modules" / match["name"] / "package.json").read_bytes())
        programs = about.get("bin")
    except (OSError, msgspec.DecodeError, AttributeError):
        return plain
    only = next(iter(programs)) if isinstance(programs, dict) and len(programs) == 1 else plain
    return only if re.fullmatch(r"[\w.-]+", only) else plain
