"""Code with a syntax error goes back to the model before anybody is asked."""

import sys

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import DecisionRequested, TurnEnded
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.policy.syntax import find_syntax_error
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from support.kinds import of
from support.turns import play

OURS = "Python {}.{}.1 of oi-tui"
BROKEN = "```python\ndef f(:\n    pass\n```"


@pytest.fixture
def ours() -> str:
    return OURS.format(*sys.version_info[:2])


@pytest.mark.parametrize(
    "source",
    [
        "await x",
        "%time x\n!ls -la\nx?\ny = !ls *.csv\nprint(y)",
        "%%bash\nls 'a",
        "ls -la",
        "pip install numpy",
        "  x = 1\n  y = 2",
        ">>> 1 + 1\n2",
        "if True:\n    !ls\n",
        "x = '\\d'",
        "x" * 200 + "\n" + "(" * 150 + ")" * 150,
    ],
)
def test_L27_what_ipython_takes_is_no_syntax_error(source: str, ours: str) -> None:
    assert find_syntax_error("python", source, ours) == ""


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def f(:\n    pass", "line 1: invalid syntax: def f(:"),
        ("x = 1\nprint((x)\ny = 2", "line 2: '(' was never closed: print((x)"),
        ("!ls\nfor x in y:\nprint(x)", "line 3: expected an indented block after 'for' statement on line 2: print(x)"),
        ("print 'x'", "line 1: Missing parentheses in call to 'print'. Did you mean print(...)?: print 'x'"),
    ],
)
def test_L27_a_syntax_error_is_told_with_its_line(source: str, error: str, ours: str) -> None:
    assert find_syntax_error("python", source, ours) == error


def test_L27_for_another_python_only_what_no_python_takes_is_wrong() -> None:
    assert find_syntax_error("python", "type X = int", "Python 4.99.0 in .venv") == ""
    assert find_syntax_error("python", "print 'x'", "") == ""
    assert find_syntax_error("python", "x = = 2", "Python 4.99.0 in .venv") == "line 1: invalid syntax: x = = 2"


@pytest.mark.parametrize(
    "source",
    [
        'echo "it\'s"',
        "cat <<EOF\nit's\nEOF",
        'echo "$(echo "a")"',
        "ls # it's",
        "echo $'it\\'s' ${x#'a'}",
        "for i in 1 2; do echo $i",
        "echo it\\'s",
    ],
)
def test_L27_of_shell_only_an_open_quote_is_wrong(source: str) -> None:
    assert find_syntax_error("shell", source) == ""
    assert find_syntax_error("shell", "ls\necho 'a") == "line 2: the quote ' is never closed: echo 'a"
    assert find_syntax_error("ruby", "'") == ""


def make(model: FakeModel, kernel: FakeKernel, approve: ApprovalMode = "ask") -> Session:
    kernels = FakeKernels(python=kernel)
    return Session(kernels=kernels, settings=LoopSection(approve=approve), model=model)


def first_code(session: Session) -> CodeBlock:
    return next(block for block in session.transcript.blocks if isinstance(block, CodeBlock))


async def test_L27_it_goes_back_to_the_model_unasked_and_what_comes_behind_it_is_not_run() -> None:
    model, kernel = FakeModel(f"{BROKEN}\n\n```python\nf()\n```", "Sorry, I cannot."), FakeKernel()
    session = make(model, kernel)
    events = await play(session, session.run("go"))
    assert not of(DecisionRequested, events)
    assert kernel.ran == []
    assert events[-1] == TurnEnded(reason="done")
    assert first_code(session).state == "refused"
    told = model.requests[1].messages[-1].text
    assert "[not run: syntax error, line 1: invalid syntax: def f(:]" in told
    assert "Reply with corrected code" in told


async def test_L27_the_third_in_a_row_is_asked_about() -> None:
    model, kernel = FakeModel(BROKEN, BROKEN, BROKEN, "Well."), FakeKernel()
    session = make(model, kernel)
    events = await play(
        session,
        session.run("go"),
        lambda event: (
            isinstance(event, DecisionRequested) and session.decide(Decide(request_id=event.request_id, verdict="run"))
        ),
    )
    assert len(of(DecisionRequested, events)) == 1
    assert len(model.requests) == 4
    assert kernel.ran == ["def f(:\n    pass"]


async def test_L27_where_nothing_may_run_no_other_answer_is_asked_for() -> None:
    model = FakeModel(BROKEN)
    session = make(model, FakeKernel(), "never")
    await session.run("go")
    assert len(model.requests) == 1
