"""A session of a program: prompts in, results out, on the same engine as the screen."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from oi_tui.app.api.callbacks import Callbacks, runner_name
from oi_tui.app.api.home_loop import HomeLoop
from oi_tui.app.api.open_parts import OpenParts
from oi_tui.app.api.results import (
    Result,
    RunLimits,
    RunRecord,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepDecided,
    StepMoment,
    StepRan,
)
from oi_tui.app.api.run_stream import MomentQueue, RunStream
from oi_tui.app.api.tool_dependencies import given_dependencies
from oi_tui.app.engine.core.blocks import Action
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    InputRequested,
    NoticeAdded,
    ProseGrew,
    StepStarted,
    TurnEnded,
)
from oi_tui.app.engine.structured.python_types import OutputForm
from oi_tui.app.engine.text.final_prose import final_prose, last_prose, run_output

SessionT = TypeVar("SessionT")
FollowT = TypeVar("FollowT")

ENDING = 10.0
"""Seconds that a run has to end after the caller is cancelled."""


class ProgramSession(Generic[SessionT]):
    """One conversation with its kernels. Use it as a context manager, `with` or `async with`: leaving it ends the
    kernels. One run at a time."""

    def __init__(
        self,
        open_parts: Callable[["ProgramSession[SessionT]"], Awaitable[OpenParts]],
        *,
        output: OutputForm[SessionT] | None,
        limits: RunLimits,
        callbacks: Callbacks,
        given: object,
    ) -> None:
        """`open_session` makes them; `given` are the dependencies of its tools."""
        self._open_parts = open_parts
        self._output, self._limits = output, limits
        self._callbacks, self._given = callbacks, given
        self._home = HomeLoop()
        self._parts: OpenParts | None = None
        self._opening = asyncio.Lock()
        self._closed = False
        self._running = False
        self._record: RunRecord | None = None
        self._tell: Callable[[StepMoment | str], None] = lambda moment: None
        self._gate: Callable[[], Awaitable[None]] | None = None

    # -- running -------------------------------------------------------------------------------------

    async def run(self, prompt: str) -> Result[SessionT]:
        """Run one prompt to its answer. Raises RunStopped if there is none."""
        return await self._home.run(self._whole(prompt))

    def run_sync(self, prompt: str) -> Result[SessionT]:
        """Like `run`, for code that cannot await; works in notebooks too."""
        return self._home.run_sync(self._whole(prompt))

    async def go_on(self) -> Result[SessionT]:
        """Continue after `pause`, an error or a limit, without a new prompt."""
        return await self._home.run(self._whole(None))

    def go_on_sync(self) -> Result[SessionT]:
        """The same for code that cannot await."""
        return self._home.run_sync(self._whole(None))

    def run_stream(self, prompt: str) -> RunStream[SessionT, StepMoment | str]:
        """Like `run`, but yields pieces of the model's text and the steps as they happen."""
        return RunStream(self._home, lambda queue: self._follow(prompt, queue, queue.put), self.stop, gated=False)

    def iter(self, prompt: str) -> RunStream[SessionT, StepMoment]:
        """Like `run`, one step at a time: the model gets its next request when you ask for the next step."""

        def queue_steps(queue: MomentQueue[StepMoment]) -> Coroutine[Any, Any, Result[SessionT]]:
            def put(moment: StepMoment | str) -> None:
                if not isinstance(moment, str):
                    queue.put(moment)

            return self._follow(prompt, queue, put)

        return RunStream(self._home, queue_steps, self.stop, gated=True)

    def pause(self) -> None:
        """End the run after the current step; `go_on` continues it."""
        self._reach(lambda parts: parts.session.steering.pause())

    def stop(self) -> None:
        """End the run now: code is interrupted, and so is an answer."""
        self._reach(lambda parts: parts.session.interrupt(turn=True))

    # -- the end -------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End the kernels, save the session. Idempotent."""
        if not self._closed:
            await self._home.run(self._end())
        await asyncio.to_thread(self._home.close)

    def close_sync(self) -> None:
        """The same for code that cannot await."""
        if self._parts is not None and not self._closed:
            self._home.run_sync(self._end())
        self._closed = True
        self._home.close()

    async def __aenter__(self) -> Self:
        await self._home.run(self._open())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> Self:
        self._home.run_sync(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_sync()

    async def _open(self) -> OpenParts:
        async with self._opening:
            if self._closed:
                raise RuntimeError("This session is closed.")
            if self._parts is None:
                self._parts = await self._open_parts(self)
            return self._parts

    async def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._parts is not None:
            if self._running:
                self._parts.session.interrupt(turn=True)
            await self._parts.close()

    def _reach(self, act: Callable[[OpenParts], None]) -> None:
        """Into the run, from any thread."""
        if (parts := self._parts) is not None and not self._closed:
            parts.loop.call_soon_threadsafe(act, parts)

    # -- one run -------------------------------------------------------------------------------------

    async def _follow(
        self, prompt: str, queue: MomentQueue[FollowT], put: Callable[[StepMoment | str], None]
    ) -> Result[SessionT]:
        self._tell, self._gate = put, queue.pass_gate
        try:
            return await self._whole(prompt)
        finally:
            self._tell, self._gate = (lambda moment: None), None

    async def _whole(self, prompt: str | None) -> Result[SessionT]:
        parts = await self._open()
        if self._running:
            raise RuntimeError("A session does one run at a time.")
        self._running, self._callbacks.failure = True, None
        record = self._record = RunRecord(before=parts.session.transcript.usage, tell=self._tell)
        token = given_dependencies.set(self._given)
        try:
            await self._turn(parts, prompt, record)
        finally:
            self._callbacks.end_run()
            given_dependencies.reset(token)
            self._running, self._record = False, None
        if self._callbacks.failure is not None:
            raise self._callbacks.failure
        return self._result(parts, record)

    async def _turn(self, parts: OpenParts, prompt: str | None, record: RunRecord) -> None:
        session = parts.session
        session.dialogue.required.require(None if self._output is None else self._output.schema)
        running = asyncio.ensure_future(session.go_on() if prompt is None else session.run(prompt))

        def time_out() -> None:
            record.reason, record.detail = "time", f"The run was stopped after {self._limits.seconds:g} s."
            session.interrupt(turn=True)

        timer = parts.loop.call_later(self._limits.seconds, time_out) if self._limits.seconds else None
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            session.interrupt(turn=True)
            await asyncio.wait([running], timeout=ENDING)
            running.cancel()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _result(self, parts: OpenParts, record: RunRecord) -> Result[SessionT]:
        transcript = parts.session.transcript
        spent, messages, steps = record.usage_until(transcript.usage), parts.messages(), tuple(record.steps)
        said = last_prose(transcript.blocks, transcript.step)
        if record.reason != "done":
            raise RunStopped(
                record.reason, record.detail, messages=messages, usage=spent, steps=steps, last_answer=said
            )
        if self._output is None:
            text = final_prose(transcript.blocks, transcript.step)
            return Result(output=cast(SessionT, text), messages=messages, usage=spent, steps=steps)
        value = self._output.value(self._output.schema.read(said).value)
        return Result(output=value, messages=messages, usage=spent, steps=steps)

    async def before_request(self) -> None:
        """Returns when the model may be asked."""
        if self._gate is not None:
            await self._gate()

    def observe(self, event: AnyEvent) -> None:
        """Something happened in the session."""
        if (parts := self._parts) is None or (record := self._record) is None:
            return
        match event:
            case StepStarted():
                record.add(StepAsked(event.number))
            case ProseGrew():
                record.tell(event.text)
            case DecisionRequested() | InputRequested():
                self._callbacks.ask(parts.session, event)
            case DecisionMade():
                block = parts.session.transcript.block(event.block_id)
                record.add(StepDecided(event.block_id, runner_name(block), event.source, event.verdict, event.reason))
            case ExecutionFinished():
                block = parts.session.transcript.block(event.block_id)
                if isinstance(block, Action):
                    said, source = run_output(block.outputs), block.source
                    record.add(StepRan(block.id, runner_name(block), source, event.status, said, event.duration))
            case NoticeAdded(level="error"):
                record.detail = event.title
            case TurnEnded():
                self._note_end(parts, record, event)
            case _:
                pass

    def _note_end(self, parts: OpenParts, record: RunRecord, event: TurnEnded) -> None:
        if record.reason != "time" or event.reason == "done":
            record.reason, record.detail = event.reason, event.detail or record.detail
        if event.reason == "done":
            transcript = parts.session.transcript
            record.add(StepAnswered(final_prose(transcript.blocks, transcript.step)))
