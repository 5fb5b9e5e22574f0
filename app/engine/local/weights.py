"""The folder of weights: which models are here, adding a file, removing, checking. Nothing is fetched here.

models/NAME.gguf          whole and verified: files come to this place by one rename, after their hash was right
models/partial/ID/...     what a download has brought so far; never counts as installed
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.local.catalogue import MODELS, LocalModel, offered_models
from oi_tui.app.engine.text.words import coarse_size

COPY_CHUNK = 1 << 22
"""Bytes that are read and hashed at a time."""
SLACK = 50_000_000
"""Bytes of disk that are left alone."""


class Weights:
    """The models on this disk."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        models: tuple[LocalModel, ...] = MODELS,
        free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        self.folder = folder or paths.cache_dir() / "models"
        self._models = models
        self._free_bytes = free_bytes

    def path(self, model: LocalModel) -> Path:
        """Where the whole file is or will be."""
        return self.folder / model.file_name

    def partial(self, model: LocalModel) -> Path:
        """Where a download keeps what it has so far."""
        return self.folder / "partial" / model.id

    def is_installed(self, model: LocalModel) -> bool:
        """Whether the whole file is here; its hash was checked when it came."""
        try:
            return self.path(model).stat().st_size == model.size
        except OSError:
            return False

    def installed_models(self) -> tuple[LocalModel, ...]:
        """The installed models, in the catalogue's order."""
        return tuple(model for model in self._models if self.is_installed(model))

    def verify(self, model: LocalModel) -> bool:
        """Whether the file that is here still has the right bytes (reads it all)."""
        return self.is_installed(model) and _digest(self.path(model)) == model.sha256

    def size_on_disk(self, model: LocalModel) -> int:
        """Bytes that the model takes here, an unfinished download included."""
        return bytes_in(self.path(model)) + bytes_in(self.partial(model))

    def remove(self, model: LocalModel) -> int:
        """Delete the model and what is left of its download; returns the bytes that this freed."""
        freed = self.size_on_disk(model)
        self.path(model).unlink(missing_ok=True)
        shutil.rmtree(self.partial(model), ignore_errors=True)
        return freed

    def add(self, file: Path) -> LocalModel:
        """Take in a copy of a file that the person names; LocalModelError unless it is one of the known models."""
        try:
            with file.open("rb") as source:
                return self._add(file, source)
        except OSError as error:
            raise LocalModelError(f"Cannot take in {file}: {error.strerror}.") from error

    def install(self, model: LocalModel, file: Path) -> Path:
        """Move a verified file of the same disk into place (takes a second or two: the bytes reach the disk first)."""
        target = self.path(model)
        with file.open("rb") as verified:
            os.fsync(verified.fileno())
        os.replace(file, target)
        shutil.rmtree(self.partial(model), ignore_errors=True)
        return target

    def need_room(self, needed: int) -> None:
        """LocalModelError with the numbers unless this many bytes fit on the disk."""
        free = self._free_bytes(paths.private_dir(self.folder))
        if free >= needed + SLACK:
            return
        raise LocalModelError(
            f"Not enough disk space in {self.folder}: "
            f"{coarse_size(needed + SLACK)} are needed, {coarse_size(free)} are free.",
            hint="Free some space, or set XDG_CACHE_HOME to a larger disk.",
        )

    def _add(self, file: Path, source: BinaryIO) -> LocalModel:
        size = os.fstat(source.fileno()).st_size
        candidates = [model for model in self._models if model.size == size]
        if not candidates:
            raise self._unknown_weights(file)
        self.need_room(size)
        copy = self.folder / f".adding-{os.getpid()}"
        try:
            # The hash is of the written bytes: a change of the original in between cannot slip in.
            with copy.open("wb") as target:
                digest = hashlib.sha256()
                for chunk in _chunks(source):
                    digest.update(chunk)
                    target.write(chunk)
            for model in candidates:
                if model.sha256 == digest.hexdigest():
                    self.install(model, copy)
                    return model
        finally:
            copy.unlink(missing_ok=True)
        raise self._unknown_weights(file)

    def _unknown_weights(self, file: Path) -> LocalModelError:
        known = "; ".join(f"{model.file_name} ({model.size:,} bytes)" for model in offered_models())
        return LocalModelError(
            f"{file.name} is none of the known models: its size or its sha256 differs.",
            hint=f"Accepted are exactly: {known}.",
        )


def bytes_in(place: Path) -> int:
    """Bytes of a file, or of all files below a folder; 0 where there is nothing."""
    if place.is_file():
        return _size(place)
    # os.walk passes over folders that vanish meanwhile; rglob raises.
    return sum(_size(Path(folder, name)) for folder, _, names in os.walk(place) for name in names)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # gone between the listing and the question
        return 0


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as source:
        for chunk in _chunks(source):
            digest.update(chunk)
    return digest.hexdigest()


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while chunk := source.read(COPY_CHUNK):
        yield chunk
