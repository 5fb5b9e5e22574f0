"""What all sessions of this person share on the disk: their database, checkpoints of files, and what requests cost."""

from pathlib import Path

from oi_tui.app.engine.files import paths
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.models.cached_model import forget_answers
from oi_tui.app.engine.workspace.checkpoints import Checkpoints


def checkpoints_dir() -> Path:
    """Files as they were before they were changed, beside the sessions."""
    return paths.data_dir() / "checkpoints"


def open_store() -> Store:
    """The sessions of this person; StoreError or OiTuiError in plain words if the folder cannot be used."""
    return Store(
        paths.private_dir(paths.data_dir()) / "sessions.db", forget_answers, Checkpoints(checkpoints_dir()).forget
    )


def ledger_file() -> Path:
    """The file with the cost of requests, beside the sessions."""
    return paths.private_dir(paths.data_dir()) / "usage.db"
