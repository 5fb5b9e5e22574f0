"""Which models are at hand: servers that answer on this machine, keys in the environment, embedded ones.

Runs on the first screen, so it is quick, parallel, never raises, and does not load the model library.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from oi_tui.app.engine.core.http_session import open_http
from oi_tui.app.engine.core.protocol import ModelOffer
from oi_tui.app.engine.files.credentials import CredentialPlace
from oi_tui.app.engine.models.hosted import HOSTED, HostedProvider
from oi_tui.app.engine.models.price_table import has_litellm
from oi_tui.app.engine.models.providers import THROUGH_LITELLM, provider_of

ANSWER_LIMIT = 1_000_000
"""Bytes of a server's list that are read."""
RUN_MODELS = ("llamacpp", "vllm", "library", "organization_owner")
"""What llama.cpp, vLLM, Ollama and LM Studio name as the owner of a model that they run."""
OFFERS_LIMIT = 20
"""Models of one server that are offered."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A program that serves models on the loopback, and how to ask it for their names."""

    title: str
    port: int
    speaks: Literal["ollama", "openai"] = "openai"


SERVERS = (
    Server(title="Ollama", port=11434, speaks="ollama"),
    Server(title="LM Studio", port=1234),
    Server(title="llama.cpp", port=8080),
)


async def find_offers(
    environ: Mapping[str, str],
    *,
    kept: Mapping[str, CredentialPlace] | None = None,
    probe_timeout: float = 0.3,
    servers: Sequence[Server] = SERVERS,
) -> tuple[ModelOffer, ...]:
    """Servers on this machine, then keys of the environment and those that are `kept`, then providers that want a key;
    each server has `probe_timeout` seconds to answer. Last among the keys are those whose provider needs LiteLLM where
    that was left out."""
    await asyncio.to_thread(import_module, "aiohttp")  # a tenth of a second, which no server has to answer in
    found = await asyncio.gather(*(_server_offers(server, probe_timeout) for server in servers))
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
    return ModelOffer(id=provider.model, kind="key", title=title, detail=detail, api_base="", wants_key=not has_key)


async def _server_offers(server: Server, timeout: float) -> list[ModelOffer]:
    """The models of one server; none where nothing listens, or something else does."""
    path = "/api/tags" if server.speaks == "ollama" else "/v1/models"
    try:
        async with asyncio.timeout(timeout):
            answer = await get_json(f"http://127.0.0.1:{server.port}", path)
        return [_offer(server, name) for name in model_names(answer)[:OFFERS_LIMIT]]
    except no_list_errors():
        return []


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


def no_list_errors() -> tuple[type[Exception], ...]:
    """What a server raises that is none of models: it is silent, speaks something else, or says too much."""
    from aiohttp import ClientError  # deferred: heavy

    return (OSError, TimeoutError, ValueError, ClientError)


def model_names(answer: Any) -> list[str]:
    """Model names in the answer of either kind of server; ValueError for any other answer."""
    rows = answer.get("models", answer.get("data")) if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise ValueError("not a list of models")
    names = (row.get("name") or row.get("id") for row in rows if isinstance(row, dict))
    return [name for name in names if isinstance(name, str) and name and "embed" not in name]


def _offer(server: Server, name: str) -> ModelOffer:
    base = f"http://127.0.0.1:{server.port}"
    if server.speaks == "ollama":
        model, address = f"ollama/{name}", base
    else:
        model, address = f"openai/{name}", f"{base}/v1"
    detail = f"{server.title} on port {server.port}"
    return ModelOffer(id=model, kind="server", title=name, detail=detail, api_base=address)


async def get_json(base: str, path: str, *, key: str | None = None, environ: Mapping[str, str] = os.environ) -> Any:
    """What a server says there. ValueError if it says something else, or too much; and see `no_list_errors`."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        await open_http(base, headers, environ) as http,
        http.get(f"{base}{path}", allow_redirects=False) as answer,
    ):
        if answer.status != 200:
            raise ValueError("not found there")
        body = b""
        async for chunk in answer.content.iter_any():
            body += chunk
            if len(body) > ANSWER_LIMIT:
                raise ValueError("more than a list of models")
        return msgspec.json.decode(body)
