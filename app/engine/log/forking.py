"""A stored session forked at its last event, even while another program works in it."""

import time

from oi_tui.app.engine.core.events import TurnEnded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.transcript.event_log import ends_in_turn


def fork_session(store: Store, session_id: str) -> str:
    """A new session that begins with all that is written of this one so far; its id. StoreError if there is none."""
    count = store.count(session_id)
    new = new_id()
    store.create(new, time.time(), store.record(session_id).cwd, parent=(session_id, count))
    if ends_in_turn(store.load(new)):
        store.append(new, [TurnEnded(reason="engine_lost", detail="The session was forked here.")])
    return new
