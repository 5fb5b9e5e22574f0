"""Changes of one setting in the text of a settings file. Comments, order and everything else stay as they are.

Nothing else needs tomlkit, which is imported where something is changed or named.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.settings_lines import KeyPath


def key_path(key: str) -> KeyPath:
    """The parts of a dotted key in TOML's spelling; SettingsError if it is none."""
    hint = 'Keys are like model.name; quote other characters: model.prices."openrouter/x/y".'
    try:
        value: object = {} if "\n" in key else decode_toml(f"{key} = 0")
    except ValueError:
        value = {}
    parts: list[str] = []
    while isinstance(value, dict) and len(value) == 1:
        ((part, value),) = value.items()
        parts.append(part)
    if value != 0:
        raise SettingsError(f"{key!r} is no key of the settings.", hint=hint)
    return tuple(parts)


def key_text(path: Sequence[str]) -> str:
    """The same as a dotted key, with the quotes that it needs."""
    import tomlkit  # 15 ms, which no start waits for

    return ".".join(tomlkit.key(part).as_string() for part in path)


def value_text(value: Any) -> str:
    """A value as TOML has it, on one line."""
    import tomlkit  # 15 ms, which no start waits for

    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_text([key])} = {value_text(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    text: str = tomlkit.item(value).as_string()
    return text


def with_setting(text: str, path: KeyPath, value: Any) -> str:
    """The text of the file with this value; SettingsError where that cannot be written into it."""
    import tomlkit  # 15 ms, which no start waits for

    document = tomlkit.parse(text)
    table: Any = document
    for depth, part in enumerate(path[:-1]):
        if part not in table:
            inline = isinstance(table, tomlkit.items.InlineTable)
            only_tables = depth < len(path) - 2  # `[budget.providers.openai]` without a `[budget]` before it
            table[part] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=only_tables)
        table = table[part]
        if not isinstance(table, Mapping):
            raise SettingsError(f"{key_text(path[: depth + 1])} is a value, and has no keys.")
    table[path[-1]] = value
    wanted = decode_toml(text)
    inner = wanted
    for part in path[:-1]:
        inner = inner.setdefault(part, {})
    inner[path[-1]] = value
    return _verify(tomlkit.dumps(document), wanted, path)


def without_setting(text: str, path: KeyPath) -> str | None:
    """The text of the file without this key; None if it is not there, SettingsError where it cannot be removed."""
    import tomlkit  # 15 ms, which no start waits for

    document, wanted = tomlkit.parse(text), decode_toml(text)
    table: Any = document
    inner: Any = wanted
    for part in path[:-1]:
        if not isinstance(inner, dict) or part not in inner:
            return None
        table, inner = table[part], inner[part]
    if not isinstance(inner, dict) or path[-1] not in inner:
        return None
    del table[path[-1]], inner[path[-1]]
    return _verify(tomlkit.dumps(document), wanted, path)


def _verify(text: str, wanted: dict[str, Any], path: KeyPath) -> str:
    """The text, if it says what it has to: it is read again by another reader than the one that wrote it."""
    try:
        if _without_empty(decode_toml(text)) == _without_empty(wanted):
            return text
    except ValueError:
        pass
    raise SettingsError(
        f"{key_text(path)} cannot be changed without changing more of the file.", hint="Use: oi-tui config edit"
    )


def _without_empty(table: dict[str, Any]) -> dict[str, Any]:
    """Remove a table that is empty: it means the same as none."""
    inner = ((key, _without_empty(value) if isinstance(value, dict) else value) for key, value in table.items())
    return {key: value for key, value in inner if value != {}}
