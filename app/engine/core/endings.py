"""How code ended that no person refused or interrupted and no kernel finished: how far it got, and what ended it.

The screen, a file and the model get the same words. "Refused" and "interrupted" mean that a person did that.
"""

from typing import Literal

from oi_tui.app.engine.core.values import Value

EndingStage = Literal["undecided", "unstarted", "running"]
"""Nobody had decided about it, it might run and did not yet, or it ran."""

Cause = Literal[
    "person",  # stopped the turn instead of deciding
    "program",  # it, or its engine, ended in the middle
    "session",  # it was left: forked, or another was opened
    "answer",  # the answer that proposed the code was interrupted
    "kernel",  # nothing could be run in it
    "limit",  # it took longer than a run may
    "nobody",  # the code wanted an answer, and no person was there
    "turn",  # it was over
    "record",  # the record ends there; the code may still be running
]

PROGRAM_CLOSED = "The program was closed."
"""The detail of a turn that ended only because the program was closed."""

_STAGES: dict[EndingStage, str] = {
    "undecided": "not decided",
    "unstarted": "approved, not started",
    "running": "cut off",
}

_CAUSES: dict[Cause, str] = {
    "program": "the program ended",
    "session": "the session was closed",
    "answer": "the answer was interrupted",
    "kernel": "it could not be started",
    "limit": "it reached its time limit",
    "nobody": "there was nobody to ask",
    "turn": "the turn ended",
    "record": "the record ends here",
}


class Ending(Value, frozen=True, kw_only=True):
    """How code ended that did not run to its end."""

    stage: EndingStage
    cause: Cause

    def describe(self, person: str = "you") -> str:
        """For the user, or for somebody else, who reads about `person`."""
        if self.cause == "person":
            return f"{'not run' if self.stage == 'undecided' else _STAGES[self.stage]}: {person} stopped the turn"
        return f"{_STAGES[self.stage]}: {_CAUSES[self.cause]}"
