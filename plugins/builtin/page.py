"""Sessions as one page of HTML."""

from oi_tui.plugins.api import Exporter, hookimpl


@hookimpl
def register_exporters() -> list[Exporter]:
    """A page that needs nothing else; what writes it is imported for the first one."""
    write = "oi_tui.plugins.builtin.page_writing:write_html"
    return [Exporter(format="html", title="One page for a browser", suffix=".html", write=write)]
