"""Models by name: hosted ones, ones on a server, scripts, and the embedded one.

The server of an embedded one is started when it is needed, one for all sessions.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.errors import LocalModelError, ModelError, SettingsError
from oi_tui.app.engine.core.protocol import FetchProgressed, ModelOffer, ModelsFound
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.files.credentials import CredentialPlace
from oi_tui.app.engine.local import catalogue, inventory, model_choice
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.fetch import fetch
from oi_tui.app.engine.local.model_server import ALIAS, CONTEXT, LocalServer, is_available, obstacle, try_runtime
from oi_tui.app.engine.local.weights import Weights
from oi_tui.app.engine.models.cached_model import AnswerCache, CachedModel, answers_file
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.facts import secret_headers, section_for
from oi_tui.app.engine.models.failures import needs_litellm
from oi_tui.app.engine.models.heartbeat import check_server
from oi_tui.app.engine.models.keys import ModelKeys
from oi_tui.app.engine.models.lean_model import LeanModel
from oi_tui.app.engine.models.litellm_model import LiteLLMModel, close_connections
from oi_tui.app.engine.models.model_list import LISTS, ListCache, list_models
from oi_tui.app.engine.models.offers import find_offers, runs_here, sibling_offers
from oi_tui.app.engine.models.ollama_model import OllamaModel
from oi_tui.app.engine.models.price_table import has_litellm
from oi_tui.app.engine.models.providers import find_lean, provider_of
from oi_tui.app.engine.models.scripted import FAKE, ScriptedModel
from oi_tui.app.engine.models.served_model import ServedModel
from oi_tui.app.engine.models.tour import TourModel
from oi_tui.app.engine.models.typical_cost import typical_cost
from oi_tui.app.engine.text.words import coarse_size

EMBEDDED = "local/"
"""Names of embedded models begin so."""

_ADDRESSES = ("_API_BASE", "_BASE_URL", "_HOST")
"""How variables end that say where a provider's server is: another server answers otherwise."""


def is_scripted(name: str) -> bool:
    """Whether a model of this name is a script: it has no server, and is used only when it is named."""
    return name == TOUR or name.startswith(FAKE)


class Models:
    """Opens models; owns the servers of the embedded ones, which run as long as a session may use them."""

    def __init__(
        self,
        section: ModelSection,
        *,
        environ: Mapping[str, str],
        weights: Weights | None = None,
        make_server: Callable[..., LocalServer] = LocalServer,
        keys: ModelKeys | None = None,
        own: Mapping[str, Model] | None = None,
    ) -> None:
        """`own` are models of plugins by their names, `keys` what the person gave to be kept; None where there is no
        place for keys."""
        self._keys = keys
        self._own = own or {}
        self._lists = ListCache(paths.cache_dir() / LISTS)
        self._make_server = make_server
        self._section = section
        self._environ = environ
        self._weights = weights or Weights()
        self._machine = model_choice.measure_machine()
        self._servers: dict[str, LocalServer] = {}
        """By id of the model."""
        self._serving = asyncio.Lock()
        self._connections = Connections(environ)
        self._uses_connections = self._expects_request = False

    def expect_request(self) -> None:
        """Somebody types or has sent a prompt: have ready what our own client needs, if it will be asked."""
        self._expects_request = True
        if self._uses_connections:
            self._connections.expect_request()

    @property
    def fallback(self) -> tuple[str, ...]:
        """Names of the models that answer while the chosen one cannot."""
        return self._section.fallback

    def find_aside(self) -> str:
        """Name of the cheapest model for requests beside the conversation. Blocks for some milliseconds."""
        return min(self._section.aside, key=lambda name: typical_cost(name, self._section))

    def is_embedded(self, name: str) -> bool:
        """Whether a model of this name runs here, and is therefore small."""
        return name.startswith(EMBEDDED)

    async def open(
        self,
        name: str,
        api_base: str | None = None,
        api_key: str | None = None,
        *,
        elsewhere: Callable[[], Collection[str]] = tuple,
        check: bool = False,
    ) -> Model:
        """The model of this name; an embedded one whose weights are not here is an error that says how to get them. One
        that is not in use `elsewhere` is stopped for it. With `check`, so is one that lacks a key or a server."""
        if name in self._own:
            return self._own[name]
        if self.is_embedded(name):
            return await self._open_embedded(name, elsewhere)
        if name == TOUR:
            return TourModel()
        if name.startswith(FAKE):
            return await asyncio.to_thread(ScriptedModel, name)
        try:
            urlsplit(api_base or "").port  # noqa: B018 - raises
        except ValueError:
            hint = "Say https://HOST/v1."
            raise ModelError("unreachable", "That is no address of a server.", hint=hint) from None
        api_key = await self.find_key(name, api_base or "", api_key)
        section = section_for(self._section, name, api_base or "")
        if self._keys is not None:
            for header, value in secret_headers(section.extra, self._environ):
                self._keys.learn(f"header {header}", value)
        return await self._ready(section, api_key=api_key, check=check)

    async def _open_embedded(self, name: str, elsewhere: Callable[[], Collection[str]]) -> Model:
        local = catalogue.find(name)
        if not self._weights.is_installed(local):
            raise LocalModelError(
                f"{local.title} is not on this machine yet ({coarse_size(local.size)}).",
                hint="Choose it on the first screen, or run `oi-tui models fetch`.",
            )
        url = await self._serve(local, elsewhere)
        section = msgspec.structs.replace(
            self._section,
            name=f"openai/{ALIAS}",
            api_base=url,
            tools="off",
            temperature=0.0,
            context_window=CONTEXT,
        )
        return await self._ready(section, title=name, free=True)

    async def _ready(
        self,
        section: ModelSection,
        *,
        api_key: str | None = None,
        title: str = "",
        free: bool = False,
        check: bool = False,
    ) -> Model:
        """Our own client for every provider it supports, LiteLLM for the others; ready to use. ModelError if LiteLLM is
        needed and not installed."""
        choice = await asyncio.to_thread(find_lean, section.name, section.api_base)
        model: ServedModel
        if choice is not None:
            self._uses_connections = True
            if self._expects_request:
                self._connections.expect_request()
            free = free or (choice.provider.name == "openai" and await runs_here(section.api_base))
            client = OllamaModel if choice.provider.speaks == "ollama" else LeanModel
            model = client(
                choice, self._connections, section, api_key=api_key, environ=self._environ, title=title, free=free
            )
        elif not has_litellm():
            raise needs_litellm(section.name)
        else:
            model = LiteLLMModel(section, api_key=api_key, environ=self._environ, title=title, free=free)
        await model.preload()
        if check and model.obstacle is not None:
            raise model.obstacle
        if section.cache:
            path = answers_file()
            places = sorted((name, base) for name, base in self._environ.items() if name.endswith(_ADDRESSES))
            return CachedModel(model, AnswerCache(path, section.cache), msgspec.json.encode((section, places)))
        return model

    async def _serve(self, local: LocalModel, elsewhere: Callable[[], Collection[str]]) -> str:
        """The address of a server with this model. Others hold their memory no longer than somebody uses them."""
        async with self._serving:
            used = {name.removeprefix(EMBEDDED) for name in elsewhere()}
            for other in [other for other in self._servers if other not in {local.id, *used}]:
                await self._servers[other].stop()
                del self._servers[other]
            if local.id not in self._servers:
                log = paths.log_dir() / f"local-model-{local.id}.log" if self._servers else None
                self._servers[local.id] = self._make_server(threads=self._machine.cores, log=log)
            return await self._servers[local.id].start(local, self._weights.path(local))

    def can_open(self, name: str) -> bool:
        """False for an embedded model whose weights are gone, and for a script."""
        if is_scripted(name):
            return False
        if not name.startswith(EMBEDDED):
            return True
        try:
            return is_available() and self._weights.is_installed(catalogue.find(name))
        except LocalModelError:
            return False

    async def find_key(self, name: str, api_base: str, given: str | None) -> str | None:
        """The key that was given, else the one that is kept; the redactor knows it before it is used."""
        if self._keys is None or self.is_embedded(name):
            return given
        if not given:
            return await self._keys.find(provider_of(name), api_base)
        self._keys.learn("API key", given)
        return given

    async def keep_key(self, name: str, api_base: str, key: str) -> str:
        """Keep the key of this model's provider or server for another day; where it is now, in words."""
        if self._keys is None:
            return "in memory only"
        return await self._keys.keep(provider_of(name), api_base, key)

    async def forget_key(self, whose: str) -> tuple[str, str]:
        """Delete what is kept for this provider or address; what was done, and what is left of it, as sentences."""
        if self._keys is None:
            return "No keys are kept here.", ""
        return await self._keys.forget(whose)

    def _key_file(self) -> str:
        return "" if self._keys is None else str(self._keys.store.path).replace(str(Path.home()), "~", 1)

    def provider(self, name: str) -> str:
        """The provider in front of the name; "local" for the embedded models."""
        if name in self._own:
            return name.partition("/")[0]  # no server of another model has it
        return "local" if name.startswith(EMBEDDED) else provider_of(name)

    async def list_models(self, name: str, api_base: str, api_key: str | None) -> tuple[ModelOffer, ...]:
        """Other models on the server of this model; none if it does not list them."""
        if name.startswith(EMBEDDED) or is_scripted(name) or name in self._own:
            return ()
        try:
            api_key = await self.find_key(name, api_base, api_key)
        except SettingsError:
            return ()
        section = section_for(self._section, name, api_base)
        found = await list_models(section, api_key, self._environ, cache=self._lists)
        return () if found is None else tuple(sibling_offers(found, name, api_base))

    async def find_obstacle(self, name: str, api_base: str, api_key: str | None) -> ModelError | None:
        """Why this model cannot be asked, as far as its server tells without a request that costs something."""
        if name.startswith(EMBEDDED) or is_scripted(name) or name in self._own:
            return None
        try:
            api_key = await self.find_key(name, api_base, api_key)
        except SettingsError as error:
            return ModelError("no_key", error.title, hint=error.hint)
        return (await check_server(section_for(self._section, name, api_base), api_key, self._environ)).obstacle

    async def find_models(self) -> ModelsFound:
        """Keys and local servers first, then embedded models, then providers that want a key."""
        kept: Mapping[str, CredentialPlace] = {}
        remark = ""
        if self._keys is not None:
            try:
                kept = await asyncio.to_thread(self._keys.places)
            except SettingsError as error:
                remark = f" {error.title}"
        found, problem = await asyncio.gather(
            find_offers(self._environ, kept=kept, named=self._section.servers), obstacle()
        )
        local = await asyncio.to_thread(inventory.embedded_offers, self._weights, self._machine, obstacle=problem)
        own = (ModelOffer(id=name, kind="server", title=name, detail="plugin", api_base="") for name in self._own)
        offers = sorted((*found, *local, *own), key=lambda offer: offer.wants_key)
        why = inventory.explain_choice(self._machine, obstacle=problem)
        return ModelsFound(
            offers=tuple(offers), why=f"{why}{remark}", key_file=self._key_file(), kept=tuple(kept.items())
        )

    async def fetch(self, model_id: str, progress: Callable[[FetchProgressed], None]) -> str:
        """Download the embedded model of this id; returns its name."""
        local = catalogue.find(model_id)
        await try_runtime()  # before a gigabyte
        await fetch(local, self._weights, progress=progress)
        return local.name

    async def close(self) -> None:
        """Stop the servers and let go of connections."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()))
        await self._connections.close()
        await close_connections()
