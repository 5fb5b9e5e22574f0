"""Plotly figures without a browser: what they are about, and how to get pictures of them."""

import textwrap
from collections.abc import Iterator

from oi_tui.plugins.api import PLOTLY_TYPE, Drawing, RichOutput, hookimpl, plotly_summary

ADVICE = (
    "interactive figure · for pictures of such figures: pip install kaleido, "
    "then plotly.io.renderers.default = 'plotly_mimetype+png'"
)

PICTURES = frozenset(("image/png", "image/jpeg", "image/svg+xml"))


@hookimpl
def register_renderers() -> dict[str, str]:
    """Where the kernel made a picture as well, that one is drawn."""
    return {PLOTLY_TYPE: f"{__name__}:plotly_figure"}


def plotly_figure(output: RichOutput) -> Drawing | None:
    """Title, axes, and a line about each trace; None for what is no figure."""
    said = [] if PICTURES & output.data.keys() else plotly_summary(output.data.get(PLOTLY_TYPE))
    if not said:
        return None

    def lines(width: int) -> Iterator[str]:
        for number, line in enumerate(said):
            style = "" if number else "\x1b[1m"
            yield from (f"{style}{part}\x1b[0m" for part in textwrap.wrap(line, max(4, width)))
        yield from (f"\x1b[2m{part}\x1b[0m" for part in textwrap.wrap(ADVICE, max(4, width)))

    return Drawing(lines=lines)
