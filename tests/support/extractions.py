"""An extraction of six records, and a model that answers about each when a test lets it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, ChatRequest, Delta, TextDelta
from oi_tui.app.engine.core.extractions import BeginExtraction
from oi_tui.app.engine.testing import FakeModel


class GatedModel(FakeModel):
    """Answers each record when a test lets it, at a cent each."""

    def __init__(self) -> None:
        super().__init__("")
        self.gate = asyncio.Semaphore(0)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        async with self._asked:
            self._asked.notify_all()
        await self.gate.acquire()
        word = next(word for word in request.messages[-1].text.split() if word.startswith("fruit"))
        yield TextDelta(text=json.dumps({"name": word, "price": "1,20 €"}))
        yield AnswerUsage(input_tokens=10, output_tokens=5, cost=0.01)
        yield AnswerEnded()


def begin(folder: Path, **more: Any) -> BeginExtraction:
    (folder / "list.txt").write_text("".join(f"fruit{number} is here\n" for number in range(6)))
    said: dict[str, Any] = {"source": str(folder / "list.txt"), "output": str(folder / "out.jsonl"), "workers": 1}
    return BeginExtraction(**{**said, "schema": "name, price: number", **more})
