"""The person's keyring: asked in a process of its own, with a deadline, because it may be locked, and may hang."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

from oi_tui.app.engine.core.errors import OiTuiError

COMMAND = (sys.executable, "-P", "-m", "oi_tui.app.engine.files.keyring_process")
SERVICE = "oi-tui"
"""What all entries of ours are filed under."""

PATIENCE = 30.0
"""Seconds that a keyring has: enough to type the password that unlocks it, where there is a window for that."""

LONGEST = 200
"""Characters of a backend's message that are shown."""


class KeyringError(OiTuiError):
    """There is no keyring that can be used, now or at all; the title continues "The keyring cannot be used: "."""


class Keyring:
    """Secrets by name. Each call may take as long as `patience` and raises KeyringError if it comes to nothing."""

    def __init__(self, environ: Mapping[str, str] = os.environ, *, patience: float = PATIENCE) -> None:
        self._environ = environ
        self._patience = patience

    async def get(self, name: str) -> str:
        """The secret; "" if the keyring has none of this name."""
        return await self._ask("get", name)

    async def put(self, name: str, secret: str) -> None:
        """Keep it, replacing an older one."""
        await self._ask("set", name, secret)

    async def delete(self, name: str) -> None:
        """Forget it, if it is there."""
        await self._ask("delete", name)

    async def _ask(self, act: Literal["get", "set", "delete"], name: str, secret: str = "") -> str:
        question = json.dumps({"act": act, "service": SERVICE, "name": name, "secret": secret}).encode()
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(self._environ),
            start_new_session=True,  # no terminal to ask on, and one group to end
        )
        try:
            async with asyncio.timeout(self._patience):
                said, _ = await process.communicate(question)
        except TimeoutError:
            raise KeyringError(f"it did not answer within {self._patience:g} seconds; is it locked?") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        try:
            answer = json.loads(said)
        except ValueError:
            raise KeyringError(f"it ended without an answer ({process.returncode})") from None
        match answer:
            case {"why": str(why)}:
                raise KeyringError("".join(c if c.isprintable() else " " for c in why[:LONGEST]))
            case {"secret": str(found)}:
                return found
        return ""
