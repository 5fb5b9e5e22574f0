"""The conversation as chat messages, which the transcript alone decides: what is said of neighbouring blocks, in order.

What goes whole, shortened or not at all is up to `context_plan.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import is_

from oi_tui.app.engine.agent import completion
from oi_tui.app.engine.agent.context_plan import ContextPlan
from oi_tui.app.engine.agent.prompt import RECALL_HINT, Teller
from oi_tui.app.engine.core.blocks import Action, Block, ProseBlock, SummaryBlock, ThoughtBlock, UserBlock
from oi_tui.app.engine.core.chat_model import ChatMessage, ToolCall, ToolSpec
from oi_tui.app.engine.core.encoding import as_json
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.tokens import estimate_tokens

SHORT = 1_200
"""Characters of an output, or of a prompt, of which only head and tail go to the model."""

PICTURE = 1_000
"""Tokens of a picture, about."""


class MessageGroup:
    """The messages of neighbouring blocks: a prompt, or an answer of the model with the results of its code."""

    def __init__(self, blocks: tuple[Block, ...], first: int, redactor: Redactor, limit: int, images: bool) -> None:
        """`first` is the index of its first block, `limit` as in `Conversation`."""
        self.blocks = blocks
        self.first = first
        self.images = images
        self._redactor = redactor
        teller = Teller(redactor, limit, images, first + 1)
        self.whole = tuple(teller.messages(blocks))
        self.withheld: Mapping[str, tuple[str, ...]] = {name: tuple(found) for name, found in teller.withheld.items()}
        """By block: the secrets."""
        self.cuts = teller.cuts
        """Whether something is cut even so."""
        self.tokens = count_messages(self.whole)
        self.is_prompt = isinstance(blocks[0], UserBlock)
        marks = [block.mark for block in blocks if isinstance(block, UserBlock | ProseBlock | Action)]
        self.is_pinned = "pinned" in marks
        self.is_left_out = bool(marks) and set(marks) == {"left out"}
        self._short: tuple[ChatMessage, ...] | None = None
        self._short_tokens = 0

    @property
    def main_block(self) -> Block:
        """The one that people know it by: its code, if there is some."""
        return next((block for block in self.blocks if isinstance(block, Action)), self.blocks[-1])

    def is_of(self, blocks: tuple[Block, ...], first: int, *, images: bool) -> bool:
        """Whether these are the same blocks at the same places."""
        same = len(blocks) == len(self.blocks) and all(map(is_, blocks, self.blocks))
        return same and (first, images) == (self.first, self.images)

    @property
    def short(self) -> tuple[ChatMessage, ...]:
        """The same with head and tail of what is long."""
        if self._short is None:
            if self.tokens * 2 < SHORT // 4:
                self._short, self._short_tokens = self.whole, self.tokens
            else:
                teller = Teller(self._redactor, SHORT, False, self.first + 1, short=True)
                self._short = tuple(teller.messages(self.blocks))
                self._short_tokens = count_messages(self._short)
        return self._short

    @property
    def short_tokens(self) -> int:
        """Tokens of `short`, about."""
        return self._short_tokens if self.short else 0


class Conversation:
    """The messages of one session. A block is looked through once, however many requests it is part of."""

    def __init__(self, redactor: Redactor, output_limit: int, *, insist: bool = False) -> None:
        """`output_limit`: characters of one run's output. `insist`: an answer without code is not the end."""
        self._redactor = redactor
        self._limit = output_limit
        self.insist = insist
        self._groups: list[MessageGroup] = []
        self._blocks: Sequence[Block] = ()
        """Of which these are the groups."""

    def groups(self, blocks: Sequence[Block], *, images: bool = False) -> Sequence[MessageGroup]:
        """The messages of each part of the conversation. Do not modify the result."""
        same = 0
        for one, other in zip(blocks, self._blocks, strict=False):
            if one is not other:
                break
            same += 1
        kept, known = self._groups, dict[str, MessageGroup]()
        while kept and (kept[-1].first + len(kept[-1].blocks) >= same or kept[-1].images != images):
            group = kept.pop()  # also the last one that is the same: what follows may belong to it
            known[group.blocks[0].id] = group
        first = kept[-1].first + len(kept[-1].blocks) if kept else 0
        for _, neighbours in groupby(blocks[first:], key=_group):
            part = tuple(neighbours)
            told = known.get(part[0].id)
            if told is None or not told.is_of(part, first, images=images):
                told = MessageGroup(part, first, self._redactor, self._limit, images)
            kept.append(told)
            first += len(part)
        self._blocks = blocks
        return kept

    def messages(self, blocks: Sequence[Block], *, system: str, images: bool = False) -> tuple[ChatMessage, ...]:
        """All messages of a request in which everything goes whole.

        One answer of the model is one assistant message (prose and fenced code, or prose and native calls),
        followed by what its code gave: as tool results for native calls, else as one user message.
        """
        return self.assemble(self.groups(blocks, images=images), ContextPlan(), system=system)

    def assemble(self, groups: Sequence[MessageGroup], plan: ContextPlan, *, system: str) -> tuple[ChatMessage, ...]:
        """The messages of a request that goes by this plan."""
        text = self._redactor.redact(safe_text(system)).text
        if self.has_cuts(groups, plan):
            text += f"\n\n{RECALL_HINT}"
        messages = [ChatMessage(role="system", text=text)]
        if plan.summary is not None:
            messages.append(self.summary_message(plan.summary))
        for index in plan.indices(len(groups)):
            messages += groups[index].short if index in plan.short else groups[index].whole
        return tuple(_with_insistence(_merge(messages)) if self.insist else _merge(messages))

    def summary_message(self, block: SummaryBlock) -> ChatMessage:
        """The message that replaces what it covers."""
        return Teller(self._redactor, self._limit, False).summary(block)

    def has_cuts(self, groups: Sequence[MessageGroup], plan: ContextPlan) -> bool:
        """Whether the model is not sent all there is."""
        return bool(plan.summary or plan.short) or any(group.cuts for group in groups[plan.first :])

    @property
    def withheld_names(self) -> dict[str, tuple[str, ...]]:
        """By block: the names of the secrets that were withheld from the last request."""
        return {block_id: names for group in self._groups for block_id, names in group.withheld.items()}


def count_messages(messages: Iterable[ChatMessage]) -> int:
    """Tokens of messages, about."""
    return sum(
        4 + estimate_tokens(message.text) + PICTURE * len(message.images) + sum(map(_call_tokens, message.calls))
        for message in messages
    )


def count_tools(tools: Iterable[ToolSpec]) -> int:
    """Estimated tokens of the tools' descriptions."""
    return sum(estimate_tokens(as_json(tool).decode()) for tool in tools)


def _call_tokens(call: ToolCall) -> int:
    return 8 + estimate_tokens(call.arguments)


def _group(block: Block) -> tuple[str, int | str]:
    match block:
        case ProseBlock() | ThoughtBlock() | Action(author="assistant", caller=""):
            return ("step", block.step)
        case _:
            return ("single", block.id)


def _merge(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Neighbouring user messages as one: several servers refuse two in a row."""
    waiting: ChatMessage | None = None
    for message in messages:
        if message.role == "assistant" and not message.text and not message.calls:
            continue
        if waiting is not None and waiting.role == message.role == "user":
            waiting = ChatMessage(
                role="user", text=f"{waiting.text}\n\n{message.text}", images=waiting.images + message.images
            )
            continue
        if waiting is not None:
            yield waiting
        waiting = message
    if waiting is not None:
        yield waiting


def _with_insistence(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Add the request to continue that follows each answer which neither ran code nor was answered by the person."""
    last = ""
    for message in messages:
        if last == message.role == "assistant":
            yield ChatMessage(role="user", text=completion.INSIST)
        yield message
        last = message.role
    if last == "assistant":
        yield ChatMessage(role="user", text=completion.INSIST)
