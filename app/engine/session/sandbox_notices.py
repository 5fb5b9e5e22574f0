"""What a session says of a trial of its sandbox."""

from collections.abc import Iterator

from oi_tui.app.engine.core.events import NoticeAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.sandbox.availability import Availability

NO_FALLBACK = (
    "Until then no code runs. To run without a sandbox: /sandbox on the screen, or --sandbox danger-full-access."
)


def sandbox_notices(found: Availability) -> Iterator[NoticeAdded]:
    """What a sandbox leaves open, or why there is none and what to do; nothing if all is well."""
    for gap in found.gaps:
        title = "The sandbox leaves something open here."
        yield NoticeAdded(block_id=new_id(), level="warning", title=title, hint=f"{gap[0].upper()}{gap[1:]}.")
    if not found.works:
        hint = f"{found.fix}. {NO_FALLBACK}".removeprefix(". ").replace("\n", " ")
        yield NoticeAdded(block_id=new_id(), level="error", title=found.why, hint=hint)
