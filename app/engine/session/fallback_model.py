"""A model with others behind it: when it cannot answer, the next one does, and a notice says so."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec

from oi_tui.app.engine.core.chat_model import (
    ChatRequest,
    Delta,
    Model,
    ModelWrapper,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import ModelError, ModelErrorKind, OiTuiError

COOLING = 60.0
"""Seconds for which a model that failed is passed over, unless its server asks for more."""

ELSEWHERE: frozenset[ModelErrorKind] = frozenset({
    *("no_key", "wrong_key", "unreachable", "rate_limited", "server", "cut", "unknown_model", "timeout", "bad_reply"),
})  # fmt: skip
"""What may go well with another model. Not a request that is wrong or too long, nor what the person must decide."""

Tell = Callable[[str, str], None]
"""Takes the title and the hint of a notice."""


class FallbackModel(ModelWrapper):
    """Asks the first model that has not failed lately. The first of all is asked again as soon as it may work."""

    def __init__(
        self,
        first: Model,
        others: Sequence[str],
        open_model: Callable[[str], Awaitable[Model]],
        tell: Tell,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`others` are the names of models, in the order in which they are tried; each is opened when it is needed."""
        super().__init__(first)  # from then on, the one in use
        self.first = first
        self._names = (first.name, *others)
        self._opened: dict[str, Model] = {first.name: first}
        self._open_model = open_model
        self._tell = tell
        self._clock = clock
        self._cools_until: dict[str, float] = {}

    @property
    def name(self) -> str:
        """The name of the first model, which the person chose."""
        return self._names[0]

    @property
    def context_window(self) -> int | None:
        """Tokens that fit into each of the models that were asked so far."""
        known = [model.context_window for model in self._opened.values() if model.context_window]
        return min(known, default=None)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The answer of the first that gives one. Where one breaks in the middle of its answer, the error says that
        the next will continue when it is asked."""
        failure: ModelError | None = None
        for name in self._in_turn():
            model = await self._open(name)
            if isinstance(model, ModelError):
                failure = failure or model
                continue
            if failure is not None:
                self._tell(f"{failure.title.rstrip('.')}. Continuing with {name}.", failure.hint)
            self._model, arrived = model, False
            asked = request if model.takes_images else _without_images(request)
            try:
                async with aclosing(model.stream(asked)) as deltas:
                    async for delta in deltas:
                        arrived = arrived or isinstance(delta, TextDelta | ThoughtDelta | ToolDelta)
                        yield delta
                return
            except ModelError as error:
                if error.kind not in ELSEWHERE:
                    raise
                self._cools_until[name] = self._clock() + max(COOLING, error.wait or 0.0)
                if arrived:
                    error.continues = len(self._names) > 1
                    raise
                failure = error
        assert failure is not None
        raise failure

    def _in_turn(self) -> list[str]:
        """The models in the order in which they are asked; if all failed lately, the one that may work soonest."""
        now = self._clock()
        ready = [name for name in self._names if self._cools_until.get(name, 0.0) <= now]
        return ready or [min(self._names, key=lambda name: self._cools_until[name])]

    async def _open(self, name: str) -> Model | ModelError:
        """The opened model, or why it cannot be opened: the next one may answer."""
        if name not in self._opened:
            try:
                self._opened[name] = await self._open_model(name)
            except OiTuiError as error:
                self._tell(f"{name} could not be opened: {error.title}", error.hint)
                self._cools_until[name] = self._clock() + COOLING
                return ModelError("unknown_model", error.title, hint=error.hint)
        return self._opened[name]


def _without_images(request: ChatRequest) -> ChatRequest:
    messages = tuple(msgspec.structs.replace(message, images=()) for message in request.messages)
    return msgspec.structs.replace(request, messages=messages)
