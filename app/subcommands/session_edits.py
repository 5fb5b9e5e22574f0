"""`oi-tui sessions title|tag|fork|stop`: what is changed about one session."""

import click

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import words
from oi_tui.app.subcommands.stored import as_json_option, as_object, find_stored, open_sessions, print_json
from oi_tui.app.terminal.echo import echo

id_argument = click.argument("session", metavar="ID", type=words)


@click.command("title")
@id_argument
@click.argument("title", nargs=-1, required=True, type=words)
@as_json_option
def sessions_title(session: str, title: tuple[str, ...], as_json: bool) -> None:
    """Give a session another title; "" lets the model find one again."""
    with open_sessions() as store:
        record = store.edit(find_stored(store, session), title=" ".join(title))
    if as_json:
        print_json([as_object(record)])
    else:
        echo(safe_text(f"{record.id}  {record.title or '(no title)'}"))


@click.command("tag")
@id_argument
@click.argument("tags", metavar="TAG...", nargs=-1, type=words)
@click.option("--remove", "-r", is_flag=True, help="Remove these tags; without any, all.")
@as_json_option
def sessions_tag(session: str, tags: tuple[str, ...], remove: bool, as_json: bool) -> None:
    """Add tags to a session; without TAG, print its tags."""
    with open_sessions() as store:
        record = store.record(find_stored(store, session))
        given = [tag.removeprefix("#") for tag in tags]
        if remove:
            left = [tag for tag in record.tags if given and tag not in given]
            record = store.edit(record.id, tags=left)
        elif given:
            record = store.edit(record.id, tags=(*record.tags, *given))
    if as_json:
        print_json([as_object(record)])
    else:
        echo(safe_text("  ".join((record.id, *(f"#{tag}" for tag in record.tags)))))


@click.command("fork")
@id_argument
@as_json_option
def sessions_fork(session: str, as_json: bool) -> None:
    """A new session that begins with all that is saved of another one, also of one that is open."""
    from oi_tui.app.engine.log.forking import fork_session

    with open_sessions() as store:
        record = store.record(fork_session(store, find_stored(store, session)))
    if as_json:
        print_json([as_object(record)])
    else:
        echo(safe_text(f"{record.id}  {record.title or '(no title)'}"))
        echo(f"Resume with: oi-tui --resume {record.id}", err=True)


@click.command("stop")
@id_argument
def sessions_stop(session: str) -> None:
    """End a session that runs detached: it is saved, its kernels end. ID must be an id here, not words."""
    from oi_tui.app.frontend.attaching import live_sessions
    from oi_tui.app.subcommands.attach import stop_live, tell_live

    found = [live for live in live_sessions() if live.session_id.startswith(session)]
    if len(found) != 1:
        tell_live(found)
        raise StoreError(f"{len(found) or 'No'} sessions that begin with {session} run detached.")
    stop_live(found[0])
