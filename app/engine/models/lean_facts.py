"""What is known of a model that we ask ourselves: from the settings, the environment and the price list."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.offline import HINT, is_offline
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.facts import (
    DUMMY_KEY,
    Facts,
    decide_switch,
    environment_key,
    extra_headers,
    is_loopback,
    known_secrets,
    own_rates,
    require_sendable,
)
from oi_tui.app.engine.models.failures import ModelEndpoint, no_key
from oi_tui.app.engine.models.hosted import provider_title
from oi_tui.app.engine.models.prices import rates_of
from oi_tui.app.engine.models.providers import ChatProvider, LeanChoice, same_server


class ServerPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model's server is."""

    base: str
    own: bool
    """The provider's own address, which keys of the environment may go to."""


def look_up_lean(
    choice: LeanChoice, section: ModelSection, *, api_key: str | None, environ: Mapping[str, str], free: bool
) -> tuple[Facts, str]:
    """The facts, and the address of the API. ModelError `no_key`, or `unknown_model` where no address is known."""
    provider, row = choice.provider, choice.row
    place = _place(provider, section, environ)
    url = place.base if section.api_base or provider.local or provider.base != place.base else ""
    names = provider.variables if place.own or provider.name == "openai" else ()
    if provider.local and is_loopback(place.base):
        names = ()  # any program listening there would get it
    key = (api_key or "").strip() or environment_key(provider.name, names, environ, url)
    needs_key = not (provider.local or url)
    if is_offline() and provider.local and is_elsewhere(choice.model):
        raise ModelError("unreachable", f"oi-tui is offline: {choice.model} runs on another machine.", hint=HINT)
    headers = extra_headers(section.extra, environ)
    if section.extra.thinking_budget is not None and provider.name != "openrouter":
        title = f"{provider_title(provider.name)} takes no model.extra.thinking_budget."
        raise ModelError("bad_request", title, hint="Set model.extra.reasoning_effort, or a field in model.extra.body.")
    asked = ModelEndpoint(
        model=section.name,
        url=url,
        provider=provider.name,
        keyless=key in (None, DUMMY_KEY),
        timeout=section.timeout,
        content_timeout=section.content_timeout,
        answer_timeout=section.answer_timeout,
        key_names=provider.variables,
        secrets=known_secrets(key, environ, headers.values()),
    )
    if key is None and needs_key:
        raise no_key(asked)
    require_sendable(key, asked)
    costs_nothing = free or (provider.local and is_loopback(place.base) and not is_elsewhere(choice.model))
    rates = own_rates(section) or (None if costs_nothing else rates_of(row))
    reports_cost = provider.reports_cost and same_server(place.base, provider.base)  # another server may not
    facts = Facts(
        model=choice.model,
        provider=provider.name,
        api_key=key,
        context_window=section.context_window or _count(row, "max_input_tokens") or _count(row, "max_tokens"),
        takes_images=decide_switch(section.images, row.get("supports_vision")),
        takes_tools=decide_switch(section.tools, row.get("supports_function_calling")),
        # Of a model that no list names, its server says whether it does.
        takes_schema=bool(row.get("supports_response_schema", not row)),
        free=costs_nothing,
        tells_price=costs_nothing or rates is not None or reports_cost,
        asked=asked,
        headers=headers,
        rates=rates,
    )
    return facts, place.base


def is_elsewhere(model: str) -> bool:
    """Whether a server on this machine only passes on what it is asked for this model."""
    return model.endswith(("-cloud", ":cloud"))


def _place(provider: ChatProvider, section: ModelSection, environ: Mapping[str, str]) -> ServerPlace:
    """The person's address, else one in the environment, else the provider's own."""
    if given := section.api_base.strip():
        base = tidy_base(provider, given)
        return ServerPlace(base=base, own=bool(provider.base) and same_server(base, provider.base))
    set_there = next((base for name in provider.base_variables if (base := environ.get(name, "").strip())), "")
    if not (set_there or provider.base):
        hint = "Give its address with /model or --api-base."
        raise ModelError("unknown_model", f"It is not known where {provider.name} listens.", hint=hint)
    return ServerPlace(base=tidy_base(provider, set_there or provider.base), own=True)


def tidy_base(provider: ChatProvider, base: str) -> str:
    """The address that paths are put behind."""
    base = base.rstrip("/")
    if provider.speaks == "openai":
        return base.removesuffix("/chat/completions")
    if "://" not in base:  # as OLLAMA_HOST has it: HOST, HOST:PORT, :PORT
        base = f"http://{'127.0.0.1' if base.startswith(':') else ''}{base}"
    base = base.removesuffix("/api/chat").removesuffix("/api").removesuffix("/v1")
    parts = urlsplit(base)
    if parts.scheme == "http" and not parts.path and not parts.netloc.rpartition("]")[2].partition(":")[2]:
        base += ":11434"
    return base.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _count(row: Mapping[str, Any], name: str) -> int | None:
    value = row.get(name)
    return value if isinstance(value, int) and value > 0 else None
