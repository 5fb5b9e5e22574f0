"""The Jupyter servers that a person added. Kept in a private file of ours that code in a sandbox does not see.

[server.cluster]
url = "https://hub.example.org/user/me/"
kernel = "python3"
token_variable = "CLUSTER_TOKEN"    # where the token is, if not in the store of credentials

[server.lab]
url = "ssh://me@lab.example.org"    # a server is started there
python = "~/envs/data"
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files.credentials import CredentialStore, credential_store
from oi_tui.app.engine.files.owned_file import file_lock, read_record, replace_owned_file
from oi_tui.app.engine.files.paths import data_dir, private_dir
from oi_tui.app.engine.kernels.remote.address import SSH, parse_address

SERVERS_FILE = "servers.toml"


class KnownServer(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a kernel is started, and what opens the door."""

    url: str
    name: str = ""
    """What it was added as; not written down with it."""
    kernel: str = "python3"
    """The kernelspec of the server."""
    python: str = ""
    """Of a machine over ssh: the Python or environment there that starts the server."""
    token: str = ""
    """Where an earlier version kept it; `move_tokens` takes it over."""
    token_variable: str = ""
    """The variable that holds the token, which counts where it is set."""

    @property
    def host(self) -> str:
        """For the person: without what may be secret in the address."""
        return urlsplit(self.url).hostname or "an unknown host"

    @property
    def place(self) -> str:
        """Where a kernel runs, as shown to the user."""
        return f"{self.kernel} on {self.host}"

    def __repr__(self) -> str:
        """A description without the token: it may end up in a log."""
        return f"KnownServer(host={self.host!r}, kernel={self.kernel!r})"

    @property
    def credential(self) -> str:
        """The name under which the token is stored: the address that it opens, so that it goes to no other."""
        parts = urlsplit(self.url)
        return f"jupyter:{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    @property
    def remedy(self) -> str:
        """What to do where the token is not taken, as sentences; "" if it is not known as what it was added."""
        if not self.name:
            return ""
        kernel = "" if self.kernel == "python3" else f" --kernelspec {self.kernel}"
        address = self.credential.removeprefix("jupyter:")
        command = f"oi-tui kernels add {self.name} {address}{kernel} --replace"
        variable = f"Put another token into {self.token_variable}, or give one: " if self.token_variable else ""
        return f"{variable or 'To give another token: '}{command}"

    async def find_token(self, environ: Mapping[str, str], learn: Callable[[str, str], None]) -> str:
        """The token, which `learn` gets first; "" if there is none. KernelError if its store does not return it.

        A keyring may take half a minute for that.
        """
        tell = partial(learn, "Jupyter token")
        if self.token and not environ.get(self.token_variable):
            tell(self.token)
            return self.token
        store = credential_store()
        try:
            return await store.find(self.credential, tell, variable=self.token_variable, environ=environ)
        except SettingsError as error:
            raise KernelError(error.title, hint=error.hint) from error


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    server: dict[str, KnownServer] = {}


class KnownServers:
    """The file of servers, read each time."""

    def __init__(self, path: Path, *, owner: int) -> None:
        self._path = path
        self._owner = owner

    def all(self) -> dict[str, KnownServer]:
        """The servers by name; SettingsError if the file cannot be read."""
        hint = "Fix it, or delete it and add the servers again."
        found = read_record(_Record, self._path, "list of servers", hint, owner=self._owner).server
        return {name: msgspec.structs.replace(server, name=name) for name, server in found.items()}

    def token_variables(self) -> frozenset[str]:
        """Names of the variables that hold tokens; none if the file cannot be read, as nothing uses them then."""
        try:
            return frozenset(server.token_variable for server in self.all().values() if server.token_variable)
        except SettingsError:
            return frozenset()

    def find(self, name: str) -> KnownServer:
        """The server of this name, or the machine of this ssh:// address; SettingsError that names those there are."""
        if name.startswith(SSH):
            parse_address(name)
            return KnownServer(url=name)
        known = self.all()
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise SettingsError(
                f"There is no Jupyter server called “{name}”.",
                hint=f"Known: {names}. To add one: oi-tui kernels add NAME URL.",
            )
        return known[name]

    def put(self, name: str, server: KnownServer | None) -> None:
        """Add or change one; None takes it away."""
        with file_lock(self._path):
            known = self.all()
            if server is None:
                known.pop(name, None)
            else:
                known[name] = server
            self._write(known)

    def move_tokens(self, store: CredentialStore) -> str:
        """Move tokens that an earlier version kept in this file to the credentials file, which is as private; returns
        the notice, "" if there were none."""
        if not any(server.token for server in self.all().values()):
            return ""
        with file_lock(self._path):
            known = self.all()
            moved = [name for name, server in known.items() if server.token]
            for name in moved:
                store.keep_in_file(known[name].credential, known[name].token)
                known[name] = msgspec.structs.replace(known[name], token="")
            self._write(known)
        names = ", ".join(moved)
        return f"The token of {names} is in {store.path} now. To put it into a keyring, add the server again."

    def _write(self, known: Mapping[str, KnownServer]) -> None:
        import tomli_w  # deferred: only where something changes

        nameless = {name: msgspec.to_builtins(server) for name, server in known.items()}
        for written in nameless.values():
            written.pop("name", None)
        replace_owned_file(self._path, tomli_w.dumps({"server": nameless}))


def known_servers() -> KnownServers:
    """The servers of the current user."""
    return KnownServers(private_dir(data_dir()) / SERVERS_FILE, owner=os.getuid())
