"""Formats of plugins for sessions as files: each call guarded, each error in plain words."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from pkgutil import resolve_name
from typing import Any

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.session_records import FileFormat
from oi_tui.app.engine.formats.export import Reader, Writer
from oi_tui.app.engine.hooks.calling import Hooks, PluginFailed
from oi_tui.app.engine.hooks.registered import registered_exporters, registered_importers
from oi_tui.app.engine.hooks.values import Exporter, ImportedContent, Importer, SessionContent
from oi_tui.app.engine.transcript.outline import SessionOutline

MOST_FORMATS, TITLE = 50, 60
"""In a list, and characters of one title."""

_SUFFIX = re.compile(r"(?:\.[A-Za-z0-9]{1,12}){1,3}")


def session_writers(hooks: Hooks) -> dict[str, Writer]:
    """The writers of formats; StoreError if one fails."""
    return {form: _writer(hooks, plugin, one) for form, (plugin, one) in registered_exporters(hooks).items()}


def session_formats(hooks: Hooks) -> tuple[FileFormat, ...]:
    """The formats that sessions can be written in, for a list; titles are a stranger's."""
    found = ((name, one) for name, (_, one) in registered_exporters(hooks).items())
    return tuple(
        FileFormat(
            name=name,
            title=" ".join(str(one.title)[:TITLE].split()) or name,
            suffix=str(one.suffix) if _SUFFIX.fullmatch(str(one.suffix)) else f".{name}",
        )
        for name, one in found
    )[:MOST_FORMATS]


def session_readers(hooks: Hooks, name: str) -> dict[str, Reader]:
    """The readers of formats, those first that fit this file's name; StoreError if one fails."""
    suffix = PurePath(name).suffix.lower()
    found = sorted(registered_importers(hooks).items(), key=lambda item: suffix not in item[1][1].suffixes)
    return {form: _reader(hooks, plugin, one) for form, (plugin, one) in found}


def _writer(hooks: Hooks, plugin: str, exporter: Exporter) -> Writer:
    def write(blocks: Sequence[Block], outline: SessionOutline) -> bytes:
        made = _call(hooks, plugin, exporter.format, exporter.write, SessionContent(tuple(blocks), outline))
        if isinstance(made, str):
            return made.encode("utf-8", "replace")
        if not isinstance(made, bytes):
            raise StoreError(f"The plugin {plugin} wrote a {type(made).__name__}, no file.")
        return made

    return write


def _reader(hooks: Hooks, plugin: str, importer: Importer) -> Reader:
    def read(data: bytes, name: str) -> tuple[list[Block], SessionOutline | None] | None:
        made = _call(hooks, plugin, importer.format, importer.read, data, name)
        if made is None:
            return None
        if not isinstance(made, ImportedContent):
            raise StoreError(f"The plugin {plugin} read a {type(made).__name__}, no session.")
        return list(made.blocks), made.outline

    return read


def _call(hooks: Hooks, plugin: str, form: str, function: Callable[..., Any] | str, *arguments: object) -> Any:
    """Call it; StoreError for errors of any kind."""

    def perform() -> Any:
        try:
            return (resolve_name(function) if isinstance(function, str) else function)(*arguments)
        except StoreError as error:
            return error

    try:
        made = hooks.run(plugin, f"format {form}", perform, patient=True)
    except PluginFailed as failed:
        title = f"The plugin {plugin} failed with this session in the format {form}."
        raise StoreError(title, hint="The log says why. lmc needs no plugin.") from failed
    if isinstance(made, StoreError):
        raise made
    return made
