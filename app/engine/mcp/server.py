"""One server, from its start to its end: agreed to, started, listed, watched, called, started again.

Whatever it does wrong costs one notice of its kind, however often it does it.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.mcp.agreements import Agreements, changes_of_tools, digest_of_tools
from oi_tui.app.engine.mcp.answers import ServerFault
from oi_tui.app.engine.mcp.calls import Calls
from oi_tui.app.engine.mcp.downloads import fetch_program
from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry, filled_in, secret_values
from oi_tui.app.engine.mcp.failures import fault_line, first_error, why_no_start
from oi_tui.app.engine.mcp.notices import LOOK, ServerNotices, TellNotice
from oi_tui.app.engine.mcp.offers import ToolOffer, clean_offers, safe_line, safe_lines
from oi_tui.app.engine.mcp.piped_server import PipedServer, server_profile
from oi_tui.app.engine.mcp.server_texts import ServerTexts
from oi_tui.app.engine.mcp.wire_guard import WireGuard
from oi_tui.app.engine.sandbox.profile import Profile, RungChoice
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.tools.tool import Tool

if TYPE_CHECKING:
    from oi_tui.app.engine.mcp.sdk_session import Ears, SdkConnection

State = Literal["disabled", "not agreed", "starting", "ready", "changed", "failed", "ended"]

PAUSES = (1.0, 4.0, 16.0)
"""Seconds before each further start of a server that ended; then it is given up."""

GREETING = 30.0
"""Seconds for the first answer; more where a person logs in meanwhile."""

STEADY = 60.0
"""Seconds after which a server counts as steady: what happened before is forgotten."""

_log = logging.getLogger(__name__)


class ServerSeat(msgspec.Struct, frozen=True, kw_only=True):
    """Where servers run, and who hears of them."""

    folder: Path
    environ: Mapping[str, str]
    agreements: Agreements
    tell: TellNotice
    rung: RungChoice = "auto"
    learn_secret: Callable[[str, str], None] = lambda name, value: None
    find_auth: Callable[[NamedServer], Any] = lambda server: None
    """The tokens of an address, as the SDK wants them; None where there are none."""
    pauses: Sequence[float] = PAUSES
    greeting: float = GREETING


class McpServer:
    """Ready to be started."""

    def __init__(self, named: NamedServer, seat: ServerSeat, on_tools: Callable[["McpServer"], None]) -> None:
        """`on_tools` is called whenever `tools` has changed."""
        self.named = named
        self.state: State = "ended"
        self.trouble = ""
        """Why it is not ready, as a sentence."""
        self.offers: dict[str, ToolOffer] = {}
        """What it offers now, agreed to or not, by the name it gives."""
        self.changes = ""
        """What changed since the person agreed, as a diff."""
        self._seat = seat
        self._on_tools = on_tools
        self._notices = ServerNotices(named.name, seat.tell)
        self._task: asyncio.Task[None] | None = None
        self._connection: SdkConnection | None = None
        self._piped: PipedServer | None = None
        self._ended = asyncio.Event()
        self._settled = asyncio.Event()
        self._why_ended = ""
        self._relist = asyncio.Event()
        self.texts = ServerTexts(self._live_connection, self._notices.report)
        """What it has for a prompt."""
        self._calls = Calls(named, self._live_connection, self._ended, self._notices.report)

    @property
    def name(self) -> str:
        """The name in its file."""
        return self.named.name

    @property
    def origin(self) -> str:
        """The origin of its tools: "MCP server time"."""
        return self._calls.origin

    @property
    def log(self) -> str:
        """The end of what it wrote beside its messages."""
        return safe_lines(self._piped.log if self._piped is not None else "", 8_000)

    # -- from its start to its end -------------------------------------------------------------------------

    def begin(self) -> None:
        """Start it in the background, if it may start."""
        if self._task is not None and not self._task.done():
            return
        self._settled.clear()
        if self.named.entry.disabled:
            self._become("disabled", "It is disabled.")
        elif not self._may_start():
            pass
        else:
            self._become("starting")
            self._task = asyncio.create_task(self._live())

    def _may_start(self) -> bool:
        try:
            agreed = self._seat.agreements.may_start(self.named)
        except OiTuiError as error:
            self._fail("agreements", f"{error.title} {error.hint}")
            return False
        if not agreed:
            where = "This folder names" if self.named.folder else "Your mcp.json names"
            asks = f" It asks for: {'; '.join(self.named.entry.wishes)}." if self.named.entry.wishes else ""
            title = f"{where} the MCP server {self.name}, which is not started before you agree."
            self._become("not agreed", f"You have not agreed to its entry.{asks}")
            self._notices.tell("not agreed", "info", title, f"{asks} {LOOK}".strip(), self.named.entry.describe())
        return agreed

    async def settle(self) -> None:
        """Wait until it is ready, or known not to be."""
        await self._settled.wait()

    async def end(self, why: State = "ended") -> None:
        """End it, with all that it started."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._become(why)

    async def _live(self) -> None:
        pauses = list(self._seat.pauses)
        while True:
            began = time.monotonic()
            try:
                steady = await self._connect()
            except OiTuiError as error:
                self._fail("start", f"{error.title} {error.hint}".strip(), error.details)
                return
            except Exception as error:
                # Boundary: a stranger's server, behind a library that lets its own errors through.
                first = first_error(error)
                if not isinstance(first, ServerFault):
                    _log.warning("the MCP server %s failed", self.name, exc_info=True)
                why = why_no_start(self.named, self._why_ended or fault_line(first), self.log)
                self._fail("start", f"It does not start: {why}.", self.log)
                return
            if time.monotonic() - began > STEADY:
                pauses = list(self._seat.pauses)
            if not steady or not pauses:
                return
            await asyncio.sleep(pauses.pop(0))
            self._become("starting")

    async def _connect(self) -> bool:
        """One connection, from its start to its end; whether it is worth another try."""
        from oi_tui.app.engine.mcp.sdk_session import open_connection  # deferred: a second of imports

        self._ended.clear()
        self._why_ended = ""
        guard = WireGuard(self._notices.report)
        ears = self._ears()
        async with (
            self._streams(guard, ears) as streams,
            open_connection(streams, guard, ears, self._seat.folder, self._seat.greeting) as connection,
        ):
            self._connection = connection
            try:
                await self._list()
                await self._watch()
            finally:
                self._connection = None
        why = self._why_ended or "its connection is closed"
        if "message of more" in why or "floods" in why:
            self._fail("ended", f"It was ended: {why}.", self.log)
            return False
        again = f" It is started again, at most {len(self._seat.pauses)} times." if self._seat.pauses else ""
        self._become("failed", f"It has ended: {why}.")
        self._notices.tell("ended", "warning", f"The MCP server {self.name} has ended: {why}.{again}", LOOK, self.log)
        return True

    @asynccontextmanager
    async def _streams(self, guard: WireGuard, ears: "Ears") -> AsyncIterator[Any]:
        from oi_tui.app.engine.mcp.sdk_streams import http_streams, piped_streams  # deferred, as above

        seat, entry = self._seat, filled_in(self.named.entry, self._seat.environ)
        for name, value in secret_values(entry, seat.environ):
            seat.learn_secret(name, value)
        if entry.url:
            yield http_streams(entry, await asyncio.to_thread(seat.find_auth, self.named), ears.on_end)
            return
        if entry.download is not None:
            if not entry.download.is_here:
                self._become("starting", f"{', '.join(entry.download.packages)} is downloaded.")
            command, *args = await fetch_program(entry.download, seat.environ)
            entry = msgspec.structs.replace(entry, command=command, args=tuple(args))
        self._piped = piped = PipedServer(
            entry, seat.folder, seat.environ, _profile(entry, seat), self._notices.note_refusal
        )
        try:
            await piped.start()
            yield piped_streams(piped, guard, ears.on_end)
        finally:
            await piped.close()

    async def _watch(self) -> None:
        """Follow changes of the list of tools until the end, with a pause after each."""
        while not self._ended.is_set():
            ended, changed = asyncio.create_task(self._ended.wait()), asyncio.create_task(self._relist.wait())
            try:
                await asyncio.wait({ended, changed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                ended.cancel()
                changed.cancel()
            if self._relist.is_set() and not self._ended.is_set():
                self._relist.clear()
                try:
                    await self._list()
                except ServerFault as fault:
                    self._notices.report("list", f"its tools cannot be listed again: {fault}")
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await self._ended.wait()

    async def _list(self) -> None:
        """List its tools; the model is offered them only if they are those that the person agreed to."""
        assert self._connection is not None
        self.offers, left_out = clean_offers(await self._connection.tools())
        if left_out:
            title = f"The MCP server {self.name} offers things that are left out or cleaned."
            self._notices.tell("left out", "warning", title, LOOK, "\n".join(left_out[:50]))
        await self.texts.look_at(self._connection)
        now = self._all_told
        before = await asyncio.to_thread(self._seat.agreements.tools_agreed_to, self.named)
        if before is None:
            await asyncio.to_thread(self._seat.agreements.pin, self.named, now)
            title = f"The MCP server {self.name} offers {quantity(len(now), 'tool')}."
            self._notices.tell("new", "info", title, LOOK, "\n".join(map(safe_line, now)))
        self.changes = "" if before is None else changes_of_tools(before, now)
        if self.changes:
            self._become("changed", "What it says of its tools has changed since you agreed.")
            title = f"The MCP server {self.name} describes its tools otherwise than when you agreed to them."
            hint = f"None of them is offered until you have looked at that. {LOOK}"
            self._notices.tell(f"changed {digest_of_tools(now)}", "warning", title, hint, self.changes)
        else:
            self._become("ready")

    @property
    def _all_told(self) -> dict[str, dict[str, Any]]:
        return {name: offer.terms for name, offer in self.offers.items()}

    @property
    def digest(self) -> str:
        """Digest of what it offers now, which the person sees when they agree."""
        return digest_of_tools(self._all_told)

    def agree(self, digest: str) -> bool:
        """The person agreed to what has this `digest`; returns whether it is still the same."""
        if self.state == "not agreed":
            if digest != self.named.entry.digest:
                return False
            self._seat.agreements.agree_to_start(self.named)
            self._notices.forget("not agreed")
            self.begin()
            return True
        if self.state != "changed" or digest != self.digest:
            return False
        self._seat.agreements.pin(self.named, self._all_told)
        self.changes = ""
        self._become("ready")
        return True

    def _become(self, state: State, trouble: str = "") -> None:
        self.state, self.trouble = state, trouble
        if state not in ("ready", "changed"):
            self.offers = {} if state != "failed" else self.offers
        if state != "starting":
            self._settled.set()
        self._on_tools(self)

    def _fail(self, kind: str, why: str, details: str = "") -> None:
        self._become("failed", why)
        self._notices.fail(kind, why, details)

    # -- what it says by itself ----------------------------------------------------------------------------

    def _ears(self) -> "Ears":
        from oi_tui.app.engine.mcp.sdk_session import Ears  # deferred, as above

        return Ears(
            on_change=self._relist.set,
            ask_form=self._calls.ask_form,
            ask_model=self._calls.ask_model,
            report=self._notices.report,
            on_end=self._on_end,
        )

    def _on_end(self, why: str) -> None:
        self._why_ended = self._why_ended or why
        self._ended.set()

    # -- what is asked of it -------------------------------------------------------------------------------

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that a model may call now."""
        if self.state != "ready":
            return ()
        profile = _profile(self.named.entry, self._seat)
        return tuple(self._calls.tool(offer, profile) for offer in self.offers.values())

    def _live_connection(self) -> "SdkConnection":
        """ServerFault if it does not run."""
        if self._connection is None or self.state != "ready":
            raise ServerFault(f"it does not run. {self.trouble}".strip())
        return self._connection


def _profile(entry: ServerEntry, seat: ServerSeat) -> Profile | None:
    """The sandbox of a program; None for an address, and where the person wants none."""
    return server_profile(entry, seat.folder, seat.rung) if entry.command and entry.sandbox else None
