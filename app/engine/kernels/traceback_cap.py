"""Limits tracebacks: one of usual size is kept whole, a huge one keeps both ends."""

from collections.abc import Iterable

ERROR_LIMIT = 20_000
"""Characters of an error's message, and of its traceback; not taken from the cap, for it says what went wrong."""

PARTS_LIMIT = 200
"""Parts of a traceback: frames, for the most part."""


def shorten_traceback(traceback: tuple[str, ...]) -> tuple[str, ...]:
    """Its beginning and, more telling, its end: whole parts, unless they are huge themselves."""
    parts = [part if len(part) <= ERROR_LIMIT // 4 else part[: ERROR_LIMIT // 4] + "…" for part in traceback]
    if sum(map(len, parts)) <= ERROR_LIMIT and len(parts) <= PARTS_LIMIT:
        return tuple(parts)
    head = _fitting_parts(parts[: PARTS_LIMIT // 4], ERROR_LIMIT // 4)
    tail = _fitting_parts(reversed(parts[-PARTS_LIMIT // 4 * 3 :]), ERROR_LIMIT // 4 * 3)
    return (*head, "…", *reversed(tail))


def _fitting_parts(parts: Iterable[str], room: int) -> list[str]:
    fitting: list[str] = []
    for part in parts:
        room -= len(part)
        if room < 0:
            break
        fitting.append(part)
    return fitting
