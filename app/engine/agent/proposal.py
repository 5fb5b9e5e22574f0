"""An action that another assistant proposes, where no model of ours wrote it."""

from collections.abc import Iterator
from typing import NamedTuple

from oi_tui.app.engine.core.events import AnyEvent, CallFinished, CallStarted, CodeFinished, CodeStarted
from oi_tui.app.engine.core.values import Language


class Proposal(NamedTuple):
    """Code for the kernel of a language, or, with a tool, the arguments of a call."""

    block_id: str
    source: str
    language: Language = ""
    tool: str = ""

    def events(self) -> Iterator[AnyEvent]:
        """The events of a proposal, the same as for a model's."""
        if self.tool:
            yield CallStarted(block_id=self.block_id, tool=self.tool)
            yield CallFinished(block_id=self.block_id, tool=self.tool, source=self.source)
        else:
            yield CodeStarted(block_id=self.block_id, language=self.language)
            yield CodeFinished(block_id=self.block_id, language=self.language, source=self.source)
