"""Requests beside the conversation go to the cheapest of the models that the person allows for them."""

import math
from functools import partial

from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.models.typical_cost import typical_cost


def test_L33_a_typical_request_costs_what_the_lists_say() -> None:
    cost = partial(typical_cost, section=ModelSection(prices={"groq/mine": (2.0, 6.0)}))
    assert cost("local/qwen") == cost("ollama/llama3") == 0.0
    assert cost("groq/mine") == (3000 * 2.0 + 1000 * 6.0) / 1e6
    assert 0 < cost("openai/gpt-4o-mini") < cost("openai/gpt-4o")
    assert cost("openai/nobody-knows-it") == math.inf


def test_L33_the_cheapest_is_asked_and_one_of_unknown_price_last() -> None:
    for names, cheapest in (
        (("openai/nobody-knows-it", "openai/gpt-4o", "openai/gpt-4o-mini"), "openai/gpt-4o-mini"),
        (("openai/gpt-4o", "ollama/llama3"), "ollama/llama3"),
        (("openai/nobody-knows-it",), "openai/nobody-knows-it"),
    ):
        assert Models(ModelSection(aside=names), environ={}).find_aside() == cheapest
