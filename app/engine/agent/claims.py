"""Files that an answer says were saved and that are not there: a small model says so after defining a function.

Pure, but for one look at the folder.
"""

import os
import re
from collections.abc import Iterable, Iterator

from oi_tui.app.engine.core.blocks import Action, Block

MOST = 3
"""Files that are asked about at once."""

_KINDS = (
    "csv|tsv|txt|jsonl?|md|html|png|jpe?g|gif|svg|pdf|xlsx?|docx|pptx|py|ipynb|js|ts|css|sh|sql|db|sqlite|parquet|log|xml"
    "|ya?ml|toml|zip|gz|wav|mp[34]"
)
_NAME = re.compile(rf"[`\"“']([^`\"“”'\n<>*{{}}|]{{1,120}}\.(?:{_KINDS}))[`\"”']", re.IGNORECASE)
_SAVED = re.compile(r"\b(?:saved|written|wrote|created|exported|stored|generated)\b", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:not|n't|never|no|if|when|once|would|will|can|could|should|must|may|might|to be|let me|you)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")


def claimed_files(text: str) -> tuple[str, ...]:
    """Names of files of which a sentence says without doubt that they were saved, each once."""
    found = (
        name[1]
        for sentence in _SENTENCE.split(text)
        if (saved := _SAVED.search(sentence)) and not _DOUBT.search(sentence[: saved.start()].replace("’", "'"))
        for name in _NAME.finditer(sentence)
    )
    return tuple(dict.fromkeys(found))


def missing_files(names: Iterable[str], folder: str, blocks: Iterable[Block]) -> tuple[str, ...]:
    """Files that should be in the folder and are missing. For a file that a run wrote elsewhere, the name is enough.
    For a thread."""
    written = {os.path.basename(name) for name in _recorded_names(blocks)}
    return tuple(name for name in names if _is_missing(name, folder) and os.path.basename(name) not in written)[:MOST]


def _is_missing(name: str, folder: str) -> bool:
    path = os.path.normpath(os.path.join(folder, name))
    within = path.startswith(folder.rstrip("/") + "/") and not name.startswith("~") and "://" not in name
    return within and not os.path.lexists(path)


def _recorded_names(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Action) and block.written is not None:
            yield from (file.name for file in block.written.files)
