"""Models of plugins: chosen by their names and listed like any other."""

import logging
from types import SimpleNamespace

import pytest

from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.registered import registered_models
from oi_tui.app.engine.hooks.specs import EngineHooks, hookimpl
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.testing import FakeModel


class Plugin:
    """Registers what it is given."""

    def __init__(self, *models: object) -> None:
        self._models = models

    @hookimpl
    def register_models(self) -> tuple[object, ...]:
        return self._models


async def test_m8_a_model_of_a_plugin_is_opened_by_its_name_and_listed() -> None:
    echo = FakeModel("Echo.", name="lab/echo")
    models = Models(ModelSection(), environ={}, own=registered_models(Hooks(EngineHooks, [("lab", Plugin(echo))])))
    assert await models.open("lab/echo", "http://127.0.0.1:9/v1", check=True) is echo
    assert (models.can_open("lab/echo"), models.provider("lab/echo")) == (True, "lab")
    assert await models.list_models("lab/echo", "", None) == ()
    assert await models.find_obstacle("lab/echo", "http://127.0.0.1:9/v1", None) is None
    found = await models.find_models()
    assert [(offer.title, offer.detail) for offer in found.offers if offer.id == "lab/echo"] == [("lab/echo", "plugin")]
    await models.close()


@pytest.mark.parametrize(
    "wrong",
    [
        "text",
        SimpleNamespace(name="lab/half"),
        FakeModel("x", name="without-provider"),
        FakeModel("x", name="openai/gpt-5"),
        FakeModel("x", name="lab/\x1b[2J"),
        FakeModel("x", name="lab/good"),
    ],
)
def test_m8_what_is_no_model_or_takes_a_name_is_left_out_and_logged(
    wrong: object, caplog: pytest.LogCaptureFixture
) -> None:
    good = FakeModel("x", name="lab/good")
    with caplog.at_level(logging.ERROR):
        found = registered_models(Hooks(EngineHooks, [("lab", Plugin(good, wrong))]))
    assert found == {"lab/good": good}
    assert "the plugin lab gave nothing useful in register_models" in caplog.text


def test_m8_a_plugin_that_raises_takes_no_other_along() -> None:
    def broken() -> list[object]:
        raise RuntimeError("no")

    plugin = SimpleNamespace(register_models=hookimpl(broken))
    good = FakeModel("x", name="lab/good")
    hooks = Hooks(EngineHooks, [("broken", plugin), ("lab", Plugin(good))])
    assert set(registered_models(hooks)) == {"lab/good"}
