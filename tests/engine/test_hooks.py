"""Hooks: who is asked, and what becomes of a plugin that fails."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oi_tui.app.engine.agent.emitter import Observer
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import AuditError, KernelError, ModelError
from oi_tui.app.engine.core.events import AnyEvent, ExecutionStarted, SessionOpened, TurnEnded
from oi_tui.app.engine.core.settings import LoopSection, Settings
from oi_tui.app.engine.core.verbs import Open, Rebuild
from oi_tui.app.engine.hooks.calling import NO_PLUGINS, Hooks
from oi_tui.app.engine.hooks.registered import registered_tools
from oi_tui.app.engine.hooks.specs import EngineHooks, hookimpl
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.log import find_log
from oi_tui.app.engine.log.audit.records import RunBegan, Surroundings, decode
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.open_session import OpenSession
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels
from oi_tui.app.engine.trust.change_scan import FolderScanner
from oi_tui.plugins.screen_specs import ScreenHooks
from support.front import engine
from support.turns import play

CODE = "```python\n1+1\n```"

ENGINE_HOOKS = ("event_happened", "before_request", "after_request", "before_action", "after_action")


class Broken:
    @hookimpl
    def register_renderers(self) -> dict[str, str]:
        raise RuntimeError("no")


class Draws:
    @hookimpl
    def register_renderers(self) -> dict[str, str]:
        return {"application/x-tale": "tale:draw"}


def test_a_plugin_that_raises_is_named_and_the_others_are_asked_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks(ScreenHooks, [("broken", Broken()), ("draws", Draws())])

    with caplog.at_level(logging.ERROR):
        assert list(hooks.results("register_renderers")) == [("draws", {"application/x-tale": "tale:draw"})]

    assert [record.getMessage() for record in caplog.records] == ["the plugin broken failed in register_renderers"]


def test_a_plugin_takes_only_the_values_that_it_names() -> None:
    seen: list[str] = []

    @hookimpl
    def before_request(session_id: str) -> None:
        seen.append(session_id)

    hooks = Hooks(EngineHooks, [("one", SimpleNamespace(before_request=before_request))])
    hooks.call("before_request", session_id="s", request=None)

    assert seen == ["s"]


def test_where_nobody_listens_that_is_known() -> None:
    hooks = Hooks(EngineHooks, [("draws", Draws())])
    assert not hooks.listens("event_happened")
    assert Hooks(ScreenHooks, [("draws", Draws())]).listens("register_renderers")


def test_a_hook_that_is_a_coroutine_is_refused_where_it_is_written() -> None:
    async def before_request(session_id: str) -> None:
        pass

    with pytest.raises(TypeError, match="before_request must be a plain function"):
        hookimpl(before_request)


def test_a_plugin_that_asks_for_what_its_hook_has_not_is_named_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    @hookimpl
    def after_action(blok: CodeBlock) -> None:
        pass

    misspelt = SimpleNamespace(after_action=after_action)
    hooks = Hooks(EngineHooks, [("misspelt", misspelt), ("good", plugin_of(after_action=lambda block: None))])

    assert [record.getMessage() for record in caplog.records] == ["the plugin misspelt does not fit"]
    assert hooks.call("after_action", session_id="s", block=None) == []


def test_the_same_error_of_a_plugin_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks(EngineHooks, [("broken", plugin_of(event_happened=fail))])

    assert [hooks.call("event_happened", session_id="s", event=None) for _ in range(3)] == [["broken"]] * 3

    assert [record.getMessage() for record in caplog.records] == ["the plugin broken failed in event_happened"]


# In a session


def plugin_of(**functions: Callable[..., object]) -> SimpleNamespace:
    """A plugin with these as its hooks."""
    return SimpleNamespace(**{name: hookimpl(function) for name, function in functions.items()})


def fail() -> None:
    raise RuntimeError("no")


def leave() -> None:
    raise SystemExit(3)


def session_of(model: FakeModel, kernel: FakeKernel, hooks: Hooks, **arguments: Any) -> Session:
    """One whose hooks are told of its events, too."""
    session = Session(
        kernels=FakeKernels(python=kernel), settings=LoopSection(approve="auto"), model=model, hooks=hooks, **arguments
    )
    session.emitter.observers = (session.plugins.follow,)
    return session


async def test_a_turn_tells_of_its_requests_and_actions_in_their_order_with_their_values() -> None:
    calls: list[tuple[str, object]] = []
    kernel = FakeKernel()
    plugin = plugin_of(
        before_request=lambda request: calls.append(("asks", request.messages[-1].text)),
        after_request=lambda failed: calls.append(("asked", failed)),
        before_action=lambda block: calls.append((f"runs {block.source}", list(kernel.ran))),
        after_action=lambda block: calls.append((f"ran {block.state}", block.outputs[0].text)),
    )
    redactor = Redactor({"TOKEN": "hunter2hunter2"})
    model = FakeModel(CODE, "It is 2.")
    session = session_of(model, kernel, Hooks(EngineHooks, [("p", plugin)]), redactor=redactor)

    await play(session, session.run("hunter2hunter2"))

    first, *rest, _, last = calls
    assert first == ("asks", model.requests[0].messages[-1].text)
    assert "hunter2" not in str(first)
    assert rest == [("asked", False), ("runs 1+1", []), ("ran ok", "1+1")]
    assert last == ("asked", False)


async def test_a_request_that_fails_is_told_as_failed() -> None:
    ends: list[bool] = []
    hooks = Hooks(EngineHooks, [("p", plugin_of(after_request=lambda failed: ends.append(failed)))])
    session = session_of(FakeModel([ModelError("unreachable", "Gone.")]), FakeKernel(), hooks)

    await play(session, session.run("go"))

    assert ends == [True]


@pytest.mark.parametrize("why", ["no record", "no kernel", "the kernel ends while the record is written"])
async def test_code_that_never_began_is_no_action(why: str) -> None:
    calls: list[str] = []
    plugin = plugin_of(
        before_action=lambda: calls.append("before"),
        after_action=lambda: calls.append("after"),
    )

    async def seal(_started: ExecutionStarted, _block: CodeBlock) -> None:
        if why == "no record":
            raise AuditError("The disk is full.")
        kernel.state = "dead"

    kernel = FakeKernel()
    kernel.fails = KernelError("It does not start.") if why == "no kernel" else None
    session = session_of(FakeModel(CODE), kernel, Hooks(EngineHooks, [("p", plugin)]), seal=seal)

    await play(session, session.run("go"))

    assert (kernel.ran, calls) == ([], [])


async def test_the_audit_log_has_a_run_on_disk_before_a_plugin_is_told_of_it(tmp_path: Path) -> None:
    audit, on_disk = tmp_path / "audit", []

    def look(session_id: str, block: CodeBlock) -> None:
        log = find_log(audit, session_id)
        assert log is not None
        records = [entry.record for line in log.read_bytes().splitlines() if (entry := decode(line))]
        on_disk.append([record.block_id for record in records if isinstance(record, RunBegan)] == [block.id])

    where = Surroundings(cwd="/work", sandbox="danger-full-access")
    trail = AuditTrail(
        folder=audit, surroundings=where, make_watch=lambda: FolderScanner([tmp_path / "none"]), sandboxed=False
    )
    hooks = Hooks(EngineHooks, [("p", plugin_of(before_action=look))])
    async with engine(tmp_path, FakeModel(CODE, "It is 2."), trail=trail, hooks=hooks) as front:
        await front.client.send(Open())
        await front.turn("add")

    assert on_disk == [True]


@pytest.mark.parametrize("broken", [fail, leave])
async def test_a_plugin_that_fails_in_every_hook_does_not_disturb_the_turn_and_is_told_once_a_hook(
    tmp_path: Path, broken: Callable[..., object]
) -> None:
    hooks = Hooks(EngineHooks, [("broken", plugin_of(**dict.fromkeys(ENGINE_HOOKS, broken)))])
    kernel = FakeKernel()
    model = FakeModel(CODE, CODE.replace("1+1", "2+2"), "It is 4.")
    async with engine(tmp_path, model, kernels=FakeKernels(python=kernel), hooks=hooks) as front:
        await front.client.send(Open())
        assert await front.turn("add") == TurnEnded(reason="done")
        told = [block for block in front.transcript.blocks if isinstance(block, NoticeBlock)]

    assert kernel.ran == ["1+1", "2+2"]
    assert sorted(notice.title for notice in told) == sorted(
        [
            *(f"The plugin broken failed in its hook {hook}." for hook in ENGINE_HOOKS),
            "The hook event_happened of the plugin broken is not called any more in this session.",
        ]
    )
    assert {notice.level for notice in told} == {"warning"}


async def test_every_event_is_told_with_its_session_once_and_in_order(tmp_path: Path) -> None:
    told: list[tuple[str, AnyEvent]] = []
    plugin = plugin_of(event_happened=lambda session_id, event: told.append((session_id, event)))
    async with engine(tmp_path, FakeModel("Hello."), hooks=Hooks(EngineHooks, [("p", plugin)])) as front:
        await front.client.send(Open())
        await front.turn("hi")
        session_id = front.transcript.session_id
        assert isinstance(told[0][1], SessionOpened)
        pieces = [event for event in front.events if isinstance(event, SessionOpened | TurnEnded)]
    assert {name for name, _ in told} == {session_id}
    assert [event for _, event in told if isinstance(event, SessionOpened | TurnEnded)] == pieces


async def test_a_run_that_is_repeated_is_an_action_and_says_so(tmp_path: Path) -> None:
    calls: list[tuple[str, str, object]] = []
    plugin = plugin_of(
        before_action=lambda block: calls.append(("before", block.rerun, block.outputs)),
        after_action=lambda block: calls.append(("after", block.rerun, block.duration)),
    )
    async with engine(tmp_path, FakeModel(CODE, "2"), hooks=Hooks(EngineHooks, [("p", plugin)])) as front:
        await front.client.send(Open())
        await front.turn("add")
        calls.clear()
        (code,) = (block for block in front.transcript.blocks if isinstance(block, CodeBlock))
        await front.client.send(Rebuild(block_ids=(code.id,)))
        await front.until(lambda _: any(isinstance(b, NoticeBlock) for b in front.transcript.blocks))
    assert calls == [("before", "running", ()), ("after", "same", None)]


@pytest.mark.parametrize(("hook", "more"), [("event_happened", 1), ("after_action", 1), ("before_request", 0), ("", 0)])
async def test_an_observer_is_added_and_told_last_only_where_a_plugin_listens_to_what_it_sees(
    hook: str, more: int
) -> None:
    async def send(reply: object) -> None:
        pass

    def observers(hooks: Hooks) -> list[Observer]:
        services = Services(
            setup=Configure(settings=Settings(), cwd="/work"),
            models=FakeModels(FakeModel("x")),
            make_kernels=lambda ties: FakeKernels(),
            send=send,
            hooks=hooks,
        )
        session = OpenSession(services, "one", None, broke=lambda session, error: None)
        told, follow = [*session.session.emitter.observers], session.session.plugins.follow
        assert follow not in told[:-1]
        return told

    listening = Hooks(EngineHooks, [("p", plugin_of(**({hook: fail} if hook else {})))])
    assert len(observers(listening)) - len(observers(NO_PLUGINS)) == more


@pytest.mark.parametrize("error", [ValueError("no name"), SystemExit(3)])
def test_a_plugin_that_raises_while_its_tools_are_taken_is_named(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def register() -> Iterator[object]:
        yield from ()
        raise error

    hooks = Hooks(EngineHooks, [("broken", plugin_of(register_tools=register))])
    assert registered_tools(hooks) == ()
    assert [record.getMessage() for record in caplog.records] == ["the plugin broken failed in register_tools"]
