"""`fetch_url`: a page as text, read in parts, marked as written by others."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.policy.reading import Risk, SourceFacts, Unread
from oi_tui.app.engine.policy.secrets import names_secret
from oi_tui.app.engine.tools.tool import WHOLE, Arguments, Capabilities, Tool, ToolFailed, ToolOutput
from oi_tui.app.engine.web.download import Download, DownloadLimits, NotFetched, fetch_page
from oi_tui.app.engine.web.page_address import PageAddress, WrongAddress, read_address
from oi_tui.app.engine.web.quoting import quote_page
from oi_tui.app.engine.web.reach import HostRefused, WebReach

if TYPE_CHECKING:
    from oi_tui.app.engine.web.page_text import PageText

FETCH_URL = "fetch_url"

PART = 10_000
"""Characters of a page in one answer: with the words around it, less than `loop.output_to_model`."""

KEPT = 8
"""Pages that a session keeps, so that their later parts are not fetched again."""

_SCHEMA = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "description": "Address of the page, http:// or https://."},
        "from_character": {"type": "integer", "minimum": 0, "description": "Where to continue in a long page."},
    },
    "required": ["url"],
    "additionalProperties": False,
}
_READS = Capabilities(writes=False, destroys=False, network=True, repeatable=True)


class PageFetcher(msgspec.Struct):
    """Fetches for one session."""

    reach: WebReach
    limits: DownloadLimits = msgspec.field(default_factory=DownloadLimits)
    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)
    _pages: OrderedDict[str, tuple[PageAddress, "PageText"]] = msgspec.field(default_factory=OrderedDict)

    @property
    def tool(self) -> Tool:
        """What a model is offered."""
        return Tool(
            name=FETCH_URL,
            description=(
                "Fetch a page of the web by its address and read it as text: HTML as Markdown, PDF, JSON, plain text, "
                f"or a picture. Up to {PART:,} characters come at once."
            ),
            schema=_SCHEMA,
            run=self.run,
            read=fetch_facts,
            capabilities=_READS,
            foreign=True,
        )

    async def run(self, arguments: Arguments, output: ToolOutput) -> str | RichOutput:
        """The part of the page that was asked for."""
        begin = int(arguments.get("from_character", 0))
        try:
            address = read_address(str(arguments["url"]))
            kept = self._pages.get(address.text) if begin else None
            found = kept or await self._fetch(address)
        except (WrongAddress, NotFetched) as error:
            raise ToolFailed(str(error)) from error
        if isinstance(found, RichOutput):
            return found
        return tell_part(*found, begin)

    async def _fetch(self, address: PageAddress) -> "tuple[PageAddress, PageText] | RichOutput":
        came = await fetch_page(address, self.reach, self.limits, self.environ)
        if isinstance(came, PageAddress):
            await self._check_literal(address, came)
            raise NotFetched(
                f"{address.host_words} says that the page is on another host, {came.host_words}. That is not followed "
                f"by itself: call {FETCH_URL} with {came.text} if you need it."
            )
        page = await asyncio.to_thread(_read_page, came)
        if isinstance(page, RichOutput):
            return page
        self._pages[address.text] = (came.address, page)
        self._pages.move_to_end(address.text)
        while len(self._pages) > KEPT:
            self._pages.popitem(last=False)
        return came.address, page

    async def _check_literal(self, address: PageAddress, target: PageAddress) -> None:
        """NotFetched where a redirect leads to an address that is never fetched; no name is looked up for that."""
        if target.authority.address is not None:
            try:
                await self.reach.addresses(target.authority)
            except HostRefused as error:
                raise NotFetched(f"{address.host_words} sends us to {target.host_words}, which {error}.") from error


def fetch_facts(arguments: Arguments) -> SourceFacts:
    """What a call does, for rules and the question: which host is asked."""
    text = str(arguments.get("url", ""))
    secret = (Risk("names a place of secrets", WHOLE, grave=True),) if names_secret(text) else ()
    try:
        address = read_address(text)
    except WrongAddress as error:
        return SourceFacts(risks=secret, unread=(Unread(f"no address that is fetched: {error}", WHOLE),))
    return SourceFacts(risks=(Risk(f"asks {address.host_words}", WHOLE), *secret), hosts=(address.authority.host,))


def _read_page(came: Download) -> "PageText | RichOutput":
    from oi_tui.app.engine.web.page_text import read_page  # with what reads HTML: for the first page

    return read_page(came)


def tell_part(address: PageAddress, page: "PageText", begin: int) -> str:
    """A part of a page in words for a model; ToolFailed beyond its end."""
    whole = len(page.text)
    if begin and begin >= whole:
        raise ToolFailed(f"The page has {whole:,} characters: there is nothing from {begin:,} on.")
    end = min(whole, begin + PART)
    part = f"characters {begin:,} to {end:,} of {whole:,}" if begin or end < whole else f"{whole:,} characters"
    head = [f"{address.text} · {page.what} · {part}", *page.remarks]
    said = f"{page.title}\n\n{page.text[begin:end]}" if page.title and not begin else page.text[begin:end]
    rest = [f"[To read on: {FETCH_URL} with from_character {end}]"] if end < whole else []
    return "\n".join([*head, quote_page(said), *rest])
