"""The tools for files of one session."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from oi_tui.app.engine.core.blocks import Block, UserBlock
from oi_tui.app.engine.core.chat_model import EDIT_FILE, WRITE_FILE
from oi_tui.app.engine.core.values import Confinement, EditableText
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.tools.ties import MakeTools, ToolTies
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool
from oi_tui.app.engine.workspace.changing import EDIT_SCHEMA, WRITE_SCHEMA, FileChange, FileChanges, KeepBefore
from oi_tui.app.engine.workspace.checkpoints import Checkpoints, KeptChange
from oi_tui.app.engine.workspace.looking import LIST_SCHEMA, READ_SCHEMA, SEARCH_SCHEMA, FileLook
from oi_tui.app.engine.workspace.path_rules import PathRules

READS = Capabilities(writes=False, destroys=False, network=False, repeatable=True)
CHANGES = Capabilities(destroys=False, network=False)
WITHIN = Confinement(offline=True, own_rules=True)

_file_tool = partial(Tool, confinement=WITHIN, for_small=False)

TIME_LIMIT = 60.0
"""Seconds of a call that reads."""


def file_tools(profile: Profile, checkpoints: Checkpoints | None = None) -> MakeTools:
    """Makes those of a session whose code would run with this profile. What they change can be undone where there are
    checkpoints."""

    def make(ties: ToolTies) -> Iterable[Tool]:
        rules = PathRules(profile, ties.policy)
        look, changes = FileLook(rules), FileChanges(rules, ties.blocks, _keep_before(checkpoints, ties))
        return (*_reading_tools(look), *_changing_tools(changes))

    return make


def _keep_before(checkpoints: Checkpoints | None, ties: ToolTies) -> KeepBefore:
    """Keeps each file as it is before a change."""
    if checkpoints is None:
        return lambda block_id, change: lambda: None

    def keep(block_id: str, change: FileChange) -> Callable[[], None]:
        turn = turn_of(ties.blocks(), block_id)
        before = None if change.before is None else checkpoints.keep_content(change.before.data)
        kept = KeptChange(
            id=0,
            session=ties.session_id(),
            turn=turn,
            block=block_id,
            root=change.place.root,
            rest=change.place.rest,
            before=before,
            after=checkpoints.keep_content(change.data, sync=False),
            mode=0 if change.before is None else change.before.mode,
            maker="tool",
            at=0.0,
        )
        number = checkpoints.add(kept)
        return lambda: checkpoints.drop([number])

    return keep


def turn_of(blocks: Sequence[Block], block_id: str) -> str:
    """Id of the prompt that a block belongs to, "" if there is none before it."""
    turn = ""
    for block in blocks:
        if isinstance(block, UserBlock):
            turn = block.id
        if block.id == block_id:
            break
    return turn


LANGUAGES = {
    ".py": "python",
    ".sh": "shell",
    ".bash": "shell",
    ".js": "javascript",
    ".mjs": "javascript",
    ".rs": "rust",
}
"""Of files, by the end of their names; those that an editor colours."""


def new_text(arguments: Arguments) -> EditableText | None:
    """What a change puts into the file."""
    language = LANGUAGES.get(Path(str(arguments.get("path", ""))).suffix.lower(), "")
    named = next((name for name in ("content", "new", "patch") if name in arguments), None)
    return None if named is None else EditableText(argument=named, language="diff" if named == "patch" else language)


def _reading_tools(look: FileLook) -> tuple[Tool, ...]:
    tool = partial(_file_tool, capabilities=READS, read=look.facts, time_limit=TIME_LIMIT)
    return (
        tool(
            name="read_file",
            description="Read a text file, a picture or a PDF of the user, whole or from one line to another.",
            schema=READ_SCHEMA,
            run=look.read,
        ),
        tool(
            name="list_files",
            description="List a folder as a tree, without what .gitignore names.",
            schema=LIST_SCHEMA,
            run=look.list,
        ),
        tool(
            name="search_files",
            description="Find lines by a regular expression in all files of a folder.",
            schema=SEARCH_SCHEMA,
            run=look.search,
        ),
    )


def _changing_tools(changes: FileChanges) -> tuple[Tool, ...]:
    tool = partial(
        _file_tool,
        run=changes.run,
        capabilities=CHANGES,
        read=changes.facts,
        preview=changes.preview,
        editable=new_text,
    )
    return (
        tool(
            name=WRITE_FILE,
            description="Write a whole text file, a new one or in place of the one that is there.",
            schema=WRITE_SCHEMA,
        ),
        tool(
            name=EDIT_FILE,
            description="Change a part of a text file: `new` in place of `old`, or a patch. Read the file first.",
            schema=EDIT_SCHEMA,
        ),
    )
