"""The engine: verbs in, replies out. Several sessions may be open in it; each does its work beside the others."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, assert_never

from oi_tui.app.engine.core.errors import OiTuiError, StoreError
from oi_tui.app.engine.core.library_replies import FormatsFound
from oi_tui.app.engine.core.library_verbs import (
    EditSession,
    ExportSession,
    FindFormats,
    FindPrompts,
    FindSessions,
    PreviewSession,
)
from oi_tui.app.engine.core.protocol import DraftKept, Failed, SandboxFailed, SessionGone, failure_reply
from oi_tui.app.engine.core.values import SessionVerb
from oi_tui.app.engine.core.verbs import AnyVerb, Close, Detach, Fork, KeepDraft, Leave, Open, Submit, WorkVerb
from oi_tui.app.engine.session.library import LibraryVerb
from oi_tui.app.engine.session.open_session import OpenSession
from oi_tui.app.engine.session.outbox import TELLING
from oi_tui.app.engine.session.services import Services, Trial
from oi_tui.app.engine.session.sessions import Sessions

EngineVerb = Open | LibraryVerb | KeepDraft | Detach | Close
"""What is about no session that is open, or about all of them."""

_log = logging.getLogger(__name__)


class Engine:
    """Follows verbs: those about a session are its own business, the others are followed here."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._send = services.send
        self._sessions = Sessions(services, self._report_broken)
        self._opened = False
        """Whether a session was ever open."""
        self._sandbox_fails = False
        self._last_words: set[asyncio.Task[None]] = set()
        self._trying: asyncio.Task[None] | None = None
        self._closed = False

    async def handle(self, verb: AnyVerb) -> None:
        """Follow one verb; returns soon, slow work continues in a task.

        OiTuiError if no session can continue; while one is open, only the front end gets the error.
        """
        session = self._sessions.find(verb.session_id) if isinstance(verb, SessionVerb) else None
        try:
            if not (self._opened or isinstance(verb, Open)):
                await self._send(Failed(title="The first verb must be Open.", fatal=True))
            elif not isinstance(verb, SessionVerb):
                self._services.log.ask(verb)
                await self._follow(verb)
            elif session is None:
                await self._send(_not_open(verb))
            else:
                self._services.log.ask(verb)
                await self._follow_in(session, verb)
        except OiTuiError as error:
            if isinstance(verb, Open | Fork) and not self._sessions.open_ones:
                raise
            send = self._send if session is None else session.send
            await send(failure_reply(error))

    async def _follow(self, verb: EngineVerb) -> None:
        match verb:
            case Open():
                await self._open(verb)
            case FindFormats() if self._services.library is None:
                await self._send(FormatsFound())  # nothing is written, either
            case FindSessions() | PreviewSession() | EditSession() | ExportSession() | FindPrompts() | FindFormats():
                self._ask_library(verb)
            case KeepDraft():
                if verb.text:
                    self._services.expect_request()
                if self._services.store is not None:
                    self._services.store.remember(self._draft_key, verb.text)
            case Detach():
                await self._send(Failed(title="This engine ends with its front end: it cannot be detached."))
            case Close():
                await self.close()
            case _:
                assert_never(verb)

    async def _follow_in(self, session: OpenSession, verb: Fork | Leave | WorkVerb) -> None:
        match verb:
            case Fork():
                await self._sessions.fork(session, verb)
            case Leave():
                ending = self._sessions.leave(session, "The session was left.")
                self._say_later(self._say_gone(session, ending))
            case _:
                await session.follow(verb)

    @property
    def current_session(self) -> OpenSession | None:
        """The session that was opened last."""
        return self._sessions.find("")

    def session_of(self, session_id: str) -> OpenSession | None:
        """The open session of this id, None if it is not open (any more)."""
        return self._sessions.find(session_id) if session_id else None

    @property
    def works(self) -> bool:
        """Whether a session is doing something other than waiting for a person."""
        return any(session.state == "running" for session in self._sessions.open_ones)

    async def resend_state(self) -> None:
        """Tell a front end that has just come all there is of the sessions that are open."""
        for session in self._sessions.open_ones:
            session.resend_state()
        if self._sandbox_fails:
            await self._send(SandboxFailed())
        await self._tell_draft()

    def keep_kernels(self) -> None:
        """The front end has gone without quitting: kernels on servers stay for those who resume the sessions."""
        if not self._closed:
            for session in self._sessions.open_ones:
                session.ties.keeps_kernels = True

    async def close(self) -> None:
        """Interrupt what runs, write everything down, end kernels and model server. Idempotent."""
        if self._closed:
            return
        self._closed = True
        await self._sessions.close()
        if self._last_words:
            await asyncio.wait(self._last_words, timeout=TELLING)
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.wait([self._trying])
        if self._services.mcp is not None:
            await self._services.mcp.close()
        await self._services.models.close()
        self._services.log.close()
        if self._services.library is not None:
            await self._services.library.close()
        if self._services.store is not None:
            self._services.store.close()

    # -- about no session that is open -----------------------------------------------------------------

    async def _open(self, verb: Open) -> None:
        await self._sessions.open(verb)
        if self._opened:
            return
        self._opened = True
        services = self._services
        if services.trial is not None:
            self._trying = asyncio.create_task(self._try_sandbox(services.trial))
        await self._tell_draft()
        if services.library is not None:
            services.library.tidy()

    async def _tell_draft(self) -> None:
        if (store := self._services.store) is not None and (draft := store.recall(self._draft_key)):
            await self._send(DraftKept(text=draft))

    @property
    def _draft_key(self) -> str:
        return f"draft:{self._services.setup.cwd}"

    def _ask_library(self, verb: LibraryVerb) -> None:
        for session in self._sessions.open_ones:
            session.write_down()
        if self._services.library is None:
            raise StoreError("Sessions are not kept here.")
        self._services.library.follow(verb)

    async def _try_sandbox(self, trial: Trial) -> None:
        try:
            found = await trial()
        except OSError as error:  # the disk is full: whether there is a sandbox shows when code runs
            _log.warning("the sandbox could not be tried: %s", error)
            return
        self._sandbox_fails = not found.works
        for session in self._sessions.open_ones:
            session.tell_sandbox(found)

    # -- what must not happen --------------------------------------------------------------------------

    def _report_broken(self, broken: OpenSession, error: BaseException | None) -> None:
        """A defect of ours: the end of this session, and of the engine if it has no other."""
        if self._closed:
            return
        _log.error("the engine broke", exc_info=error)
        self._say_later(self._say_broken(broken))

    async def _say_broken(self, broken: OpenSession) -> None:
        """Bypasses the outbox, which may be what broke."""
        alone = self._sessions.open_ones == (broken,)
        if not alone:
            await _wait(self._sessions.leave(broken, "Something broke inside the engine."))
        title = "Something broke inside the engine."
        await broken.send(Failed(title=title, hint="Its log says what.", fatal=alone))

    # -- the last words about a session ----------------------------------------------------------------

    async def _say_gone(self, session: OpenSession, ending: asyncio.Task[None] | None) -> None:
        await _wait(ending)
        await session.send(SessionGone())

    def _say_later(self, words: Coroutine[Any, Any, None]) -> None:
        saying = asyncio.create_task(words)
        self._last_words.add(saying)
        saying.add_done_callback(self._last_words.discard)


async def _wait(ending: asyncio.Task[None] | None) -> None:
    """Wait until a session has ended."""
    try:
        if ending is not None:
            await ending
    except Exception:
        # Boundary: a bug of ours; those who wait for the end of that session must still get an answer.
        _log.exception("a session could not be ended")


def _not_open(verb: SessionVerb) -> Failed:
    """A verb for one session is never followed in another."""
    return Failed(
        title="Not done: the session that this was meant for is not open any more.",
        hint="Your text is below; it was not sent." if isinstance(verb, Submit) else "",
        details=verb.text if isinstance(verb, Submit) else "",
    )
