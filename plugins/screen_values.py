"""What plugins of the screen's process are given and give, as values. They give text, which the screen makes safe."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from oi_tui.app.engine.core.blocks import Block

LinesAt = Callable[[int], Iterable[str]]
"""Lines for a width in cells, each as a program would print it: SGR codes colour it (`\\x1b[31m` is the theme's red,
`\\x1b[2m` is dim, `\\x1b[0m` ends both). All other codes are taken out, wide lines are moved sideways, not wrapped."""


class Drawing(msgspec.Struct, frozen=True):
    """What a renderer returns where no other form says it; called again at another width, on the screen's thread."""

    lines: LinesAt


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """The session that the screen shows, as it is."""

    session_id: str
    folder: str
    model: str
    blocks: Sequence[Block]
    """As they are now; not to be kept."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None where it is not known."""


class Insert(msgspec.Struct, frozen=True):
    """Text that a slash command puts at the cursor of the prompt; the person sends it or not."""

    text: str


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command. It cannot approve, send or run anything."""

    name: str
    """Without the slash: a lower case letter, then letters, digits and `-`; not that of one of ours."""
    title: str
    """Two or three words, for the palette."""
    help: str
    """One line."""
    run: Callable[[str, SessionView], str | Insert | None]
    """Gets what stands behind the name; text is shown in a window."""
    argument: str = ""
    """What may stand behind it, for the help: `[NAME]`."""


class SidePanel(msgspec.Struct, frozen=True, kw_only=True):
    """A window with text, opened by `/panel NAME`."""

    name: str
    """As of a slash command."""
    title: str
    lines: Callable[[SessionView, int], Iterable[str]]
    """As `LinesAt`, of a session."""


class StatusItem(msgspec.Struct, frozen=True, kw_only=True):
    """A few words at the right of the status line; they go first where there is no room."""

    name: str
    text: Callable[[SessionView], str]
    """At most 24 cells of it are shown, "" for nothing. Asked when the session or its model has changed."""
