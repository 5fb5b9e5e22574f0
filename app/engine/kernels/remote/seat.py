"""The place of a kernel on a server, for one language of a session: which kernel it is, whether it is ours, and what
happens to it when we leave.

A kernel we started ends with its session, unless it should be kept; it is never ended because the connection is lost,
and a kernel that somebody else started is never ended at all. Each is on record before code runs in it.
"""

import asyncio
import logging
import uuid
from contextlib import AsyncExitStack

import msgspec

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.events import AnyEvent, Emit
from oi_tui.app.engine.core.values import Language, Value
from oi_tui.app.engine.kernels.base import RunRequest
from oi_tui.app.engine.kernels.jupyter_worker import Opened, Return
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.address import SHORT_ID
from oi_tui.app.engine.kernels.remote.channels import RemoteChannels
from oi_tui.app.engine.kernels.remote.living import LivingKernel, LivingKernels
from oi_tui.app.engine.kernels.remote.process import UNREACHABLE, RemoteProcess
from oi_tui.app.engine.kernels.remote.run_queue import RunQueue
from oi_tui.app.engine.kernels.remote.running import RunningKernel
from oi_tui.app.engine.kernels.remote.server import JupyterServer, KernelGone
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.site import open_site

LAST_WORD = 5.0
"""Seconds that the server has to end a kernel when we leave."""

ENDING = 20.0
"""Seconds to reach the server again for that, where the person only changes to another kernel."""

ORPHANS = 20
"""Requests of a program that is gone whose output is taken."""

ATTACHING = """\
Code of this session sees and changes the variables there, and counts up its In [n].
Their notebook shows nothing of it, or shows output that belongs to none of its cells.
Runs wait for each other; what waits can be taken back.
An interrupt is sent only while a run of this session is at work. If one of theirs begins at that moment, it is hit.
oi-tui adds a handler that answers questions about variables, and no names.
It never restarts or ends a kernel that somebody else started."""

_log = logging.getLogger(__name__)


class RemotePlace(Value, frozen=True, kw_only=True):
    """Where on a server kernels are started, or which one is attached to."""

    name: str = ""
    """What the server was added as; "" for one whose kernels are not remembered."""
    server: KnownServer
    kernelspec: str
    kernel_id: str = ""
    """Of a kernel that lives there, or the beginning of its id; "" for a new one."""
    agreed: bool = False
    """Whether the person knows what it means if somebody else started it."""

    @property
    def telling(self) -> str:
        """The text for the user."""
        what = f"kernel {self.kernel_id[:SHORT_ID]}" if self.kernel_id else self.kernelspec
        return f"{what} on {self.server.host}"


class Seat:
    """Opens the kernel, leaves it, and remembers it."""

    def __init__(self, launch: Launch, language: Language, place: RemotePlace, living: LivingKernels) -> None:
        self.place = place
        self.language = language
        self.only_back = False
        """No other kernel is started where the one on record is gone."""
        self.lost = ""
        """The loss since the last run, as a sentence, until it is reported."""
        self.is_busy = False
        """Whether the kernel was busy when we reconnected to it."""
        self.is_settled = False
        """Whether it is ready, and ours to end."""
        self.is_leaving = False
        """Whether the session ends: kernels to keep are kept."""
        self.orphan: RunRequest | None = None
        """The run on record that the program before did not see the end of."""
        self._launch = launch
        self._living = living
        self._process: RemoteProcess | None = None
        self._channels: RemoteChannels | None = None
        self._orphans: set[str] = set()
        self._record = self._find_record()

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else started the kernel."""
        return bool(self.place.kernel_id) if self._record is None else self._record.foreign

    @property
    def address(self) -> str:
        """The address by which the kernel in use is chosen; "" if there is none."""
        return f"{self.place.name}@{self._record.kernel_id[:SHORT_ID]}" if self._record is not None else ""

    def _find_record(self) -> LivingKernel | None:
        if not self.place.name:
            return None
        for known in self._living.of_session(self._launch.session_id()):
            same = known.server == self.place.name and known.site == self.place.server.credential
            if same and known.language == self.language and known.kernel_id.startswith(self.place.kernel_id):
                return known
        return None

    # -- opening ---------------------------------------------------------------------------------------

    async def open(self) -> Opened:
        """Reconnect to the kernel on record, attach to the named one, or start one; KernelError if that fails. It is on
        record before anything else happens."""
        self.is_settled, self._orphans = False, set()
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(open_site(self.place.server, self._launch, _log.info))
            found = await self._look_for(site)
            self.is_busy = found is not None and found.state == "busy"
            if found is None:
                record = await self._start(site)
            elif self._record is None:
                record = await self._attach(site, found)
            else:
                record = self._record
            stack.push_async_callback(self._end, site)
            await self._remember(record)
            queue = RunQueue(busy=self.is_busy) if record.foreign else None
            self._process = process = RemoteProcess(site, record.kernel_id, foreign=record.foreign)
            stack.push_async_callback(process.close)
            self._channels = channels = RemoteChannels(
                site, record.kernel_id, record.key, process.note_end, returns=found is not None, queue=queue
            )
            if queue is not None:
                process.may_interrupt = lambda: not channels.withdraw() and queue.runs_ours
            stack.push_async_callback(channels.close)
            await channels.connect()
            returns = None
            if found is not None and (record.voice or record.foreign):
                returns = Return(record.is_python, self._find_orphan, self._check, record.foreign)
            return Opened(process, channels, stack.pop_all(), asked_to_end=False, returns=returns)

    async def settle(self, *, is_python: bool) -> None:
        """The kernel is ready: put it on record."""
        self.is_settled = True
        assert self._record is not None
        assert self._channels is not None
        await self._remember(msgspec.structs.replace(self._record, is_python=is_python, voice=self._channels.voice))

    async def _look_for(self, site: JupyterServer) -> RunningKernel | None:
        """The kernel on record or the named one; None if one should be started. KernelGone if it is gone, and no other
        may replace it."""
        if self._record is not None:
            if (found := await site.look_up(self._record.kernel_id)) is not None:
                return found
            self.lost = f"The kernel of this session is gone from {site.host}: its variables are lost."
            foreign = self.is_foreign
            await self.forget()
            if self.only_back or foreign:
                raise KernelGone(self.lost, hint="/kernel NAME chooses where code runs from now on.")
        elif self.place.kernel_id:
            return await site.find_running(self.place.kernel_id)
        return None

    async def _start(self, site: JupyterServer) -> LivingKernel:
        kernel_id = await site.start(self.place.kernelspec)
        return self._new_record(kernel_id, self.place.kernelspec)

    async def _attach(self, site: JupyterServer, found: RunningKernel) -> LivingKernel:
        """Attach to a kernel that was named; it is ours if a session of ours started it."""
        site_name = self.place.server.credential
        record = self._new_record(found.kernel_id, found.kernelspec)
        ours = await asyncio.to_thread(self._living.find, site_name, found.kernel_id)
        if ours is not None and not ours.foreign and not found.connections:
            return msgspec.structs.replace(record, is_python=ours.is_python, voice=ours.voice)
        if not self.place.agreed:
            raise attachment_error(f"{self.place.name}@{found.kernel_id[:SHORT_ID]}", self.place.server.host)
        language = (await site.kernelspecs()).get(found.kernelspec, "")
        require_python(language, site.host)
        return msgspec.structs.replace(record, foreign=True, is_python=True)

    def _new_record(self, kernel_id: str, kernelspec: str) -> LivingKernel:
        return LivingKernel(
            session_id=self._launch.session_id(),
            language=self.language,
            server=self.place.name,
            site=self.place.server.credential,
            kernel_id=kernel_id,
            key=uuid.uuid4().hex,
            kernelspec=kernelspec,
        )

    def _check(self) -> None:
        """KernelGone if this is not the process that it was."""
        assert self._channels is not None
        known, now = self._record.voice if self._record is not None else "", self._channels.voice
        if known and now and known != now:
            host = self.place.server.host
            self.lost = f"The kernel of this session was restarted on {host}: its variables are lost."
            raise KernelRestarted(self.lost)

    # -- runs of a program that is gone ------------------------------------------------------------------

    def _find_orphan(self, request_id: str) -> RunRequest | None:
        if self.orphan is None or self._channels is None or len(self._orphans) >= ORPHANS:
            return None
        if self._channels.mark_of(request_id) != self.orphan.block_id:
            return None
        self._orphans.add(request_id)
        return self.orphan

    # -- leaving ---------------------------------------------------------------------------------------

    @property
    def is_kept(self) -> bool:
        """Whether it keeps running when the session ends."""
        return self.is_foreign or (bool(self.place.name) and self._launch.keeps_kernels())

    @property
    def _stays(self) -> bool:
        """Whether the kernel keeps running when we let go of it."""
        if self._record is None or self._record.foreign:
            return True
        if self._process is not None and self._process.cause == UNREACHABLE:
            return True
        came_back_in_vain = not self.is_settled and bool(self._record.voice)
        return came_back_in_vain or (self.is_leaving and self.is_kept)

    async def _end(self, site: JupyterServer) -> None:
        if self._stays or (record := self._record) is None:
            return
        try:
            async with asyncio.timeout(LAST_WORD):
                await site.remove(record.kernel_id)
        except (KernelError, TimeoutError) as error:
            _log.warning("a kernel may still be running on its server: %s", error)
            return
        await self.forget()

    async def _remember(self, record: LivingKernel) -> None:
        self._record = record
        if self.place.name and (record.session_id or self._launch.session_id()):
            await asyncio.to_thread(self._living.put, record)

    async def end(self) -> None:
        """The user has changed to another kernel: nobody reconnects to this one. Ours is ended, even without a
        connection to it; KernelError if it may still be running."""
        record = self._record
        if record is None or record.foreign:
            await self.forget()
            return
        try:
            async with asyncio.timeout(ENDING), open_site(self.place.server, self._launch) as site:
                await site.remove(record.kernel_id)
        except (KernelError, TimeoutError) as error:
            address = self.address
            await self._remember(msgspec.structs.replace(record, session_id=""))
            self._record = None
            end = f"To end it: oi-tui kernels stop {address}" if self.place.name and "/" not in self.place.name else ""
            raise KernelError(
                f"The kernel {address} on {self.place.server.host} may still be running: it could not be stopped.",
                hint=end,
                details=error.title if isinstance(error, KernelError) else "",
            ) from error
        await self.forget()

    async def give_up(self) -> None:
        """What made this kernel worth coming back to is lost: ours is ended, the state of another is not known."""
        if (record := self._record) is None:
            return
        if record.foreign:
            await self._remember(msgspec.structs.replace(record, voice=""))
            return
        async with open_site(self.place.server, self._launch) as site:
            self.is_settled = True
            self.is_leaving, leaving = False, self.is_leaving
            await self._end(site)
            self.is_leaving = leaving
        await self.forget()

    async def forget(self) -> None:
        """Remove the record: nobody will reconnect to the kernel."""
        record, self._record = self._record, None
        if record is not None and self.place.name:
            await asyncio.to_thread(self._living.forget, record)

    def note_heir(self) -> None:
        """Another session takes over the kernel."""
        if self._record is not None:
            self._record = msgspec.structs.replace(self._record, session_id=self._launch.session_id())


class KernelRestarted(KernelGone):
    """The kernel exists, but its process is a new one."""


def require_python(language: str, host: str) -> None:
    """KernelError if the kernel to attach to runs another language."""
    if language.lower() != "python":
        raise KernelError(f"That kernel on {host} runs {language[:40] or 'no known language'}, not Python.")


def attachment_error(name: str, host: str) -> SettingsError:
    """Why we do not attach before the person agreed: the cost for the person who started the kernel."""
    return SettingsError(
        f"Somebody else started {name} on {host}, or works in it now.",
        hint=f"To attach to it all the same: /kernel {name} yes, or start with --kernel {name} --attach.",
        details=ATTACHING,
    )


class Relay:
    """Keeps what is emitted until it is known where it goes."""

    def __init__(self) -> None:
        self._waiting: list[AnyEvent] = []
        self._emit: Emit | None = None

    def __call__(self, event: AnyEvent) -> None:
        if self._emit is not None:
            self._emit(event)
        else:
            self._waiting.append(event)

    def lead_to(self, emit: Emit) -> None:
        """Use this kernel from now on."""
        waiting, self._waiting = self._waiting, []
        self._emit = emit
        for event in waiting:
            emit(event)
