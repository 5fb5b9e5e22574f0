"""The fold: events in, blocks out. Live, resumed and replayed sessions go through the same lines.

`Transcript.apply` changes the transcript and says which block changed, so that a view need not compare.
Nothing here waits, reads a clock or touches a file: the same events always give an equal transcript.
Text of a stream is joined when somebody looks: a piece costs its own length, however much is there.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import TypeVar, assert_never

import msgspec

from oi_tui.app.engine.core.blocks import (
    Action,
    ActionBlock,
    Block,
    CallBlock,
    CodeBlock,
    ProseBlock,
    ThoughtBlock,
    UserBlock,
)
from oi_tui.app.engine.core.endings import Cause
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CallFinished,
    CallGrew,
    CallStarted,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    ContextCompacted,
    ContextMarked,
    ConversationCleared,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    FilesWritten,
    InputAnswered,
    InputRequested,
    InstructionsChanged,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
    PlanChanged,
    ProgressReported,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    RerunFinished,
    RerunStarted,
    RetryScheduled,
    RunTraced,
    SecretsWithheld,
    SessionOpened,
    SettingsChanged,
    StepStarted,
    SummaryChanged,
    SummaryEnded,
    SummaryStarted,
    ThoughtFinished,
    ThoughtGrew,
    ThoughtRecognised,
    ThoughtsSealed,
    ThoughtStarted,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.core.outcomes import StopReason
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput, joinable_output
from oi_tui.app.engine.core.plan import SessionPlan
from oi_tui.app.engine.core.usage import Usage
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.transcript.action_changes import (
    begin_call,
    begin_code,
    begin_run,
    remaining_question,
    with_decision,
    with_display,
    with_end,
    with_more_text,
    with_source,
    with_tail,
)
from oi_tui.app.engine.transcript.block_list import BlockList
from oi_tui.app.engine.transcript.block_places import BlockPlaces
from oi_tui.app.engine.transcript.open_blocks import cause_of, settle_block
from oi_tui.app.engine.transcript.plan_changes import plan_after
from oi_tui.app.engine.transcript.text_changes import as_thought, block_from, count_thought, with_mark, with_text_end

Kind = TypeVar("Kind", CodeBlock, CallBlock)


class _Stray(Exception):
    """An event for a block that does not exist, or is of another kind."""


class Transcript:
    """The blocks of a session and its running totals."""

    def __init__(self, blocks: BlockList | None = None) -> None:
        self._blocks: list[Block] | BlockList = [] if blocks is None else blocks
        self._growing: dict[str, dict[int, list[str]]] = {}
        """By block and number of the output: pieces that are still to be joined to it."""
        self.usage = Usage()
        self.model = self.api_base = self.session_id = self.cwd = ""
        self.context_window: int | None = None
        self.approval: ApprovalMode = "ask"
        self.max_cost, self.max_tokens = 0.0, 0
        self.ended: StopReason | None = None
        """How the last turn ended, None while one is open and where none was."""
        self.instructions: str | None = None
        """The person's own of this session, None those of the settings."""
        self.turn_open = self.complete = self.summarises = False
        self.step, self.plan = 0, SessionPlan()
        self.pending_decision: DecisionRequested | None = None
        self.pending_input: InputRequested | None = None
        self._index = BlockPlaces(self._blocks)
        self._displays: dict[str, set[int]] = {}
        self.foreign: set[str] = set()
        """Ids of actions that ran elsewhere and came here in a file: nobody here ever let them run."""
        self._approved: set[str] = set()
        """Ids of actions that may run and are not over."""
        self.strays = 0
        """Events that changed nothing, because their block is not there."""
        self._settled = 0
        """This many of the first blocks have not changed since all were settled: a session is resumed many times."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transcript):
            return NotImplemented
        compared = attrgetter("blocks", "usage", "model", "approval", "turn_open")
        return bool(compared(self) == compared(other))

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by content

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, in order. Do not modify the result."""
        for block_id in tuple(self._growing):
            self._join(block_id)
        return self._blocks

    def pack(self) -> None:
        """Compress older blocks, where they are in a `BlockList`."""
        if isinstance(blocks := self.blocks, BlockList):
            self._settled = max(self._settled, blocks.pack())

    def block(self, block_id: str) -> Block:
        """The block of this id; KeyError if there is none."""
        self._join(block_id)
        return self._blocks[self._index[block_id]]

    def has(self, block_id: str) -> bool:
        """Whether there is a block of this id."""
        return self._index.find(block_id) >= 0

    def position(self, block_id: str) -> int:
        """Index in `blocks`; KeyError if there is none."""
        return self._index[block_id]

    def apply(self, event: AnyEvent) -> tuple[int, ...]:
        """Fold one event in; returns the indices of the blocks that are new or changed.

        An event for an unknown block changes nothing: two programs may have written one log.
        """
        try:
            return self._fold(event)
        except _Stray:
            self.strays += 1
            return ()

    def _fold(self, event: AnyEvent) -> tuple[int, ...]:
        match event:
            case SessionOpened():
                self.session_id, self.cwd, self.model = event.session_id, event.cwd, event.model
                self.approval = event.approval
                return self.close("program") if event.resumed else ()
            case TurnStarted():
                self.turn_open, self.ended = True, None
                return self._add(block_from(event))
            case TurnEnded():
                self.ended = event.reason
                busy = self.pending_decision is not None or bool(self._approved)
                return self._settle(cause_of(event, busy=busy))
            case StepStarted():
                self.step, self.ended, self.plan = self.step + 1, None, plan_after(event, self.plan)
                return ()
            case UsageReported():
                self.usage = self.usage.plus(event)
                counted = count_thought(self._blocks, self.step, event.thought_tokens)
                return () if counted is None else self._set(counted)
            case ProseStarted():
                return self._add(ProseBlock(id=event.block_id, step=self.step))
            case ThoughtStarted():
                return self._add(ThoughtBlock(id=event.block_id, step=self.step))
            case ProseGrew() | ThoughtGrew():
                block = self._text_block(event.block_id)
                return self._set(msgspec.structs.replace(block, text=block.text + event.text))
            case ProseFinished() | ThoughtFinished():
                return self._set(with_text_end(self._text_block(event.block_id), event))
            case ThoughtRecognised():
                proses = [block for name in event.block_ids if isinstance(block := self._text_block(name), ProseBlock)]
                return tuple(index for prose in proses for index in self._set(as_thought(prose)))
            case CodeStarted():
                return self._add(begin_code(event, self.step))
            case CallStarted():
                return self._add(begin_call(event, self.step))
            case CodeGrew() | CallGrew():
                action = self._action(event.block_id)
                return self._set(msgspec.structs.replace(action, source=action.source + event.text))
            case CodeFinished():
                return self._set(with_source(self._find(event.block_id, CodeBlock), event))
            case CallFinished():
                return self._set(with_source(self._find(event.block_id, CallBlock), event))
            case DecisionRequested():
                waiting = msgspec.structs.replace(self._action(event.block_id), state="waiting")
                self.pending_decision = event
                return self._set(waiting)
            case DecisionMade():
                self.pending_decision = remaining_question(self.pending_decision, event.block_id)
                return self._decide(event)
            case ExecutionStarted():
                if event.generation == 0:
                    self.foreign.add(event.block_id)
                return self._set(begin_run(self._action(event.block_id), event))
            case ActiveLineChanged():
                return self._set(msgspec.structs.replace(self._find(event.block_id, CodeBlock), active_line=event.line))
            case ProgressReported():
                call = self._find(event.block_id, CallBlock)
                return self._set(msgspec.structs.replace(call, progress=event.progress))
            case OutputAdded():
                return self._add_output(event)
            case OutputUpdated():
                return self._update_display(event)
            case OutputsCleared():
                return self._set(msgspec.structs.replace(self._action(event.block_id), outputs=(), whole=None))
            case OutputTailMoved():
                return self._set(with_tail(self._action(event.block_id), event))
            case OutputKept():
                return self._set(msgspec.structs.replace(self._action(event.block_id), whole=event.whole))
            case OutputDropped():
                action = self._action(event.block_id)
                return self._set(msgspec.structs.replace(action, dropped=action.dropped + event.characters))
            case InputRequested():
                asking = msgspec.structs.replace(self._action(event.block_id), asked=True)
                self.pending_input = event
                return self._set(asking)
            case InputAnswered():
                self.pending_input = remaining_question(self.pending_input, event.block_id)
                return ()
            case ExecutionFinished():
                self.pending_input = remaining_question(self.pending_input, event.block_id)
                self._approved.discard(event.block_id)
                return self._set(with_end(self._action(event.block_id), event))
            case FilesWritten():
                return self._set(msgspec.structs.replace(self._action(event.block_id), written=event.written))
            case SecretsWithheld() | RunTraced() if not self.has(event.block_id):
                return ()
            case SecretsWithheld() | ContextMarked() | RunTraced() | SummaryChanged() | ThoughtsSealed():
                return self._set(with_mark(self._block(event.block_id), event))
            case RerunStarted():
                return self._set(msgspec.structs.replace(self._find(event.block_id, CodeBlock), rerun="running"))
            case RerunFinished():
                self.pending_input = None
                return self._set(msgspec.structs.replace(self._find(event.block_id, CodeBlock), rerun=event.outcome))
            case SettingsChanged():
                self.model, self.approval = event.model, event.approval
                self.context_window, self.api_base = event.context_window, event.api_base
                self.max_cost, self.max_tokens, self.complete = event.max_cost, event.max_tokens, event.complete
                return ()
            case InstructionsChanged():
                self.instructions = event.text
                return ()
            case NoticeAdded() | ContextCompacted():
                self.plan = plan_after(event, self.plan)
                return self._add(block_from(event))
            case ConversationCleared():
                self._blocks, self._displays, self._growing = type(self._blocks)(), {}, {}
                self._index, self.foreign, self._approved = BlockPlaces(self._blocks), set(), set()
                self.step, self._settled, self.plan = 0, 0, plan_after(event, self.plan)
                self.usage = msgspec.structs.replace(self.usage, last_input_tokens=0)  # the tokens are spent either way
                self.pending_decision = self.pending_input = None
                return ()
            case SummaryStarted() | SummaryEnded():
                self.summarises = isinstance(event, SummaryStarted)
                return ()
            case PlanChanged() | RetryScheduled() | KernelChanged():
                self.plan = plan_after(event, self.plan)
                return ()
            case _:
                assert_never(event)

    # -- one block ---------------------------------------------------------------------------------

    def _add(self, block: Block) -> tuple[int, ...]:
        self._join(block.id)  # of another one with this id
        self._index.add(block.id)
        self._blocks.append(block)
        return (len(self._blocks) - 1,)

    def _set(self, block: Block) -> tuple[int, ...]:
        index = self._index[block.id]
        self._blocks[index] = block
        self._settled = min(self._settled, index)
        return (index,)

    def _text_block(self, block_id: str) -> ProseBlock | ThoughtBlock:
        block = self._block(block_id)
        if not isinstance(block, ProseBlock | ThoughtBlock):
            raise _Stray
        return block

    def _action(self, block_id: str) -> ActionBlock:
        block = self._block(block_id)
        if not isinstance(block, Action):
            raise _Stray
        return block

    def _find(self, block_id: str, kind: type[Kind]) -> Kind:
        block = self._block(block_id)
        if not isinstance(block, kind):
            raise _Stray
        return block

    def _block(self, block_id: str) -> Block:
        try:
            return self.block(block_id)
        except KeyError:
            raise _Stray from None

    # -- rules that take more than a line ------------------------------------------------------------

    def _decide(self, event: DecisionMade) -> tuple[int, ...]:
        decided = with_decision(self._action(event.block_id), event)
        if decided.state != "refused":
            self._approved.add(event.block_id)
        return self._set(decided)

    def _add_output(self, event: OutputAdded) -> tuple[int, ...]:
        index, output = self._index.find(event.block_id), event.output
        action = self._blocks[index] if index >= 0 else None  # its text is not joined now
        if not isinstance(action, Action):
            raise _Stray
        if isinstance(output, StreamOutput) and (place := joinable_output(action.outputs, output.name)) is not None:
            self._growing.setdefault(event.block_id, {}).setdefault(place, []).append(output.text)
            return (index,)
        if isinstance(output, RichOutput) and output.display_id is not None:
            self._displays.setdefault(output.display_id, set()).add(index)
        return self._set(msgspec.structs.replace(action, outputs=(*action.outputs, output)))

    def _join(self, block_id: str) -> None:
        """Append the pieces of text that came since the last look."""
        if (growing := self._growing.pop(block_id, None)) is not None:
            self._set(with_more_text(self._action(block_id), growing))

    def _update_display(self, event: OutputUpdated) -> tuple[int, ...]:
        changed: list[int] = []
        for index in sorted(self._displays.get(event.display_id, ())):
            block = self._blocks[index]
            assert isinstance(block, Action)
            self._blocks[index] = with_display(block, event)
            changed.append(index)
        return tuple(changed)

    def close(self, cause: Cause) -> tuple[int, ...]:
        """Close everything that is half open: for when the session is opened again."""
        return self._settle(cause, everywhere=True)

    def _settle(self, cause: Cause, *, everywhere: bool = False) -> tuple[int, ...]:
        """Close everything that is half open when a turn ends, and (`everywhere`) in a session that is opened again."""
        self.turn_open = self.summarises = False
        self.pending_decision = self.pending_input = None
        changed: list[int] = []
        blocks = self.blocks
        for index in range(len(blocks) - 1, self._settled - 1, -1):
            block = blocks[index]
            if isinstance(block, UserBlock) and not everywhere:
                break
            closed = settle_block(block, cause, self._approved)
            if everywhere and isinstance(closed, CodeBlock) and (closed.rerun or closed.inputs):
                closed = msgspec.structs.replace(closed, rerun="", inputs=())  # another kernel from here on
            if closed is not block:
                self._blocks[index] = closed
                changed.append(index)
        self._approved.clear()
        if everywhere:
            self._settled = len(blocks)
        return tuple(reversed(changed))
