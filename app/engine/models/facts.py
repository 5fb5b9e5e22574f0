"""What is known of one model before it is asked, whichever client asks it: its key, what it can do, what it costs.

Pure. Where the facts come from: lean_facts.py, litellm_facts.py.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelExtra, ModelSection
from oi_tui.app.engine.models.failures import ModelEndpoint
from oi_tui.app.engine.models.prices import MILLION, Rates, TokenCounts
from oi_tui.app.engine.models.providers import provider_of
from oi_tui.app.engine.secrets.environment import is_credential

DUMMY_KEY = "no-key"
"""For servers that want none: clients insist on having one."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """One model, ready to be asked."""

    model: str
    """Its name on the wire."""
    provider: str
    api_key: str | None
    context_window: int | None
    takes_images: bool
    takes_tools: bool
    free: bool
    """Costs nothing, because it runs on this machine."""
    tells_price: bool
    """Whether what an answer costs will be known."""
    asked: ModelEndpoint
    takes_schema: bool = False
    """Whether a schema in the request holds its answer to it, as far as is known."""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Further headers of each request."""
    rates: Rates | None = None
    """What tokens cost here; None where nobody says, or where LiteLLM is asked instead."""

    def __repr__(self) -> str:
        return f"Facts({self.model!r})"

    def price(self, counts: TokenCounts, listed: float | None = None) -> float | None:
        """US dollars of one answer: the provider's own figure, else these rates, else what is `listed`; None when
        nobody knows."""
        if counts.cost is not None and 0 <= counts.cost < math.inf:
            return counts.cost
        if self.rates is not None:
            return self.rates.price(counts, datetime.now(UTC))
        # A listed price of nothing is a gap in the list, unless it is ours.
        return listed or (0.0 if self.free else None)


def own_rates(section: ModelSection) -> Rates | None:
    """The prices in the settings; None if there are none."""
    if section.input_price is None and section.output_price is None:
        if (pair := section.prices.get(section.name)) is None:
            return None
        return Rates(read=pair[0] / MILLION, written=pair[1] / MILLION)
    return Rates(read=(section.input_price or 0) / MILLION, written=(section.output_price or 0) / MILLION)


def is_loopback(url: str) -> bool:
    """Whether a URL is of this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or host.endswith(".localhost") or ip_address(host).is_loopback
    except ValueError:
        return False


def environment_key(provider: str, names: Iterable[str], environ: Mapping[str, str], url: str) -> str | None:
    """The key to send, None where there is none.

    A key of the environment never goes to a server on this machine that only speaks OpenAI's language: any program
    listening on that port would get it.
    """
    if provider == "openai" and is_loopback(url):
        return DUMMY_KEY
    found = next((key for name in names if (key := environ.get(name, "").strip())), None)
    return found or (DUMMY_KEY if provider == "openai" and url else None)


def require_sendable(key: str | None, asked: ModelEndpoint) -> None:
    """ModelError for a key that is invalid in a request header; the error does not show it."""
    if key is not None and not (key.isascii() and key.isprintable()):
        title = f"The key for {asked.provider or asked.model} has characters in it that no key has."
        raise ModelError("wrong_key", title, hint="Look for a line end or a blank that was copied along with it.")


def section_for(section: ModelSection, name: str, api_base: str) -> ModelSection:
    """The settings for another model: prices are for the model they name, `extra` for its server or provider."""
    if section.name not in ("", name):
        section = replace(section, input_price=None, output_price=None)
    if section.api_base:
        same = section.api_base.rstrip("/") == api_base.rstrip("/")
    else:
        same = not api_base and provider_of(section.name or name) == provider_of(name)
    if not same:
        section = replace(section, extra=ModelExtra())
    elif not (section.name or section.api_base):  # it is unknown whose headers they are
        section = replace(section, extra=replace(section.extra, headers={}))
    return replace(section, name=name, api_base=api_base, tools=section.form_of(name))


def secret_headers(extra: ModelExtra, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Headers whose value is nobody's business."""
    for name, value in extra.headers.items():
        if value.startswith("$"):
            yield name, environ.get(value[1:], "").strip()
        elif is_credential(name, value):
            yield name, value


def extra_headers(extra: ModelExtra, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers of the settings with their variables filled in; ModelError for a variable that is not set."""
    filled: dict[str, str] = {}
    for name, value in extra.headers.items():
        if value.startswith("$"):
            value = environ.get(value[1:], "").strip()
            if not value or not (value.isascii() and value.isprintable()):
                title = f"{extra.headers[name]} of model.extra.headers is not set, or is no header."
                raise ModelError("bad_request", title, hint="Set it in the environment, and start oi-tui again.")
        filled[name] = value
    return filled


def known_secrets(key: str | None, environ: Mapping[str, str], headers: Iterable[str] = ()) -> tuple[str, ...]:
    """Secrets that no message may contain, longest first: one may be part of another."""
    values = {value for name, value in environ.items() if is_credential(name, value)} | {key or "", *headers}
    telling = (value for value in values if len(value) >= 8 and value != DUMMY_KEY)
    return tuple(sorted(telling, key=len, reverse=True))


def decide_switch(setting: str, known: object) -> bool:
    """The value of `auto`, `on` or `off` for a model of which this is known."""
    return setting == "on" or (setting == "auto" and bool(known))
