"""A renderer: charts of Altair (Vega-Lite 5) as Markdown that says what is drawn.

To install it, copy it to ~/.config/oi-tui/plugins and enable it: oi-tui plugins enable vega_lite.py
"""

from oi_tui.plugins.api import RichOutput, hookimpl

MIME = "application/vnd.vegalite.v5+json"


@hookimpl
def register_renderers() -> dict[str, str]:
    """A string is imported when the first chart is drawn; the function itself works, too."""
    return {MIME: f"{__name__}:chart_in_words"}


def chart_in_words(output: RichOutput) -> RichOutput | None:
    """Another result, which oi-tui draws (and makes safe) itself; None for layered charts: their next form is drawn."""
    if not {"mark", "encoding"} <= output.data[MIME].keys():
        return None
    mark, channels = output.data[MIME]["mark"], output.data[MIME]["encoding"].items()
    kind = mark["type"] if isinstance(mark, dict) else mark
    axes = "".join(f"- {name}: `{axis['field']}`\n" for name, axis in channels if "field" in axis)
    return RichOutput(data={"text/markdown": f"**Chart** ({kind})\n\n{axes}"})
