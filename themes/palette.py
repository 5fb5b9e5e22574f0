"""The colours of one theme as a value: the only words the rest of the program has for colour.

A theme file names every colour by what it is for, so that a widget never asks for "blue". No
derivation happens here: what a designer wrote is what is shown.
"""

from typing import Annotated, TypeVar

import msgspec

COLOUR = (
    "#[0-9a-f]{6}|ansi_(?:default|(?:bright_)?(?:black|red|green|yellow|blue|magenta|cyan|white))"  # Textual's names
)

Colour = Annotated[str, msgspec.Meta(pattern=f"^(?:{COLOUR})$")]
"""Six lower-case hexadecimal digits after `#`; or a colour of the terminal, whatever it looks like there."""

EightColours = tuple[Colour, Colour, Colour, Colour, Colour, Colour, Colour, Colour]
"""Black, red, green, yellow, blue, magenta, cyan, white, readable on `surface_console`."""


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a theme file: every key is required, none may be unknown."""


_TableType = TypeVar("_TableType", bound=_Table)


class Surfaces(_Table, frozen=True, kw_only=True):
    """Backgrounds, from the page to the surfaces above it."""

    background: Colour
    """The page."""
    surface: Colour
    """Surfaces above the page: the person's words, panels, bars."""
    surface_code: Colour
    surface_console: Colour
    surface_error: Colour
    """Behind stderr and tracebacks."""
    surface_focus: Colour
    """Behind what the keys act on."""
    selection: Colour


class Inks(_Table, frozen=True, kw_only=True):
    """Foregrounds with a meaning."""

    text: Colour
    dim: Colour
    """Metadata: still easy to read."""
    faint: Colour
    """Rules, gutters, scroll bars: lines, never words."""
    accent: Colour
    """What is the person's to act on. There is only one."""
    user: Colour
    """The person's own words."""
    link: Colour
    ok: Colour
    warning: Colour
    error: Colour
    info: Colour


class CodeInks(_Table, frozen=True, kw_only=True):
    """Foregrounds of source code, on `surface_code`."""

    keyword: Colour
    string: Colour
    number: Colour
    comment: Colour
    function: Colour
    type: Colour
    builtin: Colour
    decorator: Colour
    operator: Colour


class AnsiInks(_Table, frozen=True, kw_only=True):
    """What the sixteen colours of a running program look like."""

    normal: EightColours
    bright: EightColours


class Palette(_Table, frozen=True, kw_only=True):
    """All colours of one theme, derived ones included."""

    name: str = ""
    """Name of the file without its ending; set by the loader."""
    title: str
    origin: str = ""
    """Where the colours come from, and their licence."""
    dark: bool
    surfaces: Surfaces
    inks: Inks
    code: CodeInks
    ansi: AnsiInks

    @property
    def uses_terminal(self) -> bool:
        """Whether any colour is the terminal's own."""
        tables: tuple[_Table, ...] = (self.surfaces, self.inks, self.code)
        inks = [getattr(table, name) for table in tables for name in table.__struct_fields__]
        return any(ink.startswith(_OWN) for ink in (*inks, *self.ansi.normal, *self.ansi.bright))

    @property
    def picture_ground(self) -> str:
        """Behind the transparent parts of pictures, which need a colour that is known."""
        ground = self.surfaces.surface_console
        return ground if ground.startswith("#") else "#000000" if self.dark else "#ffffff"


_OWN = "ansi_"


def rich_name(colour: str) -> str:
    """A colour as Rich writes it: `red` for `ansi_red`."""
    return colour.removeprefix(_OWN)


def rich_palette(palette: Palette) -> Palette:
    """The same colours as Rich writes them."""
    if not palette.uses_terminal:
        return palette

    def rename(table: _TableType) -> _TableType:
        named = {name: rich_name(getattr(table, name)) for name in table.__struct_fields__}
        return type(table)(**named)

    def eight(colours: EightColours) -> EightColours:
        black, red, green, yellow, blue, magenta, cyan, white = map(rich_name, colours)
        return black, red, green, yellow, blue, magenta, cyan, white

    return msgspec.structs.replace(
        palette,
        surfaces=rename(palette.surfaces),
        inks=rename(palette.inks),
        code=rename(palette.code),
        ansi=AnsiInks(normal=eight(palette.ansi.normal), bright=eight(palette.ansi.bright)),
    )
