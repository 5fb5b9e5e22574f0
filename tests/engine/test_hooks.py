"""Hooks: who is asked, and what becomes of a plugin that fails."""

import logging
from types import SimpleNamespace

import pytest

from oi_tui.app.engine.hooks import EngineHooks, Hooks, ScreenHooks, hookimpl


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
