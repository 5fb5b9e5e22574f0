"""`oi-tui logs`: the program's log, to find the cause of a problem."""

import json

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.program_log import describe_line, follow_log, log_file, read_log
from oi_tui.app.flags import words
from oi_tui.app.terminal.echo import echo

LEVELS = ("debug", "info", "warning", "error")


@click.command("logs")
@click.option("-n", "--lines", "count", type=click.IntRange(min=0), default=50, help="How many lines. Default: 50.")
@click.option("--level", type=click.Choice(LEVELS), default="debug", help="Leave out what is less severe.")
@click.option("--session", type=words, metavar="ID", default="", help="Only lines about this session.")
@click.option("--json", "as_json", is_flag=True, help="Print the lines of the file verbatim.")
@click.option("--follow", "-f", is_flag=True, help="Keep following new lines until Ctrl+C.")
def print_logs(count: int, level: str, session: str, as_json: bool, follow: bool) -> None:
    """Print the log: requests to models, errors, connections. Secrets are withheld.

    --verbose, when a session starts, also logs requests and answers as a whole.
    """
    path = log_file()

    def tell(lines: list[str]) -> None:
        for line in lines:
            echo(line if as_json else describe_line(line))

    if not follow:
        if not path.exists():
            raise SettingsError("Nothing was logged yet.", hint=f"The log will be {path}.")
        tell(_select(read_log(path)[0], level, session)[-count or None :] if count else [])
        return
    first = True
    for lines in follow_log(path):
        found = _select(lines, level, session)
        tell((found[-count:] if count else []) if first else found)
        first = False


def _select(lines: list[str], level: str, session: str) -> list[str]:
    """The lines that were asked for. One that is no JSON counts as a warning: a library printed it."""
    return [line for line in lines if _is_wanted(line, level, session)]


def _is_wanted(line: str, level: str, session: str) -> bool:
    try:
        fields = json.loads(line)
        said, whose = fields.get("level", "warning"), str(fields.get("session", ""))
    except (ValueError, AttributeError):
        said, whose = "warning", ""
    severe = LEVELS.index(said) if said in LEVELS else len(LEVELS)
    return severe >= LEVELS.index(level) and whose.startswith(session)
