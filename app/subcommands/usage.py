"""`oi-tui usage`: what models cost, over all sessions."""

import re
from datetime import datetime, timedelta

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.flags import words
from oi_tui.app.subcommands.stored import as_json_option, print_json
from oi_tui.app.terminal.echo import echo

GROUPINGS = ("day", "month", "model", "provider", "profile", "folder", "session", "ending")
_DAYS = re.compile(r"(\d{1,4})d")


@click.command("usage")
@click.option("--by", type=click.Choice(GROUPINGS), default="day", help="Put requests together by this. Default: day.")
@click.option("--since", default="30d", type=words, metavar="30d|DATE", help="From when on. Default: 30d, thirty days.")
@as_json_option
def print_usage(by: str, since: str, as_json: bool) -> None:
    """Print what models cost: requests, tokens, money, failures, times, and how many turns were done.

    A cost with + leaves out answers whose price is not known; $? is that of such answers alone.
    """
    from oi_tui.app.data_files import ledger_file
    from oi_tui.app.engine.log.ledger import read_rows
    from oi_tui.app.engine.text.usage_table import usage_chart, usage_table

    rows = read_rows(ledger_file(), by, _moment(since))  # type: ignore[arg-type] # click let nothing else through
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    if not rows:
        echo("No requests in this time.", err=True)
        return
    for line in (*usage_table(rows, by), "", *usage_chart(rows)):  # type: ignore[arg-type] # as above
        echo(line)


def _moment(since: str) -> float:
    """When that was, in Unix seconds. SettingsError if it is neither a number of days nor a date."""
    if days := _DAYS.fullmatch(since):
        today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        return (today - timedelta(days=int(days[1]) - 1)).timestamp()
    try:
        return datetime.fromisoformat(since).astimezone().timestamp()
    except ValueError:
        raise SettingsError(f"{since!r} is no time.", hint="Say 7d for seven days, or a date: 2026-11-01.") from None
