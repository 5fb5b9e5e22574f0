"""What of a conversation goes to the model when not all of it fits. Pure.

Old outputs are cut to head and tail first, then old turns are covered by a summary. What is pinned and the newest
prompt go in any case. What was shortened once stays so: a server caches the beginning of a request only if it is the
same as before.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from oi_tui.app.engine.core.blocks import SummaryBlock

FULL = 0.9
"""The share of the room at which something is done."""

SHORTENED = 0.6
"""What is aimed at where outputs are shortened."""

COVERED = 0.4
"""What is left of the room by what no summary covers."""

NEWEST = 2
"""Groups at the end that are shortened last: what the model works on."""

WORTH = 0.75
"""A group is shortened if that leaves at most this share of it."""

ANSWER = 8_192
"""Tokens that are kept free for an answer, at most; of small windows a quarter."""


class SizedGroup(Protocol):
    """A part of the conversation that goes as one."""

    @property
    def tokens(self) -> int:
        """Tokens of the whole group."""
        ...

    @property
    def is_prompt(self) -> bool:
        """Whether this is a prompt of the person."""
        ...

    @property
    def is_pinned(self) -> bool:
        """Whether it goes in any case."""
        ...

    @property
    def short_tokens(self) -> int:
        """Tokens of it with head and tail of what is long."""
        ...


class ContextPlan(NamedTuple):
    """The groups that are sent: those from `first` on, and before them the `pinned` ones."""

    first: int = 0
    pinned: tuple[int, ...] = ()
    short: frozenset[int] = frozenset()
    summary: SummaryBlock | None = None
    """The summary of the groups before `first`."""
    tokens: int = 0
    """Of all these groups, in the unit of the estimate."""
    cover: int = 0
    """Up to which group (not included) there has to be a summary before it fits; 0 where it does."""

    def indices(self, count: int) -> Iterator[int]:
        """The groups that go, of so many."""
        yield from self.pinned
        yield from range(self.first, count)


def answer_reserve(window: int) -> int:
    """Tokens of the window that are kept for the answer."""
    return min(ANSWER, window // 4)


def plan_context(
    groups: Sequence[SizedGroup],
    *,
    room: int | None,
    first: int = 0,
    summary: SummaryBlock | None = None,
    summary_tokens: int = 0,
    short: frozenset[int] = frozenset(),
    final: bool = False,
) -> ContextPlan:
    """Choose what fits into this many estimated tokens; None is no limit. The `summary` covers the groups before
    `first`. `short` are those that were shortened before. `final`: there will be no further summary, so whatever is
    long is cut.
    """
    count = len(groups)
    prompt = max((index for index in range(count) if groups[index].is_prompt), default=count)
    pinned = [index for index in range(min(first, count)) if groups[index].is_pinned or index == prompt]
    sent = [*pinned, *range(first, count)]
    cut = {index for index in short if index < count}
    total = summary_tokens + sum(groups[at].short_tokens if at in cut else groups[at].tokens for at in sent)
    if room is None or total <= FULL * room:
        return ContextPlan(first, tuple(pinned), frozenset(cut), summary, total)
    newest = count if final else next(islice((at for at in reversed(sent) if groups[at].tokens), NEWEST - 1, None), 0)
    for index in sent:
        group = groups[index]
        if total <= SHORTENED * room or index >= newest:
            break
        if index not in cut and (final or not (group.is_pinned or group.is_prompt)):
            saved = group.tokens - group.short_tokens
            if group.short_tokens <= WORTH * group.tokens:
                cut.add(index)
                total -= saved
    plan = ContextPlan(first, tuple(pinned), frozenset(cut), summary, total)
    if final or total <= FULL * room:
        return plan
    return plan._replace(cover=_cover(groups, plan, prompt, room))


def _cover(groups: Sequence[SizedGroup], plan: ContextPlan, prompt: int, room: int) -> int:
    """The first group that need not be covered; as few are covered as have to be, and the last one never is."""

    def size(index: int) -> int:
        return groups[index].short_tokens if index in plan.short else groups[index].tokens

    count = len(groups)
    left = sum(size(index) for index in plan.indices(count))
    for index in range(plan.first, count - 1):
        if left <= COVERED * room:
            return index
        if not (groups[index].is_pinned or index == prompt):
            left -= size(index)
    return max(count - 1, plan.first)
