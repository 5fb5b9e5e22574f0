"""Hooks that decide: stricter or without effect, and an objection where they fail."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, TextDelta, ToolSpec
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.events import DecisionMade, DecisionRequested, TurnEnded
from oi_tui.app.engine.core.programs import LanguageProgram
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode, PermissionMode
from oi_tui.app.engine.core.verbs import Decide, Open
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.specs import EngineHooks, hookimpl
from oi_tui.app.engine.hooks.values import Judgement, Refuse
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.programs import ProgramKernel
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.policy.rule_text import parse_short
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.filtered_model import FilteredModel
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from support.front import engine
from support.turns import end_of, play

CODE = "```python\n1+1\n```"
SECRET = "hunter2hunter2"


def fail() -> None:
    raise RuntimeError("no")


def hooks_of(*plugins: dict[str, Callable[..., object]]) -> Hooks:
    """Plugins `p0`, `p1`, ... with these functions as hooks."""
    named = [
        (f"p{number}", SimpleNamespace(**{name: hookimpl(function) for name, function in functions.items()}))
        for number, functions in enumerate(plugins)
    ]
    return Hooks(EngineHooks, named)


def asks(reason: str = "look at it") -> dict[str, Callable[..., object]]:
    return {"judge_action": lambda: Judgement(verdict="ask", reason=reason)}


def denies(reason: str = "not here") -> dict[str, Callable[..., object]]:
    return {"judge_action": lambda: Judgement(verdict="deny", reason=reason)}


async def judged(
    hooks: Hooks, approve: ApprovalMode = "auto", mode: PermissionMode = "bypassPermissions", *, says: str = "run"
) -> tuple[list[str], list[DecisionMade], list[str], FakeModel]:
    """What ran, the decisions, the reasons of the questions, and the model; whoever is asked says `says`."""
    kernel, model, asked = FakeKernel(), FakeModel(CODE, "Done."), list[str]()
    session = Session(
        kernels=FakeKernels(python=kernel),
        settings=LoopSection(approve=approve),
        model=model,
        hooks=hooks,
        policy=Policy(mode=mode),
    )

    def react(event: Any) -> None:
        if isinstance(event, DecisionRequested):
            asked.append(event.why)
            session.decide(Decide(request_id=event.request_id, verdict=says, source=event.source))  # type: ignore[arg-type] # of a test

    events = await play(session, session.run("go"), react)
    return kernel.ran, [event for event in events if isinstance(event, DecisionMade)], asked, model


async def test_x3_a_policy_of_a_plugin_has_code_asked_about_that_the_mode_would_run() -> None:
    ran, _, asked, _ = await judged(hooks_of(asks()))
    assert (ran, asked) == (["1+1"], ["asked because of the plugin p0: look at it"])


async def test_x3_a_policy_of_a_plugin_denies_and_the_model_reads_why() -> None:
    ran, decisions, asked, model = await judged(hooks_of(asks(), denies()))
    assert (ran, asked) == ([], [])
    assert decisions[0].reason == "denied by the plugin p1: not here"
    assert "denied by the plugin p1: not here" in model.requests[1].messages[-1].text


@pytest.mark.parametrize("hooks", [asks(), denies(), {"judge_action": lambda: None}])
async def test_x3_nothing_that_a_policy_says_runs_code_where_nothing_runs(hooks: dict[str, Any]) -> None:
    ran, decisions, _, _ = await judged(hooks_of(hooks), "never")
    assert (ran, decisions[0].verdict) == ([], "stop")


@pytest.mark.parametrize("says", ["allow", True, "run", SimpleNamespace(verdict="allow", reason="")])
async def test_x3_no_policy_of_a_plugin_can_allow_and_what_is_none_counts_as_an_objection(says: object) -> None:
    ran, _, asked, _ = await judged(hooks_of({"judge_action": lambda: says}))
    assert (ran, asked) == (["1+1"], ["asked because of the plugin p0, which failed to judge it"])
    _, _, asked, _ = await judged(hooks_of({"judge_action": lambda: says}), "ask", says="skip")
    assert len(asked) == 1


async def test_x3_a_policy_that_fails_has_code_asked_about() -> None:
    ran, _, asked, _ = await judged(hooks_of({"judge_action": fail}))
    assert (ran, asked) == (["1+1"], ["asked because of the plugin p0, which failed to judge it"])


async def test_x3_where_nobody_is_asked_to_ask_is_to_deny() -> None:
    ran, decisions, asked, _ = await judged(hooks_of(asks()), mode="dontAsk")
    assert (ran, asked, decisions[0].verdict) == ([], [], "skip")


async def test_x3_what_a_policy_says_of_an_edited_source_holds_too() -> None:
    hooks = hooks_of(
        {"judge_action": lambda block: Judgement(verdict="deny", reason="bad") if "rm" in block.source else None}
    )
    kernel = FakeKernel()
    session = Session(
        kernels=FakeKernels(python=kernel), settings=LoopSection(approve="ask"), model=FakeModel(CODE, "x"), hooks=hooks
    )

    def react(event: Any) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="edit", source="rm()"))

    events = await play(session, session.run("go"), react)
    assert kernel.ran == []
    assert [event.reason for event in events if isinstance(event, DecisionMade)] == ["denied by the plugin p0: bad"]


async def notices_of(hooks: Hooks, *answers: Any, prompt: str = "go") -> tuple[list[str], FakeModel, TurnEnded]:
    model = FakeModel(*answers)
    session = Session(
        kernels=FakeKernels(python=FakeKernel()), settings=LoopSection(approve="auto"), model=model, hooks=hooks
    )
    events = await play(session, session.run(prompt))
    told = [block.title for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
    return told, model, end_of(events)


async def test_x3_a_prompt_that_a_plugin_objects_to_is_not_sent_now_nor_later() -> None:
    hooks = hooks_of({"check_prompt": lambda text: "it names a client\x1b[2J" if "Acme" in text else None})
    model = FakeModel("Hello.")
    session = Session(kernels=FakeKernels(python=FakeKernel()), settings=LoopSection(), model=model, hooks=hooks)
    events = await play(session, session.run("about Acme"))
    assert (model.requests, end_of(events).reason) == ([], "refused")
    told = [block.title for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
    assert told == ["The plugin p0 objects to the prompt: it names a client"]
    await play(session, session.run("hi"))
    assert "Acme" not in str(model.requests)


async def test_x3_a_check_of_prompts_that_fails_sends_nothing() -> None:
    told, model, end = await notices_of(hooks_of({"check_prompt": fail}), "Hello.")
    assert (model.requests, end.reason) == ([], "refused")
    assert "The plugin p0 failed while it looked at the prompt." in told


async def test_x3_an_answer_goes_back_to_the_model_twice_in_a_turn_at_most() -> None:
    hooks = hooks_of({"check_answer": lambda text: "no sources" if "[1]" not in text else None})
    told, model, _ = await notices_of(hooks, "Plain.", "It is so. [1]")
    assert told == ["The plugin p0 sent the answer back: no sources"]
    assert "Your answer cannot stand: no sources. Answer again." in model.requests[1].messages[-1].text
    told, model, end = await notices_of(hooks, "Plain.")
    assert (len(model.requests), end.reason) == (3, "done")
    assert told[-1] == "The plugin p0 still objects to the answer, which stays as it is: no sources"


async def test_x3_what_plugins_tell_the_model_is_bounded_named_and_the_same_in_each_request() -> None:
    count = [0]

    def add(folder: str) -> str:
        count[0] += 1
        return f"Speak Latin. {count[0]} " + "x" * 5_000

    hooks = hooks_of({"add_instructions": add}, {"add_instructions": fail})
    told, model, _ = await notices_of(hooks, CODE, "Done.")
    systems = [request.messages[0].text for request in model.requests]
    assert systems[0] == systems[1]
    assert "Instructions of the plugin p0:\n\nSpeak Latin. 1 xxx" in systems[0]
    assert "x" * 4_001 not in systems[0]
    assert told == ["The plugin p1 failed in its hook add_instructions."]


# --- requests and answers


def filtered(hooks: Hooks, *answers: Any) -> tuple[FilteredModel, FakeModel]:
    model = FakeModel(*answers)
    return FilteredModel(model, hooks, Redactor({"TOKEN": SECRET}), lambda: "s"), model


async def ask(model: FilteredModel, request: ChatRequest) -> str:
    return "".join([delta.text async for delta in model.stream(request) if isinstance(delta, TextDelta)])


REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="hello"),))


async def test_x4_requests_are_changed_in_order_and_each_plugin_sees_what_the_one_before_made() -> None:
    def more(word: str) -> Callable[..., object]:
        def change(request: ChatRequest) -> ChatRequest:
            last = request.messages[-1]
            last = msgspec.structs.replace(last, text=f"{last.text} {word}")
            return msgspec.structs.replace(request, messages=(last,))

        return change

    first = SimpleNamespace(change_request=hookimpl(tryfirst=True)(more("first")))
    last = SimpleNamespace(change_request=hookimpl(trylast=True)(more("last")))
    middle = SimpleNamespace(change_request=hookimpl(more("middle")))
    model, inner = filtered(Hooks(EngineHooks, [("z", last), ("m", middle), ("a", first)]), "x")
    await ask(model, REQUEST)
    assert inner.requests[0].messages[0].text == "hello first middle last"


async def test_x4_a_changed_request_holds_no_secret_no_hidden_character_and_nothing_that_was_not_there() -> None:
    made = ChatRequest(
        messages=(ChatMessage(role="user", text=f"{SECRET} a\u200bb", images=("data:image/png;base64,AAAA",)),),
        tools=(ToolSpec(name="launch", description="", schema={}),),
    )
    model, inner = filtered(hooks_of({"change_request": lambda request: made}), "x")
    await ask(model, REQUEST)
    (sent,) = inner.requests
    assert SECRET not in sent.messages[0].text
    assert "\u200b" not in sent.messages[0].text
    assert (sent.messages[0].images, sent.tools) == ((), ())


@pytest.mark.parametrize("hook", ["change_request", "change_answer"])
@pytest.mark.parametrize("does", [fail, lambda: 5, lambda: Refuse("it is\x1b[2J Friday")])
async def test_x3_a_filter_that_fails_or_refuses_lets_nothing_through(hook: str, does: Callable[..., object]) -> None:
    model, inner = filtered(hooks_of({hook: does}), "The answer.")
    with pytest.raises(ModelError, match="The plugin p0") as raised:
        await ask(model, REQUEST)
    assert (raised.value.kind, "\x1b" in raised.value.title) == ("refused", False)
    assert len(inner.requests) == (0 if hook == "change_request" else 1)


async def test_x4_an_answer_is_changed_before_anything_is_made_of_it() -> None:
    hooks = hooks_of({"change_answer": lambda text: text.replace("1+1", "2+2")})
    kernel = FakeKernel()
    return_of = FakeModel(CODE, "Done.")
    session = Session(kernels=FakeKernels(python=kernel), settings=LoopSection(approve="auto"), hooks=hooks)
    session.choices.use_model(FilteredModel(return_of, hooks, Redactor({}), lambda: "s"))
    await play(session, session.run("go"))
    assert kernel.ran == ["2+2"]


async def test_x3_code_of_a_changed_answer_is_asked_about_as_it_is() -> None:
    hooks = hooks_of({"change_answer": lambda text: text.replace("1+1", "2+2")})
    kernel, asked = FakeKernel(), list[str]()
    session = Session(kernels=FakeKernels(python=kernel), settings=LoopSection(approve="ask"), hooks=hooks)
    session.choices.use_model(FilteredModel(FakeModel(CODE, "Done."), hooks, Redactor({}), lambda: "s"))

    def react(event: Any) -> None:
        if isinstance(event, DecisionRequested):
            asked.append(event.source)
            session.decide(Decide(request_id=event.request_id, verdict="skip"))

    await play(session, session.run("go"), react)
    assert (asked, kernel.ran) == (["2+2"], [])


def test_x3_a_language_of_a_plugin_is_held_by_the_sandbox_and_asked_about(tmp_path: Path) -> None:
    launch = Launch(cwd=tmp_path, environ={})
    kernel = ProgramKernel(launch, LanguageProgram(language="awk", argv=("awk", "-f", "{file}")))
    assert kernel.confinement == launch.confine("awk")
    request = PolicyRequest("awk", 'BEGIN { system("rm -rf /") }', confinement=kernel.confinement)
    assert decide(request, Policy(mode="auto"), "auto").verdict == "ask"
    assert decide(request, Policy(), "ask").verdict == "ask"
    rules = parse_short(("Kernel(awk)",), "deny", "test")
    assert decide(request, Policy(rules=rules), "auto").verdict == "deny"


async def test_x4_every_request_of_a_session_goes_through_the_filters(tmp_path: Path) -> None:
    seen: list[str] = []
    hooks = hooks_of({"change_request": lambda request: seen.append(request.messages[-1].text)})
    model = FakeModel("Hello.")
    async with engine(tmp_path, model, hooks=hooks, titles=True) as front:
        await front.client.send(Open())
        await front.turn("hi there, who are you?")
        await front.turn("and again")
    assert len(seen) == len(model.requests) >= 2


async def test_x3_a_refused_request_ends_the_turn_with_a_notice(tmp_path: Path) -> None:
    hooks = hooks_of({"change_request": lambda: Refuse("too late in the day")})
    async with engine(tmp_path, FakeModel("Hello."), hooks=hooks) as front:
        await front.client.send(Open())
        assert (await front.turn("hi")).reason == "model_error"
        told = [block.title for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
    assert told == ["The plugin p0 did not let this request go out: too late in the day"]
