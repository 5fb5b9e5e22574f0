"""How long a server asks to wait before the next request. Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 86_400.0
"""Seconds: a model that asks for more is tried again after a day."""


def retry_after(chain: Iterable[BaseException]) -> float | None:
    """Seconds that the server asks for: a number or a date, in whichever link holds the headers or says it."""
    for link in chain:
        for said in (getattr(link, "headers", None), getattr(link, "body", None)):
            value = said.get("retry-after") if isinstance(said, Mapping) else None
            if isinstance(value, str | int | float) and (seconds := _seconds(str(value))) is not None:
                return seconds
    return None


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return min(max(0.0, seconds), LONGEST) if seconds == seconds else None  # nan is no number
