"""The variables of kernels, reported while the panel is open, and how the last run changed them.

A kernel is asked when it has become idle, before anything else is run in it, and never while it is busy. Nothing waits
for its answer. While the panel is closed nothing is asked, so that it costs nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from oi_tui.app.engine.core.events import AnyEvent, KernelChanged
from oi_tui.app.engine.core.kernel_looks import (
    AnyLookVerb,
    CompleteCode,
    Inspect,
    NamesFound,
    Peek,
    ReadFrame,
    VariableSeen,
    VariablesFound,
    WatchWidgets,
)
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.core.variable import CodeName, Telling
from oi_tui.app.engine.kernels.base import Kernel, KernelSource
from oi_tui.app.engine.kernels.inspection import CodeNames, Listing, NameSource, VariableDetail
from oi_tui.app.engine.session.frame_reader import FrameReader, askable_kernel
from oi_tui.app.engine.session.widget_desk import WidgetDesk

Said = TypeVar("Said")

_log = logging.getLogger(__name__)

DEFAULT: Language = "python"
"""The kernel to list before anything has run."""

NOT_ASKED: frozenset[Language] = frozenset({"shell"})
"""What has no variables to speak of; after a run of it those of the kernel before are still the ones to see."""


class Difference(NamedTuple):
    """The changes of one run, by name."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class ListingHistory(msgspec.Struct):
    """Listings of one process, by how many runs there were before; those of the last two are kept."""

    generation: int
    runs: int = 0
    asked: int = -1
    """Number of the last requested listing."""
    listings: dict[int, Listing] = msgspec.field(default_factory=dict)

    def write(self, number: int, listing: Listing) -> None:
        """The variables after this many runs."""
        self.listings[number] = listing
        for old in [old for old in self.listings if old < self.runs - 1]:
            del self.listings[old]

    def names_before(self, number: int) -> tuple[str, ...]:
        """The names before the last of this many runs, as far as known."""
        before = self.listings.get(number - 1)
        return tuple(row.name for row in before.variables) if before is not None else ()


TellListings = Callable[[Listing | None, Listing | None], None]
"""Called with the variables before the last run and now, None where they are unknown."""


class VariableInspector:
    """Asks kernels and tells what they answer."""

    def __init__(self, kernels: KernelSource, tell: Callable[[Reply], None]) -> None:
        self._kernels = kernels
        self._tell = tell
        self._on = False
        self._language = DEFAULT
        """Of the kernel that ran last."""
        self._books: dict[Language, ListingHistory] = {}
        self._wanting: list[TellListings] = []
        """Who waits for the next listing."""
        self._asking: set[asyncio.Future[Any]] = set()
        self._frames = FrameReader(kernels, tell, self._ask)
        self.widgets = WidgetDesk(kernels, tell)

    def tasks(self) -> list[asyncio.Future[Any]]:
        """Running tasks, to be awaited when the session closes."""
        return list(self._asking)

    def follow_verb(self, verb: AnyLookVerb) -> None:
        """Do what a front end asks for."""
        match verb:
            case Inspect():
                self.watch(verb.on)
            case Peek():
                self.peek(verb.name)
            case CompleteCode():
                self.complete(verb)
            case ReadFrame():
                self._frames.read(verb)
            case WatchWidgets():
                self.widgets.watch(verb)

    def watch(self, on: bool) -> None:
        """Somebody looks from now on, or nobody any more."""
        self._on = on
        if on:
            self._look()

    def follow(self, event: AnyEvent) -> None:
        """Events of the session, which says that a kernel is idle after every run, before it runs something else."""
        if not isinstance(event, KernelChanged) or event.language in NOT_ASKED:
            return
        self._frames.follow(event)
        self.widgets.follow(event)
        match event.state:
            case "busy":
                self._language = event.language
                self._book(event.generation).runs += 1
            case "idle" | "dead" | "cold" if self._on and event.language == self._language:
                self._look()
            case _:
                pass

    def compare(self, language: Language, tell: TellListings) -> None:
        """Compare the variables before and after the last run, reported as soon as the kernel answers, also while the
        panel is closed."""
        if language != self._language:
            tell(None, None)
            return
        self._wanting.append(tell)
        if not self._on:  # else it is asked already
            self._look()

    def peek(self, name: str) -> None:
        """A longer look at one of the variables listed last."""
        language, kernel = self._language, self._kernel()
        told = partial(VariableSeen, language=language, name=name)
        asked = askable_kernel(kernel)
        if isinstance(asked, str):
            self._tell(told(telling=asked))
            return

        def tell(seen: VariableDetail | None) -> None:
            if seen is None:
                self._tell(told(telling="silent"))
            else:
                telling: Telling = "gone" if seen.text is None else "told"
                self._tell(told(telling=telling, text=seen.text or "", table=seen.table))

        self._ask(asked.peek(name), tell)

    def complete(self, verb: CompleteCode) -> None:
        """Complete a name in Python code, whatever ran last."""
        kernel = next((one for one in self._kernels.started_kernels() if one.language == DEFAULT), None)
        told = partial(NamesFound, request_id=verb.request_id)
        asked = askable_kernel(kernel)
        if isinstance(asked, str):
            self._tell(told(telling=asked))
            return
        if not isinstance(asked, NameSource):
            self._tell(told(telling="silent"))
            return

        def tell(found: CodeNames | None) -> None:
            if found is None:
                self._tell(told(telling="silent"))
            else:
                names = tuple(CodeName(name=row.name, kind=row.kind) for row in found.names)
                self._tell(told(start=found.start, names=names))

        self._ask(asked.names(verb.source, verb.place), tell)

    # -- asking -------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Ask at once and report the answer; of two requests at once only the newer one is reported."""
        language, kernel = self._language, self._kernel()
        asked = askable_kernel(kernel)
        if isinstance(asked, str):
            self._say(None, None)
            if self._on:
                self._tell(VariablesFound(language=language, telling=asked))
            return
        assert kernel is not None
        book = self._book(kernel.generation)
        number, again = book.runs, book.runs == book.asked
        book.asked = number

        def tell(listing: Listing | None) -> None:
            if listing is not None:
                book.write(number, listing)
            self._say(book.listings.get(number - 1), listing)
            if not self._on or book is not self._books.get(language) or number != book.asked:
                return
            if listing is None:
                self._tell(VariablesFound(language=language, telling="silent"))
            else:
                self._tell(_make_reply(language, listing, book.listings.get(number - 1)))

        self._ask(asked.variables(book.names_before(number), again=again), tell)

    def _say(self, before: Listing | None, now: Listing | None) -> None:
        wanting, self._wanting = self._wanting, []
        for tell in wanting:
            tell(before, now)

    def _ask(self, question: Awaitable[Said | None], tell: Callable[[Said | None], None]) -> None:
        """Ask the kernel in a task: nothing else waits for the answer."""

        def finish(asking: asyncio.Future[Said | None]) -> None:
            self._asking.discard(asking)
            if asking.cancelled():
                return
            if (error := asking.exception()) is not None:
                _log.error("looking at variables failed", exc_info=error)
            tell(None if error is not None else asking.result())

        asking = asyncio.ensure_future(question)
        self._asking.add(asking)
        asking.add_done_callback(finish)

    def _kernel(self) -> Kernel | None:
        return next((kernel for kernel in self._kernels.started_kernels() if kernel.language == self._language), None)

    def _book(self, generation: int) -> ListingHistory:
        """The notes about the kernel that ran last; a fresh process has fresh ones."""
        book = self._books.get(self._language)
        if book is None or book.generation != generation:
            book = self._books[self._language] = ListingHistory(generation)
        return book


def run_difference(before: Listing | None, now: Listing) -> Difference:
    """The changes between two listings, as far as both have them."""
    if before is None:
        return Difference()
    marks = {row.name: row.mark for row in before.variables}
    there = {row.name: row.mark for row in now.variables}
    unknown = [name for name in there if name not in marks]
    if before.cut:  # it may have been there and not been listed
        unknown = [name for name in unknown if name in (now.new or ())]
    return Difference(
        added=tuple(unknown),
        changed=tuple(name for name, mark in there.items() if marks.get(name, mark) != mark),
        removed=tuple(name for name in marks if name in now.gone and name not in there),
    )


def _make_reply(language: Language, now: Listing, before: Listing | None) -> VariablesFound:
    told = run_difference(before, now)
    return VariablesFound(
        language=language,
        variables=tuple(row.variable for row in now.variables),
        added=told.added,
        changed=told.changed,
        removed=told.removed,
        cut=now.cut,
    )
