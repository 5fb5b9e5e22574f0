"""Which models are at hand: servers that answer on this machine, keys in the environment, embedded ones.

Runs on the first screen, so it is quick, parallel, never raises, and does not load the model library.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from urllib.parse import urlsplit

from msgspec.structs import replace

from oi_tui.app.engine.core.protocol import ModelOffer
from oi_tui.app.engine.files.credentials import CredentialPlace
from oi_tui.app.engine.models.hosted import HOSTED, HostedProvider
from oi_tui.app.engine.models.listed_models import describe_model, read_models
from oi_tui.app.engine.models.model_list import ModelList, get_json, no_list_errors
from oi_tui.app.engine.models.model_servers import PATHS, ModelPlace, find_servers
from oi_tui.app.engine.models.price_table import has_litellm
from oi_tui.app.engine.models.providers import THROUGH_LITELLM, provider_of
from oi_tui.app.engine.text.words import age_in_words

RUN_MODELS = ("llamacpp", "vllm", "library", "organization_owner")
"""What llama.cpp, vLLM, Ollama and LM Studio name as the owner of a model that they run."""
OFFERS_LIMIT = 20
"""Models of one server that are offered."""
SIBLINGS_LIMIT = 500
"""Models of a server in use that are offered."""
FAR = 1.0
"""Seconds for a server on another machine, at least."""


async def find_offers(
    environ: Mapping[str, str],
    *,
    kept: Mapping[str, CredentialPlace] | None = None,
    named: Sequence[str] = (),
    probe_timeout: float = 0.3,
    servers: Sequence[ModelPlace] | None = None,
) -> tuple[ModelOffer, ...]:
    """Servers that run, also those that are `named`, then keys of the environment and those that are `kept`, then
    providers that want a key; each server has `probe_timeout` seconds to answer. Last among the keys are those whose
    provider needs LiteLLM where that was left out."""
    await asyncio.to_thread(import_module, "aiohttp")  # a tenth of a second, which no server has to answer in
    places = find_servers(environ, named) if servers is None else servers
    found = await asyncio.gather(*(_server_offers(place, probe_timeout, environ) for place in places))
    hosted = [_hosted_offer(provider, environ, kept or {}) for provider in HOSTED]
    lacking = [offer.id for offer in hosted if provider_of(offer.id) in THROUGH_LITELLM and not has_litellm()]
    ready = [offer for offer in hosted if not offer.wants_key]
    return (
        *(offer for offers in found for offer in offers),
        *(offer for offer in ready if offer.id not in lacking),
        *(replace(offer, detail=f"{offer.detail}{_LACK}") for offer in ready if offer.id in lacking),
        *(offer for offer in hosted if offer.wants_key and offer.id not in lacking),
    )


_LACK = " · needs LiteLLM, which is not installed"


def _hosted_offer(
    provider: HostedProvider, environ: Mapping[str, str], kept: Mapping[str, CredentialPlace]
) -> ModelOffer:
    variable = next((name for name in provider.variables if environ.get(name, "").strip()), "")
    place = kept.get(provider.name)
    detail = (
        f"key in {variable}"
        if variable
        else {"keyring": "key in the keyring", "file": "key in your file"}.get(place or "", "needs an API key")
    )
    title = f"{provider.title} {provider.model.rpartition('/')[2]}"
    has_key = bool(variable or place)
    return ModelOffer(
        id=provider.model,
        kind="key",
        title=title,
        detail=detail,
        api_base="",
        wants_key=not has_key,
        is_kept=bool(place and not variable),
    )


async def _server_offers(place: ModelPlace, timeout: float, environ: Mapping[str, str]) -> list[ModelOffer]:
    """The models of one server; none where nothing listens, or something else does."""
    patience = timeout if place.is_here else max(timeout, FAR)
    try:
        async with asyncio.timeout(patience):
            found = read_models(place.form, await get_json(place.base, PATHS[place.form], environ=environ))
    except no_list_errors():
        return []
    return [
        ModelOffer(
            id=f"{place.provider}/{one.name}",
            kind="server",
            title=one.name,
            detail=" · ".join(part for part in (place.title, describe_model(one)) if part),
            api_base=place.api_base,
        )
        for one in found[:OFFERS_LIMIT]
    ]


def sibling_offers(found: ModelList, name: str, api_base: str) -> Iterator[ModelOffer]:
    """The models of a list as this one is named: with the provider in front if it is."""
    named = name.startswith(f"{found.provider}/")
    age = f"list of {age_in_words(time.time() - found.fetched)}" if found.trouble else ""
    for one in found.models[:SIBLINGS_LIMIT]:
        full = found.full_name(one) if named or "/" in one.name else one.name
        detail = " · ".join(part for part in (describe_model(one), age) if part)
        yield ModelOffer(id=full, kind="server", title=full, detail=detail, api_base=api_base)


async def runs_here(api_base: str, *, timeout: float = 1.0) -> bool:
    """Whether the server at this address says that it runs its models itself, on this machine: such a one costs
    nothing. One that passes requests on (a gateway) does not say so, and what it costs is not known."""
    try:
        parts = urlsplit(api_base)
        if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost"):
            return False
        async with asyncio.timeout(timeout):
            base = f"http://127.0.0.1:{parts.port or 80}"
            answer = await get_json(base, f"{parts.path.rstrip('/')}/models")
    except no_list_errors():
        return False
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not rows:
        return False
    return all(isinstance(row, dict) and row.get("owned_by") in RUN_MODELS for row in rows)
