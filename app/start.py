"""The command `oi-tui`: something on the screen at once, then the program. Imports nothing that takes time."""

import gc
import sys

from oi_tui.app.terminal.skeleton import SKELETON, show_skeleton

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

WITHOUT_SCREEN = frozenset(
    {
        *("attach", "audit", "auth", "commands", "config", "doctor", "engine", "extract", "help", "kernels", "logs"),
        *("mcp", "models", "plugins", "profile", "replay", "run", "sessions", "skills", "theme"),
        *("tools", "trust", "usage"),
        *("-h", "--help", "--linear", "--version"),
    }
)
"""Words of a command line that opens no screen."""


def main() -> "NoReturn":
    """Run the command line. Where it opens the screen, a skeleton of that is shown first."""
    words = sys.argv[1:]
    if len(words) == 3 and words[:2] == ["engine", "--fd"] and words[2].isdecimal():
        gc.disable()  # as below
        from oi_tui.app.serving import serve_front_end

        serve_front_end(int(words[2]))
    try:
        begin(words)
        _run(words)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        SKELETON.clear()  # a stack trace belongs on the terminal as it was


def _run(words: "Sequence[str]") -> "NoReturn":
    # It takes a fifth of a second and more, and now there is something to see.
    from oi_tui.app.flags import plain_flags

    if (flags := plain_flags(words)) is None:
        from oi_tui.app import cli

        cli.main()
    from oi_tui.app.opening import open_app, tell_errors

    with tell_errors():
        open_app(flags)
    sys.exit()


def begin(words: "Sequence[str]") -> None:
    """Show the skeleton where the screen will be."""
    if not opens_screen(words):
        return
    # Nothing of what is imported now becomes garbage, and looking for it takes a fifth of the time.
    gc.disable()
    show_skeleton()


def opens_screen(words: "Sequence[str]") -> bool:
    """Whether this command line opens the screen, without parsing it properly; False if unsure."""
    return WITHOUT_SCREEN.isdisjoint(words)


if __name__ == "__main__":
    main()
