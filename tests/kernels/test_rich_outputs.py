"""What libraries in a real Python kernel send of their results, and what is made of it: rows, and words for the model.

Rows R5, R6 and R9 of the acceptance table from the kernel to the screen.
"""

import ast
import base64
import json
from io import BytesIO
from itertools import zip_longest
from pathlib import Path

import pytest
from PIL import Image

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.kernels import in_kernel, in_kernel_frames
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.text.mime import pictures, plain_text
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.figure_words import figure_words
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from oi_tui.widgets.timeline.table_data import TableData, figure_data, table_of
from support.libraries import require_cairo
from support.runs import collect

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

RECORDED = Path(__file__).parent / "recorded"


async def result(kernel: Kernel, source: str) -> RichOutput:
    """The one rich output of a source."""
    run = await collect(kernel, source)
    (output,) = (output for output in run.outputs if isinstance(output, RichOutput))
    return output


async def table(kernel: Kernel, source: str) -> TableData:
    """The table that a source ends with."""
    made = table_of(await result(kernel, source))
    assert made is not None
    return made


def rows(output: RichOutput, width: int = 80) -> list[str]:
    """The rows of a result on the screen."""
    block = CodeBlock(id="c", language="python", source="x", state="ok", outputs=(output,))
    cell = BlockCell(block)
    height = cell.layout(block, Canvas(width, Ink(load_palette())), BlockDisplay())
    return [cell.row(number).text.rstrip() for number in range(2, height - 1)]


SHOPS = "import pandas as pd\nshops = pd.DataFrame({'shop': ['Oslo', 'Bergen', None], 'score': [91.5, None, 7]})\n"


async def test_R5_a_data_frame_is_a_table_for_the_screen_and_text_for_the_model(python: Kernel) -> None:
    pytest.importorskip("pandas")
    output = await result(python, SHOPS + "shops")

    assert rows(output) == [
        " │    shop      score",
        " │    str     float64",
        " │ 0  Oslo       91.5",
        " │ 1  Bergen      NaN",
        " │ 2  NaN         7.0",
    ]
    assert plain_text(output) == "     shop  score\n0    Oslo   91.5\n1  Bergen    NaN\n2     NaN    7.0"


async def test_R5_a_series_is_a_table_too(python: Kernel) -> None:
    pytest.importorskip("pandas")
    output = await result(python, "import pandas as pd\npd.Series([1, 20], index=['a', 'b'], name='n')")

    assert rows(output) == [" │        n", " │    int64", " │ a      1", " │ b     20"]
    assert plain_text(output) == "a     1\nb    20\nName: n, dtype: int64"


async def test_R5_of_a_large_frame_only_what_can_be_read_is_sent(python: Kernel) -> None:
    pytest.importorskip("pandas")
    source = "import pandas as pd, numpy as np\npd.DataFrame(np.zeros((3_000_000, 4)), columns=list('abcd'))"
    made = await table(python, source)

    assert (len(made.rows), made.head, made.total_rows) == (550, 500, 3_000_000)
    assert made.hidden_rows == 2_999_450
    assert [row[0] for row in made.rows[498:502]] == ["498", "499", "2999950", "2999951"]


async def test_R5_a_wide_frame_is_cut_at_its_columns_and_has_fewer_rows(python: Kernel) -> None:
    pytest.importorskip("pandas")
    made = await table(python, "import pandas as pd, numpy as np\npd.DataFrame(np.zeros((1000, 5000)))")

    assert (len(made.columns), made.total_columns, made.hidden_columns) == (61, 5000, 4940)
    assert len(made.rows) * 60 <= in_kernel_frames.TABLE_CELLS


async def test_indexes_and_names_of_several_levels_are_kept(python: Kernel) -> None:
    pytest.importorskip("pandas")
    source = (
        "import pandas as pd\n"
        "frame = pd.DataFrame({'a': ['x', 'x', 'y'], 'b': [1, 2, 3], 'c': [1.5, 2.5, 3.5]})\n"
        "frame.groupby(['a', 'b']).agg({'c': ['min', 'max']})"
    )
    made = await table(python, source)

    assert [column.name for column in made.columns] == ["a", "b", "c / min", "c / max"]
    assert made.index == 2
    assert made.rows[0] == ("x", "1", "1.5", "1.5")


async def test_values_of_all_kinds_are_short_texts(python: Kernel) -> None:
    pytest.importorskip("pandas")
    source = (
        "import pandas as pd\n"
        "pd.DataFrame({'when': pd.to_datetime(['2026-01-03', None]), 'tiny': [1e-9, 2.0],"
        " 'long': ['x' * 9999, 'a\\nb'], 'list': [list(range(9999)), 2 ** 9999],"
        " 'whole': pd.array([1, None], dtype='Int64')})"
    )
    made = await table(python, source)

    (_, when, tiny, long, numbers, whole), (_, never, two, broken, large, absent) = made.rows
    assert (when, never) == ("2026-01-03", "NaT")
    assert (tiny, two) == ("1.000000e-09", "2.000000e+00")
    assert (len(long), broken) == (in_kernel_frames.CELL_TEXT_LIMIT, "a\\nb")
    assert numbers.startswith("[0, 1, 2,")
    assert max(len(numbers), len(large)) <= in_kernel_frames.CELL_TEXT_LIMIT
    assert (whole, absent) == ("1", "<NA>")


async def test_a_frame_that_is_not_like_others_is_shown_as_text(python: Kernel) -> None:
    pytest.importorskip("pandas")
    source = "import pandas as pd\nclass Odd(pd.DataFrame):\n    iloc = None\nOdd({'a': [1]})"
    output = await result(python, source)

    assert "application/vnd.oi-tui.table+json" not in output.data
    assert rows(output) == [" │    a", " │ 0  1"]


@pytest.mark.parametrize(
    ("library", "source"),
    [
        ("polars", "import polars\npolars.DataFrame({'a': [1.5, None], 'b': ['x', 'y']})"),
        ("pyarrow", "import pyarrow\npyarrow.table({'a': [1.5, None], 'b': ['x', 'y']})"),
    ],
)
async def test_frames_of_other_libraries_are_tables(python: Kernel, library: str, source: str) -> None:
    pytest.importorskip(library)
    made = await table(python, source)

    assert [(column.name, column.is_number) for column in made.columns] == [("a", True), ("b", False)]
    assert made.rows == (("1.5", "x"), ("null", "y"))


async def test_nothing_of_ours_is_left_in_the_persons_namespace(python: Kernel) -> None:
    run = await collect(
        python, "sorted(name for name in globals() if 'table' in name.lower() or name in ('text', 'split'))"
    )
    assert run.result == "[]"


@pytest.mark.parametrize(
    "parts",
    [
        ("", "_frames", "_tables", "_figures", "_background", "_computer"),
        ("_look", "_frames", "_rows", "_queries", "_variables", "_names"),
    ],
    ids=["start", "inspection"],
)
async def test_parts_that_are_sent_as_one_text_share_no_names_but_for_the_same_value(parts: tuple[str, ...]) -> None:
    folder = Path(in_kernel.__file__).parent
    known: dict[str, str] = {}
    for part in parts:
        for statement in ast.parse((folder / f"in_kernel{part}.py").read_text()).body:
            match statement:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                    said = ast.unparse(statement)
                    assert known.setdefault(name, said) == said, (part, name)


FIGURE = (
    "%matplotlib inline\nimport matplotlib_inline.backend_inline as inline\ninline.set_matplotlib_formats('{form}')\n"
    "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2, 3])"
)


async def test_R6_a_figure_is_a_picture_on_the_screen_and_for_the_model(python: Kernel) -> None:
    pytest.importorskip("matplotlib")
    output = await result(python, FIGURE.format(form="png"))
    drawn = rows(output)

    assert drawn[0].startswith(" │ ▀▀▀▀")
    assert drawn[-1].startswith(" │ figure · 5")
    assert "a picture of 5" in plain_text(output)
    (picture,) = pictures(CodeBlock(id="c", language="python", source="x", state="ok", outputs=(output,)))
    assert picture.startswith("data:image/png;base64,iVBOR")


FIGURES = {
    "x = np.linspace(0, 10); plt.plot(x, np.sin(x), label='sine'); plt.plot(x, np.cos(x), label='cosine');"
    "plt.title('Waves'); plt.xlabel('time (s)'); plt.ylabel('amplitude'); plt.legend()": (
        "Waves time (s) amplitude sine cosine 0 10 1.00 −1.00"
    ),
    "plt.bar(['north', 'south'], [3, 7]); plt.title('Sales by region'); plt.ylabel('Sales (k$)')": (
        "Sales by region Sales (k$) north south 0 7"
    ),
    "plt.barh(['apples', 'pears'], [3, 7]); plt.xlabel('kg')": "kg apples pears 0 7",
    "plt.scatter([1, 2, 3], [3, 1, 2], c=[1, 2, 3]); plt.colorbar(label='heat'); plt.title('A cloud')": (
        "A cloud heat 1.00 3.00"
    ),
    "plt.hist([1, 2, 2, 3]); plt.title('Distribution'); plt.ylabel('count')": "Distribution count 1.00 2.0",
    "plt.loglog([1, 1000], [1, 1e6]); plt.title('Power law')": "Power law 10⁰ 10³ 10⁶",
    "plt.plot(pd.date_range('2024-01-01', periods=90), range(90)); plt.xticks(rotation=45); plt.ylabel('users')": (
        "users 2024-01-01 2024-04-01 0"
    ),
    "figure, plots = plt.subplots(2, 2, layout='constrained'); figure.suptitle('Four')\n"
    "for number, plot in enumerate(plots.flat): plot.plot([1, number]); plot.set_title(f'power {number}')": (
        "Four power 0 power 1 power 2 power 3"
    ),
    "plt.pie([30, 70], labels=['cats', 'dogs'], autopct='%1.0f%%'); plt.title('Pets')": "Pets cats dogs 30% 70%",
    "plt.imshow([[1, 2], [3, 4]]); plt.title('Heat map')": "Heat map",
    "plt.plot([1, 4, 2]); plt.annotate('peak', xy=(1, 4), xytext=(1.5, 3.8), arrowprops={})": "peak 1.0 4.0",
    "left = plt.subplot(); left.set_ylabel('left side'); right = left.twinx(); right.set_ylabel('right side')": (
        "left side right side 0.0 1.0"
    ),
    "plt.boxplot([[1, 2, 9], [2, 3, 6]], tick_labels=['before', 'after']); plt.title('Spread')": "Spread before after",
}
"""What draws a figure, and the words that can be read of it."""


@pytest.mark.parametrize(
    "sources", [list(FIGURES)[:4], pytest.param(list(FIGURES)[4:], marks=pytest.mark.thorough)], ids=["few", "rest"]
)
async def test_V13_the_words_of_figures_can_be_read_in_a_terminal_without_graphics(
    python: Kernel, sources: list[str]
) -> None:
    pytest.importorskip("matplotlib")
    await collect(python, "%matplotlib inline\nimport numpy as np, pandas as pd\nimport matplotlib.pyplot as plt")
    unread = {}
    for source in sources:
        drawn = rows(await result(python, source + "\nplt.show()"))
        climbing = ("".join(column).replace(" ", "") for column in zip_longest(*drawn, fillvalue=" "))
        text = " ".join((*drawn, *climbing))
        unread[source] = [word for word in FIGURES[source].split() if word not in text]
        assert len(drawn) == 21
    assert {source: words for source, words in unread.items() if words} == {}


async def test_V13_the_words_of_a_legend_are_where_they_are_drawn(python: Kernel) -> None:
    """Matplotlib leaves them where they were in the picture before it was cut to what is drawn."""
    pytest.importorskip("matplotlib")
    await collect(python, "%matplotlib inline\nimport matplotlib.pyplot as plt")
    output = await result(python, "plt.plot([1, 1], label='cosine'); plt.ylabel('y'); plt.legend(); plt.show()")
    figure = figure_words(output)
    assert figure is not None
    (legend,) = (word for word in figure.words if word.role == "legend")
    with Image.open(BytesIO(base64.b64decode(output.data["image/png"]))) as picture:
        left, top, right, bottom = (
            share * size for share, size in zip(legend.box, (*picture.size, *picture.size), strict=True)
        )
        width = right - left
        grey = picture.convert("L")
        inside, behind = grey.crop((left, top, right, bottom)), grey.crop((right + 2, top, right + width / 4, bottom))
    assert min(inside.tobytes()) < 60
    assert min(behind.tobytes()) > 150


async def test_V13_what_a_figure_shows_is_a_table_too_and_the_figure_stays_as_it_was(python: Kernel) -> None:
    pytest.importorskip("matplotlib")
    draw = (
        "import io, hashlib\nimport matplotlib.pyplot as plt\n"
        "figure, plot = plt.subplots()\nplot.plot([1, 2, 3], [5.5, 7, 6], label='a')\n"
        "_ = plot.bar(['x', 'y'], [3, 4], label='b')\nplt.close(figure)\n"
        "def state():\n"
        "    file = io.BytesIO(); figure.savefig(file, format='raw')\n"
        "    texts = [(text.get_text(), text.get_position()) for text in figure.findobj(plt.Text)]\n"
        "    sizes = figure.bbox.size.tolist(), plot.viewLim.extents.tolist()\n"
        "    return hashlib.sha256(file.getvalue()).hexdigest(), sizes, type(figure.canvas), texts\n"
        "before = state()"
    )
    await collect(python, draw)
    shown = figure_data(await result(python, "figure"))
    assert shown is not None
    assert [column.name for column in shown.columns] == ["series", "x", "y"]
    assert shown.rows == (("a", "y", "5.5"), ("a", "2", "7"), ("a", "3", "6"), ("b", "x", "3"), ("b", "y", "4"))
    run = await collect(python, "print(state() == before)")
    assert run.text() == "True\n"


async def test_R6_a_figure_as_svg_is_a_picture_where_it_can_be_drawn(python: Kernel) -> None:
    pytest.importorskip("matplotlib")
    require_cairo()
    drawn = rows(await result(python, FIGURE.format(form="svg")))

    assert drawn[0].startswith(" │ ▀▀▀▀")
    assert drawn[-1].startswith(" │ drawing · ")


@pytest.mark.parametrize(
    ("shown", "first", "told"),
    [
        ("HTML('<h2>Title</h2><p>Some <b>text</b>')", " │ Title", "## Title\n\nSome text"),
        ("Markdown('# Title\\n**text**')", " │ Title", "# Title\n**text**"),
        ("Latex('$\\\\frac{a}{b}$')", " │ a⁄b", "$\\frac{a}{b}$"),
        ("JSON({'a': [1, 2]})", " │ {", '{\n  "a": [\n    1,\n    2\n  ]\n}'),
        ("Math('x^2')", " │ x²", "$\\displaystyle x^2$"),
        (
            'SVG(\'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><title>Dot</title></svg>\')',
            " │ ▀",
            "[drawing of 8×8, “Dot”]",
        ),
    ],
)
async def test_R9_what_ipython_displays_is_readable_for_both(python: Kernel, shown: str, first: str, told: str) -> None:
    if shown.startswith("SVG"):
        require_cairo()
    output = await result(python, f"from IPython.display import *\ndisplay({shown})")

    assert rows(output)[0].startswith(first)
    assert plain_text(output) == told


async def test_R9_a_plotly_figure_is_told_in_words() -> None:
    """As plotly 7.1 sent it from a kernel."""
    output = RichOutput(data=json.loads((RECORDED / "plotly_figure.json").read_text(encoding="utf-8")))
    told = [
        "Scores of 2026",
        "x: month · y: score",
        "scatter (lines+markers) “mean score” · 12 points · x 2026-01-01T00:00:00.000000 to 2026-12-01T00:00:00.000000",
        "bar “shops” · 3 points · x Oslo to Tromsø · y 1 to 3",
        "heatmap · 4 points · z 1 to 4",
    ]

    assert plain_text(output).split("\n")[:3] == ["[interactive figure]", *told[:2]]
    assert [row.removeprefix(" │ ") for row in rows(output, 140)][:2] == told[:2]
    assert " │ heatmap · 4 points · z 1 to 4" in rows(output, 140)
