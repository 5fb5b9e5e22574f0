"""What the libraries themselves show, from a real kernel to the rows on the screen; each is skipped, loudly, where the
extras `dev` and `data` are not installed."""

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from support.libraries import require
from support.runs import collect

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]


async def shown(kernel: Kernel, source: str) -> list[str]:
    """The rows of what a source shows."""
    run = await collect(kernel, source)
    block = CodeBlock(id="c", language="python", source="x", state="ok", outputs=tuple(run.outputs))
    cell = BlockCell(block)
    height = cell.layout(block, Canvas(80, Ink(load_palette())), BlockDisplay())
    return [cell.row(number).text.rstrip().removeprefix(" │").strip() for number in range(2, height - 1)]


FRAME = "{'shop': ['Oslo', 'Rome'], 'score': [91.5, 7]}"


@pytest.mark.parametrize(
    ("libraries", "source", "rows"),
    [
        (
            ("altair", "pandas"),
            "import altair, pandas\n"
            f"altair.Chart(pandas.DataFrame({FRAME}), title='Sales').mark_bar().encode(x='shop', y='score')",
            ("Sales (bar)", "• x: shop (nominal)", "• y: score (quantitative)", "2 rows of data"),
        ),
        (
            ("bokeh",),
            "from bokeh.plotting import figure, show\nfrom bokeh.io import output_notebook\noutput_notebook()\n"
            "tides = figure(title='Tides', x_axis_label='hour')\ntides.line([1, 2, 3], [4, 5, 6])\nshow(tides)",
            ("Tides (Line)", "• axes: hour", "• 3 points"),
        ),
        (
            ("plotly", "nbformat"),
            "import plotly.graph_objects as go\n"
            "go.Figure(go.Bar(x=['a', 'b'], y=[1, 2]), {'title': {'text': 'Votes'}})",
            ("Votes", "bar · 2 points · x a to b · y 1 to 2"),
        ),
        (
            ("pandas", "jinja2"),
            f"import pandas\npandas.DataFrame({FRAME}).style.format({{'score': '{{:.2f}} %'}})",
            ("0  Oslo  91.50 %", "1  Rome   7.00 %"),
        ),
        (
            ("polars",),
            f"import polars\npolars.DataFrame({FRAME}, strict=False)",
            ("String  Float64", "Oslo       91.5"),
        ),
        (("pyarrow",), f"import pyarrow\npyarrow.table({FRAME})", ("string  double", "Oslo      91.5")),
        (
            ("matplotlib",),
            "import matplotlib.pyplot as plt\nfrom matplotlib.animation import FuncAnimation\n"
            "from IPython.display import HTML\nfigure, axes = plt.subplots()\n(line,) = axes.plot([0, 1])\n"
            "moving = FuncAnimation(figure, lambda at: line.set_data([0, 1], [at, 1]), frames=2)\n"
            "plt.close()\nHTML(moving.to_jshtml())",
            ("figure · 640×480 · z zoom · o open · s save",),
        ),
    ],
    ids=["altair", "bokeh", "plotly", "styler", "polars", "pyarrow", "animation"],
)
async def test_R5_R9_R22_what_a_library_shows_is_read_on_the_screen(
    python: Kernel, libraries: tuple[str, ...], source: str, rows: tuple[str, ...]
) -> None:
    for library in libraries:
        require(library)
    found = await shown(python, source)
    assert set(rows) <= set(found)
