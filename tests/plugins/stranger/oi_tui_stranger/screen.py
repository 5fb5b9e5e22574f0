"""Imported by the screen."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from oi_tui.plugins.api import Drawing, RichOutput, SessionView, SidePanel, SlashCommand, StatusItem, hookimpl


def fraction(output: RichOutput) -> Drawing:
    value = output.data["application/vnd.stranger+json"]
    return Drawing(lambda width: [str(value["top"]), "──", str(value["below"])])


@hookimpl
def register_renderers() -> Mapping[str, Callable[[RichOutput], object] | str]:
    return {"application/vnd.stranger*": "oi_tui_stranger.screen:fraction"}


@hookimpl
def register_themes() -> Path:
    return Path(__file__).with_name("themes")


@hookimpl
def register_slash_commands() -> Iterable[SlashCommand]:
    return [SlashCommand(name="stranger", title="Stranger", help="Says hello", run=lambda argument, view: "hello")]


@hookimpl
def register_panels() -> Iterable[SidePanel]:
    return [SidePanel(name="stranger", title="Stranger", lines=lambda view, width: [view.model])]


def blocks_in_words(view: SessionView) -> str:
    return f"{len(view.blocks)} blocks"


@hookimpl
def register_status_items() -> Iterable[StatusItem]:
    return [StatusItem(name="stranger", text=blocks_in_words)]
