"""Meaning by WordLlama, where `oi-tui[embedding]` is installed: a table of vectors of pieces of words, 16 MB in its
package. Nothing is downloaded, and nothing is loaded before the first search.
"""

import functools
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oi_tui.plugins.api import Embedding, hookimpl


@functools.cache
def _load() -> Any:
    import wordllama  # a third of a second, with numpy

    # It looks for its tokenizer in a folder of another name, unless it gets a path.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def embed_texts(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """A vector of 256 numbers for each text."""
    vectors: list[list[float]] = _load().embed(list(texts), norm=True).tolist()
    return vectors


@hookimpl
def register_embedding() -> Embedding | None:
    """The model, if it is installed."""
    return Embedding(f"wordllama {version('wordllama')}", embed_texts) if find_spec("wordllama") is not None else None
