"""A model for a program under test that is a file (`fake/...`): for tests that are not about models and their wire.

program = [OI_TUI, "run", *script.arguments, "add"]
script.write("```python\\nprint(1 + 1)\\n```", ScriptedAnswer(text="It is 2.", pause_after=1))
...
script.requests[0]["messages"]
"""

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.chat_model import ChatRequest
from oi_tui.app.engine.models.messages import request_messages
from oi_tui.app.engine.models.scripted import FAKE, ScriptedAnswer


class Script:
    """A script in a person's home, so that its name is short, with a record of the requests."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self.path = home / "script"
        self._record = home / "script.requests"
        self._go = home / "script.release"
        self._record.touch()
        self.name = f"{FAKE}~/script"
        self.arguments = ["-m", self.name]
        """What makes the program of that person ask it."""
        self.write("Hello.")

    def write(self, *answers: str | ScriptedAnswer) -> None:
        """Answer with these from now on, in order; the last is repeated."""
        self._go.unlink(missing_ok=True)
        beside = self.path.with_name("script.new")
        beside.write_bytes(msgspec.json.encode(answers))
        os.replace(beside, self.path)

    def release(self) -> None:
        """Let a paused answer continue."""
        self._go.touch()

    def wait_asked(self, timeout: float = 60.0) -> None:
        """Wait until the model was asked."""
        deadline = time.monotonic() + timeout
        while not self._record.stat().st_size:
            assert time.monotonic() < deadline, "the model was not asked"
            time.sleep(0.02)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All requests in order, as they would go over the wire to a model that takes text alone."""
        asked = [msgspec.json.decode(line, type=ChatRequest) for line in self._record.read_bytes().splitlines()]
        return [{"messages": request_messages(request.messages, tools=False, images=False)} for request in asked]
