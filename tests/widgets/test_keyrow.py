"""The row of keys: it says what the bindings say, and a click on a label does what its key does."""

import importlib
import pkgutil
from collections.abc import Iterator
from operator import attrgetter
from typing import ClassVar

import pytest
from textual.actions import parse
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from oi_tui.app import screens
from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels


class Doer(Widget):
    """Does what its keys say."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y,Y", "do('yes')", "yes"),
        Binding("x", "do('nothing that is told of')", "unseen"),
        Hint("pagedown,space", "do('more')", "More of what was found", label="read on", short="on"),
        Hint("number_sign", "do('count')", "Number", key_display="#"),
        Hint("escape", "do('back')", "back"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def action_do(self, what: str) -> None:
        self.done.append(what)


class Stand(App[None]):
    CSS = "Doer { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        chosen = textual_theme(load_palette())
        self.register_theme(chosen)
        self.theme = chosen.name

    def compose(self) -> ComposeResult:
        yield Doer()
        yield KeyRow()


def told(labels: tuple[KeyLabel, ...]) -> list[tuple[str, str, str, bool]]:
    return [(label.key, label.label, label.short, label.enabled) for label in labels]


def test_labels_are_the_hints_of_a_widget_in_their_order() -> None:
    assert told(key_labels(Doer())) == [
        ("y", "yes", "yes", True),
        ("pgdn", "read on", "on", True),
        ("#", "Number", "Number", True),
        ("esc", "back", "back", True),
    ]


def test_some_keys_in_another_order_with_other_words_and_dimmed() -> None:
    labels = key_labels(Doer(), "esc", "y", words={"esc": ("nothing runs", "no")}, off={"y"})
    assert told(labels) == [("esc", "nothing runs", "no", True), ("y", "yes", "yes", False)]


async def test_a_click_on_a_label_does_what_the_key_does_and_one_without_an_action_is_only_read() -> None:
    async with Stand().run_test(size=(60, 10)) as pilot:
        doer, row = pilot.app.query_one(Doer), pilot.app.query_one(KeyRow)
        row.labels = (KeyLabel("enter", "send", "send"), *key_labels(doer, "y", "esc"))
        await pilot.pause()
        for column in range(1, len("enter send   y yes   esc back") + 1):
            await pilot.click(KeyRow, offset=(column, 0))
        assert set(doer.done) == {"yes", "back"}
        assert doer.done.index("back") == len("y yes")
        assert len(doer.done) == len("y yes") + len("esc back")


def hinting() -> Iterator[type]:
    """Every class of ours with a binding that a row tells of."""
    for module in pkgutil.iter_modules(screens.__path__, "oi_tui.app.screens."):
        importlib.import_module(module.name)
    waiting = [Widget]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if any(isinstance(item, Hint) for item in vars(kind).get("BINDINGS", ())):
            yield kind


def test_many_screens_tell_of_their_keys() -> None:
    assert len(list(hinting())) > 12


@pytest.mark.parametrize("kind", sorted(set(hinting()), key=attrgetter("__qualname__")), ids=attrgetter("__name__"))
def test_what_a_row_tells_of_can_be_done(kind: type) -> None:
    for item in vars(kind)["BINDINGS"]:
        if isinstance(item, Hint):
            namespace, name, _ = parse(item.action)
            assert namespace or hasattr(kind, f"action_{name}"), item.action
            assert item.label or item.description
