"""Calls that a tool makes of other tools: each is an action of its own, decided about, sealed and run like a model's.

A call is allowed without a question where the policy allows it, or where the person approved a call whose question
named this tool (`Tool.may_call`), and nothing but the mode asks about it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from oi_tui.app.engine.agent.decision_events import decision_event
from oi_tui.app.engine.agent.decisions import Decisions
from oi_tui.app.engine.agent.guard import RepeatGuard
from oi_tui.app.engine.agent.halt import TurnStopped
from oi_tui.app.engine.agent.runners import Runners
from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock
from oi_tui.app.engine.core.chat_model import SESSION_TOOLS
from oi_tui.app.engine.core.encoding import as_json, expressible
from oi_tui.app.engine.core.events import CallFinished, CallStarted, CodeFinished, CodeStarted, Emit
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.kernel_call import ASK_MODEL
from oi_tui.app.engine.policy.decision import PolicyDecision
from oi_tui.app.engine.text.mime import plain_text
from oi_tui.app.engine.tools.execute import EXECUTE
from oi_tui.app.engine.tools.tool import Arguments, ToolFailed

DEEPEST = 3
"""Calls within calls, below the one of the model."""

MOST_CALLS = 20
"""That one call of the model can lead to."""

LONGEST_ARGUMENTS, LONGEST_RESULT = 100_000, 100_000
"""Characters."""


class ToolCalls:
    """Performs the calls that calls of one session make."""

    def __init__(
        self,
        runners: Runners,
        decisions: Decisions,
        emit: Emit,
        block: Callable[[str], ActionBlock],
        execute: Callable[[str, PolicyDecision], Awaitable[object]],
        stop_called: Callable[[str], None],
    ) -> None:
        self._runners, self._decisions, self._emit = runners, decisions, emit
        self._block, self._execute, self._stop_called = block, execute, stop_called
        self._serving: list[str] = []
        """Ids of the calls that wait for what they called."""
        self._counts: dict[str, int] = {}
        """How many calls each call of the model has led to."""
        self._stop: TurnStopped | None = None

    def serves(self, caller: str) -> bool:
        """Whether this call waits for one that it made."""
        return caller in self._serving

    def take_stop(self) -> TurnStopped | None:
        """How a decision about a call ends the turn, None if it does not."""
        stop, self._stop = self._stop, None
        self._counts.clear()
        return stop

    async def perform(self, caller_id: str, name: str, arguments: Arguments) -> str:
        """The text of the result; ToolFailed where there is none."""
        caller, source = self._block(caller_id), as_json(arguments).decode()
        if why := self._objection(caller, name, source):
            raise ToolFailed(why)
        block_id = new_id()
        if name == EXECUTE:
            language, code = str(arguments["language"]), expressible(str(arguments["code"]))
            self._emit(CodeStarted(block_id=block_id, language=language, caller=caller_id))
            self._emit(CodeFinished(block_id=block_id, language=language, source=code))
        else:
            self._emit(CallStarted(block_id=block_id, tool=name, caller=caller_id))
            self._emit(CallFinished(block_id=block_id, tool=name, source=source))
        self._serving.append(caller_id)
        try:
            ruling = await self._decide(caller, block_id)
            if ruling is not None:
                await self._run(caller_id, block_id, ruling)
        finally:
            self._serving.remove(caller_id)
        return _text_of(self._block(block_id))

    def _objection(self, caller: ActionBlock, name: str, source: str) -> str:
        if caller.state != "running":
            return "The call is over, and can call nothing."
        runs_code = name == EXECUTE and isinstance(caller, CallBlock) and not caller.origin  # a tool of the program
        may_ask = (
            name == ASK_MODEL and isinstance(caller, CallBlock) and self._runners.tools.get(caller.tool).tool.asks_model
        )
        if name in SESSION_TOOLS or (name not in self._runners.tools.names and not (runs_code or may_ask)):
            return f"There is no tool named {name[:100]}."
        chain = [caller]
        while chain[-1].caller:
            chain.append(self._block(chain[-1].caller))
        if len(chain) > DEEPEST:
            return f"Calls within calls go {DEEPEST} levels deep at most."
        if len(source) > LONGEST_ARGUMENTS:
            return f"Arguments have {LONGEST_ARGUMENTS:,} characters at most."
        root = chain[-1].id
        self._counts[root] = self._counts.get(root, 0) + 1
        return f"This call has made {MOST_CALLS} calls, and may make no more." * (self._counts[root] > MOST_CALLS)

    async def _decide(self, caller: ActionBlock, block_id: str) -> PolicyDecision | None:
        block = self._block(block_id)
        try:
            ruling = await self._decisions.rule(block)
            if self._decisions.covers(caller.id, block, ruling):
                reason = f"named in the question about {caller.runs_in}"
                self._emit(decision_event(block, "run", "grant", reason=reason))
                return ruling
            guard, asks = RepeatGuard(MOST_CALLS), isinstance(block, CallBlock) and block.tool == ASK_MODEL
            wish = "it asks the model, at your expense" if asks else ""
            return await self._decisions.settle(block, ruling, guard, self._emit, asked_by=caller.runs_in, wish=wish)
        except TurnStopped as stop:
            self._stop = stop
            if stop.reason == "stopped":
                raise asyncio.CancelledError from stop  # the person stopped it all
            return None
        except asyncio.CancelledError:
            if self._block(block_id).state in ("proposed", "waiting"):
                self._emit(decision_event(block, "skip", "rule", reason="the call that called it is over"))
            raise

    async def _run(self, caller_id: str, block_id: str, ruling: PolicyDecision) -> None:
        """Run the call to its end. If the caller has gone, it is stopped."""
        run = asyncio.ensure_future(self._execute(block_id, ruling))
        cancelled = False
        while not run.done():
            try:
                await asyncio.wait([run])
            except asyncio.CancelledError:
                cancelled = True
                self._stop_called(caller_id)
        ended = self._block(block_id)
        await self._decisions.note_end(ended, ruling, whole=ended.state == "ok")
        if cancelled:
            raise asyncio.CancelledError
        run.result()


def _text_of(block: ActionBlock) -> str:
    """The text of its result; ToolFailed if it failed."""
    text = "".join(map(plain_text, block.outputs))
    if block.state != "ok":
        refused = f"The tool {block.runs_in.removeprefix('tool ')} was not run: {block.refusal or 'it was refused'}."
        raise ToolFailed(refused if block.state == "refused" else text.strip() or f"The {block.runs_in} failed.")
    left = len(text) - LONGEST_RESULT
    return text if left <= 0 else f"{text[:LONGEST_RESULT]}\n[{left:,} more characters are left out]\n"
