"""The options that every command takes, and their effect on the settings. `options.py` reads them; the plainest are
read here, because to import what reads the others takes its time."""

import os
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import HEADLESS_LIMIT, without_network
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_file import LoadedSettings, load_layers, take_over_settings
from oi_tui.app.engine.trust.folder_decisions import known_folders
from oi_tui.app.frontend.workplace import Workplace


def words(value: str) -> str:
    """Text of the command line. Bytes that are not UTF-8 can be sent to nobody; they become U+FFFD at once."""
    return value.encode(errors="surrogateescape").decode(errors="replace")


SETTING_OF_FLAG: Mapping[str, tuple[str, str]] = {
    "model": ("model", "name"),
    "api_base": ("model", "api_base"),
    "approve": ("loop", "approve"),
    "yes": ("loop", "approve"),
    "max_steps": ("loop", "max_steps"),
    "max_cost": ("loop", "max_cost"),
    "max_tokens": ("loop", "max_tokens"),
    "complete": ("loop", "complete"),
    "sandbox": ("sandbox", "mode"),
    "python": ("kernel", "python"),
    "kernel": ("kernel", "server"),
    "attach": ("kernel", "attach"),
    "keep_kernel": ("kernel", "keep"),
    "time_limit": ("kernel", "time_limit"),
    "offline": ("network", "offline"),
    "allow_destructive": ("policy", "allow_destructive"),
}
"""What a flag sets that is given."""


class Flags(NamedTuple):
    """The options that every command takes, as given."""

    model: str | None = None
    api_base: str | None = None
    api_key: str | None = None
    yes: bool = False
    approve: str | None = None
    sandbox: str | None = None
    max_steps: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    time_limit: float | None = None
    complete: bool = False
    allow_destructive: bool = False
    cwd: Path | None = None
    profile: str | None = None
    python: str | None = None
    kernel: str | None = None
    attach: bool = False
    keep_kernel: bool = False
    verbose: bool = False
    offline: bool = False

    def settings(self) -> LoadedSettings:
        """These flags over environment and files; SettingsError if something is wrong."""
        if self.yes and self.approve in ("ask", "plan", "never"):
            raise SettingsError(f"--yes and --approve {self.approve} contradict each other.")
        given: dict[str, dict[str, Any]] = {}
        for flag, (section, key) in SETTING_OF_FLAG.items():
            if (value := getattr(self, flag)) is not None and value is not False:
                given.setdefault(section, {})[key] = "auto" if flag == "yes" else value
        loaded = load_layers(
            config_dir(), environ=os.environ, flags=given, profile=self.profile, cwd=self.cwd or Path()
        )
        if loaded.settings.model.api_base and not loaded.settings.model.name:
            raise SettingsError("--api-base needs a model.", hint="Name it with -m NAME.")
        return loaded._replace(settings=without_network(loaded.settings))

    def workplace(self, *, can_ask: bool = True) -> Workplace:
        """The folder, and what an engine there needs to know."""
        cwd = (self.cwd or Path.cwd()).resolve()
        if not cwd.is_dir():
            raise SettingsError(f"--cwd: {cwd} is not a folder.")
        key = self.api_key or os.environ.get("OI_TUI_API_KEY") or None
        renamed = take_over_settings(config_dir())
        loaded = self.settings()
        setup = Configure(
            settings=loaded.settings,
            cwd=str(cwd),
            api_key=key,
            profile=loaded.profile,
            can_ask=can_ask,
            verbose=self.verbose,
        )
        try:
            msgspec.json.encode(setup)
        except UnicodeEncodeError as error:
            is_cwd = error.object == setup.cwd
            what = f"The name of the folder {cwd}" if is_cwd else "A setting or key in the environment"
            hint = "Give it another name, or work in another folder with --cwd DIR." if is_cwd else ""
            raise SettingsError(f"{what} is not UTF-8.", hint=hint) from None  # the key must not be in a traceback
        said = loaded.origins.keys()
        return Workplace(setup, said=said, folders=known_folders(), remarks=[renamed] if renamed else [])


def with_time_limit(setup: Configure) -> Configure:
    """The same settings; if no limit was set, a cell gets one."""
    replace, kernel = msgspec.structs.replace, setup.settings.kernel
    limit = HEADLESS_LIMIT if kernel.time_limit is None else kernel.time_limit
    return replace(setup, settings=replace(setup.settings, kernel=replace(kernel, time_limit=limit)))


_VALUED = {
    "-m": "model",
    "--model": "model",
    "--api-base": "api_base",
    "--api-key": "api_key",
    "--cwd": "cwd",
    "--kernel": "kernel",
    "--profile": "profile",
    "--python": "python",
}
"""Options of one word, and the flag that it is."""


def plain_flags(arguments: Sequence[str]) -> Flags | None:
    """What a command line comes to that has such options and nothing else; None where `options.py` has to read it."""
    given: dict[str, Any] = {}
    for option, value in zip_longest(arguments[::2], arguments[1::2], fillvalue="-"):
        if option not in _VALUED or value.startswith("-"):
            return None
        name = _VALUED[option]
        given[name] = Path(value) if name == "cwd" else words(value)
    return Flags(**given)
