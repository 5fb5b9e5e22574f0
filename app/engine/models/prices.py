"""What the tokens of one answer cost: counts, rates, and the arithmetic between them. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from oi_tui.app.engine.models.off_peak import is_off_peak

_STEP = re.compile(r"^(.+)_above_(\d{1,12})(k?)_tokens$")
MILLION = 1_000_000
_MOST_DOLLARS = 1e300
"""Beyond that, arithmetic fails."""


class TokenCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of one answer, as its server counted them."""

    input_tokens: int
    """All that was read, cached or not."""
    output_tokens: int
    """All that was written, thinking included."""
    cached: int = 0
    """Input tokens found in the provider's cache."""
    cache_written: int = 0
    """Input tokens written to the cache."""
    reasoning: int = 0
    """Output tokens of thinking."""
    cost: float | None = None
    """US dollars, where the provider says it."""


@dataclass(frozen=True, kw_only=True)
class Rates:
    """US dollars for one token of each kind."""

    read: float
    written: float
    cached: float | None = None
    """Read from the cache; None where that costs what reading costs. So below."""
    cache_written: float | None = None
    reasoning: float | None = None
    steps: tuple[tuple[int, "Rates"], ...] = field(default=(), repr=False)
    """Other rates for a whole request of more than this many tokens, highest first."""
    less: "Rates | None" = field(default=None, repr=False)
    """What is asked for at some hours."""
    hours: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Which those are, as the list says it."""

    def price(self, counts: TokenCounts, now: datetime | None = None) -> float:
        """US dollars of one answer at this moment (UTC; None is a usual one)."""
        if now is not None and self.less is not None and is_off_peak(self.hours, now):
            return self.less.price(counts)
        for above, rates in self.steps:
            if counts.input_tokens > above:
                return rates.price(counts)
        cached = min(counts.cached, counts.input_tokens)
        stored = min(counts.cache_written, counts.input_tokens - cached)
        thought = min(counts.reasoning, counts.output_tokens)
        return (
            (counts.input_tokens - cached - stored) * self.read
            + cached * _or(self.cached, self.read)
            + stored * _or(self.cache_written, self.read)
            + (counts.output_tokens - thought) * self.written
            + thought * _or(self.reasoning, self.written)
        )


def rates_of(row: Mapping[str, Any]) -> Rates | None:
    """The rates in a row of the price list; None where it gives no price, or one of nothing, which is a gap."""
    base = _rates(row)
    if base is None or not (base.read or base.written):
        return None
    told = row.get("off_peak_pricing")
    hours = told if isinstance(told, dict) else {}
    # More than a name and a number, as in "..._tokens_priority", is a price for another way of asking.
    steps = {int(step[2]) * (1000 if step[3] else 1) for name in row if (step := _STEP.match(name))}
    rows = ((above, _rates({**row, **_above(row, above)})) for above in sorted(steps, reverse=True))
    return Rates(
        read=base.read,
        written=base.written,
        cached=base.cached,
        cache_written=base.cache_written,
        reasoning=base.reasoning,
        steps=tuple((above, rates) for above, rates in rows if rates is not None),
        less=_rates({**row, **hours}) if hours else None,
        hours=hours,
    )


def _above(row: Mapping[str, Any], above: int) -> dict[str, Any]:
    """What costs something else beyond this many tokens."""
    found = ((step, value) for name, value in row.items() if (step := _STEP.match(name)))
    return {step[1]: value for step, value in found if int(step[2]) * (1000 if step[3] else 1) == above}


def _rates(row: Mapping[str, Any]) -> Rates | None:
    read, written = (told_dollars(row.get(f"{name}_cost_per_token")) for name in ("input", "output"))
    if read is None or written is None:
        return None
    return Rates(
        read=read,
        written=written,
        cached=told_dollars(row.get("cache_read_input_token_cost")),
        cache_written=told_dollars(row.get("cache_creation_input_token_cost")),
        reasoning=told_dollars(row.get("output_cost_per_reasoning_token")),
    )


def told_dollars(told: Any) -> float | None:
    """US dollars as a server or a list tells them; a negative or infinite price is none."""
    known = isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told <= _MOST_DOLLARS
    return float(told) if known else None


def _or(rate: float | None, usual: float) -> float:
    return usual if rate is None else rate
