"""On which line of a settings file each key is set."""

from collections.abc import Iterator
from typing import Any

from oi_tui.app.engine.core.encoding import decode_toml

KeyPath = tuple[str, ...]
"""The parts of a key, section first."""

_LONGEST_STATEMENT = 500
"""Lines of one value; no line numbers are looked for behind a longer one."""


def setting_line(lines: dict[KeyPath, int], path: KeyPath) -> int | None:
    """The line of a key, or of the innermost table around it that has one."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)


def setting_lines(text: str) -> dict[KeyPath, int]:
    """The line on which each key is set, from 1 on, for a text that is valid."""
    found: dict[KeyPath, int] = {}
    above: KeyPath = ()
    statement: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        statement.append(line)
        try:
            table = decode_toml("\n".join(statement))
        except ValueError:
            if len(statement) > _LONGEST_STATEMENT:
                break
            continue
        first = number - len(statement) + 1
        paths = list(_paths(table))
        if statement[0].lstrip().startswith("[") and paths:
            above = max(paths, key=len)
            found.setdefault(above, first)
            paths = [path[len(above) :] for path in paths if len(path) > len(above)]
        found.update({(*above, *path): first for path in paths})
        statement = []
    return found


def _paths(table: dict[str, Any]) -> Iterator[KeyPath]:
    for key, value in table.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *path) for path in _paths(value))
