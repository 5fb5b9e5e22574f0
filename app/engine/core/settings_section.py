"""What all sections of the settings are, and those about what tools read and what can be undone."""

from typing import Annotated, Literal

import msgspec


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the settings file; an unknown key is an error that names it."""


class WebSection(SettingsSection, frozen=True, kw_only=True):
    """What the model reads of the web by its tools, beside code; see `oi-tui help web`."""

    fetch: bool = True
    """Offer the model `fetch_url`, which reads a page by its address."""
    private: tuple[str, ...] = ()
    """Hosts of private networks and of this machine that it may read: `wiki.internal`, `localhost:3000`,
    `192.168.1.5:8080`."""
    search: Literal["", "searxng", "brave", "kagi"] = ""
    """Offer the model `search_web`: through a SearXNG, or Brave or Kagi with your key (`oi-tui auth set brave`)."""
    search_url: str = ""
    """URL of the SearXNG: `https://searx.example.org`."""
    max_mb: Annotated[float, msgspec.Meta(gt=0, le=100)] = 5.0
    """Largest page in MB, unpacked; of a longer text the beginning is read."""
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """Seconds that a page has to come."""


class UndoSection(SettingsSection, frozen=True, kw_only=True):
    """What is kept of files so that `/undo` can bring them back; see `oi-tui help files`."""

    code: bool = True
    """Keep the files of the folder before code runs, too. Without it, only what tools change can be undone."""
    files: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 20_000
    """Files of a folder that are looked at before and after each run; of a larger one, only those that the code names
    are kept."""
    file_mb: Annotated[int, msgspec.Meta(ge=1, le=50)] = 20
    """Largest file that is kept."""
    folder_mb: Annotated[int, msgspec.Meta(ge=1)] = 200
    """What is kept of one folder, the files that were modified last first."""
    disk_mb: Annotated[int, msgspec.Meta(ge=1)] = 1_000
    """What is kept of all sessions together; the oldest goes first."""
    days: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """How long a change can be undone."""
