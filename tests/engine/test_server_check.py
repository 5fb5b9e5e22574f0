"""A model server that is down is noticed soon after the start, not at the first prompt."""

import asyncio

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import LoopSection, ModelSection
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.session.server_check import ServerCheck
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from support.openai_server import OpenAIServer
from support.ports import free_port

DOWN = ModelError("unreachable", "127.0.0.1:9 does not answer.", hint="Start the server.")


async def down() -> ModelError | None:
    return DOWN


async def test_V16_a_server_that_is_down_is_said_before_the_first_prompt() -> None:
    session = Session(kernels=FakeKernels(), settings=LoopSection())
    check = ServerCheck(session, pause=0)
    check.begin(down)
    assert check.task is not None
    await check.task
    notice = session.transcript.blocks[-1]
    assert isinstance(notice, NoticeBlock)
    assert (notice.level, notice.title, notice.hint) == ("warning", DOWN.title, DOWN.hint)


async def test_V16_a_model_that_was_asked_meanwhile_says_it_itself() -> None:
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=FakeModel("Hello."))
    check = ServerCheck(session, pause=0)
    check.begin(down)
    await session.run("Hi")
    assert check.task is not None
    await check.task
    assert not any(isinstance(block, NoticeBlock) for block in session.transcript.blocks)


async def test_V16_only_the_newest_choice_is_looked_at() -> None:
    session = Session(kernels=FakeKernels(), settings=LoopSection())
    check = ServerCheck(session, pause=0)
    check.begin(down)
    first = check.task
    check.begin(down)
    assert first is not None
    assert check.task is not None
    await asyncio.wait([first, check.task])
    assert first.cancelled()
    assert len(session.transcript.blocks) == 1


async def test_V16_what_is_wrong_with_a_server_is_found_without_a_request_to_the_model() -> None:
    port = free_port()
    with OpenAIServer() as server:
        models = Models(ModelSection(name="openai/x"), environ={})
        assert await models.find_obstacle("openai/x", server.url, None) is None
        assert server.requests == []
        found = await models.find_obstacle("openai/x", f"http://127.0.0.1:{port}/v1", None)
        assert found is not None
        assert found.title == f"127.0.0.1:{port} does not answer: nothing listens there (connection refused)."
        assert await models.find_obstacle("local/tiny", "", None) is None
        await models.close()
