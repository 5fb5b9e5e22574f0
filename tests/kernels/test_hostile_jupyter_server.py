"""Row S31: what a hostile Jupyter server may send without harm."""

import asyncio
import json
import uuid
from typing import Any

import pytest
from aiohttp import web

from oi_tui.app.engine.kernels.message_desk import FRAME_LIMIT, TOO_LARGE, VALUES_LIMIT
from oi_tui.app.engine.kernels.remote.channels import RemoteChannels
from oi_tui.app.engine.kernels.remote.messages import PROTOCOL, pack
from oi_tui.app.engine.kernels.remote.run_queue import RunQueue
from oi_tui.app.engine.kernels.remote.server import JupyterServer


async def take_in(*frames: bytes | str, queue: RunQueue | None = None) -> list[tuple[str, dict[str, Any]]]:
    """What is passed on of these frames of a server, kind and content."""
    told: list[tuple[str, dict[str, Any]]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        if "channels" not in request.path:
            return web.json_response({"message": "gone"}, status=404)
        socket = web.WebSocketResponse(protocols=[PROTOCOL] if isinstance(frames[0], bytes) else [])
        await socket.prepare(request)
        for frame in frames:
            await (socket.send_bytes(frame) if isinstance(frame, bytes) else socket.send_str(frame))
        return socket

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    ended = asyncio.Event()
    async with JupyterServer(f"http://127.0.0.1:{runner.addresses[0][1]}/") as server:
        channels = RemoteChannels(server, "k", "s", lambda how: ended.set(), queue=queue)
        channels.desk.deliver = lambda channel, kind, parent, content: told.append((kind, content))
        await channels.connect()
        channels.listen()
        try:
            async with asyncio.timeout(30):
                await ended.wait()
        finally:
            await channels.close()
            await runner.cleanup()
    return told


def frame_of(**parts: Any) -> bytes:
    message = {"header": {"msg_id": uuid.uuid4().hex, "msg_type": "stream"}, "parent_header": {"msg_id": "r"}}
    return pack("iopub", {**message, "metadata": {}, "content": {"text": "x"}, **parts})


async def test_S31_what_a_server_says_beside_the_content_is_bounded_too() -> None:
    many: list[list[int]] = [[]] * (VALUES_LIMIT + 1)
    good = frame_of()
    told = await take_in(
        frame_of(metadata={"x": many}),
        frame_of(parent_header={"msg_id": "r", "x": many}),
        frame_of(header={"msg_id": "m", "msg_type": "stream", "x": "y" * (FRAME_LIMIT + 1)}),
        good,
    )
    assert [kind for kind, _ in told if kind != TOO_LARGE] == ["stream"]
    assert told[-1] == ("stream", {"text": "x"})


async def test_S31_a_message_of_text_that_is_too_large_is_told_as_one() -> None:
    header = {"header": {"msg_id": "m", "msg_type": "stream"}, "parent_header": {"msg_id": "r"}, "channel": "iopub"}
    text = json.dumps({**header, "metadata": {}, "content": {"text": "x" * (FRAME_LIMIT + 1)}})
    assert await take_in(text) == [(TOO_LARGE, {"bytes": len(text)})]


@pytest.mark.parametrize("content", [[], "busy", {"execution_state": []}, None])
async def test_S31_a_state_that_makes_no_sense_does_not_end_the_connection(content: Any) -> None:
    status = frame_of(header={"msg_id": "m", "msg_type": "status"}, content=content)
    told = await take_in(status, frame_of(), queue=RunQueue(busy=False))
    assert told[-1] == ("stream", {"text": "x"})
