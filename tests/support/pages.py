"""What must hold of any file that is imported, and of any page that is written of a session."""

import re
from typing import Any
from xml.etree import ElementTree

import msgspec

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.plugins.session_files import export_session, import_session
from support.exports import blocks_of

ELEMENTS = frozenset(
    """
    html head meta title style body main header h1 h2 h3 h4 h5 h6 section p img small aside figure figcaption span pre
    code details summary div ul ol li a em strong s b i br hr blockquote table caption thead tbody tr th td
    """.split()  # noqa: SIM905  lines of words are read faster than a column of quotations
)
ATTRIBUTES = {"alt", "aria-label", "charset", "class", "content", "http-equiv", "lang", "name", "rel", "start"}


def page_of(events: list[AnyEvent], **options: Any) -> ElementTree.Element:
    """The page, if it is well-formed and holds nothing that loads, runs or leads anywhere but to the web."""
    data = export_session(events, "html", **options)
    root = ElementTree.fromstring(data)
    places = {element.get("id") for element in root.iter()}
    for element in root.iter():
        assert element.tag in ELEMENTS
        for name, value in element.attrib.items():
            match name:
                case "src":
                    assert value.startswith("data:image/")
                case "href" if value.startswith("#"):
                    assert value[1:] in places
                case "id":
                    assert re.fullmatch(r"block-\d+", value)
                case "href":
                    assert value.lower().startswith(("https://", "http://", "mailto:"))
                case _:
                    assert name in ATTRIBUTES, (element.tag, name)
    return root


def import_or_refuse(data: bytes) -> list[AnyEvent]:
    """The session that a file holds, whole and settled, and written again; [] if it is refused in words."""
    try:
        events = import_session(data, "x").events
    except OiTuiError as error:
        said = (error.title, error.hint)
        assert all(said), said
        return []
    assert msgspec.json.decode(msgspec.json.encode(events), type=tuple[AnyEvent, ...]) == events
    blocks = blocks_of(events)
    assert len({block.id for block in blocks}) == len(blocks)
    for block in blocks:
        assert getattr(block, "state", "complete") not in ("streaming", "proposed", "waiting", "running")
    for kind in ("ipynb", "lmc", "md"):
        export_session(events, kind)
    return list(events)
