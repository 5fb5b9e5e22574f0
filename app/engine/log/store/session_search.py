"""Which session a person means by a few words."""

from collections.abc import Sequence

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.log.store.store import Store

CANDIDATES = 8
"""Candidates that an error lists at most."""


def find_session(store: Store, text: str) -> str:
    """The session this text names: an id, the beginning of one, or words that occur in no other session.

    A match in the title wins. StoreError, which lists the candidates, if there are several.
    """
    if not text.strip():
        raise _several(store, "Which session?", [record.id for record in store.sessions(limit=CANDIDATES)])
    ids_with_prefix = store.ids_with_prefix(text)
    if text in ids_with_prefix:
        return text
    if len(ids_with_prefix) == 1:
        return ids_with_prefix[0]
    if ids_with_prefix:
        raise _several(store, f"{len(ids_with_prefix)} sessions with an id that begins with {text!r}.", ids_with_prefix)
    hits = store.search(text)
    titled = {hit.session.id for hit in hits if hit.kind == "title"}
    ids = list(dict.fromkeys(hit.session.id for hit in hits if not titled or hit.session.id in titled))
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise _several(store, f"Several sessions match {text!r}.", ids)
    raise StoreError(f"No session matches {text!r}.", hint="`oi-tui sessions` lists those there are.")


def _several(store: Store, what: str, ids: Sequence[str]) -> StoreError:
    shown = [store.record(session_id) for session_id in ids[:CANDIDATES]]
    lines = [f"{record.id}  {record.title or '(no title)'}" for record in shown]
    hint = "\n  ".join(("Say which one:", *lines)) if lines else "There are none yet."
    return StoreError(what, hint=hint)
