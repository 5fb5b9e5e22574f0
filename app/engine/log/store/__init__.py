"""Sessions on disk: an append-only log of events in SQLite, with a summary of each session and a full-text index.

    Store        create, append, load, list, search, edit, remove: the public interface
    find_session which session a person means
    Claims       which sessions are open: no two programs write to the same one

Of the modules, `statements` has all SQL, `database` the connection and what its errors mean, `digest` what is derived
from the events (pure), `words` queries and snippets (pure), `blobs` the large outputs, which are files beside the
database.
"""

from oi_tui.app.engine.log.store.claims import CLAIM_PATIENCE, Claims, SessionOpenElsewhere
from oi_tui.app.engine.log.store.database import StoreBusy
from oi_tui.app.engine.log.store.session_search import find_session
from oi_tui.app.engine.log.store.statements import MIGRATIONS
from oi_tui.app.engine.log.store.store import Store

__all__ = [
    "CLAIM_PATIENCE",
    "MIGRATIONS",
    "Claims",
    "SessionOpenElsewhere",
    "Store",
    "StoreBusy",
    "find_session",
]
