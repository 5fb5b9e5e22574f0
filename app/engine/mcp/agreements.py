"""What the person agreed to of each server: how it is started, and what it says of its tools. A change of either is
nothing that was agreed to.

Kept in a file of ours that code in a sandbox cannot see. It holds whole descriptions, so that a change can be shown.
"""

import difflib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files.owned_file import file_lock, read_record, replace_owned_file
from oi_tui.app.engine.files.paths import data_dir, private_dir
from oi_tui.app.engine.mcp.entries import NamedServer

AGREEMENTS_FILE = "mcp-agreements.json"

Pinned = Mapping[str, Any]
"""A tool as it was described: title, description, schema, hints."""

MOST_OF_SERVER, _MOST_OF_ALL = 200_000, 20_000_000
"""Characters of what one server offered that are kept, and of the record: it must be possible to read it again."""

_MOST_LINES = 400
"""Of a difference that is shown."""

_TOO_LARGE = "digest, since it is too large to be shown"

_HINT = "Delete it: then you agree to each server again."


class Agreement(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The agreements about one server; a field at its default was not agreed to."""

    entry: str = ""
    """Digest of the entry with which it may start; "" where only its tools are known."""
    tools: dict[str, dict[str, Any]] | None = None
    """What it offered, by the name it gave; None where it was never seen."""


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    servers: dict[str, Agreement] = {}


class Agreements:
    """The file. It is read each time: another program of ours may have changed it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def may_start(self, server: NamedServer) -> bool:
        """Whether it needs no further yes: the person's own entry that asks for nothing special, or one agreed to."""
        return not (server.folder or server.entry.wishes) or self._find(server).entry == server.entry.digest

    def agree_to_start(self, server: NamedServer) -> None:
        """Record that the person agreed to start this entry."""
        self._change(server, entry=server.entry.digest)

    def tools_agreed_to(self, server: NamedServer) -> dict[str, dict[str, Any]] | None:
        """The tools when the person agreed; None if they were never shown."""
        return self._find(server).tools

    def pin(self, server: NamedServer, tools: Mapping[str, Pinned]) -> None:
        """Record this as what it offers."""
        self._change(server, tools=_shorten(tools))

    def forget(self, server: NamedServer) -> None:
        """Remove the agreement: if the server returns, the person is asked again."""
        with self._lock():
            kept = self._read()
            if kept.servers.pop(server.key, None) is not None:
                self._write(kept)

    def _find(self, server: NamedServer) -> Agreement:
        return self._read().servers.get(server.key, Agreement())

    def _change(self, server: NamedServer, **changes: Any) -> None:
        with self._lock():
            kept = self._read()
            known = kept.servers.get(server.key, Agreement())
            kept.servers[server.key] = msgspec.structs.replace(known, **changes)
            self._write(kept)

    def _lock(self) -> Any:
        private_dir(self.path.parent)
        return file_lock(self.path)

    def _read(self) -> _Record:
        return read_record(_Record, self.path, "record of agreements", _HINT, owner=os.getuid(), most=_MOST_OF_ALL)

    def _write(self, kept: _Record) -> None:
        replace_owned_file(self.path, msgspec.json.encode(kept).decode(), most=_MOST_OF_ALL)


def known_agreements() -> Agreements:
    """The agreements of this person."""
    return Agreements(data_dir() / AGREEMENTS_FILE)


def _shorten(tools: Mapping[str, Pinned]) -> dict[str, dict[str, Any]]:
    """The part that is stored: of very large tools only a digest of each."""
    if len(json.dumps(tools)) <= MOST_OF_SERVER:
        return {name: dict(tool) for name, tool in tools.items()}
    return {name: {_TOO_LARGE: digest_of_tools({name: tool})} for name, tool in tools.items()}


def digest_of_tools(tools: Mapping[str, Pinned]) -> str:
    """One digest of all tools."""
    return text_digest(json.dumps(tools, sort_keys=True))


def changes_of_tools(before: Mapping[str, Pinned], now: Mapping[str, Pinned]) -> str:
    """The difference as a diff for a person; "" if there is none."""
    old, new = (_lines(_shorten(tools)) for tools in (before, now))
    lines = list(difflib.unified_diff(old, new, "as you agreed", "as it is now", lineterm="", n=1))
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"[… {len(lines) - _MOST_LINES} more lines]"]
    return "\n".join(lines)


def _lines(tools: Mapping[str, Pinned]) -> list[str]:
    found: list[str] = []
    for name in sorted(tools):
        for key in sorted(tools[name]):
            value = tools[name][key]
            text = value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
            found += [f"{name}: {key}: {line}" for line in text.splitlines() or [""]]
    return found
