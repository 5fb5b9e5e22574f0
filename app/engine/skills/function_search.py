"""Finds kept functions by words, and by meaning where there is a model of it.

Words are looked up in a full-text index that is made for each search: there are few functions. Vectors are kept in a
file, since making them may cost a request to a server.
"""

import logging
import math
import re
import sqlite3
from array import array
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from oi_tui.app.engine.core.embedding import Embedding
from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.skills.kept_functions import KeptFunction

_log = logging.getLogger(__name__)

FOUND = 8
"""Functions that a search gives at most."""

LONGEST_QUERY, LONGEST_TEXT = 500, 2_000
"""Characters of a query, and of what is made a vector of one function."""

LONGEST_VECTOR = 8_192
"""Numbers."""

MOST_VECTORS = 2_000
"""Of all models together, in the file."""

_WORD = re.compile(r"\w+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DAMPING = 60
"""Of the ranks that are added: the usual one of reciprocal rank fusion."""


class NoMeaning(Exception):
    """Why nothing was found by meaning, as a sentence."""


def search_by_words(functions: Sequence[KeptFunction], query: str) -> list[KeptFunction]:
    """Functions with any of the words, or one that begins like it; best first."""
    words = _WORD.findall(_split_name(query[:LONGEST_QUERY]))
    if not words or not functions:
        return []
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE VIRTUAL TABLE texts USING fts5(name, signature, docstring, tokenize='porter unicode61')")
        rows = ((_split_name(one.name), _split_name(one.signature), one.docstring[:LONGEST_TEXT]) for one in functions)
        base.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)
        asked = " OR ".join(f'"{word}"*' for word in dict.fromkeys(words))
        order = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 5.0, 2.0, 1.0) LIMIT ?"
        return [functions[number - 1] for (number,) in base.execute(order, (asked, FOUND))]


def search_by_meaning(
    functions: Sequence[KeptFunction], query: str, embedding: Embedding, cache: Path
) -> list[KeptFunction]:
    """The nearest, the best first; NoMeaning where the embedding fails. `cache` is a file of vectors, made if need
    be."""
    if not functions or not query.strip():
        return []
    texts = [_text(one) for one in functions]
    known = _Vectors(cache, embedding.name)
    vectors = known.read(texts)
    missing = [text for text in dict.fromkeys(texts) if text not in vectors]
    *made, asked = _embed(embedding, [*missing, query[:LONGEST_QUERY]])
    vectors |= dict(zip(missing, made, strict=True))
    if changed := [text for text, vector in vectors.items() if len(vector) != len(asked)]:  # another model now
        *made, asked = _embed(embedding, [*changed, query[:LONGEST_QUERY]])
        vectors |= dict(zip(changed, made, strict=True))
    known.keep({text: vectors[text] for text in (*missing, *changed)})
    near = [(_similarity(vectors[text], asked), place) for place, text in enumerate(texts)]
    best = sorted(near, key=lambda one: (-one[0], one[1]))[:FOUND]
    return [functions[place] for similarity, place in best if similarity > 0]


def merge_found(*lists: Sequence[KeptFunction]) -> list[KeptFunction]:
    """Several lists as one, by the best rank in any of them."""
    scores: dict[str, float] = {}
    by_name = {one.name: one for found in lists for one in found}
    for found in lists:
        for place, one in enumerate(found):
            scores[one.name] = scores.get(one.name, 0.0) + 1 / (_DAMPING + place)
    return [by_name[name] for name in sorted(scores, key=lambda name: -scores[name])][:FOUND]


def _split_name(text: str) -> str:
    """`cleanPrices` and `clean_prices` as two words."""
    return _CAMEL.sub(" ", text).replace("_", " ")


def _text(function: KeptFunction) -> str:
    return f"{_split_name(function.name)}. {function.docstring}"[:LONGEST_TEXT]


def _embed(embedding: Embedding, texts: list[str]) -> list[Sequence[float]]:
    try:
        given = islice(embedding.embed(texts), len(texts) + 1)
        made = [array("f", islice(vector, LONGEST_VECTOR + 1)) for vector in given]
    except Exception as error:
        # Boundary: a plugin's.
        _log.warning("the embedding %s failed", embedding.name, exc_info=True)
        raise NoMeaning(f"The embedding {embedding.name} failed: {type(error).__name__}.") from error
    sizes = {len(vector) for vector in made}
    if len(made) != len(texts) or len(sizes) != 1 or not 0 < max(sizes) <= LONGEST_VECTOR:
        raise NoMeaning(f"The embedding {embedding.name} gave no vector for each text.")
    if not all(math.isfinite(number) for vector in made for number in vector):
        raise NoMeaning(f"The embedding {embedding.name} gave vectors with numbers that are none.")
    return list(made)


def _similarity(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors; 0 where one is zero or of another length."""
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length and len(one) == len(other) else 0.0


class _Vectors:
    """The file of vectors of one model. A damaged file is written again."""

    def __init__(self, path: Path, model: str) -> None:
        self._path, self._model = path, model

    def read(self, texts: Iterable[str]) -> dict[str, Sequence[float]]:
        """The known vectors, by text."""
        found: dict[str, Sequence[float]] = {}
        if self._path.exists():
            try:
                with closing(self._open()) as base:
                    for text in texts:
                        query = "SELECT vector FROM vectors WHERE model = ? AND digest = ?"
                        row = base.execute(query, (self._model, text_digest(text))).fetchone()
                        if row is not None:
                            found[text] = array("f", row[0])
            except (sqlite3.Error, ValueError, TypeError) as error:
                _log.warning("the stored vectors are computed again: %s", error)
                self._path.unlink(missing_ok=True)
                return {}
        return found

    def keep(self, vectors: dict[str, Sequence[float]]) -> None:
        """These too; where they cannot be kept, they are made again the next time."""
        if not vectors:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with closing(self._open()) as base, base:
                rows = [
                    (self._model, text_digest(text), array("f", vector).tobytes()) for text, vector in vectors.items()
                ]
                base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                oldest = "SELECT rowid FROM vectors ORDER BY rowid DESC LIMIT -1 OFFSET ?"
                base.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", (MOST_VECTORS,))
        except (sqlite3.Error, OSError) as error:
            _log.warning("vectors are not kept: %s", error)

    def _open(self) -> sqlite3.Connection:
        base = sqlite3.connect(self._path, timeout=5)
        base.execute(
            "CREATE TABLE IF NOT EXISTS vectors (model TEXT, digest TEXT, vector BLOB, UNIQUE (model, digest))"
        )
        return base
