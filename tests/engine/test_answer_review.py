"""Answers that cannot stand: files that were not saved, and calls that nobody can read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.agent.claims import claimed_files
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.agent.prompt import in_helpers
from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.chat_model import AnswerEnded, ChatMessage, ChatRequest, Model, TextDelta, ToolDelta
from oi_tui.app.engine.core.events import NoticeAdded, SessionOpened
from oi_tui.app.engine.core.instructions import InstructionSources
from oi_tui.app.engine.core.settings import LoopSection, ModelSection
from oi_tui.app.engine.models.facts import section_for
from oi_tui.app.engine.models.lean_facts import look_up_lean
from oi_tui.app.engine.models.providers import find_lean
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, ScriptedAnswer
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from support.kinds import of
from support.openai_server import OpenAIServer, Turn
from support.turns import end_of, play

CODE = "```python\ndef save(): ...\n```"
SPOILT: ScriptedAnswer = [
    ToolDelta(index=0, id="c1", name="execute", arguments='{"language": "python", "code": "1+1'),
    AnswerEnded(reason="tool_calls"),
]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I saved the table to `out.csv`.", ("out.csv",)),
        ('The plot was written to "plots/a b.png" and `b.svg`.', ("plots/a b.png", "b.svg")),
        ("Done. The result has been stored in 'data.json'. It was created as `data.json`.", ("data.json",)),
        ("I did not save it: `out.csv` was not written.", ()),
        ("Once it is saved to `out.csv`, look at it.", ()),
        ("You can open `out.csv`, which you created.", ()),
        ("The table in `in.csv` has 3 rows.", ()),
        ("It was created with `pd.DataFrame` and `np.array`.", ()),
        ("It was written to `*.csv` and `<name>.txt`.", ()),
    ],
)
def test_L34_what_an_answer_says_was_saved(text: str, names: tuple[str, ...]) -> None:
    assert claimed_files(text) == names


def make(model: FakeModel, folder: Path, kernel: FakeKernel | None = None) -> Session:
    session = Session(
        kernels=FakeKernels(python=kernel or FakeKernel()), settings=LoopSection(approve="auto"), model=model
    )
    session.emit(SessionOpened(session_id="s", created=0.0, cwd=str(folder), model="", approval="auto"))
    return session


async def test_L34_an_answer_with_a_file_that_is_not_there_is_questioned_once(tmp_path: Path) -> None:
    model = FakeModel(CODE, "I saved it to `out.csv`.", "I saved it to `out.csv`.")
    session = make(model, tmp_path)
    events = await play(session, session.run("save it"))
    assert end_of(events).reason == "done"
    assert len(model.requests) == 3
    told = model.requests[2].messages
    assert [message.role for message in told[-2:]] == ["assistant", "user"]
    assert told[-1].text == (
        "There is no file out.csv in the folder. Reply with code that saves it, or say what is true."
    )
    (notice,) = of(NoticeAdded, events)
    assert "out.csv" in notice.title
    again = [event for event in events_of_blocks(session.transcript.blocks) if isinstance(event, NoticeAdded)]
    assert [event.to_model for event in again] == [told[-1].text]
    await play(session, session.run("once more"))
    assert len(model.requests) == 5, "in another turn it is asked again"


async def test_L34_what_is_there_or_elsewhere_or_was_no_work_of_code_is_not_questioned(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("")
    for answer in ("I saved it to `out.csv`.", "I saved it to `/tmp/x.csv`, `../x.csv` and `~/x.csv`."):
        model = FakeModel(CODE, answer)
        session = make(model, tmp_path)
        await play(session, session.run("save it"))
        assert len(model.requests) == 2
    model = FakeModel("I saved it to `missing.csv`.")
    session = make(model, tmp_path)
    await play(session, session.run("what did you do?"))
    assert len(model.requests) == 1, "no code ran that could have"
    elsewhere = FakeKernel()
    elsewhere.elsewhere = True
    model = FakeModel(CODE, "I saved it to `missing.csv`.")
    session = make(model, tmp_path, elsewhere)
    await play(session, session.run("save it"))
    assert len(model.requests) == 2


async def test_L35_after_two_calls_that_cannot_be_read_a_model_writes_fences(tmp_path: Path) -> None:
    model, kernel = FakeModel(SPOILT, SPOILT, "```python\n1+1\n```", "It is 2."), FakeKernel()
    session = make(model, tmp_path, kernel)
    events = await play(session, session.run("add"))
    assert end_of(events).reason == "done"
    assert kernel.ran == ["1+1"]
    assert [bool(request.tools) for request in model.requests] == [True, True, False, False]
    assert [message.role for message in model.requests[1].messages[-3:]] == ["assistant", "tool", "user"]
    assert "not valid JSON" in model.requests[1].messages[-1].text
    assert "fenced code block" in model.requests[2].messages[-1].text
    levels = [block.level for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
    assert levels == ["info", "warning"]
    session.choices.use_model(other := FakeModel("Hello.", name="other/model"))
    await play(session, session.run("hello"))
    assert other.requests[0].tools, "another model may call"


async def test_L35_a_call_that_the_token_limit_cut_is_none_that_cannot_be_read(tmp_path: Path) -> None:
    cut: ScriptedAnswer = [TextDelta(text="Well. "), *SPOILT[:1], AnswerEnded(reason="length")]
    model = FakeModel(cut)
    session = make(model, tmp_path)
    await play(session, session.run("add"))
    assert len(model.requests) == 1


async def test_L41_helpers_are_forced_for_a_model_by_its_name() -> None:
    """No calls are offered, the model is told how to write its code, and reads its own code written so."""
    section = ModelSection(name="openai/gpt-4o", tools="on", tools_by_model={"small": "helpers", "other": "off"})
    assert [section.form_of(name) for name in ("openai/gpt-4o", "small", "other")] == ["on", "helpers", "off"]
    choice = find_lean("openai/gpt-4o", "")
    assert choice is not None
    for name, calls in (("openai/gpt-4o", True), ("small", False)):
        asked = section_for(section, name, "http://127.0.0.1:1/v1")
        facts, _ = look_up_lean(choice, asked, api_key="k", environ={}, free=False)
        assert facts.takes_tools is calls
    model = FakeModel("<helpers>\nprint(1)\n</helpers>", "Done.", name="small")
    sources = InstructionSources(writes_helpers=lambda name: section.form_of(name) == "helpers")
    session = Session(kernels=FakeKernels(), settings=LoopSection(approve="auto"), model=model, instructions=sources)
    session.choices.expect_model("small", "")
    await session.run("go")
    (code,) = (block for block in session.transcript.blocks if isinstance(block, CodeBlock))
    assert (code.source, code.state) == ("print(1)", "ok")
    system, _, spoken, *_ = model.requests[1].messages
    assert "between a line <helpers> and a line </helpers>" in system.text
    assert "```python" not in system.text
    assert spoken.text == "<helpers>\nprint(1)\n</helpers>"


def test_L41_code_with_such_a_tag_in_it_stays_fenced() -> None:
    text = "A.\n\n```python\nprint('</helpers>')\n```\n\n````python\nx = '```'\n````"
    request = ChatRequest(messages=(ChatMessage(role="assistant", text=text), ChatMessage(role="user", text=text)))
    changed, same = in_helpers(request).messages
    assert changed.text == "A.\n\n```python\nprint('</helpers>')\n```\n\n<helpers>\nx = '```'\n</helpers>"
    assert same.text == text


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (404, "No endpoints found that support tool use. To learn more about provider routing, visit: https://x.y"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (400, "Function calling is not supported by this model."),
        (500, "tools param requires --jinja flag: tool calls are not supported"),
    ],
)
async def test_L35_a_model_whose_server_refuses_calls_is_asked_without_them(
    status: int, words: str, openai_server: OpenAIServer, model: Callable[..., Model]
) -> None:
    openai_server.script(Turn(status=status, error=words), "Hello.", "Hello again.")
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=model(tools="on", retries=0))
    await session.run("hello")
    await session.run("hello")
    assert [bool(request.get("tools")) for request in openai_server.requests] == [True, False, False]
    (notice,) = (block for block in session.transcript.blocks if isinstance(block, NoticeBlock))
    assert notice.title.endswith("takes no tool calls: from now on it writes code in fenced blocks.")
    assert session.transcript.ended == "done"


async def test_L35_another_refusal_is_not_asked_again(openai_server: OpenAIServer, model: Callable[..., Model]) -> None:
    openai_server.script(Turn(status=400, error="bad field: tools[0].function.name"))
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=model(tools="on", retries=0))
    await session.run("hello")
    assert len(openai_server.requests) == 1
    assert session.transcript.ended == "model_error"
