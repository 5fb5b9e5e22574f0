"""The folders that code may have changed to, as read from its sources: any of them can be the start of a relative
path."""

from oi_tui.app.engine.agent.runners import Runners
from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.policy.losses import MANY_FOLDERS, folders_of, named_paths
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.rules import Base


class KnownFolders:
    """Those of one session. A restarted kernel begins in its own folder again."""

    def __init__(self, runners: Runners) -> None:
        self._runners = runners
        self._known: dict[tuple[str, int], tuple[str, ...]] = {}
        """By what ran the code and its generation."""

    def copy(self) -> "KnownFolders":
        """A copy for a fork."""
        other = KnownFolders(self._runners)
        other._known = dict(self._known)
        return other

    def of(self, block: ActionBlock) -> tuple[str, ...]:
        """Where this block may begin, beside the folder of the session; absolute."""
        return self._known.get((block.runs_in, self._runners.next_generation(block)), ())

    def note(self, block: ActionBlock, reading: SourceFacts | None, base: Base) -> None:
        """A block with this reading is about to run."""
        if reading is not None and reading.folders:
            known = self.of(block)
            now = tuple(dict.fromkeys((*known, *folders_of(reading, base, known))))[-MANY_FOLDERS:]
            self._known[block.runs_in, self._runners.next_generation(block)] = now

    def written_paths(self, block: ActionBlock, reading: SourceFacts | None, base: Base) -> tuple[str, ...]:
        """Absolute paths that a block with this reading would write, move or delete, as far as its source says."""
        return () if reading is None else named_paths(reading, base, self.of(block))
