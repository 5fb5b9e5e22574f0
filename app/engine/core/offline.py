"""Offline: from the moment this is switched on, this process reaches this machine only, and cannot be switched back.

`require_here` says so in plain words before anything is opened. Behind it an audit hook of the interpreter refuses
names and addresses of other machines to every library, whichever way it connects.
"""

import errno
import sys
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from oi_tui.app.engine.core.errors import SettingsError

HINT = "Start oi-tui without --offline, and without network.offline in the settings, to reach it."
_LOCAL_FAMILIES = ("AF_UNIX", "AF_NETLINK")

_switch: list[bool] = []
"""Not empty: offline."""


def go_offline() -> None:
    """Refuse other machines from now on."""
    if not _switch:
        _switch.append(True)
        sys.addaudithook(_refuse_connections)


def is_offline() -> bool:
    """Whether other machines are refused."""
    return bool(_switch)


def require_here(address: str) -> None:
    """SettingsError if we are offline, and this address or host is not on this machine."""
    if not _switch:
        return
    host = address
    if "://" in address:
        with suppress(ValueError):
            host = urlsplit(address).hostname or ""
    if not is_this_machine(host):
        raise SettingsError(f"oi-tui is offline: {host or 'that'} is not on this machine.", hint=HINT)


def is_this_machine(host: str) -> bool:
    """Whether this name or address never leaves the machine."""
    host = host.lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with suppress(ValueError):
        address = ip_address(host)
        mapped = getattr(address, "ipv4_mapped", None)
        return (mapped or address).is_loopback
    return False


def _refuse_connections(event: str, arguments: tuple[Any, ...]) -> None:
    """OSError for what would leave the machine."""
    match event:
        case "socket.connect" | "socket.sendto" | "socket.sendmsg":
            family = getattr(arguments[0].family, "name", "")
            target = arguments[1]
            if family in _LOCAL_FAMILIES or target is None:
                return
            if family in ("AF_INET", "AF_INET6") and isinstance(target, tuple) and _is_here(target[0]):
                return
        case "socket.getaddrinfo" | "socket.gethostbyname" | "socket.gethostbyaddr":
            if arguments[0] in (None, "", b"") or _is_here(arguments[0]) or _is_address(arguments[0]):
                return
        case "socket.getnameinfo":
            if _is_here(arguments[0][0]):
                return
        case _:
            return
    raise OSError(errno.ENETUNREACH, "oi-tui is offline")


def _is_here(host: Any) -> bool:
    name = host.decode(errors="replace") if isinstance(host, bytes | bytearray) else str(host)
    return is_this_machine(name.partition("%")[0])


def _is_address(host: Any) -> bool:
    """Whether no name server has to be asked: where it leads shows when it is connected to."""
    with suppress(ValueError):
        ip_address(host.decode() if isinstance(host, bytes | bytearray) else str(host))
        return True
    return False
