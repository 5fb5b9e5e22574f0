"""Calls of one server's tools, one after the other, and what it asks the person meanwhile."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from oi_tui.app.engine.core.kernel_call import ASK_MODEL
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.kernels.reach import reach_of
from oi_tui.app.engine.mcp.answers import ServerAnswer, ServerFault
from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry
from oi_tui.app.engine.mcp.form import Form, fill_form
from oi_tui.app.engine.mcp.offers import ToolOffer, safe_line, tool_name
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.tools.tool import Arguments, CallingOutput, Capabilities, Tool, ToolFailed, ToolOutput

if TYPE_CHECKING:
    from oi_tui.app.engine.mcp.sdk_session import SdkConnection

MOST_FORMS = 5
"""Questions of a server within one call."""

MOST_ASKED, LONGEST_ASKED = 3, 20_000
"""What a server that may ask the model can ask it within one call, and characters of each."""


T = TypeVar("T")


class Calls:
    """The calls of one server, one at a time, so that a question of the server belongs to the call that runs."""

    def __init__(
        self,
        named: NamedServer,
        connection: Callable[[], "SdkConnection"],
        ended: asyncio.Event,
        report: Callable[[str, str], None],
    ) -> None:
        """`connection` raises ServerFault while there is none; `ended` is set when it is lost."""
        self._named = named
        self._connection = connection
        self._ended = ended
        self._report = report
        self._lock = asyncio.Lock()
        self._output: CallingOutput | None = None
        """Of the call that runs."""
        self._forms = self._asked = 0
        self._asking: asyncio.Future[Any] | None = None
        """The question that is open, to the person or to the model."""
        self._waited = 0.0
        """Seconds of this call in which the person was asked."""

    @property
    def origin(self) -> str:
        """The origin of its tools: "MCP server time"."""
        return f"MCP server {self._named.name}"

    def tool(self, offer: ToolOffer, profile: Profile | None) -> Tool:
        """The tool for a model; `profile` is the sandbox of the server, None without one."""
        entry = self._named.entry
        return Tool(
            name=tool_name(self._named.name, offer.name),
            description=f"[{self.origin}] {offer.description or offer.title or offer.name}",
            schema=offer.schema,
            run=partial(self._call, offer.name),
            capabilities=capabilities_of(entry, offer),
            confinement=_confinement(profile),
            origin=self.origin,
            foreign=True,
            asks_model=entry.sampling,
        )

    async def ask_form(self, form: Form) -> tuple[str, dict[str, Any]]:
        """What the person answers to a question of the server, which it may ask within a call only."""
        output = self._output
        if output is None:
            self._report("stray question", "it asks you something although nothing was asked of it; that is refused")
            return "decline", {}
        if form.wants_secret:
            self._report("secret asked", "it asks for a password or a key, which no server gets this way")
            return "decline", {}
        self._forms += 1
        if self._forms > MOST_FORMS:
            self._report("questions", f"it asks more than {MOST_FORMS} times within one call")
            return "decline", {}
        try:
            return await self._wait_for(fill_form(self._named.name, form, output.ask))
        except ValueError:  # one question at a time
            return "cancel", {}

    async def ask_model(self, text: str) -> str:
        """What the session's model answers to a text of the server, after the person has seen it and agreed;
        ServerFault where it is not asked. Within a call only."""
        if not self._named.entry.sampling:
            self._report("model asked", "it wants to ask the model, which its entry does not allow")
            raise ServerFault("It may not ask the model.")
        output = self._output
        if output is None:
            self._report("stray sampling", "it wants to ask the model although nothing was asked of it")
            raise ServerFault("The model is asked within a call only.")
        if len(text) > LONGEST_ASKED:
            self._report("long sampling", f"it wants to ask the model more than {LONGEST_ASKED:,} characters")
            raise ServerFault(f"The model is asked {LONGEST_ASKED:,} characters at most.")
        self._asked += 1
        if self._asked > MOST_ASKED:
            self._report("samplings", f"it wants to ask the model more than {MOST_ASKED} times within one call")
            raise ServerFault(f"The model is asked {MOST_ASKED} times within one call at most.")
        if self._asking is not None:
            raise ServerFault("Another question is not over yet.")
        try:
            return await self._wait_for(output.call(ASK_MODEL, {"prompt": text}))
        except ToolFailed as failed:
            raise ServerFault(safe_line(str(failed), 300)) from failed

    async def _wait_for(self, asked: Coroutine[Any, Any, T]) -> T:
        """Wait for the person; the call's time limit pauses."""
        began = time.monotonic()
        self._asking = asking = asyncio.ensure_future(asked)
        try:
            return await asking
        finally:
            asking.cancel()
            self._asking = None
            self._waited += time.monotonic() - began

    async def _call(self, name: str, arguments: Arguments, output: CallingOutput) -> str:
        async with self._lock:
            self._output, self._forms, self._asked, self._waited = output, 0, 0, 0.0
            try:
                answer = await self._answer(name, arguments, output)
            except ServerFault as fault:
                raise ToolFailed(f"{self.origin}: {safe_line(str(fault), 1_000)}") from fault
            finally:
                self._output = None
        return self._result(answer, output)

    async def _answer(self, name: str, arguments: Arguments, output: ToolOutput) -> ServerAnswer:
        """The answer of the server; ServerFault also if it ends meanwhile."""

        def report(done: float, total: float | None, message: str) -> None:
            with suppress(ValueError, TypeError):
                output.report(done, total, safe_line(message))

        calling = asyncio.ensure_future(self._connection().call(name, arguments, report))
        ending = asyncio.ensure_future(self._ended.wait())
        began, limit = time.monotonic(), self._named.entry.timeout
        try:
            while not (calling.done() or ending.done()):
                left = began + limit + self._waited - time.monotonic()
                if self._asking is None and left <= 0:
                    self._report("hang", f"a call got no answer within {limit:g} seconds")
                    raise ServerFault(f"it did not answer within {limit:g} seconds")
                waiting = {calling, ending} | ({self._asking} if self._asking is not None else set())
                most = left if self._asking is None else None
                await asyncio.wait(waiting, timeout=most, return_when=asyncio.FIRST_COMPLETED)
            if not calling.done():
                raise ServerFault("it ended before it answered")
            return calling.result()
        finally:
            calling.cancel()
            ending.cancel()
            await asyncio.gather(calling, ending, return_exceptions=True)

    def _result(self, answer: ServerAnswer, output: ToolOutput) -> str:
        for picture in answer.pictures():
            output.show(picture)
        if answer.left_out:
            self._report("pictures", "it sends pictures that are none, too large or too many; they are left out")
        if answer.failed:
            raise ToolFailed(answer.text or f"{self.origin} says that it went wrong.")
        return answer.text


def capabilities_of(entry: ServerEntry, offer: ToolOffer) -> Capabilities:
    """What its calls may do: what the sandbox leaves to it. What it says of itself counts where it is the stricter, or
    where the person believes it."""
    walled = bool(entry.command) and entry.sandbox
    network = not walled or entry.network != "none"
    writes = destroys = not walled or entry.write or network
    repeatable = False
    if offer.destroys or offer.reads_only is False:
        writes = True
        destroys = destroys or bool(offer.destroys)
    if entry.believe_hints:
        writes = writes and not offer.reads_only
        destroys = destroys and offer.destroys is not False
        repeatable = bool(offer.reads_only or offer.repeatable)
    return Capabilities(writes=writes, destroys=destroys, network=network, repeatable=repeatable)


def _confinement(profile: Profile | None) -> Confinement:
    if profile is None:
        return Confinement()
    return Confinement(
        sandboxed=not profile.is_weaker, offline=profile.network == "none", reach=reach_of(profile, "mcp")
    )
