"""The README's tables, made from where keys, commands and settings are defined.

python tests/support/readme.py      writes them into README.md between their markers
"""

import ast
import re
from functools import partial
from pathlib import Path

from oi_tui.app.engine.core import settings as settings_module
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.screens.key_help import HelpSection, help_sections

README = Path(__file__).parents[2] / "README.md"


def tables() -> dict[str, str]:
    """Marker to Markdown."""
    made = {section.title.lower().replace(" ", "-"): _keys(section) for section in help_sections()}
    return made | {"settings": _settings()}


def with_tables(text: str) -> str:
    """The README with its tables as they must be; KeyError if one has no marker."""
    for name, table in tables().items():
        opening, closing = f"<!-- table: {name} -->\n", f"<!-- end: {name} -->"
        if opening not in text:
            raise KeyError(f"README.md has no marker for the table {name!r}")
        text = re.sub(
            re.escape(opening) + ".*?" + re.escape(closing),
            partial(lambda body, _: body, opening + table + closing),
            text,
            flags=re.DOTALL,
        )
    return text


def _keys(section: HelpSection) -> str:
    lines = [f"| {section.title} | |", "|---|---|"]
    for keys, slash, text in section.rows:
        names = [f"`{key.strip()}`" for key in keys.split(", ") if key]
        if slash:
            names.append("`" + slash.replace("|", "\\|") + "`")
        lines.append(f"| {', '.join(names)} | {text} |")
    return "\n".join(lines) + "\n"


def _settings() -> str:
    """One row a key: default and the docstring under the field."""
    lines = ["| section | key | default | |", "|---|---|---|---|"]
    words = _docstrings()
    for section in Settings.__struct_fields__:
        value = getattr(Settings(), section)
        for key in value.__struct_fields__:
            default = getattr(value, key)
            shown = "" if default in (None, "") else f"`{_toml(default)}`"
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


def _docstrings() -> dict[tuple[str, str], str]:
    tree = ast.parse(Path(settings_module.__file__).read_text(encoding="utf-8"))
    found: dict[tuple[str, str], str] = {}
    for owner in tree.body:
        if not isinstance(owner, ast.ClassDef):
            continue
        for field, after in zip(owner.body, owner.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[owner.name, field.target.id] = " ".join(str(after.value.value).split())
    return found


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
