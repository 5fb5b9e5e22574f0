"""`oi-tui extract`: the same questions to each row, line or file, answered in the form of a schema."""

import asyncio
import signal
import sys
from pathlib import Path

import click

from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.flags import Flags, words
from oi_tui.app.options import common
from oi_tui.app.terminal.echo import echo


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE|FOLDER|PATTERN")
@click.option(
    "--schema",
    required=True,
    type=words,
    metavar="FILE|MODULE:NAME|FIELDS",
    help="JSON schema of each answer, or fields: 'name, price: number'.",
)
@click.option("--output", required=True, type=click.Path(path_type=Path), metavar="OUT", help="A .jsonl or .csv file.")
@click.option("--task", default="", type=words, metavar="TEXT", help="What to look for, in addition to the schema.")
@click.option("--workers", type=click.IntRange(1, 64), default=4, metavar="N", help="Records at a time. Default: 4.")
@click.option("--fields", type=click.IntRange(0), default=0, metavar="N", help="Ask for at most N fields at once.")
@click.option("--tries", type=click.IntRange(0, 20), metavar="N", help="Ask again N times for an answer that fits.")
@common
def extract(
    flags: Flags,
    path: Path,
    schema: str,
    output: Path,
    task: str,
    workers: int,
    fields: int,
    tries: int | None,
) -> None:
    """Fill in a schema from each row of a table, line of a text, or file of a folder.

    No code runs. Finished records are kept in OUT.part, so that the same command continues after an interruption.
    --max-cost is the budget of the whole output. Failed records are in OUT.failures.jsonl; then the exit code is 9.
    """
    from oi_tui.app.build import open_metered_model
    from oi_tui.app.engine.extraction.extraction import ExtractionPlan
    from oi_tui.app.engine.files.program_log import begin_logging, log_file
    from oi_tui.app.engine.text.safe import safe_text
    from oi_tui.app.extract.console import extract_on_console
    from oi_tui.app.headless.json_answer import wanted_schema

    begin_logging(log_file(), verbose=flags.verbose)
    setup = flags.workplace(can_ask=False).setup
    wanted, remark = wanted_schema(schema, setup)
    if remark:
        echo(f"▪ {safe_text(remark)}", err=True)
    loop = setup.settings.loop
    plan = ExtractionPlan(
        schema=wanted,
        task=task,
        tries=loop.answer_tries if tries is None else tries,
        workers=workers,
        fields=fields,
        max_cost=loop.max_cost,
    )

    async def whole() -> int:
        own = asyncio.current_task()
        assert own is not None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, own.cancel)
        async with open_metered_model(setup) as (model, redactor):
            return await extract_on_console(path, output, plan, model, redactor, err=sys.stderr)

    try:
        code = asyncio.run(whole())
    except asyncio.CancelledError:
        echo(f"⊘ Interrupted. {output}.part is kept: the same command continues.", err=True)
        code = 130
    except ModelError as error:
        echo(f"✗ {error.title} {error.hint}", err=True)
        code = error.exit_code
    sys.stdout.flush()
    if code:
        raise click.exceptions.Exit(code)
