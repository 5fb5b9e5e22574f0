"""The engine's end of the wire: one `Engine`, and its front ends, one at a time.

`Exchange.serve` returns when the front end sent `Close`, when it went away and the engine should not outlive it, or
when nobody reconnected to an idle detached engine. By then the session is saved and the kernels have ended.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.protocol import (
    Attach,
    Detached,
    Failed,
    Hello,
    Reply,
    Standing,
    failure_reply,
    fatal_reply,
)
from oi_tui.app.engine.core.protocol_lines import ProtocolError, decode_request
from oi_tui.app.engine.core.verbs import AnyVerb, Close, Detach, Open
from oi_tui.app.engine.session.catching_up import has_content
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.line import Line
from oi_tui.app.engine.session.listener import Listener
from oi_tui.app.engine.session.outbox import Send

LOOK = 30.0
"""Seconds between two looks at whether a detached engine still has something to do."""

TELLING_OFF = 1.0
"""Seconds a front end has to receive the news that another one takes its place."""

MakeEngine = Callable[[Configure, Send], Engine]

_log = logging.getLogger(__name__)


class Exchange:
    """Connects one engine with the current front end. Replies without a front end are dropped: the next one gets them
    in its replay."""

    def __init__(self, make: MakeEngine) -> None:
        self._make = make
        self._present: Line | None = None
        """The attached front end."""
        self._told: Line | None = None
        """The same, once it has received the past events."""
        self._followed: Line | None = None
        """Whose lines are read: one that detaches may still say what it has in mind."""
        self._engine: Engine | None = None
        self._setup: Configure | None = None
        self._outlives = False
        self._broken = False
        self._listener: Listener | None = None
        self._arrivals: asyncio.Queue[tuple[Line, Attach]] = asyncio.Queue()
        self._welcoming = asyncio.Lock()
        """Held while one takes the place of another, so that the next one takes the place of that one."""

    @property
    def outlives(self) -> bool:
        """Whether the engine runs on without a front end: it ignores a hang-up."""
        return self._outlives

    async def serve(self, first: Line) -> None:
        """Serve this front end and those that come after it."""
        line = first
        try:
            self._present = self._told = first
            self._engine = await self._configure(first)
            if self._engine is None:
                return
            ends = await self._follow(self._engine, first, attached=False)
            while not ends:
                line.hang_up()  # it is gone: this is our end of it
                arrived = await self._next_line(self._engine)
                if arrived is None:
                    return
                line = arrived
                ends = await self._follow(self._engine, line, attached=True)
        finally:
            if self._engine is not None:
                self._engine.keep_kernels()  # unless it received `Close` and has ended: then nobody quit
                await self._engine.close()
            if self._listener is not None:
                self._listener.close()
            await line.close()

    async def send(self, reply: Reply) -> None:
        """Send this to the current front end."""
        self._broken |= isinstance(reply, Failed) and reply.fatal
        if self._told is not None:
            await self._told.send(reply)

    async def _configure(self, line: Line) -> Engine | None:
        """The engine, after both greetings; None (and the front end got the reason) if they do not fit."""
        try:
            if not await line.is_greeted():
                return None
            setup = await line.request()
            if not isinstance(setup, Configure):
                await line.send(Failed(title="The second line must be Configure.", fatal=True))
                return None
            self._setup, self._outlives = setup, setup.outlives
            return self._make(setup, self.send)
        except ProtocolError as error:
            await line.refuse(error)
        except OiTuiError as error:
            await line.send(fatal_reply(error))
        return None

    async def _follow(self, engine: Engine, line: Line, *, attached: bool) -> bool:
        """Follow verbs until `Close` or the end of the connection; whether the engine ends with it. The first `Open` of
        one that was `attached` is answered with what is open."""
        self._followed = line
        while (data := await line.receive()) and self._present in (line, None):
            try:
                request = decode_request(data)
            except ProtocolError as error:
                await self.send(Failed(title="A line from the front end was not understood.", details=str(error)))
                continue
            verb = request if isinstance(request, Hello | Configure | Attach) else self._admit(request)
            try:
                match verb:
                    case None:
                        break
                    case Hello() | Configure() | Attach():
                        pass
                    case Detach():
                        await self._detach(engine, line)
                    case Open() if attached:
                        attached, self._told = False, line
                        await engine.resend_state()
                    case _:
                        await engine.handle(verb)
            except OiTuiError as error:
                await self.send(fatal_reply(error))
                return True
            if isinstance(verb, Close):
                return True
        if self._present is line:
            self._present = self._told = None
        self._followed = None
        return self._broken or not (self._present or (self._outlives and await self._is_reachable(engine)))

    def _admit(self, verb: AnyVerb) -> AnyVerb | None:
        """The verb as it is followed; None where the front end leaves by it."""
        return verb

    # -- without a front end ---------------------------------------------------------------------------

    async def _detach(self, engine: Engine, line: Line) -> None:
        try:
            await self._listen(engine)
        except OiTuiError as error:
            await line.send(failure_reply(error))
            return
        self._outlives = True
        self._present = self._told = None
        await line.send(self._words_to_leaver(engine))

    async def _is_reachable(self, engine: Engine) -> bool:
        """Whether a front end that lost this engine can reconnect."""
        try:
            await self._listen(engine)
        except OiTuiError as error:
            _log.warning("the front end was lost, and the engine ends: %s", error)
            return False
        return True

    async def _listen(self, engine: Engine) -> None:
        """Have a door with the name of the session; OiTuiError if that cannot be."""
        current = engine.current_session
        if current is None or not (has_content(current.session.transcript) or current.extractions.tasks()):
            raise OiTuiError("There is nothing to detach yet.")
        if self._listener is not None and self._listener.session_id == current.id:
            return
        former, self._listener = self._listener, None
        if former is not None:
            former.close()
        self._listener = await Listener.open(current.id, self._standing, self._welcome)

    async def _next_line(self, engine: Engine) -> Line | None:
        """The next front end; None if none comes and nothing runs any more."""
        limit = self._idle_limit
        rests_since = time.monotonic()
        while not self._broken:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(limit / 4, LOOK)):
                    line, attach = await self._arrivals.get()
                    self._outlives = attach.outlives
                    return line
            if engine.works:
                rests_since = time.monotonic()
            elif time.monotonic() - rests_since >= limit:
                _log.info("nothing was asked for %d seconds: the end", limit)
                return None
        return None

    async def _welcome(self, line: Line, attach: Attach) -> None:
        """Attach another front end instead of the present one, if it may."""
        async with self._welcoming:
            if await self._takes_in(line, attach):
                return
        hint = "oi-tui attach --take-over takes it over."
        await line.reject(Failed(title="Another terminal shows this session.", hint=hint, fatal=True), TELLING_OFF)

    async def _takes_in(self, line: Line, attach: Attach) -> bool:
        former = self._present
        if former is not None and not attach.take_over:
            return False
        self._present, self._told = line, None
        if former is not None and self._engine is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TELLING_OFF):
                    await former.send(self._words_to_leaver(self._engine, taken_over=True))
        self._arrivals.put_nowait((line, attach))
        for left in (former, self._followed):
            if left is not None:
                left.hang_up()
        return True

    def _words_to_leaver(self, engine: Engine, *, taken_over: bool = False) -> Detached:
        current = engine.current_session
        session_id = "" if current is None else current.id
        return Detached(session_id=session_id, idle_limit=self._idle_limit, taken_over=taken_over)

    def _standing(self) -> Standing:
        assert self._engine is not None
        assert self._setup is not None
        current = self._engine.current_session
        return Standing(
            session_id="" if current is None else current.id,
            state="idle" if current is None else current.state,
            attached=self._present is not None,
            cwd=self._setup.cwd,
            settings=self._setup.settings,
        )

    @property
    def _idle_limit(self) -> float:
        assert self._setup is not None
        return self._setup.settings.detach.idle_limit
