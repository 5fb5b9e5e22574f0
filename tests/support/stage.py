"""A scripted engine behind the client's interface, a clock that only moves by hand, and an app on top of both."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from html import unescape
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace
from textual.pilot import Pilot
from textual.screen import Screen

from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallStarted,
    CodeFinished,
    CodeStarted,
    DecisionRequested,
    ExecutionStarted,
    InputRequested,
    SessionOpened,
    TurnStarted,
)
from oi_tui.app.engine.core.library_verbs import FindFormats
from oi_tui.app.engine.core.protocol import Batch, Reply
from oi_tui.app.engine.core.tool_verbs import FindOffers
from oi_tui.app.engine.core.values import GrantScope, SessionVerb
from oi_tui.app.engine.core.verbs import AnyVerb, KeepDraft, Open
from oi_tui.app.frontend.client import EngineClient, EngineLost
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.tui import OiTui
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.arming import LOOK_INTERVAL
from oi_tui.widgets.composer import Composer, PromptArea
from support.kinds import narrow

BOUND = 10.0

AnyScreen = TypeVar("AnyScreen", bound=Screen[Any])


class ScriptedEngine:
    """Says what the test tells it to say, and keeps what it was asked."""

    def __init__(self) -> None:
        self.verbs: list[AnyVerb] = []
        """Without the session that they are about."""
        self.meant: list[tuple[type[AnyVerb], str]] = []
        """Which verb was about which session."""
        self.closed = False
        self._replies: asyncio.Queue[Reply | EngineLost | None] = asyncio.Queue()
        self._heard = asyncio.Condition()

    async def send(self, verb: AnyVerb) -> None:
        async with self._heard:
            if isinstance(verb, SessionVerb):
                self.meant.append((type(verb), verb.session_id))
                verb = replace(verb, session_id="")
            self.verbs.append(verb)
            self._heard.notify_all()

    async def replies(self) -> AsyncGenerator[Reply, None]:
        while (reply := await self._replies.get()) is not None:
            if isinstance(reply, EngineLost):
                raise reply
            yield reply

    async def close(self) -> None:
        self.closed = True
        self._replies.put_nowait(None)

    def say(self, *events: AnyEvent, replay: bool = False) -> None:
        self.reply(Batch(events=events, replay=replay))

    def reply(self, reply: Reply) -> None:
        self._replies.put_nowait(reply)

    def die(self, how: str = "killed by signal 9") -> None:
        self._replies.put_nowait(EngineLost(how))

    async def heard(self, count: int) -> list[AnyVerb]:
        """The verbs after `Open`, once there are `count` of them."""
        async with asyncio.timeout(BOUND), self._heard:
            await self._heard.wait_for(lambda: len(self.asked) >= count)
        return self.asked

    @property
    def asked(self) -> list[AnyVerb]:
        """What the person did; a draft is kept whenever there is time, formats are asked for once, and what servers
        offer with each `/` and `@`."""
        return [verb for verb in self.verbs if not isinstance(verb, Open | KeepDraft | FindFormats | FindOffers)]


class HandClock:
    """Seconds that pass only when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """The app on a screen, the engines that it started, and the clock."""

    def __init__(self, cwd: Path) -> None:
        self.engines: list[ScriptedEngine] = []
        self.clock = HandClock()
        self.cwd = cwd
        self.chosen: list[object] = []
        """What the screens that a test pushed were dismissed with, where it has it put here."""
        self.pilot: Pilot[None]
        self.app: OiTui

    @property
    def engine(self) -> ScriptedEngine:
        return self.engines[-1]

    async def connect(self) -> EngineClient:
        self.engines.append(ScriptedEngine())
        return self.engine

    def opened(self, model: str = "qwen2.5-coder-1.5b", session_id: str = "s1", resumed: bool = False) -> SessionOpened:
        return SessionOpened(
            session_id=session_id, created=0.0, cwd=str(self.cwd), model=model, approval="ask", resumed=resumed
        )

    async def settle(self) -> None:
        """Until everything that was said is on the screen."""
        async with asyncio.timeout(BOUND):
            await self.pilot.pause()
            await self.pilot.pause()

    async def until(self, holds: Callable[[], object]) -> None:
        """Until this is so: what it gives is true."""
        async with asyncio.timeout(BOUND):
            while not holds():
                await self.pilot.pause(0.02)

    @property
    def seen(self) -> str:
        """What is on the screen, as text."""
        return unescape(self.app.export_screenshot(simplify=True)).replace("\u00a0", " ")

    @property
    def prompt(self) -> PromptArea:
        """Where the person writes."""
        return self.app.chat.query_one(PromptArea)

    def told(self, words: str) -> bool:
        """Whether this is said where the person writes or is asked, or in a toast over another screen."""
        chat = self.app.chat
        said = [
            chat.query_one(Composer).note,
            *(str(row.render()) for row in chat.query("#approval-said, #question-said")),
        ]
        return any(words in one for one in (*said, *(note.message for note in self.app._notifications)))

    async def screen(self, kind: type[AnyScreen]) -> AnyScreen:
        """The screen on top, once it is of this kind."""
        await self.until(lambda: isinstance(self.app.screen, kind))
        return narrow(self.app.screen, kind)

    async def propose(
        self,
        source: str,
        language: str = "python",
        why: str = "",
        labels: tuple[str, ...] = (),
        number: int = 1,
        offer: str = "",
        scopes: tuple[GrantScope, ...] = (),
        asked_by: str = "",
    ) -> None:
        """A turn that has come to the question about this source."""
        self.engine.say(
            TurnStarted(block_id=f"u{number}", text="do it"),
            CodeStarted(block_id=f"c{number}", language=language),
            CodeFinished(block_id=f"c{number}", language=language, source=source),
            DecisionRequested(
                request_id=f"d{number}",
                block_id=f"c{number}",
                language=language,
                source=source,
                sha256=hashlib.sha256(source.encode()).hexdigest(),
                why=why,
                offer=offer,
                scopes=scopes,
                labels=labels,
                asked_by=asked_by,
            ),
        )
        await self.settle()

    async def propose_call(self, tool: str, arguments: str, labels: tuple[str, ...] = (), **about: Any) -> None:
        """A turn that has come to the question about this call; `about` are further fields of the request."""
        digest = hashlib.sha256(arguments.encode()).hexdigest()
        self.engine.say(
            TurnStarted(block_id="u1", text="do it"),
            CallStarted(block_id="t1", tool=tool),
            CallFinished(block_id="t1", tool=tool, source=arguments),
            DecisionRequested(
                request_id="d1", block_id="t1", tool=tool, source=arguments, sha256=digest, labels=labels, **about
            ),
        )
        await self.settle()

    def wait(self, seconds: float, look: Callable[[], None]) -> None:
        """Let time pass, updating the question as often as an unblocked program does."""
        for _ in range(round(seconds / LOOK_INTERVAL)):
            self.clock.now += LOOK_INTERVAL
            look()

    async def agree(self) -> None:
        """Say yes to a question that has been there for long enough."""
        question = await self.screen(ConfirmScreen)
        self.wait(5.0, question.show_arming)
        await self.settle()
        await self.pilot.press("y")

    async def arm(self, seconds: float = 5.0) -> None:
        """Long enough for any question to count, with the screen up to date."""
        await self.settle()
        self.wait(seconds, self.app.chat.query_one(ApprovalPanel).show_arming)
        await self.settle()

    async def run_and_ask(self, prompt: str = "name? ", password: bool = False) -> None:
        """A run that waits for a line."""
        self.engine.say(
            TurnStarted(block_id="u1", text="do it"),
            CodeStarted(block_id="c1", language="python"),
            CodeFinished(block_id="c1", language="python", source="name = input('name? ')"),
            ExecutionStarted(block_id="c1", generation=1),
            InputRequested(request_id="i1", block_id="c1", prompt=prompt, password=password),
        )
        await self.settle()


Play = Callable[..., AbstractAsyncContextManager[Stage]]
"""What the fixture `play` gives."""
