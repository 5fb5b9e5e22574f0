"""The fold: events in, blocks out. Live, resumed and replayed sessions go through the same lines.

`Transcript.apply` changes the transcript and says which block changed, so that a view need not compare.
Nothing here waits, reads a clock or touches a file: the same events always give an equal transcript.
"""

from typing import assert_never

import msgspec

from oi_tui.app.engine.blocks import Block, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.events import (
    ActiveLineChanged,
    AnyEvent,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    ConversationCleared,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputsCleared,
    OutputUpdated,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    RetryScheduled,
    SessionOpened,
    SettingsChanged,
    StepStarted,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.outputs import Output, RichOutput, StreamOutput
from oi_tui.app.engine.values import ApprovalMode, Value


class Usage(Value, frozen=True, kw_only=True):
    """Tokens and money of a session so far."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None as soon as one step had an unknown price."""
    estimated: bool = False
    last_input_tokens: int = 0
    """Input tokens of the latest step: how full the context is."""

    def plus(self, step: UsageReported) -> "Usage":
        """The sum with one more step."""
        known = self.cost is not None and step.cost is not None
        return Usage(
            input_tokens=self.input_tokens + step.input_tokens,
            output_tokens=self.output_tokens + step.output_tokens,
            cost=(self.cost or 0.0) + (step.cost or 0.0) if known else None,
            estimated=self.estimated or step.estimated,
            last_input_tokens=step.input_tokens,
        )


class Transcript:
    """The blocks of a session and its running totals."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.usage = Usage()
        self.model = ""
        self.context_window: int | None = None
        self.api_base = ""
        self.approval: ApprovalMode = "ask"
        self.session_id = ""
        self.cwd = ""
        self.turn_open = False
        self.step = 0
        self.pending_decision: DecisionRequested | None = None
        self.pending_input: InputRequested | None = None
        self._index: dict[str, int] = {}
        self._displays: dict[str, set[int]] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Transcript):
            return NotImplemented
        return (self.blocks, self.usage, self.model, self.approval, self.turn_open) == (
            other.blocks,
            other.usage,
            other.model,
            other.approval,
            other.turn_open,
        )

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by content

    def block(self, block_id: str) -> Block:
        """The block of this id; KeyError if there is none."""
        return self.blocks[self._index[block_id]]

    def position(self, block_id: str) -> int:
        """Index in `blocks`; KeyError if there is none."""
        return self._index[block_id]

    def apply(self, event: AnyEvent) -> tuple[int, ...]:
        """Fold one event in; returns the indices of the blocks that are new or changed."""
        match event:
            case SessionOpened():
                self.session_id, self.cwd = event.session_id, event.cwd
                self.model, self.approval = event.model, event.approval
                return self._settle(everywhere=True) if event.resumed else ()
            case TurnStarted():
                self.turn_open = True
                return self._add(
                    UserBlock(id=event.block_id, text=event.text, files=event.files, context=event.context)
                )
            case ProseStarted():
                return self._add(ProseBlock(id=event.block_id, step=self.step))
            case ProseGrew():
                prose = self._prose(event.block_id)
                return self._set(msgspec.structs.replace(prose, text=prose.text + event.text))
            case ProseFinished():
                prose = self._prose(event.block_id)
                state = "complete" if event.complete else "cut"
                return self._set(msgspec.structs.replace(prose, state=state))
            case CodeStarted():
                return self._add(
                    CodeBlock(
                        id=event.block_id,
                        language=event.language,
                        step=self.step if event.author == "assistant" else 0,
                        author=event.author,
                        call_id=event.call_id,
                    )
                )
            case CodeGrew():
                code = self._code(event.block_id)
                return self._set(msgspec.structs.replace(code, source=code.source + event.text))
            case CodeFinished():
                return self._set(
                    msgspec.structs.replace(
                        self._code(event.block_id),
                        language=event.language,
                        source=event.source,
                        state="proposed" if event.complete else "cut",
                    )
                )
            case UsageReported():
                self.usage = self.usage.plus(event)
                return ()
            case DecisionRequested():
                self.pending_decision = event
                return self._set(msgspec.structs.replace(self._code(event.block_id), state="waiting"))
            case DecisionMade():
                self.pending_decision = None
                return self._decide(event)
            case ExecutionStarted():
                return self._set(msgspec.structs.replace(self._code(event.block_id), state="running"))
            case ActiveLineChanged():
                return self._set(msgspec.structs.replace(self._code(event.block_id), active_line=event.line))
            case OutputAdded():
                return self._add_output(event)
            case OutputUpdated():
                return self._update_display(event)
            case OutputsCleared():
                return self._set(msgspec.structs.replace(self._code(event.block_id), outputs=()))
            case OutputDropped():
                code = self._code(event.block_id)
                return self._set(msgspec.structs.replace(code, dropped=code.dropped + event.characters))
            case InputRequested():
                self.pending_input = event
                return ()
            case InputAnswered():
                self.pending_input = None
                return ()
            case ExecutionFinished():
                self.pending_input = None
                return self._set(
                    msgspec.structs.replace(
                        self._code(event.block_id),
                        state=event.status,
                        duration=event.duration,
                        exit_code=event.exit_code,
                        active_line=None,
                    )
                )
            case SettingsChanged():
                self.model, self.approval = event.model, event.approval
                self.context_window, self.api_base = event.context_window, event.api_base
                return ()
            case NoticeAdded():
                return self._add(
                    NoticeBlock(
                        id=event.block_id,
                        level=event.level,
                        title=event.title,
                        hint=event.hint,
                        details=event.details,
                    )
                )
            case ConversationCleared():
                self.blocks, self._index, self._displays = [], {}, {}
                self.step = 0
                self.usage = Usage()
                self.pending_decision = self.pending_input = None
                return ()
            case TurnEnded():
                return self._settle()
            case StepStarted():
                self.step += 1
                return ()
            case RetryScheduled() | KernelChanged():
                return ()
            case _:
                assert_never(event)

    # -- one block ---------------------------------------------------------------------------------

    def _add(self, block: Block) -> tuple[int, ...]:
        self._index[block.id] = len(self.blocks)
        self.blocks.append(block)
        return (len(self.blocks) - 1,)

    def _set(self, block: Block) -> tuple[int, ...]:
        index = self._index[block.id]
        self.blocks[index] = block
        return (index,)

    def _prose(self, block_id: str) -> ProseBlock:
        block = self.block(block_id)
        assert isinstance(block, ProseBlock), block
        return block

    def _code(self, block_id: str) -> CodeBlock:
        block = self.block(block_id)
        assert isinstance(block, CodeBlock), block
        return block

    # -- rules that take more than a line ------------------------------------------------------------

    def _decide(self, event: DecisionMade) -> tuple[int, ...]:
        code = self._code(event.block_id)
        if event.verdict in ("skip", "stop"):
            return self._set(msgspec.structs.replace(code, state="refused", refusal=event.reason))
        if event.source != code.source:
            original = code.source if code.original is None else code.original
            code = msgspec.structs.replace(code, source=event.source, original=original)
        return self._set(msgspec.structs.replace(code, state="proposed"))

    def _add_output(self, event: OutputAdded) -> tuple[int, ...]:
        code = self._code(event.block_id)
        output = event.output
        outputs = code.outputs
        last = outputs[-1] if outputs else None
        if isinstance(output, StreamOutput) and isinstance(last, StreamOutput) and last.name == output.name:
            joined = StreamOutput(name=last.name, text=last.text + output.text)
            outputs = (*outputs[:-1], joined)
        else:
            outputs = (*outputs, output)
            if isinstance(output, RichOutput) and output.display_id is not None:
                self._displays.setdefault(output.display_id, set()).add(self._index[event.block_id])
        return self._set(msgspec.structs.replace(code, outputs=outputs))

    def _update_display(self, event: OutputUpdated) -> tuple[int, ...]:
        changed: list[int] = []
        for index in sorted(self._displays.get(event.display_id, ())):
            block = self.blocks[index]
            assert isinstance(block, CodeBlock)
            outputs = tuple(_replaced(old, event) for old in block.outputs)
            self.blocks[index] = msgspec.structs.replace(block, outputs=outputs)
            changed.append(index)
        return tuple(changed)

    def _settle(self, *, everywhere: bool = False) -> tuple[int, ...]:
        """Nothing is left half open when a turn ends, nor (`everywhere`) in a session that is opened again."""
        self.turn_open = False
        self.pending_decision = self.pending_input = None
        changed: list[int] = []
        for index in range(len(self.blocks) - 1, -1, -1):
            block = self.blocks[index]
            if isinstance(block, UserBlock) and not everywhere:
                break
            settled = _settled(block)
            if settled is not block:
                self.blocks[index] = settled
                changed.append(index)
        return tuple(reversed(changed))


def _replaced(old: Output, event: OutputUpdated) -> Output:
    if isinstance(old, RichOutput) and old.display_id == event.display_id:
        return event.output
    return old


def _settled(block: Block) -> Block:
    match block:
        case ProseBlock(state="streaming"):
            return msgspec.structs.replace(block, state="cut")
        case CodeBlock(state="streaming"):
            return msgspec.structs.replace(block, state="cut")
        case CodeBlock(state="proposed" | "waiting"):
            return msgspec.structs.replace(block, state="refused")
        case CodeBlock(state="running"):
            return msgspec.structs.replace(block, state="interrupted", active_line=None)
        case _:
            return block
