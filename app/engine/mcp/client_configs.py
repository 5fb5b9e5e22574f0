"""What other assistants' settings say to start this program."""

import json
from typing import Literal, get_args

ConfigForm = Literal["claude", "codex", "vscode", "zed"]

FORMS: tuple[ConfigForm, ...] = get_args(ConfigForm)

PLACES: dict[ConfigForm, str] = {
    "claude": ".mcp.json of a project for Claude Code; also Claude Desktop, Cursor and others with `mcpServers`",
    "codex": "~/.codex/config.toml",
    "vscode": ".vscode/mcp.json",
    "zed": "settings.json of Zed",
}


def client_config(form: ConfigForm, command: str) -> str:
    """The entry, in the form of that assistant."""
    entry = {"command": command, "args": ["mcp", "serve"]}
    match form:
        case "claude":
            return json.dumps({"mcpServers": {"oi-tui": entry}}, indent=2)
        case "vscode":
            return json.dumps({"servers": {"oi-tui": {"type": "stdio", **entry}}}, indent=2)
        case "zed":
            return json.dumps({"context_servers": {"oi-tui": {**entry, "env": {}}}}, indent=2)
        case "codex":
            return f'[mcp_servers.oi-tui]\ncommand = {json.dumps(command)}\nargs = ["mcp", "serve"]'
