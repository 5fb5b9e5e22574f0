"""Sessions as Markdown."""

from oi_tui.plugins.api import Exporter, SessionContent, escape_markdown, hookimpl, transcript_markdown


def write_markdown(session: SessionContent) -> str:
    """The title as a heading, then all blocks as Markdown."""
    heading = f"# {escape_markdown(session.outline.title)}\n\n" if session.outline.title else ""
    return heading + transcript_markdown(session.blocks)


@hookimpl
def register_exporters() -> list[Exporter]:
    """A text for people; it is not read back."""
    return [Exporter(format="md", title="Markdown", suffix=".md", write=write_markdown)]
