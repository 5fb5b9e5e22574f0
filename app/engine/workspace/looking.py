"""The tools that only read: a file, a folder, and a search in many files."""

import asyncio
import base64
import fnmatch
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.files.given_picture import GivenPicture, UnreadablePicture, read_picture
from oi_tui.app.engine.files.pdf_text import read_pdf
from oi_tui.app.engine.policy.reading import Risk, SourceFacts
from oi_tui.app.engine.policy.risks import SECRETS
from oi_tui.app.engine.policy.secrets import names_secret
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity, size_in_words
from oi_tui.app.engine.tools.tool import WHOLE, Arguments, ToolFailed, ToolOutput
from oi_tui.app.engine.workspace.file_access import read_place
from oi_tui.app.engine.workspace.file_text import FileText, read_text
from oi_tui.app.engine.workspace.path_rules import FilePlace, PathRules
from oi_tui.app.engine.workspace.walk import FolderWalk, FoundEntry

MOST_LINES, MOST_CHARACTERS = 800, 16_000
"""Of a file that are read at once."""

LISTED = 500
"""Entries of a list."""

PDF_PAGES = 30

HITS, HIT_WIDTH = 200, 300
"""Lines that a search tells, and characters of each."""

LARGEST_SEARCHED = 5_000_000
"""Bytes of a file that is looked through."""

SEARCH_SECONDS, LINE_SECONDS = 10.0, 1.0
"""That all of a search may take, and one file."""

LONGEST_PATTERN = 1_000

READ_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "from_line": {"type": "integer", "description": "Where to begin; from 1."},
        "to_line": {"type": "integer"},
    },
    "required": ["path"],
}

LIST_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A folder; the working folder if left out."},
        "depth": {"type": "integer", "description": "Levels of folders; 2 if left out."},
    },
}

SEARCH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "A regular expression; it is looked for in each line."},
        "path": {"type": "string", "description": "A folder or file; the working folder if left out."},
        "glob": {"type": "string", "description": "Only files with such a name, like *.py."},
        "ignore_case": {"type": "boolean"},
    },
    "required": ["pattern"],
}


class FileLook:
    """What the reading tools of one session do."""

    def __init__(self, rules: PathRules) -> None:
        self._rules = rules

    def facts(self, arguments: Arguments) -> SourceFacts:
        """What a call reads."""
        path = str(arguments.get("path") or ".")
        uses = self._rules.uses(path)
        secret = (Risk(SECRETS, WHOLE, grave=True),) if any(names_secret(use.path) for use in uses) else ()
        return SourceFacts(places=uses, risks=secret)

    async def read(self, arguments: Arguments, output: ToolOutput) -> RichOutput:
        """A part of a file, as text, or as a picture."""
        place = self._rules.locate(str(arguments["path"]))
        self._rules.check_read(place)
        return await asyncio.to_thread(_read, place, arguments.get("from_line"), arguments.get("to_line"))

    async def list(self, arguments: Arguments, output: ToolOutput) -> str:
        """What is in a folder, as a tree."""
        place = self._rules.locate(str(arguments.get("path") or "."))
        self._rules.check_read(place)
        walk = FolderWalk(place, self._rules.view(), levels=max(1, int(arguments.get("depth") or 2)))
        return await asyncio.to_thread(_list, place, walk)

    async def search(self, arguments: Arguments, output: ToolOutput) -> str:
        """The lines that match a regular expression."""
        place = self._rules.locate(str(arguments.get("path") or "."))
        self._rules.check_read(place)
        walk = FolderWalk(place, self._rules.view())
        search = TextSearch(
            str(arguments["pattern"]), str(arguments.get("glob") or ""), ignore_case=bool(arguments.get("ignore_case"))
        )
        return await asyncio.to_thread(search.run, place, walk)


# -- reading -----------------------------------------------------------------------------------------------------


def _read(place: FilePlace, from_line: int | None, to_line: int | None) -> RichOutput:
    if (content := read_place(place)) is None:
        raise ToolFailed(f"There is no file {safe_text(place.name)}.")
    data, name = content.data, safe_text(place.name)
    if data.startswith(b"%PDF-"):
        return _plain(_read_pdf(data, name), name)
    if (text := read_text(data)) is not None:
        return _plain(_excerpt(text, name, from_line, to_line), name)
    try:
        picture = read_picture(data)
    except UnreadablePicture as error:
        raise ToolFailed(f"{name} is a picture that {error}.") from error
    if picture is None:
        begins = data[:16].hex(" ")
        raise ToolFailed(f"{name} is binary, {size_in_words(len(data))}, and begins with the bytes {begins}.")
    return _picture(picture, name)


def _plain(text: str, name: str) -> RichOutput:
    return RichOutput(data={"text/plain": text}, metadata={"file": name}, is_result=True)


def _picture(picture: GivenPicture, name: str) -> RichOutput:
    told = f"{name}: {picture.form}, {picture.width}×{picture.height} pixels"
    encoded = base64.b64encode(picture.data).decode()
    return RichOutput(data={picture.mime: encoded, "text/plain": told}, is_result=True)


def _read_pdf(data: bytes, name: str) -> str:
    found = read_pdf(data, pages=PDF_PAGES, characters=MOST_CHARACTERS)
    if not any(text.strip() for text in found.texts):
        raise ToolFailed(f"{name} is a PDF that {found.why or 'has no text'}.")
    pages = "\n\n".join(f"[page {number}]\n{text.strip()}" for number, text in enumerate(found.texts, 1))
    told = f"{name}: PDF, {quantity(found.pages, 'page')}"
    told += f", the first {len(found.texts)} of them" * (len(found.texts) < found.pages)
    return f"{told}{f' ({found.why})' if found.why else ''}\n\n{pages}"


def _excerpt(text: FileText, name: str, from_line: int | None, to_line: int | None) -> str:
    lines = text.plain.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    first = max(1, from_line or 1)
    if first > max(1, len(lines)):
        raise ToolFailed(f"{name} has {quantity(len(lines), 'line')} only.")
    last = min(len(lines), to_line or len(lines), first + MOST_LINES - 1)
    shown: list[str] = []
    room = MOST_CHARACTERS
    for line in lines[first - 1 : last]:
        if shown and len(line) > room:
            break
        shown.append(line if len(line) <= room else f"{line[:room]}…")
        room -= len(shown[-1]) + 1
    last = first + len(shown) - 1
    whole = first == 1 and last == len(lines)
    told = f"{quantity(len(lines), 'line')}" if whole else f"lines {first:,} to {last:,} of {len(lines):,}"
    told = ", ".join(filter(None, (told, text.describe())))
    more = "" if last >= len(lines) else f"\n[more: from_line={last + 1}]"
    return f"[{name}: {told}]\n" + "\n".join(shown) + more


# -- listing -----------------------------------------------------------------------------------------------------


def _list(place: FilePlace, walk: FolderWalk) -> str:
    try:
        met = list(islice(walk.entries(), LISTED + 1))
    except OSError as error:
        raise ToolFailed(f"{safe_text(place.name)} cannot be listed: {error.strerror}.") from error
    shown, inside = met[:LISTED], dict[str, list[FoundEntry]]()
    for entry in shown:
        inside.setdefault(entry.rest.rpartition("/")[0], []).append(entry)
    lines = list(_tree("" if place.rest == "." else place.rest, inside, 0))
    notes = [f"more than {LISTED} entries: the nearest are listed"] * (len(met) > LISTED)
    notes += filter(None, [walk.remarks()])
    counted = quantity(len(shown), "entry", "entries")
    head = f"[{'; '.join((f'{safe_text(place.name)}: {counted}', *notes))}]"
    return "\n".join((head, *lines))


def _tree(folder: str, inside: dict[str, list[FoundEntry]], depth: int) -> Iterator[str]:
    for entry in inside.get(folder, ()):
        name = safe_text(entry.rest.rpartition("/")[2]).replace("\n", "\\n")
        size = "" if entry.is_folder else f"  {size_in_words(entry.size)}"
        yield f"{'  ' * depth}{name}{'/' if entry.is_folder else ''}{size}"
        if entry.is_folder:
            yield from _tree(entry.rest, inside, depth + 1)


# -- searching ---------------------------------------------------------------------------------------------------


class TextSearch:
    """One search. ripgrep, where it is installed, only chooses the files: their lines are then read as those of any
    other file. For a thread."""

    def __init__(self, pattern: str, glob: str = "", *, ignore_case: bool = False) -> None:
        """ToolFailed for what is no regular expression."""
        import regex  # deferred: a search is rare; the one library whose searches have a time limit

        if not pattern or len(pattern) > LONGEST_PATTERN:
            raise ToolFailed(f"The pattern has 1 to {LONGEST_PATTERN:,} characters.")
        try:
            self._regex = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
        except regex.error as error:
            raise ToolFailed(f"{safe_text(pattern)} is no regular expression: {error}.") from error
        self._source, self._glob, self._ignore_case = pattern, glob, ignore_case
        self._end = 0.0
        self._slow: list[str] = []

    def run(self, place: FilePlace, walk: FolderWalk) -> str:
        """What was found, as `path:line: text`."""
        self._end = time.monotonic() + SEARCH_SECONDS
        hits: list[str] = []
        looked, more = 0, False
        for found in self._files(place, walk):
            if time.monotonic() > self._end:
                walk.cut = f"it was ended after {SEARCH_SECONDS:g} seconds"
                break
            looked += 1
            for hit in self._lines(found):
                if len(hits) == HITS:
                    more = True
                    break
                hits.append(hit)
            if more:
                break
        notes = [f"more than {HITS} lines: the first are shown"] * more
        notes += [f"{quantity(len(self._slow), 'file')} given up: {', '.join(self._slow[:3])}"] * bool(self._slow)
        notes += filter(None, [walk.remarks()])
        counted = quantity(len(hits), "line")
        head = f"[{counted} in {quantity(looked, 'file')} looked at{'; ' if notes else ''}{'; '.join(notes)}]"
        return "\n".join((head, *hits))

    def _files(self, place: FilePlace, walk: FolderWalk) -> Iterator[FilePlace]:
        """A file itself, or those of a folder."""
        if not os.path.isdir(place.path):
            yield place
            return
        worth = self._ask_ripgrep(place)
        try:
            for entry in walk.entries():
                if entry.is_folder or entry.size > LARGEST_SEARCHED or not self._is_named(entry.rest):
                    continue
                found = FilePlace(
                    place.root, entry.rest, os.path.normpath(os.path.join(place.name, self._below(place, entry)))
                )
                if worth is None or found.path in worth:
                    yield found
        except OSError as error:
            raise ToolFailed(f"{safe_text(place.name)} cannot be searched: {error.strerror}.") from error

    @staticmethod
    def _below(place: FilePlace, entry: FoundEntry) -> str:
        return entry.rest if place.rest == "." else entry.rest.removeprefix(f"{place.rest}/")

    def _is_named(self, rest: str) -> bool:
        if not self._glob:
            return True
        return fnmatch.fnmatch(rest.rpartition("/")[2], self._glob) or fnmatch.fnmatch(
            rest, self._glob.removeprefix("**/")
        )

    def _ask_ripgrep(self, place: FilePlace) -> frozenset[str] | None:
        """Files that have the pattern, None where ripgrep cannot say."""
        if (program := shutil.which("rg")) is None or os.path.realpath(program).startswith(f"{place.root}/"):
            return None  # a folder brings no program that we run
        command = [program, "--no-config", "--files-with-matches", "--null", "--hidden", "--no-messages", "--text"]
        command += ["--max-filesize", str(LARGEST_SEARCHED), *["--ignore-case"] * self._ignore_case]
        try:
            done = subprocess.run(
                [*command, "--regexp", self._source, "--", place.path],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SEARCH_SECONDS / 2,
                check=False,
                env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode not in (0, 1):  # a pattern that only ours knows, for instance
            return None
        return frozenset(map(os.fsdecode, filter(None, done.stdout.split(b"\0"))))

    def _lines(self, found: FilePlace) -> Iterable[str]:
        try:
            content = read_place(found, LARGEST_SEARCHED)
        except ToolFailed:
            return  # gone, closed to us, or grown meanwhile
        text = None if content is None else read_text(content.data)
        if text is None:
            return
        end = time.monotonic() + LINE_SECONDS
        for number, line in enumerate(text.plain.split("\n"), 1):
            try:
                match = self._regex.search(line, timeout=max(0.001, min(end, self._end) - time.monotonic()))
            except TimeoutError:
                self._slow.append(safe_text(found.name))
                return
            if match is not None:
                at = max(0, match.start() - HIT_WIDTH // 2)
                shown = line if len(line) <= HIT_WIDTH else f"{'…' * (at > 0)}{line[at : at + HIT_WIDTH]}…"
                yield f"{safe_text(found.name)}:{number}: {safe_text(shown)}"


def arguments_key(arguments: Arguments) -> bytes:
    """The same for the same arguments, however they are spelled."""
    return msgspec.json.encode(arguments, order="deterministic")
