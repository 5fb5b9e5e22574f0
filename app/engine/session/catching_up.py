"""What a front end gets when it joins an open session, and what that session does meanwhile."""

import logging
from collections.abc import Iterable, Iterator, Sequence

from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent, SessionOpened
from oi_tui.app.engine.core.outcomes import StopReason
from oi_tui.app.engine.core.protocol import REPLAYED, Batch, WorkState
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.session.outbox import batches, replay_batches
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.transcript import Transcript

_log = logging.getLogger(__name__)


_RESTS: dict[StopReason, WorkState] = {
    "paused": "paused",
    "interrupted": "stopped",
    "stopped": "stopped",
    "refused": "stopped",
    "unfit": "errored",
    "model_error": "errored",
    "kernel_error": "errored",
    "engine_lost": "errored",
}


def work_state(transcript: Transcript, kernels: KernelSource, *, busy: bool) -> WorkState:
    """The present state of a session; `busy`: whether it has a job."""
    if transcript.pending_decision is not None:
        return "waiting for approval"
    if transcript.pending_input is not None:
        return "waiting for input"
    works = any(kernel.state in ("busy", "starting", "restarting") for kernel in kernels.started_kernels())
    if transcript.turn_open or busy or works:
        return "running"
    return _RESTS.get(transcript.ended, "idle") if transcript.ended is not None else "idle"


def has_content(transcript: Transcript) -> bool:
    """Whether anything happened in it: notices alone do not count."""
    return any(not isinstance(block, NoticeBlock) for block in transcript.blocks)


def late_batches(
    store: Store | None, session_id: str, unwritten: Iterable[AnyEvent] | None, transcript: Transcript
) -> Iterator[Batch]:
    """A replay of everything before the session was opened, then what has happened since, as other front ends got it.

    What is not in the store (`unwritten` is None) is sent as the resulting blocks.
    """
    events: Sequence[AnyEvent] = ()
    if store is not None and unwritten is not None:
        try:
            events = (*store.load(session_id), *unwritten)
        except StoreError as error:
            _log.warning("the session is read from memory: %s", error)
    opened = max((at for at, event in enumerate(events) if isinstance(event, SessionOpened)), default=-1)
    if opened < 0:
        events = events_of_blocks(transcript.blocks, transcript.usage)
        opened = len(events)
    yield from replay_batches(events[:opened])
    yield from batches(events[opened:], REPLAYED)
