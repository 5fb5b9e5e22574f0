"""The return value of a function as a result that can be shown, sent to a model and stored: by its type, within
limits."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.kernels.in_kernel_frames import pandas_table
from oi_tui.app.engine.text.compact_table import TABLE_TYPE
from oi_tui.app.engine.text.words import quantity, size_in_words
from oi_tui.app.engine.tools.later import Pending
from oi_tui.app.engine.tools.tool import ToolFailed

LONGEST = 200_000
"""Characters of a result as text."""

LARGEST = 5_000_000
"""Bytes of a picture."""

WIDEST = 2_000
"""Pixels of a picture's longer side."""

_PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def tool_result(value: Any) -> str | RichOutput | Pending | None:
    """Text, numbers, JSON values, instances of msgspec, dataclasses or pydantic, pictures of Pillow, frames of pandas,
    bytes and paths of files. ToolFailed for anything else: what the call did is done."""
    match value:
        case None | RichOutput() | Pending():
            return value
        case str():
            return _cut(value)
        case bytes() | bytearray():
            return _of_bytes(bytes(value), "")
        case Path():
            return _of_file(value)
    library = type(value).__module__.partition(".")[0]
    if library == "PIL" and hasattr(value, "save"):
        return _of_picture(value)
    if library == "pandas" and hasattr(value, "to_frame" if type(value).__name__ == "Series" else "columns"):
        return _rich({TABLE_TYPE: pandas_table(value), "text/plain": _cut(str(value))})
    return _of_json(value)


def _rich(data: dict[str, Any]) -> RichOutput:
    return RichOutput(data=data, is_result=True)


def _cut(text: str) -> str:
    left = len(text) - LONGEST
    return text if left <= 0 else f"{text[:LONGEST]}\n[{quantity(left, 'more character')}]"


def _of_json(value: Any) -> RichOutput:
    try:
        plain = msgspec.to_builtins(value, enc_hook=_encode, str_keys=True)
        text = json.dumps(plain, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError, NotImplementedError) as error:
        kind = type(value).__name__
        raise ToolFailed(f"It returned a {kind}, which cannot be shown ({error}); what it did is done.") from error
    forms: dict[str, Any] = {"text/plain": _cut(text)}
    if isinstance(plain, dict | list) and len(text) <= LONGEST:
        forms["application/json"] = plain
    return _rich(forms)


def _encode(value: Any) -> Any:
    """What msgspec does not know."""
    if callable(dump := getattr(value, "model_dump", None)):  # of pydantic
        return dump(mode="json")
    if isinstance(value, Path | complex | range):
        return list(value) if isinstance(value, range) else str(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    raise NotImplementedError(type(value).__name__)


def _of_picture(picture: Any) -> RichOutput:
    facts = f"{picture.width} x {picture.height} pixels"
    if max(picture.width, picture.height) > WIDEST:
        picture = picture.copy()
        picture.thumbnail((WIDEST, WIDEST))
    written = io.BytesIO()
    (picture if picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I") else picture.convert("RGB")).save(
        written, "PNG"
    )
    return _of_bytes(written.getvalue(), facts)


def _of_bytes(data: bytes, facts: str) -> RichOutput:
    """A picture, text, or how much there is."""
    facts = facts or size_in_words(len(data))
    kind = next((kind for head, kind in _PICTURES.items() if data.startswith(head)), "")
    if kind and len(data) <= LARGEST:
        return _rich({kind: base64.b64encode(data).decode(), "text/plain": f"a picture, {facts}"})
    try:
        return _rich({"text/plain": _cut(data[: 4 * LONGEST].decode()) if not kind else f"a large picture, {facts}"})
    except UnicodeDecodeError:
        return _rich({"text/plain": f"bytes that are no text, {facts}"})


def _of_file(path: Path) -> RichOutput:
    """What is in a plain file, after its name."""
    try:
        if not path.is_file():
            return _rich({"text/plain": str(path)})
        size = path.stat().st_size
        with path.open("rb") as file:
            shown = _of_bytes(file.read(LARGEST), "")
    except OSError as error:
        raise ToolFailed(f"It returned the path {path}, which cannot be read: {error.strerror}") from error
    text = shown.data["text/plain"]
    return _rich({**shown.data, "text/plain": f"{path} ({size_in_words(size)})\n{text}"})
