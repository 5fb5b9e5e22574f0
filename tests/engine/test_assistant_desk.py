"""Calls of another assistant in a session, without its program."""

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.build import make_engine, redactor_of
from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.engine_sockets import engine_sockets, socket_session
from oi_tui.app.engine.session.assistant_desk import AssistantDesk
from oi_tui.app.engine.session.host import Host


async def no_report(seconds: float, words: str) -> None:
    """Nobody reads how it goes."""


async def test_N17_of_calls_that_come_at_once_the_first_opens_the_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    setup: Any = Configure(cwd=str(work), settings=Settings())
    redactor = redactor_of(setup, os.environ)
    host = Host(partial(make_engine, redactor=redactor, uses_servers=False))
    async with asyncio.timeout(60):
        engine = await host.begin(setup)
        try:
            desk = AssistantDesk(host, engine, redactor, setup, 5.0)
            answers = await asyncio.gather(*(desk.call("read_file", {"path": "x"}, no_report) for _ in range(5)))
            assert [answer.text for answer in answers] == ["There is no file x."] * 5
            session = engine.current_session
            assert session is not None
            told = [block.title for block in session.session.transcript.blocks if isinstance(block, NoticeBlock)]
            assert told == ["another assistant works in this session over MCP."]
            assert [socket_session(path) for path in engine_sockets()] == [session.id]
        finally:
            await host.close("over")
