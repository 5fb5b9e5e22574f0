"""What else there is on the server of a model: asked with the key and through the proxy of any request to it."""

import asyncio
from collections.abc import Mapping

from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.facts import DUMMY_KEY
from oi_tui.app.engine.models.lean_facts import look_up_lean
from oi_tui.app.engine.models.offers import get_json, model_names, no_list_errors
from oi_tui.app.engine.models.providers import find_lean

LIST_LIMIT = 300
"""Models of one server that are listed."""
PATIENCE = 2.5
"""Seconds in which a server has to tell them."""


async def list_models(
    section: ModelSection, api_key: str | None, environ: Mapping[str, str], *, patience: float = PATIENCE
) -> tuple[str, ...]:
    """Names of the models on the server of this one, as `UseModel` takes them; none where that cannot be asked, or the
    server does not say. Never raises."""
    choice = await asyncio.to_thread(find_lean, section.name, section.api_base)
    if choice is None:
        return ()
    try:
        facts, base = await asyncio.to_thread(
            look_up_lean, choice, section, api_key=api_key, environ=environ, free=False
        )
        path = "/api/tags" if choice.provider.speaks == "ollama" else "/models"
        key = facts.api_key if facts.api_key != DUMMY_KEY else None
        async with asyncio.timeout(patience):
            names = model_names(await get_json(base, path, key=key, environ=environ))
    except (ModelError, SettingsError):
        return ()
    except no_list_errors():
        return ()
    prefix = f"{choice.provider.name}/"
    named = section.name.startswith(prefix)
    return tuple(f"{prefix}{name}" if named or "/" in name else name for name in names[:LIST_LIMIT] if len(name) <= 200)
