"""The second front end: one task without a screen.

The final answer goes to stdout, what happens on the way to stderr; with `json` every line of stdout is a
chunk of the message language (LMC). The engine is the same one that the screen uses.
"""

import asyncio
import json
import signal
from contextlib import aclosing
from typing import Protocol, TextIO

from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    InputAnswered,
    InputRequested,
    SessionOpened,
    SettingsChanged,
    TurnEnded,
)
from oi_tui.app.engine.core.outcomes import NOBODY, StopReason
from oi_tui.app.engine.core.protocol import (
    Batch,
    Failed,
    FetchEnded,
    FetchProgressed,
    Hello,
    ModelsFound,
    Reply,
    SessionGone,
)
from oi_tui.app.engine.core.values import SessionReply
from oi_tui.app.engine.core.verbs import (
    AnyVerb,
    Decide,
    FetchModel,
    FindModels,
    Interrupt,
    Leave,
    Open,
    Submit,
    UseModel,
    address_verb,
)
from oi_tui.app.engine.formats.lmc import LmcWriter
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.text.call_words import call_remarks, preview_text
from oi_tui.app.engine.text.final_prose import final_prose, last_prose
from oi_tui.app.engine.text.input_answers import asker_words, choice_hint, choice_lines, input_answer
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import EngineClient, EngineLost
from oi_tui.app.headless.json_answer import as_line, last_attempt
from oi_tui.app.headless.model_words import is_ready, no_model
from oi_tui.app.headless.text_log import TextLog, code_in_full

EXIT_CODES: dict[StopReason, int] = {
    "done": 0,
    "model_error": 3,
    "kernel_error": 4,
    "engine_lost": 1,
    "refused": 7,
    "stopped": 7,
    "step_cap": 8,
    "budget": 8,
    "unfit": 9,
    "repeated": 8,
    "paused": 8,
    "interrupted": 130,
}
"""What the process ends with. 2 is a wrong flag or settings file, 5 the session store, 6 the embedded model."""


EMBEDDED = "local/"
"""Names of embedded models begin so."""


class Asker(Protocol):
    """Somebody at a terminal. `None` from `line` means that nobody is there any more."""

    async def line(self, question: str, *, password: bool = False) -> str | None:
        """One line, typed after the question was shown; cancellable."""
        ...


class Headless:
    """Does one task and tells what happens."""

    def __init__(
        self,
        client: EngineClient,
        *,
        out: TextIO,
        err: TextIO,
        asker: Asker | None = None,
        as_json: bool = False,
        accept_download: bool = False,
    ) -> None:
        self._client = client
        self._out = out
        self._err = err
        self._narration = TextLog(err)
        self._say = self._narration.say
        self._asker = asker
        self._writer = LmcWriter() if as_json else None
        self._accept_download = accept_download
        self._transcript = Transcript()
        self._task = Submit(text="")
        self._schema: AnswerSchema | None = None
        self._session_id = ""
        self._interrupts = 0
        self._ended_by: signal.Signals | None = None
        self._model = ""
        """The name of the chosen model."""
        self._model_open = False
        self._code = 1
        self._refused = ""
        """Why something was not run that a person could have approved."""
        self._overran = False
        """Code was ended at its time limit."""
        self._leaving = False
        """The turn is over; news beside it may still arrive."""
        self._asking: asyncio.Task[None] | None = None
        self._interrupting: asyncio.Task[None] | None = None

    @property
    def session_id(self) -> str:
        """Id of the session that was opened last; "" before there is one."""
        return self._session_id

    async def run(
        self,
        task: str,
        *,
        files: tuple[str, ...] = (),
        session_id: str | None = None,
        command: str = "",
        schema: AnswerSchema | None = None,
    ) -> int:
        """Do it; the exit code. `command` is the one that made the text. With a `schema`, stdout is JSON that fits."""
        wanted = "" if schema is None else json.dumps(schema.schema)
        self._task, self._schema = Submit(text=task, files=files, command=command, schema=wanted), schema
        own = asyncio.current_task()
        assert own is not None
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt, own)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end_by, number, own)
        try:
            await self._client.send(Open(session_id=session_id))
            async with aclosing(self._client.replies()) as replies:
                async for reply in replies:
                    if await self._reply(reply):
                        break
        except EngineLost as error:
            self._say(f"✗ {error}\n")
            self._code = 1
        except asyncio.CancelledError:
            if self._ended_by is None:
                raise
            # Asked to end by a signal: the session is saved by the engine's close, which our caller awaits.
            self._code = 128 + self._ended_by
        finally:
            await self._stop_asking()
            if self._interrupting is not None:
                await asyncio.wait([self._interrupting])
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
        return self._code

    def _on_interrupt(self, own: asyncio.Task[int]) -> None:
        """The first stops the turn, if there is one; the engine then says that it ended."""
        self._interrupts += 1
        if self._interrupts > 1 or not self._transcript.turn_open:
            self._end_by(signal.SIGINT, own)
            return
        self._say("\n⊘ stopping… (Ctrl+C again ends at once)\n")
        self._interrupting = asyncio.create_task(self._send(Interrupt(turn=True)))

    def _end_by(self, number: signal.Signals, own: asyncio.Task[int]) -> None:
        self._ended_by = self._ended_by or number
        own.cancel()

    async def _send(self, verb: AnyVerb) -> None:
        """Ask for something, in the session of the task."""
        await self._client.send(address_verb(verb, self._session_id))

    # -- replies -------------------------------------------------------------------------------------

    async def _reply(self, reply: Reply) -> bool:
        """Take one reply; True when the task is over."""
        if isinstance(reply, SessionReply):
            if reply.session_id and self._session_id not in ("", reply.session_id):
                return False
            self._session_id = reply.session_id or self._session_id
        match reply:
            case Batch():
                for event in reply.events:
                    self._transcript.apply(event)
                    if not reply.replay and await self._event(event):
                        return True
            case ModelsFound() if not self._model:  # it may come again
                return await self._choose(reply)
            case FetchProgressed():
                self._narration.progress(reply)
            case FetchEnded(ready=True):
                self._say("\n")
                await self._send(self._task)
            case FetchEnded():
                self._say(f"\n✗ {reply.error or 'The download was cancelled.'} {reply.hint}\n")
                self._code = 6
                return True
            case Failed():
                self._say(f"✗ {reply.title} {reply.hint}\n")
                self._code = reply.exit_code
                return reply.fatal
            case SessionGone():
                return True
            case Hello():
                pass
        return False

    async def _event(self, event: AnyEvent) -> bool:
        if self._writer is not None:
            for chunk in self._writer.chunks(event):
                self._out.write(json.dumps(chunk) + "\n")  # ASCII: nothing that a terminal obeys
            self._out.flush()
        self._narration.tell(event)
        match event:
            case SessionOpened(model=""):
                await self._send(FindModels())
            case SessionOpened():
                self._model = event.model
                await self._send(self._task)
            case SettingsChanged():
                self._model_open = event.context_window is not None  # every embedded model that is open has one
            case DecisionRequested():
                await self._stop_asking()
                self._asking = asyncio.create_task(self._ask_decision(event))
            case InputRequested():
                await self._stop_asking()
                self._asking = asyncio.create_task(self._ask_input(event))
            case DecisionMade() if event.reason.startswith(NOBODY):
                self._refused = event.reason
            case ExecutionFinished(ending=Ending(cause="limit")):
                self._overran = True
            case InputAnswered(cancelled=True):
                await self._stop_asking()
            case TurnEnded() if not self._leaving:
                self._finish(event)
                self._leaving = True
                await self._send(Leave())  # waits for the look at files the last run left
            case _:
                pass
        return False

    def _finish(self, event: TurnEnded) -> None:
        self._code = EXIT_CODES[event.reason]
        if event.reason == "model_error" and self._model.startswith(EMBEDDED) and not self._model_open:
            self._code = LocalModelError.exit_code
        if event.reason == "done" and self._refused:
            self._code = EXIT_CODES["refused"]
            self._say(f"⊘ Not finished: {safe_text(self._refused)}\n")
        elif event.reason == "done" and self._overran:
            self._code = EXIT_CODES["step_cap"]
            self._say("⊘ Not finished: code reached its time limit.\n")
        if event.reason != "done":
            self._say(f"⊘ {event.detail or event.reason}\n")
        if self._schema is not None:
            self._finish_json(self._schema, event)
        elif event.reason == "done" and not self._is_already_shown() and (answer := self.final_answer()):
            self._out.write(answer.rstrip("\n") + "\n")
            self._out.flush()

    def _finish_json(self, schema: AnswerSchema, event: TurnEnded) -> None:
        """JSON that fits, or the last attempt where the model was asked often enough."""
        said = last_prose(self._transcript.blocks, self._transcript.step)
        if event.reason == "done":
            found = schema.read(said)
            if not found.problems:
                self._out.write(as_line(found.value) + "\n")
                self._out.flush()
                return
            self._code = EXIT_CODES["unfit"]
            self._say(f"⊘ {found.problems[0]}\n")
        if self._code == EXIT_CODES["unfit"]:
            self._say(last_attempt(said))

    def _is_already_shown(self) -> bool:
        """Whether it was printed as chunks, or stdout and stderr are the same terminal."""
        return self._writer is not None or (self._out.isatty() and self._err.isatty())

    def final_answer(self) -> str:
        """What a person reads of it."""
        return final_prose(self._transcript.blocks, self._transcript.step)

    # -- the model -------------------------------------------------------------------------------------

    async def _choose(self, found: ModelsFound) -> bool:
        """Without a name: the first that is ready; else the recommended embedded one, if downloading was allowed."""
        ready = next((offer for offer in found.offers if is_ready(offer)), None)
        if ready is not None:
            self._say(f"Model: {ready.title} ({ready.id})\n")
            self._model = ready.id
            await self._send(UseModel(name=ready.id, api_base=ready.api_base))
            await self._send(self._task)
            return False
        best = next((offer for offer in found.offers if offer.recommended), None)
        if best is not None and self._accept_download:
            self._say(f"{found.why}\n{best.title} · {best.detail}\n")
            await self._send(FetchModel(model_id=best.id))
            return False
        self._say(no_model(best, found.why))
        self._code = 6
        return True

    # -- questions -------------------------------------------------------------------------------------

    async def _stop_asking(self) -> None:
        """Withdraw a question: on the one terminal, it must not take the answer to the next."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])

    async def _ask_decision(self, request: DecisionRequested) -> None:
        """Ask until there is an answer that is one; an empty line never approves."""
        assert self._asker is not None, "an engine that cannot ask does not"
        asked_by = f"asked for by running code: {request.asked_by}" if request.asked_by else ""
        said = [part for part in (asked_by, *call_remarks(request), *request.labels, request.why) if part]
        why = f" ({safe_text(' · '.join(said))})" if said else ""
        what = "call" if request.tool else "code"
        prompt = (
            f"Run this?{why} [y] run  [n] refuse  [n REASON] refuse, and say why  [a] always this {what}  [s] stop: "
        )
        shown = preview_text(request)
        would = code_in_full("what it would do", shown) if shown else ""
        question = code_in_full(request.runs_in, request.source) + would + prompt
        while (line := await self._asker.line(question)) is not None:
            verb = parse_decision(request.request_id, line)
            if verb is not None:
                await self._send(verb)
                return
            question = prompt
        await self._send(Decide(request_id=request.request_id, verdict="stop"))

    async def _ask_input(self, request: InputRequested) -> None:
        assert self._asker is not None, "an engine that cannot ask does not"
        question = f"[the code is waiting for input] {safe_text(request.prompt)}"
        if request.asked_by:
            said = [f"{asker_words(request)}: {safe_text(request.prompt)}", *choice_lines(request)]
            question = "\n".join([*said, f"{choice_hint(request)} "])
        line = await self._asker.line(question, password=request.password)
        await self._send(Interrupt() if line is None else input_answer(request, line))


def parse_decision(request_id: str, line: str) -> Decide | None:
    """The decision that a typed line means, None if it means none."""
    word, _, rest = line.strip().partition(" ")
    match word.lower():
        case "y" | "yes":
            return Decide(request_id=request_id, verdict="run")
        case "a" | "always":
            return Decide(request_id=request_id, verdict="always")
        case "n" | "no":
            return Decide(request_id=request_id, verdict="skip", reason=rest.strip())
        case "r" if rest.strip():
            return Decide(request_id=request_id, verdict="skip", reason=rest.strip())
        case "s" | "stop":
            return Decide(request_id=request_id, verdict="stop")
        case _:
            return None
