"""A result as a page for a browser, the person's or ours. Its author is a stranger.

It is in a sandboxed frame of our page, whose policy lets nothing be loaded: no pictures, fonts, scripts or pages from
anywhere. Scripts run only if a figure needs them and the user agreed, and even then they reach neither a network nor a
file. Their libraries must be in the page: for plotly we use the installed copy; a figure that wants its library from
the web stays empty.
"""

import base64
import json
from html import escape
from importlib.util import find_spec
from pathlib import Path

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.plotly_svg import PLOTLY_TYPE, SVG_TYPE, plotly_summary

_STILL = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_MOVING = _STILL.replace("img-src data:", "img-src data: blob:") + (
    "; script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; webrtc 'block'"
)

MOST_CHARACTERS = 40_000_000

LINES_ABOVE = 5
"""Of the page, before the first line of the result."""

_PAGE = """\
<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta http-equiv="x-dns-prefetch-control" content="off">
<meta name="referrer" content="no-referrer">
<title>Result</title>
<style>html, body, iframe {{ margin: 0; width: 100%; height: 100%; border: 0; display: block; }}</style>
</head>
<body>
<iframe sandbox="{sandbox}" srcdoc="{content}"></iframe>
</body>
</html>
"""

_CONTENT = """\
<!doctype html>
<meta charset="utf-8">
<base target="_blank">
<style>body {{ font-family: sans-serif; margin: 2em; }} table {{ border-collapse: collapse; }}
td, th {{ padding: 0.2em 0.6em; text-align: right; }} img {{ max-width: 100%; }}</style>
{body}
"""


def needs_scripts(output: RichOutput) -> bool:
    """Whether the page is empty without scripts, so the user must be asked about them."""
    markup = output.data.get("text/html")
    if isinstance(markup, str) and "<script" in markup.lower():
        return True
    return not isinstance(markup, str) and _is_figure(output) and _plotly_library() is not None


def page_of(output: RichOutput, *, scripts: bool = False) -> bytes | None:
    """The page, None where a browser would show no more than the terminal does. `scripts`: the person agreed to run
    scripts."""
    scripts = scripts and needs_scripts(output)
    body = _body(output, scripts=scripts)
    if body is None or len(body) > MOST_CHARACTERS:
        return None
    page = _PAGE.format(
        policy=escape(_MOVING if scripts else _STILL),
        # Links may be followed where nothing but a click can follow them.
        sandbox="allow-scripts" if scripts else "allow-popups allow-popups-to-escape-sandbox",
        content=escape(_CONTENT.format(body=body)),
    )
    return page.encode("utf-8", "replace")


def _body(output: RichOutput, *, scripts: bool) -> str | None:
    data = output.data
    library = _plotly_library() if scripts and _is_figure(output) else None
    if library is not None:
        return _figure(output, library)
    if isinstance(markup := data.get("text/html"), str) and markup.strip():
        return markup
    if _is_figure(output):
        return _summary(output)
    if isinstance(svg := data.get(SVG_TYPE), str) and "<svg" in svg.lower():
        # As a picture and not as a part of the page: whatever is in it, it can neither run nor load anything.
        encoded = base64.b64encode(svg.encode("utf-8", "replace")).decode()
        return f'<img alt="" src="data:{SVG_TYPE};base64,{encoded}">'
    return None


def _is_figure(output: RichOutput) -> bool:
    return bool(plotly_summary(output.data.get(PLOTLY_TYPE)))


def _summary(output: RichOutput) -> str:
    figure = output.data[PLOTLY_TYPE]
    source = json.dumps(figure, indent=2, ensure_ascii=False)
    return f"<pre>{escape(chr(10).join(plotly_summary(figure)))}</pre><pre>{escape(source)}</pre>"


def _figure(output: RichOutput, library: Path) -> str:
    """The figure with all that it needs. `<` in data would end the script."""
    figure = json.dumps(output.data[PLOTLY_TYPE]).replace("<", "\\u003c")
    code = library.read_text(encoding="utf-8")
    return (
        f'<div id="figure" style="height: 90vh"></div><script>{code}</script><script>const figure = {figure};'
        'Plotly.newPlot("figure", figure.data, figure.layout, {responsive: true});</script>'
    )


def _plotly_library() -> Path | None:
    """The library that the Python package brings, where it is installed beside us."""
    found = find_spec("plotly")
    folders = found.submodule_search_locations if found is not None else None
    path = Path(folders[0]) / "package_data" / "plotly.min.js" if folders else None
    return path if path is not None and path.is_file() else None
