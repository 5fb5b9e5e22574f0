"""A newer price list from LiteLLM's repository, fetched only when it is asked for, and kept with its age."""

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.http_session import tell_failure
from oi_tui.app.engine.core.offline import is_this_machine
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.models.model_list import UnusableList, get_json, no_list_errors
from oi_tui.app.engine.models.price_table import fetched_file, fetched_path, installed_file
from oi_tui.app.engine.models.prices import rates_of

SOURCE = "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"
PATIENCE = 60.0
"""Seconds for the whole list."""
FEWEST = 20
"""Models with a price, below which something else was sent."""


class PriceList(NamedTuple):
    """Which list prices are taken from."""

    origin: str
    age: float | None
    """Seconds since it was fetched; None of one that was installed, and of none."""


def price_list() -> PriceList:
    """The list in use."""
    installed, fetched = installed_file(), fetched_file()
    if fetched is not None:
        return PriceList(f"fetched list {fetched}", time.time() - fetched.stat().st_mtime)
    return PriceList("the list that came with LiteLLM" if installed is not None else "", None)


async def fetch_prices(source: str = SOURCE, environ: Mapping[str, str] = os.environ) -> int:
    """Fetch the list and keep it; how many models in it have a price. SettingsError where that fails: the list before
    stays."""
    parts = urlsplit(source)
    if parts.scheme != "https" and not is_this_machine(parts.hostname or ""):
        raise SettingsError("Prices are fetched from https:// addresses only.")
    try:
        async with asyncio.timeout(PATIENCE):
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            rows = await get_json(f"{parts.scheme}://{parts.netloc}", path, environ=environ)
    except UnusableList as error:
        raise SettingsError(f"{parts.netloc} {error}.") from error
    except SettingsError:
        raise
    except no_list_errors() as error:
        raise SettingsError(f"The prices cannot be fetched from {parts.netloc}: {tell_failure(error)}.") from error
    priced = {name: row for name, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}
    count = sum(_has_price(row) for row in priced.values())
    if count < FEWEST:
        raise SettingsError(f"What {parts.netloc} sent is no price list.", hint="The list before is still used.")
    target = fetched_path()
    await asyncio.to_thread(private_dir, target.parent)
    await asyncio.to_thread(write_whole, target, msgspec.json.encode(priced), over=True)
    return count


def _has_price(row: Mapping[str, object]) -> bool:
    with suppress(TypeError, ValueError):
        return isinstance(row.get("litellm_provider"), str) and rates_of(row) is not None
    return False
