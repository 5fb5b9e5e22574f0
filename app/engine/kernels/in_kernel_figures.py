"""Runs inside a Python kernel, after `in_kernel_tables.py`: never imported by us, only sent as text.

A matplotlib figure that is shown goes with its words and their places, so that a front end can write them as text
over a picture too coarse to read them in, and with its data as a table:

    {"texts": [{"text": "Sales", "role": "title", "align": "center", "angle": 0, "colour": "#RRGGBB",
                "box": [left, top, right, bottom]}, ...],
     "stretch": true, "table": ...}

`box` is in shares of the picture, from its left upper corner. `role` is one of title, x-label, y-label, x-tick,
y-tick, legend, note; a y-label has the box of its axes too (`axes`). `stretch` says whether the proportions mean
nothing. `table` is as in `in_kernel_frames.py`, or absent. The figure stays as it is: it was drawn for the picture
before it is asked.

No first-party imports. Leave nothing in the user namespace.
"""

import contextlib
import itertools
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oi_tui.app.engine.kernels.in_kernel_frames import cell_text, table_message
    from oi_tui.app.engine.kernels.in_kernel_tables import quietly

FIGURE_TYPE = "application/vnd.oi-tui.figure+json"

TEXTS = 400
"""Words of one figure."""

TEXT_LENGTH = 300
"""Characters of one of them."""

ARTISTS = 20_000
"""Parts of a figure that are looked at."""

SERIES = 200
"""Lines, bars and clouds of points of one table."""

POINTS = 2_000
"""Rows of that table."""


def send_figures(shell: Any) -> None:
    """Register what describes a figure. Not by its type: `%matplotlib inline` drops all that is registered so."""
    # Here, so that a kernel that has them elsewhere fails in here and nowhere else.
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    class FigureFormatter(BaseFormatter):  # type: ignore[misc]  # IPython has no types
        format_type = Unicode(FIGURE_TYPE)
        print_method = ObjectName("_repr_oi_tui_figure_")

        def __call__(self, shown: Any) -> dict[str, Any] | None:
            matplotlib = sys.modules.get("matplotlib.figure")
            return describe(shown) if matplotlib is not None and isinstance(shown, matplotlib.Figure) else None

    describe = quietly(describe_figure)
    shell.display_formatter.formatters[FIGURE_TYPE] = FigureFormatter(parent=shell.display_formatter)


def describe_figure(figure: Any) -> dict[str, Any]:
    """The message of a figure; see above for its shape."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.text import Text

    width, height = figure.bbox.size
    dpi = figure.get_dpi()
    renderer = RendererAgg(width, height, dpi)  # type: ignore[no-untyped-call]  # matplotlib says types in part
    left, bottom, right, top = picture_bounds(figure, renderer, dpi)

    def box_of(extent: Any) -> list[float]:
        across, down = right - left, top - bottom
        shares = (extent.x0 - left) / across, (top - extent.y1) / down, (extent.x1 - left) / across
        return [round(float(min(1.0, max(0.0, share))), 4) for share in (*shares, (top - extent.y0) / down)]

    texts = []
    for artist, role, owner in itertools.islice(figure_texts(figure), TEXTS):
        extent = Text.get_window_extent(artist, renderer)  # that of an annotation would have its arrow in it
        if role == "legend":  # its parts are still where they were when the picture was cut to what is drawn
            then, now = owner.get_frame().get_bbox(), owner.get_window_extent(renderer)
            extent = extent.translated(now.x0 - then.x0, now.y0 - then.y0)
        if not all(map(math.isfinite, extent.extents)) or extent.x1 <= left or extent.x0 >= right:
            continue
        described: dict[str, Any] = {
            "text": artist.get_text()[:TEXT_LENGTH],
            "role": role,
            "align": artist.get_horizontalalignment(),
            "angle": round(artist.get_rotation()) % 360,
            "colour": colour_of(artist),
            "box": box_of(extent),
        }
        if role == "y-label":
            described["axes"] = box_of(owner.get_window_extent(renderer))
        texts.append(described)
    message: dict[str, Any] = {"texts": texts, "stretch": all(map(can_stretch, figure.axes))}
    with contextlib.suppress(Exception):  # boundary: other kinds of data than expected; the words are there
        if (table := figure_table(figure)) is not None:
            message["table"] = table
    return message


def picture_bounds(figure: Any, renderer: Any, dpi: float) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of what the inline backend makes the picture of, in pixels."""
    from IPython import get_ipython

    options: dict[str, Any] = {"bbox_inches": "tight"}
    for configurable in getattr(get_ipython(), "configurables", ()):
        if type(configurable).__name__ == "InlineBackend":
            options |= configurable.print_figure_kwargs
    if options["bbox_inches"] != "tight":
        return (0.0, 0.0, *figure.bbox.size)
    pad = options.get("pad_inches")
    if pad is None or pad == "layout":
        pad = sys.modules["matplotlib"].rcParams["savefig.pad_inches"]
    tight = figure.get_tightbbox(renderer, bbox_extra_artists=options.get("bbox_extra_artists")).padded(pad)
    return tight.x0 * dpi, tight.y0 * dpi, tight.x1 * dpi, tight.y1 * dpi


def figure_texts(figure: Any) -> Iterator[tuple[Any, str, Any]]:
    """Each text that is drawn, what it is, and its legend or axes (None for those of the figure)."""
    waiting: list[tuple[Any, str, Any]] = [(figure, "note", None)]
    roles = role_table(figure)
    for _ in range(ARTISTS):
        if not waiting:
            return
        artist, role, owner = waiting.pop()
        if not artist.get_visible():
            continue
        kind = type(artist).__name__
        role = roles.get(id(artist), "legend" if kind == "Legend" else role)
        if hasattr(artist, "get_window_extent") and hasattr(artist, "get_rotation") and hasattr(artist, "get_text"):
            if artist.get_text().strip():
                yield artist, role, owner
            continue
        if hasattr(artist, "get_children"):
            here = artist if kind == "Legend" or hasattr(artist, "get_xaxis") else owner
            hidden = hidden_parts(artist)
            waiting += [(child, role, here) for child in reversed(artist.get_children()) if id(child) not in hidden]


def role_table(figure: Any) -> dict[int, str]:
    """What some of the parts of a figure are, by their id."""
    roles = {id(title): "title" for title in (getattr(figure, "_suptitle", None),) if title is not None}
    for axes in figure.axes:
        titles = axes.title, getattr(axes, "_left_title", None), getattr(axes, "_right_title", None)
        roles |= dict.fromkeys(map(id, titles), "title")
        for name in ("x", "y"):
            if (axis := getattr(axes, f"{name}axis", None)) is not None:
                roles |= {id(axis): f"{name}-tick", id(axis.label): f"{name}-label"}
    return roles


def hidden_parts(artist: Any) -> set[int]:
    """Ids of children that are there and not drawn: axes that are switched off, ticks outside of what is shown."""
    if hasattr(artist, "get_xaxis"):
        return set() if artist.axison else {id(artist.get_xaxis()), id(artist.get_yaxis())}
    if not hasattr(artist, "get_major_ticks"):
        return set()
    low, high = sorted(artist.get_view_interval())
    slack = (high - low) * 1e-10
    ticks = (*artist.get_major_ticks(), *artist.get_minor_ticks())
    return {id(tick) for tick in ticks if not low - slack <= tick.get_loc() <= high + slack}


def colour_of(artist: Any) -> str:
    """The colour of a text as `#rrggbb`, whatever it was called where it was drawn."""
    from matplotlib.colors import to_hex

    return str(to_hex(artist.get_color()))


def can_stretch(axes: Any) -> bool:
    """Whether a unit across need not be as long as one down: neither pictures nor maps, pies, dials."""
    return bool(axes.name == "rectilinear" and axes.get_aspect() == "auto")


def figure_table(figure: Any) -> dict[str, Any] | None:
    """A row for each point or bar: its series, x and y."""
    several = sum(1 for axes in figure.axes if axes.has_data()) > 1
    rows: list[list[str]] = []
    total = 0
    for number, axes in enumerate(figure.axes, 1):
        place = [cell_text(axes.get_title() or axes.get_ylabel() or str(number))] if several else []
        for name, xs, ys in itertools.islice(series_of(axes), SERIES):
            total += len(ys)
            room = POINTS - len(rows)
            rows += [
                [*place, cell_text(name), cell_text(as_label(x, axes.xaxis)), cell_text(as_label(y, axes.yaxis))]
                for x, y in itertools.islice(zip(xs, ys, strict=False), max(0, room))
            ]
    if not rows:
        return None
    index = [["plot", "str", False]] if several else []
    columns = [[cell_text(name), "", name != "series"] for name in ("series", "x", "y")]
    size = len(index) + len(columns)
    cells = [[row[at] for row in rows] for at in range(size)]
    return table_message(index, columns, cells, len(rows), (total, len(columns)))


def series_of(axes: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name, xs and ys of what is drawn in one plot."""
    for line in axes.get_lines():
        # Lines across the whole plot (axhline, a grid) are no data.
        if line.get_transform().contains_branch(axes.transData) and len(line.get_xdata()) > 0:
            yield name_of(line), line.get_xdata(), line.get_ydata()
    for container in axes.containers:
        if type(container).__name__ == "BarContainer":
            upright = container.orientation != "horizontal"
            middle = [
                bar.get_x() + bar.get_width() / 2 if upright else bar.get_y() + bar.get_height() / 2
                for bar in container
            ]
            length = [bar.get_height() if upright else bar.get_width() for bar in container]
            ticks = (axes.xaxis if upright else axes.yaxis).get_major_ticks()
            labels = {round(tick.get_loc(), 9): tick.label1.get_text() for tick in ticks}
            named = [labels.get(round(place, 9)) or place for place in middle]
            yield name_of(container), *((named, length) if upright else (length, named))
    for collection in axes.collections:
        if type(collection).__name__ == "PathCollection":
            offsets = collection.get_offsets()
            yield name_of(collection), offsets[:, 0], offsets[:, 1]


def name_of(artist: Any) -> str:
    """Its label in the legend; "" for one that matplotlib made up."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def as_label(value: Any, axis: Any) -> Any:
    """A date or a category verbatim, a number with its significant digits."""
    if isinstance(value, str):
        return value
    converter = type(axis.get_converter() if hasattr(axis, "get_converter") else axis.converter).__name__
    number = getattr(value, "item", lambda: value)()
    if isinstance(number, (int, float)) and "Date" in converter:
        from matplotlib.dates import num2date

        date = num2date(number)  # type: ignore[no-untyped-call]  # matplotlib says types in part
        return date.isoformat(sep=" ").removesuffix("+00:00").removesuffix(" 00:00:00")
    if isinstance(number, (int, float)) and "Category" in converter and hasattr(axis.units, "_mapping"):
        names = {place: name for name, place in axis.units._mapping.items()}
        return names.get(number, number)
    return f"{number:.6g}" if isinstance(number, float) else value


def send_charts(shell: Any) -> None:
    """Charts of Altair come with a picture, where vl-convert is installed; by name, so that nothing is imported."""
    pictures = shell.display_formatter.formatters["image/png"]
    for version in (5, 6):
        for name in ("Chart", "LayerChart", "HConcatChart", "VConcatChart", "ConcatChart", "FacetChart", "RepeatChart"):
            pictures.for_type_by_name(f"altair.vegalite.v{version}.api", name, chart_picture)


def chart_picture(chart: Any) -> bytes | None:
    """The picture of a chart, whose data are all in it; None where there is none: then it is described in words."""
    with contextlib.suppress(Exception):  # boundary: vl-convert, of any version, or none
        import vl_convert  # type: ignore[import-not-found,unused-ignore]  # in the person's environment

        picture = vl_convert.vegalite_to_png(vl_spec=chart.to_dict(), scale=1.5, allowed_base_urls=[])
        return bytes(picture)
    return None


if __name__ == "oi_tui_in_kernel":
    # Boundary: the insides of another version of IPython; a figure is its picture alone then.
    with contextlib.suppress(Exception):
        send_figures(__import__("IPython").get_ipython())
    with contextlib.suppress(Exception):
        send_charts(__import__("IPython").get_ipython())
