"""Search engines: how each is asked, and its answer as hits. A key goes to the engine it is of, and nowhere else."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode, urlsplit

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.http_session import open_http, tell_failure
from oi_tui.app.engine.text.html import as_text
from oi_tui.app.engine.text.html_reader import read_html
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.web.download import NotFetched
from oi_tui.app.engine.web.page_address import WrongAddress, read_address

EngineName = Literal["searxng", "brave", "kagi"]

LONGEST_ANSWER = 2_000_000
"""Bytes of an answer."""
PATIENCE = 20.0
"""Seconds for an answer."""
LONGEST_TITLE, LONGEST_EXCERPT = 200, 500
"""Characters of a hit."""


_HEADERS = {"Accept": "application/json", "User-Agent": "oi-tui"}


class WebHit(NamedTuple):
    """A page that was found, in the engine's words, which are the page's."""

    title: str
    address: str
    excerpt: str


class SearchEngine(msgspec.Struct, frozen=True):
    """One that is asked by HTTP and answers in JSON."""

    name: EngineName
    title: str
    endpoint: str
    """URL of what is asked."""
    needs_key: bool = True

    @property
    def host(self) -> str:
        """Who reads what is searched for."""
        return urlsplit(self.endpoint).netloc

    async def search(self, query: str, count: int, key: str, environ: Mapping[str, str]) -> tuple[WebHit, ...]:
        """At most so many hits, best first; NotFetched if there is no answer."""
        answer = await self._ask(query, count, key, environ)
        return tuple(_distinct_hits(_rows(self.name, answer)))[:count]

    async def _ask(self, query: str, count: int, key: str, environ: Mapping[str, str]) -> Any:
        url = f"{self.endpoint}?{urlencode(_parameters(self.name, query, count))}"
        try:
            session = await open_http(self.endpoint, _key_header(self.name, key), environ)
        except SettingsError as error:
            raise NotFetched(" ".join(filter(None, (error.title, error.hint)))) from error
        from aiohttp import ClientError, ClientResponseError  # deferred: heavy

        try:
            async with asyncio.timeout(PATIENCE), session, session.get(url, headers=_HEADERS) as answer:
                if answer.status != 200:
                    raise NotFetched(f"{self.title} answered {answer.status}{_help_with(self.name, answer.status)}.")
                body = bytearray()
                async for piece in answer.content.iter_chunked(65_536):
                    body += piece
                    if len(body) > LONGEST_ANSWER:
                        raise NotFetched(f"{self.title} sent more than {LONGEST_ANSWER / 1e6:g} MB.")
                return msgspec.json.decode(body)
        except TimeoutError as error:
            raise NotFetched(f"{self.title} did not answer within {PATIENCE:g} seconds.") from error
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise NotFetched(f"{self.title} did not answer in JSON{_help_with(self.name, 403)}.") from error
        except ClientResponseError as error:
            raise NotFetched(f"{self.title} sent no proper answer: {one_line(error.message)[:200]}.") from error
        except (ClientError, OSError) as error:
            raise NotFetched(f"{self.title} cannot be reached: {one_line(tell_failure(error))[:200]}.") from error


def search_engine(name: EngineName, url: str = "") -> SearchEngine:
    """The engine of this name, a SearXNG at its `url`; SettingsError if that is none."""
    match name:
        case "brave":
            return SearchEngine(name, "Brave Search", "https://api.search.brave.com/res/v1/web/search")
        case "kagi":
            return SearchEngine(name, "Kagi Search", "https://kagi.com/api/v0/search")
        case "searxng":
            try:
                parts = urlsplit(url)
            except ValueError:
                parts = urlsplit("")
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
                raise SettingsError(
                    "web.search_url is no address of a SearXNG.",
                    hint='Such as search_url = "https://searx.example.org".',
                )
            plain = url.rstrip("/").removesuffix("/search")
            return SearchEngine(name, "SearXNG", f"{plain}/search", needs_key=False)


def _key_header(name: EngineName, key: str) -> dict[str, str]:
    match name:
        case "brave":
            return {"X-Subscription-Token": key}
        case "kagi":
            return {"Authorization": f"Bot {key}"}
        case "searxng":
            return {}


def _parameters(name: EngineName, query: str, count: int) -> dict[str, str]:
    match name:
        case "brave":
            return {"q": query, "count": str(count)}
        case "kagi":
            return {"q": query, "limit": str(count)}
        case "searxng":
            return {"q": query, "format": "json"}


def _help_with(name: EngineName, status: int) -> str:
    """What may help, as the end of a sentence."""
    if name == "searxng" and status == 403:
        return ": its settings.yml must have json in search.formats"
    if status in (401, 403):
        return f": the key is not accepted (oi-tui auth set {name})"
    return {402: ": what was paid for is used up", 429: ": too many requests"}.get(status, "")


def _rows(name: EngineName, answer: Any) -> Iterator[tuple[object, object, object]]:
    """Title, address and excerpt of each hit, as they came."""
    match name, answer:
        case "brave", {"web": {"results": list(found)}}:
            keys = ("title", "url", "description")
        case "kagi", {"data": list(found)}:
            keys = ("title", "url", "snippet")
        case "searxng", {"results": list(found)}:
            keys = ("title", "url", "content")
        case "brave", {"type": "search"}:
            return
        case _:
            raise NotFetched("The search engine answered in another form than it should.")
    for row in found:
        if isinstance(row, dict) and "url" in row:
            title, url, excerpt = (row.get(key) for key in keys)
            yield title, url, excerpt


def _distinct_hits(rows: Iterator[tuple[object, object, object]]) -> Iterator[WebHit]:
    """Hits that are pages, each once, with each part on one line."""
    seen: set[str] = set()
    for title, url, excerpt in rows:
        try:
            address = read_address(str(url)).text
        except WrongAddress:
            continue
        if address not in seen:
            seen.add(address)
            yield WebHit(_words(title, LONGEST_TITLE), address, _words(excerpt, LONGEST_EXCERPT))


def _words(value: object, most: int) -> str:
    """Text of one line, of what may have tags in it."""
    text = value if isinstance(value, str) else ""
    return one_line(as_text(read_html(text[:10_000])))[:most]
