"""Bars of tqdm.notebook as a line: what is done, a bar, the count, the time that is left."""

from oi_tui.plugins.api import KernelWidget, WidgetView, as_text, hookimpl, read_html

BAR, LONGEST = 30, 2_000
"""Cells of a bar, and characters of its words that are read."""

_BARS = frozenset(("IntProgressModel", "FloatProgressModel"))


@hookimpl
def register_widget_views() -> dict[str, str]:
    """A bar of tqdm is a row of three widgets of ipywidgets: any other row is left to others."""
    return {"HBoxModel": f"{__name__}:bar_view"}


def bar_view(widget: KernelWidget) -> WidgetView | None:
    """Words, bar, words; where tqdm does not know how much there is, it has no bar that could fill."""
    if len(widget.children) != 3:
        return None
    left, bar, right = widget.children
    if bar.model not in _BARS or not left.model == right.model == "HTMLModel":
        return None
    parts = (_words(left), "" if _has_no_end(bar) else _bar_words(bar), _words(right))
    return WidgetView(lines=[" ".join(part for part in parts if part)])


def _words(widget: KernelWidget) -> str:
    """Padded by tqdm with spaces as wide as digits."""
    value = widget.state.get("value")
    return " ".join(as_text(read_html(value[:LONGEST])).split()) if isinstance(value, str) else ""


def _has_no_end(bar: KernelWidget) -> bool:
    """tqdm then makes a short bar that is full from the beginning."""
    layout = next((layout.state for layout in bar.named_in("layout")), {})
    return layout.get("width") == "20px" or bar.state.get("bar_style") == "info"


def _bar_words(bar: KernelWidget) -> str:
    low, high, value = (_number(bar.state.get(part)) for part in ("min", "max", "value"))
    share = max(0.0, min(1.0, (value - low) / (high - low))) if high > low else 0.0
    full = int(share * BAR)
    return f"{'█' * full}{'░' * (BAR - full)}{' ✗' if bar.state.get('bar_style') == 'danger' else ''}"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else 0.0
