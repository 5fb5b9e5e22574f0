"""Whose servers we speak to ourselves, and what is peculiar about each; all others are LiteLLM's.

A row here means: it speaks OpenAI's chat language (or Ollama's own), its peculiarities are known and few. A test
holds `THROUGH_LITELLM` against LiteLLM's own list.
"""

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from oi_tui.app.engine.models import price_table

_THINKS_FIRST = re.compile(r"^(o\d|gpt-([5-9]|\d\d)(?!-chat))")
"""OpenAI's own models that take no temperature, and another name of the limit."""


class ChatProvider(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that is spoken to without LiteLLM."""

    name: str
    """The part in front of the slash."""
    base: str
    """Address of its API."""
    variables: tuple[str, ...] = ()
    """That a key is looked for in."""
    base_variables: tuple[str, ...] = ()
    """That another address of it may be in."""
    speaks: Literal["openai", "ollama"] = "openai"
    local: bool = False
    """Runs on the person's own machine: no key, no price."""
    is_strict: bool = False
    """Refuses a request with a field that it does not know."""
    short_ids: bool = False
    """Takes ids of calls that have nine letters or digits, and no others."""
    wants_reasoning: bool = False
    """Refuses the result of a call without the words of the thoughts that led to it."""
    reports_cost: bool = False
    """Tells with each answer what it cost."""
    extra: tuple[tuple[str, object], ...] = ()
    """Further fields of each request."""


OPENAI = ChatProvider(
    name="openai",
    base="https://api.openai.com/v1",
    variables=("OPENAI_API_KEY",),
    base_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
)
OLLAMA = ChatProvider(
    name="ollama",
    base="http://127.0.0.1:11434",
    variables=("OLLAMA_API_KEY",),
    base_variables=("OLLAMA_API_BASE", "OLLAMA_HOST"),
    speaks="ollama",
    local=True,
)
CHAT_PROVIDERS = (
    OPENAI,
    OLLAMA,
    ChatProvider(
        name="openrouter",
        base="https://openrouter.ai/api/v1",
        variables=("OPENROUTER_API_KEY", "OR_API_KEY"),
        base_variables=("OPENROUTER_API_BASE",),
        reports_cost=True,
        extra=(("usage", {"include": True}),),
    ),
    ChatProvider(
        name="groq",
        base="https://api.groq.com/openai/v1",
        variables=("GROQ_API_KEY",),
        base_variables=("GROQ_API_BASE",),
    ),
    ChatProvider(
        name="deepseek",
        base="https://api.deepseek.com/v1",
        variables=("DEEPSEEK_API_KEY",),
        base_variables=("DEEPSEEK_API_BASE",),
        wants_reasoning=True,
    ),
    ChatProvider(
        name="mistral",
        base="https://api.mistral.ai/v1",
        variables=("MISTRAL_API_KEY",),
        base_variables=("MISTRAL_API_BASE",),
        is_strict=True,
        short_ids=True,
    ),
    ChatProvider(
        name="xai",
        base="https://api.x.ai/v1",
        variables=("XAI_API_KEY",),
        base_variables=("XAI_API_BASE",),
    ),
    ChatProvider(
        name="lm_studio",
        base="http://127.0.0.1:1234/v1",
        variables=("LM_STUDIO_API_KEY",),
        base_variables=("LM_STUDIO_API_BASE",),
        local=True,
    ),
    ChatProvider(
        name="llamafile",
        base="http://127.0.0.1:8080/v1",
        variables=("LLAMAFILE_API_KEY",),
        base_variables=("LLAMAFILE_API_BASE",),
        local=True,
    ),
    ChatProvider(
        name="hosted_vllm",
        base="",
        variables=("HOSTED_VLLM_API_KEY",),
        base_variables=("HOSTED_VLLM_API_BASE",),
    ),
    ChatProvider(
        name="litellm_proxy",
        base="",
        variables=("LITELLM_PROXY_API_KEY",),
        base_variables=("LITELLM_PROXY_API_BASE",),
    ),
)

_BY_NAME = {provider.name: provider for provider in CHAT_PROVIDERS} | {"ollama_chat": OLLAMA}

_THROUGH_LITELLM = """
    a2a a2a_agent ai21 ai21_chat aiml aiohttp_openai amazon_nova anthropic anthropic_text apertis assemblyai auto_router
    aws_polly aws_textract azure azure_ai azure_speech azure_text baseten bedrock bedrock_mantle black_forest_labs bytez
    cerebras charity_engine chatgpt chutes clarifai cloudflare codestral cognition cohere cohere_chat cometapi
    compactifai cortecs cursor custom custom_openai darkbloom dashscope databricks datarobot deepgram deepinfra
    docker_model_runner dotprompt edenai elevenlabs empower fal_ai featherless_ai fireworks_ai friendliai galadriel gdc
    gemini gigachat github github_copilot gradient_ai helicone heroku huggingface humanloop hyperbolic inception
    infinity jina_ai lambda_ai langflow langfuse langgraph lemonade libertai litellm_agent manus maritalk meta
    meta_llama milvus minimax modelscope mongodb moonshot morph nadir nano-gpt nebius neosantara nlp_cloud novita nscale
    nvidia_nim nvidia_riva oci oobabooga openai_like ovhcloud parasail perplexity petals pg_vector
    pinstripes poe predibase prism publicai qwen_ai_platform qwencloud ragflow recraft reducto replicate runwayml
    s3_vectors sagemaker sagemaker_chat sagemaker_nova sail sambanova sap scaleway scx-ai snowflake soniox stability
    strands_decider synthetic tencent tensormesh text-completion-codestral text-completion-inception
    text-completion-openai together_ai topaz transcribe triton typesafe v0 valkey vercel_ai_gateway vertex_ai
    vertex_ai_beta vllm volcengine voyage wandb watsonx watsonx_text xiaomi_mimo xinference zai
"""

THROUGH_LITELLM = frozenset(_THROUGH_LITELLM.split())
"""Names in front of a slash that LiteLLM knows and we leave to it."""


class LeanChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A model that needs no LiteLLM."""

    provider: ChatProvider
    model: str
    """Its name on the wire."""
    row: Mapping[str, object]
    """What the price list says of it."""

    @property
    def thinks_first(self) -> bool:
        """Whether OpenAI's rules for reasoning models hold."""
        return self.provider is OPENAI and _THINKS_FIRST.match(self.model) is not None


def provider_of(name: str) -> str:
    """The provider in front of the slash; "openai" without one: any server may have such a name."""
    prefix, slash, _ = name.partition("/")
    if slash and prefix in _BY_NAME:
        return _BY_NAME[prefix].name
    return prefix if slash and prefix in THROUGH_LITELLM else "openai"


def find_lean(name: str, api_base: str) -> LeanChoice | None:
    """How to ask this model without LiteLLM; None where that cannot be. Reads the price list: blocks a moment."""
    prefix, slash, rest = name.partition("/")
    known = _BY_NAME.get(prefix) if slash else None
    if known is None and slash and prefix in THROUGH_LITELLM:
        return None
    provider, rest = (known, rest) if known else (OPENAI, name)
    row = price_table.find_row(provider.name, rest)
    if provider is OPENAI and speaks_responses(rest):
        return None  # another wire, which LiteLLM has
    if not (known or api_base or row):
        return None  # only LiteLLM may know whose it is
    return LeanChoice(provider=provider, model=rest, row=row)


def speaks_responses(model: str) -> bool:
    """Whether this model of OpenAI's is asked in the language of its responses, not in that of its chat."""
    return model.startswith("responses/") or price_table.find_row(OPENAI.name, model).get("mode") == "responses"


def same_server(one: str, other: str) -> bool:
    """Whether two addresses are of the same host, spoken to in the same way."""
    parts = [urlsplit(url) for url in (one, other)]
    return len({(part.scheme, part.netloc.lower()) for part in parts}) == 1
