"""Stands between the loop and a model, and writes down what the model says before anybody has read it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from oi_tui.app.engine.core.chat_model import ChatRequest, Delta, Model, retry_now
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.log.recording.form import ModelBegan, ModelFailed, ModelSaid
from oi_tui.app.engine.log.recording.tape import Tape


class TappedModel:
    """A model whose answers are written down."""

    def __init__(self, model: Model, tape: Tape) -> None:
        self._model = model
        self._tape = tape

    @property
    def name(self) -> str:
        """Name for the screen."""
        return self._model.name

    @property
    def context_window(self) -> int | None:
        """Tokens that fit, None if unknown."""
        return self._model.context_window

    @property
    def takes_images(self) -> bool:
        """Whether pictures may be sent."""
        return self._model.takes_images

    @property
    def tells_price(self) -> bool:
        """Whether what an answer costs will be known."""
        return self._model.tells_price

    def retry_now(self) -> None:
        """Do not wait any longer for the next attempt."""
        retry_now(self._model)

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
