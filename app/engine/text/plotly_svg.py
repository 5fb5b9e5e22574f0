"""Figures that only a browser can draw, in words: what a plotly figure shows, and how large an SVG drawing is.

Both come from a stranger: every part may have any shape, and unknown parts are left out.
"""

import base64
import binascii
import re
import struct
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any, NamedTuple

from oi_tui.app.engine.text.words import quantity

PLOTLY_TYPE = "application/vnd.plotly.v1+json"
SVG_TYPE = "image/svg+xml"

MOST_TRACES = 12
MOST_VALUES = 20_000
"""Numbers of an axis that its range is taken from; of a longer one it would not be the range, so none is given."""
LONGEST_TITLE = 200

_PACKED = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "f4": "f", "f8": "d", "i8": "q", "u8": "Q"}
"""Types of plotly's packed arrays -> those of `struct`."""

_TAGS = r"<[^<>]*>"
_SVG = r"(?i)<(?:[\w.-]{1,20}:)?svg\b([^>]*)>"
_SVG_TITLE = r"(?i)<(?:svg:)?title\b[^>]*>([^<]*)<"
_SVG_HEAD = 20_000
"""Characters of a drawing in which its size and title are looked for."""
_LENGTH = r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(px|pt|pc|mm|cm|in)?\s*"
_PIXELS = {None: 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}


class SvgSummary(NamedTuple):
    """A description of an SVG without drawing it."""

    title: str
    size: tuple[int, int] | None
    """Width and height in pixels, None where it does not say."""

    @property
    def text(self) -> str:
        """In a few words."""
        size = f" of {self.size[0]}×{self.size[1]}" if self.size else ""
        return f"drawing{size}{f', “{self.title}”' if self.title else ''}"


def svg_summary(svg: str) -> SvgSummary:
    """Size and title of an SVG."""
    head = svg[:_SVG_HEAD]
    root = re.search(_SVG, head)
    title = re.search(_SVG_TITLE, head)
    said = " ".join(unescape(title[1]).split())[:LONGEST_TITLE] if title else ""
    return SvgSummary(said, _size(root[1]) if root else None)


def _size(attributes: str) -> tuple[int, int] | None:
    sides = []
    for name in ("width", "height"):
        found = re.search(rf"""\b{name}\s{{0,9}}=\s{{0,9}}["']([^"']*)["']""", attributes)
        length = re.fullmatch(_LENGTH, found[1]) if found else None
        if length is not None:
            sides.append(float(length[1]) * _PIXELS[length[2]])
    if len(sides) < 2:
        box = re.search(r"""\bviewBox\s{0,9}=\s{0,9}["']([^"']*)["']""", attributes)
        numbers = re.split(r"[\s,]+", box[1].strip()) if box else []
        if len(numbers) != 4 or not all(re.fullmatch(_LENGTH, number) for number in numbers[2:]):
            return None
        sides = [float(number) for number in numbers[2:]]
    width, height = (round(side) for side in sides)
    return (width, height) if width and height else None


def plotly_summary(figure: object) -> list[str]:
    """A plotly figure in lines: its title, its axes, and what each of its traces shows. Empty if it is none."""
    match figure:
        case {"data": list(traces), **rest}:
            pass
        case _:
            return []
    layout = rest.get("layout")
    layout = layout if isinstance(layout, dict) else {}
    lines = [title] if (title := _title(layout.get("title"))) else []
    axes = [(name.removesuffix("axis"), _title(_of(layout.get(name), "title"))) for name in ("xaxis", "yaxis")]
    if any(said for _, said in axes):
        lines.append(" · ".join(f"{name}: {said}" for name, said in axes if said))
    lines += [_trace(trace) for trace in traces[:MOST_TRACES]]
    if len(traces) > MOST_TRACES:
        lines.append(f"… {len(traces) - MOST_TRACES:,} more traces")
    return lines or ["an empty figure"]


def _trace(trace: object) -> str:
    if not isinstance(trace, dict):
        return "trace"
    kind, mode, name = (_words(trace.get(key)) for key in ("type", "mode", "name"))
    facts = [(kind or "scatter") + (f" ({mode})" if mode else "") + (f" “{name}”" if name else "")]
    columns = [
        (key, trace[key]) for key in ("x", "y", "z", "values", "labels", "lat", "lon", "r", "theta") if key in trace
    ]
    if lengths := [_length(values) for _, values in columns]:
        count = max(lengths)
        facts.append(quantity(count, "point"))
    facts += [f"{key} {said}" for key, values in columns if (said := _range(values))]
    return " · ".join(facts)


def _range(values: object) -> str:
    found = list(_values(values))
    known = [float(value) for value in found if isinstance(value, int | float) and value == value]
    if known and len(known) >= len(found) / 2:
        low, high = min(known), max(known)
        return f"{low:g}" if low == high else f"{low:g} to {high:g}"
    texts = [_words(value, 40) for value in found if isinstance(value, str)]
    if not texts:
        return ""
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def _values(values: object) -> Sequence[Any]:
    """The values themselves; nothing if they are too many."""
    match values:
        case list() if len(values) <= MOST_VALUES:
            return list(_flat(values))[:MOST_VALUES]
        case {"dtype": str(kind), "bdata": str(packed)} if kind in _PACKED and len(packed) <= MOST_VALUES * 8:
            try:
                raw = base64.b64decode(packed)
                return [value for (value,) in struct.iter_unpack(f"<{_PACKED[kind]}", raw)]
            except (binascii.Error, ValueError, struct.error):
                return ()
        case _:
            return ()


def _flat(values: list[Any]) -> Iterator[Any]:
    """The values of a list, or of the lists in it."""
    for value in values:
        if isinstance(value, list):
            yield from value[: MOST_VALUES // max(1, len(values))]
        else:
            yield value


def _length(values: object) -> int:
    match values:
        case list():
            return sum(len(row) if isinstance(row, list) else 1 for row in values)
        case {"dtype": str(kind), "bdata": str(packed)} if kind in _PACKED:
            return len(packed) * 3 // 4 // struct.calcsize(_PACKED[kind])
        case _:
            return 0


def _title(title: object) -> str:
    return _words(_of(title, "text") if isinstance(title, dict) else title)


def _of(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _words(value: object, most: int = LONGEST_TITLE) -> str:
    """A text of plotly, which may hold a little HTML, on one line."""
    return " ".join(unescape(re.sub(_TAGS, " ", value[: 4 * most])).split())[:most] if isinstance(value, str) else ""
