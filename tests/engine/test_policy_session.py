"""The policy in the loop: the model is told what is denied, the rule is named that allows, a question has labels."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import AnyEvent, DecisionMade, DecisionRequested, ExecutionStarted, TurnEnded
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode, Confinement, PermissionMode, Reach
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import Effect, short_form
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from support.kinds import of
from support.turns import play

OK = [RunResult(status="ok")]


def bash(source: str) -> str:
    return f"I'll look.\n\n```bash\n{source}\n```\n"


def python(source: str) -> str:
    return f"I'll look.\n\n```python\n{source}\n```\n"


def make(
    model: FakeModel,
    *sources: str,
    approve: ApprovalMode = "ask",
    can_ask: bool = True,
    mode: PermissionMode = "bypassPermissions",
    **rules: tuple[str, ...],
) -> Session:
    verdicts: tuple[Effect, ...] = ("allow", "ask", "deny")
    policy = Policy(
        mode=mode, rules=tuple(short_form(text, verdict) for verdict in verdicts for text in rules.get(verdict, ()))
    )
    answers = dict.fromkeys(sources, OK)
    kernels = FakeKernels(shell=FakeKernel(answers), python=FakeKernel(answers))
    return Session(kernels=kernels, settings=LoopSection(approve=approve), model=model, can_ask=can_ask, policy=policy)


def answering(session: Session, verdict: Verdict, **more: Any) -> Callable[[AnyEvent], None]:
    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict=verdict, **more))

    return react


def told(model: FakeModel) -> str:
    return model.requests[-1].messages[-1].text


@pytest.mark.parametrize("approve", ["ask", "auto"])
async def test_L15_what_a_rule_denies_does_not_run_and_the_model_is_told_by_which_rule(approve: ApprovalMode) -> None:
    model = FakeModel(bash("ls; rm -rf x"), "I see.")
    session = make(model, approve=approve, deny=("Shell(rm *)",))
    events = await play(session, session.run("go"))
    assert not of(ExecutionStarted, events)
    assert not of(DecisionRequested, events)
    [made] = of(DecisionMade, events)
    assert (made.verdict, made.decider, made.reason) == ("skip", "rule", "denied by the rule Shell(rm *)")
    assert "[not run: denied by the rule Shell(rm *)]" in told(model)
    assert of(TurnEnded, events)[0].reason == "done"


async def test_what_a_rule_allows_runs_without_a_question_and_names_the_rule() -> None:
    session = make(FakeModel(bash("git log -3"), "Done."), "git log -3", allow=("Shell(git log *)",))
    events = await play(session, session.run("go"))
    assert not of(DecisionRequested, events)
    [made] = of(DecisionMade, events)
    assert (made.verdict, made.decider, made.reason) == ("run", "rule", "allowed by the rule Shell(git log *)")
    assert of(ExecutionStarted, events)


async def test_a_question_carries_the_labels_and_the_rule_that_asks() -> None:
    session = make(FakeModel(bash("ls\nrm x"), "Done."), "ls\nrm x", approve="auto", ask=("Shell(rm *)",))
    [asked] = of(DecisionRequested, await play(session, session.run("go"), answering(session, "run")))
    assert asked.labels == ("deletes files, line 2",)
    assert asked.why == "asked because of the rule Shell(rm *)"


async def test_a_question_of_the_mode_ask_has_labels_and_no_reason() -> None:
    session = make(FakeModel(python("import os\nos.remove('x')"), "Done."), "import os\nos.remove('x')")
    [asked] = of(DecisionRequested, await play(session, session.run("go"), answering(session, "run")))
    assert (asked.labels, asked.why) == (("deletes files, line 2",), "")


async def test_L12_the_repeat_guard_asks_about_what_a_rule_allows() -> None:
    model = FakeModel(bash("git log"), bash("git log"), "Done.")
    session = make(model, "git log", allow=("Shell(git log *)",))
    events = await play(session, session.run("go"), answering(session, "run"))
    assert [made.decider for made in of(DecisionMade, events)] == ["rule", "person"]
    assert "has just run" in of(DecisionRequested, events)[0].why


async def test_always_answers_the_mode_but_not_a_rule_that_asks() -> None:
    code = "rm x"
    cases: list[tuple[tuple[str, ...], list[str]]] = [
        ((), ["person", "grant"]),
        (("Shell(rm *)",), ["person", "person"]),
    ]
    for rules, deciders in cases:
        session = make(FakeModel(bash(code), "Done.", bash(code), "Done."), code, ask=rules)
        events = await play(session, session.run("go"), answering(session, "always"))
        events += await play(session, session.run("again"), answering(session, "always"))
        assert [made.decider for made in of(DecisionMade, events)] == deciders


async def test_L16_edited_code_is_held_to_the_rules_that_deny() -> None:
    model = FakeModel(bash("ls"), "I see.")
    session = make(model, "rm x", deny=("Shell(rm *)",))
    events = await play(session, session.run("go"), answering(session, "edit", source="rm x"))
    assert not of(ExecutionStarted, events)
    assert "denied by the rule Shell(rm *)" in told(model)


@pytest.mark.parametrize("verdict", ["run", "always"])
async def test_L16_a_rule_that_is_given_while_code_is_asked_about_holds_for_its_answer(verdict: Verdict) -> None:
    model = FakeModel(bash("rm x"), "I see.")
    session = make(model, "rm x")

    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decisions.add_rule("deny", "Shell(rm *)")
            session.decide(Decide(request_id=event.request_id, verdict=verdict))

    events = await play(session, session.run("go"), react)
    assert not of(ExecutionStarted, events)
    assert "denied by the rule Shell(rm *)" in told(model)


async def test_L17_the_mode_never_that_is_given_while_code_is_asked_about_holds_for_its_answer() -> None:
    session = make(FakeModel(bash("rm x"), "I see."), "rm x")

    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.choices.set_approval("never")
            session.decide(Decide(request_id=event.request_id, verdict="run"))

    events = await play(session, session.run("go"), react)
    assert not of(ExecutionStarted, events)
    assert [(made.verdict, made.decider) for made in of(DecisionMade, events)] == [("stop", "mode")]
    assert of(TurnEnded, events)[0].reason == "refused"


@pytest.mark.parametrize(("approve", "mode"), [("auto", "default"), ("auto", "auto"), ("ask", "bypassPermissions")])
async def test_L17_of_the_session_and_the_policy_the_stricter_mode_wins(
    approve: ApprovalMode, mode: PermissionMode
) -> None:
    session = make(FakeModel(python("1"), "Done."), "1", approve=approve, mode=mode)
    events = await play(session, session.run("go"), answering(session, "run"))
    assert len(of(DecisionRequested, events)) == 1


async def test_U23_what_may_run_others_is_asked_about_once_in_a_session_where_something_is_denied() -> None:
    model = FakeModel(bash("make a"), "Done.", bash("make b"), "Done.", bash("make c; rm x"), "I see.")
    session = make(model, "make a", "make b", approve="auto", deny=("Shell(rm *)",))
    [asked] = of(DecisionRequested, await play(session, session.run("go"), answering(session, "run")))
    assert asked.why == "asked because of the rule Shell(rm *), and make may do the same unseen"
    assert not of(DecisionRequested, await play(session, session.run("on"), answering(session, "run")))
    assert of(DecisionMade, await play(session, session.run("on")))[0].reason == "denied by the rule Shell(rm *)"


async def test_U29_where_something_is_denied_pytest_is_asked_about_once_and_again_in_the_next_session() -> None:
    runs = ("pytest -q", "pytest tests/a.py", "pytest")
    for _ in ("this session", "the next"):
        session = make(FakeModel(*map(bash, runs), "Done."), *runs, approve="auto", deny=("Shell(rm *)",))
        events = await play(session, session.run("go"), answering(session, "run"))
        assert [made.decider for made in of(DecisionMade, events)] == ["person", "mode", "mode"]
        [asked] = of(DecisionRequested, events)
        assert asked.why == "asked because of the rule Shell(rm *), and pytest may do the same unseen"


async def test_U29_what_was_approved_once_is_asked_about_again_after_a_refusal_and_when_all_is_forgotten() -> None:
    session = make(
        FakeModel(bash("make"), *(bash("make"), "Ok.") * 3),
        "make",
        approve="auto",
        deny=("Shell(rm *)",),
    )
    deciders: list[int] = []
    for verdict in ("skip", "run", "run", "run"):
        asked = of(DecisionRequested, await play(session, session.run("go"), answering(session, verdict)))
        deciders.append(len(asked))
        if len(deciders) == 3:
            session.forget()
    assert deciders == [1, 1, 0, 1]


async def test_U29_a_rule_that_the_sandbox_keeps_asks_nothing_and_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to("work")
    reach = Reach(writes=(str(tmp_path / "work"),), reads=("/usr",))
    for path, asked in ((tmp_path / "link", 1), (tmp_path / "work", 1), (tmp_path / "other", 0)):
        kernel = FakeKernel({"pytest": OK}, language="shell", confinement=Confinement(sandboxed=True, reach=reach))
        policy = Policy(rules=(short_form(f"Edit({path}/**)", "deny"),))
        settings, model = LoopSection(approve="auto"), FakeModel(bash("pytest"), "Done.")
        session = Session(
            kernels=FakeKernels(shell=kernel), settings=settings, model=model, can_ask=True, policy=policy
        )
        assert len(of(DecisionRequested, await play(session, session.run("go"), answering(session, "run")))) == asked


async def test_what_destroys_is_asked_about_and_a_file_of_the_sessions_own_may_go() -> None:
    writes, deletes = "echo 1 > own.tmp", "rm own.tmp"
    model = FakeModel(bash(deletes), "Done.", bash(writes), bash(deletes), "Done.")
    session = make(model, writes, deletes, approve="auto", mode="unlessDestructive")
    [asked] = of(DecisionRequested, await play(session, session.run("go"), answering(session, "run")))
    assert asked.why.startswith("asked because of what it does: it deletes files, line 1 (permitted by --allow-destr")
    assert not of(DecisionRequested, await play(session, session.run("on"), answering(session, "run")))


async def test_a_file_of_a_run_that_failed_is_not_taken_for_the_sessions_own() -> None:
    writes, deletes = "echo 1 > kept.txt", "rm kept.txt"
    kernels = FakeKernels(shell=FakeKernel({writes: [RunResult(status="error")], deletes: OK}), python=FakeKernel())
    model = FakeModel(bash(writes), bash(deletes), "Done.")
    settings, policy = LoopSection(approve="auto"), Policy(mode="unlessDestructive")
    session = Session(kernels=kernels, settings=settings, model=model, can_ask=True, policy=policy)
    assert len(of(DecisionRequested, await play(session, session.run("go"), answering(session, "run")))) == 1


async def test_always_holds_for_what_destroys() -> None:
    code = "rm -r build"
    model = FakeModel(bash(code), "Done.", bash(code), "Done.")
    session = make(model, code, approve="auto", mode="unlessDestructive")
    events = await play(session, session.run("go"), answering(session, "always"))
    events += await play(session, session.run("again"), answering(session, "always"))
    assert [made.decider for made in of(DecisionMade, events)] == ["person", "grant"]


async def test_where_nobody_can_be_asked_what_destroys_is_refused_and_the_model_is_told_what_permits_it() -> None:
    model = FakeModel(bash("rm -rf build"), "I see.")
    session = make(model, approve="auto", mode="unlessDestructive", can_ask=False)
    events = await play(session, session.run("go"))
    assert not of(ExecutionStarted, events)
    assert "there is nobody to approve it, which is needed because of what it does: it deletes files" in told(model)
    assert "--allow-destructive or a rule" in told(model)
    assert of(TurnEnded, events)[0].reason == "done"


async def test_U24_no_always_holds_in_a_kernel_in_which_later_code_is_read_otherwise() -> None:
    innocent, trick = "print(1)", "get_ipython().input_transformers_cleanup.append(evil)"
    answers = [text for code in (innocent, innocent, trick, innocent) for text in (python(code), "Done.")]
    session = make(FakeModel(*answers), innocent, trick)
    deciders: list[str] = []
    answered: list[tuple[str, Verdict]] = [("a", "always"), ("b", "run"), ("c", "run"), ("d", "run")]
    for prompt, verdict in answered:
        events = await play(session, session.run(prompt), answering(session, verdict))
        deciders += [made.decider for made in of(DecisionMade, events)]
    assert deciders == ["person", "grant", "person", "person"]


async def test_L17_switching_to_auto_does_not_switch_the_policy_off() -> None:
    session = make(FakeModel(python("1"), "Done."), "1", mode="default")
    session.choices.set_approval("auto")
    [asked] = of(DecisionRequested, await play(session, session.run("go"), answering(session, "run")))
    assert asked.why == "asked because of the mode “default”"


async def test_the_mode_plan_runs_nothing_and_ends_the_turn() -> None:
    session = make(FakeModel(python("1")), "1", approve="auto", mode="plan")
    events = await play(session, session.run("go"))
    assert of(TurnEnded, events)[0].reason == "refused"
    assert not of(ExecutionStarted, events)


async def test_the_mode_dont_ask_refuses_what_no_rule_allows_and_goes_on() -> None:
    model = FakeModel(bash("ls"), bash("git log"), "Done.")
    session = make(model, "git log", mode="dontAsk", allow=("Shell(git log *)",))
    events = await play(session, session.run("go"))
    assert [(made.verdict, made.decider) for made in of(DecisionMade, events)] == [("skip", "mode"), ("run", "rule")]
    assert of(TurnEnded, events)[0].reason == "done"


async def test_where_nobody_can_be_asked_what_a_rule_asks_about_is_refused_and_told() -> None:
    model = FakeModel(bash("rm x"), "I see.")
    session = make(model, approve="auto", can_ask=False, ask=("Shell(rm *)",))
    events = await play(session, session.run("go"))
    assert not of(ExecutionStarted, events)
    assert "there is nobody to approve it, which is needed because of the rule Shell(rm *)" in told(model)
    assert of(TurnEnded, events)[0].reason == "done"


@pytest.mark.parametrize("by_person", [False, True])
async def test_after_a_shell_was_changed_no_rule_allows_by_name_until_it_is_fresh(by_person: bool) -> None:
    trick = "git() { rm x; }"
    model = FakeModel(*([] if by_person else [bash(trick), "Ok."]), bash("git log"), "Done.")
    session = make(model, trick, "git log", allow=("Shell(git log *)",))
    if by_person:
        await play(session, session.run_code("shell", trick))
    else:
        await play(session, session.run("go"), answering(session, "run"))
    assert of(DecisionRequested, await play(session, session.run("log"), answering(session, "run")))


async def test_stored_questions_from_before_there_were_labels_still_load() -> None:
    old = b'{"type":"DecisionRequested","request_id":"r","block_id":"b","language":"python","source":"1","sha256":""}'
    assert msgspec.json.decode(old, type=AnyEvent).labels == ()
    new = DecisionRequested(request_id="r", block_id="b", language="python", source="1", sha256="", labels=("a", "b"))
    assert msgspec.json.decode(msgspec.json.encode(new), type=AnyEvent) == new


async def test_a_denied_block_is_refused_in_the_transcript_with_its_rule() -> None:
    session = make(FakeModel(bash("rm x"), "I see."), deny=("Shell(rm *)",))
    await play(session, session.run("go"))
    [code] = [block for block in session.transcript.blocks if isinstance(block, CodeBlock)]
    assert (code.state, code.refusal) == ("refused", "denied by the rule Shell(rm *)")


def elsewhere(mode: PermissionMode, approve: ApprovalMode = "auto", *rules: str, can_ask: bool = True) -> Session:
    """One session with two kernels: Python in a sandbox without network, the shell on a machine without any."""
    kernels = FakeKernels(
        python=FakeKernel(confinement=Confinement(sandboxed=True, offline=True)),
        shell=FakeKernel(language="shell"),
    )
    policy = Policy(mode=mode, rules=tuple(short_form(rule, "allow", sandboxed=True) for rule in rules))
    model = FakeModel(f"{python('print(1)')}\n{bash('ls')}", "Done.")
    return Session(kernels=kernels, settings=LoopSection(approve=approve), model=model, can_ask=can_ask, policy=policy)


async def test_the_mode_auto_asks_about_what_runs_without_a_sandbox_and_lets_run_what_runs_in_one() -> None:
    session = elsewhere("auto")
    events = await play(session, session.run("go"), answering(session, "run"))
    assert [made.decider for made in of(DecisionMade, events)] == ["mode", "person"]
    [asked] = of(DecisionRequested, events)
    assert asked.language == "shell"
    assert "which needs a sandbox to run anything without asking" in asked.why


async def test_a_rule_for_the_sandbox_holds_only_for_the_kernel_that_is_in_one() -> None:
    session = elsewhere("bypassPermissions", "ask", "Python", "Shell")
    events = await play(session, session.run("go"), answering(session, "run"))
    assert [made.decider for made in of(DecisionMade, events)] == ["rule", "person"]


async def test_where_nobody_can_be_asked_nothing_runs_elsewhere_in_the_mode_auto() -> None:
    session = elsewhere("auto", can_ask=False)
    events = await play(session, session.run("go"))
    assert [made.verdict for made in of(DecisionMade, events)] == ["run", "stop"]


async def readings(session: Session, work: Awaitable[object], react: Callable[[AnyEvent], None]) -> int:
    """How often a source was read for the policy meanwhile."""
    read = 0

    def watch(frame: FrameType, happening: str, _: object) -> None:
        nonlocal read
        read += happening == "call" and frame.f_code.co_name in ("read_python", "read_shell")

    sys.setprofile(watch)
    try:
        await play(session, work, react)
    finally:
        sys.setprofile(None)
    return read


async def test_a_source_is_read_once_from_the_proposal_to_its_run_and_an_edited_one_once_more() -> None:
    session = make(FakeModel(python("print(1)"), "Done."), approve="ask")
    assert await readings(session, session.run("go"), answering(session, "run")) == 1
    session = make(FakeModel(python("print(1)"), "Done."), approve="ask")
    assert await readings(session, session.run("go"), answering(session, "edit", source="print(2)")) == 2
    session = make(FakeModel(python("print(1)"), "Done."), approve="auto")
    assert await readings(session, session.run("go"), lambda event: None) == 1
    ids = [block.id for block in session.transcript.blocks if isinstance(block, CodeBlock)]
    assert await readings(session, session.rebuild(ids), lambda event: None) == 1
    assert await readings(session, session.run_code("python", "print(3)"), lambda event: None) == 1
