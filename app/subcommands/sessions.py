"""`oi-tui sessions`: past sessions, for people as tables that fit the terminal, for programs as JSON."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.flags import words
from oi_tui.app.subcommands.session_edits import sessions_fork, sessions_stop, sessions_tag, sessions_title
from oi_tui.app.subcommands.stored import as_json_option, as_object, claim_all, find_stored, open_sessions, print_json
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.table import print_table
from oi_tui.app.terminal.tty_prompt import confirm

if TYPE_CHECKING:
    from oi_tui.app.engine.core.session_records import SearchHit
    from oi_tui.app.engine.log.store import Store

FORMATS = "ipynb, md, html, lmc, messages"
SUFFIXES = {".ipynb": "ipynb", ".md": "md", ".html": "html", ".htm": "html", ".json": "lmc"}
"""What a file's name says of the format."""

IMPORT_LIMIT = 500_000_000
"""Bytes of a file that is imported."""

IMPORT_STEP = 2_000
"""Events that are written at once; other programs may write in between."""

archived_option = click.option("--archived", is_flag=True, help="Archived sessions.")


@click.group(invoke_without_command=True)
@as_json_option
@click.pass_context
def sessions(context: click.Context, as_json: bool) -> None:
    """Past sessions: list, search, show, rename, tag, fork, export, import; and those that run detached.

    ID is the id of a session, the beginning of it, or words that only one session contains.
    """
    if context.invoked_subcommand is None:
        context.invoke(sessions_list, as_json=as_json)


@sessions.command("list")
@archived_option
@click.option("--here", is_flag=True, help="Sessions of this folder only.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The newest N only.")
@as_json_option
def sessions_list(archived: bool = False, here: bool = False, limit: int | None = None, as_json: bool = False) -> None:
    """List the sessions, the last used first."""
    with open_sessions() as store:
        found = store.sessions(archived=archived, cwd=os.getcwd() if here else None)
    states = _states()
    records = [record for record in found if record.title or record.turns or record.id in states][:limit]
    if as_json:
        print_json([as_object(record) | {"detached": states.get(record.id, "")} for record in records])
        return
    rows = [(r.id, _when(r.active), str(r.turns), r.title or "(no title)", _home(r.cwd)) for r in records]
    if any(record.id in states for record in records):
        marked = [(*row[:3], states.get(row[0], ""), *row[3:]) for row in rows]
        print_table(("id", "last used", "turns", "detached", "title", "folder"), marked, wide=4)
        echo("Attach to a detached one: oi-tui attach ID. End it: oi-tui sessions stop ID", err=True)
    else:
        print_table(("id", "last used", "turns", "title", "folder"), rows, wide=3)
    if not records:
        echo("There are no sessions yet.", err=True)


@sessions.command("search")
@click.argument("text", nargs=-1, required=True, type=words)
@archived_option
@click.option("--limit", type=click.IntRange(min=1), default=50, metavar="N", help="At most N places; default 50.")
@as_json_option
def sessions_search(text: tuple[str, ...], archived: bool, limit: int, as_json: bool) -> None:
    """Find all these words and "phrases"; the last word may be a beginning."""
    with open_sessions() as store:
        _catch_up(store)
        hits = store.search(" ".join(text), archived=archived, limit=limit)
        if store.count_unindexed():  # the index was damaged and is built again
            _catch_up(store)
            hits = store.search(" ".join(text), archived=archived, limit=limit)
    if as_json:
        print_json([_hit_as_object(hit) for hit in hits])
        return
    rows = [(hit.session.id, _when(hit.session.active), hit.kind, _line(hit)) for hit in hits]
    print_table(("id", "last used", "where", "what"), rows, wide=3)
    if not hits:
        echo("Found nowhere.", err=True)


@sessions.command("show")
@click.argument("session", metavar="ID", type=words)
@as_json_option
def sessions_show(session: str, as_json: bool) -> None:
    """Print a session as text, or its blocks as JSON."""
    import msgspec

    from oi_tui.app.engine.formats.export import plain_transcript
    from oi_tui.app.engine.transcript.event_log import fold_events

    with open_sessions() as store:
        transcript = fold_events(store.load(find_stored(store, session)))
    if as_json:
        print_json(msgspec.to_builtins(transcript.blocks))
        return
    echo(plain_transcript(transcript.blocks), nl=False)


@sessions.command("export")
@click.argument("session", metavar="ID", type=words)
@click.option("--format", "form", metavar="FORMAT", help=f"{FORMATS}, or a plugin's. Default: by the ending of FILE.")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Default: standard output.")
@click.option("--no-images", is_flag=True, help="Leave pictures out.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@as_json_option
def sessions_export(
    session: str, form: str | None, output: Path | None, no_images: bool, force: bool, as_json: bool
) -> None:
    """Export a session as a notebook, Markdown, HTML or LMC.

    lmc is a whole session, messages the bare list of its messages, for `interpreter.messages = json.load(file)`.
    """
    from oi_tui.plugins.host import LoadedPlugins
    from oi_tui.plugins.session_files import export_session

    chosen: Any = form or SUFFIXES.get(output.suffix.lower() if output else "")
    if chosen is None:
        raise SettingsError("No format is given.", hint="Name one: --format ipynb, md, html, lmc or messages.")
    if output is None and (as_json or sys.stdout.isatty()):
        raise SettingsError("Where to?", hint="Name a file with --output FILE.")
    with open_sessions() as store:
        session_id = find_stored(store, session)
        data = export_session(
            store.load(session_id),
            chosen,
            images=not no_images,
            title=store.record(session_id).title,
            hooks=LoadedPlugins("engine").load(),
        )
    if output is None:
        sys.stdout.buffer.write(data)
        return
    _write(output, data, force=force)
    if as_json:
        print_json([{"id": session_id, "format": chosen, "path": str(output.absolute())}])
    else:
        echo(f"Written: {output}", err=True)


@sessions.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@as_json_option
def sessions_import(file: Path, as_json: bool) -> None:
    """Import a notebook or LMC messages as a new session. Runs nothing."""
    from oi_tui.app.engine.core.events import SessionOpened
    from oi_tui.app.engine.core.ids import new_id
    from oi_tui.plugins.host import LoadedPlugins
    from oi_tui.plugins.session_files import import_session

    try:
        data = read_given_file(file, IMPORT_LIMIT)
    except UnusableFile as error:
        raise SettingsError(f"{file} {error}.") from error
    imported = import_session(data, file.name, LoadedPlugins("engine").load())
    cwd, now, session_id = imported.cwd or os.getcwd(), time.time(), new_id()
    begun = SessionOpened(session_id=session_id, created=now, cwd=cwd, model="", approval="ask")
    with open_sessions() as store:
        store.create(session_id, now, cwd)
        events = [begun, *imported.events]
        try:
            for first in range(0, len(events), IMPORT_STEP):
                store.append(session_id, events[first : first + IMPORT_STEP])
            store.entitle(session_id, imported.title, "model")
        except BaseException:  # also on Ctrl+C: half a session is useless
            store.remove(session_id)
            raise
        record = store.record(session_id)
    if as_json:
        print_json([as_object(record)])
    else:
        echo(f"{record.id}  {record.title}")
        echo(f"Resume with: oi-tui --resume {record.id}", err=True)


@sessions.command("rm")
@click.argument("session_ids", metavar="ID...", nargs=-1, required=True, type=words)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@as_json_option
def sessions_rm(session_ids: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete sessions. Asks on a terminal. ID must be an id here, not words."""
    with open_sessions() as store:
        found = [store.record(find_stored(store, session_id, by_id=True)) for session_id in session_ids]
        records = list({record.id: record for record in found}.values())
        if not yes and sys.stdin.isatty() and sys.stdout.isatty():
            for record in records:
                echo(f"{record.id}  {record.title or '(no title)'}")
            if not confirm("Remove? This cannot be undone."):
                raise click.Abort
        with claim_all(store, records):
            for record in records:
                store.remove(record.id)
    if as_json:
        print_json([as_object(record) for record in records])
    else:
        echo("Removed: " + ", ".join(record.id for record in records), err=True)


def _states() -> dict[str, str]:
    """What those do that run detached, by id."""
    from oi_tui.app.frontend.attaching import live_sessions

    return {live.session_id: live.activity + " (shown)" * live.attached for live in live_sessions()}


def _catch_up(store: "Store") -> None:
    """What an older program wrote, or all if the index was damaged, is looked through once before it is searched."""
    if behind := store.count_unindexed():
        echo(f"Looking through {behind:,} sessions, once ...", err=True)
        while store.tidy(1.0):
            pass


def _write(path: Path, data: bytes, *, force: bool) -> None:
    """Whole or not at all; over another file only with `force`."""
    try:
        write_whole(path, data, over=force)
    except FileExistsError as error:
        raise SettingsError(f"{path} is there already.", hint="Name another file, or use --force.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error


def _hit_as_object(hit: "SearchHit") -> dict[str, Any]:
    import msgspec

    parts = [msgspec.structs.asdict(piece) for piece in hit.snippet]
    place = {"kind": hit.kind, "block_id": hit.block_id, "snippet": "".join(part["text"] for part in parts)}
    return as_object(hit.session) | place | {"pieces": parts}


def _line(hit: "SearchHit") -> str:
    return "".join(piece.text for piece in hit.snippet)


def _when(at: float) -> str:
    import datetime

    return datetime.datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _home(folder: str) -> str:
    home = str(Path.home())
    return f"~{folder[len(home) :]}" if folder == home or folder.startswith(home + "/") else folder


for command in (sessions_title, sessions_tag, sessions_fork, sessions_stop):
    sessions.add_command(command)
