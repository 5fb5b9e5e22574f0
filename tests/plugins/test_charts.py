"""Charts that came without a picture are told in words. The bundles were sent by altair 6.3.0 and bokeh 3.9.2."""

import json
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.plugins.api import as_text, read_html
from oi_tui.plugins.builtin import charts

BUNDLES = json.loads((Path(__file__).parents[1] / "kernels" / "recorded" / "charts.json").read_text(encoding="utf-8"))[
    "bundles"
]


def text_of(drawn: object) -> str:
    assert isinstance(drawn, RichOutput)
    return str(drawn.data["text/markdown"])


@pytest.mark.parametrize(
    ("bundle", "renderer"), [("altair", charts.chart_in_a_page), ("altair_mime", charts.vega_lite_chart)]
)
def test_R22_a_chart_of_altair_is_told_with_its_axes_and_data(bundle: str, renderer: Any) -> None:
    text = text_of(renderer(RichOutput(data=BUNDLES[bundle][0])))
    axes = "**Bars** (bar)\n\n- x: a (nominal)\n- y: b (quantitative)\n\n"
    assert text.startswith(axes + "| a | b |\n| --- | --- |\n| A | 28 |")
    assert "3 rows of data" in text


def test_R22_a_figure_of_bokeh_is_told_and_what_loads_its_library_is_not_shown() -> None:
    place, program = (RichOutput(data=data) for data in BUNDLES["bokeh2"])
    text = text_of(charts.bokeh_figure(program))
    assert text.startswith("**My plot** (Line, Scatter)\n\n- axes: y, x\n- legend: temp\n- 3 points")
    assert charts.chart_in_a_page(place) is charts.NOTHING
    logo, load = (RichOutput(data=data) for data in BUNDLES["bokeh"])
    assert "Bokeh" in text_of(charts.chart_in_a_page(logo))
    assert charts.draw_nothing(load) is charts.NOTHING


def test_R22_a_picture_is_better_and_other_pages_are_left_to_others() -> None:
    for bundle in ("altair", "altair_mime"):
        pictured = RichOutput(data=BUNDLES[bundle][0] | {"image/png": "iVBOR"})
        assert charts.chart_in_a_page(pictured) is None
        assert charts.vega_lite_chart(pictured) is None
    assert charts.chart_in_a_page(RichOutput(data=BUNDLES["styler"][0])) is None


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"mark": None},
        {"mark": {"type": 5}, "encoding": {"x": 1, "y": {"field": ["a", 1]}}, "title": {"text": []}},
        {"mark": "bar", "data": {"values": [1, {"a": {}}]}},
        {"layer": [{"layer": [{"mark": "bar"}] * 99}] * 99},
        {"spec": {"mark": "a|b\n# c"}, "datasets": [], "data": {"name": {}}},
    ],
)
def test_R22_a_specification_of_any_shape_is_told_or_left_alone(spec: Any) -> None:
    drawn = charts.vega_lite_chart(RichOutput(data={charts.VEGA_LITE[0]: spec}))
    assert drawn is None or isinstance(drawn.data["text/markdown"], str)
    page = RichOutput(data={"text/html": f"<script>vegaEmbed ...}})({json.dumps(spec)}, {{}});</script>"})
    charts.chart_in_a_page(page)
    program = RichOutput(data={"application/javascript": f"const docs_json = {json.dumps(spec)};\n", charts.BOKEH: ""})
    charts.bokeh_figure(program)


def test_R22_an_animation_is_its_first_frame() -> None:
    page = (
        'frames[0] = "data:image/png;base64,iVBO\\\nRw0"\nframes[1] = "data:image/png;base64,xx"\nnew Animation(frames'
    )
    drawn = charts.chart_in_a_page(RichOutput(data={"text/html": page}))
    assert drawn == RichOutput(data={"image/png": "iVBORw0"})


def test_R22_an_animation_as_a_video_is_said_to_be_one_without_the_words_for_old_browsers() -> None:
    source = (
        '<video width="432" controls><source type="video/mp4" src="data:video/mp4;base64,AAAA">Your browser</video>'
    )
    assert as_text(read_html(source)) == "[video]"
    assert as_text(read_html('<video src="moving.mp4">x</video>')) == "[video: moving.mp4]"
