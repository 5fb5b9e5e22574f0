"""Which servers there are for a folder: the person's own, then, where the folder is trusted, those that it names."""

import os
from pathlib import Path

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.mcp.entries import FOLDER_FILE, OWN_FILE, NamedServer, read_servers, write_entry


def own_servers_file() -> Path:
    """The person's own file."""
    return config_dir() / OWN_FILE


def named_servers(cwd: Path, *, trusted: bool) -> tuple[NamedServer, ...]:
    """The person's own come first, and keep their name; SettingsError with file and place if a file is wrong."""
    own = read_servers(own_servers_file(), owner=os.getuid())
    if not trusted:
        return own
    taken = {_plain(one.name) for one in own}
    of_folder = read_servers(cwd / FOLDER_FILE, owner=os.getuid(), folder=str(cwd))
    return (*own, *(one for one in of_folder if _plain(one.name) not in taken))


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_")


def set_disabled(server: NamedServer, disabled: bool) -> None:
    """Write into the person's file whether it is started; SettingsError for one that a folder names."""
    if server.folder:
        raise SettingsError(
            f"{server.name} is named by {server.folder}/{FOLDER_FILE}, which oi-tui does not change.",
            hint="A server of that name in your own mcp.json takes its place.",
        )
    write_entry(own_servers_file(), server.name, msgspec.structs.replace(server.entry, disabled=disabled))
