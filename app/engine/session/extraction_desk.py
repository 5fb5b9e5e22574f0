"""Extracting values from many records, within a session: its model, its budget and its notices. No code runs."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Literal

from oi_tui.app.engine.agent.budget import dollars
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import AnswerUsage, ChatRequest, Delta, Model, ModelWrapper
from oi_tui.app.engine.core.errors import ModelError, OiTuiError, SettingsError
from oi_tui.app.engine.core.events import NoticeAdded
from oi_tui.app.engine.core.extractions import (
    BeginExtraction,
    ChangeExtraction,
    ExtractedRow,
    ExtractionFound,
    ExtractionState,
    ExtractionVerb,
    FindExtraction,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.extraction.extraction import Extraction, ExtractionPlan, SeenResult, Tally
from oi_tui.app.engine.extraction.records import require_records
from oi_tui.app.engine.extraction.whole_run import columns_of, extract_all, failures_of
from oi_tui.app.engine.session.model_switch import ModelSwitch
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line, quantity

INTERVAL = 0.25
"""Seconds between two reports while somebody looks."""

UNWATCHED = 1.0
"""Seconds between two reports otherwise: the status line has the numbers."""

_log = logging.getLogger(__name__)


class ExtractionDesk:
    """One at a time; a session that ends stops it, and the same questions continue it."""

    def __init__(
        self, session: Session, services: Services, chooser: ModelSwitch, tell: Callable[[Reply], None]
    ) -> None:
        self._session, self._services, self._chooser, self._tell = session, services, chooser, tell
        self._asked: BeginExtraction | None = None
        self._state: ExtractionState = "none"
        self._why = self._model = ""
        self._wrong: Literal["", "source", "schema", "model"] = ""
        self._tally = Tally()
        self._extraction: Extraction | None = None
        self._task: asyncio.Task[None] | None = None
        self._watched = False
        self._begun = self._seconds = self._told = 0.0
        self._soon: asyncio.TimerHandle | None = None
        """When the next word is due."""

    def tasks(self) -> list[asyncio.Task[None]]:
        """Running tasks, to be awaited when the session closes."""
        return [self._task] if self._task is not None and not self._task.done() else []

    @property
    def is_working(self) -> bool:
        """Whether it does something without anybody there."""
        return bool(self.tasks()) and self._state != "paused"

    def resend_state(self) -> None:
        """Report to a front end that has just come, if there is something to stop."""
        if self.tasks():
            self._watched = False
            self._tell_state()

    def follow(self, verb: ExtractionVerb) -> None:
        """Do what the person wants. SettingsError for what cannot be now."""
        match verb:
            case BeginExtraction():
                self._begin(verb)
            case ChangeExtraction(change="continue") if not self.tasks():
                if self._asked is None:
                    raise SettingsError("There is no extraction to continue.")
                self._begin(self._asked)
            case ChangeExtraction():
                self._change(verb)
            case FindExtraction():
                self._watched = verb.on
            case _:
                raise TypeError(f"no verb about extractions: {verb}")
        self._tell_state()

    def _begin(self, asked: BeginExtraction) -> None:
        if self.tasks():
            raise SettingsError("An extraction is already running.", hint="/extract shows it.")
        self._asked, self._tally, self._extraction = asked, Tally(), None
        self._state, self._why, self._model, self._wrong = "starting", "", "", ""
        self._begun, self._seconds = time.monotonic(), 0.0
        self._task = asyncio.create_task(self._run(asked))

    def _change(self, verb: ChangeExtraction) -> None:
        extraction, running = self._extraction, self.tasks()
        if not running:
            return
        match verb.change:
            case "pause" if extraction is not None and self._state == "running":
                extraction.pause()
                self._state = "paused"
            case "continue" if extraction is not None and self._state == "paused":
                extraction.go_on()
                self._state = "running"
            case "stop" if extraction is not None and self._state in ("running", "paused"):
                extraction.stop()
                self._state = "stopping"
            case "stop":
                running[0].cancel()
            case _:
                pass

    async def _run(self, asked: BeginExtraction) -> None:
        try:
            await self._whole(asked)
        except asyncio.CancelledError:
            self._end("stopped", "It was stopped.")
            raise
        except OiTuiError as error:
            self._end("failed", " ".join(filter(None, (error.title, error.hint))))
        except Exception as error:
            # Boundary: a defect of ours, or of a file's reader, ends this extraction and not the session.
            _log.exception("an extraction failed")
            self._end("failed", f"oi-tui failed: {error!r}. See the log.")

    async def _whole(self, asked: BeginExtraction) -> None:
        folder = Path(self._services.setup.cwd)
        source = folder / Path(asked.source).expanduser()
        self._wrong = "source"
        await asyncio.to_thread(require_records, source)
        self._wrong = "schema"
        schema = await asyncio.to_thread(self._services.read_schema, asked.schema)
        self._wrong = "model"
        plan = ExtractionPlan(
            schema=schema,
            task=asked.task,
            tries=self._services.setup.settings.loop.answer_tries,
            workers=asked.workers,
            fields=asked.fields,
            max_cost=asked.max_cost,
        )
        model = await self._open(asked.model)
        self._model, self._wrong = model.name, ""
        output = folder / Path(asked.output).expanduser()
        done = await extract_all(
            source,
            output,
            plan,
            _CountedModel(model, self._session),
            self._services.redactor,
            begun=self._set_running,
            progress=self._follow_tally,
            counts=True,
        )
        self._tally = tally = done.tally
        if tally.stop:
            self._end("stopped", tally.why or "It was stopped.")
            return
        self._end("done", "")
        self._say_done(output, columns_of(plan))

    async def _open(self, name: str) -> Model:
        if name:
            return await self._chooser.open_another(name)
        await self._chooser.wait_until_open()
        if (model := self._session.choices.model) is None:
            raise SettingsError("No model is chosen.", hint="Choose one with /model.")
        return model

    def _set_running(self, extraction: Extraction) -> None:
        self._extraction, self._tally, self._state = extraction, extraction.tally, "running"
        self._tell_state()

    def _follow_tally(self, tally: Tally) -> None:
        if self._soon is None:
            delay = max(0.0, self._told + (INTERVAL if self._watched else UNWATCHED) - time.monotonic())
            self._soon = asyncio.get_running_loop().call_later(delay, self._tell_state)

    def _end(self, state: ExtractionState, why: str) -> None:
        self._state, self._why, self._extraction = state, why, None
        self._seconds = time.monotonic() - self._begun
        if state != "done":
            title = f"The extraction is not done: {_line(why, 400)}"
            self._notice("info" if state == "stopped" else "error", title, "/extract continues it.")
        self._tell_state()

    def _say_done(self, output: Path, columns: tuple[str, ...]) -> None:
        tally, name = self._tally, _line(self._asked.output if self._asked is not None else str(output), 200)
        failed = f", {tally.failed:,} failed" if tally.failed else ""
        cost = "" if not tally.cost else f", {dollars(tally.cost)}"
        title = f"{quantity(tally.done, 'record')} extracted into {name}{failed}{cost}."
        hint = f"Those that failed: {failures_of(output).name}. /extract tries them again." if tally.failed else ""
        told = f"The user had {quantity(tally.done, 'record')} extracted into the file {output}"
        told += f", with the fields _source, {', '.join(columns)[:500]}." if columns else "."
        self._notice("warning" if tally.failed else "info", title, hint, to_model=told)

    def _notice(self, level: Level, title: str, hint: str, *, to_model: str = "") -> None:
        self._session.emit(NoticeAdded(block_id=new_id(), level=level, title=title, hint=hint, to_model=to_model))

    def _tell_state(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._watched or self._state != "none":
            self._told = time.monotonic()
            self._tell(self._make_report())

    def _make_report(self) -> ExtractionFound:
        tally, looks = self._tally, self._watched
        return ExtractionFound(
            state=self._state,
            asked=self._asked,
            model=self._model,
            total=tally.total,
            done=tally.done,
            skipped=tally.skipped,
            failed=tally.failed,
            cut=tally.cut,
            cost=tally.cost,
            seconds=self._told - self._begun if self.tasks() else self._seconds,
            why=self._why,
            wrong=self._wrong if self._state == "failed" else "",
            newest=tuple(map(_row, tally.newest if looks else ())),
            failures=tuple(map(_row, tally.failures if looks else ())),
        )


def _line(text: str, most: int) -> str:
    return one_line(safe_text(text))[:most]


def _row(seen: SeenResult) -> ExtractedRow:
    return ExtractedRow(source=_line(seen.source, 100), text=_line(seen.text, 400))


class _CountedModel(ModelWrapper):
    """Its requests count towards what the session spends, and end where its budget does."""

    def __init__(self, model: Model, session: Session) -> None:
        super().__init__(model)
        self._session = session

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The answer as it comes; ModelError where the session's budget is spent."""
        session = self._session
        if obstacle := session.budget.check_limits(session.transcript.usage):
            raise ModelError("budget", obstacle.title, hint=obstacle.hint)
        try:
            async with aclosing(self._model.stream(request)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, AnswerUsage):
                        self._session.emit(delta.event(aside=True))
                    yield delta
        finally:
            if (left := self.take_unreported()) is not None:
                self._session.emit(left.event(aside=True))
