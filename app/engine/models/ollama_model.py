"""A model of an Ollama server, in Ollama's own API: the server reports what the model can do, and each request sets the
context length."""

import asyncio

import msgspec

from oi_tui.app.engine.core.chat_model import ChatRequest, SealDelta
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.models import ollama_wire
from oi_tui.app.engine.models.answer_bounds import EVENT
from oi_tui.app.engine.models.facts import Facts, decide_switch
from oi_tui.app.engine.models.failures import BoundBroken, UnreadableAnswer
from oi_tui.app.engine.models.lean_model import LeanAttempt, LeanModel
from oi_tui.app.engine.models.ollama_wire import ModelCard
from oi_tui.app.engine.models.sealed_thoughts import ThoughtPieces
from oi_tui.app.engine.models.served_model import Attempt
from oi_tui.app.engine.models.wire import decode_json

PATIENCE = 5.0
"""Seconds until the server has described a model; after that it is asked without those facts."""


class OllamaModel(LeanModel):
    """One model of a server that is started by the person."""

    _card: ModelCard | None = None

    async def _ready(self) -> Facts:
        facts = await super()._ready()
        if self._card is None and (card := await self._ask_card(facts)) is not None:
            self._card = card
            section, abilities = self._section, card.capabilities
            if abilities is not None:
                images = decide_switch(section.images, "vision" in abilities)
                tools = decide_switch(section.tools, "tools" in abilities)
                facts = msgspec.structs.replace(facts, takes_images=images, takes_tools=tools)
            window = section.context_window or self._context_of_environment() or card.context
            facts = self._facts = msgspec.structs.replace(facts, context_window=window)
        return facts

    def _look_up(self) -> Facts:
        facts = super()._look_up()
        window = self._section.context_window or self._context_of_environment() or ollama_wire.USUAL_CONTEXT
        return msgspec.structs.replace(facts, context_window=window, takes_schema=True)

    def _context_of_environment(self) -> int | None:
        """The size that the person gave to all models of the server."""
        told = self._environ.get("OLLAMA_CONTEXT_LENGTH", "")
        return int(told) if told.isascii() and told.isdecimal() and len(told) < 10 and int(told) else None

    def _begin(self, facts: Facts, request: ChatRequest) -> Attempt:
        body = ollama_wire.chat_lines_body(facts, self._section, request)
        return LeanAttempt(facts, self._post(facts, ollama_wire.PATH, body), request, ollama_wire.read_line, _seal_none)

    async def _ask_card(self, facts: Facts) -> ModelCard | None:
        """The server's description of the model; None if it has none: the request then reports why."""
        await self._connections.prepare()
        from aiohttp import ClientError  # heavy

        try:
            async with asyncio.timeout(PATIENCE):
                async with self._post(facts, ollama_wire.SHOW_PATH, {"model": facts.model}) as response:
                    if response.status != 200:
                        return None
                    body = bytearray()
                    while len(body) <= 8 * EVENT and (piece := await response.content.readany()):
                        body += piece
            return decode_json(bytes(body), ModelCard)
        except (ClientError, OSError, TimeoutError, ModelError, BoundBroken, UnreadableAnswer):
            return None


def _seal_none(words: str, pieces: ThoughtPieces) -> tuple[SealDelta, ...]:
    """Ollama's templates drop thoughts of earlier answers."""
    return ()
