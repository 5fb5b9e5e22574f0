"""The tools of the web, as the settings have them."""

from collections.abc import Callable, Iterator, Mapping

from oi_tui.app.engine.core.settings_section import WebSection
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.tools.ties import MakeTools, ToolTies
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.web.download import DownloadLimits
from oi_tui.app.engine.web.fetch_tool import PageFetcher
from oi_tui.app.engine.web.reach import WebReach


def web_tools(
    section: WebSection,
    environ: Mapping[str, str],
    store: CredentialStore,
    learn: Callable[[str, str], None],
) -> MakeTools:
    """What gives each session its tools; SettingsError for hosts that are none, or a search that cannot be asked.
    `learn` is called with each key, and its name, before it is used."""
    reach = WebReach(section.private)
    limits = DownloadLimits(size=int(section.max_mb * 1e6), seconds=section.timeout)
    search = _search_tool(section, environ, store, learn)

    def make(ties: ToolTies) -> Iterator[Tool]:
        if section.fetch:
            yield PageFetcher(reach, limits, environ).tool
        if search is not None:
            yield search()

    return make


def _search_tool(
    section: WebSection, environ: Mapping[str, str], store: CredentialStore, learn: Callable[[str, str], None]
) -> Callable[[], Tool] | None:
    if not section.search:
        return None
    # For those who have chosen one.
    from oi_tui.app.engine.web.search_engines import search_engine
    from oi_tui.app.engine.web.search_tool import WebSearch

    engine = search_engine(section.search, section.search_url)
    return lambda: WebSearch(engine, store, environ, learn).tool
