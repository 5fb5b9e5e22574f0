"""Finding models that are at hand, against real servers on the loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest

from oi_tui.app.engine.core.protocol import ModelOffer
from oi_tui.app.engine.models.hosted import HOSTED
from oi_tui.app.engine.models.litellm_model import load
from oi_tui.app.engine.models.model_servers import ModelPlace, server_place
from oi_tui.app.engine.models.offers import OFFERS_LIMIT, find_offers
from support.openai_server import OpenAIServer


def at_port(port: int) -> ModelPlace:
    return server_place("x", f"http://127.0.0.1:{port}/v1", "openai")


def at_hand(offers: Iterable[ModelOffer]) -> tuple[ModelOffer, ...]:
    """Those that want no key."""
    return tuple(offer for offer in offers if not offer.wants_key)


@pytest.fixture
def closed_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def answering(reply: bytes, *, hang: bool = False) -> AsyncIterator[int]:
    """A server that answers everything with `reply`; yields its port."""
    done = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        if hang:
            await done.wait()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        done.set()


async def test_servers_come_first_then_keys_then_embedded_models(closed_port: int) -> None:
    with (
        OpenAIServer(models=("llama3:8b", "nomic-embed-text")) as ollama,
        OpenAIServer(models=("qwen/coder",)) as studio,
    ):
        servers = (
            server_place("Ollama", f"http://127.0.0.1:{ollama.port}", "ollama"),
            server_place("LM Studio", f"http://127.0.0.1:{studio.port}/v1", "openai"),
            at_port(closed_port),
        )
        environ = {"OPENAI_API_KEY": "sk-secret", "MISTRAL_API_KEY": " ", "GOOGLE_API_KEY": "g-secret"}
        offers = await find_offers(environ, servers=servers, kept={"xai": "keyring"}, probe_timeout=5)
    assert at_hand(offers) == (
        ModelOffer(
            id="ollama/llama3:8b",
            kind="server",
            title="llama3:8b",
            detail=f"Ollama on port {ollama.port}",
            api_base=f"http://127.0.0.1:{ollama.port}",
        ),
        ModelOffer(
            id="openai/qwen/coder",
            kind="server",
            title="qwen/coder",
            detail=f"LM Studio on port {studio.port}",
            api_base=f"http://127.0.0.1:{studio.port}/v1",
        ),
        ModelOffer(
            id="openai/gpt-5.6", kind="key", title="OpenAI gpt-5.6", detail="key in OPENAI_API_KEY", api_base=""
        ),
        ModelOffer(
            id="gemini/gemini-3.8-flash",
            kind="key",
            title="Google Gemini gemini-3.8-flash",
            detail="key in GOOGLE_API_KEY",
            api_base="",
        ),
        ModelOffer(
            id="xai/grok-4.7", kind="key", title="xAI grok-4.7", detail="key in the keyring", api_base="", is_kept=True
        ),
    )
    rest = offers[len(at_hand(offers)) :]
    assert {offer.detail for offer in rest} == {"needs an API key"}
    assert "anthropic/claude-sonnet-5-5" in {offer.id for offer in rest}
    assert "secret" not in repr(offers)


async def test_nothing_at_hand_leaves_the_providers_that_want_a_key(closed_port: int) -> None:
    offers = await find_offers({}, servers=(at_port(closed_port),))
    assert [offer.wants_key for offer in offers] == [True] * len(HOSTED)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\n\r\n[1, 2]",
        b'HTTP/1.1 200 OK\r\n\r\n{"data": 5}',
        b'HTTP/1.1 200 OK\r\n\r\n{"data": [5, {"id": 7}, {}]}',
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 3_000_000,
        b"x" * 3_000_000,
    ],
    ids=lambda reply: reply[:60].decode().replace("\r\n", " ").strip(),
)
async def test_something_else_on_the_port_is_passed_over(reply: bytes) -> None:
    async with answering(reply) as port:
        assert at_hand(await find_offers({}, servers=(at_port(port),), probe_timeout=5)) == ()


async def test_a_server_that_does_not_answer_is_not_waited_for() -> None:
    async with asyncio.timeout(10), answering(b"HTTP/1.1 200 OK\r\n", hang=True) as port:
        assert at_hand(await find_offers({}, servers=(at_port(port),), probe_timeout=0.05)) == ()


async def test_a_long_list_of_models_is_cut() -> None:
    with OpenAIServer(models=tuple(f"model-{number}" for number in range(100))) as server:
        offers = await find_offers({}, servers=(at_port(server.port),), probe_timeout=5)
    assert len(at_hand(offers)) == OFFERS_LIMIT


async def test_the_model_that_is_offered_for_each_key_is_one_that_litellm_knows() -> None:
    litellm = load()
    for provider in HOSTED:
        missing = litellm.validate_environment(provider.model)["missing_keys"]
        assert set(missing) <= set(provider.variables), provider.title
        if provider.title != "OpenRouter":  # its choice is made by OpenRouter itself
            assert litellm.get_model_info(provider.model)["supports_function_calling"], provider.model
