"""What to begin with: a package with a slash command for the screen, a tool for the engine and a test of both; or a
file of tools."""

import builtins
import keyword
import re
from pathlib import Path

from oi_tui.app.engine.core.errors import SettingsError

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


def write_package(name: str, folder: Path) -> Path:
    """Write it into a new folder of this name in `folder`; SettingsError if that cannot be."""
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{name!r} is no name for a package: small letters, digits and hyphens.")
    place, module = (folder / name).absolute(), name.replace("-", "_")
    if place.exists():
        raise SettingsError(f"{place} exists already.")
    files = {
        "pyproject.toml": _PYPROJECT,
        f"{module}/__init__.py": '"""A plugin of oi-tui."""\n',
        f"{module}/engine.py": _ENGINE,
        f"{module}/screen.py": _SCREEN,
        f"tests/test_{module}.py": _TEST,
    }
    try:
        for path, text in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text.replace("NAME", name).replace("MODULE", module), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{place} cannot be written: {error.strerror}.") from error
    return place


def write_tool_file(name: str, folder: Path) -> Path:
    """Write a file of tools with this name; SettingsError if that cannot be."""
    stem = name.removesuffix(".py")
    if not stem.isidentifier() or stem[0] == "_":
        raise SettingsError(f"{name!r} is no name for a file of tools: letters, digits and _.")
    if keyword.iskeyword(stem) or hasattr(builtins, stem):
        raise SettingsError(f"{stem} is a name of Python's own: choose another one.")
    place = folder.absolute() / f"{stem}.py"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("x", encoding="utf-8") as file:
            file.write(_TOOLS.replace("NAME", stem))
    except FileExistsError as error:
        raise SettingsError(f"{place} exists already.") from error
    except OSError as error:
        raise SettingsError(f"{place} cannot be written: {error.strerror}.") from error
    return place


_TOOLS = '''\
"""Words of files. (Public functions with a docstring are tools: hints say what one takes, docstrings what it does.)"""

from pathlib import Path
from typing import Literal

CAPABILITIES = {"writes": False}  # the sandbox holds it to that, so it may run in plan mode


def NAME(path: Path, language: Literal["en", "de"] = "en") -> int:
    """Count the words of a text file.

    >>> NAME(Path("/dev/null"))
    0

    Args:
        path: The file.
    """
    return len(path.read_text().split())
'''

_PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "NAME"
version = "1.0"
description = "Counts words: a tool for the model and /words for you."
authors = [{ name = "You" }]

[project.entry-points."oi_tui.plugins"]
engine = "MODULE.engine"
screen = "MODULE.screen"

[tool.setuptools]
packages = ["MODULE"]
"""

_ENGINE = '''\
"""Loaded by the engine: a tool that the model can call. Each call needs your approval."""

from oi_tui.plugins.api import Arguments, Capabilities, Tool, ToolOutput, hookimpl

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def count_words(arguments: Arguments, output: ToolOutput) -> str:
    """What it returns, the model reads."""
    return str(len(arguments["text"].split()))


@hookimpl
def register_tools() -> list[Tool]:
    harmless = Capabilities(writes=False, network=False)
    about = "The number of words in a text."
    return [Tool(name="count_words", description=about, schema=SCHEMA, run=count_words, capabilities=harmless)]
'''

_SCREEN = '''\
"""Loaded by the screen: the slash command /words."""

from oi_tui.plugins.api import SessionView, SlashCommand, UserBlock, hookimpl


def words(argument: str, view: SessionView) -> str:
    """What it returns is shown in a window."""
    prompts = [block.text for block in view.blocks if isinstance(block, UserBlock)]
    return f"{sum(len(text.split()) for text in prompts)} words in {len(prompts)} prompts"


@hookimpl
def register_slash_commands() -> list[SlashCommand]:
    return [SlashCommand(name="words", title="Count words", help="How many words you wrote", run=words)]
'''

_TEST = """\
import asyncio
import unittest

from MODULE import engine, screen
from oi_tui.plugins.api import SessionView, UserBlock


class Words(unittest.TestCase):
    def test_the_tool_counts(self) -> None:
        (tool,) = engine.register_tools()
        self.assertEqual(asyncio.run(tool.run({"text": "one two"}, None)), "2")

    def test_the_command_counts_what_was_asked(self) -> None:
        (command,) = screen.register_slash_commands()
        blocks = (UserBlock(id="1", text="one two three"),)
        view = SessionView(session_id="s", folder="/", model="m", blocks=blocks)
        self.assertEqual(command.run("", view), "3 words in 1 prompts")


if __name__ == "__main__":
    unittest.main()
"""
