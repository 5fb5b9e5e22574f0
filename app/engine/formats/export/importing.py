"""A file as a session.

The file is a stranger's. Whatever is in it, there are either events that fold to a session, or a StoreError that says
what is wrong and where. Nothing in it is run or granted: no approval mode, no "always", no model and no server comes
from a file. Nor does it speak as the program: notices, and the rules that let code run, are marked as the file's. The
plan counts as one that the assistant wrote, so the model does not read that the person changed it. `cwd` is where the
session was, to be asked about before it is used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent, PlanChanged
from oi_tui.app.engine.core.plan import PlanStep, bounded_steps
from oi_tui.app.engine.core.session_records import TITLE_LIMIT
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.formats.export.json_reading import read_json
from oi_tui.app.engine.formats.lmc.envelope import FORMAT, blocks_of_envelope, blocks_of_list
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks, has_run
from oi_tui.app.engine.transcript.outline import SessionOutline

Reader = Callable[[bytes, str], tuple[list[Block], SessionOutline | None] | None]
"""Gets content and name of a file; None if it is of another format, StoreError if it is a broken one."""

LONGEST_PATH = 4_096


class ImportedSession(Value, frozen=True, kw_only=True):
    """A session that was read from a file."""

    events: tuple[AnyEvent, ...]
    """Without `SessionOpened`, which the store adds."""
    title: str
    """Of the session, else the name of the file."""
    cwd: str
    """An absolute path that need not exist, "" if the file names none."""
    format: str
    """`lmc`, or the name of a reader."""


def read_session(data: bytes, name: str, readers: Mapping[str, Reader]) -> ImportedSession:
    """The session in a file with this name, as one of the readers or the message language has it; StoreError if there
    is none in it."""
    for form, read in readers.items():
        if (found := read(data, name)) is not None:
            return _make_session(*found, name, form)
    content = read_json(data)
    session: SessionOutline | None
    match content:
        case {"format": str(form), "messages": _} if form == FORMAT:
            blocks, session = blocks_of_envelope(content)
            return _make_session(blocks, session, name, "lmc")
        case list():
            return _make_session(blocks_of_list(content), None, name, "lmc")
        case _:
            raise StoreError("The file holds no session", hint=_hint(content))


def _make_session(blocks: list[Block], session: SessionOutline | None, name: str, form: str) -> ImportedSession:
    events = events_of_blocks(blocks, session.usage if session is not None else None)
    events += _plan_events(session.plan if session is not None else (), blocks)
    title = session.title if session is not None else PurePath(name).stem.replace("_", " ")
    return ImportedSession(
        events=tuple(events),
        title=one_line(title)[:TITLE_LIMIT],
        cwd=_path(session.cwd) if session is not None else "",
        format=form,
    )


def _plan_events(steps: Sequence[PlanStep], blocks: Sequence[Block]) -> Iterator[AnyEvent]:
    """The plan within its bounds; evidence is a block that ran."""
    ran = {block.id for block in blocks if isinstance(block, Action) and has_run(block)}
    kept = bounded_steps(replace(step, evidence=tuple(filter(ran.__contains__, step.evidence))) for step in steps)
    if kept:
        yield PlanChanged(steps=kept, author="assistant")


def _path(text: str) -> str:
    safe = len(text) <= LONGEST_PATH and PurePath(text).is_absolute() and safe_text(text) == text
    return text if safe and "\n" not in text else ""


def _hint(content: Any) -> str:
    if isinstance(content, dict):
        return "Expected `cells` of a Jupyter notebook, or `format` and `messages` of the message language."
    return "Expected a Jupyter notebook or a list of messages."
