"""The app of a test, on a scripted engine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.flags import Flags
from oi_tui.app.frontend.client import EngineClient
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.tui import OiTui
from support.short_waits import draw_end, leave_unseen
from support.stage import Play, ScriptedEngine, Stage


@pytest.fixture
def scripted_engine() -> ScriptedEngine:
    """An engine that no app has started."""
    return ScriptedEngine()


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """`async with play(size=(80, 24)) as stage:` runs the app on a scripted engine with an open session."""

    @asynccontextmanager
    async def playing(
        size: tuple[int, int] = (80, 24),
        *,
        settings: Settings | None = None,
        prompt: str | None = None,
        session_id: str | None = None,
        picks: bool = False,
        model: str = "qwen2.5-coder-1.5b",
        connect: Callable[[], Awaitable[EngineClient]] | None = None,
        workplace: Workplace | None = None,
        past: Batch | None = None,
        flags: Flags | None = None,
    ) -> AsyncIterator[Stage]:
        stage = Stage(tmp_path)
        stage.app = OiTui(
            connect or stage.connect,
            settings or Settings(),
            prompt=prompt,
            session_id=session_id,
            picks=picks,
            clock=stage.clock,
            workplace=workplace,
            flags=flags,
        )
        leave_unseen(stage.app)
        async with asyncio.timeout(60), stage.app.run_test(size=size) as pilot:
            stage.pilot = pilot
            await stage.settle()
            if past is not None:
                stage.engine.reply(past)
                await stage.settle()
            if stage.engines:
                stage.engine.say(stage.opened(model))
            await stage.settle()
            yield stage
            draw_end(stage.app)

    return playing
