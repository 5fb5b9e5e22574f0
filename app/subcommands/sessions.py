"""`oi-tui sessions`: past sessions."""

import json

import click

from oi_tui.app.engine.text import safe_text


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON list of objects.")
def sessions(as_json: bool) -> None:
    """List past sessions, the newest first."""
    import msgspec

    from oi_tui.app.build import open_store

    store = open_store()
    try:
        records = store.sessions()
    finally:
        store.close()
    if as_json:
        print(json.dumps(msgspec.to_builtins(records)))  # ASCII: nothing that a terminal obeys
        return
    import datetime

    for record in records:
        when = datetime.datetime.fromtimestamp(record.active).astimezone().strftime("%Y-%m-%d %H:%M")
        click.echo(f"{record.id}  {when}  {safe_text(record.title) or '(empty)'}  · {safe_text(record.cwd)}")
