"""The places of blocks in a transcript, by their ids."""

from collections.abc import Sequence

from oi_tui.app.engine.core.blocks import Block

NEWEST = 1_000
"""Newest blocks whose place is always known: events are about these, unless the user works with an older one."""


class BlockPlaces(dict[str, int]):
    """Indices by id. Those of older blocks are found when one is first asked for by `places[id]`: to keep them takes as
    much memory as a third of a long session's text, and hardly anybody asks.

    What `in` and `get` know is not all there is.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__()
        self._blocks = blocks
        self._forgot = False
        self._keeps = False
        """Somebody asked: nothing is forgotten any more."""

    def add(self, block_id: str) -> None:
        """Note a block that will be appended."""
        self[block_id] = len(self._blocks)
        if len(self) >= 2 * NEWEST and not self._keeps:
            self._forgot = True
            newest = list(self.items())[-NEWEST:]
            self.clear()
            self.update(newest)

    def find(self, block_id: str) -> int:
        """The place of a block, new or old; -1 if there is none."""
        try:
            return self[block_id]
        except KeyError:
            return -1

    def __missing__(self, block_id: str) -> int:
        """The place of an older block; KeyError if there is none."""
        if not self._forgot:
            raise KeyError(block_id)
        self._forgot, self._keeps = False, True
        self.update({block.id: index for index, block in enumerate(self._blocks)})
        return self[block_id]
