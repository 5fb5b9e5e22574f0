"""The store with 10,000 sessions and 500,000 messages: how soon a search answers, the list stands, a session is read.

Words are drawn as they are in texts: few of them often, most of them seldom. The folder of the database can be kept
with `SESSIONS_BENCH=FOLDER`; without it, it is built anew, which takes some minutes.
"""

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from figures import Budget, judge, share, spread, table

from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.transcript.event_log import fold_events
from support.sessions import code, printed, prose, turn

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


class Times(NamedTuple):
    """Seconds of each go."""

    wall: list[float]
    cpu: list[float]

    @property
    def row(self) -> tuple[str, ...]:
        """As it stands in the table."""
        return (*spread(self.wall), f"{share(self.cpu, 0.5) * 1000:.1f} / {share(self.cpu, 0.95) * 1000:.1f}")


def timed(*works: Callable[[], object], times: int = 1) -> Times:
    """How long each takes."""
    found = Times([], [])
    for work in works * times:
        wall, cpu = perf_counter(), process_time()
        work()
        found.wall.append(perf_counter() - wall)
        found.cpu.append(process_time() - cpu)
    return found


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

    def searches(queries: list[str]) -> list[Callable[[], object]]:
        return [partial(store.search, query) for query in queries]

    opened = timed(lambda: Store(store.path).close(), times=5)
    found = timed(*searches([words.query() for _ in range(QUERIES)]))
    read_through(store.path)
    searched = timed(*searches([words.query() for _ in range(QUERIES)]))
    frequent = timed(*searches(frequent_queries(words)))
    listed = timed(lambda: store.sessions(limit=200), times=20)
    everything = timed(lambda: store.sessions(), times=3)
    loaded = timed(lambda: store.load("long"), times=5)
    events = store.load("long")
    folded = timed(lambda: fold_events(events), times=5)
    name = f"{SESSIONS // 2:012x}"
    appended = timed(lambda: store.append(name, one_turn(words, "more")), times=200)
    messages, took = SESSIONS * TURNS * 5, f"built in {built:.0f} s" if built else "built before"
    print("## Sessions\n")
    print(f"{SESSIONS:,} sessions with {messages:,} messages, {size / 1e6:,.0f} MB; {took}.\n")
    rows = [
        ("open the store", *opened.row),
        (f"search, {QUERIES} queries, of the file what happens to be in memory", *found.row),
        (f"search, {QUERIES} others, the file in memory", *searched.row),
        ("search, the most frequent words and beginnings of words", *frequent.row),
        ("list of the newest 200", *listed.row),
        (f"list of all {SESSIONS:,}", *everything.row),
        (f"read a session of {BLOCKS:,} blocks, {len(events):,} events", *loaded.row),
        ("fold it", *folded.row),
        ("append a turn of 5 messages, on the disk", *appended.row),
    ]
    print(table(("", "p50, ms", "p90", "p99", "max", "CPU p50 / p95, ms"), rows))
    searching, listing, reading = share(searched.wall, 0.95), share(listed.wall, 0.5), share(loaded.wall, 0.5)
    judge(
        Budget("search in 500,000 messages, 95th", "< 50 ms", f"{searching * 1000:.1f} ms", searching < SEARCH_BUDGET),
        Budget("list of 200 sessions of 10,000", "< 100 ms", f"{listing * 1000:.1f} ms", listing < LIST_BUDGET),
        Budget("10,000 blocks read", "< 300 ms", f"{reading * 1000:.0f} ms", reading < OPEN_BUDGET),
    )


def read_through(path: Path) -> None:
    """Have the file in the system's memory: what a search costs is not how fast this disk is."""
    with path.open("rb") as file:
        while file.read(1 << 22):
            pass


def frequent_queries(words: Words) -> list[str]:
    """What costs most: words that stand everywhere, two of them, and the first letters that most words share."""
    ten = words.known[:10]
    return [*ten, *(f"{one} {other}" for one, other in pairwise(ten)), *SYLLABLES[:10], "b"]


if __name__ == "__main__":
    main()
