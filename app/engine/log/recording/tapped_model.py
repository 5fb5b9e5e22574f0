"""Wraps a model, and records what the model says before anybody has read it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from oi_tui.app.engine.core.chat_model import ChatRequest, Delta, Model, ModelWrapper
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.log.recording.form import ModelBegan, ModelFailed, ModelSaid
from oi_tui.app.engine.log.recording.tape import Tape


class TappedModel(ModelWrapper):
    """A model whose answers are written down."""

    def __init__(self, model: Model, tape: Tape) -> None:
        super().__init__(model)
        self._tape = tape

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        self._tape.put(ModelBegan())
        try:
            async with aclosing(self._model.stream(request)) as deltas:
                async for delta in deltas:
                    self._tape.put(ModelSaid(delta=delta))
                    yield delta
        except ModelError as error:
            self._tape.put(ModelFailed(kind=error.kind, title=error.title, hint=error.hint, details=error.details))
            raise
        finally:
            self._tape.end_answer()
