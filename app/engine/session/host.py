"""An engine that another assistant leads: front ends come to look and to answer its questions, and none ends it."""

from typing import NoReturn

import msgspec

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.protocol import Failed
from oi_tui.app.engine.core.verbs import AnyVerb, Close, Open
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.listener import Listener
from oi_tui.app.engine.session.wire import Exchange


class Host(Exchange):
    """Front ends, one at a time, of an engine that lives as long as the assistant does."""

    async def begin(self, setup: Configure) -> Engine:
        """The engine, with a session; OiTuiError if there can be none."""
        self._setup, self._outlives = setup, True
        self._engine = engine = self._make(setup, self.send)
        await engine.handle(Open())
        return engine

    @property
    def is_attended(self) -> bool:
        """Whether a front end shows the session."""
        return self._told is not None

    async def open_door(self) -> None:
        """Let front ends attach from now on; OiTuiError if that fails."""
        if self._listener is None and self._engine is not None and (current := self._engine.current_session):
            self._listener = await Listener.open(current.id, self._standing, self._welcome)

    async def welcome_all(self) -> NoReturn:
        """Serve those that come, one after the other, until this is cancelled."""
        assert self._engine is not None
        while True:
            line, _ = await self._arrivals.get()
            await self._follow(self._engine, line, attached=True)
            line.hang_up()

    async def close(self, why: str) -> None:
        """Save the session, end its kernels, and send the attached front end the reason `why`."""
        if self._engine is not None:
            await self._engine.close()
        await self.send(Failed(title=why, fatal=True))
        if self._listener is not None:
            self._listener.close()
        if self._present is not None:
            await self._present.close()

    def _admit(self, verb: AnyVerb) -> AnyVerb | None:
        match verb:
            case Close():
                return None  # it only leaves: the assistant is still at work
            case Open(beside=False):
                return msgspec.structs.replace(verb, beside=True)
            case _:
                return verb

    async def _listen(self, engine: Engine) -> None:
        if self._listener is None:
            raise OiTuiError("There is nothing to detach yet.")

    @property
    def _idle_limit(self) -> float:
        return 0.0
