"""What a request costs as a rule, to compare models by."""

import math

from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.facts import own_rates, section_for
from oi_tui.app.engine.models.price_table import find_row
from oi_tui.app.engine.models.prices import TokenCounts, rates_of
from oi_tui.app.engine.models.providers import provider_of

TYPICAL = TokenCounts(input_tokens=3000, output_tokens=1000)
LOCAL = ("ollama", "lm_studio", "llamafile")
"""Providers that run on the person's own machine."""


def typical_cost(name: str, section: ModelSection) -> float:
    """US dollars of a typical request to this model, infinite if its price is not known. Blocks for some
    milliseconds."""
    provider = provider_of(name)
    if provider in LOCAL or name.startswith("local/"):
        return 0.0
    model = name.removeprefix(f"{provider}/")
    rates = own_rates(section_for(section, name, "")) or rates_of(find_row(provider, model))
    return math.inf if rates is None else rates.price(TYPICAL)
