"""A session as the database has it, and the value that others get."""

from typing import NamedTuple

import msgspec

from oi_tui.app.engine.sessions import SessionRecord
from oi_tui.app.engine.store.digest import Totals


class Row(NamedTuple):
    """A session in the order of `statements.COLUMNS`."""

    id: str
    created: float
    active: float
    cwd: str
    title: str
    model: str
    tags: str
    """A JSON list."""
    turns: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    archived: int
    deleted: float
    """When, 0 if it is not."""
    parent_id: str | None
    titled: str
    """By whom; "" for a title that was inherited, and for none."""
    base_id: str | None
    """The session whose events up to `base_seq` come before its own."""
    base_seq: int
    indexed: int
    """Up to this `seq` its texts can be searched; -1 if neither texts nor totals have been looked at."""

    @property
    def totals(self) -> Totals:
        """What has been counted."""
        return Totals(self.turns, self.input_tokens, self.output_tokens, self.cost, self.model)

    @property
    def tag_names(self) -> tuple[str, ...]:
        """In alphabetical order."""
        return tuple(msgspec.json.decode(self.tags, type=list[str]))

    @property
    def record(self) -> SessionRecord:
        """What others may know."""
        return SessionRecord(
            id=self.id,
            created=self.created,
            active=self.active,
            cwd=self.cwd,
            title=self.title,
            model=self.model,
            tags=self.tag_names,
            turns=self.turns,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost=self.cost,
            archived=bool(self.archived),
            deleted=bool(self.deleted),
            parent_id=self.parent_id,
        )
