"""Lists of models, live from their servers: each with its own deadline, and kept with its age for when one does not
answer."""

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from oi_tui.app.engine.core.errors import ModelError, OiTuiError, SettingsError
from oi_tui.app.engine.core.http_session import open_http, tell_failure
from oi_tui.app.engine.core.loopback_http import get_from_here
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.models.facts import DUMMY_KEY
from oi_tui.app.engine.models.hosted import HOSTED, ListForm, find_hosted
from oi_tui.app.engine.models.keys import ModelKeys
from oi_tui.app.engine.models.lean_facts import is_elsewhere, look_up_lean
from oi_tui.app.engine.models.listed_models import ListedModel, fill_facts, read_models
from oi_tui.app.engine.models.model_servers import (
    PATHS,
    ModelPlace,
    find_servers,
    hosted_place,
    place_of_provider,
    server_place,
)
from oi_tui.app.engine.models.ollama_wire import SHOW_PATH, ModelCard
from oi_tui.app.engine.models.price_table import find_rows
from oi_tui.app.engine.models.providers import find_lean, provider_of

LISTS = "model-lists"
"""Folder of the cache that the lists are in."""
ANSWER_LIMIT = 8_000_000
"""Bytes of a server's list that are read."""
PATIENCE = 3.0
"""Seconds in which a server has to answer."""
KEYRING_PATIENCE = 10.0
"""Seconds in which the keyring has to answer; each server waits for its own key only."""
_NO_LIST = "answers with something that is no list of models"
MOST_CARDS = 40
"""Models of an Ollama server that are looked at one by one."""


class ModelList(Value, frozen=True, kw_only=True):
    """The models of one server."""

    title: str
    provider: str
    api_base: str = ""
    models: tuple[ListedModel, ...] = ()
    fetched: float = 0.0
    """Seconds since 1970; 0 where there is no list."""
    trouble: str = ""
    """Why there is no newer list, as the end of a sentence; "" if this is the server's present list."""

    def full_name(self, one: ListedModel) -> str:
        """Its name with the provider in front, as a verb or `-m` takes it."""
        return f"{self.provider}/{one.name}"


def price_models(found: ModelList, prices: Mapping[str, tuple[float, float]]) -> ModelList:
    """The same with the prices of the settings, which come before any other."""

    def one(model: ListedModel) -> ListedModel:
        own = prices.get(found.full_name(model)) or prices.get(model.name)
        return replace(model, input_price=own[0], output_price=own[1]) if own else model

    return replace(found, models=tuple(map(one, found.models)))


class ListCache:
    """The last list of each server, without anything secret; one that cannot be read or written is none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, place: ModelPlace) -> ModelList | None:
        """The last list; None if there is none."""
        try:
            return msgspec.json.decode(self._path(place).read_bytes(), type=ModelList)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def save(self, place: ModelPlace, found: ModelList) -> None:
        """Store it, replacing an older one."""
        with suppress(OSError, OiTuiError):  # it is only a cache
            write_whole(private_dir(self._folder) / self._path(place).name, msgspec.json.encode(found), over=True)

    def _path(self, place: ModelPlace) -> Path:
        name = hashlib.sha256(f"{place.form} {place.base}".encode()).hexdigest()[:24]
        return self._folder / f"{name}.json"


async def fetch_list(
    place: ModelPlace,
    key: str | None,
    environ: Mapping[str, str] = os.environ,
    *,
    further: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
    cache: ListCache | None = None,
) -> ModelList:
    """The server's present list, else the last one with the trouble. Never raises."""
    found = ModelList(title=place.title, provider=place.provider, api_base=place.api_base)
    trouble = ""
    try:
        async with asyncio.timeout(patience):
            answer = await get_json(
                place.base,
                PATHS[place.form],
                headers={**(further or {}), **key_headers(place.form, key)},
                environ=environ,
            )
            models = read_models(place.form, answer)
            if place.form == "ollama":
                models = await _with_cards(place.base, models, environ)
    except TimeoutError:
        trouble = f"did not answer in {patience:g} s"
    except SettingsError as error:
        trouble = f"cannot be asked: {error.title.rstrip('.')}"
    except UnusableList as error:
        trouble = str(error)
    except ValueError:
        trouble = _NO_LIST
    except no_list_errors() as error:
        trouble = f"cannot be reached: {tell_failure(error)}"
    if trouble:
        last = None if cache is None else await asyncio.to_thread(cache.load, place)
        return replace(last or found, trouble=trouble)
    filled = await asyncio.to_thread(_fill, place, models)
    found = replace(found, models=filled, fetched=time.time())
    if cache is not None:
        await asyncio.to_thread(cache.save, place, found)
    return found


async def fetch_lists(
    places: Sequence[ModelPlace],
    keys: ModelKeys,
    environ: Mapping[str, str],
    *,
    patience: float = PATIENCE,
    cache: ListCache | None = None,
) -> list[ModelList]:
    """The lists of all these servers, asked at the same time; without those that nobody named and that are not
    there."""

    async def one(place: ModelPlace) -> ModelList:
        try:
            async with asyncio.timeout(KEYRING_PATIENCE):
                key = await _key_for(place, keys, environ)
        except (SettingsError, TimeoutError) as error:
            why = error.title if isinstance(error, SettingsError) else "The keyring did not answer."
            return ModelList(title=place.title, provider=place.provider, trouble=f"was not asked: {why.rstrip('.')}")
        return await fetch_list(place, key, environ, patience=patience, cache=cache)

    lists = await asyncio.gather(*map(one, places))
    return [found for place, found in zip(places, lists, strict=True) if found.fetched or not place.is_usual]


def configured_places(section: ModelSection, keys: ModelKeys, environ: Mapping[str, str]) -> list[ModelPlace]:
    """Providers with a key, servers with a key, the server of the settings, and those that may run on this machine;
    each once. SettingsError where the file of keys cannot be read."""
    kept = keys.places()
    wanted = [one for one in HOSTED if one.name in kept or keys.variable(one.name)]
    hosted = [place for one in wanted if (place := place_of_provider(one, environ)) is not None]
    with_key = [server_place("", address, "openai") for address in kept if "://" in address]
    own = []
    if section.api_base.strip():
        choice = find_lean(section.name or "openai/x", section.api_base)
        speaks = "openai" if choice is None else choice.provider.speaks
        own = [server_place("", section.api_base.strip().rstrip("/"), speaks)]
    places = (*hosted, *own, *with_key, *find_servers(environ, section.servers))
    return list({place.base: place for place in reversed(places)}.values())[::-1]


async def list_models(
    section: ModelSection,
    api_key: str | None,
    environ: Mapping[str, str],
    *,
    patience: float = PATIENCE,
    cache: ListCache | None = None,
) -> ModelList | None:
    """The models on the server of this one; None where nobody knows how to ask it. Never raises."""
    choice = await asyncio.to_thread(find_lean, section.name, section.api_base)
    if choice is None:
        hosted = find_hosted(provider_of(section.name))
        if hosted is None or section.api_base or any(environ.get(name) for name in hosted.base_variables):
            return None
        key = api_key or next((there for name in hosted.variables if (there := environ.get(name, "").strip())), None)
        return await fetch_list(hosted_place(hosted), key, environ, patience=patience, cache=cache) if key else None
    try:
        facts, base = await asyncio.to_thread(
            look_up_lean, choice, section, api_key=api_key, environ=environ, free=False
        )
    except ModelError:
        return None
    place = ModelPlace(
        title=facts.asked.host,
        provider=choice.provider.name,
        base=base,
        form=choice.provider.speaks,
        api_base=section.api_base,
    )
    key = facts.api_key if facts.api_key != DUMMY_KEY else None
    return await fetch_list(place, key, environ, further=facts.headers, patience=patience, cache=cache)


class UnusableList(ValueError):
    """An answer that is no list of models; the words continue "the server ..."."""


def no_list_errors() -> tuple[type[Exception], ...]:
    """What a server raises that is none of models: it is silent, speaks something else, or says too much."""
    usual = (OSError, TimeoutError, ValueError, SettingsError)
    if "aiohttp" not in sys.modules:
        return usual  # what was not loaded raised nothing
    from aiohttp import ClientError  # deferred: heavy

    return (*usual, ClientError)


async def get_json(
    base: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
    body: bytes | None = None,
) -> Any:
    """What a server says there, to a GET or, with a `body`, to a POST. UnusableList if it says something else or too
    much; and see `no_list_errors`."""
    if body is None:
        plain = await get_from_here(f"{base}{path}", headers or {}, limit=ANSWER_LIMIT)
        if plain is not None and plain.status == 200:
            return _decode(plain.body)
    async with await open_http(base, headers, environ) as http:
        asked = http.get(f"{base}{path}") if body is None else http.post(f"{base}{path}", data=body)
        async with asked as answer:
            if answer.status in (401, 403):
                what = "refused the key" if headers else "wants a key"
                raise UnusableList(f"{what} ({answer.status})")
            if answer.status != 200:
                raise UnusableList(f"has no list of models ({answer.status})")
            said = bytearray()
            async for chunk in answer.content.iter_any():
                said += chunk
                if len(said) > ANSWER_LIMIT:
                    raise UnusableList("says more than a list of models")
    return _decode(bytes(said))


def _decode(said: bytes) -> Any:
    try:
        return msgspec.json.decode(said)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnusableList(_NO_LIST) from error


def key_headers(form: ListForm, key: str | None) -> dict[str, str]:
    """How a key is sent where models are listed."""
    if not key:
        return {}
    match form:
        case "anthropic":
            return {"x-api-key": key, "anthropic-version": "2023-06-01"}
        case "gemini":
            return {"x-goog-api-key": key}
        case _:
            return {"Authorization": f"Bearer {key}"}


async def _key_for(place: ModelPlace, keys: ModelKeys, environ: Mapping[str, str]) -> str | None:
    """A provider's key goes to the provider's own server, a server's key to that server, and no other."""
    if place.api_base:
        return await keys.find(place.provider, place.api_base)
    variable = keys.variable(place.provider)
    return environ[variable].strip() if variable else await keys.find(place.provider, place.base)


async def _with_cards(base: str, models: Sequence[ListedModel], environ: Mapping[str, str]) -> list[ListedModel]:
    """The same with what an Ollama server knows of each; one that it says nothing of stays as it is."""

    async def one(model: ListedModel) -> ListedModel:
        try:
            body = msgspec.json.encode({"model": model.name})
            card = msgspec.convert(await get_json(base, SHOW_PATH, environ=environ, body=body), ModelCard)
        except no_list_errors():
            return model
        can = card.capabilities
        if can is None:
            return replace(model, context=card.longest)
        return replace(model, context=card.longest, images="vision" in can, tools="tools" in can)

    shown, rest = models[:MOST_CARDS], models[MOST_CARDS:]
    return [*await asyncio.gather(*map(one, shown)), *rest]


def _fill(place: ModelPlace, models: Sequence[ListedModel]) -> tuple[ListedModel, ...]:
    if place.form == "ollama":
        return tuple(
            one if is_elsewhere(one.name) else replace(one, input_price=0.0, output_price=0.0) for one in models
        )
    rows = {} if place.api_base else find_rows(place.provider, [one.name for one in models])
    return tuple(fill_facts(models, rows))
