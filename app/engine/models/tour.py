"""A model that is a tour of the program: a script answers, and reacts to what the person does. It asks nobody."""

import asyncio
from collections.abc import AsyncGenerator

from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, ChatRequest, Delta, TextDelta
from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.models.tour_script import tour_answer

_PIECE = 10
"""Characters in one piece."""

_PACE = 80
"""Pieces a second: about as fast as a quick model, and slow enough to be followed."""


class TourModel:
    """The tour; a `Model`. The conversation says where it is, so it can be resumed."""

    name = TOUR
    takes_images = False
    tells_price = True
    context_window: int | None = None

    def __init__(self, *, pace: float = _PACE) -> None:
        """`pace`: pieces a second."""
        self._pace = pace

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The tour's next answer."""
        text = tour_answer(request.messages)
        for start in range(0, len(text), _PIECE):
            await asyncio.sleep(1 / self._pace)
            yield TextDelta(text=text[start : start + _PIECE])
        yield AnswerUsage(input_tokens=0, output_tokens=0, cost=0.0)
        yield AnswerEnded()
