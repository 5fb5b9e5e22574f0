"""Rows S21 to S23: what a sandbox with a list of hosts reaches, and how hosts are compared."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.sandbox.hosts import Refusal
from oi_tui.app.engine.sandbox.proxy import HEAD_LIMIT, WRITTEN, Proxy, own_addresses
from support.enclosure import attempt, profile
from support.runs import collect

pytestmark = pytest.mark.asyncio(loop_scope="module")

Enclosed = Callable[..., Kernel]

LIMIT = 20.0


class Site:
    """A server on the loopback interface that keeps what it was asked and answers with it."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[str] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        line = head.splitlines()[0].encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(line), line))
        await writer.drain()
        writer.close()


@pytest_asyncio.fixture(loop_scope="module")
async def site() -> AsyncIterator[Site]:
    """One that listens."""
    site = Site()
    async with await asyncio.start_server(site.answer, "127.0.0.1", 0) as server:
        site.port = server.sockets[0].getsockname()[1]
        yield site


@asynccontextmanager
async def proxy(*rules: str, folder: Path) -> AsyncIterator[list[Refusal]]:
    """A proxy with these rules, which listens at `folder/proxy`; all that it tells of."""
    told: list[Refusal] = []
    made = await Proxy(rules, told.append).open(folder / "proxy")
    try:
        yield told
    finally:
        await made.close()


@pytest.fixture
def localhost() -> None:
    """A machine that knows itself by this name."""
    try:
        socket.getaddrinfo("localhost", None)
    except OSError as error:
        pytest.skip(f"NOT TESTED: names that lead to this machine; it has none, for lack of /etc/hosts: {error}")


async def said(folder: Path, request: str) -> str:
    """The whole answer of the proxy to one request."""
    async with asyncio.timeout(LIMIT):
        reader, writer = await asyncio.open_unix_connection(folder / "proxy")
        writer.write(request.encode("latin-1"))
        await writer.drain()
        answer = await reader.read()
        writer.close()
        return answer.decode("latin-1")


async def status(folder: Path, target: str, *, method: str = "CONNECT") -> str:
    """The number of the answer to a request for this target."""
    return (await said(folder, f"{method} {target} HTTP/1.1\r\nHost: x\r\n\r\n")).split(" ")[1]


@pytest.mark.sandbox
@pytest.mark.kernel
async def test_S21_an_empty_list_reaches_nothing(enclosed: Enclosed, project: Path, home: Path, site: Site) -> None:
    chosen = profile(project, home, network="hosts")
    assert chosen.describe().endswith("no network")
    kernel = enclosed(chosen)
    fetch = (
        "import urllib.request as r\n"
        f"try: print(r.urlopen('http://127.0.0.1:{site.port}/x', timeout=5).read())\n"
        "except OSError as error: print(type(error).__name__, error)\n"
    )
    assert "ECONNREFUSED" in await attempt(kernel, f"socket.create_connection(('127.0.0.1', {site.port}))")
    run = await collect(kernel, "import os; del os.environ['no_proxy'], os.environ['NO_PROXY']\n" + fetch)
    assert "403" in run.text()
    assert site.asked == []


async def test_S21_a_proxy_without_rules_refuses_everything(tmp_path: Path) -> None:
    targets = ("example.org:443", "localhost:80", "127.0.0.1:80", "[::1]:80")
    async with proxy(folder=tmp_path) as told:
        for target in targets:
            assert await status(tmp_path, target) == "403"
    assert told == [Refusal(target, "not on the list") for target in targets]


@pytest.mark.usefixtures("localhost")
@pytest.mark.sandbox
@pytest.mark.kernel
async def test_a_host_of_the_list_is_reached_from_inside_and_no_other(
    enclosed: Enclosed, project: Path, home: Path, site: Site
) -> None:
    rules = (f"localhost:{site.port}", f"127.0.0.1:{site.port}", f"[::1]:{site.port}")
    chosen = profile(project, home, network="hosts", hosts=rules)
    assert chosen.describe().endswith("network: 3 allowed hosts")
    told: list[Refusal] = []
    make = partial(enclosed, chosen, on_refusal=told.append)
    python, shell = make(), make("shell")
    fetch = (
        "import os, urllib.request as r\n"
        "del os.environ['no_proxy'], os.environ['NO_PROXY']\n"
        "opener = r.build_opener(r.ProxyHandler({'http': os.environ['http_proxy']}))\n"
        "def get(url):\n"
        "    try: return opener.open(url, timeout=10).read().decode()\n"
        "    except OSError as error: return str(error)\n"
    )
    await collect(python, fetch)
    reached = await collect(python, f"print(opener.open('http://localhost:{site.port}/a?b=c').read().decode())")
    assert reached.text() == "GET /a?b=c HTTP/1.1\n"
    assert "403" in (await collect(python, f"get('http://localhost:{site.port + 1}/')")).result
    assert "403" in (await collect(python, "get('http://example.org/')")).result
    assert await attempt(python, f"socket.create_connection(('127.0.0.1', {site.port}))") == "ECONNREFUSED"
    # Many at a time, from the shell's own way in.
    ask = f"printf 'CONNECT localhost:{site.port} HTTP/1.1\\r\\n\\r\\nGET /'$n' HTTP/1.0\\r\\n\\r\\n'"
    loop = f"for n in 1 2 3 4 5 6 7 8; do (exec 3<>/dev/tcp/127.0.0.1/3128; {ask} >&3; cat <&3) & done; wait"
    assert (await collect(shell, loop)).text().count("200 OK") == 8
    assert [refusal.host for refusal in told] == [f"localhost:{site.port + 1}", "example.org:80"]
    ask = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3"
    assert "403 Forbidden" in (await collect(shell, ask)).text()
    assert told[2:] == [Refusal("evil.example:443", "not on the list")]


@pytest.mark.usefixtures("localhost")
@pytest.mark.parametrize("rule", ["localhost", "localhost:{port}"])
async def test_S22_an_allowed_name_that_leads_to_this_machine_is_denied(tmp_path: Path, site: Site, rule: str) -> None:
    async with proxy(rule.format(port=site.port), f"localhost:{site.port}", folder=tmp_path) as told:
        answer = await said(tmp_path, f"GET http://localhost:{site.port}/ HTTP/1.1\r\n\r\n")
        assert answer.startswith("HTTP/1.1 403")
        assert "not public" in answer
        assert await status(tmp_path, f"localhost:{site.port}") == "403"
    assert told == [Refusal(f"localhost:{site.port}", "leads to an address that is not public")] * 2
    assert site.asked == []


async def test_S22_an_address_is_allowed_by_a_rule_with_this_address_only(tmp_path: Path, site: Site) -> None:
    async with proxy(f"127.0.0.1:{site.port}", folder=tmp_path):
        assert "GET /x HTTP/1.1" in await said(tmp_path, f"GET http://127.0.0.1:{site.port}/x HTTP/1.1\r\n\r\n")
        assert await status(tmp_path, f"127.0.0.2:{site.port}") == "403"
        assert await status(tmp_path, f"[::ffff:127.0.0.1]:{site.port}") == "403"
        assert await status(tmp_path, f"localhost:{site.port}") == "403"


INSIDE = (
    *(
        "127.0.0.1",
        "127.8.9.1",
        "0.0.0.0",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "169.254.169.254",
    ),
    *("100.100.100.200", "fd00:ec2::254", "fe80::a9fe:a9fe%1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "224.0.0.1"),
    *("255.255.255.255", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"),
)
"""Of machines and networks, and of what clouds tell about those who ask (169.254.169.254 and its like)."""


@pytest.mark.parametrize("others", [(), ("93.184.215.14",)], ids=["alone", "behind a public one"])
async def test_S22_an_allowed_name_that_a_resolver_leads_inside_is_denied(
    tmp_path: Path, others: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def resolve(host: str, port: int, *_: object, **__: object) -> list[tuple[object, ...]]:
        assert host == "allowed.com"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)  # the system's, which others may have a hand in
    async with proxy("allowed.com", "*.allowed.com:443", folder=tmp_path) as told:
        for address in (*INSIDE, *map(str, own_addresses()), *(() if others else ("",))):
            found[:] = [*others, *filter(None, [address])]
            assert await status(tmp_path, "allowed.com:443") == "403", address
            assert await status(tmp_path, "http://allowed.com/latest/meta-data/", method="GET") == "403", address
            assert [one.host for one in told[-2:]] == ["allowed.com:443", "allowed.com:80"]
            assert told[-1].why == "leads to an address that is not public"


async def test_S22_addresses_of_this_machine_are_known() -> None:
    assert ipaddress.ip_address("127.0.0.1") in own_addresses()


@pytest.mark.parametrize(
    "target",
    [
        *("allowed.com.evil.com:443", "evil.com#allowed.com:443", "allowed.com@evil.com:443", "evilallowed.com:443"),
        *("user:pass@allowed.com:443", "allowed.com:443/x", "allowed.com\\@evil.com:443", "allowed.com:444"),
        *("2130706433:443", "0x7f000001:443", "0x7f.1:443", "127.1:443", "0177.0.0.1:443", "[::ffff:7f00:1]:443"),
        *("allowed.com%00.evil.com:443", "allowed.com%2eevil.com:443", "sub.allowed.com:443", "allowed.com..:443"),
        *(":443", "allowed.com", "allowed.com:", "allowed.com:0", "allowed.com:70000", "allowed.com:443:443", "*:443"),
        "allowed.com" + "x" * 10_000 + ":443",
        *("[::ffff:2130706433]:443", "[::127.0.0.1]:443", "0:443", "0x0:443", "127.0.0.1.:443", "127.0.0.1:443"),
        *("ALLOWED.COM.EVIL.COM:443", "allowed.com.:444", "allowed.com.evil.com.:443", "allowed.com#@evil.com:443"),
        *("ａllowed.com:443", "allowed.com\u3002evil.com:443", "[allowed.com]:443", "xn--allowed.com:443"),
    ],
)
async def test_S23_what_only_looks_like_an_allowed_host_is_denied(tmp_path: Path, target: str) -> None:
    async with proxy("allowed.com:443", folder=tmp_path) as told:
        request = f"CONNECT {target} HTTP/1.1\r\n\r\n".encode().decode("latin-1")
        assert (await said(tmp_path, request)).split(" ")[1] in ("400", "403")
    assert len(told) == 1
    assert len(told[0].host) <= WRITTEN


@pytest.mark.usefixtures("localhost")
@pytest.mark.parametrize("target", ["LocalHost:{port}", "localhost.:{port}", "LOCALHOST.:{port}"])
async def test_S23_case_and_a_trailing_dot_make_no_difference(tmp_path: Path, site: Site, target: str) -> None:
    rules = (f"localhost:{site.port}", f"127.0.0.1:{site.port}", f"[::1]:{site.port}")
    async with proxy(*rules, folder=tmp_path):
        request = f"GET http://{target.format(port=site.port)}/ HTTP/1.1\r\n\r\n"
        assert (await said(tmp_path, request)).startswith("HTTP/1.1 200")


@pytest.mark.parametrize(
    "request_",
    [
        *("GET / HTTP/1.1\r\n\r\n", "GET https://allowed.com/ HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"),
        *("GET http:///x HTTP/1.1\r\n\r\n", "GET file:///etc/passwd HTTP/1.1\r\n\r\n", "GET  HTTP/1.1\r\n\r\n"),
        *("GET http://evil.com\\allowed.com/ HTTP/1.1\r\n\r\n", "GET http://a@allowed.com/ HTTP/1.1\r\n\r\n"),
        *(
            "CONNECT allowed.com:443\r\n\r\n",
            "\r\n\r\n",
            "GET http://allowed.com/ HTTP/1.1\nHost: evil.com\n\n\r\n\r\n",
        ),
        "GET http://allowed.com/ HTTP/1.1\r\nX: " + "x" * HEAD_LIMIT + "\r\n\r\n",
    ],
)
async def test_S23_a_request_that_is_none_is_refused(tmp_path: Path, request_: str) -> None:
    async with proxy("allowed.com", folder=tmp_path):
        assert (await said(tmp_path, request_)).split(" ")[1] == "400"


async def test_S23_the_host_header_is_that_of_the_allowed_host(tmp_path: Path, site: Site) -> None:
    rule = f"127.0.0.1:{site.port}"
    async with proxy(rule, folder=tmp_path):
        headers = "Host: evil.com\r\nProxy-Authorization: Basic x\r\nConnection: keep-alive\r\nX-Kept: yes"
        await said(tmp_path, f"POST http://{rule}/x?y HTTP/1.1\r\n{headers}\r\n\r\n")
    (head,) = site.asked
    assert head == f"POST /x?y HTTP/1.1\r\nHost: {rule}\r\nX-Kept: yes\r\nConnection: close\r\n\r\n"


async def test_a_client_that_says_nothing_does_not_keep_the_proxy_open(tmp_path: Path) -> None:
    async with asyncio.timeout(LIMIT):
        async with proxy("allowed.com", folder=tmp_path):
            reader, writer = await asyncio.open_unix_connection(tmp_path / "proxy")
            assert await status(tmp_path, "other.com:443") == "403"  # it was answered after the other one had come
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
