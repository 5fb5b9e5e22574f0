"""What models may cost over all sessions: a turn, a day, a month, one provider. The ledger knows what was spent."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from oi_tui.app.engine.agent.budget import NEARLY, BudgetNotice, dollars
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.settings import BudgetSection
from oi_tui.app.engine.log.ledger import Ledger


class LimitState(NamedTuple):
    """One limit that is set, and what was spent of it, in US dollars."""

    name: str
    """As in `today's budget`."""
    dollars: float
    spent: float

    @property
    def is_over(self) -> bool:
        return self.spent >= self.dollars

    @property
    def share(self) -> str:
        """The part that was spent: `$0.80 of $1.00`."""
        return f"{dollars(self.spent)} of {dollars(self.dollars)}"


class SpendingLimits:
    """The limits of the settings. StoreError if one is set and nobody knows what was spent."""

    def __init__(self, settings: BudgetSection, ledger: Ledger | None, *, profile: str) -> None:
        self._settings = settings
        self._ledger = ledger
        self._profile = profile if settings.scope == "profile" else None
        self._told: set[str] = set()

    @property
    def stops(self) -> bool:
        """Whether a limit that is reached ends the turn."""
        return self._settings.at_limit == "stop"

    @property
    def cheaper_model(self) -> str:
        """The model to continue with when a limit is reached, "" if none is meant."""
        return self._settings.cheaper_model if self._settings.at_limit == "switch" else ""

    def obstacle(self, provider: str, turn_cost: float) -> BudgetNotice | None:
        """Why no request to this provider may be sent, None while there is room; `turn_cost`: of the turn so far."""
        if not self.stops:
            return None
        reached = [state for state in self.states(provider, turn_cost) if state.is_over]
        if not reached:
            return None
        title = f"Stopped before the next request: {reached[0].name} is spent, {reached[0].share}."
        return BudgetNotice(
            "warning", title, "Raise it under [budget] in the settings and restart with oi-tui -c; see /usage."
        )

    def notices(self, provider: str, turn_cost: float) -> Iterator[BudgetNotice]:
        """Notices about the limits after an answer, each once."""
        for state in self.states(provider, turn_cost):
            what = "is spent" if state.is_over else "is nearly spent"
            said = f"{state.name} {what}"
            if state.spent >= NEARLY * state.dollars and not (state.is_over and self.stops) and said not in self._told:
                self._told.add(said)
                yield BudgetNotice("warning", f"{said[0].upper()}{said[1:]}: {state.share}.")

    def states(self, provider: str, turn_cost: float) -> list[LimitState]:
        """Each limit that is set, for this provider."""
        today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        day, month = today.timestamp(), today.replace(day=1).timestamp()
        settings, own = self._settings, self._settings.providers.get(provider)
        found = [LimitState("the budget of a turn", settings.turn, turn_cost)] if settings.turn else []
        limits = [("today's budget", settings.day, day, ""), ("this month's budget", settings.month, month, "")]
        if own is not None:
            limits.append((f"today's budget for {provider}", own.day, day, provider))
            limits.append((f"this month's budget for {provider}", own.month, month, provider))
        return found + [
            LimitState(name, limit, self._cost_since(since, whose)) for name, limit, since, whose in limits if limit
        ]

    def wait(self) -> float:
        """Seconds until a request may be sent, by the limits for a minute; 0.0 if at once."""
        requests, tokens = self._settings.requests_per_minute, self._settings.tokens_per_minute
        if self._ledger is None or not (requests or tokens):
            return 0.0
        return self._ledger.seconds_until_below(requests=requests, tokens=tokens)

    def _cost_since(self, since: float, provider: str) -> float:
        if self._ledger is None:
            raise StoreError("What was spent is not known: no request is sent.", hint="Set no limits under [budget].")
        return self._ledger.spending(since, provider=provider, profile=self._profile).cost
