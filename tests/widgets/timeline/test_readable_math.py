"""LaTeX as text: what reads well, and that nothing hostile breaks it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.math import LONGEST_FORMULA, readable_math
from oi_tui.widgets.timeline.math_boxes import MOST_BOX_CELLS

PIECES = st.sampled_from(
    re.split(
        " ",
        r"\frac \sqrt [3] { } ^ _ x y1 2 \alpha \sum \left( \right) \left \right. & \\ \begin{pmatrix} \end{pmatrix}"
        r" \begin{cases} \end{cases} \begin{aligned} \end{aligned} \begin \end \hat \text{a\ b} \mathbb{R} \not = ' +"
        r" - , \binom \overset \operatorname* \foo $ $$ \( \) \[ \] % \tag{1} \middle| \ce{H2O} \begin{array}{l|r} 日",
    )
)
LATEX = st.lists(st.one_of(PIECES, PIECES, st.text(max_size=3)), max_size=40).map(" ".join)


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac{a}{b} + \frac{1}{2}", "a⁄b + ½"),
        (r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}", "x = (−b ± √(b² − 4ac))/(2a)"),
        (r"\frac{\partial^2 f}{\partial x^2}", "∂²f⁄∂x²"),
        (r"\sum_{i=1}^{n} x_i", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"\int_0^\infty e^{-x^2}\,dx", "∫₀^∞ e^(−x²) dx"),
        (r"\lim_{x \to 0} \frac{\sin x}{x}", "lim_(x→0) (sin x)/x"),
        (r"\hat{\beta} = (X^\top X)^{-1} X^\top y", "β̂ = (XᵀX)⁻¹Xᵀy"),
        (r"\mathbb{E}[X] = \mathcal{L}(\theta) \in \mathbb{R}", "𝔼[X] = ℒ(θ) ∈ ℝ"),
        (r"\text{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V", "softmax(QKᵀ⁄√dₖ)V"),
        (r"f''(x) \not= 0 \implies x \notin S", "f″(x) ≠ 0 ⟹ x ∉ S"),
        (r"\operatorname*{arg\,max}_\theta \log p(x\mid\theta)", "arg max_θ log p(x | θ)"),
        (r"\sqrt[3]{x+1}", "∛(x + 1)"),
        (r"1{,}5 + 1,000 = f(1,2)", "1,5 + 1,000 = f(1, 2)"),
        (r"x^12", "x¹2"),
        (r"\foo{x}", r"\foo x"),
    ],
)
def test_what_models_write_reads_well(latex: str, text: str) -> None:
    assert readable_math(latex) == text


def test_matrices_and_equations_stand_in_rows() -> None:
    matrix = r"A = \begin{pmatrix} a & -b \\ c & 10 \end{pmatrix}^T x"
    assert readable_math(matrix).split("\n") == ["A = ⎛a  −b⎞ᵀ x", "    ⎝c  10⎠"]
    assert readable_math(matrix, rows=False) == "A = (a, −b; c, 10)ᵀ x"
    aligned = r"\begin{aligned} x &= 1 + 2 \\[2pt] y + 1 &= 3 \end{aligned}"
    assert readable_math(aligned).split("\n") == ["    x = 1 + 2", "y + 1 = 3"]
    cases = r"|x| = \begin{cases} x & \text{if } x \ge 0 \\ -x & \text{otherwise} \end{cases}"
    assert readable_math(cases).split("\n") == ["|x| = ⎧x   if x ≥ 0", "      ⎩−x  otherwise"]


@pytest.mark.parametrize("latex", ["$x^2$", "$$x^2$$", r"\(x^2\)", r"\[x^2\]", r"$\displaystyle x^2$", " $$ x^2 $$\n"])
def test_dollars_and_brackets_around_a_formula_go(latex: str) -> None:
    assert readable_math(latex) == "x²"


def test_words_around_formulas_stay() -> None:
    assert readable_math(r"Let $x^2$ be \(y_1\).") == "Let x² be y₁."


@settings(deadline=None)
@given(LATEX)
def test_anything_gives_safe_text_of_bounded_size(latex: str) -> None:
    shown = readable_math(latex)
    assert shown == safe_text(shown)
    assert sum(map(cell_len, shown.split("\n"))) <= max(MOST_BOX_CELLS, 20 * LONGEST_FORMULA)
    assert not re.search(r"[\n\t]|  ", readable_math(latex, rows=False))


@pytest.mark.parametrize(
    "latex",
    [
        "{" * 4_000,
        r"\frac" * 800,
        "^" * 4_000,
        r"\left(" * 600,
        r"\begin{pmatrix}" * 300,
        r"\sqrt{" * 500 + "}" * 500,
        r"\begin{matrix}" + "x" * 2_000 + r"\\a" * 900 + r"\end{matrix}",
        r"\def\a{\a\a}\a \newcommand{\b}{\b\b}\b \input{/etc/passwd}",
        "x" * (LONGEST_FORMULA + 1),
        r"\hat{" * 25 + "abcdefgh" + "}" * 25,
    ],
)
def test_bombs_cost_little(latex: str) -> None:
    assert len(readable_math(latex)) <= 20 * LONGEST_FORMULA
    assert "root:" not in readable_math(latex)
