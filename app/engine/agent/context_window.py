"""The part of a conversation that a request sends: as much as fits the model's context, counted beforehand.

Counts are estimates until a server has counted a request; from then on its counts correct them. What a model takes is
what is known of it, or what its server said when it refused a request.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from oi_tui.app.engine.agent.compaction import Compactor
from oi_tui.app.engine.agent.context_plan import ContextPlan, answer_reserve, plan_context
from oi_tui.app.engine.agent.conversation import Conversation, MessageGroup, count_messages, count_tools
from oi_tui.app.engine.agent.halt import Halt
from oi_tui.app.engine.agent.session_choices import SessionChoices
from oi_tui.app.engine.core.blocks import Action, Block, ProseBlock, SummaryBlock, UserBlock
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, Model, ToolSpec
from oi_tui.app.engine.core.context_use import ContextPart, ContextRow, ContextState, ContextUse
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.events import ContextMarked, Emit, NoticeAdded, SummaryChanged
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.instructions import InstructionPart, instructions_message
from oi_tui.app.engine.core.protocol import ContextFound
from oi_tui.app.engine.core.verbs import ChangeSummary, ContextVerb, MarkContext, ReadContext
from oi_tui.app.engine.text.tokens import estimate_tokens
from oi_tui.app.engine.text.words import one_line, quantity
from oi_tui.app.engine.transcript.transcript import Transcript

ROUNDS = 3
"""Summaries before one request, at most."""

ROWS = 200
"""Blocks that are listed one by one, the largest ones."""

TITLE = 80
"""Characters of a block's description in a row."""

SMALL = 1_000
"""Tokens up to which what a server counts more is what it adds to each request, whatever its length."""

GUESS = 0.75
"""The share of a refused request that is tried where the server did not say what it takes."""


class TokenScale:
    """Converts estimates to the counts of one model's server: `counted = extra + factor * estimate`."""

    def __init__(self) -> None:
        self.factor, self.extra = 1.0, 0

    def learn(self, estimate: int, counted: int) -> None:
        """A request of this estimate was counted. It falls slowly and rises at once."""
        if estimate <= 0 or counted <= 0:
            return
        if estimate < SMALL:
            self.extra = max(0, min(SMALL, counted - estimate))
            return
        factor = min(4.0, max(0.25, (counted - self.extra) / estimate))
        self.factor = factor if factor > self.factor else (self.factor + factor) / 2

    def count(self, estimate: int) -> int:
        """The server's count for an estimate."""
        return round(self.extra + self.factor * estimate)

    def estimate(self, counted: int) -> int:
        """The estimate for a server's count."""
        return int((counted - self.extra) / self.factor)


class BuiltContext(NamedTuple):
    """One request, and how it came about."""

    groups: Sequence[MessageGroup]
    plan: ContextPlan
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...]
    parts: Mapping[str, int]
    """Tokens of what is no part of the conversation, by name."""
    room: int | None
    """Tokens for the conversation; None where nothing is known."""


class ContextWindow:
    """Builds the requests of one session so that they fit."""

    def __init__(
        self,
        transcript: Transcript,
        conversation: Conversation,
        choices: SessionChoices,
        compactor: Compactor,
        halt: Halt,
        emit: Emit,
        *,
        instructions: Callable[[], Sequence[InstructionPart]],
        tools: Callable[[bool], tuple[ToolSpec, ...]],
    ) -> None:
        """`tools` gives what is offered, with what reads what was left out or without."""
        self._transcript, self._conversation = transcript, conversation
        self._choices, self._compactor = choices, compactor
        self._halt, self._emit = halt, emit
        self._instructions, self._tools = instructions, tools
        self._scales: dict[str, TokenScale] = {}
        """By model."""
        self._short: frozenset[int] = frozenset()
        self._told_short: frozenset[int] = frozenset()
        """What the person knows to be shortened."""
        self._sent = 0
        """Tokens of the last request, of the estimate."""
        self._building = asyncio.Lock()
        self._telling: asyncio.Task[None] | None = None

    async def request(self, model: Model) -> ChatRequest | None:
        """The next request; None if the person stopped the turn meanwhile. TurnStopped like a request."""
        for attempt in range(ROUNDS + 1):
            final = attempt == ROUNDS
            if (built := await self._halt.result(partial(self._prepare, model, final=final))) is None:
                return None
            plan = built.plan
            if not plan.cover:
                self._tell_shortened(plan)
                self._sent = sum(built.parts.values()) + plan.tokens
                return ChatRequest(messages=built.messages, tools=built.tools)
            covered = built.groups[plan.first : plan.cover]
            await self._compactor.compact(covered, plan.summary, model, self._chunk(model))
        raise AssertionError("the last plan covers nothing more")

    async def compact(self, model: Model, focus: str) -> None:
        """Summarise all but the last turn, or all if there is no other."""
        built = await self._prepare(model)
        groups, first = built.groups, built.plan.first
        prompts = [index for index, group in enumerate(groups) if group.is_prompt]
        end = next((index for index in reversed(prompts) if index > first), len(groups))
        wanted = groups[first:end]
        if not any(group.tokens for group in wanted):
            self._say("There is nothing to summarise yet.", "The last turn always goes to the model as it is.")
            return
        await self._compactor.compact(wanted, built.plan.summary, model, self._chunk(model), focus)

    def note_counted(self, model: Model, counted: int) -> None:
        """A server counted the request that was built last."""
        self._scale(model).learn(self._sent, counted)

    def note_refusal(self, model: Model, error: ModelError) -> None:
        """The request that was built last was too long."""
        scale = self._scale(model)
        allowed = error.tokens_allowed or round(GUESS * scale.count(self._sent))
        if error.tokens_allowed and scale.count(self._sent) < allowed:
            scale.learn(self._sent, allowed)
        self._choices.learn_window(model.name, allowed)

    def follow(self, verb: ContextVerb, tell: Callable[[ContextFound], None]) -> None:
        """Do what the person wants of a summary or a block, or say what takes the room when that is counted."""
        match verb:
            case ChangeSummary() | MarkContext():
                self.change(verb)
            case ReadContext() if self._telling is None or self._telling.done():
                self._telling = asyncio.create_task(self._tell(tell))
            case _:
                pass

    def change(self, verb: ChangeSummary | MarkContext) -> None:
        """Nothing happens without such a block."""
        block = self._transcript.block(verb.block_id) if self._transcript.has(verb.block_id) else None
        match verb, block:
            case ChangeSummary(), SummaryBlock():
                self._emit(SummaryChanged(block_id=verb.block_id, text=verb.text, used=verb.used))
            case MarkContext(), UserBlock() | ProseBlock() | Action():
                self._emit(ContextMarked(block_id=verb.block_id, mark=verb.mark))
            case _:
                pass

    async def _tell(self, tell: Callable[[ContextFound], None]) -> None:
        tell(ContextFound(context=await self.describe(self._choices.model)))

    async def describe(self, model: Model | None) -> ContextUse:
        """What takes the room, as far as it is known."""
        if model is None:
            return ContextUse()
        built = await self._prepare(model, keep=False)
        scale, window, usage = self._scale(model), self._choices.window, self._transcript.usage
        rows, parts = _rows(built, scale), {name: scale.count(part) - scale.extra for name, part in built.parts.items()}
        told = [ContextPart(name=name, tokens=tokens) for name, tokens in parts.items() if tokens]
        for name, states in _PARTS.items():
            if tokens := sum(row.tokens for row in rows if row.state in states):
                told.append(ContextPart(name=name, tokens=tokens))
        summary = self._conversation.summary_message(built.plan.summary) if built.plan.summary is not None else None
        if summary is not None:
            told.append(ContextPart(name="summary", tokens=round(scale.factor * count_messages([summary]))))
        rows.sort(key=lambda row: row.tokens, reverse=True)
        return ContextUse(
            model=model.name,
            window=window,
            reserve=answer_reserve(window) if window else 0,
            parts=tuple(told),
            rows=tuple(rows[:ROWS]),
            counted=0 if usage.last_estimated else usage.last_input_tokens,
        )

    async def _prepare(self, model: Model, *, final: bool = False, keep: bool = True) -> BuiltContext:
        """The request as it would be now; `keep` what was shortened in it."""
        blocks = tuple(self._transcript.blocks)
        async with self._building:
            # A thread: in a resumed session, every block is searched for secrets, which can take seconds.
            built = await asyncio.to_thread(self._build, blocks, model, final=final)
        if keep:
            self._short = built.plan.short
        return built

    def _build(self, blocks: Sequence[Block], model: Model, *, final: bool) -> BuiltContext:
        self._conversation.insist = self._choices.complete
        groups = self._conversation.groups(blocks, images=model.takes_images)
        summary, first = _summary_in_use(groups)
        said = self._instructions()
        parts = {_part_name(part): 0 for part in said}
        for part in said:
            parts[_part_name(part)] += estimate_tokens(part.text)
        parts["tools"] = count_tools(self._tools(True))
        window, room = self._choices.window, None
        if window:
            room = max(0, self._scale(model).estimate(window - answer_reserve(window)) - sum(parts.values()))
        told = count_messages([self._conversation.summary_message(summary)]) if summary is not None else 0
        plan = partial(
            plan_context, groups, room=room, first=first, summary=summary, summary_tokens=told, short=self._short
        )
        wanted = plan(final=final)
        if wanted.cover and wanted.cover <= wanted.first:
            wanted = plan(final=True)
        messages: tuple[ChatMessage, ...] = ()
        if not wanted.cover:
            messages = self._conversation.assemble(groups, wanted, system=instructions_message(said))
        tools = self._tools(self._conversation.has_cuts(groups, wanted))
        return BuiltContext(tuple(groups), wanted, messages, tools, parts, room)

    def _tell_shortened(self, plan: ContextPlan) -> None:
        new = plan.short - self._told_short
        self._told_short = plan.short
        if new:
            title = f"The context is nearly full: the model reads {quantity(len(new), 'older output')} shortened."
            self._say(title, "Head and tail go to it, and it can ask for the rest. /context shows what takes the room.")

    def _chunk(self, model: Model) -> int | None:
        """Tokens of the estimate that can be summarised at once."""
        window = self._choices.window
        return self._scale(model).estimate(window - answer_reserve(window)) if window else None

    def _scale(self, model: Model) -> TokenScale:
        return self._scales.setdefault(model.name, TokenScale())

    def _say(self, title: str, hint: str) -> None:
        self._emit(NoticeAdded(block_id=new_id(), level="info", title=title, hint=hint))


_PARTS: dict[str, tuple[ContextState, ...]] = {
    "pinned": ("pinned",),
    "conversation": ("whole", "shortened", "left out"),
}


def _part_name(part: InstructionPart) -> str:
    """The name of a part for the person: a file by its name."""
    if part.origin in ("folder", "plugin"):
        return part.name
    return "your instructions" if part.origin == "own" else "instructions"


def _summary_in_use(groups: Sequence[MessageGroup]) -> tuple[SummaryBlock | None, int]:
    """The newest summary that was not undone, and the first group that it does not cover."""
    for number in range(len(groups) - 1, -1, -1):
        block = groups[number].blocks[0]
        if isinstance(block, SummaryBlock) and block.used:
            for index in range(number - 1, -1, -1):
                if groups[index].blocks[-1].id == block.until:
                    return block, index + 1
    return None, 0


def _rows(built: BuiltContext, scale: TokenScale) -> list[ContextRow]:
    """A row for each part of the conversation."""
    found: list[ContextRow] = []
    plan = built.plan
    for index, group in enumerate(built.groups):
        if not group.tokens:
            continue
        goes = index >= plan.first or index in plan.pinned
        short = index in plan.short
        state: ContextState = "pinned" if group.is_pinned else "shortened" if short else "whole"
        if group.is_left_out:
            state = "left out"
        elif not goes:
            state = "summarised"
        tokens = group.short_tokens if short else group.tokens
        found.append(
            ContextRow(
                block_id=group.main_block.id,
                number=group.first + 1,
                title=_title(group.main_block),
                tokens=round(scale.factor * tokens),
                state=state,
            )
        )
    return found


def _title(block: Block) -> str:
    match block:
        case UserBlock() | ProseBlock():
            return one_line(block.text[: 2 * TITLE])[:TITLE]
        case Action():
            return one_line(f"{block.runs_in}: {block.source[: 2 * TITLE]}")[:TITLE]
        case _:
            return ""
