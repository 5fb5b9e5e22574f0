"""The address of a page, read by the same parser that connects to it: what was checked is what is reached."""

from typing import TYPE_CHECKING
from urllib.parse import urljoin

import msgspec

from oi_tui.app.engine.core.http_session import PORTS
from oi_tui.app.engine.sandbox.hosts import Authority, parse_authority
from oi_tui.app.engine.text.words import one_line

if TYPE_CHECKING:
    from yarl import URL

LONGEST = 2_000
"""Characters of an address."""


class WrongAddress(ValueError):
    """An address that leads nowhere, or should not be followed; the text says why, as a sentence."""


class PageAddress(msgspec.Struct, frozen=True):
    """Where a page is."""

    text: str
    """As it is asked for: without the part behind `#`."""
    scheme: str
    authority: Authority
    """Its host in ASCII (`xn--bcher-kva.example`) or as a plain address, and its port."""
    spelled: str
    """The host in its own letters, where it has other ones than ASCII; else ""."""

    @property
    def host_words(self) -> str:
        """The host for a person: in the letters that cannot deceive, with how it wants to look behind them."""
        port = "" if self.authority.port == PORTS[self.scheme] else f":{self.authority.port}"
        host = f"[{self.authority.host}]" if ":" in self.authority.host else self.authority.host
        return f"{host}{port}{f' (shown as “{self.spelled}”)' if self.spelled else ''}"

    def is_same_host(self, other: "PageAddress") -> bool:
        """Whether a redirect between them stays where it was: the same host, no way back from https, a usual port."""
        if self.authority.host != other.authority.host or (self.scheme, other.scheme) == ("https", "http"):
            return False
        moved_up = (self.scheme, other.scheme) == ("http", "https") and other.authority.port == PORTS["https"]
        return self.authority.port == other.authority.port or moved_up


def read_address(text: str, base: str = "") -> PageAddress:
    """The address, of a link on the page `base` if it is relative; WrongAddress if it is none of a web page."""
    text = text.strip()
    if len(text) > LONGEST:
        raise WrongAddress(f"The address is longer than {LONGEST:,} characters.")
    if any(character.isspace() or not character.isprintable() or character == "\\" for character in text):
        raise WrongAddress("The address has blanks, backslashes or hidden characters in it.")
    from yarl import URL  # deferred: what connects has the same

    try:
        url = URL(urljoin(base, text) if base else text).with_fragment(None)
        return _check(url)
    except WrongAddress:
        raise
    except ValueError as error:
        raise WrongAddress("That is no address of a page: say https://HOST/PATH.") from error


def _check(url: "URL") -> PageAddress:
    if url.scheme not in PORTS:
        said = one_line(url.scheme)[:20]
        raise WrongAddress(f"Only http:// and https:// are fetched{f', not {said}:' if said else ''}.")
    if url.user is not None or url.password is not None:
        raise WrongAddress("The address has a user name or password in it: it is not sent.")
    host = url.raw_host or ""
    authority = parse_authority(f"[{host}]" if ":" in host else host, url.port)
    if authority is None:
        raise WrongAddress("The address names no plain host: a name, four decimal numbers, or [IPv6].")
    seen = url.host or ""
    return PageAddress(str(url), url.scheme, authority, "" if seen == authority.host or seen.isascii() else seen)
