"""What LiteLLM knows of one model: who provides it, which key it takes, what it can do and costs.

LiteLLM itself is passed in, as it takes seconds to import (see model.py). Nothing here raises but `ModelError`:
a model that LiteLLM has never heard of is the common case, not a fault.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.failures import ModelEndpoint, no_key, unknown_provider
from oi_tui.app.engine.secrets.environment import is_credential

DUMMY_KEY = "no-key"
"""For servers that want none: clients insist on having one."""

_LOCAL_PROVIDERS = {"ollama", "ollama_chat", "lm_studio", "llamafile"}
_OTHER_LOGINS = {"azure", "azure_ai", "github_copilot"}
"""Providers that may be entered without a key in the environment."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One model, ready to be asked."""

    model: str
    """LiteLLM's name."""
    provider: str
    api_key: str | None
    context_window: int | None
    takes_images: bool
    takes_tools: bool
    free: bool
    """Runs on this machine."""
    asked: ModelEndpoint

    def __repr__(self) -> str:
        return f"Facts({self.model!r})"


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
    local = free or is_loopback(url) or (provider in _LOCAL_PROVIDERS and not url)
    names = _key_names(litellm, model, section.api_base)
    key = api_key or _key(provider, names, environ, url)
    asked = ModelEndpoint(
        model=section.name,
        url=url,
        provider=provider,
        keyless=key == DUMMY_KEY,
        timeout=section.timeout,
        content_timeout=section.content_timeout,
        answer_timeout=section.answer_timeout,
        key_names=names,
        secrets=_secrets(key, environ),
    )
    if key is None and names and provider not in _OTHER_LOGINS:
        raise no_key(asked)
    info = _info(litellm, model, section.api_base)
    return Facts(
        model=model,
        provider=provider,
        api_key=key,
        context_window=section.context_window or info.get("max_input_tokens") or info.get("max_tokens"),
        takes_images=_switch(section.images, info.get("supports_vision")),
        takes_tools=_switch(section.tools, info.get("supports_function_calling")),
        free=local,
        asked=asked,
    )


def price(litellm: Any, facts: Facts, usage: Any) -> float | None:
    """US dollars of one answer: the provider's own figure, else the price list; None when neither knows."""
    reported = getattr(usage, "cost", None)
    if isinstance(reported, int | float) and not isinstance(reported, bool) and 0 <= reported < math.inf:
        return float(reported)
    try:
        cost = sum(litellm.cost_per_token(model=facts.model, usage_object=usage))
    except Exception:  # an unknown model, or a usage that the price list cannot read: then there is no price
        cost = 0.0
    return cost or (0.0 if facts.free else None)  # a listed price of nothing is a gap in the list, unless it is ours


def is_loopback(url: str) -> bool:
    """Whether a URL is of this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or host.endswith(".localhost") or ip_address(host).is_loopback
    except ValueError:
        return False


def _full_name(litellm: Any, section: ModelSection) -> str:
    """With an address of its own, any name without a provider is one of an OpenAI-compatible server."""
    known = named_provider(litellm, section.name)
    return section.name if known or not section.api_base else f"openai/{section.name}"


def named_provider(litellm: Any, name: str) -> str:
    """The provider that LiteLLM reads in front of a name's slash; "" if there is none that it knows."""
    prefix, slash, _ = name.partition("/")
    known = bool(slash) and prefix in {getattr(provider, "value", provider) for provider in litellm.provider_list}
    return prefix if known else ""


def _key_names(litellm: Any, model: str, api_base: str) -> tuple[str, ...]:
    """Variables that LiteLLM misses; empty when it misses anything else too, or nothing."""
    missing = litellm.validate_environment(model, api_base=api_base or None)["missing_keys"]
    return tuple(missing) if all(name.endswith("_API_KEY") for name in missing) else ()


def _key(provider: str, names: tuple[str, ...], environ: Mapping[str, str], url: str) -> str | None:
    """The key to send, None where LiteLLM finds its own.

    A key of the environment never goes to a server on this machine that only speaks OpenAI's language:
    whoever listens on that port would get it.
    """
    if provider == "openai" and is_loopback(url):
        return DUMMY_KEY
    found = next((environ[name] for name in names if environ.get(name)), None)
    return found or (DUMMY_KEY if provider == "openai" and url else None)


def _secrets(key: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Longest first: one may be part of another."""
    values = {value for name, value in environ.items() if is_credential(name, value)} | {key or ""}
    telling = (value for value in values if len(value) >= 8 and value != DUMMY_KEY)
    return tuple(sorted(telling, key=len, reverse=True))


def _info(litellm: Any, model: str, api_base: str) -> Mapping[str, Any]:
    try:
        info: Mapping[str, Any] = litellm.get_model_info(model, api_base=api_base or None)
    except Exception:  # LiteLLM's way to say that it does not know the model
        return {}
    return info


def _switch(setting: str, known: object) -> bool:
    return setting == "on" or (setting == "auto" and bool(known))
