"""Functions that the person kept from a session: one Python file each, to read, edit and put into git.

    # /// oi-tui
    # version = 2
    # kept = "2026-11-24"
    # example = "net_price(119)"
    # tested = "passed"
    # ///

    TAX = 0.19

    def net_price(gross):
        ...

The head may be missing. What a file holds is used only as the person saw it and agreed to it: a digest of that is kept
elsewhere, and a file that was changed since is asked about again.
"""

import ast
import datetime
import functools
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from oi_tui.app.engine.core.encoding import decode_toml, text_digest
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.owned_file import file_lock, read_owned_file, read_record, replace_owned_file
from oi_tui.app.engine.files.paths import data_dir, private_dir
from oi_tui.app.engine.text.words import one_line, some_names

MOST_FUNCTIONS = 500

LARGEST_FUNCTION = 100_000
"""Characters of a file."""

LONGEST_SUMMARY, LONGEST_SIGNATURE = 200, 300
"""Characters of what is listed of one function."""

PASSED = "passed"
"""How its last test in a fresh kernel went; anything else says what went wrong."""

FUNCTIONS_FILE = "functions.json"
"""The record of what the person agreed to, beside the folder of functions."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HEAD = re.compile(r"# /// oi-tui\n((?:#(?:| [^\n]*)\n)*?)# ///\n")
_HINT = "Delete it: then you agree to each function again."

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class WrongFunction(Exception):
    """Why it cannot be used, as the rest of a sentence about it."""


class FunctionHead(msgspec.Struct, frozen=True, kw_only=True):
    """The comment in front of the code. Unknown keys are ignored."""

    version: int = 1
    kept: str = ""
    """The day."""
    example: str = ""
    """Python that calls it, and needs nothing but what the file defines; "" where none is known."""
    tested: str = ""


class KeptFunction(NamedTuple):
    """One of them. Either it can be read, or something is wrong with it."""

    name: str
    path: Path
    text: str = ""
    """The whole file."""
    head: FunctionHead = FunctionHead()
    signature: str = ""
    """`net_price(gross: float) -> float`, `async fetch(url)` or `class Table(rows)`, on one line."""
    docstring: str = ""
    wrong: str = ""
    agreed: bool = False
    """Whether the person agreed to exactly this text."""

    @property
    def summary(self) -> str:
        """Its own description, on one line."""
        return one_line(self.docstring.strip().partition("\n\n")[0])[:LONGEST_SUMMARY]

    @property
    def code(self) -> str:
        """The code that runs: the file without its head."""
        return _HEAD.sub("", self.text, count=1).strip("\n") + "\n"

    @property
    def digest(self) -> str:
        """Digest of the whole file."""
        return text_digest(self.text)


def functions_dir() -> Path:
    """The folder of kept functions: `$XDG_DATA_HOME/oi-tui/functions`."""
    return data_dir() / "functions"


def find_functions(folder: Path | None = None) -> tuple[KeptFunction, ...]:
    """All of them by name, for lists: a file is read again if its time or size changed. None where there is no such
    folder. Never raises."""
    place = folder or functions_dir()
    try:
        found = sorted(
            (place / one.name, one.stat().st_mtime_ns, one.stat().st_size, one.inode())
            for one in os.scandir(place)
            if one.name.endswith(".py") and one.is_file()
        )
    except OSError:
        return ()
    agreed = _read_agreed(place)
    functions = (_look_again(*stamp) for stamp in found[:MOST_FUNCTIONS])
    return tuple(one._replace(agreed=agreed.get(one.name) == one.digest and not one.wrong) for one in functions)


def find_function(name: str, folder: Path | None = None) -> KeptFunction:
    """The one of this name, as it is now; SettingsError if there is none."""
    place = folder or functions_dir()
    path = place / f"{name}.py"
    if not _NAME.fullmatch(name) or not os.path.lexists(path):
        raise SettingsError(f"There is no kept function {one_line(name)[:80]!r}.", hint="oi-tui skills list")
    found = _look(path)
    return found._replace(agreed=_read_agreed(place).get(name) == found.digest and not found.wrong)


def _read_agreed(place: Path) -> dict[str, str]:
    """Digests that the person agreed to, by name; none if the record cannot be read: the next agreement reports why."""
    try:
        return _read_record(place).agreed
    except SettingsError:
        return {}


@functools.lru_cache(MOST_FUNCTIONS)
def _look_again(path: Path, modified: int, size: int, inode: int) -> KeptFunction:
    """Read the file again; cached by its time and size."""
    return _look(path)


def _look(path: Path) -> KeptFunction:
    name = path.name.removesuffix(".py")
    try:
        text = read_owned_file(path, "function", "", owner=None)
        return read_function(name, text or "", path)
    except SettingsError as error:
        return KeptFunction(one_line(name)[:64], path, wrong=f"cannot be read: {error.title}")
    except WrongFunction as error:
        return KeptFunction(one_line(name)[:64], path, text or "", wrong=str(error))


def read_function(name: str, text: str, path: Path) -> KeptFunction:
    """The function of that name in this text; WrongFunction."""
    if not _NAME.fullmatch(name):
        raise WrongFunction("has a name that is none in Python")
    if len(text) > LARGEST_FUNCTION:
        raise WrongFunction(f"has more than {LARGEST_FUNCTION:,} characters")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongFunction(f"is no Python: {one_line(str(error))[:200]}") from error
    found = [node for node in tree.body if isinstance(node, Definition) and node.name == name]
    if not found:
        raise WrongFunction(f"does not define {name}")
    docstring = ast.get_docstring(found[-1]) or ""
    return KeptFunction(name, path, text, read_function_head(text), signature_of(found[-1]), docstring)


def read_function_head(text: str) -> FunctionHead:
    """The head of a file, the defaults if it has none; WrongFunction if it is not TOML."""
    if (found := _HEAD.match(text)) is None:
        return FunctionHead()
    lines = (line.removeprefix("#").removeprefix(" ") for line in found[1].splitlines())
    try:
        return msgspec.convert(decode_toml("\n".join(lines)), FunctionHead)
    except ValueError as error:
        raise WrongFunction(f"has a head that is wrong: {one_line(str(error))[:200]}") from error


def function_file(head: FunctionHead, code: str) -> str:
    """The text of a file with this head."""
    import tomli_w  # only where something is kept

    kept = head.kept or datetime.datetime.now().astimezone().date().isoformat()
    values = {"version": head.version, "kept": kept} | ({"example": head.example} if head.example else {})
    lines = tomli_w.dumps(values | ({"tested": head.tested} if head.tested else {}), multiline_strings=True)
    body = "".join(f"# {line}".rstrip() + "\n" for line in lines.splitlines())
    return f"# /// oi-tui\n{body}# ///\n\n{code.strip()}\n"


def signature_of(node: Definition) -> str:
    """How it is called, on one line."""
    if isinstance(node, ast.ClassDef):
        made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        arguments = made[-1].args if made else None
        if arguments is not None:
            first = arguments.posonlyargs or arguments.args
            del first[:1]
        return _line(f"class {node.name}({ast.unparse(arguments) if arguments is not None else ''})")
    returned = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    start = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return _line(f"{start}{node.name}({ast.unparse(node.args)}){returned}")


def _line(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= LONGEST_SIGNATURE else f"{line[:LONGEST_SIGNATURE]}…"


def keep_function(name: str, text: str, folder: Path | None = None, *, agreed: bool = True) -> KeptFunction:
    """Write the file, which the person `agreed` to; SettingsError if it is none, or cannot be written."""
    place = folder or functions_dir()
    try:
        found = read_function(name, text, place / f"{name}.py")
    except WrongFunction as error:
        raise SettingsError(f"{one_line(name)[:80]} {error}: it is not kept.") from error
    there = {one.path.stem for one in find_functions(place)}
    if len(there) >= MOST_FUNCTIONS and name not in there:
        raise SettingsError(f"{MOST_FUNCTIONS} functions are kept: remove one first.")
    private_dir(place)
    replace_owned_file(found.path, text)
    if agreed:
        agree_to_function(name, found.digest, place)
    return found._replace(agreed=agreed)


def agree_to_function(name: str, digest: str, folder: Path | None = None) -> None:
    """The person saw the text that has this digest, and agreed to it."""
    place = folder or functions_dir()
    with file_lock(_record_path(place)):
        record = _read_record(place)
        record.agreed[name] = digest
        _write_record(place, record)


def remove_function(name: str, folder: Path | None = None) -> None:
    """Delete it; SettingsError if there is none."""
    place = folder or functions_dir()
    found = find_function(name, place)
    try:
        found.path.unlink()
    except OSError as error:
        raise SettingsError(f"The function {name} cannot be deleted: {error.strerror}.") from error
    with file_lock(_record_path(place)):
        record = _read_record(place)
        record.agreed.pop(name, None)
        _write_record(place, record)


def names_in_words(functions: Iterable[KeptFunction]) -> str:
    """Some names, for a sentence."""
    return some_names([one.name for one in functions], 20)


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    agreed: dict[str, str] = {}
    """By name, the digest of the file that the person agreed to."""


def _record_path(place: Path) -> Path:
    return private_dir(place.parent) / FUNCTIONS_FILE


def _read_record(place: Path) -> _Record:
    return read_record(_Record, place.parent / FUNCTIONS_FILE, "record of kept functions", _HINT, owner=os.getuid())


def _write_record(place: Path, record: _Record) -> None:
    replace_owned_file(_record_path(place), msgspec.json.encode(record).decode())
