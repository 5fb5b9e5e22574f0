"""The store with 10,000 sessions and 500,000 messages: how soon a search answers, the list stands, a session is read.

Words are drawn as they are in texts: few of them often, most of them seldom. The folder of the database can be kept
with `SESSIONS_BENCH=FOLDER`; without it, it is built anew, which takes a minute or two.
"""

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from figures import Budget, judge, spread, table

from oi_tui.app.engine.events import AnyEvent
from oi_tui.app.engine.store import Store
from support.sessions import code, fold, printed, prose, turn

SESSIONS, TURNS = 10_000, 10
"""Of five messages each: prompt, answer, code, output, answer."""

BLOCKS = 10_000
"""Of the long session: prompt, answer, code, answer."""

QUERIES = 300
VOCABULARY = 30_000
SEARCH_BUDGET, LIST_BUDGET, OPEN_BUDGET = 0.050, 0.100, 0.300
SYLLABLES = [a + b for a in "bdfghklmnprstvz" for b in "aeiou"]


class Words:
    """Texts of made words, the same at every start."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        lengths = [self._random.choice((2, 2, 3, 3, 4)) for _ in range(VOCABULARY)]
        self.known = ["".join(self._random.choices(SYLLABLES, k=length)) for length in lengths]
        weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
        self._all = self._random.choices(self.known, weights, k=1_000_000)

    def text(self, least: int, most: int) -> str:
        """So many words."""
        start = self._random.randrange(len(self._all) - most)
        return " ".join(self._all[start : start + self._random.randint(least, most)])

    def query(self) -> str:
        """One or two words as they are typed, half of them not to their end: often used ones and rare ones."""
        words = self.text(1, 2) if self._random.random() < 0.5 else self._random.choice(self.known)
        return words if self._random.random() < 0.5 else words[: -self._random.randint(1, 2)]


def one_turn(words: Words, name: str) -> list[AnyEvent]:
    """A prompt, an answer in four pieces, code with its output, and another answer."""
    answer = [words.text(10, 20) + " " for _ in range(4)]
    source = f"{words.text(1, 1)} = read({words.text(1, 1)!r})\nprint({words.text(1, 1)})\n"
    return turn(
        name,
        words.text(3, 20),
        prose(f"{name}a", *answer),
        code(f"{name}c", source, printed(words.text(5, 60) + "\n")),
        prose(f"{name}b", words.text(10, 40)),
    )


def build(path: Path, words: Words) -> float:
    """The database; seconds that it took."""
    start = perf_counter()
    with closing(Store(path)) as store:
        for number in range(SESSIONS):
            name = f"{number:012x}"
            store.create(name, float(number), f"/work/{number % 40}")
            store.append(name, [event for n in range(TURNS) for event in one_turn(words, f"t{n}")])
            store.entitle(name, words.text(3, 8))
        store.create("long", 1.0, "/work")
        for number in range(BLOCKS // 4):
            store.append("long", one_turn(words, f"t{number}"))
    return perf_counter() - start


def timed(work: Callable[[], object], times: int = 1) -> list[float]:
    """Seconds of each."""
    seconds = []
    for _ in range(times):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return seconds


@contextmanager
def folder() -> Iterator[Path]:
    """Where the database is kept, or for this run only."""
    if kept := os.environ.get("SESSIONS_BENCH"):
        yield Path(kept)
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def main() -> None:
    """Print the tables."""
    words = Words()
    with folder() as where:
        path = where / "sessions.db"
        built = build(path, words) if not path.exists() else 0.0
        size = path.stat().st_size
        with closing(Store(path)) as store:
            measure(store, words, built, size)


def measure(store: Store, words: Words, built: float, size: int) -> None:
    """What a person waits for."""
    opened = timed(lambda: Store(store.path).close(), 5)
    queries = [words.query() for _ in range(QUERIES)]
    searched = [timed(lambda query=query: store.search(query))[0] for query in queries]
    frequent = [timed(lambda query=query: store.search(query))[0] for query in frequent_queries(words)]
    listed = timed(lambda: store.sessions(limit=200), 20)
    everything = timed(lambda: store.sessions(), 3)
    loaded = timed(lambda: store.load("long"), 5)
    events = store.load("long")
    folded = timed(lambda: fold(events), 5)
    name = f"{SESSIONS // 2:012x}"
    appended = timed(lambda: store.append(name, one_turn(words, "more")), 200)
    messages = SESSIONS * TURNS * 5
    print("## Sessions\n")
    print(f"{SESSIONS:,} sessions with {messages:,} messages, {size / 1e6:,.0f} MB; built in {built:.0f} s.\n")
    rows = [
        ("open the store", *spread(opened)),
        (f"search, {QUERIES} queries", *spread(searched)),
        ("search, the most frequent words and beginnings of words", *spread(frequent)),
        ("list of the newest 200", *spread(listed)),
        (f"list of all {SESSIONS:,}", *spread(everything)),
        (f"read a session of {BLOCKS:,} blocks, {len(events):,} events", *spread(loaded)),
        ("fold it", *spread(folded)),
        ("append a turn of 5 messages, on the disk", *spread(appended)),
    ]
    print(table(("", "p50, ms", "p90", "p99", "max"), rows))
    p95 = sorted(searched)[int(len(searched) * 0.95)]
    listing, reading = sorted(listed)[len(listed) // 2], sorted(loaded)[len(loaded) // 2]
    judge(
        Budget("search in 500,000 messages, 95th", "< 50 ms", f"{p95 * 1000:.1f} ms", p95 < SEARCH_BUDGET),
        Budget("list of 200 sessions of 10,000", "< 100 ms", f"{listing * 1000:.1f} ms", listing < LIST_BUDGET),
        Budget("10,000 blocks read", "< 300 ms", f"{reading * 1000:.0f} ms", reading < OPEN_BUDGET),
    )


def frequent_queries(words: Words) -> list[str]:
    """What costs most: words that stand everywhere, two of them, and the first letters that most words share."""
    ten = words.known[:10]
    return [*ten, *(f"{one} {other}" for one, other in pairwise(ten)), *SYLLABLES[:10], "b"]


if __name__ == "__main__":
    main()
