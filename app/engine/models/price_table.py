"""The price list that comes with LiteLLM, or a newer one that was fetched, read without importing LiteLLM: prices,
windows and abilities of 4,000 models.

Where there is no list, what the person sets or the server says is all that is known.
It is one JSON file of 3 MB: reading it takes some milliseconds, so it is read in a thread, and one row of it is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.files.paths import cache_dir

_FILE = "model_prices_and_context_window_backup.json"


def find_row(provider: str, model: str) -> Mapping[str, Any]:
    """The row of this provider's model, empty where there is none, or no list. Blocks for some milliseconds."""
    return find_rows(provider, (model,)).get(model, {})


def find_rows(provider: str, models: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The rows of this provider's models by their names, without those that the list does not have."""
    rows, found = _read_list(), dict[str, Mapping[str, Any]]()
    for model in models:
        for key in (f"{provider}/{model}", model):
            if key in rows and (row := _decode(rows[key])).get("litellm_provider") == provider:
                found.setdefault(model, row)
    return found


def has_litellm() -> bool:
    """Whether LiteLLM is installed: a person may leave it out."""
    return bool(_folders())


def _folders() -> Sequence[str]:
    found = find_spec("litellm")  # of a top-level name: imports nothing
    return tuple((found.submodule_search_locations if found else None) or ())


def installed_file() -> Path | None:
    """The list that came with LiteLLM; None where it is not there."""
    files = (Path(folder) / _FILE for folder in _folders())
    return next((file for file in files if file.is_file()), None)


def fetched_path() -> Path:
    """Where `oi-tui models prices --update` keeps a list."""
    return cache_dir() / "model-prices.json"


def fetched_file() -> Path | None:
    """The list there; None where there is none, or LiteLLM's is newer."""
    file, installed = fetched_path(), installed_file()
    try:
        fetched = file.stat().st_mtime
        return file if installed is None or fetched >= installed.stat().st_mtime else None
    except OSError:
        return None


def _read_list() -> Mapping[str, msgspec.Raw]:
    for file in (fetched_file(), installed_file()):
        if file is not None:
            with suppress(OSError, msgspec.DecodeError):
                return msgspec.json.decode(file.read_bytes(), type=dict[str, msgspec.Raw])
    return {}


def _decode(raw: msgspec.Raw) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
