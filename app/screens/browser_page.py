"""Pages for the person's browser, as files that nobody else can read."""

import os
import tempfile
from pathlib import Path


def write_page(page: bytes) -> Path:
    """The page in a file that only its owner can read, in a folder that only they can enter; it is theirs to remove."""
    path = Path(tempfile.mkdtemp(prefix="oi-tui-page-")) / "result.html"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(page)
    return path
