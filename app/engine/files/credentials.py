"""Stored tokens and keys: in the keyring, or in a file that only its owner can read.

A file of ours lists what is stored where, so a keyring is asked only for its own entries. Without a keyring, as on most
servers, the same file can hold the secret itself, but only if the user agrees.

[entry."jupyter:https://hub.example.org/user/me"]
place = "keyring"                   # or secret = "..."
"""

import asyncio
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files.keyring import Keyring, KeyringError
from oi_tui.app.engine.files.owned_file import file_lock, read_owned_file, replace_owned_file
from oi_tui.app.engine.files.paths import data_dir, private_dir

CREDENTIALS_FILE = "credentials.toml"

SEARCH_VARIABLES = {"brave": "BRAVE_API_KEY", "kagi": "KAGI_API_KEY"}
"""Search engines that want a key, and the variable of the environment that may have it."""


def search_credential(engine: str) -> str:
    """The name that the key of a search engine is kept under."""
    return f"search:{engine}"


CredentialPlace = Literal["keyring", "file"]


class _Entry(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    place: CredentialPlace = "file"
    secret: str = ""

    def __repr__(self) -> str:
        return f"_Entry(place={self.place!r})"


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    entry: dict[str, _Entry] = {}


class CredentialStore:
    """The stored credentials by name, which has the kind and the owner: `jupyter:ADDRESS`."""

    def __init__(self, path: Path, keyring: Keyring, *, owner: int) -> None:
        self.path = path
        self._keyring = keyring
        self._owner = owner

    async def find(
        self, name: str, learn: Callable[[str], None], *, variable: str = "", environ: Mapping[str, str]
    ) -> str:
        """The secret, which `learn` gets first; "" if there is none. The environment variable `variable` wins.

        SettingsError in plain words if the file is unreliable, or the keyring does not return its entry.
        """
        secret = environ.get(variable, "") if variable else ""
        if not secret:
            entry = (await asyncio.to_thread(self._read)).get(name)
            secret = "" if entry is None else entry.secret
            if entry is not None and entry.place == "keyring":
                secret = await self._ask_keyring(name)
        if secret:
            learn(secret)
        return secret

    async def keep(self, name: str, secret: str) -> str:
        """Keep it in the keyring. "" if that was done, else why not, as a sentence: `keep_in_file` can be offered."""
        try:
            await self._keyring.put(name, secret)
        except KeyringError as error:
            return f"The keyring cannot be used: {error.title}."
        await asyncio.to_thread(self._write, name, _Entry(place="keyring"))
        return ""

    def keep_in_file(self, name: str, secret: str) -> None:
        """Keep it in the file, which only its owner can read; after a yes."""
        self._write(name, _Entry(secret=secret))

    async def forget(self, name: str) -> str:
        """Forget it; "" or, as a sentence, what could not be done about it."""
        entry = (await asyncio.to_thread(self._read)).get(name)
        if entry is None:
            return ""
        await asyncio.to_thread(self._write, name, None)
        if entry.place == "keyring":
            try:
                await self._keyring.delete(name)
            except KeyringError as error:
                return f"The keyring may hold it still, as “{name}” of oi-tui: {error.title}."
        return ""

    def places(self) -> dict[str, CredentialPlace]:
        """Where each is kept, by name; no secret is read for that from a keyring."""
        return {name: entry.place for name, entry in sorted(self._read().items())}

    async def _ask_keyring(self, name: str) -> str:
        try:
            secret = await self._keyring.get(name)
        except KeyringError as error:
            raise SettingsError(
                f"“{name}” is kept in the keyring, which cannot be used: {error.title}.",
                hint="Unlock the keyring, or give it again: then another place is offered. A variable works as well.",
            ) from error
        if not secret:
            raise SettingsError(f"“{name}” is no longer in the keyring.", hint="Give it again.")
        return secret

    def _read(self) -> dict[str, _Entry]:
        hint = "Fix that, or delete the file and enter its keys again."
        text = read_owned_file(self.path, "file of credentials", hint, owner=self._owner, secret=True)
        if text is None:
            return {}
        try:
            return msgspec.convert(decode_toml(text), _Kept).entry
        except (tomllib.TOMLDecodeError, msgspec.ValidationError):
            # Neither chained nor quoted: a parser's error may show the content.
            raise SettingsError(f"The file of credentials {self.path} cannot be read.", hint=hint) from None

    def _write(self, name: str, entry: _Entry | None) -> None:
        private_dir(self.path.parent)
        with file_lock(self.path):
            kept = self._read()
            if entry is None:
                kept.pop(name, None)
            else:
                kept[name] = entry
            import tomli_w  # deferred: only where something changes

            replace_owned_file(self.path, tomli_w.dumps({"entry": msgspec.to_builtins(kept)}))


def credential_store(environ: Mapping[str, str] = os.environ) -> CredentialStore:
    """The store of the current user."""
    return CredentialStore(data_dir() / CREDENTIALS_FILE, Keyring(environ), owner=os.getuid())
