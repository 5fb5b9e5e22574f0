"""Plugins that raise, hang or are slow: named with their time, and everything else goes on."""

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from oi_tui.app.engine.hooks import calling
from oi_tui.app.engine.hooks.calling import STRIKES, Hooks, PluginFailed
from oi_tui.app.engine.hooks.specs import EngineHooks, hookimpl
from oi_tui.app.engine.hooks.time_limit import TookTooLong, call_within
from oi_tui.plugins import host
from oi_tui.plugins.host import LoadedPlugins
from support.processor import compute


def hooks_of(slow: float = 10.0, **functions: Callable[..., object]) -> Hooks:
    plugin = SimpleNamespace(**{name: hookimpl(function) for name, function in functions.items()})
    return Hooks(EngineHooks, [("p", plugin)], slow=slow)


def spin() -> None:
    while True:
        try:
            sum(range(1000))
        except Exception:
            continue


def sleep() -> None:
    time.sleep(30)


@pytest.mark.parametrize("hang", [spin, sleep])
def test_x2_a_hook_that_hangs_is_broken_off_and_named_with_its_time(
    hang: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "TIME_LIMIT", 0.1)
    hooks = hooks_of(event_happened=hang)
    began = time.monotonic()
    assert hooks.call("event_happened", session_id="s", event=None) == ["p"]
    assert time.monotonic() - began < 5
    assert hooks.troubles[0].title == "The plugin p hung: its hook event_happened was stopped after 0 s."


@pytest.mark.parametrize("kind", [type("Odd", (BaseException,), {}), GeneratorExit, asyncio.CancelledError, SystemExit])
def test_x2_whatever_a_plugin_raises_is_its_own_failure(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise kind("no")

    hooks = hooks_of(judge_action=fail)
    assert hooks.call("judge_action", session_id="s", block=None) == ["p"]
    monkeypatch.setattr(host, "import_module", lambda module: fail())
    loaded = LoadedPlugins("engine")
    loaded.load()
    assert {trouble.fault for trouble in loaded.troubles} == {"cannot be loaded"}


def test_x2_a_limit_that_was_kept_leaves_nothing_behind_that_rings_later() -> None:
    call_within(0.05, time.monotonic)
    time.sleep(0.1)
    with pytest.raises(TookTooLong):
        call_within(0.05, time.sleep, 5)
    time.sleep(0.2)


def test_x2_a_slow_hook_is_told_with_its_time_once_and_an_observer_is_dropped_at_last() -> None:
    calls: list[int] = []

    def crawl() -> None:
        calls.append(1)
        compute(0.002)

    hooks = hooks_of(0.001, after_request=crawl, check_prompt=crawl)
    for _ in range(STRIKES + 3):
        hooks.call("after_request", session_id="s", request=None, failed=False)
    assert len(calls) == STRIKES
    slow, dropped = hooks.troubles
    assert slow.title.startswith("The plugin p is slow: its hook after_request took ")
    assert slow.title.endswith(" ms.")
    assert dropped.title == "The hook after_request of the plugin p is not called any more in this session."

    calls.clear()
    for _ in range(STRIKES + 3):
        hooks.call("check_prompt", session_id="s", text="")
    assert len(calls) == STRIKES + 3, "what decides is never left out"


def test_x2_a_first_slow_call_is_forgiven_unless_it_is_very_slow() -> None:
    hooks = hooks_of(0.02, after_request=lambda: compute(0.03))
    hooks.call("after_request", session_id="s", request=None, failed=False)
    assert hooks.troubles == []
    hooks = hooks_of(0.001, after_request=lambda: compute(0.03))
    hooks.call("after_request", session_id="s", request=None, failed=False)
    assert [trouble.fault for trouble in hooks.troubles] == ["slow"]


def test_x2_a_busy_machine_makes_no_plugin_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: clock)

    def be_kept_from_the_processor() -> None:
        nonlocal clock
        clock += 0.3

    hooks = hooks_of(0.05, after_request=be_kept_from_the_processor)
    for _ in range(STRIKES + 1):
        hooks.call("after_request", session_id="s", request=None, failed=False)
    assert hooks.troubles == []


def test_x2_one_that_waits_for_something_long_enough_is_slow_with_what_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: clock)

    def wait_for_a_server() -> None:
        nonlocal clock
        clock += 0.6

    hooks = hooks_of(0.05, after_request=wait_for_a_server)
    for _ in range(2):
        hooks.call("after_request", session_id="s", request=None, failed=False)
    assert [trouble.title for trouble in hooks.troubles] == [
        "The plugin p is slow: its hook after_request took 600 ms."
    ]


def test_x2_a_built_in_plugin_that_is_slow_is_in_the_log_and_not_announced(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []

    @hookimpl
    def after_request() -> None:
        calls.append(1)
        compute(0.002)

    hooks = Hooks(EngineHooks, [("git", SimpleNamespace(after_request=after_request))], slow=0.001, built_in=["git"])
    for _ in range(STRIKES + 1):
        hooks.call("after_request", session_id="s", request=None, failed=False)
    assert hooks.troubles == []
    assert len(calls) == STRIKES + 1
    assert "the built-in plugin git took" in caplog.text


def test_x2_each_trouble_is_told_once_to_whoever_listens() -> None:
    told: list[str] = []

    def fail() -> None:
        raise ValueError("first line\nsecond line")

    hooks = hooks_of(after_request=fail)
    hooks.on_trouble = lambda trouble: told.append(trouble.detail)
    for _ in range(3):
        hooks.call("after_request", session_id="s", request=None, failed=False)
    assert told == ["ValueError: first line"]


def test_x2_what_a_plugin_registered_is_called_with_the_same_care() -> None:
    hooks = hooks_of()
    with pytest.raises(PluginFailed):
        hooks.run("p", "tool", lambda: 1 / 0)
    assert [(trouble.hook, trouble.fault) for trouble in hooks.troubles] == [("tool", "failed")]
