"""What lives in modules of its own, each imported when it is asked for: the screen must not wait for it."""

from importlib import import_module

import click

SUBCOMMANDS = {
    "attach": "attach",
    "audit": "audit",
    "auth": "auth",
    "commands": "commands",
    "config": "config",
    "doctor": "doctor",
    "extract": "extract",
    "help": "print_guide",
    "kernels": "kernels",
    "logs": "print_logs",
    "mcp": "mcp",
    "models": "models",
    "plugins": "plugins",
    "profile": "profile",
    "replay": "replay",
    "sessions": "sessions",
    "skills": "skills",
    "theme": "theme",
    "tools": "tools",
    "trust": "trust",
    "usage": "print_usage",
}
"""Name of a module here, which is that of the command, to its object in it."""


def subcommand(name: str) -> click.Command | None:
    """The command of a module of its own."""
    if name not in SUBCOMMANDS:
        return None
    command = getattr(import_module(f"{__name__}.{name}"), SUBCOMMANDS[name])
    assert isinstance(command, click.Command)
    return command
