"""The tools that change files: one whole, or in places. What the person was shown is what is written, or nothing is."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.app.engine.core.encoding import decode_arguments
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.policy.reading import ReplacedFile, Risk, SourceFacts
from oi_tui.app.engine.policy.risks import DECEIVES, RUNS_LATER, SECRETS
from oi_tui.app.engine.policy.secrets import names_secret
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.engine.tools.tool import WHOLE, Arguments, ToolFailed, ToolOutput
from oi_tui.app.engine.workspace.diffs import MIME, TextDiff, unified_diff
from oi_tui.app.engine.workspace.edits import WrongEdit, apply_patch, replace_text
from oi_tui.app.engine.workspace.file_access import (
    FileContent,
    changed_since,
    content_digest,
    read_place,
    replace_place,
)
from oi_tui.app.engine.workspace.file_text import FileText, UnwritableText, read_text
from oi_tui.app.engine.workspace.looking import arguments_key
from oi_tui.app.engine.workspace.path_rules import FilePlace, PathRules, PlaceRefused

LARGEST_CHANGED = 10_000_000
"""Bytes of a file, before and after."""

REMEMBERED = 200
"""Changes that were shown and have not run."""

WRITE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}

EDIT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "old": {
            "type": "string",
            "description": "Text that is in the file exactly once, with lines around it if need be.",
        },
        "new": {"type": "string", "description": "What takes its place."},
        "all": {"type": "boolean", "description": "Replace it wherever it is."},
        "patch": {"type": "string", "description": "Instead of old and new: hunks as `diff -u` writes them."},
    },
    "required": ["path"],
}


class FileChange(NamedTuple):
    """What a call does to one file."""

    place: FilePlace
    before: FileContent | None
    """None: there is no such file yet."""
    data: bytes
    """Of the file afterwards."""
    diff: TextDiff
    loosely: str = ""
    """As in `EditedText`."""

    @property
    def digest(self) -> str | None:
        """Digest of the file before the change."""
        return None if self.before is None else self.before.digest


KeepBefore = Callable[[str, FileChange], Callable[[], None]]
"""Keeps the file as it is before a change, for the block of this id; what it returns forgets that, where the change
does not come about. OiTuiError if it cannot be kept."""


class FileChanges:
    """What the writing tools of one session do."""

    def __init__(self, rules: PathRules, blocks: Callable[[], Sequence[Block]], keep: KeepBefore) -> None:
        self._rules, self._blocks, self._keep = rules, blocks, keep
        self._shown: OrderedDict[bytes, str | None] = OrderedDict()
        """By arguments, the digest of the file that a change was shown for."""

    def facts(self, arguments: Arguments) -> SourceFacts:
        """What a call writes, for rules and labels."""
        self._shown.pop(arguments_key(arguments), None)
        path, whole = str(arguments.get("path", "")), "content" in arguments
        uses = self._rules.uses(path, writes=True, whole=whole)
        risks = [Risk(SECRETS, WHOLE, grave=True)] * any(names_secret(use.path) for use in uses)
        written = str(arguments.get("content") or arguments.get("new") or arguments.get("patch") or "")
        if visible_text(written, emoji=True).hidden:
            risks.append(Risk(DECEIVES, WHOLE, grave=True))
        replaced: tuple[ReplacedFile, ...] = ()
        try:
            place = self._rules.locate(path)
            if self._rules.later(place):
                risks.append(Risk(RUNS_LATER, WHOLE, grave=True))
        except PlaceRefused:
            pass  # the call fails, and says why
        return SourceFacts(places=uses, risks=tuple(risks), replaced=replaced)

    async def preview(self, arguments: Arguments) -> RichOutput:
        """The change as a diff; what runs later must fit the file that it was made from."""
        change = await asyncio.to_thread(self._plan, arguments)
        self._shown[arguments_key(arguments)] = change.digest
        while len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)
        text = f"{change.loosely}\n{change.diff.text}" if change.loosely else change.diff.text
        return RichOutput(data={MIME: text, "text/plain": text})

    async def run(self, arguments: Arguments, output: ToolOutput) -> RichOutput:
        """Make the change, unless it would be another one than was shown."""
        change = await asyncio.to_thread(self._plan, arguments)
        seen, digest = self._take_shown(output.block_id, arguments)
        if seen and digest != change.digest:
            raise ToolFailed(changed_since(change.place))
        if change.loosely and not seen:
            await _ask_about(change, output)
        await asyncio.to_thread(self._write, output.block_id, change)
        name = safe_text(change.place.name)
        did = "Made" if change.before is None else "Changed"
        told = f"{did} {name}: {change.diff.describe()}."
        told += f" ({change.loosely}.)" if change.loosely else ""
        return RichOutput(data={"text/plain": told, MIME: change.diff.text}, is_result=True)

    def _write(self, block_id: str, change: FileChange) -> None:
        """ToolFailed if it cannot be written, or could not be undone: then nothing is written."""
        mode = None if change.before is None else change.before.mode
        try:
            forget = self._keep(block_id, change)
        except OiTuiError as error:
            raise ToolFailed(f"{error.title} Nothing was written.") from error
        try:
            replace_place(change.place, change.data, change.digest, mode)
        except ToolFailed:
            forget()
            raise

    def _take_shown(self, block_id: str, arguments: Arguments) -> tuple[bool, str | None]:
        """Whether a change was shown for this call, and the file that it was shown for; the person may have edited it
        since."""
        block = next((block for block in reversed(self._blocks()) if block.id == block_id), None)
        keys = [arguments_key(arguments)]
        if isinstance(block, Action) and block.original is not None:
            with contextlib.suppress(ValueError):  # it was no call before the person corrected it: nothing was shown
                keys.append(arguments_key(decode_arguments(block.original)))
        for key in keys:
            if key in self._shown:
                return True, self._shown.pop(key)
        return False, None

    def _plan(self, arguments: Arguments) -> FileChange:
        """What the call would do now; ToolFailed if it cannot work."""
        place = self._rules.locate(str(arguments["path"]))
        self._rules.check_write(place)
        before = read_place(place, LARGEST_CHANGED)
        text = FileText("") if before is None else read_text(before.data)
        name = safe_text(place.name)
        if text is None:
            raise ToolFailed(f"{name} is no text: code can change it.")
        try:
            made, loosely = _made_text(arguments, text, there=before is not None, name=name)
            data = text.spell(made)
        except (WrongEdit, UnwritableText) as error:
            raise ToolFailed(f"{name}: {error}") from error
        if len(data) > LARGEST_CHANGED:
            raise ToolFailed(f"{name} would be larger than {LARGEST_CHANGED:,} bytes.")
        if before is not None and content_digest(data) == before.digest:
            raise ToolFailed(f"{name} is like that already.")
        return FileChange(
            place, before, data, unified_diff(None if before is None else text.text, made, place.name), loosely
        )


def _made_text(arguments: Arguments, text: FileText, *, there: bool, name: str) -> tuple[str, str]:
    """The text afterwards, and what was done loosely to find the place."""
    if "content" in arguments:
        return text.with_line_ends(str(arguments["content"])), ""
    if not there:
        raise ToolFailed(f"There is no file {name}: write_file makes one.")
    if (patch := arguments.get("patch")) is not None:
        if "old" in arguments or "new" in arguments:
            raise WrongEdit("Give either old and new, or a patch.")
        return apply_patch(text, str(patch)).text, ""
    if "old" not in arguments or "new" not in arguments:
        raise WrongEdit("Give old and new, or a patch.")
    made = replace_text(text, str(arguments["old"]), str(arguments["new"]), everywhere=bool(arguments.get("all")))
    return made.text, made.loosely


async def _ask_about(change: FileChange, output: ToolOutput) -> None:
    """A place that was not found exactly is the person's decision; ToolFailed if it is no."""
    output.show(RichOutput(data={MIME: change.diff.text, "text/plain": change.diff.text}))
    name = safe_text(change.place.name)
    said = await output.ask(f"{name}: {change.loosely}. Change it as shown?", ("yes", "no"))
    if said is None or said.strip().lower() not in ("yes", "y"):
        why = "nobody could be asked" if said is None else "the person said no"
        raise ToolFailed(f"{name}: {change.loosely}, and {why}. Nothing was written: give the text exactly.")
