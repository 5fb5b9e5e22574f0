"""Verbs and replies about extraction; `session/extraction_desk.py` answers them."""

from typing import Annotated, Literal

import msgspec

from oi_tui.app.engine.core.values import SessionReply, SessionVerb, Value

ExtractionState = Literal["none", "starting", "running", "paused", "stopping", "stopped", "failed", "done"]
"""`stopped` was stopped by the person or a budget, `failed` by an error; both can be continued."""


class ExtractionVerb(SessionVerb, frozen=True, kw_only=True):
    """Base of what is asked about extractions, by which the session knows them."""


class BeginExtraction(ExtractionVerb, frozen=True, kw_only=True, tag=True):
    """Ask about each record; where the output was begun before, only about those that have no value."""

    source: str
    """A file, a folder or a pattern; relative to the working folder, as `output`."""
    schema: str
    """A file, MODULE:NAME, or typed fields."""
    output: str
    """A new file that ends in .jsonl or .csv."""
    task: str = ""
    model: str = ""
    """"" is the model of the session."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    """Records at a time."""
    fields: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Of one request at most; 0 asks for all at once."""
    max_cost: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """US dollars for the whole output; 0 is no limit."""


class ChangeExtraction(ExtractionVerb, frozen=True, kw_only=True, tag=True):
    """Pauses it, continues it (also one that was stopped or failed) or stops it; a second `stop` waits for nobody."""

    change: Literal["pause", "continue", "stop"]


class FindExtraction(ExtractionVerb, frozen=True, kw_only=True, tag=True):
    """Report the last extraction with its results, now and whenever it changes; answered with `ExtractionFound`."""

    on: bool = True
    """False: nobody looks any more, and reports are seldom and without results."""


AnyExtractionVerb = BeginExtraction | ChangeExtraction | FindExtraction


class ExtractedRow(Value, frozen=True, kw_only=True):
    """The result of one record, in short."""

    source: str
    text: str
    """Its value as JSON, or why there is none."""


PART = ".part"
"""What follows the name of the output while not all of it is there: the same questions continue it."""


class ExtractionFound(SessionReply, frozen=True, kw_only=True, tag=True):
    """The state of an extraction; sent unasked, without results, while there is one."""

    state: ExtractionState = "none"
    asked: BeginExtraction | None = None
    model: str = ""
    total: int = 0
    """Records; 0 while they are not counted."""
    done: int = 0
    skipped: int = 0
    """Those of them that an earlier run did."""
    failed: int = 0
    cut: int = 0
    """Records that were too long, of which the beginning was read."""
    cost: float | None = 0.0
    """US dollars, None where a price is not known."""
    seconds: float = 0.0
    why: str = ""
    """Why it is not done, as a sentence."""
    wrong: Literal["", "source", "schema", "model"] = ""
    """What of the question it could not begin with, where that is known."""
    newest: tuple[ExtractedRow, ...] = ()
    """The last ones last."""
    failures: tuple[ExtractedRow, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether there is something to stop."""
        return self.state in ("starting", "running", "paused", "stopping")

    @property
    def ended_count(self) -> int:
        """Records that nobody will be asked about again."""
        return self.done + self.failed
