"""What LiteLLM knows of one model: who provides it, which key it takes, what it can do and costs.

LiteLLM itself is passed in, as it takes seconds to import (see litellm_model.py). Nothing here raises but
`ModelError`: a model that LiteLLM has never heard of is the common case, not a fault.
"""

from collections.abc import Mapping
from typing import Any

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
from oi_tui.app.engine.models.failures import ModelEndpoint, no_key, unknown_provider
from oi_tui.app.engine.models.price_table import fetched_file, find_row

_LOCAL_PROVIDERS = {"ollama", "ollama_chat", "lm_studio", "llamafile"}
_OTHER_LOGINS = {"azure", "azure_ai", "github_copilot"}
"""Providers that may be entered without a key in the environment."""


def look_up(
    litellm: Any, section: ModelSection, *, api_key: str | None, environ: Mapping[str, str], free: bool
) -> Facts:
    """The facts; may ask a local Ollama. ModelError `unknown_model` or `no_key`."""
    model = _full_name(litellm, section)
    try:
        _, provider, _, base = litellm.get_llm_provider(model, api_base=section.api_base or None)
    except Exception as error:  # LiteLLM's class for this cannot be named without importing it
        raise unknown_provider(section.name) from error
    url = section.api_base or (base or "" if provider in _LOCAL_PROVIDERS else "")
    costs_nothing = free or (provider in _LOCAL_PROVIDERS and is_loopback(url or "http://localhost"))
    names = _key_names(litellm, model, section.api_base)
    key = api_key or environment_key(provider, names, environ, url)
    headers = extra_headers(section.extra, environ)
    asked = ModelEndpoint(
        model=section.name,
        url=url,
        provider=provider,
        keyless=key == DUMMY_KEY,
        timeout=section.timeout,
        content_timeout=section.content_timeout,
        answer_timeout=section.answer_timeout,
        key_names=names,
        secrets=known_secrets(key, environ, headers.values()),
    )
    if key is None and names and provider not in _OTHER_LOGINS:
        raise no_key(asked)
    require_sendable(key, asked)
    _refresh_price(litellm, model, provider)
    info = _info(litellm, model, section.api_base)
    rates = own_rates(section)
    listed = bool(info.get("input_cost_per_token") or info.get("output_cost_per_token"))
    return Facts(
        model=model,
        provider=provider,
        api_key=key,
        context_window=section.context_window or info.get("max_input_tokens") or info.get("max_tokens"),
        takes_images=decide_switch(section.images, info.get("supports_vision")),
        takes_tools=decide_switch(section.tools, info.get("supports_function_calling")),
        takes_schema=bool(info.get("supports_response_schema")),
        free=costs_nothing,
        tells_price=costs_nothing or rates is not None or listed,
        asked=asked,
        headers=headers,
        rates=rates,
    )


def listed_price(litellm: Any, facts: Facts, usage: Any) -> float | None:
    """US dollars of one answer by LiteLLM's list; `usage` is its own object. None when it does not know the model."""
    try:
        return float(sum(litellm.cost_per_token(model=_listed_name(facts.model), usage_object=usage)))
    except Exception:  # an unknown model, or a usage that the price list cannot read: then there is no price
        return None


def _full_name(litellm: Any, section: ModelSection) -> str:
    """The name for LiteLLM: with an address of its own, a name without a provider is one of an OpenAI-compatible
    server."""
    prefix, slash, _ = section.name.partition("/")
    known = bool(slash) and prefix in {getattr(provider, "value", provider) for provider in litellm.provider_list}
    return section.name if known or not section.api_base else f"openai/{section.name}"


def _key_names(litellm: Any, model: str, api_base: str) -> tuple[str, ...]:
    """Variables that LiteLLM misses; empty when it misses anything else too, or nothing."""
    missing = litellm.validate_environment(model, api_base=api_base or None)["missing_keys"]
    return tuple(missing) if all(name.endswith("_API_KEY") for name in missing) else ()


def _refresh_price(litellm: Any, model: str, provider: str) -> None:
    """Let LiteLLM know the row of a list that is newer than its own."""
    if fetched_file() is not None and (row := find_row(provider, model.removeprefix(f"{provider}/"))):
        for name in (model, model.removeprefix(f"{provider}/")):
            if name in litellm.model_cost or name == model:
                litellm.register_model({name: dict(row)})


def _listed_name(model: str) -> str:
    """`openai/responses/` says how a model is asked; lists have the model alone."""
    how = "openai/responses/"
    return "openai/" + model.removeprefix(how) if model.startswith(how) else model


def _info(litellm: Any, model: str, api_base: str) -> Mapping[str, Any]:
    try:
        info: Mapping[str, Any] = litellm.get_model_info(_listed_name(model), api_base=api_base or None)
    except Exception:  # LiteLLM's way to say that it does not know the model
        return {}
    return info
