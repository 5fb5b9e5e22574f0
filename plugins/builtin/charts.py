"""Charts of Altair (Vega-Lite) and Bokeh in words; of an animation of matplotlib, its first frame.

Of a chart come its title, marks, axes, and the first rows of its data.

A chart that came with a picture is drawn as that picture.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from oi_tui.plugins.api import Drawing, RichOutput, escape_markdown, hookimpl, quantity

VEGA_LITE = tuple(f"application/vnd.vegalite.v{version}{end}json" for version in (4, 5, 6) for end in ("+", "."))
"""As Altair names it; from 6 on with a dot."""

BOKEH = "application/vnd.bokehjs_exec.v0+json"
BOKEH_LOAD = "application/vnd.bokehjs_load.v0+json"

LONGEST, MOST_ROWS, MOST_COLUMNS, MOST_LAYERS = 200, 8, 8, 8
"""Characters of a text, rows and columns of data that are shown, and layers that are named."""

_SPEC = re.compile(r"\}\)\((\{.*)\);\s*</script>", re.DOTALL)
"""What Altair's page calls its function with: the specification, and options."""

_DOCUMENTS = re.compile(r"const docs_json = (\{.*?\});\n", re.DOTALL)

_FIRST_FRAME = re.compile(r'frames\[0\] = "data:image/png;base64,([^"]{1,8000000})"')
"""Of an animation of matplotlib as its `to_jshtml` writes it."""

NOTHING = Drawing(lines=lambda _width: [])


@hookimpl
def register_renderers() -> dict[str, str]:
    """Each is asked for results of its type; None leaves them to the next one."""
    here = __name__
    return {
        **dict.fromkeys(VEGA_LITE, f"{here}:vega_lite_chart"),
        BOKEH: f"{here}:bokeh_figure",
        BOKEH_LOAD: f"{here}:draw_nothing",
        "text/html": f"{here}:chart_in_a_page",
    }


def chart_in_a_page(output: RichOutput) -> RichOutput | Drawing | None:
    """Altair's usual page, and what Bokeh sends beside its programs; None for any other page."""
    markup = output.data.get("text/html")
    if not isinstance(markup, str) or "image/png" in output.data:
        return None
    if "vegaEmbed" in markup and (found := _SPEC.search(markup)):
        try:
            spec, _ = json.JSONDecoder().raw_decode(found[1])
        except ValueError:
            return None
        return _chart(spec)
    if "new Animation(frames" in markup and (frame := _FIRST_FRAME.search(markup)):
        return RichOutput(data={"image/png": frame[1].replace("\\\n", "")})
    if "data-root-id=" in markup and len(markup) < 1_000:
        return NOTHING  # an empty place that its programs would fill
    if "bk-notebook-logo" in markup:
        return RichOutput(data={"text/markdown": "*Bokeh: a summary of each figure is shown here.*"})
    return None


def vega_lite_chart(output: RichOutput) -> RichOutput | None:
    """A chart that comes as its specification; None where a picture came too."""
    if "image/png" in output.data:
        return None
    found = next((output.data[mime] for mime in VEGA_LITE if isinstance(output.data.get(mime), dict)), None)
    return _chart(found)


def bokeh_figure(output: RichOutput) -> RichOutput | None:
    """What the documents of a program of Bokeh's hold; None where there are none."""
    script = output.data.get("application/javascript")
    found = _DOCUMENTS.search(script) if isinstance(script, str) else None
    if found is None:
        return None
    try:
        documents = json.loads(found[1])
    except ValueError:
        return None
    lines = list(_bokeh_lines(documents))
    return RichOutput(data={"text/markdown": "\n".join(lines)}) if lines else None


def draw_nothing(output: RichOutput) -> Drawing:
    """For programs that only load a library."""
    return NOTHING


# -- Vega-Lite


def _chart(spec: object) -> RichOutput | None:
    if not isinstance(spec, dict):
        return None
    views = list(_views(spec, 0))
    if not views:
        return None
    lines = [f"**{_title(spec.get('title')) or 'Chart'}** ({', '.join(dict.fromkeys(kind for kind, _ in views))})", ""]
    lines += dict.fromkeys(line for _, axes in views for line in axes)
    rows = _rows(spec)
    if rows:
        lines += ["", *_table(rows), "", f"{quantity(len(rows), 'row')} of data"]
    lines += ["", "*For a picture: `pip install vl-convert-python`.*"]
    return RichOutput(data={"text/markdown": "\n".join(lines)})


def _views(spec: dict[str, Any], depth: int) -> Iterator[tuple[str, list[str]]]:
    """The mark and the axes of each layer and part."""
    if "mark" in spec:
        mark = spec["mark"]
        kind = mark.get("type") if isinstance(mark, dict) else mark
        encoding = spec.get("encoding")
        axes = [_axis(*pair) for pair in encoding.items()] if isinstance(encoding, dict) else []
        yield _text(kind), [line for line in axes if line]
    for key in ("layer", "hconcat", "vconcat", "concat"):
        parts = spec.get(key)
        for part in parts[:MOST_LAYERS] if isinstance(parts, list) else ():
            if isinstance(part, dict) and depth < 4:
                yield from _views(part, depth + 1)
    if isinstance(inner := spec.get("spec"), dict) and depth < 4:
        yield from _views(inner, depth + 1)


def _axis(name: str, channel: object) -> str:
    if not isinstance(channel, dict) or name == "tooltip":
        return ""
    field = _text(channel.get("field"))
    if computed := _text(channel.get("aggregate")):
        field = f"{computed}({field})"
    kind = _text(channel.get("type"))
    return f"- {escape_markdown(_text(name))}: {escape_markdown(field)}{f' ({kind})' if kind else ''}" if field else ""


def _rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    sets = spec.get("datasets")
    data = spec.get("data")
    name = data.get("name") if isinstance(data, dict) else None
    values = sets.get(name) if isinstance(sets, dict) and isinstance(name, str) else None
    values = values if values is not None else data.get("values") if isinstance(data, dict) else None
    return [row for row in values if isinstance(row, dict)] if isinstance(values, list) else []


def _table(rows: list[dict[str, Any]]) -> list[str]:
    names = list(dict.fromkeys(key for row in rows[:MOST_ROWS] for key in row))[:MOST_COLUMNS]
    cells = [[_cell(row.get(name)) for name in names] for row in rows[:MOST_ROWS]]
    lines = [" | ".join(map(_cell, names)), " | ".join("---" for _ in names), *map(" | ".join, cells)]
    return [f"| {line} |" for line in lines] + ([f"… {len(rows) - MOST_ROWS:,} more"] if len(rows) > MOST_ROWS else [])


# -- Bokeh


def _bokeh_lines(documents: object) -> Iterator[str]:
    if not isinstance(documents, dict):
        return
    for document in list(documents.values())[:MOST_LAYERS]:
        roots = document.get("roots") if isinstance(document, dict) else None
        models = list(_models(roots, 0))
        if not models:
            continue
        marks = dict.fromkeys(name for name, _ in models if name in _GLYPHS)
        title = " · ".join(_attribute(models, "Title", "text")[:3]) or "Bokeh"
        yield f"**{escape_markdown(title)}** ({', '.join(marks) or 'figure'})"
        yield ""
        if axes := _attribute(models, "Axis", "axis_label"):
            yield f"- axes: {escape_markdown(', '.join(dict.fromkeys(axes)))}"
        if legend := _attribute(models, "LegendItem", "label"):
            yield f"- legend: {escape_markdown(', '.join(legend[:MOST_LAYERS]))}"
        sources = (attributes.get("data") for name, attributes in models if name == "ColumnDataSource")
        if points := max(map(_length, sources), default=0):
            yield f"- {quantity(points, 'point')}"
        yield ""
        yield "*An interactive figure. `bokeh.plotting.save` makes a page of it.*"


_GLYPHS = frozenset(
    ("Line", "Scatter", "Circle", "VBar", "HBar", "Quad", "Patch", "Patches", "MultiLine", "Segment", "Rect", "Wedge")
)


def _attribute(models: list[tuple[str, dict[str, Any]]], ending: str, key: str) -> list[str]:
    """The texts under this key, of models whose names end like this."""
    values = [attributes.get(key) for name, attributes in models if name.endswith(ending)]
    texts = (_text(value.get("value") if isinstance(value, dict) else value) for value in values)
    return [text for text in texts if text]


def _models(value: object, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and attributes of all models in a document."""
    if depth > 30:
        return
    match value:
        case {"type": "object", "name": str(name), **rest}:
            attributes = rest.get("attributes")
            attributes = attributes if isinstance(attributes, dict) else {}
            yield name, attributes
            yield from _models(list(attributes.values()), depth + 1)
        case dict():
            yield from _models(list(value.values()), depth + 1)
        case list():
            for one in value:
                if isinstance(one, dict | list):
                    yield from _models(one, depth + 1)


def _length(data: object) -> int:
    match data:
        case {"entries": [[_, values], *_]}:
            return _length(values)
        case {"type": "ndarray", "shape": [int(count), *_]}:
            return count
        case {"array": list(values)} | list(values):
            return len(values)
        case _:
            return 0


# -- texts of strangers: what they are drawn by makes them safe


def _title(title: object) -> str:
    return escape_markdown(_text(title.get("text") if isinstance(title, dict) else title))


def _text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_text, value[:5]))
    return " ".join(value[:LONGEST].split()) if isinstance(value, str) else ""


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return escape_markdown(" ".join(text[:40].split())).replace("|", "\\|")
