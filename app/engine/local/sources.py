"""What every source of weights has in common: it brings a candidate file into a folder, or says why it cannot.

A source is not trusted: `fetch.py` checks what it brought. What it leaves in its folder is for its own next try.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from oi_tui.app.engine.core.protocol import FetchProgressed
from oi_tui.app.engine.local.catalogue import LocalModel

Progress = Callable[[FetchProgressed], None]


class SourceFailed(Exception):
    """This source could not bring the model, for the reason given; the next one may."""


class WeightSource(Protocol):
    """A place where a model's bytes can be had."""

    name: str
    """For people, after "from"; also names the source's folder."""

    def room(self, model: LocalModel, folder: Path) -> int:
        """Bytes of disk that are still needed to bring the model into `folder`."""
        ...

    async def bring(self, model: LocalModel, folder: Path, progress: Progress) -> Path:
        """A complete file of unchecked bytes, inside `folder`; SourceFailed or OSError otherwise.

        Cancelled, it stops at once and leaves what can be used the next time.
        """
        ...
