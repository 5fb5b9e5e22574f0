"""How much a session may cost: money and tokens, counted over all its turns. Pure; the session stops by it."""

from typing import NamedTuple, Protocol

from oi_tui.app.engine.core.usage import Usage
from oi_tui.app.engine.core.values import Level

NEARLY = 0.8
"""The share of a budget that triggers a warning."""


class BudgetNotice(NamedTuple):
    """Something to say about it, once."""

    level: Level
    title: str
    hint: str = ""


class WiderBudget(Protocol):
    """Limits beyond one session."""

    @property
    def counts_money(self) -> bool:
        """Whether a limit of money is set."""
        ...

    def obstacle(self) -> BudgetNotice | None:
        """Why no further request may be sent, None while there is room."""
        ...

    def notices(self) -> list[BudgetNotice]:
        """Notices after an answer, each once."""
        ...


class Budget:
    """Limits; 0 is none."""

    wider: WiderBudget | None = None
    """Limits over all sessions, if there are any."""

    def __init__(self, cost: float = 0.0, tokens: int = 0) -> None:
        self.cost = cost
        """US dollars."""
        self.tokens = tokens
        """In and out together."""
        self._said: set[str] = set()
        self._cost_elsewhere, self._tokens_elsewhere = 0.0, 0

    def carry(self, spent: Usage, shared: Usage) -> None:
        """A fork begins, with `shared` of what was `spent`: the rest counts too, though it is in another session."""
        self._cost_elsewhere += max(0.0, spent.priced - shared.priced)
        self._tokens_elsewhere += max(0, _tokens(spent) - _tokens(shared))

    def _cost(self, usage: Usage) -> float:
        return usage.priced + self._cost_elsewhere

    def _all_tokens(self, usage: Usage) -> int:
        return _tokens(usage) + self._tokens_elsewhere

    def change(self, cost: float | None, tokens: int | None) -> None:
        """Other limits; None leaves one as it is."""
        self.cost = self.cost if cost is None else cost
        self.tokens = self.tokens if tokens is None else tokens
        self._said.clear()

    def check_limits(self, usage: Usage) -> BudgetNotice | None:
        """Why no further request may be sent, None while there is room."""
        if self.cost and self._cost(usage) >= self.cost:
            spent = f"{dollars(self._cost(usage))} of its {dollars(self.cost)}"
            higher = f"/budget {dollars(2 * max(self.cost, self._cost(usage)))[1:]}"
            flag = "--max-cost"
        elif self.tokens and self._all_tokens(usage) >= self.tokens:
            spent = f"{self._all_tokens(usage):,} of its {self.tokens:,} tokens"
            higher = f"/budget {2 * max(self.tokens, self._all_tokens(usage))} tokens"
            flag = "--max-tokens"
        else:
            return None if self.wider is None else self.wider.obstacle()
        title = f"Stopped before the next request: this session has spent {spent}."
        return BudgetNotice(
            "warning", title, f"Raise it, for instance with {higher}, then /retry; or start with {flag}."
        )

    def check_price(self, model: str, *, known: bool) -> BudgetNotice | None:
        """Why this model may not be asked, None where there is no limit of money, or its price is known."""
        if known or not (self.cost or (self.wider is not None and self.wider.counts_money)):
            return None
        whose = f"the budget of {dollars(self.cost)}" if self.cost else "a budget of the settings"
        limit = f"so {whose} does not allow it."
        title = f"No request was sent: the price of {model} is not known, {limit}"
        change = (
            "say /budget off, then /retry" if self.cost else "set no limits under [budget] and restart with oi-tui -c"
        )
        hint = f"Set model.input_price and model.output_price (0 if it costs nothing), or {change}."
        return BudgetNotice("error", title, hint)

    def notices(self, usage: Usage) -> list[BudgetNotice]:
        """The notices due after an answer; each once, until the budget changes."""
        found: dict[str, BudgetNotice] = {}
        if self.cost and usage.cost is None:
            title = f"The price of some answers is not known: the budget of {dollars(self.cost)} does not count them."
            found["price"] = BudgetNotice("warning", title, "A limit of tokens counts all: /budget 100000 tokens.")
        if self.cost and NEARLY * self.cost <= self._cost(usage) < self.cost:
            spent = f"{dollars(self._cost(usage))} of {dollars(self.cost)}"
            found["cost"] = BudgetNotice("warning", f"The budget of this session is nearly spent: {spent}.")
        if self.tokens and NEARLY * self.tokens <= self._all_tokens(usage) < self.tokens:
            spent = f"{self._all_tokens(usage):,} of {self.tokens:,} tokens"
            found["tokens"] = BudgetNotice("warning", f"The budget of this session is nearly spent: {spent}.")
        new = [remark for name, remark in found.items() if name not in self._said]
        self._said.update(found)
        return new if self.wider is None else [*new, *self.wider.notices()]

    def describe(self, usage: Usage) -> str:
        """The limits and what is spent."""
        about = "about " if usage.estimated else ""
        spent = f"{about}{dollars(self._cost(usage))} and {self._all_tokens(usage):,} tokens are spent"
        limits = [dollars(self.cost)] if self.cost else []
        limits += [f"{self.tokens:,} tokens"] if self.tokens else []
        if not limits:
            return f"This session has no budget; {spent}."
        return f"The budget of this session is {' and '.join(limits)}; {spent}."


def dollars(amount: float) -> str:
    """Dollars with three significant digits, at least the cents: `$12.50`, `$0.12`, `$0.0345`, `$0.000001`."""
    places = 2
    while 0 < amount < 10.0 ** (2 - places) and places < 12:
        places += 1
    whole, _, part = f"{amount:.{places}f}".partition(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens
