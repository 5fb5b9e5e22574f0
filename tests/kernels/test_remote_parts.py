"""Kernels on Jupyter servers, without one: frames, the numbers of messages, the list of servers, answers of strange
servers. tests/servers has real ones."""

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote import server as server_module
from oi_tui.app.engine.kernels.remote.channels import MessageNumbers
from oi_tui.app.engine.kernels.remote.messages import pack, parse, split_frame, with_type
from oi_tui.app.engine.kernels.remote.server import ANSWER_LIMIT, JupyterServer, KernelGone
from oi_tui.app.engine.kernels.remote.servers import KnownServer, KnownServers
from oi_tui.app.engine.kernels.remote.site import open_site

JSON = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner, max_size=3))


@given(st.sampled_from(("shell", "iopub", "stdin")), st.dictionaries(st.text(), JSON, max_size=4))
def test_a_message_comes_out_of_its_frame_as_it_went_in(channel: str, content: dict[str, Any]) -> None:
    message = {"header": {"msg_type": "stream"}, "parent_header": {}, "metadata": {}, "content": content}
    name, parts = split_frame(pack(channel, message))
    assert (name, parse(parts)) == (channel, message | {"msg_type": "stream"})


@given(
    st.binary(max_size=200)
    | st.lists(st.integers(0, 2**64 - 1), max_size=12).map(lambda n: struct.pack(f"<{len(n)}Q", *n))
)
def test_a_frame_that_is_none_is_a_value_error(frame: bytes) -> None:
    try:
        _, parts = split_frame(frame)
        parse(parts)
    except (ValueError, RecursionError):
        pass


@pytest.mark.parametrize("message", [None, [], {}, {"header": None}, {"header": {"msg_type": 3}}])
def test_a_message_without_a_header_is_a_value_error(message: object) -> None:
    with pytest.raises(ValueError, match="header"):
        with_type(message)


@given(st.integers(0, 50), st.integers(1, 60), st.data())
def test_what_never_came_is_counted_in_whatever_order_the_rest_came(
    first: int, count: int, data: st.DataObject
) -> None:
    lost = data.draw(st.sets(st.integers(1, max(1, count - 2)), max_size=count)) if count > 2 else set()
    came = [number for number in range(count) if number not in lost or number == count - 1]
    numbers = MessageNumbers()
    numbers.note(f"kernel_17_{first}")
    for number in data.draw(st.permutations(came)):
        numbers.note(f"kernel_17_{first + number}")
    assert numbers.take_missing() == count - len(came)
    assert numbers.take_missing() == 0


def test_names_without_a_number_are_no_sign_of_a_loss() -> None:
    numbers = MessageNumbers()
    for name in ("", "abc", "x_y", "s_1_5", "s_1_6", "other_2_900", "x_1_²", "x_1_99999999999999999999"):
        numbers.note(name)
    assert numbers.take_missing() == 0


async def test_servers_are_kept_in_a_file_of_our_own(tmp_path: Path) -> None:
    servers = KnownServers(tmp_path / "servers.toml", owner=os.getuid())
    assert servers.all() == {}
    with pytest.raises(SettingsError, match="There is no Jupyter server called “cluster”"):
        servers.find("cluster")
    server = KnownServer(
        name="cluster", url="https://me:pw@hub.example.org/user/me/", token="s3cret", token_variable="HUB"
    )
    servers.put("cluster", server)
    assert (tmp_path / "servers.toml").stat().st_mode & 0o777 == 0o600
    assert servers.find("cluster") == server
    assert await server.find_token({}, lambda *_: None) == "s3cret"
    assert await server.find_token({"HUB": "newer"}, lambda *_: None) == "newer"
    assert server.host == "hub.example.org"
    assert "s3cret" not in repr(server)
    assert "pw" not in repr(server)
    servers.put("cluster", None)
    assert servers.all() == {}


@pytest.mark.parametrize("text", ["[server", "[server.x]\nurl = 3\n", "[server.x]\nnosuch = 1\n"])
def test_a_list_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "servers.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(SettingsError, match=r"servers\.toml"):
        KnownServers(path, owner=os.getuid()).all()


def test_a_list_that_others_can_write_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "servers.toml"
    path.write_text("")
    path.chmod(0o666)
    with pytest.raises(SettingsError):
        KnownServers(path, owner=os.getuid()).all()


@pytest.mark.parametrize("url", ["", "cluster", "ftp://x/", "file:///etc/passwd", "http://"])
def test_what_is_no_address_is_said_at_once(url: str) -> None:
    with pytest.raises(KernelError, match="no address"):
        JupyterServer(url)


# -- strange servers -----------------------------------------------------------------------------------

Answer = Callable[[web.Request], web.StreamResponse]


@pytest_asyncio.fixture
async def serve() -> AsyncIterator[Callable[[Answer], Any]]:
    """Serves every request with this answer: `url = await serve(answer)`."""
    runners: list[web.AppRunner] = []

    async def serving(answer: Answer) -> str:
        async def handle(request: web.Request) -> web.StreamResponse:
            return answer(request)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/base/"

    yield serving
    for runner in runners:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: web.Response(status=401), "wants a token"),
        (lambda _: web.json_response({"message": "no such user"}, status=403), "does not allow"),
        (lambda _: web.Response(status=302, headers={"Location": "http://elsewhere.example/"}), "another page"),
        (lambda _: web.Response(status=500, text="<html>"), "answered 500"),
        (lambda _: web.Response(text="<html>hello"), "not as a Jupyter server"),
        (lambda _: web.Response(text="[" * 100_000), "not as a Jupyter server"),
        (lambda _: web.json_response({"id": 3}), "not as a Jupyter server"),
        (lambda _: web.Response(body=b" " * (ANSWER_LIMIT + 1_000_000)), "not as a Jupyter server"),
    ],
)
async def test_a_strange_answer_is_an_error_in_plain_words_without_the_token(
    serve: Callable[[Answer], Any], answer: Answer, words: str
) -> None:
    async with JupyterServer(await serve(answer), "s3cret") as server:
        with pytest.raises(KernelError, match=words) as told:
            await server.start("python3")
    assert "s3cret" not in f"{told.value} {told.value.hint} {told.value.details} {told.value.__cause__!r}"


async def test_the_token_goes_along_and_to_the_path_of_the_server(serve: Callable[[Answer], Any]) -> None:
    seen: list[tuple[str, str, str | None]] = []

    def answer(request: web.Request) -> web.Response:
        seen.append((request.method, request.raw_path, request.headers.get("Authorization")))
        return web.json_response({"kernelspecs": {"ir": {"spec": {"language": "R"}}, "odd": 3}})

    url = await serve(answer)
    async with JupyterServer(f"{url}?token=s3cret") as server:
        assert await server.kernelspecs() == {"ir": "R", "odd": ""}
        await server.interrupt("a/b")
    assert seen == [
        ("GET", "/base/api/kernelspecs", "token s3cret"),
        ("POST", "/base/api/kernels/a%2Fb/interrupt", "token s3cret"),
    ]


async def test_a_kernel_that_is_gone_is_no_error_where_it_need_not_be_there(serve: Callable[[Answer], Any]) -> None:
    async with JupyterServer(await serve(lambda _: web.Response(status=404))) as server:
        assert await server.look_up("x") is None
        await server.remove("x")
        with pytest.raises(KernelGone):
            await server.interrupt("x")


async def test_a_server_that_does_not_answer_is_said_to_be_out_of_reach() -> None:
    async with JupyterServer("http://127.0.0.1:9/", "s3cret") as server:
        with pytest.raises(KernelError, match=r"127\.0\.0\.1 cannot be reached"):
            await server.kernelspecs()
        with pytest.raises(KernelError, match="cannot be reached"):
            await server.connect("x", "s", "p", 100)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:9/", r"nothing listens there \(connection refused\)\."),
        ("http://nosuch.invalid/", r"the name nosuch\.invalid is not known\."),
        ("https://127.0.0.1:{port}/", "it does not speak https there: try http://"),
    ],
)
async def test_why_a_server_is_out_of_reach_is_said_in_plain_words(
    serve: Callable[[Answer], Any], url: str, words: str
) -> None:
    port = urlsplit(await serve(lambda _: web.Response())).port
    async with JupyterServer(url.format(port=port)) as server:
        with pytest.raises(KernelError, match=words):
            await server.kernelspecs()
        with pytest.raises(KernelError, match=words):
            await server.connect("x", "s", "p", 100)


async def test_a_server_that_refuses_a_token_is_named_with_what_to_do(serve: Callable[[Answer], Any]) -> None:
    url = await serve(lambda _: web.Response(status=403))
    server = KnownServer(name="cluster", url=url, token="s3cret", token_variable="HUB_TOKEN")
    with pytest.raises(KernelError) as told:
        async with open_site(server, Launch(cwd=Path.cwd(), environ={}), starts=False):
            pass
    assert told.value.title.startswith("cluster (127.0.0.1): ")
    command = f"oi-tui kernels add cluster {url.rstrip('/')} --replace"
    assert command in told.value.hint
    assert "HUB_TOKEN" in told.value.hint


@pytest.mark.parametrize("token", ["first\nsecond", "first\r\nX-Header: second"])
def test_a_token_with_a_line_break_inside_is_refused_in_words(token: str) -> None:
    with pytest.raises(KernelError, match="line break") as told:
        JupyterServer("http://hub.test/", token)
    assert "first" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("htp://hub.test/", "Say http://… or https://…"),
        ("hub.test:8888", "Say http://hub.test:8888 or https://hub.test:8888."),
        ("hub.test/user/me", "Say http://hub.test/user/me or https://hub.test/user/me."),
    ],
)
def test_an_address_without_its_scheme_is_offered_with_both(url: str, hint: str) -> None:
    with pytest.raises(KernelError) as told:
        JupyterServer(url)
    assert hint in told.value.hint


async def test_a_server_that_takes_a_connection_and_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with JupyterServer(f"http://127.0.0.1:{silent.getsockname()[1]}/") as server, asyncio.timeout(10):
            with pytest.raises(KernelError, match="did not answer in time"):
                await server.connect("x", "s", "p", 100)


async def test_a_kernel_whose_start_was_cancelled_does_not_stay_on_the_server() -> None:
    asked, may_start, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handle(request: web.Request) -> web.Response:
        if request.method == "DELETE":
            assert request.path == "/api/kernels/k"
            ended.set()
            return web.Response(status=204)
        asked.set()
        await may_start.wait()
        return web.json_response({"id": "k"}, status=201)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with asyncio.timeout(20), JupyterServer(f"http://127.0.0.1:{runner.addresses[0][1]}/") as server:
        starting = asyncio.create_task(server.start("python3"))
        await asked.wait()
        starting.cancel()
        asyncio.get_running_loop().call_later(0.1, may_start.set)
        await asyncio.wait([starting])
        assert starting.cancelled()
        assert ended.is_set()
    await runner.cleanup()
