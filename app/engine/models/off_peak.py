"""When a provider asks for less: hours of the day, in UTC, on some days of the week. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any


def is_off_peak(row: Mapping[str, Any], now: datetime) -> bool:
    """Whether the row's rules say that this moment is one; `now` is in UTC."""
    if _falls_into(row.get("hours_utc"), now):
        return True
    rules = row.get("windows")
    return isinstance(rules, list) and any(
        isinstance(rule, dict)
        and now.isoweekday() in (rule.get("weekdays") or range(1, 8))
        and _falls_into(rule.get("hours_utc"), now)
        for rule in rules
    )


def _falls_into(hours: Any, now: datetime) -> bool:
    """`hours` is "HH:MM-HH:MM", or several of them; one that ends where it begins is the whole day."""
    spans: Iterable[Any] = (hours,) if isinstance(hours, str) else hours if isinstance(hours, list) else ()
    minute = now.hour * 60 + now.minute
    for span in spans:
        try:
            start, end = (int(hour) * 60 + int(rest) for hour, rest in (part.split(":") for part in span.split("-")))
        except (AttributeError, ValueError):
            continue  # in an unknown form: use the usual price
        if start == end or (start <= minute < end if start < end else minute >= start or minute < end):
            return True
    return False
