"""Sessions of programs: `oi_tui.app.api`, with real kernels, a scripted model, and nothing of the person's settings."""

import asyncio
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, assert_type

import msgspec
import psutil
import pytest
from pydantic import BaseModel, field_validator

from oi_tui.app.api import (
    ApprovalRequest,
    Capabilities,
    FunctionsSection,
    ModelSection,
    ProgramSession,
    RunLimits,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepDecided,
    StepRan,
    Tool,
    ToolOutput,
    dependencies,
    open_session,
)
from oi_tui.app.engine.core.chat_model import AnswerEnded, AnswerUsage, TextDelta
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.testing import FakeModel
from support.openai_server import OpenAIServer
from support.programs import oi_tui

CODE = "I'll add.\n\n```python\na = 40\nprint(a + 2)\n```\n"


class Total(msgspec.Struct):
    sum: int
    of: list[str] = []


@dataclass
class Books:
    """What tools of these tests are handed."""

    titles: tuple[str, ...]


async def count(arguments: dict[str, Any], output: ToolOutput) -> str:
    return str(len(dependencies(Books).titles))


def shelve(title: str, times: int = 1) -> str:
    """Put a book on the shelf."""
    return f"{times} x {title}, with {len(dependencies(Books).titles)}"


COUNT = Tool(
    name="count",
    description="How many books there are.",
    schema={"type": "object", "properties": {}},
    run=count,
    capabilities=Capabilities(writes=False, destroys=False, network=False),
)


def kernels_alive() -> set[int]:
    return {
        child.pid for child in psutil.Process().children(recursive=True) if "ipykernel" in " ".join(child.cmdline())
    }


@pytest.mark.kernel
def test_J1_a_run_from_sync_code_has_text_messages_usage_and_steps_and_leaves_no_kernel(tmp_path: Path) -> None:
    before = kernels_alive()
    with open_session(
        model=FakeModel(CODE, "It is 42.", "```python\nprint(a)\n```", "Forty."),
        cwd=tmp_path,
        sandbox="danger-full-access",
        approval="auto",
    ) as session:
        assert_type(session, ProgramSession[str])
        result = session.run_sync("add")
        assert result.output == "It is 42."
        assert [message.role for message in result.messages] == ["user", "assistant", "user", "assistant"]
        assert result.usage.input_tokens == 200
        asked, decided, ran, again, answered = result.steps
        assert (asked, again, answered) == (StepAsked(1), StepAsked(2), StepAnswered("It is 42."))
        assert isinstance(decided, StepDecided)
        assert decided.verdict == "run"
        assert isinstance(ran, StepRan)
        assert (ran.runs_in, ran.status, ran.output) == ("python", "ok", "42")
        (_, _, kept, *_) = session.run_sync("again").steps
        assert isinstance(kept, StepRan)
        assert kept.output == "40", "the next prompt has the variables of the code before"
        assert kernels_alive() != before
    assert kernels_alive() == before
    with pytest.raises(RuntimeError, match="closed"):
        session.run_sync("more")


@pytest.mark.kernel
async def test_J2_it_works_in_a_running_loop_with_and_without_await(tmp_path: Path) -> None:
    """As in a notebook, whose loop runs while a cell does."""
    model = FakeModel(CODE, "It is 42.")
    async with open_session(model=model, cwd=tmp_path, sandbox="danger-full-access", approval="auto") as session:
        assert (await session.run("add")).output == "It is 42."
        with pytest.raises(RuntimeError, match="await"):
            session.run_sync("add")
    with open_session(model=FakeModel("Hello."), cwd=tmp_path) as beside:
        assert beside.run_sync("hi").output == "Hello."
        assert (await beside.run("hi")).output == "Hello."
    assert not [thread for thread in threading.enumerate() if thread.name == "oi-tui session"]


async def test_J3_what_would_be_asked_about_is_refused_without_a_callback(tmp_path: Path) -> None:
    async with open_session(model=FakeModel(CODE, "no"), cwd=tmp_path, sandbox="danger-full-access") as session:
        with pytest.raises(RunStopped) as stopped:
            await session.run("add")
    assert stopped.value.reason == "refused"
    assert not [step for step in stopped.value.steps if isinstance(step, StepRan)]


@pytest.mark.kernel
async def test_J3_a_callback_decides_on_exactly_what_runs_and_its_error_reaches_the_program(tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []

    async def decide(request: ApprovalRequest) -> bool | str:
        asked.append(request)
        return "Use another number." if "40" in request.source else True

    model = FakeModel(CODE, CODE.replace("40", "41"), "It is 43.")
    async with open_session(model=model, cwd=tmp_path, sandbox="danger-full-access", approve=decide) as session:
        assert (await session.run("add")).output == "It is 43."
    assert [request.source for request in asked] == ["a = 40\nprint(a + 2)", "a = 41\nprint(a + 2)"]
    assert "Use another number." in str(model.requests[1].messages)

    def fail(request: ApprovalRequest) -> bool:
        raise LookupError("the program's own")

    async with open_session(model=FakeModel(CODE), cwd=tmp_path, sandbox="danger-full-access", approve=fail) as session:
        with pytest.raises(LookupError):
            await session.run("add")


@pytest.mark.parametrize("raised", [StopIteration(), SystemExit(3), asyncio.CancelledError(), KeyboardInterrupt()])
@pytest.mark.parametrize("is_async", [False, True])
def test_J3_whatever_a_callback_raises_reaches_the_program_and_the_session_lives_on(
    tmp_path: Path, raised: BaseException, is_async: bool
) -> None:
    def fail(request: ApprovalRequest) -> bool:
        raise raised

    async def fail_later(request: ApprovalRequest) -> bool:
        raise raised

    model, approve = FakeModel(CODE, "Hello."), fail_later if is_async else fail
    with open_session(
        model=model, cwd=tmp_path, sandbox="danger-full-access", approve=approve, limits=RunLimits(seconds=20)
    ) as session:
        with pytest.raises(RuntimeError):
            session.run_sync("add")
        assert session.run_sync("hi").output == "Hello."


def test_J3_a_callback_that_blocks_ends_with_its_run_and_says_nothing_to_the_next(tmp_path: Path) -> None:
    begun, end, ended = threading.Event(), threading.Event(), threading.Event()

    def block(request: ApprovalRequest) -> bool:
        begun.set()
        try:
            end.wait(20)
            raise LookupError("too late")
        finally:
            ended.set()

    model = FakeModel(CODE, "Hello.")
    with open_session(
        model=model, cwd=tmp_path, sandbox="danger-full-access", approve=block, limits=RunLimits(seconds=0.5)
    ) as session:
        with pytest.raises(RunStopped) as stopped:
            session.run_sync("add")
        assert (stopped.value.reason, begun.is_set(), ended.is_set()) == ("time", True, False)
        end.set()
        assert ended.wait(10)
        assert session.run_sync("hi").output == "Hello."


@pytest.mark.kernel
def test_J7_an_answer_that_is_no_line_is_an_error_and_none_interrupts_the_code(tmp_path: Path) -> None:
    answers: list[Any] = [None, 5]
    model = FakeModel("```python\ninput('Well? ')\n```", "No.", "```python\ninput('Well? ')\n```")
    with open_session(
        model=model,
        cwd=tmp_path,
        sandbox="danger-full-access",
        approval="auto",
        answer_input=lambda question: answers.pop(0),
        limits=RunLimits(seconds=30),
    ) as session:
        steps = session.run_sync("ask").steps
        assert [step.status for step in steps if isinstance(step, StepRan)] == ["interrupted"]
        with pytest.raises(TypeError, match="int"):
            session.run_sync("again")


def test_J4_answers_are_values_of_the_type_and_types_are_known_to_the_checker(tmp_path: Path) -> None:
    with open_session(model=FakeModel('{"sum": "1.2k", "of": "a"}'), output_type=Total, cwd=tmp_path) as session:
        assert_type(session, ProgramSession[Total])
        result = session.run_sync("add")
        assert_type(result.output, Total)
        assert result.output == Total(sum=1200, of=["a"])
    schema: Mapping[str, Any] = {"type": "array", "items": {"type": "integer"}}
    with open_session(model=FakeModel("[1, 2]"), output_type=schema, cwd=tmp_path) as listing:
        assert listing.run_sync("list").output == [1, 2]


def test_J4_validators_of_a_model_send_the_answer_back_and_the_tries_are_bounded(tmp_path: Path) -> None:
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def even(cls, number: int) -> int:
            if number % 2:
                raise ValueError("it is odd")
            return number

    model = FakeModel('{"number": 3}', '{"number": 4}')
    with open_session(model=model, output_type=Even, cwd=tmp_path) as session:
        assert session.run_sync("a number").output == Even(number=4)
    assert "it is odd" in model.requests[1].messages[-1].text
    limits = RunLimits(answer_tries=1)
    with (
        open_session(model=FakeModel('{"number": 3}'), output_type=Even, cwd=tmp_path, limits=limits) as session,
        pytest.raises(RunStopped) as stopped,
    ):
        session.run_sync("a number")
    assert (stopped.value.reason, stopped.value.last_answer) == ("unfit", '{"number": 3}')


def test_J4_a_type_without_a_schema_is_refused_at_once() -> None:
    with pytest.raises(SettingsError):
        open_session(model="fake/none", output_type=threading.Thread)


@pytest.mark.kernel
async def test_J5_steps_come_one_at_a_time_and_the_model_waits_for_whoever_follows(tmp_path: Path) -> None:
    model = FakeModel(CODE, "It is 42.")
    async with open_session(model=model, cwd=tmp_path, sandbox="danger-full-access", approval="auto") as session:
        steps = session.iter("add")
        seen: list[tuple[str, int]] = []
        async for step in steps:
            seen.append((type(step).__name__, len(model.requests)))
            for _ in range(20):
                await asyncio.sleep(0)  # whatever could go on by itself does
            if isinstance(step, StepRan):
                assert len(model.requests) == 1
        assert (await steps.result()).output == "It is 42."
    assert [name for name, _ in seen] == ["StepAsked", "StepDecided", "StepRan", "StepAsked", "StepAnswered"]


async def test_J5_a_stream_gives_what_the_model_says_as_it_comes_and_leaving_it_stops_the_run(tmp_path: Path) -> None:
    async with open_session(model=FakeModel("Hello there."), cwd=tmp_path) as session:
        stream = session.run_stream("hi")
        said = [piece async for piece in stream if isinstance(piece, str)]
        assert "".join(said) == "Hello there."
        assert len(said) > 1
        assert (await stream.result()).output == "Hello there."
    never = asyncio.Event()
    model = FakeModel([TextDelta(text="Well"), never, AnswerEnded()], "Hello.")
    async with open_session(model=model, cwd=tmp_path) as session:
        async with session.run_stream("hi") as left:
            async for piece in left:
                if piece == "Well":
                    break
        assert model.closed == 1
        assert (await session.run("hi")).output == "Hello."


@pytest.mark.kernel
async def test_J6_a_run_pauses_after_its_step_goes_on_and_stops_at_its_time_limit(tmp_path: Path) -> None:
    def pause(request: ApprovalRequest) -> bool:
        session.pause()
        return True

    model = FakeModel(CODE, "It is 42.")
    session = open_session(model=model, cwd=tmp_path, sandbox="danger-full-access", approve=pause)
    async with session:
        with pytest.raises(RunStopped) as paused:
            await session.run("add")
        assert (paused.value.reason, len(model.requests)) == ("paused", 1)
        assert (await session.go_on()).output == "It is 42."
    slow = FakeModel([TextDelta(text="x"), asyncio.Event()])
    async with open_session(model=slow, cwd=tmp_path, limits=RunLimits(seconds=0.1)) as limited:
        with pytest.raises(RunStopped) as late:
            await limited.run("add")
    assert late.value.reason == "time"


async def test_J6_the_budget_and_cancellation_end_a_run_and_the_session_lives_on(tmp_path: Path) -> None:
    dear = FakeModel([TextDelta(text="ok"), AnswerUsage(input_tokens=1, output_tokens=1, cost=2.0), AnswerEnded()])
    async with open_session(model=dear, cwd=tmp_path, limits=RunLimits(max_cost=1.0)) as session:
        assert (await session.run("one")).usage.cost == 2.0
        with pytest.raises(RunStopped) as spent:
            await session.run("two")
        assert spent.value.reason == "budget"
    model = FakeModel([TextDelta(text="x"), asyncio.Event()], "Hello.")
    async with open_session(model=model, cwd=tmp_path) as session:
        task = asyncio.create_task(session.run("hi"))
        await model.wait_for_requests(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await session.run("hi")).output == "Hello."


async def test_J7_tools_are_called_under_the_same_policy_and_get_the_dependencies(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"calls": [{"tool": "count"}]}, "Three."]))
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    async with open_session(
        model=f"fake/{script}", tools=[COUNT], dependencies=Books(("a", "b", "c")), cwd=tmp_path, approve=approve
    ) as session:
        result = await session.run("how many?")
    assert [(request.runs_in, request.is_call) for request in asked] == [("count", True)]
    assert [step.output for step in result.steps if isinstance(step, StepRan)] == ["3"]
    with pytest.raises(TypeError):
        dependencies(Books)


async def test_J7_a_function_is_a_tool_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    call = {"tool": "shelve", "arguments": {"title": "Emma", "times": 2}}
    script.write_text(json.dumps([{"calls": [call]}, "Done."]))
    async with open_session(
        model=f"fake/{script}", tools=[shelve], dependencies=Books(("a",)), cwd=tmp_path, approve=lambda request: True
    ) as session:
        result = await session.run("shelve it")
    assert [step.output for step in result.steps if isinstance(step, StepRan)] == ["2 x Emma, with 1"]


@pytest.mark.kernel
async def test_J8_a_session_is_kept_and_audited_where_that_is_asked_for(tmp_path: Path) -> None:
    model, file, audit = FakeModel(CODE, "It is 42."), tmp_path / "sessions.db", tmp_path / "audit"
    async with open_session(
        model=model, cwd=tmp_path, sandbox="danger-full-access", approval="auto", store=file, audit=audit
    ) as session:
        await session.run("add")
    store = Store(file)
    (record,) = store.sessions()
    assert any("TurnEnded" in type(event).__name__ for event in store.load(record.id))
    store.close()
    assert any(path.stat().st_size for path in audit.iterdir())


@pytest.mark.sandbox
@pytest.mark.kernel
def test_J8_code_runs_in_the_sandbox_unless_something_else_was_said(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    work = tmp_path / "work"
    work.mkdir()
    code = f"```python\nopen({str(beside / 'x')!r}, 'w')\n```"
    with open_session(model=FakeModel(code, "Done."), cwd=work, approve=lambda request: True) as session:
        ran = [step for step in session.run_sync("go").steps if isinstance(step, StepRan)]
    assert [step.status for step in ran] == ["error"]
    assert list(beside.iterdir()) == []


def test_J9_no_settings_and_no_keys_of_the_environment_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    (config / "oi-tui").mkdir(parents=True)
    (config / "oi-tui" / "config.toml").write_text("this is no settings file [")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-environment")
    with open_session(model=FakeModel("Hello."), cwd=tmp_path) as session:
        assert session.run_sync("hi").output == "Hello."
    with open_session(model="gpt-5", cwd=tmp_path) as session, pytest.raises(RunStopped) as stopped:
        session.run_sync("hi")
    assert stopped.value.reason == "model_error"
    assert "key" in str(stopped.value)


def write_for_all(monkeypatch: pytest.MonkeyPatch, folder: Path, **files: str) -> None:
    """The administrator's files, which are root's."""
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: an administrator's settings, which only root can write")
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
        (folder / f"{name}.toml").chmod(0o644)
    for module in ("files.settings_file", "files.paths", "trust.rule_files"):
        monkeypatch.setattr(f"oi_tui.app.engine.{module}.admin_dir", lambda: folder)


@pytest.mark.kernel
@pytest.mark.sandbox
async def test_J11_the_administrators_limits_and_rules_hold_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = "[sandbox]\nmode = 'read-only'\n[loop]\nmax_steps = 2\n[functions]\ndeny = ['os\\.system']\n"
    write_for_all(monkeypatch, tmp_path / "etc", config=limits, permissions="deny = ['Python(shutil.rmtree)']\n")
    beside = tmp_path / "work"
    beside.mkdir()
    writes, removes, starts = (
        f"```python\n{code}\n```"
        for code in ("open('x', 'w')", "import shutil; shutil.rmtree('gone')", "import os; os.system('true')")
    )
    model = FakeModel(writes, writes, removes, starts)
    given: dict[str, Any] = {"cwd": beside, "approve": lambda request: True, "sandbox": "danger-full-access"}
    async with open_session(model=model, limits=RunLimits(max_steps=9), **given) as session:
        with pytest.raises(RunStopped) as stopped:
            await session.run("write")
        assert stopped.value.reason == "step_cap", "two steps"
        ran = [step for step in stopped.value.steps if isinstance(step, StepRan)]
        assert {step.status for step in ran} == {"error"}
        with pytest.raises(RunStopped) as denied:
            await session.run("remove, then start")
    assert not [step for step in denied.value.steps if isinstance(step, StepRan)]
    assert [step.verdict for step in denied.value.steps if isinstance(step, StepDecided)] == ["skip", "skip"]
    assert "os" in str(model.requests[0].messages[0].text)
    assert list(beside.iterdir()) == []


def test_J11_a_session_is_not_opened_on_an_administrators_file_that_is_no_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for files in ({"config": "[sandbox]\nmod = 1\n"}, {"config": "", "permissions": "deny = 3\n"}):
        write_for_all(monkeypatch, tmp_path / "etc", **files)
        with pytest.raises(SettingsError, match="etc"):
            open_session(model=FakeModel("Hello."), cwd=tmp_path)


@pytest.mark.kernel
async def test_J11_functions_are_limited_for_code_and_calls(tmp_path: Path) -> None:
    model = FakeModel("```python\nimport os\nos.system('touch x')\n```", "```python\nprint(max(1, 2))\n```", "Two.")
    lists = FunctionsSection(deny=(r"os\.system",))
    async with open_session(
        model=model, cwd=tmp_path, sandbox="danger-full-access", functions=lists, approval="auto"
    ) as session:
        result = await session.run("go")
    assert [step.output for step in result.steps if isinstance(step, StepRan)] == ["2"]
    assert not (tmp_path / "x").exists()
    with pytest.raises(SettingsError):
        open_session(model=model, cwd=tmp_path, functions=FunctionsSection(deny=("(",)))


REMOVES = "```python\nimport shutil\nshutil.rmtree('gone')\n```"


@pytest.mark.kernel
async def test_J3_no_ends_the_run_and_auto_runs_what_destroys_nothing(tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []

    def refuse(request: ApprovalRequest) -> bool:
        asked.append(request)
        return False

    model = FakeModel(CODE, REMOVES, "Gone.")
    async with open_session(
        model=model, cwd=tmp_path, sandbox="danger-full-access", approval="auto", approve=refuse
    ) as session:
        with pytest.raises(RunStopped) as stopped:
            await session.run("add, then remove")
    assert (stopped.value.reason, len(model.requests)) == ("refused", 2)
    (request,) = asked
    assert "shutil.rmtree" in request.source
    assert any("delete" in label for label in request.labels)
    assert request.why
    assert [step.output for step in stopped.value.steps if isinstance(step, StepRan)] == ["42"]


class Row(TypedDict):
    n: int


def test_J4_a_typed_dictionary_is_a_type_of_answers(tmp_path: Path) -> None:
    with open_session(model=FakeModel('{"n": "7"}'), output_type=Row, cwd=tmp_path) as session:
        assert session.run_sync("seven").output == {"n": 7}


async def test_J6_one_run_at_a_time_and_a_run_is_stopped_from_any_thread(tmp_path: Path) -> None:
    model = FakeModel([TextDelta(text="Well"), asyncio.Event(), AnswerEnded()], "Hello.")
    async with open_session(model=model, cwd=tmp_path) as session:
        running = asyncio.ensure_future(session.run("hi"))
        await model.wait_for_requests(1)
        with pytest.raises(RuntimeError, match="one run"):
            await session.run("and this")
        await asyncio.to_thread(session.stop)
        with pytest.raises(RunStopped) as stopped:
            await running
        assert stopped.value.reason == "interrupted"
        assert (await session.run("hi")).output == "Hello."


def test_J9_keys_and_addresses_are_found_where_the_program_says(tmp_path: Path, openai_server: OpenAIServer) -> None:
    environ = {"GROQ_API_KEY": "sk-given-by-the-program", "GROQ_API_BASE": openai_server.url}
    openai_server.script("Hello.")
    with open_session(
        model="groq/scripted",
        environ=environ,
        cwd=tmp_path,
        model_settings=ModelSection(temperature=0.25),
        instructions="Say {{cwd}} as it is.",
    ) as session:
        assert session.run_sync("hi").output == "Hello."
    (exchange,) = openai_server.exchanges
    assert exchange.headers["authorization"] == "Bearer sk-given-by-the-program"
    assert exchange.body["temperature"] == 0.25
    assert "Say {{cwd}} as it is." in exchange.body["messages"][0]["content"], "what a program says is no template"


@pytest.mark.kernel
async def test_J7_running_code_gets_lines_from_the_program_or_is_interrupted(tmp_path: Path) -> None:
    code = "```python\nprint(input('How many? '))\n```"
    asked: list[str] = []

    async def answer(question: str) -> str:
        asked.append(question)
        return "seven"

    given: dict[str, Any] = {"cwd": tmp_path, "sandbox": "danger-full-access", "approval": "auto"}
    async with open_session(model=FakeModel(code, "Seven."), answer_input=answer, **given) as session:
        ran = [step for step in (await session.run("ask")).steps if isinstance(step, StepRan)]
    assert (asked, ran[0].status, ran[0].output.splitlines()[-1]) == (["How many? "], "ok", "seven")
    async with open_session(model=FakeModel(code, "Well."), **given) as session:
        ran = [step for step in (await session.run("ask")).steps if isinstance(step, StepRan)]
    assert ran[0].status != "ok"


@pytest.mark.kernel
def test_J8_the_program_lists_and_audits_what_a_session_of_a_program_did(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    data = Path(clean_env["XDG_DATA_HOME"]) / "oi-tui"
    audit = Path(clean_env["XDG_STATE_HOME"]) / "oi-tui" / "audit"
    data.mkdir(parents=True, mode=0o700)
    work = tmp_path / "work"
    work.mkdir()
    with open_session(
        model=FakeModel(CODE, "It is 42."),
        cwd=work,
        sandbox="danger-full-access",
        approval="auto",
        store=data / "sessions.db",
        audit=audit,
    ) as session:
        session.run_sync("add 40 and 2")
    listed = oi_tui(clean_env, "sessions", "--json", cwd=work)
    (one,) = json.loads(listed.stdout)
    assert (one["turns"], one["cwd"]) == (1, str(work)), one
    told = oi_tui(clean_env, "audit", "show", cwd=work)
    assert (told.returncode, "characters of output" in told.stdout.decode()) == (0, True), told.stdout + told.stderr
