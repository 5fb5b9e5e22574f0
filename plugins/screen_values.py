"""Values that plugins of the screen's process get and return. They return text, which the screen makes safe."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from oi_tui.app.engine.core.blocks import Block

LinesAt = Callable[[int], Iterable[str]]
"""Lines for a width in cells, each as a program would print it: SGR codes colour it (`\\x1b[31m` is the theme's red,
`\\x1b[2m` is dim, `\\x1b[0m` ends both). All other codes are removed. Wide lines scroll sideways and do not wrap."""


class Drawing(msgspec.Struct, frozen=True):
    """What a renderer returns to draw lines itself; called again for each width, on the screen's thread."""

    lines: LinesAt


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """The session on the screen, at this moment."""

    session_id: str
    folder: str
    model: str
    blocks: Sequence[Block]
    """The blocks at this moment; do not keep them."""
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
    """Gets the argument after the name; a returned text is shown in a window."""
    argument: str = ""
    """The argument, for the help: `[NAME]`."""


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
