"""A model that is a file: answers from a script, for demonstrations and for tests that are not about models.

`-m fake/demo.json` (or `fake/~/demo.json`) answers the first request with the first item of the list in `demo.json`,
and so on; the last one repeats, and a changed script starts again. An item is a text, or an object with the
fields of `ScriptedAnswer`:

    ["I'll add.\\n```python\\n1 + 1\\n```", {"text": "It is 2.", "pace": 20}]

It asks nobody, costs nothing, loads no library, and its name always says what it is. Two files beside the script are
for tests: to `demo.json.requests` each request is appended as a line of JSON, if that file is there; and a
paused answer continues once there is a `demo.json.release`.
"""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, ChatRequest, Delta, TextDelta, ToolDelta
from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.files.owned_file import read_owned_file

FAKE = "fake/"
"""Names of scripted models begin so; the path of the script follows."""
RELEASE_INTERVAL = 0.02
"""Seconds between two looks for the file that ends a pause."""

_HINT = 'A script is a JSON list of answers: ["Hello.", {"text": "Slowly.", "pace": 5}].'


class ScriptedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A native call behind the text of an answer."""

    tool: str
    """Its name; `execute` runs code."""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class ScriptedAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of a script."""

    text: str = ""
    chunk: int = 4
    """Characters in one piece."""
    pace: float = 0.0
    """Pieces a second; 0 means as fast as possible."""
    pause_after: int | None = None
    """Wait after this many pieces for the file that ends the pause."""
    calls: tuple[ScriptedCall, ...] = ()
    error: str = ""
    """Fail with this error at the end of the text."""


class ScriptedModel:
    """Answers from a script; a `Model`."""

    takes_images = False
    tells_price = True
    context_window: int | None = None

    def __init__(self, name: str) -> None:
        """`name` is `fake/` and the path of the script; ModelError if it cannot be read as one."""
        self.name = name
        self._path = Path(name.removeprefix(FAKE)).expanduser()
        self._script = b""
        self._asked = 0
        _read_script(self._path)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The next answer of the script in its current state."""
        answer = await asyncio.to_thread(self._next, request)
        pieces = [answer.text[start : start + answer.chunk] for start in range(0, len(answer.text), answer.chunk)]
        for number, piece in enumerate(pieces):
            if number == answer.pause_after:
                await self._wait_for_release()
            await asyncio.sleep(1 / answer.pace if answer.pace else 0)
            yield TextDelta(text=piece)
        for index, call in enumerate(answer.calls):
            arguments = msgspec.json.encode(call.arguments).decode()
            yield ToolDelta(index=index, id=f"call-{self._asked}-{index}", name=call.tool, arguments=arguments)
        if answer.error:
            raise ModelError("cut" if pieces else "server", answer.error)
        spoken = sum(len(message.text) for message in request.messages)
        yield AnswerUsage(input_tokens=-(-spoken // 4), output_tokens=-(-len(answer.text) // 4), cost=0.0)
        yield AnswerEnded()

    def _next(self, request: ChatRequest) -> ScriptedAnswer:
        script, answers = _read_script(self._path)
        if script != self._script:
            self._script, self._asked = script, 0
        _append(Path(f"{self._path}.requests"), msgspec.json.encode(request) + b"\n")
        answer = answers[min(self._asked, len(answers) - 1)]
        self._asked += 1
        return answer

    async def _wait_for_release(self) -> None:
        while not Path(f"{self._path}.release").exists():  # noqa: ASYNC110 # another process makes it
            await asyncio.sleep(RELEASE_INTERVAL)


def _read_script(path: Path) -> tuple[bytes, list[ScriptedAnswer]]:
    """The script as bytes and as answers; ModelError if it is none."""
    try:
        text = read_owned_file(path, "script", _HINT, owner=None)
    except SettingsError as error:
        raise ModelError("unknown_model", error.title, hint=error.hint) from error
    if text is None:
        raise ModelError("unknown_model", f"There is no script {path}.", hint=_HINT)
    try:
        items = msgspec.json.decode(text, type=list[str | ScriptedAnswer])
    except msgspec.MsgspecError as error:
        raise ModelError("unknown_model", f"{path} is no script: {error}.", hint=_HINT) from error
    answers = [ScriptedAnswer(text=item) if isinstance(item, str) else item for item in items]
    if not answers or any(answer.chunk < 1 or answer.pace < 0 for answer in answers):
        raise ModelError("unknown_model", f"{path} is no script: it has no answer, or an impossible one.", hint=_HINT)
    return text.encode(), answers


def _append(path: Path, line: bytes) -> None:
    """Append to an existing plain file; it is not created, and a link is not followed."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # nobody wants to know
    except OSError as error:
        raise ModelError("other", f"{path} cannot be written: {error.strerror}.") from error
    with os.fdopen(descriptor, "ab") as file:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            file.write(line)
