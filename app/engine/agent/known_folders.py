"""The folders that code changed to, as far as its sources said so: a relative path may begin in any of them."""

from oi_tui.app.engine.policy.losses import MANY_FOLDERS, folders_of, named_paths
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.rules import Base

KernelLife = tuple[str, int]
"""What runs code, and its generation: a new one begins in the folder of the session."""


class KnownFolders:
    """Those of one session."""

    def __init__(self, known: dict[KernelLife, tuple[str, ...]] | None = None) -> None:
        self._known = dict(known or {})

    def copy(self) -> "KnownFolders":
        """The same, which a fork goes on with."""
        return KnownFolders(self._known)

    def of(self, life: KernelLife) -> tuple[str, ...]:
        """Absolute paths, beside that of the session."""
        return self._known.get(life, ())

    def note(self, life: KernelLife, reading: SourceFacts | None, base: Base) -> None:
        """Code with this reading is about to run there."""
        if reading is not None and reading.folders:
            known = self.of(life)
            new = folders_of(reading, base, known)
            self._known[life] = tuple(dict.fromkeys((*known, *new)))[-MANY_FOLDERS:]

    def written_paths(self, life: KernelLife, reading: SourceFacts | None, base: Base) -> tuple[str, ...]:
        """What code with this reading would write, move or delete there as far as it says so; absolute."""
        return () if reading is None else named_paths(reading, base, self.of(life))
