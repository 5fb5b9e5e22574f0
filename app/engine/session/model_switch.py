"""The model of a session: list models, open one, download the embedded one."""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import Model, retry_now
from oi_tui.app.engine.core.errors import ModelError, OiTuiError
from oi_tui.app.engine.core.events import TurnStarted
from oi_tui.app.engine.core.protocol import FetchEnded, FetchProgressed, ModelOffer, ModelsFound, Reply
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.core.verbs import UseModel
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.session.attachments import pages_in_words
from oi_tui.app.engine.session.fallback_model import FallbackModel
from oi_tui.app.engine.session.kept_keys import KeepsKeys, KeptKeys
from oi_tui.app.engine.session.recent_models import (
    TYPED,
    DefaultModels,
    KeyRing,
    RecentModel,
    RecentModels,
    arrange_offers,
)
from oi_tui.app.engine.session.server_check import ServerCheck
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.transcript.transcript import Transcript

PROGRESS_INTERVAL = 0.1
"""Seconds between two words on how far a download is."""

ModelNames = Callable[[], Collection[str]]
"""Asked at the moment when it matters."""

_log = logging.getLogger(__name__)


class ModelSource(KeepsKeys, Protocol):
    """Where models come from: names to models, the choices, downloads."""

    def is_embedded(self, name: str) -> bool:
        """Whether a model of this name runs on this machine, as a part of oi-tui."""
        ...

    async def open(
        self,
        name: str,
        api_base: str | None = None,
        api_key: str | None = None,
        *,
        elsewhere: ModelNames = tuple,
        check: bool = False,
    ) -> Model:
        """The model of this name, ready to use; ModelError or LocalModelError if there is none, or (`check`) if it
        lacks a key or a server. Models in use `elsewhere` are not touched."""
        ...

    @property
    def fallback(self) -> tuple[str, ...]:
        """Names of the models that answer while the chosen one cannot."""
        ...

    def find_aside(self) -> str:
        """Name of the cheapest model for requests beside the conversation. Blocks for some milliseconds."""
        ...

    def can_open(self, name: str) -> bool:
        """Whether a name remembered from another day can still be opened (its weights are here)."""
        ...

    def provider(self, name: str) -> str:
        """The provider of this name: "anthropic"; "openai" if any server that speaks OpenAI's language may have it."""
        ...

    async def find_models(self) -> ModelsFound:
        """The models to choose from."""
        ...

    async def list_models(self, name: str, api_base: str, api_key: str | None) -> tuple[ModelOffer, ...]:
        """Other models on the server of this model; none if it does not answer in time."""
        ...

    async def find_obstacle(self, name: str, api_base: str, api_key: str | None) -> ModelError | None:
        """Why this model cannot be asked, as far as its server says without a paid request."""
        ...

    async def fetch(self, model_id: str, progress: Callable[[FetchProgressed], None]) -> str:
        """Download an embedded model; returns its name. LocalModelError if that fails; cancellable."""
        ...

    async def close(self) -> None:
        """End everything it started."""
        ...


class Servers:
    """The servers that names of models may mean; a key goes nowhere but to the server that it was given for."""

    def __init__(
        self,
        models: ModelSource,
        asked: ModelSection,
        api_key: str | None,
        store: Store | None = None,
        *,
        folder: str = "",
        profile: str = "",
    ) -> None:
        """`asked` and `api_key` are what the flags and the settings say."""
        self._models = models
        self.asked = asked
        self.recent = RecentModels(store)
        self.default = DefaultModels(store, folder, profile)
        self.keys = KeyRing()
        if api_key and (asked.name or asked.api_base):
            self.keys.give(self.key_owner(asked.name, asked.api_base), api_key)
        chosen = self.default.find()
        for used in (*([chosen] if chosen else ()), *self.recent.all()):
            whose = self.key_owner(used.name, used.api_base)
            if used.key.startswith("$") and whose not in self.keys:
                self.keys.give(whose, used.key)

    def key_owner(self, name: str, api_base: str | None) -> str:
        """The owner of a key: the address of the server, else the provider."""
        return api_base or self._models.provider(name)

    def place(self, verb: UseModel, past: Transcript) -> UseModel:
        """A name of the same provider, without a server, means the server in use, else the one that the flags named;
        else a name that was used before means the server that it was used on."""
        if verb.api_base is not None:
            return self.with_key(verb)
        for name, server in ((past.model, past.api_base), (self.asked.name, self.asked.api_base)):
            if server and self._models.provider(verb.name) == self._models.provider(name):
                return self.with_key(replace(verb, api_base=server))
        used = next((one for one in self.recent.all() if one.name == verb.name and one.api_base), None)
        return self.with_key(replace(verb, api_base=used.api_base) if used is not None else verb)

    def with_key(self, verb: UseModel) -> UseModel:
        """The verb with the key of its server or provider: a later name there need not give it again."""
        whose = self.key_owner(verb.name, verb.api_base)
        if verb.api_key:
            kept = verb.keep_key and not verb.api_key.startswith("$")
            return replace(verb, api_key=self.keys.give(whose, verb.api_key, kept=kept) or None, keep_key=kept)
        return replace(verb, api_key=self.keys.get(whose), keep_key=False)

    def as_recent(self, verb: UseModel) -> RecentModel:
        """The model with its server and the source of its key."""
        reference = self.keys.reference(self.key_owner(verb.name, verb.api_base))
        return RecentModel(name=verb.name, api_base=verb.api_base or "", key=reference)

    def keyless(self, one: RecentModel, found: Sequence[ModelOffer]) -> bool:
        """Whether the key that this model was used with has to be given again."""
        if self.key_owner(one.name, one.api_base) in self.keys:
            return False
        asked_for = any(offer.wants_key and (offer.id, offer.api_base) == (one.name, one.api_base) for offer in found)
        return one.key == TYPED or asked_for


def _is_local(name: str) -> bool:
    """Whether it has no server that could be asked what else it has."""
    return name == TOUR or name.startswith(("local/", "fake/"))


def last_model(transcript: Transcript, api_key: str | None = None) -> UseModel | None:
    """The one that a session used last, None if none."""
    if not transcript.model:
        return None
    return UseModel(name=transcript.model, api_base=transcript.api_base or None, api_key=api_key)


class ModelSwitch:
    """Opens one model at a time for a session; the newest choice counts."""

    def __init__(
        self,
        session: Session,
        models: ModelSource,
        tell: Callable[[Reply], None],
        listen: Callable[[Model], Model],
        elsewhere: ModelNames,
        servers: Servers,
    ) -> None:
        """Models are used as `listen` gives them back; other sessions use those `elsewhere`."""
        self._servers = servers
        self._in_use: tuple[str, str] | None = None
        """Name and server of the model that is open."""
        self._session = session
        self._models = models
        self._tell = tell
        self._listen = listen
        self._elsewhere = elsewhere
        self._opening: asyncio.Task[str] | None = None
        self._fetching: asyncio.Task[None] | None = None
        self._finding: asyncio.Task[None] | None = None
        self._keys = KeptKeys(session, models, servers.keys)
        self._server_check = ServerCheck(session)
        self._aside: Model | None = None
        if servers.asked.aside:
            session.choices.aside = self._open_aside

    @property
    def is_embedded(self) -> bool:
        """Whether the model that is in use, or being opened, runs on this machine, as a part of oi-tui."""
        return self._models.is_embedded(self._session.transcript.model)

    def tasks(self) -> list[asyncio.Task[Any]]:
        """Running tasks, to be awaited when the session closes."""
        tasks = (self._opening, self._fetching, self._finding, self._server_check.task, *self._keys.tasks)
        return [task for task in tasks if task is not None]

    async def wait_until_open(self) -> None:
        """Wait until no model is being opened any more."""
        while self._opening is not None and not self._opening.done():
            await asyncio.wait([self._opening])

    async def sees(self) -> bool:
        """Whether the model can see pictures, once it is open; True without one: another may be chosen."""
        await self.wait_until_open()
        return (model := self._session.choices.model) is None or model.takes_images

    async def tell_pictures(self, asked: TurnStarted) -> TurnStarted:
        """The prompt, after saying what goes as pictures that was none, or that the model cannot see those it has."""
        pictures = [file for file in map(attached_file, asked.files) if file.picture]
        if pictures and not await self.sees():
            told = f"{self._session.transcript.model} cannot see pictures: it gets their names and sizes."
            self._session.notice("info", told, "/model chooses another model.")
        for told in pages_in_words(file.name for file in pictures):
            self._session.notice("info", told)
        return asked

    def use(self, verb: UseModel, *, remember: bool = True) -> asyncio.Task[str]:
        """Open another model; one that is still being opened is given up. With `remember` a person chose it, and it may
        be what later sessions begin with: if they say so, or if it is the first."""
        if self._opening is not None:
            self._opening.cancel()
        self._session.choices.expect_model(verb.name, verb.api_base or "")
        self._opening = asyncio.create_task(self._open(verb, remember=remember))
        if verb.keep_key and verb.api_key:
            self._keys.keep(verb.name, verb.api_base or "", verb.api_key)
        return self._opening

    def switch_to(self, name: str) -> None:
        """Open the model of this name because a budget says so; "" leaves the one in use."""
        if name:
            self.use(self._servers.place(UseModel(name=name), self._session.transcript), remember=False)

    def retry_now(self) -> None:
        """Have the model that waits for its next attempt make it at once."""
        if (model := self._session.choices.model) is not None:
            retry_now(model)

    def find(self) -> None:
        """List the models; answered with `ModelsFound`."""
        if self._finding is None or self._finding.done():
            self._finding = asyncio.create_task(self._find())

    def forget_key(self, whose: str) -> None:
        """Delete the key that is kept for this provider or address, then list the models again. A model that is open
        keeps it in memory."""

        def restart_search() -> None:
            if self._finding is not None:
                self._finding.cancel()
            self._finding = asyncio.create_task(self._find())

        self._keys.forget(whose, restart_search)

    async def fetch(self, model_id: str) -> None:
        """Begin a download, instead of one that may be under way."""
        await self.cancel_fetch()
        self._fetching = asyncio.create_task(self._fetch(model_id))

    async def cancel_fetch(self) -> None:
        """Stop the download; what has arrived is kept."""
        if self._fetching is not None and not self._fetching.done():
            self._fetching.cancel()
            await asyncio.wait([self._fetching])

    async def _open(self, verb: UseModel, *, remember: bool) -> str:
        """Why it could not be opened, "" if it is in use now."""
        try:
            check = remember and self._in_use is not None  # else the first request reports it
            model = await self._models.open(
                verb.name, verb.api_base, verb.api_key, elsewhere=self._elsewhere, check=check
            )
            if remember and (verb.keep or self._in_use is None) and self._models.can_open(verb.name):
                self._servers.default.put(self._servers.as_recent(verb))
        except OiTuiError as error:
            self._session.report(error)
            self._stay()
            return error.title
        except Exception as error:
            # Boundary: after a bug in a library the user must still be able to choose another model.
            _log.exception("opening a model failed")
            title = f"The model {verb.name} could not be opened: {error!r}."
            self._session.notice("error", title, hint="Choose another one with /model.")
            self._stay()
            return title
        self._session.choices.use_model(self.with_fallback(self._listen(model)))
        self._in_use = (verb.name, verb.api_base or "")
        if self._models.can_open(verb.name):
            self._servers.recent.note(self._servers.as_recent(verb))
        self._server_check.begin(lambda: self._models.find_obstacle(verb.name, verb.api_base or "", verb.api_key))
        return ""

    async def _open_aside(self) -> Model:
        """The model for requests beside the conversation, opened when it is first needed."""
        if self._aside is None:
            self._aside = await self.open_another(await asyncio.to_thread(self._models.find_aside))
        return self._aside

    async def open_another(self, name: str) -> Model:
        """Another model beside the one in use, which continues as it is; `NAME@URL` names its server too."""
        name, at, server = name.partition("@http")
        asked = UseModel(name=name, api_base=f"http{server}" if at else None)
        verb = self._servers.place(asked, self._session.transcript)
        in_use = (*self._elsewhere(), self._session.transcript.model)
        return self._listen(await self._models.open(verb.name, verb.api_base, verb.api_key, elsewhere=lambda: in_use))

    def with_fallback(self, model: Model) -> Model:
        """The model, with those of the settings behind it."""

        def tell(title: str, hint: str) -> None:
            self._session.notice("warning", title, hint)

        others = [name for name in self._models.fallback if name != model.name]
        return FallbackModel(model, others, self.open_another, tell) if others else model

    def _stay(self) -> None:
        """The model before is still the one in use."""
        if self._in_use is not None:
            self._session.choices.expect_model(*self._in_use)
            self._session.notice("info", f"Still using {self._in_use[0]}.")

    async def _find(self) -> None:
        """Send what is known at once, and again when servers have answered."""
        servers, recent = self._servers, self._servers.recent.all()
        current = RecentModel(name="")
        if (used := last_model(self._session.transcript)) is not None:
            current = RecentModel(name=used.name, api_base=used.api_base or "")
        recent = tuple(one for one in recent if self._models.can_open(one.name))
        found = await self._look_around()
        kept = (RecentModel(name=offer.id) for offer in found.offers if offer.is_kept)
        known = (one for one in (*kept, *reversed(recent), current) if one.name)
        asked = {servers.key_owner(one.name, one.api_base): one for one in known}
        places = [one for one in asked.values() if not _is_local(one.name)]
        keyless = [one for one in recent if one.name != current.name and servers.keyless(one, found.offers)]
        chosen = servers.default.find()
        default = chosen.name if chosen is not None else ""

        def tell(siblings: Mapping[tuple[str, str], Sequence[ModelOffer]], *, more: bool = False) -> None:
            offers = arrange_offers(found.offers, current, recent, siblings, keyless)
            self._tell(replace(found, offers=offers, default=default, more=more))

        tell({}, more=bool(places))
        if places:
            keys = [servers.keys.get(servers.key_owner(one.name, one.api_base)) for one in places]
            lists = await asyncio.gather(
                *(self._models.list_models(one.name, one.api_base, key) for one, key in zip(places, keys, strict=True))
            )
            tell({(one.name, one.api_base): listed for one, listed in zip(places, lists, strict=True)})

    async def _look_around(self) -> ModelsFound:
        try:
            return await self._models.find_models()
        except Exception as error:
            # Boundary: looking for models must not keep anybody from naming one.
            _log.exception("looking for models failed")
            return ModelsFound(offers=(), why=f"Looking for models failed: {error!r}.")

    async def _fetch(self, model_id: str) -> None:
        """Download, then use; whatever happens, exactly one `FetchEnded` says how it ended."""
        ended = FetchEnded(model_id=model_id, ready=False)
        try:
            name = await self._models.fetch(model_id, self._progress())
            self._tell(FetchProgressed(model_id=model_id, done_bytes=1, total_bytes=1, stage="starting"))
            problem = await self.use(UseModel(name=name))
            ended = FetchEnded(model_id=model_id, ready=not problem, error=problem)
        except OiTuiError as error:
            ended = FetchEnded(model_id=model_id, ready=False, error=error.title, hint=error.hint)
        finally:
            self._tell(ended)

    def _progress(self) -> Callable[[FetchProgressed], None]:
        told = 0.0

        def progress(value: FetchProgressed) -> None:
            nonlocal told
            now = time.monotonic()
            if now - told >= PROGRESS_INTERVAL:
                told = now
                self._tell(value)

        return progress
