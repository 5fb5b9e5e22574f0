"""The colours of one theme as a value: the only words the rest of the program has for colour.

A theme file names every colour by what it is for, so that a widget never asks for "blue". No
derivation happens here: what a designer wrote is what is shown.
"""

from typing import Annotated

import msgspec

Colour = Annotated[str, msgspec.Meta(pattern="^#[0-9a-f]{6}$")]
"""Six lower-case hexadecimal digits after `#`."""

EightColours = tuple[Colour, Colour, Colour, Colour, Colour, Colour, Colour, Colour]
"""Black, red, green, yellow, blue, magenta, cyan, white, readable on `surface_console`."""


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a theme file: every key is required, none may be unknown."""


class Surfaces(_Table, frozen=True, kw_only=True):
    """Backgrounds, from the page to what lies on it."""

    background: Colour
    """The page."""
    surface: Colour
    """What stands out from the page: the person's words, panels, bars."""
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
    dark: bool
    surfaces: Surfaces
    inks: Inks
    code: CodeInks
    ansi: AnsiInks
