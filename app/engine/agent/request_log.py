"""What the log says of a request to a model: its size, its time, how it ended; at level debug also the words."""

import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Delta,
    Model,
    Retrying,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import ModelError

_log = logging.getLogger(__name__)


async def logged_answer(
    model: Model, request: ChatRequest, session_id: str, clock: Callable[[], float] = time.monotonic
) -> AsyncGenerator[Delta, None]:
    """The answer, unchanged; one line of the log when it is over, however it ends."""
    fields: dict[str, object] = {
        "session": session_id,
        "model": model.name,
        "messages": len(request.messages),
        "characters": sum(len(message.text) for message in request.messages),
    }
    keeps_words = _log.isEnabledFor(logging.DEBUG)
    if keeps_words:
        told = {"session": session_id, "model": model.name, "request": [_as_json(one) for one in request.messages]}
        _log.debug("the model is asked", extra={"fields": told})
    begun, said, retries, ending = clock(), list[str](), 0, "stopped"
    first: float | None = None
    try:
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta(text=text) | ThoughtDelta(text=text) | ToolDelta(arguments=text):
                        first = first if first is not None else clock() - begun
                        if keeps_words:
                            said.append(text)
                    case Retrying():
                        retries += 1
                    case AnswerUsage():
                        fields |= {"input_tokens": delta.input_tokens, "output_tokens": delta.output_tokens}
                    case AnswerEnded():
                        ending = delta.reason
                yield delta
    except ModelError as error:
        ending = f"error: {error.kind}"
        fields |= {"error": error.title, "details": error.details}
        raise
    finally:
        fields |= {"ending": ending, "retries": retries, "seconds": round(clock() - begun, 3)}
        if first is not None:
            fields["first_token_seconds"] = round(first, 3)
        level = logging.WARNING if ending.startswith("error") else logging.INFO
        _log.log(level, "the model answered" if level == logging.INFO else "the model failed", extra={"fields": fields})
        if keeps_words:
            _log.debug("its words", extra={"fields": {"session": session_id, "answer": "".join(said)}})


def _as_json(message: ChatMessage) -> dict[str, object]:
    """A message without its pictures, of which only the number is of use."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.calls]
    return {"role": message.role, "text": message.text, "images": len(message.images), "calls": calls}
