"""`search_web`: what a search engine of the person's finds, marked as written by others."""

from collections.abc import Callable, Mapping

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.credentials import SEARCH_VARIABLES, CredentialStore, search_credential
from oi_tui.app.engine.policy.reading import Risk, SourceFacts
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.tools.tool import WHOLE, Arguments, Capabilities, Tool, ToolFailed, ToolOutput
from oi_tui.app.engine.web.download import NotFetched
from oi_tui.app.engine.web.fetch_tool import FETCH_URL
from oi_tui.app.engine.web.quoting import quote_page
from oi_tui.app.engine.web.search_engines import SearchEngine

SEARCH_WEB = "search_web"
USUAL_COUNT, MOST_COUNT = 8, 20
LONGEST_QUERY = 400

_SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": LONGEST_QUERY, "description": "What to search for."},
        "count": {"type": "integer", "minimum": 1, "maximum": MOST_COUNT, "description": "How many pages."},
    },
    "required": ["query"],
    "additionalProperties": False,
}


class WebSearch(msgspec.Struct, frozen=True):
    """Asks one engine with the person's key."""

    engine: SearchEngine
    store: CredentialStore
    environ: Mapping[str, str]
    learn: Callable[[str, str], None]
    """Called with the name of a key and the key, before it is used."""

    @property
    def tool(self) -> Tool:
        """The tool, as a model is offered it."""
        return Tool(
            name=SEARCH_WEB,
            description=f"Search the web: titles, addresses and excerpts of pages, best first. {FETCH_URL} reads one.",
            schema=_SCHEMA,
            run=self.run,
            read=self.find_facts,
            capabilities=Capabilities(writes=False, destroys=False, network=True, repeatable=True),
            foreign=True,
        )

    def find_facts(self, arguments: Arguments) -> SourceFacts:
        """What a call does: who reads the query."""
        host = self.engine.host
        return SourceFacts(risks=(Risk(f"asks {host}", WHOLE),), hosts=(host.rpartition("@")[2].partition(":")[0],))

    async def run(self, arguments: Arguments, output: ToolOutput) -> str:
        """The hits as text."""
        query, count = str(arguments["query"]), int(arguments.get("count", USUAL_COUNT))
        try:
            hits = await self.engine.search(query, count, await self._key(), self.environ)
        except (NotFetched, SettingsError) as error:
            raise ToolFailed(str(error)) from error
        if not hits:
            return f"{self.engine.title} found nothing."
        lines = [f"{number}. {hit.title}\n{hit.address}\n{hit.excerpt}".rstrip() for number, hit in enumerate(hits, 1)]
        head = f"{self.engine.title} found {quantity(len(hits), 'page')}"
        return f"{head}\n{quote_page(chr(10).join(lines))}"

    async def _key(self) -> str:
        """ToolFailed if there is none."""
        if not self.engine.needs_key:
            return ""
        name, said = self.engine.name, f"API key of {self.engine.title}"
        variable = SEARCH_VARIABLES[name]
        key = await self.store.find(
            search_credential(name), lambda key: self.learn(said, key), variable=variable, environ=self.environ
        )
        if not key.strip():
            raise ToolFailed(f"There is no key of {self.engine.title}. The user can give it: oi-tui auth set {name}")
        return key.strip()
