"""Colour codes of a terminal (SGR), as far as they are visible. Concealed text is shown, and nothing blinks."""

import re
from functools import lru_cache

from oi_tui.widgets.timeline.ink import Sgr

INTRODUCERS = r"\x1b\x90\x98\x9b\x9d-\x9f"
"""The characters that begin a control sequence, for a set in a pattern."""

SGR = re.compile(r"\x1b\[([0-9;:]{0,256})m")

_ATTRIBUTES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike", 21: "underline"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}
_CODE = re.compile(r"[0-9]{1,4}")


@lru_cache(maxsize=4_096)
def apply_sgr(state: Sgr, numbers: str) -> Sgr:
    """The style after the sequence with these `numbers`, those between `\x1b[` and `m`."""
    parameters = [[_number(code) for code in group.split(":")] for group in numbers.split(";")]
    while parameters:
        code, *details = parameters.pop(0)
        match code:
            case 0:
                state = Sgr()
            case 4 if details[:1] == [0]:
                state = state._replace(attributes=state.attributes - {"underline"})
            case 1 | 2 | 3 | 4 | 7 | 9 | 21:
                state = state._replace(attributes=state.attributes | {_ATTRIBUTES[code]})
            case 22 | 23 | 24 | 27 | 29:
                state = state._replace(attributes=state.attributes.difference(_ENDS[code]))
            case 38 | 48 | 58:
                colour = _grouped_colour(details) if details else _listed_colour(parameters)
                if code == 38:
                    state = state._replace(foreground=colour)
                elif code == 48:
                    state = state._replace(background=colour)  # 58 colours an underline alone
            case 39:
                state = state._replace(foreground=None)
            case 49:
                state = state._replace(background=None)
            case _ if 30 <= code <= 37 or 90 <= code <= 97:
                state = state._replace(foreground=code - 30 if code < 40 else code - 82)
            case _ if 40 <= code <= 47 or 100 <= code <= 107:
                state = state._replace(background=code - 40 if code < 50 else code - 92)
            case _:
                pass
    return state


def _number(code: str) -> int:
    return int(code) if _CODE.fullmatch(code) else 0


def _grouped_colour(details: list[int]) -> int | str | None:
    """The colour in `38:5:n`, `38:2:r:g:b` or `38:2:space:r:g:b`."""
    match details:
        case [5, number, *_]:
            return _indexed_colour(number)
        case [2, red, green, blue] | [2, _, red, green, blue, *_]:
            return _true(red, green, blue)
        case _:
            return None


def _listed_colour(parameters: list[list[int]]) -> int | str | None:
    """The colour in `38;5;n` or `38;2;r;g;b`; consumes the parameters, all of them if it is malformed."""
    match parameters:
        case [[5], [number], *_]:
            del parameters[:2]
            return _indexed_colour(number)
        case [[2], [red], [green], [blue], *_]:
            del parameters[:4]
            return _true(red, green, blue)
        case _:
            parameters.clear()
            return None


def _indexed_colour(number: int) -> int | None:
    return number if number < 256 else None


def _true(red: int, green: int, blue: int) -> str | None:
    return f"#{red:02x}{green:02x}{blue:02x}" if max(red, green, blue) < 256 else None
