"""Sessions as Markdown."""

from oi_tui.plugins.api import (
    Exporter,
    SessionContent,
    escape_markdown,
    evidence_anchors,
    hookimpl,
    plan_markdown,
    transcript_markdown,
)


def write_markdown(session: SessionContent) -> str:
    """The title as a heading, the plan with links to its evidence, then all blocks as Markdown."""
    anchors = evidence_anchors(session.outline.plan, session.blocks)
    plan = plan_markdown(session.outline.plan, lambda block_id: _link(anchors.get(block_id, "")))
    heading = f"# {escape_markdown(session.outline.title)}\n\n" if session.outline.title else ""
    return heading + (f"{plan}\n\n" if plan else "") + transcript_markdown(session.blocks, anchors=anchors)


def _link(anchor: str) -> str:
    return f"[{anchor.replace('-', ' ')}](#{anchor})" if anchor else ""


@hookimpl
def register_exporters() -> list[Exporter]:
    """A text for people; it is not read back."""
    return [Exporter(format="md", title="Markdown", suffix=".md", write=write_markdown)]
