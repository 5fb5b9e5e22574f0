"""What the first frame needs: each module more is a millisecond before there is something to see."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.plugin_packages import enable, install, plugin_home

PROGRAM = """
import os, re, sys
from pathlib import Path
import oi_tui.app.start
from oi_tui.app.flags import plain_flags
from oi_tui.app.opening import require_kernel
from oi_tui.app.engine.text import safe
from oi_tui.app import tui


class FirstFrame(tui.OiTui):
    CSS_PATH = Path(tui.__file__).with_name("screens") / "chat.tcss"  # beside it, not beside this program

    def _display(self, screen, renderable):
        ours = {name.removeprefix("oi_tui."): module for name, module in sys.modules.items() if "oi_tui." in name}
        values = [(f"{name}.{word}", value) for name, module in ours.items() for word, value in vars(module).items()]
        made = [(name, value) for name, value in values if getattr(value, "__module__", "").startswith("oi_tui.")]
        lines = [
            " ".join(sorted(ours)),
            " ".join(sorted(type(widget).__name__ for widget in screen.walk_children())),
            str(safe._pattern.cache_info().currsize),
            " ".join(sorted(name for name, value in values if isinstance(value, re.Pattern))),
            " ".join(sorted(name for name, value in made if hasattr(value, "__dataclass_fields__"))),
            " ".join(sorted({"hashlib", "importlib.abc", "shlex", "tomllib"} & sys.modules.keys())),
        ]
        os.write(1, "\\n".join(lines).encode())
        os._exit(0)


async def connect():
    raise AssertionError("no engine before the first frame")


flags = plain_flags(["--cwd", "/"])
require_kernel(flags.kernel or "", flags.python or "", Path("/"))
place = flags.workplace()
FirstFrame(connect, place.settings, workplace=place).run(headless=True, size=(120, 40))
"""

MODULES = """
    app app.commands app.commands.registry app.commands.theme_folders app.engine app.engine.core
    app.engine.core.configuration app.engine.core.encoding app.engine.core.errors app.engine.core.modes
    app.engine.core.outcomes app.engine.core.settings app.engine.core.settings_section app.engine.core.usage
    app.engine.core.values app.engine.files app.engine.files.given_file app.engine.files.owned_file
    app.engine.files.paths app.engine.files.settings_file app.engine.files.whole_file app.engine.text
    app.engine.text.lookalikes app.engine.text.safe app.engine.text.words app.engine.trust
    app.engine.trust.folder_decisions app.engine.trust.folder_digests app.engine.trust.folder_settings
    app.engine.trust.instruction_files app.flags app.frontend app.frontend.waiting_engine app.frontend.workplace
    app.look app.opening app.screens app.screens.bottom app.screens.chat app.screens.defects
    app.screens.typing_pause app.start app.terminal app.terminal.calling app.terminal.compositing app.terminal.echo
    app.terminal.end_signals app.terminal.guarded_driver app.terminal.probe app.terminal.probing_driver
    app.terminal.screen_copy app.terminal.skeleton app.terminal.typing_order app.tui themes themes.loader
    themes.palette widgets widgets.arming widgets.composer widgets.lettering widgets.paste_tokens
    widgets.prompt_start widgets.status widgets.stray_keys widgets.text_box widgets.timeline
    widgets.timeline.graphics
"""
"""Those of ours that there are when the first frame is painted. Before a name is added: can it be imported when it is
used first, or come with `session_side` or `chat_parts`?"""

PATTERNS = """
    app.engine.text.safe.SPELLED_OUT app.engine.text.safe._INTRODUCER
    app.terminal.guarded_driver._ALT_ENTER app.terminal.guarded_driver._BEGINNING
    app.terminal.guarded_driver._OTHER_KEY
"""
"""Those compiled at the import: each is for every key or every text."""

WIDGETS = "Bottom Composer Horizontal Horizontal PromptArea StatusBar ToastRack Tooltip Words Words"
"""What it consists of; the rest is mounted later, or when it is wanted."""


def test_the_first_frame_imports_mounts_and_compiles_no_more_than_it_shows(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    look_at_the_first_frame(tmp_path, clean_env)


def test_x9_twenty_enabled_plugins_put_nothing_on_the_way_to_the_first_frame(
    tmp_path: Path, clean_env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with plugin_home(tmp_path / "plugins", monkeypatch) as packages:
        for number in range(20):
            install(packages, f"oi-tui-idle-{number}", {f"idle_{number}": IDLE}, {"screen": f"idle_{number}"})
            enable(f"oi-tui-idle-{number}")
        places = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
        look_at_the_first_frame(tmp_path, clean_env | places | {"PYTHONPATH": str(packages)})


IDLE = "from oi_tui.plugins.api import hookimpl\n\n@hookimpl\ndef register_renderers():\n    return {}\n"


def look_at_the_first_frame(tmp_path: Path, clean_env: dict[str, str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, str(program)]
    finished = subprocess.run(command, env=clean_env, capture_output=True, text=True, timeout=60, cwd="/")
    assert finished.returncode == 0, finished.stderr
    modules, widgets, used, patterns, dataclasses, libraries = finished.stdout.split("\n")
    assert set(modules.split()) - set(MODULES.split()) == set()
    assert widgets == WIDGETS
    assert used == "0"
    assert set(patterns.split()) - set(PATTERNS.split()) == set(), "let `re` compile it when it is used first"
    assert dataclasses == "", "a struct of msgspec is made in a tenth of the time"
    assert libraries == "", "each takes more than a millisecond, with what it brings"


PARTS = """
import re
import oi_tui.app.screens.chat_parts
from oi_tui.widgets.timeline import graphics_sixel, wrap

print(*(name for name, value in vars(wrap).items() if isinstance(value, re.Pattern)))
print(graphics_sixel._only.cache_info().currsize)
"""


def test_what_only_some_sessions_show_is_not_made_ready_after_the_first_frame(clean_env: dict[str, str]) -> None:
    command = [sys.executable, "-c", PARTS]
    finished = subprocess.run(command, env=clean_env, capture_output=True, text=True, timeout=60, cwd="/")
    assert finished.stdout.split() == ["_WORD", "0"], finished.stderr


AT_REST = """
import sys
import oi_tui.app.start, oi_tui.app.opening, oi_tui.app.tui
import oi_tui.app.screens.chat_parts, oi_tui.app.screens.settings_desk, oi_tui.app.screens.plugin_desk
from oi_tui.plugins.host import screen_hooks

screen_hooks()
print(*sys.modules)
"""
"""What a screen at which nobody types has loaded after some seconds."""

NOT_AT_REST = {
    *(f"oi_tui.app.screens.{name}" for name in ("block_actions", "branching", "kernel_screen", "viewer")),
    *(f"oi_tui.app.screens.{name}" for name in ("extract_form", "plugins_screen", "servers_screen", "sessions_pane")),
    *("oi_tui.app.screens.variables_panel", "oi_tui.app.screens.clipboard", "oi_tui.app.engine.secrets.redaction"),
    *("importlib.metadata", "pygments.lexer", "pygments.lexers", "zipfile", "aiohttp", "psutil", "PIL"),
}
"""What comes with the first block, the first paste, a screen that is opened, or a package of plugins."""


def test_a_screen_at_rest_has_not_loaded_what_only_some_sessions_open(clean_env: dict[str, str]) -> None:
    command = [sys.executable, "-c", AT_REST]
    finished = subprocess.run(command, env=clean_env, capture_output=True, text=True, timeout=60, cwd="/")
    there = set(finished.stdout.split())
    assert "oi_tui.widgets.timeline.view" in there, finished.stderr
    assert there & NOT_AT_REST == set()
