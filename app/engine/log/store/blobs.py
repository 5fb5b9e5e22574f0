"""Large outputs, and pictures of prompts, as files beside the database, named after what is in them.

The same picture is kept once, however often it is shown. A file is on the disk before the event that needs it is, and
is never changed; what is missing or damaged costs that output and nothing else.
"""

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent, NoticeAdded, OutputAdded, OutputUpdated, TurnStarted
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import Value

THRESHOLD = 64_000
"""Bytes from which on one form of an output is a file."""

WHOLES = "outputs"
"""The folder beside `blobs/` in which kernels keep what they print, file by file."""


class Blob(Value, frozen=True, kw_only=True):
    """A file with one form of an output."""

    digest: str
    """SHA-256 in hexadecimal digits."""
    size: int
    json: bool = False
    """Whether it is JSON, not the text itself."""


class Blobs:
    """The files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, digest: str) -> Path:
        """Where the file of this content is, or would be."""
        return self.folder / digest[:2] / digest

    def store_forms(self, event: AnyEvent) -> tuple[AnyEvent, dict[str, Blob]]:
        """The event without its large forms, which are on the disk now, by mime type (files of a prompt by number);
        StoreError if that fails."""
        kept = _forms(event)
        blobs: dict[str, Blob] = {}
        for mime, value in kept.items():
            if (content := _large(value)) is not None:
                kept[mime] = ""
                try:
                    digest = self._write(content)
                except OSError as error:
                    raise StoreError(
                        f"A large output cannot be written in {self.folder}: {error.strerror}.",
                        hint="Is the disk full, or the folder read-only? Everything saved before is safe.",
                    ) from error
                blobs[mime] = Blob(digest=digest, size=len(content), json=not isinstance(value, str))
        return (_with_forms(event, kept), blobs) if blobs else (event, {})

    def put_back(self, event: AnyEvent, blobs: dict[str, Blob], missed: Callable[[str, Blob], None]) -> AnyEvent:
        """The event with its outputs. A placeholder replaces a form whose file is gone; `missed` is called."""
        if not (data := _forms(event)):
            return event
        for mime, blob in blobs.items():
            content = self._read(blob)
            if content is None:
                missed(mime, blob)
                del data[mime]
                continue
            data[mime] = msgspec.json.decode(content) if blob.json else content.decode()
        if not data:
            names = ", ".join(blobs)
            data["text/plain"] = f"[{names}: the file of this output is missing or damaged]"
        return _with_forms(event, data)

    def missing(self, missed: list[str]) -> NoticeAdded:
        """The notice about forms that `put_back` missed."""
        what = "One large output" if len(missed) == 1 else f"{len(missed)} large outputs"
        return NoticeAdded(
            block_id=new_id(),
            level="warning",
            title=f"{what} of this session cannot be shown: files in {self.folder} are missing or damaged.",
            hint="Everything else is here.",
            details="\n".join(missed),
        )

    def remove(self, digest: str) -> None:
        """Delete one that no session uses any more."""
        self.path(digest).unlink(missing_ok=True)

    def remove_wholes(self, paths: Iterable[str]) -> None:
        """The files with the whole of long outputs; a path that leads elsewhere is none of ours."""
        folder = self.folder.with_name(WHOLES)
        for path in map(Path, paths):
            if path.parent == folder and path.name not in ("", ".."):
                path.unlink(missing_ok=True)

    def _write(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        path = self.path(digest)
        if self._intact(path, content):
            return digest
        for folder in (self.folder, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        new = path.with_name(f"{digest}.{uuid.uuid4().hex[:8]}")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        for folder in (path.parent, self.folder):
            sync_folder(folder)
        return digest

    def _intact(self, path: Path, content: bytes) -> bool:
        """Whether it exists already; a damaged one is written again."""
        try:
            return path.stat().st_size == len(content) and path.read_bytes() == content
        except OSError:
            return False

    def _read(self, blob: Blob) -> bytes | None:
        try:
            content = self.path(blob.digest).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == blob.digest else None


def _large(value: object) -> bytes | None:
    """One form of an output as the bytes of a file, None if it may stay where it is."""
    match value:
        case str():
            if len(value) * 4 < THRESHOLD:
                return None
            content = value.encode()
        case dict() | list():
            content = msgspec.json.encode(value)
        case _:
            return None
    return content if len(content) > THRESHOLD else None


def _forms(event: AnyEvent) -> dict[str, Any]:
    """What may be large in an event, by mime type or number; a new dictionary, empty where nothing is."""
    match event:
        case OutputAdded(output=RichOutput() as output) | OutputUpdated(output=RichOutput() as output):
            return dict(output.data)
        case TurnStarted():
            return {str(number): written for number, written in enumerate(event.files)}
        case _:
            return {}


def _with_forms(event: AnyEvent, forms: dict[str, Any]) -> AnyEvent:
    """The event with these instead."""
    match event:
        case OutputAdded(output=RichOutput() as output) | OutputUpdated(output=RichOutput() as output):
            return msgspec.structs.replace(event, output=msgspec.structs.replace(output, data=forms))
        case TurnStarted():
            return msgspec.structs.replace(event, files=tuple(forms.values()))
        case _:
            return event


def sync_folder(folder: Path) -> None:
    """A new name in it survives a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
