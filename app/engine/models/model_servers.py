"""Where models are listed: servers on this machine and others that the user names, and providers. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from oi_tui.app.engine.models.facts import is_loopback
from oi_tui.app.engine.models.hosted import HostedProvider, ListForm, provider_title
from oi_tui.app.engine.models.lean_facts import tidy_base
from oi_tui.app.engine.models.providers import CHAT_PROVIDERS, OLLAMA

PATHS: Mapping[ListForm, str] = {
    "openai": "/models",
    "anthropic": "/models?limit=1000",
    "gemini": "/models?pageSize=1000",
    "ollama": "/api/tags",
}


class ModelPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A server that lists models."""

    title: str
    provider: str
    """What its models are named with, in front of the slash."""
    base: str
    """The address that paths are put behind."""
    form: ListForm = "openai"
    api_base: str = ""
    """The server as `UseModel` takes it; "" is the provider's own."""
    is_usual: bool = False
    """Nobody named it: it is only where such a server would listen."""

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine."""
        return is_loopback(self.base)


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A program that serves models, where it usually listens."""

    title: str
    port: int
    speaks: Literal["ollama", "openai"] = "openai"


SERVERS = (
    Server(title="Ollama", port=11434, speaks="ollama"),
    Server(title="LM Studio", port=1234),
    Server(title="llama.cpp", port=8080),
    Server(title="vLLM", port=8000),
    Server(title="Jan", port=1337),
)


def find_servers(
    environ: Mapping[str, str], named: Iterable[str] = (), servers: Iterable[Server] = SERVERS
) -> tuple[ModelPlace, ...]:
    """Servers that may run: the usual ports of this machine, addresses in the environment (`OLLAMA_HOST`), and those
    that the settings name; each once."""
    places = [*_of_environment(environ), *(_named_place(address) for address in named if address.strip())]
    moved = {place.form for place in places if place.form == "ollama"}
    usual = (_usual_place(server) for server in servers if server.speaks not in moved)
    return tuple({place.base: place for place in (*usual, *places)}.values())


def hosted_place(provider: HostedProvider) -> ModelPlace:
    """Where a provider lists its models."""
    return ModelPlace(title=provider.title, provider=provider.name, base=provider.base, form=provider.lists)


def place_of_provider(provider: HostedProvider, environ: Mapping[str, str]) -> ModelPlace | None:
    """Where its models are in this environment: at its own address, or where a variable leads (`OPENAI_BASE_URL`), to
    which its key goes; None if nobody knows how to ask there."""
    given = next((base for name in provider.base_variables if (base := environ.get(name, "").strip())), "")
    if not given:
        return hosted_place(provider)
    spoken = next((one for one in CHAT_PROVIDERS if one.name == provider.name), None)
    if spoken is None:
        return None
    base = tidy_base(spoken, given)
    return replace(hosted_place(provider), title=f"{provider.title} {_where(base)}", base=base)


def server_place(title: str, api_base: str, speaks: Literal["ollama", "openai"]) -> ModelPlace:
    """A server at this address."""
    return ModelPlace(
        title=f"{title} {_where(api_base)}" if title else _where(api_base).removeprefix("at "),
        provider="ollama" if speaks == "ollama" else "openai",
        base=api_base,
        form=speaks,
        api_base=api_base,
    )


def _usual_place(server: Server) -> ModelPlace:
    base = f"http://127.0.0.1:{server.port}"
    return replace(
        server_place(server.title, base if server.speaks == "ollama" else f"{base}/v1", server.speaks), is_usual=True
    )


def _of_environment(environ: Mapping[str, str]) -> Iterator[ModelPlace]:
    """Servers of the user's own whose address is in a variable; a provider's is asked only with its key."""
    for provider in CHAT_PROVIDERS:
        if provider.local or not provider.base:
            given = next((base for name in provider.base_variables if (base := environ.get(name, "").strip())), "")
            if given:
                yield server_place(provider_title(provider.name), tidy_base(provider, given), provider.speaks)


def _named_place(address: str) -> ModelPlace:
    """An address in the settings: Ollama by its port or without a path, else one of OpenAI's language."""
    parts = urlsplit(address if "://" in address else f"http://{address}")
    is_ollama = ":11434" in parts.netloc and parts.path.rstrip("/") in ("", "/api")
    if is_ollama:
        return server_place("Ollama", tidy_base(OLLAMA, address), "ollama")
    base = address.strip().rstrip("/") if "://" in address else f"http://{address.strip().rstrip('/')}"
    return server_place("", base, "openai")


def _where(base: str) -> str:
    """The place in two words, without what may be secret in an address."""
    host = urlsplit(base).netloc.rpartition("@")[2]
    return f"on port {host.rpartition(':')[2]}" if is_loopback(base) and ":" in host else f"at {host}"
