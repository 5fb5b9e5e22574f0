"""Whether the server of a model answers: its list of models is asked for, which costs nothing and loads no model."""

import asyncio
import time
from collections.abc import Mapping
from typing import NamedTuple

from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.core.http_session import open_http, tell_failure
from oi_tui.app.engine.core.loopback_http import get_from_here
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.facts import DUMMY_KEY
from oi_tui.app.engine.models.lean_facts import look_up_lean
from oi_tui.app.engine.models.model_list import ANSWER_LIMIT, no_list_errors
from oi_tui.app.engine.models.providers import find_lean

PATIENCE = 5.0
"""Seconds that a server has to answer."""


class Heartbeat(NamedTuple):
    """The answer of a server."""

    server: str
    """Its host, or the provider; "" where it was not asked, because only a paid request would tell."""
    seconds: float = 0.0
    obstacle: ModelError | None = None
    """Why the model cannot be used; None if it can, as far as this tells."""


async def check_server(
    section: ModelSection, api_key: str | None, environ: Mapping[str, str], *, patience: float = PATIENCE
) -> Heartbeat:
    """Ask the server of this model for its list. Any answer will do, unless the key is refused. Never raises."""
    choice = await asyncio.to_thread(find_lean, section.name, section.api_base)
    if choice is None:
        return Heartbeat("")
    try:
        facts, base = await asyncio.to_thread(
            look_up_lean, choice, section, api_key=api_key, environ=environ, free=False
        )
    except ModelError as error:
        return Heartbeat(choice.provider.name, obstacle=error)
    path = "/api/tags" if choice.provider.speaks == "ollama" else "/models"
    key = facts.api_key if facts.api_key != DUMMY_KEY else None
    host = facts.asked.host
    headers = {**facts.headers, **({"Authorization": f"Bearer {key}"} if key else {})}
    begun = time.monotonic()
    try:
        async with asyncio.timeout(patience):
            plain = await get_from_here(base + path, headers, limit=ANSWER_LIMIT)
            status = plain.status if plain is not None else await _ask_for_status(base, path, headers, environ)
    except SettingsError as error:
        return Heartbeat(host, obstacle=ModelError("unreachable", error.title, hint=error.hint))
    except no_list_errors() as error:
        return Heartbeat(host, obstacle=_unreachable(host, error))
    seconds = time.monotonic() - begun
    if status in (401, 403):
        refused = ModelError(
            "wrong_key", f"{host} refuses the API key ({status}).", hint="Type /model to give another."
        )
        return Heartbeat(host, seconds, refused)
    return Heartbeat(host, seconds)


async def _ask_for_status(base: str, path: str, headers: Mapping[str, str], environ: Mapping[str, str]) -> int:
    from aiohttp import ClientHttpProxyError, ClientResponseError  # deferred: heavy

    try:
        async with await open_http(base, headers, environ) as http, http.get(base + path) as answer:
            return answer.status
    except ClientHttpProxyError:
        raise
    except ClientResponseError as error:
        return error.status  # a redirect, which is not followed: something answers


def _unreachable(host: str, error: BaseException) -> ModelError:
    title = f"{host} does not answer: {tell_failure(error)}."
    return ModelError("unreachable", title, hint="Start the server, or choose another model with /model.")
