"""What requests to models cost, as a table and as a chart in characters."""

from collections.abc import Sequence

from oi_tui.app.engine.core.model_request import Grouping, UsageRow
from oi_tui.app.engine.text.words import duration, one_line

EIGHTHS = " ▏▎▍▌▋▊▉█"
LONGEST_KEY = 40
CHART = 30
"""Columns of the longest bar."""


def usage_table(rows: Sequence[UsageRow], by: Grouping) -> list[str]:
    """The rows as lines, the sum below them. Money of unknown prices is marked: `$1.20+`."""
    head = [by, "requests", "input", "cached", "output", "thinking", "cost", "failed", "answer", "turns done"]
    cells = [_cells(row) for row in rows]
    if len(rows) > 1:
        cells.append(_cells(total_of(rows)))
    widths = [max(len(line[column]) for line in (head, *cells)) for column in range(len(head))]
    shown = [column for column in range(len(head)) if column < 2 or any(line[column] != "" for line in cells)]
    lines = [
        "  ".join(
            line[column].ljust(widths[column]) if not column else line[column].rjust(widths[column]) for column in shown
        )
        for line in (head, *cells)
    ]
    return [line.rstrip() for line in lines]


def usage_chart(rows: Sequence[UsageRow]) -> list[str]:
    """A bar for each row: its cost, or its tokens where nothing has a price."""
    priced = any(row.cost for row in rows)
    values = [row.cost if priced else float(row.input_tokens + row.output_tokens) for row in rows]
    most = max(values, default=0.0)
    if not most:
        return []
    width = max(len(_key(row)) for row in rows)
    return [
        f"{_key(row):{width}}  {_bar(value / most)} {_value(row, priced)}"
        for row, value in zip(rows, values, strict=True)
    ]


def total_of(rows: Sequence[UsageRow]) -> UsageRow:
    """The sum of the rows; its times are those of all requests on average."""
    answered = [(row.requests - row.failures, row.seconds) for row in rows if row.seconds is not None]
    count = sum(number for number, _ in answered)
    return UsageRow(
        key="total",
        requests=sum(row.requests for row in rows),
        input_tokens=sum(row.input_tokens for row in rows),
        cached_tokens=sum(row.cached_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        thought_tokens=sum(row.thought_tokens for row in rows),
        cost=sum(row.cost for row in rows),
        unpriced=sum(row.unpriced for row in rows),
        failures=sum(row.failures for row in rows),
        seconds=sum(number * seconds for number, seconds in answered) / count if count else None,
        first_token_seconds=None,
        turns=sum(row.turns for row in rows),
        turns_done=sum(row.turns_done for row in rows),
    )


def _cells(row: UsageRow) -> list[str]:
    return [
        _key(row),
        f"{row.requests:,}",
        f"{row.input_tokens:,}",
        f"{row.cached_tokens:,}" if row.cached_tokens else "",
        f"{row.output_tokens:,}",
        f"{row.thought_tokens:,}" if row.thought_tokens else "",
        _money(row),
        f"{row.failures:,}" if row.failures else "",
        duration(row.seconds) if row.seconds is not None else "",
        f"{row.turns_done} of {row.turns}" if row.turns else "",
    ]


def _key(row: UsageRow) -> str:
    key = one_line(row.key) or "-"
    return key if len(key) <= LONGEST_KEY else f"…{key[1 - LONGEST_KEY :]}"


def _money(row: UsageRow) -> str:
    if row.unpriced and not row.cost and row.unpriced + row.failures >= row.requests:
        return "$?"
    amount = f"${row.cost:,.2f}" if row.cost >= 0.005 or not row.cost else f"${row.cost:.4f}"
    return f"{amount}+" if row.unpriced else amount


def _value(row: UsageRow, priced: bool) -> str:
    return _money(row) if priced else f"{row.input_tokens + row.output_tokens:,} tokens"


def _bar(share: float) -> str:
    eighths = round(share * CHART * 8)
    return f"{'█' * (eighths // 8)}{EIGHTHS[eighths % 8].strip()}"
