"""API keys that the person keeps for another day, or deletes: beside the session, since a keyring may take its time."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.session.recent_models import KeyRing


class KeepsKeys(Protocol):
    """Where keys are kept."""

    async def keep_key(self, name: str, api_base: str, key: str) -> str:
        """Keep the key of this model's provider or server for another day; where it is now, in words."""
        ...

    async def forget_key(self, whose: str) -> tuple[str, str]:
        """Delete what is kept for this provider or address; what was done, and what is left of it, as sentences."""
        ...


class KeptKeys:
    """Keeps and deletes for one session, which says how that went."""

    def __init__(self, session: Session, kept: KeepsKeys, keys: KeyRing) -> None:
        """`keys` are those in memory."""
        self._session, self._kept, self._keys = session, kept, keys
        self.tasks: list[asyncio.Task[Any]] = []
        """Running tasks, to be awaited when the session closes."""

    def keep(self, name: str, api_base: str, key: str) -> None:
        """Keep the key of this model's provider or server."""
        self._begin(self._keep(name, api_base, key))

    def forget(self, whose: str, then: Callable[[], None]) -> None:
        """Delete the key that is kept for this provider or address, and forget it where it came from there; `then` the
        offers have changed."""
        self._begin(self._forget(whose, then))

    def _begin(self, work: Any) -> None:
        self.tasks = [*(task for task in self.tasks if not task.done()), asyncio.create_task(work)]

    async def _keep(self, name: str, api_base: str, key: str) -> None:
        try:
            place = await self._kept.keep_key(name, api_base, key)
        except OiTuiError as error:
            self._session.report(error)
        else:
            hint = "To delete it: /model, or oi-tui auth rm."
            self._session.notice("info", f"The API key is kept {place}.", hint=hint)

    async def _forget(self, whose: str, then: Callable[[], None]) -> None:
        try:
            done, left = await self._kept.forget_key(whose)
        except OiTuiError as error:
            self._session.report(error)
        else:
            self._keys.forget_kept(whose)
            self._session.notice("info", done, hint=left)
        then()
