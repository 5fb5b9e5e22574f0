"""The sessions that are open in an engine: how each is opened, forked and left."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.endings import PROGRAM_CLOSED
from oi_tui.app.engine.core.errors import OiTuiError, StoreError
from oi_tui.app.engine.core.events import AnyEvent, TurnEnded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.protocol import LastBlocks
from oi_tui.app.engine.core.verbs import Fork, Open, UseModel
from oi_tui.app.engine.log.store import CLAIM_PATIENCE, Store
from oi_tui.app.engine.session.kernel_switch import FRESH
from oi_tui.app.engine.session.model_switch import last_model
from oi_tui.app.engine.session.open_session import OpenSession
from oi_tui.app.engine.session.outbox import address_replies, replay_batches
from oi_tui.app.engine.session.services import ClosableKernels, Services
from oi_tui.app.engine.transcript.event_log import ends_in_turn, fold_events
from oi_tui.app.engine.transcript.fork_point import events_until
from oi_tui.app.engine.transcript.stale_runs import has_run_code
from oi_tui.app.engine.transcript.transcript import Transcript

_log = logging.getLogger(__name__)

ChooseModel = Callable[[Transcript], Model | UseModel | None]
"""The model that a session with this past begins with."""


class Sessions:
    """Opens, forks and leaves one at a time; what each does meanwhile is not held up by that."""

    def __init__(self, services: Services, broke: Callable[[OpenSession, BaseException | None], None]) -> None:
        """`broke` is called when a bug of ours keeps a session from working."""
        self._services = services
        self._broke = broke
        self._open: dict[str, OpenSession] = {}
        """By id, the one that was opened last at the end."""
        self._forking: list[OpenSession] = []
        """Left already, while its kernels and its model are on their way to a fork."""
        self._changing = asyncio.Lock()
        self._leaving: dict[str, asyncio.Task[None]] = {}
        """What ends those that were left, by id."""
        self._ending: set[asyncio.Task[None]] = set()
        """Kernels of sessions that were left, while they end."""

    @property
    def open_ones(self) -> tuple[OpenSession, ...]:
        """All, the one that was opened last at the end."""
        return tuple(self._open.values())

    def find(self, session_id: str) -> OpenSession | None:
        """The one of this id, "" for the one that was opened last; None if it is not open."""
        if not session_id:
            return next(reversed(self._open.values()), None)
        return self._open.get(session_id)

    async def open(self, verb: Open) -> None:
        """The requested session; without `beside` the one opened last is left, and its kernels end."""
        async with self._change():
            await self._begin_wanted(verb)

    async def fork(self, left: OpenSession, verb: Fork) -> None:
        """Another session that begins as this one did; the kernels stay as they are, and so does the model."""
        async with self._change():
            if self._open.get(left.id) is not left:
                raise StoreError("The session cannot be forked: it is not open any more.")
            await self._fork(left, verb)

    def leave(self, session: OpenSession, why: str) -> asyncio.Task[None] | None:
        """Close this session; the returned coroutine ends it. Other sessions continue. None if it was left already."""
        if self._open.get(session.id) is not session:
            return None
        del self._open[session.id]
        self._leaving[session.id] = ending = asyncio.create_task(self._end(session, why))
        return ending

    async def close(self) -> None:
        """End all of them, and wait until their kernels have ended."""
        for session in self.open_ones:
            self._end_kernels(session.kernels)  # first: what runs in them ends at once
        await asyncio.gather(*(session.end(PROGRAM_CLOSED) for session in self.open_ones))
        self._open.clear()
        if self._leaving:
            await asyncio.wait(self._leaving.values())
        self._services.claims.keep_only()
        if self._ending:
            await asyncio.wait(self._ending)

    @asynccontextmanager
    async def _change(self) -> AsyncIterator[None]:
        """Inside, others are open after than before; or an error of ours is raised."""
        async with self._changing:
            try:
                yield
            except OiTuiError:
                raise
            except Exception as error:
                # Boundary: a defect of ours, or whatever is in that file, must not leave a prompt that nobody answers.
                _log.exception("a session could not be opened")
                hint = "The engine's log says why. Nothing that was written before is lost."
                raise StoreError("The session could not be opened.", hint=hint, details=repr(error)) from error
            finally:
                self._keep_claims()

    # -- opening and leaving ---------------------------------------------------------------------------

    async def _begin_wanted(self, verb: Open) -> None:
        recorded = self._services.log.tape is not None  # of one session at a time, to its end
        if leaving := [task for gone, task in self._leaving.items() if recorded or gone == verb.session_id]:
            await asyncio.wait(leaving)
        last = self.find("")
        left = None if verb.beside else last
        if verb.beside and last is not None:
            self._services.log.require_one_session()
        wanted = None if verb.anew and not self._is_kept(verb.session_id) else verb.session_id
        if wanted is not None and self._open.get(wanted) not in (None, left):
            raise StoreError("This session is open already.", hint="It continues beside this one.")
        events = await self._past(
            wanted, end_first=verb.end_first
        )  # before anything is left: it may not be readable, or open elsewhere
        session_id = wanted or self._create()
        if left is not None and (ending := self.leave(left, "Another session was opened.")) is not None:
            await ending  # should that fail, there is none from here on: the end, not a prompt without answer
        if last is None:
            await self._sit(session_id, events, self._first_model, replay=bool(events))
        else:
            before = last_model(last.session.transcript)
            await self._sit(session_id, events, lambda past: last_model(past) or before)

    def _is_kept(self, session_id: str | None) -> bool:
        if self._services.store is None or session_id is None:
            return False
        try:
            self._services.store.record(session_id)
        except StoreError:  # should it be the file that is broken, making a new one will say so
            return False
        return True

    async def _end(self, session: OpenSession, why: str) -> None:
        try:
            await session.end(why)
        finally:
            self._end_kernels(session.kernels)
            del self._leaving[session.id]
            self._keep_claims()

    def _keep_claims(self) -> None:
        """Release sessions that have ended here, so that others may open them."""
        self._services.claims.keep_only({*self._open, *self._leaving})

    def _end_kernels(self, kernels: ClosableKernels) -> None:
        """Nobody need wait for it."""
        ending = asyncio.create_task(_close(kernels))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _past(self, session_id: str | None, *, end_first: bool = False) -> tuple[AnyEvent, ...]:
        """What is stored, ours from here on; a turn that was under way when it ends is ended by that."""
        store = self._services.store
        if session_id is None or store is None:
            return ()
        store.record(session_id)  # there is no such session: reported before a file is named after it
        await asyncio.to_thread(self._services.claims.take, session_id, CLAIM_PATIENCE)
        if end_first:
            await self._tell_ending(store, session_id)
        return _end_open_turn(
            store, session_id, store.load(session_id), "The program ended in the middle of this turn."
        )

    async def _tell_ending(self, store: Store, session_id: str) -> None:
        """Shows the end of a session at once while the rest is read; reading reports any defects."""
        try:
            transcript = fold_events(store.ending(session_id))
        except StoreError as error:
            _log.info("the end of session %s is not told first: %s", session_id, error)
            return
        transcript.close("program")
        if blocks := tuple(transcript.blocks):
            await address_replies(self._services.send, session_id)(LastBlocks(blocks=blocks))
            await asyncio.sleep(0)  # what did not go out at once

    def _create(self, parent: tuple[str, int] | None = None) -> str:
        """The id of a new session; a fork shares this many events of its parent."""
        session_id, services = new_id(), self._services
        if services.store is not None:
            services.claims.take(session_id)
            services.store.create(session_id, time.time(), services.setup.cwd, parent=parent)
        return session_id

    async def _sit(
        self,
        session_id: str,
        events: Sequence[AnyEvent],
        choose: ChooseModel,
        *,
        replay: bool = True,
        notes: tuple[str, ...] = (),
        forked_from: OpenSession | None = None,
    ) -> None:
        """Continue a stored session. The front end gets the events first: it folds them at the same time.

        With `replay` it gets them even if there are none: another session was open before.
        """
        if replay:
            send = address_replies(self._services.send, session_id)
            for batch in replay_batches(events):
                await send(batch)
                await asyncio.sleep(0)  # what did not go out at once goes while the next one is made ready
        past = await asyncio.to_thread(fold_events, events) if events else None  # meanwhile the last of it goes out
        if past is not None and past.strays:
            _log.warning("session %s has %d events of blocks that are not there", session_id, past.strays)
        session = OpenSession(
            self._services,
            session_id,
            past,
            broke=self._broke,
            models_elsewhere=partial(self._models_elsewhere, session_id),
            forked_from=forked_from,
        )
        kernels = session.kernels
        fresh = has_run_code(session.session.transcript.blocks) and not (
            kernels.started_kernels() or kernels.left_alive()
        )
        if fresh and not (past is not None and _says(past, FRESH)):
            notes = (*notes, FRESH)
        session.begin(choose(past or Transcript()), notes, events)
        self._open[session_id] = session

    # -- forks -----------------------------------------------------------------------------------------

    async def _fork(self, left: OpenSession, verb: Fork) -> None:
        store = self._services.store
        if store is None:
            raise StoreError("Sessions are not kept here, so none can be forked.")
        if not left.session.transcript.has(verb.block_id):
            raise StoreError("The session cannot be forked there: it has no such block.")
        if (error := left.write_down()) is not None:
            raise error  # before any session is left: a missing session cannot be shared
        del self._open[left.id]
        self._forking.append(left)
        try:
            await left.end("The session was forked.")
            await self._go_on_in_fork(store, left, verb)
        finally:
            self._forking.remove(left)
            if all(session.kernels is not left.kernels for session in self.open_ones):
                self._end_kernels(left.kernels)

    async def _go_on_in_fork(self, store: Store, left: OpenSession, verb: Fork) -> None:
        model = left.session.choices.model or last_model(left.session.transcript)
        try:
            new, events = self._create_fork(store, left.id, verb)
        except OiTuiError:  # as if nothing had been asked; without this session if that fails too
            await self._sit(left.id, await self._past(left.id), lambda _: model, forked_from=left)
            raise
        notes = ("Forked. The session that it comes from is kept.",)
        if left.kernels.started_kernels():
            notes = ("Forked. The session that it comes from is kept; the kernels still hold what later code did.",)
        obstacle = await self._share_changes(left.id, new, events)
        await self._sit(new, events, lambda _: model, notes=(*notes, *filter(None, [obstacle])), forked_from=left)

    async def _share_changes(self, old: str, new: str, events: Sequence[AnyEvent]) -> str:
        """A fork can undo what the blocks that it shares changed in files; why not, if that is so."""
        blocks = {str(getattr(event, "block_id", "")) for event in events} - {""}
        try:
            if self._services.checkpoints is not None:
                await asyncio.to_thread(self._services.checkpoints.share, old, new, blocks)
        except OiTuiError as error:
            return f"What was changed in files before cannot be undone here: {error.title}"
        return ""

    def _create_fork(self, store: Store, old: str, verb: Fork) -> tuple[str, tuple[AnyEvent, ...]]:
        """The id of a new session, and what it shares with the old one."""
        events = store.load(old)
        count = events_until(events, verb.block_id, verb.place)
        if count is None:
            raise StoreError("The session cannot be forked there: that block was not written down.")
        new = self._create(parent=(old, count))
        return new, _end_open_turn(store, new, events[:count], "The session was forked here.")

    # -- models ----------------------------------------------------------------------------------------

    def _models_elsewhere(self, session_id: str) -> set[str]:
        """Names of the models that other sessions use."""
        others = [session for session in (*self.open_ones, *self._forking) if session.id != session_id]
        return {session.session.transcript.model for session in others}

    def _first_model(self, transcript: Transcript) -> UseModel | None:
        """The requested model, else the one the session used, else the one used last."""
        services = self._services
        asked, key = services.setup.settings.model, services.setup.api_key
        first = last_model(transcript, key)
        if asked.name:
            first = UseModel(name=asked.name, api_base=asked.api_base or None, api_key=key)
        elif first is None:
            chosen = services.servers.default.find()
            if chosen is not None and services.models.can_open(chosen.name):
                first = UseModel(name=chosen.name, api_base=chosen.api_base or None, api_key=key)
        return first and services.servers.with_key(first)


async def _close(kernels: ClosableKernels) -> None:
    try:
        await kernels.close()
    except Exception:
        # Boundary: a defect in ending some must not keep the engine from ending what else there is.
        _log.exception("kernels could not be ended")


def _end_open_turn(store: Store, session_id: str, events: tuple[AnyEvent, ...], why: str) -> tuple[AnyEvent, ...]:
    if not ends_in_turn(events):
        return events
    ended = TurnEnded(reason="engine_lost", detail=why)
    store.append(session_id, [ended])
    return (*events, ended)


def _says(transcript: Transcript, title: str) -> bool:
    """Whether this was the last notice, and nothing happened since."""
    return any(isinstance(last, NoticeBlock) and last.title == title for last in transcript.blocks[-1:])
