"""`mcp.json`: the servers that a person or a folder names, in the shape that other programs read as well.

{"mcpServers": {
    "time": {"command": "mcp-server-time", "args": ["--local-timezone", "Europe/Rome"]},
    "issues": {"url": "https://mcp.example.org/mcp", "headers": {"Authorization": "Bearer ${ISSUES_TOKEN}"}}
}}

Beside these words there are ours: `network`, `write`, `believe_hints`, `sampling`, `sandbox`, `timeout`, `disabled`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files.owned_file import file_lock, read_owned_file, replace_owned_file
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.mcp.packages import PackageDownload, download_of
from oi_tui.app.engine.sandbox.hosts import parse_rule

OWN_FILE, FOLDER_FILE = "mcp.json", ".mcp.json"
"""The person's, in the folder of the settings; and a folder's own."""

MOST_SERVERS = 50

_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]|_(?!_)){0,30}(?<!_)")
"""Without `__`, so that the first one in a tool's name ends the server's."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OF_OTHERS = ("type", "autoApprove", "alwaysAllow", "description", "transport")
"""What other programs write there, and what says nothing to us: nobody is approved for ever by a file."""

_HINT = "The other servers are not started either: mend the file first."


class ServerEntry(Value, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One server: a program of this machine, or an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cwd: str = ""
    """The folder that it works in; "" is that of the session."""
    url: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    network: Literal["none", "full"] | tuple[str, ...] = "none"
    """What a program may reach: nothing, hosts, or all."""
    write: bool = False
    """Whether a program may change files in its folder."""
    sandbox: bool = True
    believe_hints: bool = False
    """Whether what the server says of its tools (that they only read) counts."""
    sampling: bool = False
    """Whether it may ask the model, at the person's expense."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 60.0
    """Seconds of a call."""
    disabled: bool = False

    @property
    def wishes(self) -> tuple[str, ...]:
        """The access that it asks for beyond the default, in words."""
        named = self.network if isinstance(self.network, tuple) else ()
        download = self.download
        words = {
            f"a download from {download.source}: {', '.join(download.packages)}" if download else "": bool(download),
            "full network": self.network == "full" and bool(self.command),
            f"the network: {', '.join(named)}": bool(named),
            "may change files in the folder": self.write,
            "no sandbox: your full permissions": not self.sandbox,
            "what it says of its tools is believed": self.believe_hints,
            "may ask the model": self.sampling,
        }
        return tuple(word for word, applies in words.items() if applies)

    @property
    def download(self) -> PackageDownload | None:
        """What we download for it; without a sandbox it does that itself."""
        return download_of(self.command, self.args) if self.sandbox else None

    @property
    def digest(self) -> str:
        """Digest of the whole entry; any difference gives another one."""
        told = msgspec.structs.replace(self, disabled=False)
        return text_digest(json.dumps(msgspec.to_builtins(told), sort_keys=True))

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables of the environment that it is given."""
        return tuple(dict.fromkeys(name for text in self._texts for name in _VARIABLE.findall(text)))

    @property
    def _texts(self) -> tuple[str, ...]:
        return (self.url, *self.args, *self.env.values(), *self.headers.values())

    def describe(self) -> str:
        """The command or address on one line, with no variable filled in."""
        return self.url or " ".join((self.command, *self.args))


class NamedServer(Value, frozen=True, kw_only=True):
    """An entry with its name and the file it is in."""

    name: str
    entry: ServerEntry
    folder: str = ""
    """The folder whose file names it; "" is the person's own."""

    @property
    def key(self) -> str:
        """The key of an agreement, which no two servers share."""
        return f"{self.folder}:{self.name}"


class _File(msgspec.Struct):
    mcpServers: dict[str, dict[str, Any]] = {}


def read_servers(path: Path, *, owner: int | None, folder: str = "") -> tuple[NamedServer, ...]:
    """The servers of this file, none if there is none; SettingsError with file and place if it is wrong."""
    text = read_owned_file(path, "file of servers", _HINT, owner=owner, private_group=bool(folder))
    return () if text is None else parse_servers(text, path, folder=folder)


def parse_servers(text: str, path: Path, *, folder: str = "") -> tuple[NamedServer, ...]:
    """The servers in the text of the file `path`."""
    found = _decode(text, path).mcpServers
    if len(found) > MOST_SERVERS:
        raise SettingsError(f"{path}: mcpServers: more than {MOST_SERVERS} servers.", hint=_HINT)
    servers = tuple(
        NamedServer(name=_name(name, path), entry=_entry(f"{path}: mcpServers.{name}", raw), folder=folder)
        for name, raw in found.items()
    )
    confusable: dict[str, str] = {}
    for name in found:
        plain = name.casefold().replace("-", "_")
        if plain in confusable:
            raise SettingsError(f"{path}: mcpServers: {confusable[plain]} and {name} look the same.", hint=_HINT)
        confusable[plain] = name
    return servers


def _decode(text: str, path: Path) -> _File:
    try:
        raw = json.loads(text)
    except json.JSONDecodeError as error:
        raise SettingsError(f"{path}, line {error.lineno}: {error.msg}.", hint=_HINT) from error
    except RecursionError as error:
        raise SettingsError(f"{path} is nested too deeply.", hint=_HINT) from error
    try:
        return msgspec.convert(raw, _File)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {error}.", hint=_HINT) from error


def _name(name: str, path: Path) -> str:
    check_name(name, f"{path}: mcpServers: ")
    return name


def check_name(name: str, where: str = "") -> None:
    """SettingsError if no server can be called so."""
    if not _NAME.fullmatch(name):
        rule = "a letter, then letters, digits, - and single _, at most 31"
        raise SettingsError(f"{where}{name!r:.60} is no name for a server: {rule}.", hint=_HINT if where else "")


def _entry(where: str, raw: dict[str, Any]) -> ServerEntry:
    known = {key: value for key, value in raw.items() if key not in _OF_OTHERS}
    try:
        entry = msgspec.convert(known, ServerEntry)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where}: {error}.", hint=_HINT) from error
    check_entry(entry, where)
    return entry


def check_entry(entry: ServerEntry, where: str) -> None:
    """SettingsError if nothing can be started or asked by it."""
    if bool(entry.command) == bool(entry.url):
        raise SettingsError(f"{where}: it has either a command or a url.", hint=_HINT)
    if entry.url and (entry.args or entry.env or entry.cwd or entry.write or not entry.sandbox):
        raise SettingsError(f"{where}: args, env, cwd, write and sandbox are of a command.", hint=_HINT)
    if entry.command and entry.headers:
        raise SettingsError(f"{where}: headers are of a url.", hint=_HINT)
    for name, value in entry.headers.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not value.isprintable():
            raise SettingsError(f"{where}: headers: {name!r:.60} cannot be sent.", hint=_HINT)
    if isinstance(entry.network, tuple):
        for rule in entry.network:
            parse_rule(rule)
    if entry.url:
        _check_address(entry.url, where)


def _check_address(url: str, where: str) -> None:
    try:
        parts = urlsplit(_VARIABLE.sub("x", url))
        host = parts.hostname or ""
    except ValueError as error:
        raise SettingsError(f"{where}: url: {error}.", hint=_HINT) from error
    if parts.scheme not in ("http", "https") or not host:
        raise SettingsError(f"{where}: url: an address begins with https:// or http://.", hint=_HINT)
    if is_metadata_host(host):
        raise SettingsError(f"{where}: url: {host} is a link-local address, where machines keep keys.", hint=_HINT)


def is_metadata_host(host: str) -> bool:
    """Whether it is an address at which clouds tell a machine's keys."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host.lower().rstrip(".") in ("metadata.google.internal", "metadata")
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_link_local) or str(address) == "fd00:ec2::254"


def filled_in(entry: ServerEntry, environ: Mapping[str, str]) -> ServerEntry:
    """The entry with `${NAME}` replaced; SettingsError for a variable that is not set."""

    def fill(text: str) -> str:
        return _VARIABLE.sub(lambda match: environ[match[1]], text)

    if missing := [name for name in entry.variables if name not in environ]:
        raise SettingsError(f"The variable {missing[0]} is not set.", hint="It is named in the server's entry.")
    return msgspec.structs.replace(
        entry,
        url=fill(entry.url),
        args=tuple(map(fill, entry.args)),
        env={name: fill(value) for name, value in entry.env.items()},
        headers={name: fill(value) for name, value in entry.headers.items()},
    )


def secret_values(entry: ServerEntry, environ: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """What an entry that is filled in has to keep to itself, by name: headers, and what its variables held."""
    yield from entry.headers.items()
    yield from ((name, environ[name]) for name in entry.variables if name in environ)


def write_entry(path: Path, name: str, entry: ServerEntry | None) -> bool:
    """Put an entry into the person's file, or (None) take it out; whether something was there. All else stays."""
    private_dir(path.parent)
    with file_lock(path):
        text = read_owned_file(path, "file of servers", "Fix it first.", owner=None)
        servers = () if text is None else parse_servers(text, path)
        raw: dict[str, Any] = {} if text is None else json.loads(text)
        kept = raw.setdefault("mcpServers", {})
        was = any(one.name == name for one in servers)
        if entry is None:
            kept.pop(name, None)
        else:
            kept[name] = msgspec.to_builtins(entry)
        changed = json.dumps(raw, indent=2, ensure_ascii=False) + "\n"
        parse_servers(changed, path)
        if was or entry is not None:
            replace_owned_file(path, changed)
    return was
