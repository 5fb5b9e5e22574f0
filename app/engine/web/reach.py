"""Which addresses may be connected to. A name is looked up once: what was checked is what is connected to.

Private, loopback and link-local addresses, and those by which clouds tell machines about themselves, are refused unless
`web.private` names them. A name there may lead to private addresses; a link-local one needs a rule with itself.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

from oi_tui.app.engine.sandbox.hosts import Address, AllowList, Authority, is_public

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

_OF_A_CLOUD = IPv6Address("fd00:ec2::254")
"""Private by its form, and the address where machines at Amazon get their keys."""

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""Addresses of a name, for a port; OSError if it has none."""


class HostRefused(Exception):
    """A host that is not connected to; the text is the end of a sentence that begins with its name."""


async def find_addresses(host: str, port: int) -> Sequence[str]:
    """What the system says."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


class WebReach:
    """What tools of the web may connect to."""

    def __init__(self, private: Iterable[str] = (), lookup: Lookup = find_addresses) -> None:
        """`private` are rules such as `wiki.example:8080`; SettingsError for one that is none."""
        self._private = AllowList(private, key="web.private")
        self._lookup = lookup

    async def addresses(self, wanted: Authority) -> tuple[Address, ...]:
        """The addresses of a host, looked up once, all of which may be connected to; HostRefused if one may not, or
        there is none. OSError does not leave here."""
        if wanted.address is not None:
            found: tuple[Address, ...] = (wanted.address,)
        else:
            try:
                found = tuple(ip_address(one.partition("%")[0]) for one in await self._lookup(wanted.host, wanted.port))
            except (OSError, ValueError, UnicodeError) as error:
                raise HostRefused("is not known: its name has no address") from error
            if not found:
                raise HostRefused("has no address")
        for address in found:
            if not self._may_connect(wanted, address):
                raise HostRefused(
                    "is not fetched: it is an address of a private network, or of this machine"
                    if wanted.address is not None
                    else "is not fetched: its name leads to a private network, or to this machine"
                )
        return found

    def _may_connect(self, wanted: Authority, address: Address) -> bool:
        plain = _inner(address)
        if is_public(address):
            return True
        if self._private.admits(Authority(str(plain), wanted.port)) or self._private.admits(
            Authority(str(address), wanted.port)
        ):
            return True
        if wanted.address is not None or plain.is_link_local or not plain.is_private or plain == _OF_A_CLOUD:
            return False
        return self._private.admits(wanted)


def _inner(address: Address) -> Address:
    """The IPv4 address within an IPv6 one that is only another way to write it."""
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


def pinned_resolver(found: Sequence[Address]) -> "AbstractResolver":
    """Answers with these addresses, whatever the name: nobody is asked a second time."""
    from aiohttp.abc import AbstractResolver, ResolveResult  # deferred: heavy

    class Pinned(AbstractResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            return [
                ResolveResult(
                    hostname=host,
                    host=str(address),
                    port=port,
                    family=socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET,
                    proto=0,
                    flags=socket.AI_NUMERICHOST,
                )
                for address in found
            ]

        async def close(self) -> None:
            """Nothing to close: the addresses are known."""

    return Pinned()
