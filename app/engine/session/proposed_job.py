"""What another assistant wants done in a session: waits its turn like the person's own jobs, and may be given up."""

import asyncio
import logging

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.agent.proposal import Proposal
from oi_tui.app.engine.core.errors import OiTuiError

_log = logging.getLogger(__name__)


class ProposedJob:
    """One proposal, on its way through the queue of a session."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        self.over = asyncio.Event()
        """It was done, or never will be."""
        self.begun = False
        self._unwanted = ""

    async def perform(self, session: Session) -> None:
        """Run the job, unless it was cancelled. Never raises: errors are reported in the session."""
        try:
            if not self._unwanted:
                self.begun = True
                await session.propose(self.proposal)
        except OiTuiError as error:
            session.report(error)
        except Exception as error:
            # Boundary: a defect of ours ends this job, not the session. The person sees it in plain words.
            _log.exception("a proposal failed")
            session.notice("error", f"oi-tui failed: {error!r}.", "See the log.")
        finally:
            self.over.set()

    def give_up(self, session: Session, why: str) -> None:
        """Cancel the job: it is not begun, its question is withdrawn, or it is stopped."""
        self._unwanted = why
        if self.begun and not self.over.is_set():
            session.give_up_waiting(why)
            session.interrupt(turn=True)
