"""What a session has cost so far."""

from typing import TYPE_CHECKING

from oi_tui.app.engine.core.values import Value

if TYPE_CHECKING:  # the first frame shows a sum, and knows no events
    from oi_tui.app.engine.core.events import UsageReported


class Usage(Value, frozen=True, kw_only=True):
    """Tokens and money of a session so far."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None as soon as one step had an unknown price."""
    priced: float = 0.0
    """US dollars of the steps whose price is known."""
    estimated: bool = False
    last_input_tokens: int = 0
    """Input tokens of the latest step: how full the context is."""
    last_estimated: bool = False
    """Whether those were counted here, not by the server."""

    def plus(self, step: "UsageReported") -> "Usage":
        """The sum with one more step."""
        known = self.cost is not None and step.cost is not None
        return Usage(
            input_tokens=self.input_tokens + step.input_tokens,
            output_tokens=self.output_tokens + step.output_tokens,
            cost=(self.cost or 0.0) + (step.cost or 0.0) if known else None,
            priced=self.priced + (step.cost or 0.0),
            estimated=self.estimated or step.estimated,
            last_input_tokens=self.last_input_tokens if step.aside else step.input_tokens,
            last_estimated=self.last_estimated if step.aside else step.estimated,
        )
