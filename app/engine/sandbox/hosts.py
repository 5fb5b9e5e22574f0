"""Which hosts code may connect to: rules, and normalised names and addresses. Pure.

A rule is `example.org`, `example.org:8443`, `*.example.org` (any name beneath it, not itself), or an address such as
`192.168.1.5:8080`. Without a port it means 80 and 443. A name needs a rule; its address must be public, or allowed by a
rule of its own.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.errors import SettingsError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

USUAL_PORTS = (80, 443)

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_AUTHORITY = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]+))(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")

_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
"""Public addresses behind which a private IPv4 one may be."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A host and a port, as a client names them."""

    host: str
    """A name in lower case without a trailing dot, or an address in its usual form."""
    port: int

    @property
    def address(self) -> Address | None:
        """The host, if it is an address."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Refusal(NamedTuple):
    """A request for the network that was not granted."""

    host: str
    """With its port, normalised; an invalid host as written, of bounded length."""
    why: Literal["not on the list", "leads to an address that is not public", "no host"]


OnRefusal = Callable[[Refusal], None]
"""Called for every refused request: the callback must bound its own work."""


def parse_authority(text: str, port: int | None = None) -> Authority | None:
    """`host:port`, or `host` where a usual port is given; None for anything that is not plainly one of these.

    No user, no path, no number that a resolver would take for an address (`2130706433`, `0x7f.1`).
    """
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    number = int(match["port"]) if match["port"] else port
    if number is None or not 0 < number < 65_536:
        return None
    host = _host(match["six"], match["name"])
    return Authority(host, number) if host is not None else None


def _host(six: str | None, name: str | None) -> str | None:
    try:
        if six is not None:
            return str(ipaddress.IPv6Address(six))
        assert name is not None
        with_dots = name.lower()
        if _NUMERIC.fullmatch(with_dots.removesuffix(".").rpartition(".")[2]):
            return str(ipaddress.IPv4Address(with_dots))  # strict: four decimal numbers, nothing else
    except ValueError:
        return None
    plain = with_dots.removesuffix(".")
    return plain if len(plain) <= 253 and _NAME.fullmatch(plain) else None


@dataclass(frozen=True, slots=True)
class HostRule:
    """One line of the list."""

    host: str
    beneath: bool
    """Names beneath the host are meant, not the host itself."""
    ports: tuple[int, ...]

    def admits(self, wanted: Authority) -> bool:
        """Whether it names this host and port, exactly."""
        if wanted.port not in self.ports:
            return False
        return wanted.host.endswith("." + self.host) if self.beneath else wanted.host == self.host


def parse_rule(text: str, key: str = "sandbox.hosts") -> HostRule:
    """SettingsError, which names the setting, if it is none."""
    plain = text.strip()
    beneath, plain = plain.startswith("*."), plain.removeprefix("*.")
    with_port = parse_authority(plain)
    named = with_port or parse_authority(plain, USUAL_PORTS[0])
    if named is None or (beneath and (named.address is not None or "." not in named.host)):
        raise SettingsError(
            f"{key}: {text!r} is no host.",
            hint="Like example.org, *.example.org, example.org:8443 or 192.168.1.5:8080; no addresses of web pages.",
        )
    return HostRule(named.host, beneath, (named.port,) if with_port is not None else USUAL_PORTS)


class AllowList:
    """All rules of a sandbox; without any, nothing is allowed."""

    def __init__(self, rules: Iterable[str], *, own: Iterable[Address] = (), key: str = "sandbox.hosts") -> None:
        """`own` are addresses of this machine, even public ones; `key` is the setting that the rules are of."""
        self._rules = tuple(parse_rule(rule, key) for rule in rules)
        self._own = frozenset(own)

    def admits(self, wanted: Authority) -> bool:
        """Whether a rule names it. An address is only ever admitted by a rule with this address."""
        return any(rule.admits(wanted) for rule in self._rules)

    def may_connect(self, address: Address, port: int) -> bool:
        """Whether an admitted name may resolve to this address."""
        mapped = getattr(address, "ipv4_mapped", None)
        if mapped is not None:
            return self.may_connect(mapped, port)
        return self.admits(Authority(str(address), port)) or (is_public(address) and address not in self._own)


_OF_PROVIDERS = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("168.63.129.16/32"))
"""Where clouds tell machines about themselves, by addresses that (some versions of) Python take for public."""


def is_public(address: Address) -> bool:
    """Whether anybody on the internet is meant by it: not this machine, not this network, not a cloud's metadata."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            return is_public(inner)
        if any(address in network for network in _NAT64):
            return False
    elif any(address in network for network in _OF_PROVIDERS):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
