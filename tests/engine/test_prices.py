"""What an answer costs: by the price list, by the settings, by the provider's own word, or unknown."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.chat_model import AnswerUsage
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import LoopSection, ModelSection
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.models.price_table import find_row
from oi_tui.app.engine.models.price_update import fetch_prices, price_list
from oi_tui.app.engine.models.prices import Rates, TokenCounts, rates_of
from oi_tui.app.engine.models.served_model import ServedModel
from support.kinds import of
from support.openai_server import OpenAIServer, Turn
from support.raw_server import raw_server, sends

Build = Callable[..., ServedModel]


@pytest.fixture
def client() -> str:
    """Our own; that LiteLLM reckons the same is in test_model.py."""
    return "lean"


def test_a_row_of_the_list_is_read_with_its_steps() -> None:
    rates = rates_of(
        {
            "input_cost_per_token": 1,
            "output_cost_per_token": 10,
            "cache_read_input_token_cost": 0.5,
            "input_cost_per_token_above_200k_tokens": 2,
            "output_cost_per_token_above_200k_tokens": 20,
            "input_cost_per_token_above_200k_tokens_priority": 999,
            "input_cost_per_token_priority": 999,
        }
    )
    assert rates is not None
    assert rates.price(TokenCounts(input_tokens=10, output_tokens=1)) == 20
    assert rates.price(TokenCounts(input_tokens=10, output_tokens=1, cached=4)) == 18
    assert rates.price(TokenCounts(input_tokens=200_001, output_tokens=1, cached=1)) == 400_000 + 0.5 + 20


@pytest.mark.parametrize(
    ("moment", "cost"),
    [
        ("2026-11-23T05:00", 1),  # a Monday
        ("2026-11-23T06:00", 2),
        ("2026-11-23T12:00", 1),
        ("2026-11-22T08:00", 1),  # a Sunday
    ],
)
def test_at_some_hours_less_is_asked_for(moment: str, cost: float) -> None:
    windows = [
        {"hours_utc": ["00:00-01:00", "04:00-06:00", "10:00-00:00"], "weekdays": [1, 2, 3, 4, 5]},
        {"hours_utc": "00:00-00:00", "weekdays": [6, 7]},
    ]
    off_peak = {"input_cost_per_token": 1, "windows": windows}
    rates = rates_of({"input_cost_per_token": 2, "output_cost_per_token": 9, "off_peak_pricing": off_peak})
    assert rates is not None
    counts = TokenCounts(input_tokens=1, output_tokens=0)
    assert rates.price(counts, datetime.fromisoformat(moment)) == cost
    assert rates.price(counts) == 2


def test_more_cached_than_was_read_is_no_gain() -> None:
    rates = Rates(read=1, written=1, cached=0)
    assert rates.price(TokenCounts(input_tokens=5, output_tokens=0, cached=50, cache_written=50)) == 0


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"input_cost_per_token": 1},
        {"input_cost_per_token": 0, "output_cost_per_token": 0},
        {"input_cost_per_token": 1, "output_cost_per_token": 10**400},
        {"input_cost_per_token": 1, "output_cost_per_token": float("inf")},
    ],
)
def test_a_gap_in_the_list_is_no_price(row: dict[str, Any]) -> None:
    assert rates_of(row) is None


def test_a_step_that_no_request_reaches_is_none() -> None:
    rates = rates_of(
        {
            "input_cost_per_token": 1,
            "output_cost_per_token": 1,
            f"input_cost_per_token_above_{'9' * 5_000}_tokens": 2,
        }
    )
    assert rates == Rates(read=1, written=1)


def test_the_list_is_found_without_importing_litellm() -> None:
    assert find_row("openai", "gpt-4o")["max_input_tokens"] == 128_000
    assert find_row("mistral", "mistral-large-latest")["supports_function_calling"]
    assert find_row("openai", "claude-sonnet-4-5") == {}, "another provider's price is none of its"
    assert find_row("openai", "no-such-thing") == {}


@pytest.mark.parametrize("client", ["lean", "litellm"])
@pytest.mark.parametrize(
    ("settings", "details", "cost"),
    [
        ({"name": "openai/gpt-4o"}, {}, 1000 * 2.5e-6 + 500 * 10e-6),
        ({"name": "openai/gpt-4o"}, {"prompt_tokens_details": {"cached_tokens": 800}}, 0.0005 + 0.001 + 0.005),
        ({"name": "openai/gpt-4o"}, {"cost": 0.25}, 0.25),
        ({"name": "openai/gpt-4o", "input_price": 1.0, "output_price": 2.0}, {}, 0.002),
        ({"input_price": 1.0}, {}, 0.001),
        ({"input_price": 0.0}, {}, 0.0),
        ({}, {}, None),
        ({}, {"cost": float("1e300")}, 1e300),
        ({}, {"cost": -1}, None),
    ],
)
async def test_the_providers_word_counts_before_the_settings_and_those_before_the_list(
    openai_server: OpenAIServer,
    model: Build,
    answer: Any,
    settings: dict[str, Any],
    details: dict[str, Any],
    cost: float | None,
) -> None:
    counts = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    openai_server.script(Turn(text="Yes.", usage_details=counts | details))
    asked = model(**settings)
    (usage,) = of(AnswerUsage, await answer(asked))
    assert usage.cost == (None if cost is None else pytest.approx(cost))
    assert asked.tells_price == (settings != {})


LOCAL = b'{"data": [{"id": "m", "owned_by": "llamacpp"}]}'
GATEWAY = b'{"data": [{"id": "m", "owned_by": "openai"}]}'


@pytest.mark.parametrize(
    ("listed", "tells"),
    [
        (LOCAL, True),
        (GATEWAY, False),
        (LOCAL[:-2] + b"," + GATEWAY[10:], False),
        (b'{"data": []}', False),
        (b"", False),
    ],
)
async def test_a_server_on_this_machine_costs_nothing_only_if_it_says_that_it_runs_its_models(
    listed: bytes, tells: bool
) -> None:
    models = Models(ModelSection(), environ={})
    async with raw_server(sends(listed), kind="application/json") as server:
        opened = await models.open("m", server.url)
        priced = await models.open("openai/gpt-4o", server.url)
    await models.close()
    assert (opened.tells_price, priced.tells_price) == (tells, True)


ELSEWHERE = "https://gateway.invalid/v1"


@pytest.mark.parametrize(
    ("client", "settings", "environ", "tells"),
    [
        ("lean", {"api_base": ""}, {}, True),
        ("lean", {"api_base": "https://openrouter.ai/api/v1/"}, {}, True),
        ("lean", {"api_base": ELSEWHERE}, {}, False),
        ("lean", {"api_base": ELSEWHERE, "input_price": 1.0}, {}, True),
        ("lean", {"api_base": ""}, {"OPENROUTER_API_BASE": ELSEWHERE}, False),
        ("litellm", {"api_base": ELSEWHERE}, {}, False),
        ("litellm", {"api_base": ELSEWHERE, "input_price": 1.0}, {}, True),
    ],
)
async def test_L11_another_server_under_a_providers_name_is_not_trusted_to_tell_its_price(
    model: Build, settings: dict[str, Any], environ: dict[str, str], tells: bool
) -> None:
    asked = model(name="openrouter/no-such-model", api_key="sk-or", environ=environ, **settings)
    await asked.preload()
    assert (asked.obstacle, asked.tells_price) == (None, tells)


async def test_a_price_that_was_set_holds_for_the_model_that_it_was_set_for() -> None:
    models = Models(ModelSection(name="openai/a", input_price=1.0), environ={})
    base = "https://gateway.invalid/v1"
    opened = [await models.open(name, base, "sk-key") for name in ("openai/a", "openai/b")]
    await models.close()
    assert [model.tells_price for model in opened] == [True, False]


def test_settings_take_no_negative_price() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"input_price": -1}, ModelSection)
    assert LoopSection().max_cost == 0


async def test_m7_own_prices_in_the_settings_are_used_before_every_list() -> None:
    prices = {"openai/gpt-4o": (1.0, 2.0), "anthropic/claude-sonnet-4-5": (3.0, 4.0)}
    models = Models(ModelSection(prices=prices), environ={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    for name, cost in (("openai/gpt-4o", 3.0), ("anthropic/claude-sonnet-4-5", 7.0)):
        model = await models.open(name)
        assert isinstance(model, ServedModel)
        assert (await model._ready()).price(TokenCounts(input_tokens=10**6, output_tokens=10**6)) == cost
    await models.close()


async def test_m7_a_newer_list_is_fetched_when_it_is_asked_for_and_used_with_its_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    row = {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0.5, "output_cost_per_token": 1}
    rows = {f"m{number}": row for number in range(30)} | {"gpt-4o": row, "sample_spec": "text"}
    assert price_list().origin == "the list that came with LiteLLM"
    async with raw_server(sends(msgspec.json.encode(rows)), kind="application/json") as server:
        address = server.url.removesuffix("/v1") + "/prices.json"
        assert await fetch_prices(address, {}) == 31
    used = price_list()
    assert "model-prices.json" in used.origin
    assert used.age is not None
    assert used.age < 600
    assert find_row("openai", "gpt-4o")["input_cost_per_token"] == 0.5
    for said in (b"[]", b"{}", msgspec.json.encode({key: {"a": 1} for key in map(str, range(99))}), b"not JSON"):
        async with raw_server(sends(said), kind="application/json") as server:
            with pytest.raises(SettingsError):
                await fetch_prices(server.url.removesuffix("/v1") + "/prices.json", {})
    assert find_row("openai", "m7")["litellm_provider"] == "openai", "the list before is still used"
    with pytest.raises(SettingsError, match="https"):
        await fetch_prices("http://prices.test/list.json", {})
    file = next(tmp_path.rglob("model-prices.json"))
    os.utime(file, (0, 0))
    assert price_list().origin == "the list that came with LiteLLM", "an older one than LiteLLM's is not used"
