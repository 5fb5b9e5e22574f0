"""Whether a screen that shows what the engine says is still there."""

from textual.screen import Screen, ScreenResultType


def is_open(screen: Screen[ScreenResultType]) -> bool:
    """False from the moment when it begins to go: its parts go one by one, before it."""
    return screen.is_attached and screen.display
