"""A test-bed for the eye: every kind of block in a timeline with all its keys.

make gallery [THEME=harbour-light] [IMAGES=kitty|sixel|half|none]     ctrl+t: the other theme, ctrl+q: leave
"""

import argparse
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType

from oi_tui.themes.loader import load_palette, textual_theme, theme_names
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.view import Timeline
from support.gallery import PAGES


class GalleryApp(App[None]):
    """All pages of the gallery, one under the other."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+t", "other_theme", "The other theme")]

    def __init__(self, theme: str, graphics: Graphics) -> None:
        super().__init__()
        for name in theme_names():
            self.register_theme(textual_theme(load_palette(name)))
        self.theme = theme
        self._graphics = graphics

    def compose(self) -> ComposeResult:
        """One timeline that fills the screen."""
        yield Timeline(palette=load_palette(self.theme), graphics=self._graphics)

    def on_mount(self) -> None:
        """Show all pages, from the top."""
        timeline = self.query_one(Timeline)
        timeline.reset([block for page in PAGES.values() for block in page()])
        timeline.focus()
        timeline.call_after_refresh(timeline.action_go, "start")

    def on_timeline_action_requested(self, event: Timeline.ActionRequested) -> None:
        """Nothing is done here; the key is heard."""
        self.notify(f"{event.wish}: {event.block.id}", markup=False)

    def on_timeline_link_clicked(self, event: Timeline.LinkClicked) -> None:
        """The same for links."""
        self.notify(event.href, markup=False)

    def action_other_theme(self) -> None:
        """Go on to the next theme by name."""
        names = sorted(theme_names())
        self.theme = names[(names.index(self.theme) + 1) % len(names)]
        self.query_one(Timeline).set_look(palette=load_palette(self.theme))


def main() -> None:
    """Open the gallery as the options say."""
    parser = argparse.ArgumentParser(description="Every kind of block, to look at.")
    parser.add_argument("--theme", default="harbour", choices=sorted(theme_names()))
    parser.add_argument("--images", default="half", choices=("kitty", "sixel", "half", "none"))
    options = parser.parse_args()
    GalleryApp(options.theme, Graphics(options.images)).run()


if __name__ == "__main__":
    main()
