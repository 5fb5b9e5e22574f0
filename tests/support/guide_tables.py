"""The guide's tables, made from where keys, commands and settings are defined.

python tests/support/guide_tables.py      writes them into the pages of app/guide, between their markers
"""

import re
from pathlib import Path

from oi_tui.app.engine.core.settings import Settings, SettingsSection
from oi_tui.app.screens.key_help import HelpSection, help_sections, usual_tasks
from oi_tui.app.subcommands.settings_schema import setting_docstrings

GUIDE = Path(__file__).parents[2] / "app" / "guide"
_MARKED = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?<!-- end: \2 -->", re.DOTALL)


def guide_tables() -> dict[str, str]:
    """Marker to Markdown."""
    sections = help_sections()
    made = {section.title.lower().replace(" ", "-"): _keys(section) for section in (*sections, usual_tasks())}
    everywhere = sections[0]
    made["everywhere"] = _keys(everywhere._replace(rows=tuple(row for row in everywhere.rows if row.keys)))
    return made | {"commands": _commands(everywhere), "settings": _settings()}


def with_tables(text: str) -> str:
    """A page with its tables as they must be; KeyError for a marker that means none."""
    made = guide_tables()
    return _MARKED.sub(lambda found: f"{found[1]}{made[found[2]]}<!-- end: {found[2]} -->", text)


def marked_tables(text: str) -> list[str]:
    """Names of the tables of a page."""
    return [found[2] for found in _MARKED.finditer(text)]


def _keys(section: HelpSection) -> str:
    lines = [f"| {section.title} | |", "|---|---|"]
    for keys, slash, text in section.rows:
        names = [f"`{key.strip()}`" for key in keys.split(", ") if key]
        if slash:
            names.append("`" + slash.replace("|", "\\|") + "`")
        lines.append(f"| {', '.join(names)} | {text} |")
    return "\n".join(lines) + "\n"


def _commands(section: HelpSection) -> str:
    lines = ["| command | key | |", "|---|---|---|"]
    for keys, slash, text in section.rows:
        if slash:
            names = ", ".join(f"`{key}`" for key in keys.split(", ") if key)
            lines.append(f"| `{slash.replace('|', chr(92) + '|')}` | {names} | {text} |")
    return "\n".join(lines) + "\n"


def _settings() -> str:
    """One row a key: default and the docstring under the field."""
    lines = ["| section | key | default | |", "|---|---|---|---|"]
    words = setting_docstrings()
    tables = [(section, getattr(Settings(), section)) for section in Settings.__struct_fields__]
    for section, value in tables:
        for key in value.__struct_fields__:
            default = getattr(value, key)
            if isinstance(default, SettingsSection):  # a table within the table has rows of its own
                tables.append((f"{section}.{key}", default))
                continue
            shown = "" if default in (None, "", {}) else f"`{_toml(default)}`"
            lines.append(f"| `{section}` | `{key}` | {shown} | {words.get((type(value).__name__, key), '')} |")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(map(repr, value))}]"
        case int():
            return f"{value:_}" if value >= 10_000 else str(value)
        case _:
            return str(value)


if __name__ == "__main__":
    for page in GUIDE.glob("*.md"):
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
