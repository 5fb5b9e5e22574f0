"""A palette as terminal styles, resolved once per theme and shared by every row."""

from typing import NamedTuple

from pygments.token import Token, _TokenType
from rich.color import Color
from rich.style import Style

from oi_tui.themes.palette import Palette, rich_palette
from oi_tui.widgets.timeline.diff_tokens import ADDED_WORD, REMOVED_WORD


class Sgr(NamedTuple):
    """What a running program has set with its colour codes; None is the terminal's own colour."""

    foreground: int | str | None = None
    """0 to 255, or `#rrggbb`."""
    background: int | str | None = None
    attributes: frozenset[str] = frozenset()
    """Names of Rich style attributes."""


_CHANGED_WORDS = frozenset({REMOVED_WORD, ADDED_WORD})
"""By weight and line too, not by colour alone."""


class Ink:
    """Styles by what they are for. Each has a background: no row is blended with anything."""

    def __init__(self, palette: Palette) -> None:
        palette = rich_palette(palette)
        surfaces, inks = palette.surfaces, palette.inks
        page = surfaces.background
        self.palette = palette
        self.page = Style(color=inks.text, bgcolor=page)
        self.dim = Style(color=inks.dim, bgcolor=page)
        self.faint = Style(color=inks.faint, bgcolor=page)
        self.strong = Style(color=inks.user, bgcolor=page, bold=True)
        self.accent = Style(color=inks.accent, bgcolor=page, bold=True)
        self.ok = Style(color=inks.ok, bgcolor=page)
        self.warning = Style(color=inks.warning, bgcolor=page)
        self.error = Style(color=inks.error, bgcolor=page)
        self.info = Style(color=inks.info, bgcolor=page)
        self.link = Style(color=inks.link, bgcolor=page, underline=True)
        self.inline_code = Style(color=inks.text, bgcolor=surfaces.surface)
        self.user = Style(color=inks.user, bgcolor=surfaces.surface)
        self.user_mark = Style(color=inks.accent, bgcolor=surfaces.surface, bold=True)
        self.user_dim = Style(color=inks.dim, bgcolor=surfaces.surface)
        self.code = Style(color=inks.text, bgcolor=surfaces.surface_code)
        self.code_faint = Style(color=inks.faint, bgcolor=surfaces.surface_code)
        self.code_hidden = Style(color=page, bgcolor=inks.error, bold=True)
        self.code_active = Style(color=inks.accent, bgcolor=surfaces.surface_code, bold=True)
        self.console = Style(color=inks.text, bgcolor=surfaces.surface_console)
        self.console_dim = Style(color=inks.dim, bgcolor=surfaces.surface_console)
        self.console_faint = Style(color=inks.faint, bgcolor=surfaces.surface_console)
        self.stderr = Style(color=inks.text, bgcolor=surfaces.surface_error)
        self.stderr_dim = Style(color=inks.dim, bgcolor=surfaces.surface_error)
        self.stderr_mark = Style(color=inks.error, bgcolor=surfaces.surface_error)
        self.pill = Style(color=page, bgcolor=inks.accent, bold=True)
        self.thumb = Style(color=inks.faint, bgcolor=page)
        self.cursor = Style(color=inks.accent)
        self.match = Style(color=page, bgcolor=inks.warning)
        self.match_here = Style(color=page, bgcolor=inks.accent, bold=True)
        self.selection = Style(bgcolor=surfaces.selection)
        self._tokens: dict[_TokenType, Style] = {}
        self._sgr: dict[tuple[Sgr, Style], Style] = {}

    def token(self, kind: _TokenType) -> Style:
        """Style of a token of source code."""
        style = self._tokens.get(kind)
        if style is None:
            style = self._tokens[kind] = self._token(kind)
        return style

    def sgr(self, state: Sgr, base: Style) -> Style:
        """Style of what a running program printed, over `base`."""
        key = state, base
        style = self._sgr.get(key)
        if style is None:
            style = self._sgr[key] = self._console(state, base)
        return style

    def _token(self, kind: _TokenType) -> Style:
        code = self.palette.code
        colours = {
            Token.Comment: code.comment,
            Token.Keyword: code.keyword,
            Token.Operator.Word: code.keyword,
            Token.Operator: code.operator,
            Token.Name.Function: code.function,
            Token.Name.Tag: code.keyword,
            Token.Name.Attribute: code.function,
            Token.Name.Class: code.type,
            Token.Name.Exception: code.type,
            Token.Name.Builtin: code.builtin,
            Token.Name.Decorator: code.decorator,
            Token.Literal.String: code.string,
            Token.Literal.Number: code.number,
            Token.Keyword.Constant: code.number,
            Token.Generic.Deleted: self.palette.inks.error,
            Token.Generic.Inserted: self.palette.inks.ok,
        }
        nearest: _TokenType | None = kind
        while nearest is not None and nearest not in colours:
            nearest = nearest.parent
        if nearest is None:
            return self.code
        words = Style(bold=True, underline=True) if kind in _CHANGED_WORDS else Style()
        return self.code + Style(color=colours[nearest], italic=nearest is Token.Comment or None) + words

    def diff(self, kind: _TokenType) -> Style:
        """Style of a token of a diff among outputs."""
        style = self.token(kind)
        plain = kind is Token or kind is Token.Comment
        return (self.console_dim if kind is Token.Comment else self.console) + (
            Style() if plain else Style(color=style.color, bold=style.bold, underline=style.underline)
        )

    def _console(self, state: Sgr, base: Style) -> Style:
        foreground, background = self._colour(state.foreground), self._colour(state.background)
        if foreground == background or (background is not None and background == base.color):
            background = None  # text in the colour of its background would hide
        if background is not None and foreground is None and "reverse" not in state.attributes:
            foreground = self._readable_on(background)
        words = Style.parse(" ".join(sorted(state.attributes)))
        return base + Style(color=foreground, bgcolor=background) + words

    def _readable_on(self, background: Color) -> Color:
        """Text or page colour, whichever is farther from a background that a program chose."""
        candidates = [Color.parse(self.palette.inks.text), Color.parse(self.palette.surfaces.background)]
        return max(candidates, key=lambda colour: abs(_brightness(colour) - _brightness(background)))

    def _colour(self, colour: int | str | None) -> Color | None:
        ansi = self.palette.ansi
        match colour:
            case None:
                return None
            case str():
                return Color.parse(colour)
            case _ if colour < 16:
                return Color.parse((*ansi.normal, *ansi.bright)[colour])
            case _:
                return Color.from_ansi(colour)


def _brightness(colour: Color) -> float:
    red, green, blue = colour.get_truecolor()
    return 0.299 * red + 0.587 * green + 0.114 * blue
