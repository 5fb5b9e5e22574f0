"""A session as the database has it, and the value that others get."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from oi_tui.app.engine.core.session_records import TITLE_LIMIT, SessionRecord
from oi_tui.app.engine.log.store.digest import Totals
from oi_tui.app.engine.text.words import one_line

TAG_LIMIT, TAGS_LIMIT = 40, 20
"""Characters of a tag, and tags of a session."""


class SessionRow(NamedTuple):
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
    """Up to this `seq` its texts can be searched. Below 0: neither texts nor totals are complete (`looked_at`)."""

    @property
    def looked_at(self) -> int | None:
        """Of an incomplete session: the last `seq` that was processed, None if none was."""
        return None if self.indexed == -1 else -2 - self.indexed

    @property
    def totals(self) -> Totals:
        """The counts so far."""
        return Totals(self.turns, self.input_tokens, self.output_tokens, self.cost, self.model)

    @property
    def tag_names(self) -> tuple[str, ...]:
        return tuple(msgspec.json.decode(self.tags, type=list[str]))

    @property
    def record(self) -> SessionRecord:
        """The public part of the row."""
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


def looked_up_to(seq: int) -> int:
    """The value of `indexed` while events remain to be indexed."""
    return -2 - seq


def tidy_line(text: str) -> str:
    """A title as it may be written: one line of what can be seen."""
    return one_line(text)[:TITLE_LIMIT].rstrip()


def clean_tags(tags: Iterable[str]) -> list[str]:
    """Tags as they may be written: without the sign that some write before them, each once, in order."""
    clean = {tidy_line(tag).lstrip("#").strip()[:TAG_LIMIT] for tag in tags}
    return sorted(clean - {""}, key=str.casefold)[:TAGS_LIMIT]
