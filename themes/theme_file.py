"""Theme files in TOML: read, with the line of what is wrong in words; and written, to change.

A file says what differs from the theme it is based on. The meaning of each key is in README.md, beside this module.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Any

import msgspec

from oi_tui.themes.palette import COLOUR, Palette

BASE = "base"
"""The key that names a theme of ours; what the file leaves out is taken from there."""

_HEX = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})", re.IGNORECASE)
_HEADER = re.compile(r"\s*\[\s*([\w-]+)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*(?:\.\s*["']?([\w-]+)["']?\s*)?=""")
_WORDS = 200
"""Characters of a title."""


def parse_theme(text: str, load: Callable[[str], Palette]) -> Palette:
    """The palette that a file's text describes, without a name; ValueError says the line and what is wrong there.

    `load` gives the theme of ours that it is based on.
    """
    try:
        says = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("brackets are nested too deeply") from error
    except ValueError as error:
        what, _, where = str(error).partition(" (at ")
        line = re.match(r"line (\d+)", where)
        number = line[1] if line else len(text.splitlines()) if where else 0
        raise ValueError(f"line {number}: {what}" if number else what) from error
    based = says.pop(BASE, "harbour" if says.get("dark", True) is not False else "harbour-light")
    try:
        palette = load(str(based))
    except ValueError as error:
        raise ValueError(f"line {line_of(text, BASE)}: {BASE}: {error}") from error
    whole = _keys_of(palette)
    for path, what in _faults(says, whole):
        raise ValueError(f"line {line_of(text, path)}: {what}")
    return msgspec.convert(whole, Palette)


def theme_source(palette: Palette, based: str, title: str) -> str:
    """A theme file with all colours of this palette, and what each is for."""
    meanings = key_meanings()
    lines = [
        "# A theme of oi-tui. It changes on the screen when you save it. Whatever you leave out is as in the base.",
        f"{BASE} = {_toml(based)}",
    ]
    keys = _keys_of(palette) | {"title": title}
    for key, value in keys.items():
        if isinstance(value, dict):
            lines += ["", f"[{key}]"]
            lines += [f"{inner} = {_toml(ink)}{_comment(meanings, f'{key}.{inner}')}" for inner, ink in value.items()]
        elif value != "":
            lines.append(f"{key} = {_toml(value)}{_comment(meanings, key)}")
    return "\n".join(lines) + "\n"


def key_meanings() -> dict[str, str]:
    """Each key of a theme file and what it is for, as README.md says it."""
    readme = resources.files(__package__).joinpath("README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([a-z_.]+)` \| (.+?) \|$", readme, re.MULTILINE))


def line_of(text: str, path: str) -> int:
    """The line, counted from 1, where a file sets this key (`inks.accent`), or begins its table."""
    table, _, key = path.rpartition(".")
    here, best = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            here = header[1]
            if here in (path, table):
                best = number
        elif found := _KEY.match(line):
            names = [name for name in (here, found[1], found[2]) if name]
            if names == [name for name in (table, key) if name]:
                return number
            if not here and names[:1] == [table]:
                best = number  # a table in braces
    return best


def _keys_of(palette: Palette) -> dict[str, Any]:
    keys: dict[str, Any] = msgspec.to_builtins(palette)
    del keys["name"]
    return keys


def _faults(says: Mapping[str, Any], whole: dict[str, Any], table: str = "") -> Iterator[tuple[str, str]]:
    """Put what a file says into `whole`; yields each key that cannot be, and why."""
    for key, value in says.items():
        path = f"{table}{key}"
        match whole.get(key):
            case None:
                close = difflib.get_close_matches(key, whole, n=1)
                hint = f"did you mean {table}{close[0]}?" if close else f"known are {', '.join(whole)}"
                yield path, f"there is no key {path}; {hint}"
            case dict() as inner if isinstance(value, Mapping):
                yield from _faults(value, inner, f"{key}.")
            case dict():
                yield path, f"{path} must be a table: [{path}]"
            case bool():
                if not isinstance(value, bool):
                    yield path, f"{path} must be true or false"
                whole[key] = value
            case list() | tuple():
                if not isinstance(value, list) or len(value) != 8:
                    yield path, f"{path} must be eight colours in brackets, from black to white"
                    continue
                whole[key] = [_colour(ink) for ink in value]
                yield from ((path, _no_colour(path, ink)) for ink in value if not _colour(ink))
            case _ if table:
                if not _colour(value):
                    yield path, _no_colour(path, value)
                whole[key] = _colour(value)
            case _:
                if not isinstance(value, str) or len(value) > _WORDS or not value.isprintable():
                    yield path, f"{path} must be one line of text"
                whole[key] = value


def _colour(value: object) -> str:
    """The colour as palettes have it; "" where it is none."""
    if not isinstance(value, str):
        return ""
    if _HEX.fullmatch(value):
        digits = value[1:].lower()
        return "#" + (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits))
    return value if re.fullmatch(COLOUR, value) else ""


def _no_colour(path: str, value: object) -> str:
    said = json.dumps(value, default=str)[:40]
    return f'{path} is {said}; a colour is "#" and six digits, or of the terminal: "ansi_default", "ansi_red" ...'


def _toml(value: object) -> str:
    # JSON's strings, booleans and lists of strings are TOML's.
    return json.dumps(value, ensure_ascii=False)


def _comment(meanings: Mapping[str, str], path: str) -> str:
    return f"  # {meanings[path]}" if path in meanings else ""
