"""The notice about an error that ended a turn."""

from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.events import NoticeAdded
from oi_tui.app.engine.core.ids import new_id


def failure_notice(error: ModelError) -> NoticeAdded:
    """The error as a notice of the transcript, with what a person can do about it."""
    return NoticeAdded(
        block_id=new_id(),
        level="error",
        title=error.title,
        hint=error.hint,
        details=error.details,
        remedies=error.remedies,
        wait=error.wait,
    )
