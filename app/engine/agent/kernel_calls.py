"""Calls of running code (`computer.run`, `computer.ask`): each is an action of its own, decided about like a model's.

A kernel may say that its code calls what nobody wrote: nothing here trusts a call more than an answer of a model.
"""

import asyncio
from collections.abc import Awaitable, Callable

from oi_tui.app.engine.agent.decision_events import decision_event
from oi_tui.app.engine.agent.decisions import Decisions
from oi_tui.app.engine.agent.guard import RepeatGuard
from oi_tui.app.engine.agent.halt import TurnStopped
from oi_tui.app.engine.agent.runners import Runners
from oi_tui.app.engine.core.blocks import ActionBlock, CodeBlock
from oi_tui.app.engine.core.encoding import as_json, expressible
from oi_tui.app.engine.core.events import CallFinished, CallStarted, CodeFinished, CodeStarted, Emit
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.kernel_call import ASK_MODEL, CallAnswer
from oi_tui.app.engine.core.values import KernelCall
from oi_tui.app.engine.kernels.base import Runner
from oi_tui.app.engine.policy.decision import PolicyDecision
from oi_tui.app.engine.text.mime import plain_text
from oi_tui.app.engine.text.whereabouts import describe_running_line

MOST_CALLS = 20
"""Of one run: as many as the actions of one answer that run without a question."""

LONGEST_CALL, LONGEST_ANSWER = 100_000, 100_000
"""Characters of the code or the prompt of one call, and of its answer."""

NESTED = "Code that was called cannot call any further."
BUSY = "Another call of this run is not over yet."
ELSEWHERE = "Code on another machine cannot call this one."


class CallDesk:
    """The calls of one run, one at a time."""

    def __init__(
        self, block: ActionBlock, runner: Runner, calls: "KernelCalls | None", interrupt: Callable[[], None]
    ) -> None:
        """`calls` performs them; without it all are refused. `interrupt` stops the run."""
        self._block, self._runner = block, runner
        self._calls, self._interrupt = calls, interrupt
        self._count = 0
        self._call: asyncio.Task[None] | None = None
        self._answers: set[asyncio.Task[None]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether the code waits for an answer."""
        return self._call is not None

    def take(self, call: KernelCall) -> None:
        """Answer this call, when it is over."""
        if why := self._objection(call):
            answering = asyncio.create_task(self._give(CallAnswer(number=call.number, refusal=why)))
        else:
            self._count += 1
            answering = self._call = asyncio.create_task(self._answer(call))
        self._answers.add(answering)
        answering.add_done_callback(self._answers.discard)

    async def close(self) -> None:
        """The run is over: what it called is stopped, and its end waited for."""
        if self._calls is not None and self.is_busy:
            self._calls.give_up(self._block.id)
        if self._answers:
            await asyncio.wait(self._answers)

    def cancel(self) -> None:
        """Cancel all that wait."""
        for answering in self._answers:
            answering.cancel()

    def _objection(self, call: KernelCall) -> str:
        if self._calls is None:
            return NESTED
        if self._runner.elsewhere:
            return ELSEWHERE
        if self.is_busy:
            return BUSY
        if self._count >= MOST_CALLS:
            return f"This run has made {MOST_CALLS} calls, and may make no more."
        return f"A text has {LONGEST_CALL:,} characters at most." if len(call.text) > LONGEST_CALL else ""

    async def _answer(self, call: KernelCall) -> None:
        assert self._calls is not None
        try:
            answer = await self._calls.perform(self._block, call)
        finally:
            self._call = None
        if answer is None:
            self._interrupt()
        else:
            await self._give(answer)

    async def _give(self, answer: CallAnswer) -> None:
        await self._runner.answer(as_json(answer).decode())


class KernelCalls:
    """Performs the calls that runs of one session make."""

    def __init__(
        self,
        runners: Runners,
        decisions: Decisions,
        emit: Emit,
        block: Callable[[str], ActionBlock],
        execute: Callable[[str, PolicyDecision], Awaitable[object]],
        interrupt: Callable[[str], None],
    ) -> None:
        """`block` is the action of an id now; `execute` runs one that was approved, and `interrupt` stops what
        the run of a block called."""
        self._runners, self._decisions, self._emit = runners, decisions, emit
        self._block, self._execute, self._interrupt = block, execute, interrupt
        self._given_up = False
        """Whether nobody waits for the call that is under way."""
        self._stop: TurnStopped | None = None

    def take_stop(self) -> TurnStopped | None:
        """How the decision about a call ends the turn, once its caller is over; None if it does not."""
        stop, self._stop = self._stop, None
        return stop

    def give_up(self, caller: str) -> None:
        """The caller has stopped waiting: interrupt the present call, or do not run it at all."""
        self._given_up = True
        self._decisions.withdraw()
        self._interrupt(caller)

    async def perform(self, caller: ActionBlock, call: KernelCall) -> CallAnswer | None:
        """Propose it, have it decided, run it; its output, or why there is none. None if the person stopped it all."""
        block_id, text = new_id(), expressible(call.text)
        self._given_up = False
        if call.method == "ask":
            self._emit(CallStarted(block_id=block_id, tool=ASK_MODEL, caller=caller.id))
            source = as_json({"prompt": text}).decode()
            self._emit(CallFinished(block_id=block_id, tool=ASK_MODEL, source=source))
        else:
            language = self._runners.kernels.canonical(call.language)
            if language is None:
                there = ", ".join(self._runners.kernels.languages)
                return _refusal(call, f"Nothing here runs {call.language[:100]!r}. There are: {there}.")
            if language == caller.runs_in:
                return _refusal(call, f"This {language} kernel waits for the call: run {language} code here directly.")
            self._emit(CodeStarted(block_id=block_id, language=language, caller=caller.id))
            self._emit(CodeFinished(block_id=block_id, language=language, source=text))
        try:
            ruling = await self._decide(block_id, describe_running_line(self._block(caller.id)))
        except TurnStopped as stop:
            if self._given_up:
                return _answer(call, self._block(block_id))
            self._stop = stop
            return None if stop.reason == "stopped" else _answer(call, self._block(block_id))
        if ruling is not None and not self._given_up:
            await self._execute(block_id, ruling)
            ended = self._block(block_id)
            await self._decisions.note_end(ended, ruling, whole=ended.state == "ok")
        return _answer(call, self._block(block_id))

    async def _decide(self, block_id: str, asked_by: str) -> PolicyDecision | None:
        block = self._block(block_id)
        ruling = await self._decisions.rule(block)
        if self._given_up:
            self._emit(decision_event(block, "skip", "rule", reason="the code that called it is over"))
            return None
        # Loops are what calls are made for: how often one may call is bounded, not how often the same.
        return await self._decisions.settle(block, ruling, RepeatGuard(MOST_CALLS), self._emit, asked_by=asked_by)


def _refusal(call: KernelCall, why: str) -> CallAnswer:
    return CallAnswer(number=call.number, refusal=why)


def _answer(call: KernelCall, block: ActionBlock) -> CallAnswer:
    text = "".join(map(plain_text, block.outputs))
    match block.state:
        case "ok":
            pass
        case "error" if isinstance(block, CodeBlock):  # its error is what it put out
            pass
        case "error":
            return _refusal(call, text.strip() or "It failed.")
        case "refused":
            return _refusal(call, f"Not run: {block.refusal or 'the user refused it'}.")
        case "died":
            return _refusal(call, f"The {block.runs_in} kernel ended.")
        case _:
            return _refusal(call, "Interrupted.")
    if len(text) > LONGEST_ANSWER:
        text = f"{text[:LONGEST_ANSWER]}\n[{len(text) - LONGEST_ANSWER:,} more characters are left out]\n"
    return CallAnswer(number=call.number, text=text)
