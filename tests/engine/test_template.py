"""Row L32: a person's template says what it says, and can neither run long, grow, nor reach anything."""

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.instructions import TemplateValue
from oi_tui.app.engine.text.template import MOST_RENDERED, TemplateFailed, check_template, render_template

VARIABLES: dict[str, TemplateValue] = {
    "team": ("data", "web"),
    "cwd": "/work",
    "os": "Linux",
    "current_date": "2026-11-23",
    "level": 3,
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain { text } }}", "plain { text } }}"),
        ("{{cwd}} on {{ os|upper }} at {{level}}", "/work on LINUX at 3"),
        ("{% for one in team %}- {{one}} {{loop.index}}\n{% endfor %}", "- data 1\n- web 2\n"),
        ("{{ team }}", "data, web"),
        ("{% if os == 'Linux' %}yes{% else %}no{% endif %}{# said to nobody #}", "yes"),
        ("{{ nickname|default('nobody') }}", "nobody"),
        ("{% raw %}{{ a }}{% endraw %}", "{{ a }}"),
        ("{{ 'much' if level > 2 else 'little' }}\n", "much\n"),
    ],
)
def test_L32_a_template_comes_to_its_text(text: str, said: str) -> None:
    assert render_template(text, VARIABLES) == said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ nobody }}", "'nobody' is undefined. There are: current_date, cwd, level, os, team."),
        ("{{ 'a' * 10**9 }}", "arithmetic"),
        ("{{ 9**9**9 }}", "arithmetic"),
        ("{{ (cwd ~ cwd)|length }}", "joined texts"),
        ("{{ cwd.__class__.__mro__ }}", "no attributes"),
        ("{{ cwd['x'] }}", "no attributes"),
        ("{{ cwd.format(1) }}", "call"),
        ("{% for n in range(99999) %}{% endfor %}", "a list among its variables"),
        ("{% for c in cwd %}{{c}}{% endfor %}", "a list among its variables"),
        ("{% for team in team %}{% endfor %}", "each with a new name"),
        ("{% for a in team %}{% for b in team %}{% for c in team %}{% endfor %}{% endfor %}{% endfor %}", "at most 2"),
        ("{% set a = 1 %}", "assignment"),
        ("{% macro a() %}{% endmacro %}", "macro"),
        ("{% include '/etc/passwd' %}", "other templates"),
        ("{{ cwd|replace('a', 'b') }}", "no filter 'replace'"),
        ("{{ [1, 2] }}", "lists of their own"),
        ("{{ lipsum }}", "'lipsum' is undefined"),
        ("{% if namespace %}{% endif %}", "'namespace' is undefined"),
        ("{{ self }}", "no variable self"),
        ("{{", "Line 1: "),
        ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "nested too deeply"),
        ("{% if 1 %}" * 500 + "{% endif %}" * 500, "nested too deeply"),
        ("{{ " + "9" * 6000 + " }}", "limit"),
        ("{% for a in team %}{% for b in team %}" + "x" * 30_000 + "{% endfor %}{% endfor %}", "more than 64,000"),
    ],
)
def test_L32_what_could_run_long_grow_or_reach_something_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(TemplateFailed) as refused:
        render_template(text, VARIABLES)
    assert why in str(refused.value)


def test_L32_a_long_list_is_printed_and_not_looped_over() -> None:
    many = {"many": tuple(map(str, range(101)))}
    assert render_template("{{ many }}", many).endswith("99, 100")
    with pytest.raises(TemplateFailed, match="at most 100 items"):
        render_template("{% for one in many %}{% endfor %}", many)


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in many %}{% for b in many %}{% if long|upper == a %}{% endif %}{% endfor %}{% endfor %}",
        "{% if long|upper == long|lower %}{% endif %}" * 1000,
    ],
    ids=["loops", "filters"],
)
def test_L32_a_template_that_would_work_for_seconds_is_refused_before_it_begins(text: str) -> None:
    much: dict[str, TemplateValue] = {"many": tuple(map(str, range(100))), "long": "x" * 60_000}
    with pytest.raises(TemplateFailed, match="too much work"):
        render_template(text, much)


@given(st.text(alphabet="{}%#|.()[]'~*+ \nabcdefinors_019", max_size=60))
def test_L32_any_text_is_a_template_or_refused_in_words(text: str) -> None:
    with contextlib.suppress(TemplateFailed):
        assert len(render_template(text, {"a": "x", "of": ("y", "z")})) <= MOST_RENDERED


def test_L32_a_text_without_marks_loads_no_templates() -> None:
    program = (
        "import sys; from oi_tui.app.engine.text.template import check_template\n"
        "check_template('Braces { } and 100% # are text.', {}); print('jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_L32_what_is_always_there_is_known_when_a_template_is_checked() -> None:
    check_template("{{current_date}} {{cwd}} {{os}} {{mine}}", {"mine": 1})
