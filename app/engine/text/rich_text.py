"""The text of a rich result: one rule for the model, for copying, and for a screen that has nothing better."""

import json
import re
from typing import Any

from oi_tui.app.engine.text.plotly_svg import plotly_summary, svg_summary

_ONLY_A_NAME = re.compile(r"\s*<[\w.:]{1,200}(?: object)?(?: at 0x[0-9A-Fa-f]{1,32})?>\s*")


def says_something(plain: object) -> bool:
    """Whether a `text/plain` form is more than `<IPython.core.display.HTML object>`."""
    return isinstance(plain, str) and bool(plain.strip()) and _ONLY_A_NAME.fullmatch(plain[:500]) is None


def is_plain_json(mime: str, content: object) -> bool:
    """Whether it is a JSON value that nothing more is known of; bokeh calls programs so, which nobody wants to read."""
    return mime == "application/json" or (mime.endswith("+json") and not isinstance(content, str))


def best_text(data: dict[str, Any]) -> str:
    """The form that says most as text; the names of the forms if none of them is text."""
    if says_something(plain := data.get("text/plain")):
        return str(plain)
    for mime in ("text/markdown", "text/latex"):
        if isinstance(content := data.get(mime), str) and content.strip():
            return content
    if (figure := data.get("application/vnd.plotly.v1+json")) and (text := _figure(figure)):
        return text
    if isinstance(content := data.get("text/html"), str) and (text := _page_text(content)):
        return text
    if isinstance(content := data.get("image/svg+xml"), str):
        return f"[{svg_summary(content).text}]"
    for mime in sorted(data, key=lambda name: name != "application/json"):
        if is_plain_json(mime, data[mime]):
            return json.dumps(data[mime], indent=2, ensure_ascii=False)
    if isinstance(plain, str) and plain.strip():
        return plain
    if "application/javascript" in data:
        return "[JavaScript, which only a browser runs]"
    return f"({', '.join(sorted(data))})" if data else ""


def _page_text(page: str) -> str:
    # Few sessions have a page: the screen and the engine start without what reads them.
    from oi_tui.app.engine.text.html import as_text
    from oi_tui.app.engine.text.html_reader import read_html

    return as_text(read_html(page))


def _figure(figure: object) -> str:
    lines = plotly_summary(figure)
    return "\n".join(["[interactive figure]", *lines]) if lines else ""
