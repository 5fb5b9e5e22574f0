"""What servers say of the models they have: names, windows, prices and abilities, in four dialects. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.models.hosted import ListForm
from oi_tui.app.engine.models.prices import MILLION, rates_of

MOST_MODELS = 2_000
"""Models of one list that are read."""
LONGEST_NAME = 200

_NO_CHAT = re.compile(
    r"embed|whisper|\btts\b|dall-e|moderation|transcri|rerank|-image\b|\bsora\b|realtime", re.IGNORECASE
)
_CONTEXTS = ("context_length", "context_window", "max_context_length", "max_model_len", "max_input_tokens")


class ListedModel(Value, frozen=True, kw_only=True):
    """One model of a list; None where nobody says."""

    name: str
    """Its name on the server."""
    context: int | None = None
    """Tokens."""
    input_price: float | None = None
    """US dollars for a million tokens."""
    output_price: float | None = None
    images: bool | None = None
    """Whether it takes pictures."""
    tools: bool | None = None
    """Whether it calls tools."""


def read_models(form: ListForm, answer: Any) -> list[ListedModel]:
    """The chat models in the answer of a server; ValueError if it is no list of models."""
    rows = answer.get("models", answer.get("data")) if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise ValueError("not a list of models")
    read = _google if form == "gemini" else _usual
    found = (read(row) for row in rows if isinstance(row, dict))
    usable = (one for one in found if one is not None and one.name and len(one.name) <= LONGEST_NAME)
    return [one for one in usable if _NO_CHAT.search(one.name) is None][:MOST_MODELS]


def fill_facts(models: Sequence[ListedModel], rows: Mapping[str, Mapping[str, Any]]) -> Iterator[ListedModel]:
    """The same, with what the price list says where the server says nothing; `rows` are by name. Without those that are
    no chat models."""
    for one in models:
        row = rows.get(one.name, {})
        if row.get("mode", "chat") not in ("chat", "responses", "completion"):
            continue
        rates = rates_of(row)
        yield ListedModel(
            name=one.name,
            context=one.context or _count(row.get("max_input_tokens")) or _count(row.get("max_tokens")),
            input_price=_first(one.input_price, rates and rates.read * MILLION),
            output_price=_first(one.output_price, rates and rates.written * MILLION),
            images=_first(one.images, _flag(row.get("supports_vision"))),
            tools=_first(one.tools, _flag(row.get("supports_function_calling"))),
        )


def describe_model(one: ListedModel) -> str:
    """Window, price and abilities in one line: "200k · $3.00/$15.00 · vision, tools"."""
    abilities = ", ".join(word for word, there in (("vision", one.images), ("tools", one.tools)) if there)
    parts = (short_count(one.context), price_pair(one), abilities)
    return " · ".join(part for part in parts if part)


def short_count(count: int | None) -> str:
    """Tokens in a column: `8k`, `200k`, `1.0M`; "" where it is unknown."""
    if count is None:
        return ""
    if count >= 1_000_000:
        return f"{count / 1e6:.1f}M"
    thousand = 1024 if count % 1024 == 0 else 1000
    return f"{round(count / thousand)}k" if count >= 1000 else str(count)


def short_price(price: float | None) -> str:
    """Dollars for a million tokens, in a column; "" where it is unknown."""
    return "" if price is None else "free" if price == 0 else f"${price:.2f}" if price >= 0.1 else f"${price:.3f}"


def price_pair(one: ListedModel) -> str:
    """The prices of input and output: "$3.00/$15.00", "free"."""
    if one.input_price == 0 and one.output_price == 0:
        return "free"
    pair = (short_price(one.input_price), short_price(one.output_price))
    return "/".join(pair) if all(pair) else ""


def _usual(row: Mapping[str, Any]) -> ListedModel | None:
    """The form in which OpenAI, Anthropic, Ollama and many others list a model, each with additions of its own."""
    name = row.get("name") if isinstance(row.get("name"), str) and "id" not in row else row.get("id")
    if not isinstance(name, str):
        return None
    pricing, can = _object(row.get("pricing")), _object(row.get("capabilities"))
    modalities = _object(row.get("architecture")).get("input_modalities")
    parameters = row.get("supported_parameters")
    contexts = (*(row.get(key) for key in _CONTEXTS), _object(row.get("meta")).get("n_ctx_train"))
    return ListedModel(
        name=name,
        context=next((size for size in map(_count, contexts) if size), None),
        input_price=_dollars(pricing.get("prompt")),
        output_price=_dollars(pricing.get("completion")),
        images="image" in modalities if isinstance(modalities, list) else _flag(can.get("vision")),
        tools="tools" in parameters if isinstance(parameters, list) else _flag(can.get("function_calling")),
    )


def _google(row: Mapping[str, Any]) -> ListedModel | None:
    name, methods = row.get("name"), row.get("supportedGenerationMethods")
    if not isinstance(name, str) or (isinstance(methods, list) and "generateContent" not in methods):
        return None
    return ListedModel(name=name.removeprefix("models/"), context=_count(row.get("inputTokenLimit")))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one


def _dollars(value: Any) -> float | None:
    """Dollars for a million tokens, from the price of one; a negative price means that it varies."""
    try:
        price = float(value) * MILLION if isinstance(value, str | int | float) else -1.0
    except (ValueError, OverflowError):
        return None
    return price if 0 <= price < 100_000 else None
