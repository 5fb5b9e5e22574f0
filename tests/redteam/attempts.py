"""What all kinds of attack have in common: attempts by number, each with chances of its own, and a tally of them.

An attempt is made by the seed, the kind and its number alone, so that one that got through is repeated by
`make redteam SEED=... KIND=... ATTEMPT=...`, however fast the machine is.
"""

import random
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

MOST_TOLD = 5
"""Of the attempts of one kind that got through, written down with their reproduction."""

LONGEST_TOLD = 500
"""Characters of one of them."""


class Through(msgspec.Struct, frozen=True):
    """One attempt that did what it must not."""

    attempt: int
    what: str


class Tally(msgspec.Struct):
    """What came of one kind of attack."""

    attempts: int = 0
    got_through: int = 0
    known: int = 0
    """Attempts that came through a hole that has a failing test of its own; not among those that got through."""
    told: list[Through] = []
    note: str = ""
    """What was not tried and why, or how it was bounded."""
    parts: dict[str, int] = {}
    """Attempts by what they were, where that says more than their sum."""


class Order(NamedTuple):
    """What is to be tried."""

    kind: str
    seed: str
    seconds: float
    only: int | None = None
    """The one attempt that is to be repeated."""
    most: int = 10**9
    """Attempts after which it is enough."""


class Attack:
    """One kind at work: deals out numbers until its time is over, and counts."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.tally = Tally(told=[], parts={})
        self._end = time.monotonic() + order.seconds

    @property
    def is_over(self) -> bool:
        """Whether no other attempt is to be begun."""
        return self.tally.attempts >= self.order.most or time.monotonic() > self._end

    def numbers(self) -> Iterator[int]:
        """Numbers of attempts, at least one, each counted."""
        if self.order.only is not None:
            self.tally.attempts += 1
            yield self.order.only
            return
        number = 0
        while not number or not self.is_over:
            self.tally.attempts += 1
            yield number
            number += 1

    def chance(self, number: int) -> random.Random:
        """What decides about this attempt."""
        return random.Random(f"{self.order.seed} {self.order.kind} {number}")

    def count(self, part: str, times: int = 1) -> None:
        """So many were of this part."""
        self.tally.parts[part] = self.tally.parts.get(part, 0) + times

    def through(self, number: int, what: str) -> None:
        """This one did what it must not."""
        self.tally.got_through += 1
        if len(self.tally.told) < MOST_TOLD:
            self.tally.told.append(Through(number, what.encode(errors="backslashreplace").decode()[:LONGEST_TOLD]))
            print(f"THROUGH {self.order.kind} {number}: {self.tally.told[-1].what}", file=sys.stderr, flush=True)
