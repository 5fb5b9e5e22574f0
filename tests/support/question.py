"""Questions as shown in a terminal."""

from oi_tui.themes.loader import load_palette
from support.terminal import ScreenTimeout, Terminal


def wait_armed(shown: Terminal, key: str = "y run ") -> None:
    """The keys of the question are dim until they count; then they have the accent."""
    accent = load_palette().inks.accent.removeprefix("#")

    def armed() -> bool:
        try:
            return shown.colour(key) == accent
        except ScreenTimeout:  # the screen is being painted anew
            return False

    shown.wait_until(armed, "the question to be armed")
