"""Keys that a person gave to be kept: of a provider, or of one server by its address.

A key goes to the server that it was given for, and to no other. A provider's own variable of the environment comes
before what is kept for the provider; what is kept for an address comes before any variable, because it says more.
"""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.credentials import (
    SEARCH_VARIABLES,
    CredentialPlace,
    CredentialStore,
    credential_store,
    search_credential,
)
from oi_tui.app.engine.models.hosted import find_hosted, provider_at, provider_title, variables_of

_PROVIDER, _SERVER, _SEARCH = "provider:", "server:", "search:"

LearnSecret = Callable[[str, str], None]
"""Called with the name of a secret, and the secret."""


class ModelKeys:
    """The API keys of models in the store of credentials."""

    def __init__(self, store: CredentialStore, environ: Mapping[str, str], learn: LearnSecret) -> None:
        """`learn` is called with each key before anybody gets it."""
        self.store = store
        self._environ = environ
        self.learn = learn

    async def find(self, provider: str, api_base: str) -> str | None:
        """The key that is kept for a model of this provider on this server ("": the provider's own); None if there is
        none, or a variable of the environment comes before it. SettingsError where the keyring cannot be used."""
        name = self._name(provider, api_base)
        if not name or (name.startswith(_PROVIDER) and self.variable(provider)):
            return None
        said = f"API key of {tell_key_owner(name)}"
        return await self.store.find(name, lambda key: self.learn(said, key), environ={}) or None

    def variable(self, provider: str) -> str:
        """The variable of the environment that has this provider's key, "" if none has."""
        named = SEARCH_VARIABLES.get(provider)
        variables = variables_of(provider) if named is None else (named,)
        return next((name for name in variables if self._environ.get(name, "").strip()), "")

    def places(self) -> dict[str, CredentialPlace]:
        """Where keys are kept, by the name of the provider or the address of the server; no keyring is asked."""
        return {
            name.removeprefix(_PROVIDER).removeprefix(_SERVER).removeprefix(_SEARCH): place
            for name, place in self.store.places().items()
            if name.startswith((_PROVIDER, _SERVER, _SEARCH))
        }

    async def keep(self, provider: str, api_base: str, key: str) -> str:
        """Keep it in the keyring, else in the file, after the user agreed. Returns the place in words."""
        name = self._name(provider, api_base) or credential_of(api_base or provider)
        self.learn(f"API key of {tell_key_owner(name)}", key)
        if not await self.store.keep(name, key):
            return "in the keyring"
        self.store.keep_in_file(name, key)
        return f"in {self.store.path}, readable by you only"

    async def forget(self, whose: str) -> tuple[str, str]:
        """Delete the key of this provider or address; what was done, and what is left of it, as sentences."""
        name = credential_of(whose)
        if name not in self.store.places():
            return f"No API key of {tell_key_owner(name)} is kept.", ""
        done = await self.store.forget(name) or f"The API key of {tell_key_owner(name)} is deleted."
        variable = self.variable(whose) if name.startswith(_PROVIDER) else ""
        return done, f"{variable} is still set in the environment." if variable else ""

    def _name(self, provider: str, api_base: str) -> str:
        """The name of the stored key; "" if the environment points to a server whose key we do not store."""
        hosted = find_hosted(provider)
        elsewhere = hosted.base_variables if hosted is not None else ()
        base = api_base or next((there for one in elsewhere if (there := self._environ.get(one, "").strip())), "")
        if not base:
            return f"{_PROVIDER}{provider}"
        try:
            return credential_of(base)
        except SettingsError:
            return ""


def model_keys(environ: Mapping[str, str], learn: LearnSecret = lambda name, key: None) -> ModelKeys:
    """The keys of the current user."""
    return ModelKeys(credential_store(environ), environ, learn)


def credential_of(whose: str) -> str:
    """The name that a key is kept under: that of a provider, or an address. SettingsError if it is no address."""
    if whose in SEARCH_VARIABLES:
        return search_credential(whose)
    if "://" not in whose:
        return f"{_PROVIDER}{whose}"
    if (hosted := provider_at(whose)) is not None:
        return f"{_PROVIDER}{hosted.name}"
    try:
        parts = urlsplit(whose)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError("That is no address of a server.", hint="Say https://HOST/v1.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{_SERVER}{parts.scheme}://{host}{port}{path}"


def tell_key_owner(name: str) -> str:
    """The owner of the key that is kept under this name, in words."""
    if name.startswith(_SERVER):
        return name.removeprefix(_SERVER)
    if name.startswith(_SEARCH):
        return f"{name.removeprefix(_SEARCH).capitalize()} Search"
    return provider_title(name.removeprefix(_PROVIDER))


def masked_key(key: str) -> str:
    """A key as it may be shown: its last four characters where it has many more."""
    return f"…{key[-4:]}" if len(key) >= 20 else "…"
