"""The kernelspecs that are installed, read as files: to have jupyter_client find them takes a tenth of a second, and
the first prompt waits for it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from oi_tui.app.engine.kernels.spec import LOCAL, label_of

_LARGEST = 100_000
"""Bytes of a file."""
LANGUAGE_CHARACTERS = 100


def read_kernelspecs() -> dict[str, str] | None:
    """The label of every installed kernelspec but our own, with its language; None if only jupyter_client can find out,
    because of a kernelspec with a provisioner."""
    found: dict[str, str] = {}
    for name, folder in _folders().items():
        if label := label_of(name, str(folder)):
            spec = _read(folder / "kernel.json")
            metadata = spec.get("metadata")
            provisioner = metadata.get("kernel_provisioner") if isinstance(metadata, dict) else None
            if provisioner and (not isinstance(provisioner, dict) or provisioner.get("provisioner_name") != LOCAL):
                return None
            language = spec.get("language")
            found[label] = language[:LANGUAGE_CHARACTERS] if isinstance(language, str) else ""
    return found


def _folders() -> dict[str, Path]:
    """Folders of kernelspecs by name; of two with the same name the first is used."""
    folders: dict[str, Path] = {}
    for place in _places():
        try:
            there = {path.name.lower(): path for path in place.iterdir() if (path / "kernel.json").is_file()}
        except OSError:
            continue
        folders = there | folders
    return folders


def _places() -> Iterator[Path]:
    from jupyter_core.paths import jupyter_path  # with the first session, and not with the program

    yield from map(Path, jupyter_path("kernels"))
    home = Path.home()
    if given := os.environ.get("IPYTHONDIR"):
        yield Path(given).expanduser() / "kernels"
        return
    older = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "ipython"
    newer = home / ".ipython"
    yield (older if older.is_dir() and not newer.exists() else newer) / "kernels"


def _read(path: Path) -> dict[str, object]:
    """The content of the file, nothing if it is invalid: the error appears when the kernel is used."""
    try:
        with path.open("rb") as file:
            spec = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return spec if isinstance(spec, dict) else {}
