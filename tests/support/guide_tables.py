"""The guide's tables, made from where keys, commands and settings are defined.

python tests/support/guide_tables.py      writes them into the pages of app/guide, between their markers
"""

import re
from pathlib import Path

from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.settings_section import SettingsSection
from oi_tui.app.engine.models.hosted import HOSTED, provider_title
from oi_tui.app.engine.models.providers import CHAT_PROVIDERS
from oi_tui.app.screens.key_check import ids_to_bind
from oi_tui.app.screens.key_help import HelpSection, help_sections, usual_tasks
from oi_tui.app.settings.catalog import setting_docstrings

GUIDE = Path(__file__).parents[2] / "app" / "guide"
_MARKED = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?<!-- end: \2 -->", re.DOTALL)


def guide_tables() -> dict[str, str]:
    """Marker to Markdown."""
    sections = help_sections()
    made = {section.title.lower().replace(" ", "-"): _keys(section) for section in (*sections, usual_tasks())}
    everywhere = sections[0]
    made["everywhere"] = _keys(everywhere._replace(rows=tuple(row for row in everywhere.rows if row.keys)))
    return made | {
        "commands": _commands(everywhere),
        "settings": _settings(),
        "providers": _providers(),
        "key-ids": _key_ids(),
    }


def _key_ids() -> str:
    lines = [
        "| id | |",
        "|---|---|",
        *(f"| `{name}` | {what} |" for name, what in ids_to_bind().items() if not name.startswith(("own.", "macro."))),
    ]
    return "\n".join(lines) + "\n"


def with_tables(text: str) -> str:
    """A page with its tables as they must be; KeyError for a marker that means none."""
    made = guide_tables()
    return _MARKED.sub(lambda found: f"{found[1]}{made[found[2]]}<!-- end: {found[2]} -->", text)


def marked_tables(text: str) -> list[str]:
    """Names of the tables of a page."""
    return [found[2] for found in _MARKED.finditer(text)]


def _keys(section: HelpSection) -> str:
    lines = [f"| {section.title} | |", "|---|---|"]
    for keys, slash, text, _ in section.rows:
        names = [f"`{key.strip()}`" for key in keys.split(", ") if key]
        if slash:
            names.append("`" + slash.replace("|", "\\|") + "`")
        lines.append(f"| {', '.join(names)} | {text} |")
    return "\n".join(lines) + "\n"


def _commands(section: HelpSection) -> str:
    lines = ["| command | key | in a shell | |", "|---|---|---|---|"]
    for keys, slash, text, shell in section.rows:
        if slash:
            names = ", ".join(f"`{key}`" for key in keys.split(", ") if key)
            also = f"`oi-tui {shell}`" if shell else ""
            lines.append(f"| `{slash.replace('|', chr(92) + '|')}` | {names} | {also} | {text} |")
    return "\n".join(lines) + "\n"


def _settings() -> str:
    """One row a key: default and the docstring under the field."""
    lines = ["| section | key | default | |", "|---|---|---|---|"]
    words = setting_docstrings()
    tables = [(section, getattr(Settings(), section)) for section in Settings.__struct_fields__]
    for section, value in tables:
        if not isinstance(value, SettingsSection):  # `[keys]` has a page of its own
            continue
        for key in value.__struct_fields__:
            default = getattr(value, key)
            if isinstance(default, SettingsSection):  # a table within the table has rows of its own
                tables.append((f"{section}.{key}", default))
                continue
            shown = "" if default in (None, "", {}) else f"`{_toml(default)}`"
            lines.append(f"| `{section}` | `{key}` | {shown} | {words.get((type(value).__name__, key), '')} |")
    return "\n".join(lines) + "\n"


_LANGUAGES = {"openai": "OpenAI chat", "ollama": "Ollama", "anthropic": "Anthropic", "gemini": "Gemini"}
_REAL_SERVERS = {"litellm_proxy": "test_litellm_proxy.py"}
"""Providers whose own server runs in `make check-servers`, and the file in tests/servers that asks it."""


def _providers() -> str:
    """Who speaks to each provider, in which language, and what that was tried with. test_wires.py does what is said of
    simulated servers, for each row."""
    lines = ["| provider | asked by | language | reasoning that goes back | tested with |", "|---|---|---|---|---|"]
    for one in CHAT_PROVIDERS:
        if (test := _REAL_SERVERS.get(one.name)) and not (GUIDE.parents[1] / "tests" / "servers" / test).exists():
            raise FileNotFoundError(test)
        tried = "simulated server; the real one on this machine" if test else "simulated server"
        cells = (_provider_cell(one.name), "oi-tui", _LANGUAGES[one.speaks], _RETURNED.get(one.name, ""), tried)
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("| built-in models, llama.cpp's server | oi-tui | OpenAI chat | | the real one on this machine |")
    for hosted in HOSTED:
        if hosted.name not in {one.name for one in CHAT_PROVIDERS}:
            theirs = (_provider_cell(hosted.name), "LiteLLM", _LANGUAGES[hosted.lists], _RETURNED[hosted.name])
            lines.append(f"| {' | '.join(theirs)} | simulated server |")
    lines.append("| OpenAI's `responses/` models | LiteLLM | OpenAI responses | encrypted | simulated server |")
    lines.append("| all others | LiteLLM | their own | | not tested |")
    return "\n".join(lines) + "\n"


_RETURNED = {
    "openrouter": "`reasoning_details`",
    "deepseek": "its words",
    "anthropic": "signed blocks",
    "gemini": "the signature of a call",
}
"""What goes back with the calls that it led to; test_wires.py has a test of each."""


def _provider_cell(name: str) -> str:
    title = provider_title(name)
    return f"`{name}/`" if title == name else f"{title}, `{name}/`"


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
