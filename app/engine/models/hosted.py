"""Providers that a person has a key for: how they are called, where a key is looked for, how they list their models.

Pure. How the models themselves are asked: providers.py.
"""

import difflib
from typing import Literal

import msgspec

from oi_tui.app.engine.models.providers import CHAT_PROVIDERS, THROUGH_LITELLM, same_server

ListForm = Literal["openai", "anthropic", "gemini", "ollama"]
"""How a server lists its models, and what a key is sent as."""


class HostedProvider(msgspec.Struct, frozen=True, kw_only=True):
    """A company that answers for money, and a good model of theirs to begin with."""

    name: str
    """The part in front of the slash."""
    title: str
    """As the company writes it."""
    base: str
    """Where models are listed, under `/models`."""
    variables: tuple[str, ...]
    """That a key is looked for in; the first one set counts."""
    model: str
    base_variables: tuple[str, ...] = ()
    """That another address of it may be in."""
    lists: ListForm = "openai"


_BY_CHAT = {provider.name: provider for provider in CHAT_PROVIDERS}


def _spoken_to(name: str, title: str, model: str) -> HostedProvider:
    """One that we speak to ourselves."""
    row = _BY_CHAT[name]
    return HostedProvider(
        name=name,
        title=title,
        base=row.base,
        variables=row.variables,
        model=f"{name}/{model}",
        base_variables=row.base_variables,
    )


HOSTED = (
    HostedProvider(
        name="anthropic",
        title="Anthropic",
        base="https://api.anthropic.com/v1",
        variables=("ANTHROPIC_API_KEY",),
        model="anthropic/claude-sonnet-5-5",
        base_variables=("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        lists="anthropic",
    ),
    _spoken_to("openai", "OpenAI", "gpt-5.6"),
    HostedProvider(
        name="gemini",
        title="Google Gemini",
        base="https://generativelanguage.googleapis.com/v1beta",
        variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        model="gemini/gemini-3.8-flash",
        base_variables=("GEMINI_API_BASE",),
        lists="gemini",
    ),
    _spoken_to("openrouter", "OpenRouter", "openrouter/auto"),
    _spoken_to("mistral", "Mistral", "mistral-large-latest"),
    _spoken_to("deepseek", "DeepSeek", "deepseek-v4-pro"),
    _spoken_to("groq", "Groq", "openai/gpt-oss-120b"),
    _spoken_to("xai", "xAI", "grok-4.7"),
)

_BY_NAME = {provider.name: provider for provider in HOSTED}
_ALIASES = {"google": "gemini", "claude": "anthropic", "chatgpt": "openai", "grok": "xai"}
_LOCAL_TITLES = {"ollama": "Ollama", "lm_studio": "LM Studio", "hosted_vllm": "vLLM"}


def find_hosted(name: str) -> HostedProvider | None:
    """The provider of this name; None where we only know how to ask its models, or not even that."""
    return _BY_NAME.get(name)


def provider_title(name: str) -> str:
    """The provider as it writes itself, else its name."""
    found = _BY_NAME.get(name)
    return found.title if found is not None else _LOCAL_TITLES.get(name, name)


def variables_of(name: str) -> tuple[str, ...]:
    """Variables of the environment that a provider's key is looked for in."""
    if (found := _BY_NAME.get(name)) is not None:
        return found.variables
    return _BY_CHAT[name].variables if name in _BY_CHAT else (f"{name.upper()}_API_KEY",)


def read_provider(words: str) -> str:
    """The name of the provider that somebody typed; "" if there is none."""
    typed = words.strip().casefold().replace(" ", "_")
    typed = _ALIASES.get(typed, typed)
    by_title = {provider.title.casefold().replace(" ", "_"): provider.name for provider in HOSTED}
    typed = by_title.get(typed, typed)
    return typed if typed in _BY_CHAT or typed in THROUGH_LITELLM else ""


def similar_providers(words: str) -> list[str]:
    """Names that may have been meant."""
    names = sorted({*_BY_CHAT, *THROUGH_LITELLM})
    return difflib.get_close_matches(words.strip().casefold(), names, n=3, cutoff=0.6)


def provider_at(address: str) -> HostedProvider | None:
    """The provider whose own server has this address."""
    return next((one for one in HOSTED if address and same_server(address, one.base)), None)
