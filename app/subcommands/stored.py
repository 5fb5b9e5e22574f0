"""Stored sessions, as all commands about them find, hold and tell them."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.terminal.echo import echo

if TYPE_CHECKING:
    from oi_tui.app.engine.core.session_records import SessionRecord
    from oi_tui.app.engine.log.store import Store

as_json_option = click.option("--json", "as_json", is_flag=True, help="A JSON list of objects.")


@contextmanager
def open_sessions() -> "Iterator[Store]":
    """The sessions of this person."""
    from oi_tui.app.data_files import open_store

    store = open_store()
    try:
        yield store
    finally:
        store.close()


@contextmanager
def claim_all(store: "Store", records: "Sequence[SessionRecord]") -> "Iterator[None]":
    """Claim all of these sessions; StoreError if somebody has one open."""
    from oi_tui.app.engine.log.store import CLAIM_PATIENCE, Claims

    claims = Claims.for_database(store.path)
    try:
        for record in records:
            claims.take(record.id, CLAIM_PATIENCE)
        yield
    finally:
        claims.keep_only()


def find_stored(store: "Store", text: str, *, by_id: bool = False) -> str:
    """The id of the session that is meant; StoreError if none is, or several, or (`by_id`) words were given."""
    from oi_tui.app.engine.log.store import find_session

    found = find_session(store, text)
    if by_id and not found.startswith(text):
        raise StoreError(f"There is no session {text}.", hint=f"Did you mean {found}? Name it by its id.")
    return found


def as_object(record: "SessionRecord") -> dict[str, Any]:
    """A session's record as JSON has it."""
    import msgspec

    return msgspec.structs.asdict(record)  # with what is empty, too


def print_json(values: Sequence[Any]) -> None:
    """A list, on one line."""
    echo(json.dumps(values))
