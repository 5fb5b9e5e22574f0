"""Wraps the model of a session: times each request, logs it and reports its cost.

At level debug the log has the words of request and answer, too.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Delta,
    Model,
    ModelWrapper,
    Retrying,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    take_unreported,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.model_request import RequestRecord, provider_prefix

_log = logging.getLogger(__name__)

NoteRequest = Callable[[RequestRecord], None]
"""Takes what became of a request; never raises."""


class MeteredModel(ModelWrapper):
    """A model whose requests are timed, logged and counted."""

    def __init__(
        self,
        model: Model,
        note: NoteRequest,
        blank: RequestRecord,
        *,
        require: Callable[[Model], None] = lambda model: None,
        wait: Callable[[], float] = lambda: 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`blank` is a record with all that is known of every request of this session: its id, folder and profile.
        `require` raises ModelError if this model may not be asked now. `wait` says how many seconds a request has to
        wait for our own limits."""
        super().__init__(model)
        self._note = note
        self._blank = blank
        self._require = require
        self._wait = wait
        self._unreported: AnswerUsage | None = None
        self._clock = clock

    def for_session(self, session_id: str) -> "MeteredModel":
        """The same model, counted for another session, such as a fork."""
        blank = msgspec.structs.replace(self._blank, session_id=session_id)
        return MeteredModel(self._model, self._note, blank, require=self._require, wait=self._wait, clock=self._clock)

    def take_unreported(self) -> AnswerUsage | None:
        """Estimated usage of an answer that was interrupted; returned once, and already recorded."""
        usage, self._unreported = self._unreported, None
        return usage

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The answer, unchanged; it is noted when it is over, however it ends."""
        self._require(self._model)
        while (delay := self._wait()) > 0:
            yield Retrying(delay=delay, why="own limit for a minute")
            await asyncio.sleep(delay)
        name, session = self._model.name, self._blank.session_id
        keeps_words = _log.isEnabledFor(logging.DEBUG)
        if keeps_words:
            told = {"session": session, "model": name, "request": [_as_json(one) for one in request.messages]}
            _log.debug("the model is asked", extra={"fields": told})
        begun, said, error = self._clock(), list[str](), None
        record = {
            "at": time.time(),
            "model": name,
            "provider": provider_prefix(name),
            "ending": "stopped",
            "retries": 0,
        }
        try:
            async with aclosing(self._model.stream(request)) as deltas:
                async for delta in deltas:
                    match delta:
                        case TextDelta(text=text) | ThoughtDelta(text=text) | ToolDelta(arguments=text):
                            record.setdefault("first_token_seconds", self._clock() - begun)
                            if keeps_words:
                                said.append(text)
                        case Retrying(attempt=attempt):
                            record["retries"] = attempt
                        case AnswerUsage():
                            record |= msgspec.structs.asdict(delta)
                        case AnswerEnded(reason=reason):
                            record["ending"] = reason
                    yield delta
        except ModelError as failure:
            error, record["ending"] = failure, failure.kind
            raise
        finally:
            if (usage := take_unreported(self._model)) is not None:
                self._unreported = usage
                record |= msgspec.structs.asdict(usage)
            record |= {"seconds": self._clock() - begun, "failed": error is not None}
            self._tell(msgspec.structs.replace(self._blank, **record), request, error)
            if keeps_words:
                _log.debug("its words", extra={"fields": {"session": session, "answer": "".join(said)}})

    def _tell(self, record: RequestRecord, request: ChatRequest, error: ModelError | None) -> None:
        fields: dict[str, object] = {
            "session": record.session_id,
            "model": record.model,
            "messages": len(request.messages),
            "characters": sum(len(message.text) for message in request.messages),
            "input_tokens": record.input_tokens,
            "cached_tokens": record.cached_tokens,
            "output_tokens": record.output_tokens,
            "cost": record.cost,
            "ending": record.ending,
            "retries": record.retries,
            "seconds": round(record.seconds, 3),
        }
        if record.first_token_seconds is not None:
            fields["first_token_seconds"] = round(record.first_token_seconds, 3)
        if error is not None:
            fields |= {"error": error.title, "details": error.details}
            _log.warning("the model failed", extra={"fields": fields})
        else:
            _log.info("the model answered", extra={"fields": fields})
        self._note(record)


def _as_json(message: ChatMessage) -> dict[str, object]:
    """A message without its pictures, of which only the number is of use."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.calls]
    return {"role": message.role, "text": message.text, "images": len(message.images), "calls": calls}
