"""What a question about a call says: who brought the tool, what the call would do, and how long it may take."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from oi_tui.app.engine.agent import previews
from oi_tui.app.engine.agent.open_question import OpenQuestion
from oi_tui.app.engine.core.blocks import CallBlock
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested, ExecutionFinished
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import Confinement, EditableText
from oi_tui.app.engine.core.verbs import Decide, Revise
from oi_tui.app.engine.log.audit.fold import AuditFold
from oi_tui.app.engine.log.audit.records import AnyRecord, DecisionWasMade, RunBegan, Surroundings
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import short_form
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolFailed, ToolOutput
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.widgets.call_fields import call_text
from support.file_tools import FileBench
from support.kinds import narrow
from support.sessions import seal_telling
from support.tool_calls import answer, ask_once, call, calls, make, tool
from support.turns import play

DIFF = "--- a/notes\n+++ b/notes\n-old\n+new\n"
SAFE = Confinement(sandboxed=True, offline=True)


async def diff(arguments: Arguments) -> RichOutput:
    return RichOutput(data={"text/x-diff": DIFF})


async def asked_about(about: Tool) -> DecisionRequested:
    session = make(FakeModel(answer(*call()), "Done."), about, approve="ask")
    (asked,) = await ask_once(session, "run")
    return asked


async def test_G1_a_question_shows_what_the_call_would_do_and_who_brought_the_tool() -> None:
    asked = await asked_about(tool(preview=diff, origin="plugin lab", may_call=("ring",)))
    assert asked.preview is not None
    assert asked.preview.data == {"text/x-diff": DIFF}
    assert (asked.origin, asked.may_call) == ("plugin lab", ("ring",))
    text, language = call_text(asked, asked.source, full=False)
    assert text == f"text  hi\n\n{DIFF.rstrip()}"
    assert language == "diff"
    assert call_text(asked, '{"text": "ho"}', full=False) == ("text  ho", "")


async def test_G1_a_call_that_cannot_work_is_refused_without_a_question_and_the_model_reads_why() -> None:
    async def fail(arguments: Arguments) -> None:
        raise ToolFailed("The text is in two places.")

    model = FakeModel(answer(*call()), "Done.")
    session = make(model, tool(preview=fail), approve="ask")
    assert await ask_once(session, "run") == []
    (block,) = calls(session)
    assert (block.state, block.refusal) == ("refused", "The text is in two places.")
    assert "The text is in two places." in model.requests[1].messages[-1].text


async def test_G1_a_preview_that_fails_is_slow_or_is_no_output_is_said_and_the_arguments_are_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    async def broken(arguments: Arguments) -> None:
        raise KeyError("x")

    async def slow(arguments: Arguments) -> None:
        await asyncio.Event().wait()

    async def nothing(arguments: Arguments) -> RichOutput:
        return RichOutput(data={"image/png": "x"})

    monkeypatch.setattr(previews, "SECONDS", 0.05)
    remarks = [(await asked_about(tool(preview=one))).preview_remark for one in (broken, slow, nothing)]
    assert remarks[0].startswith("the preview failed: KeyError")
    assert "was given up" in remarks[1]
    assert remarks[2] == "the preview has no text"


async def test_G1_a_long_preview_is_cut_at_a_line_and_that_is_said() -> None:
    async def long(arguments: Arguments) -> RichOutput:
        return RichOutput(data={"text/plain": "line\n" * 100_000})

    asked = await asked_about(tool(preview=long))
    assert asked.preview is not None
    assert len(asked.preview.data["text/plain"]) <= 60_000
    assert "only its first 60,000 characters" in asked.preview_remark


async def test_G1_a_turn_that_is_stopped_while_a_preview_is_made_ends() -> None:
    begun = asyncio.Event()

    async def slow(arguments: Arguments) -> None:
        begun.set()
        await asyncio.Event().wait()

    session = make(FakeModel(answer(*call()), "Done."), tool(preview=slow), approve="ask")
    async with asyncio.timeout(10):
        turn = asyncio.create_task(session.run("go"))
        await begun.wait()
        session.interrupt(turn=True)
        await turn
    assert calls(session)[0].state == "refused"


async def test_G2_the_origin_of_a_tool_is_in_the_block_and_in_the_audit_records() -> None:
    session = make(FakeModel(answer(*call()), "Done."), tool(origin="MCP server time"), approve="ask")
    fold, records = AuditFold(Surroundings(cwd="/", sandbox="none"), str), list[AnyRecord | None]()

    def write(event: AnyEvent) -> None:
        records.append(fold.take(event, 0.0))
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="run"))

    session._runs._seal = seal_telling(lambda started, block: records.append(fold.begin(started, block, 0.0)))
    session.emitter.observers = (write,)
    async with asyncio.timeout(10):
        await session.run("go")
    (made,) = [one for one in records if isinstance(one, DecisionWasMade)]
    (began,) = [one for one in records if isinstance(one, RunBegan)]
    assert (made.origin, began.origin) == ("MCP server time", "MCP server time")
    (block,) = calls(session)
    assert block.origin == "MCP server time"
    again = Transcript()
    for event in events_of_blocks([block]):
        again.apply(event)
    assert narrow(again.blocks[-1], CallBlock).origin == "MCP server time"


async def test_G3_a_call_ends_at_the_time_limit_of_its_tool() -> None:
    async def forever(arguments: Arguments, output: ToolOutput) -> None:
        await asyncio.Event().wait()

    session = make(FakeModel(answer(*call()), "Done."), tool(forever, time_limit=0.05))
    events = await play(session, session.run("go"))
    (ended,) = [event for event in events if isinstance(event, ExecutionFinished)]
    assert ended.status == "interrupted"
    assert ended.ending is not None
    assert ended.ending.cause == "limit"


def asked(source: str, preview: bool = False) -> DecisionRequested:
    shown = RichOutput(data={"text/plain": "It rings."}) if preview else None
    return DecisionRequested(request_id="r", block_id="b", tool="t", source=source, sha256="", preview=shown)


def test_G4_arguments_are_labelled_fields_and_what_could_be_mistaken_is_written_as_json() -> None:
    source = '{"path": "a b.txt", "count": 3, "size": "3", "empty": "", "deep": {"x": [1]}, "text": "one\\ntwo"}'
    text, _ = call_text(asked(source), source, full=False)
    assert text.split("\n") == [
        "path   a b.txt",
        "count  3",
        'size   "3"',
        'empty  ""',
        'deep   {"x": [1]}',
        "text   2 lines, 7 characters:",
        "    one",
        "    two",
    ]
    assert call_text(asked("{}"), "{}", full=False)[0] == "no arguments"
    assert call_text(asked("[1"), "[1", full=False) == ("[1", "json")


def test_G4_a_long_argument_is_folded_only_where_a_preview_shows_what_the_call_does() -> None:
    source = '{"text": "' + "line\\n" * 50 + '"}'
    assert call_text(asked(source), source, full=False)[0].count("line") == 51
    folded, _ = call_text(asked(source, preview=True), source, full=False)
    assert folded.count("    line") == 4
    assert "more characters, all of it in full screen" in folded
    whole, _ = call_text(asked(source, preview=True), source, full=True)
    assert whole.count("    line") == 50
    assert whole.endswith("It rings.")


def test_calls_that_write_keep_their_order() -> None:
    assert not Capabilities().side_by_side
    assert Capabilities(writes=False).side_by_side


# -- edited in the question -----------------------------------------------------------------------------


async def edit_call(
    bench: FileBench, tool_name: str, edits: Sequence[dict[str, str]], policy: Policy | None = None, **arguments: str
) -> tuple[list[DecisionRequested], CallBlock, FakeModel]:
    """A call of a file tool, edited in the question so many times and then let run."""
    model = FakeModel(answer(*call(json.dumps(arguments), name=tool_name)), "Done.")
    session = make(model, bench.tools[tool_name], approve="ask", policy=policy)
    bench.blocks = session.transcript.blocks  # type: ignore[assignment] # it only looks at them
    asked: list[DecisionRequested] = []

    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            asked.append(event)
            if len(asked) <= len(edits):
                source = json.dumps({**arguments, **edits[len(asked) - 1]})
                assert session.decide(Revise(request_id=event.request_id, source=source))
                assert not session.decide(Decide(request_id=event.request_id, verdict="run")), "it was answered"
            else:
                assert session.decide(Decide(request_id=event.request_id, verdict="run", source=event.source))

    await play(session, session.run("go"), react)
    return asked, calls(session)[0], model


async def test_F20_what_was_edited_is_shown_anew_and_written_as_shown_and_the_model_reads_of_it(tmp_path: Path) -> None:
    bench = FileBench(tmp_path)
    edits = [{"content": "two\n"}, {"content": "three\n"}]
    asked, block, model = await edit_call(bench, "write_file", edits, path="a.py", content="one\n")
    assert [one.edited for one in asked] == [False, True, True]
    assert [one.editable for one in asked] == [EditableText(argument="content", language="python")] * 3
    previews = [str(one.preview.data["text/x-diff"]) for one in asked if one.preview is not None]
    assert ["+one" in previews[0], "+two" in previews[1], "+three" in previews[2]] == [True] * 3
    assert (tmp_path / "a.py").read_text() == "three\n"
    assert (block.state, block.is_edited, json.loads(block.source)["content"]) == ("ok", True, "three\n")
    told = model.requests[1].messages[-1].text
    assert "The user edited it before it ran." in told
    assert "three" in told


async def test_F20_an_edit_that_cannot_work_is_said_and_may_be_edited_again(tmp_path: Path) -> None:
    bench = FileBench(tmp_path)
    (tmp_path / "a.txt").write_text("x = 1\n")
    edits = [{"old": "nowhere", "new": "x = 2"}, {"old": "x = 1", "new": "x = 3"}]
    asked, block, _ = await edit_call(bench, "edit_file", edits, path="a.txt", old="x = 1", new="x = 2")
    assert asked[1].preview_remark.startswith("it cannot work: a.txt: `old` is not in the file")
    assert asked[1].preview is None
    assert asked[2].editable == EditableText(argument="new")
    assert (tmp_path / "a.txt").read_text() == "x = 3\n"
    assert block.state == "ok"


@pytest.mark.parametrize("revises", [True, False])
async def test_G23_always_after_an_edit_is_about_what_ran_not_about_what_was_proposed(revises: bool) -> None:
    proposed, edited, other = (json.dumps({"text": text}) for text in ("proposed", "edited", "other"))
    answers = [answer(*call(source)) for source in (proposed, edited, proposed, other)]
    session = make(FakeModel(*answers, "Done."), approve="ask")
    asked: list[str] = []

    def react(event: AnyEvent) -> None:
        if not isinstance(event, DecisionRequested):
            return
        asked.append(event.source)
        if revises and len(asked) == 1:
            session.decide(Revise(request_id=event.request_id, source=edited))
        elif len(asked) == 1 + revises:
            session.decide(Decide(request_id=event.request_id, verdict="always", source=edited))
        else:
            session.decide(Decide(request_id=event.request_id, verdict="run"))

    await play(session, session.run("go"), react)
    ran = [json.loads(block.source)["text"] for block in calls(session)]
    assert ran == ["edited", "edited", "proposed", "other"]
    assert [json.loads(source)["text"] for source in asked] == [
        "proposed",
        *(["edited"] if revises else []),
        "proposed",
        "other",
    ]


async def test_F20_an_edit_that_a_rule_denies_is_refused_and_code_is_never_asked_about_anew(tmp_path: Path) -> None:
    bench = FileBench(tmp_path)
    policy = Policy(rules=(short_form("Edit(**/secret.txt)", "deny"),), base=bench.policy.base)
    asked, block, _ = await edit_call(bench, "write_file", [{"path": "secret.txt"}], policy, path="a.txt", content="x")
    assert len(asked) == 1
    assert (block.state, list(tmp_path.iterdir())) == ("refused", [])
    question = OpenQuestion(asyncio.Lock())
    request = DecisionRequested(request_id="d", block_id="c", language="python", source="1", sha256="")
    waiting = asyncio.ensure_future(question.ask(request, lambda event: None))
    await asyncio.sleep(0)
    assert not question.answer(Revise(request_id="d", source="2"))
    question.withdraw()
    assert narrow(await waiting, Decide).verdict == "stop"
