"""A real Jupyter Server and a real Enterprise Gateway with a token, and a plain client of theirs that is not ours."""

import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from aiohttp import ClientSession, ClientWebSocketResponse

TOKEN = "a-token-of-the-tests"

HEADERS = {"Authorization": f"token {TOKEN}"}

Serve = Callable[..., str]


def begin_server(kind: str, serve: Serve, **environ: str) -> str:
    """The address of a `server` or a `gateway` that was just started with these variables."""
    if kind == "server":
        own = ("--allow-root", "--ip=127.0.0.1", "--port={port}", "--no-browser", f"--IdentityProvider.token={TOKEN}")
        return serve("jupyter-server", *own, health="/api", **environ)
    listing = "--EnterpriseGatewayApp.list_kernels=True"
    flags = ("--ip=127.0.0.1", "--port={port}", f"--EnterpriseGatewayApp.auth_token={TOKEN}", listing)
    return serve("jupyter-enterprisegateway", *flags, health=f"/api?token={TOKEN}", place="gateway", **environ)


def kernels_on(url: str) -> list[str]:
    """Ids of the kernels that run there."""
    answer = httpx.get(f"{url}/api/kernels", headers=HEADERS, trust_env=False, timeout=20)
    return [str(kernel["id"]) for kernel in answer.raise_for_status().json()]


def begin_kernel(url: str) -> str:
    """The id of a kernel that was started there by somebody else."""
    body = {"name": "python3", "env": {"KERNEL_USERNAME": "tester"}}
    answer = httpx.post(f"{url}/api/kernels", headers=HEADERS, json=body, trust_env=False, timeout=60)
    return str(answer.raise_for_status().json()["id"])


def end_kernel(url: str, kernel_id: str) -> None:
    """End the kernel, whoever uses it."""
    httpx.delete(f"{url}/api/kernels/{kernel_id}", headers=HEADERS, trust_env=False, timeout=20)


class OtherClient:
    """A notebook, as far as a kernel can tell: sends code and takes what comes of it."""

    def __init__(self, socket: ClientWebSocketResponse, session: str) -> None:
        self._socket = socket
        self._session = session
        self.said: list[dict[str, Any]] = []
        """All messages that came."""

    async def send(self, code: str) -> str:
        """Have it run; the id of the request."""
        message_id = uuid.uuid4().hex
        header = {"msg_id": message_id, "msg_type": "execute_request", "session": self._session, "username": "other"}
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        await self._socket.send_json(
            {
                "header": header | {"version": "5.3", "date": "2026-01-01T00:00:00Z"},
                "parent_header": {},
                "metadata": {},
                "content": content,
                "channel": "shell",
                "buffers": [],
            }
        )
        return message_id

    async def until(self, message_id: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message about this request that is wanted."""
        async for frame in self._socket:
            message: dict[str, Any] = json.loads(frame.data)
            self.said.append(message)
            if message["parent_header"].get("msg_id") == message_id and wanted(message):
                return message
        raise AssertionError("the connection ended")

    async def until_gone(self) -> None:
        """The server says that the process ended by itself."""
        async for frame in self._socket:
            if "restarting" in str(json.loads(frame.data)["content"].get("execution_state")):
                return

    async def run(self, code: str) -> dict[str, Any]:
        """The reply to this code."""
        return await self.until(await self.send(code), lambda message: message["msg_type"] == "execute_reply")


@asynccontextmanager
async def other_client(url: str, kernel_id: str) -> AsyncIterator[OtherClient]:
    """Somebody else at this kernel."""
    session = uuid.uuid4().hex
    place = f"{url}/api/kernels/{kernel_id}/channels?session_id={session}"
    async with ClientSession(headers=HEADERS) as http, http.ws_connect(place, max_msg_size=0) as socket:
        yield OtherClient(socket, session)
