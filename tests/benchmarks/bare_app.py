"""What a Textual app costs at least: one text area and nothing else."""

from textual.app import App, ComposeResult
from textual.widgets import TextArea


class BareApp(App[None]):
    """The yardstick."""

    def compose(self) -> ComposeResult:
        yield TextArea(placeholder="Ask")


if __name__ == "__main__":
    BareApp().run()
