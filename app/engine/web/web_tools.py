"""The tools of the web, as the settings have them."""

from collections.abc import Iterator, Mapping

from oi_tui.app.engine.core.settings import WebSection
from oi_tui.app.engine.tools.ties import MakeTools, ToolTies
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.web.download import DownloadLimits
from oi_tui.app.engine.web.fetch_tool import PageFetcher
from oi_tui.app.engine.web.reach import WebReach


def web_tools(section: WebSection, environ: Mapping[str, str]) -> MakeTools:
    """What gives each session its tools; SettingsError for hosts that are none."""
    reach = WebReach(section.private)
    limits = DownloadLimits(size=int(section.max_mb * 1e6), seconds=section.timeout)

    def make(ties: ToolTies) -> Iterator[Tool]:
        if section.fetch:
            yield PageFetcher(reach, limits, environ).tool

    return make
