"""Past sessions: list, search, preview, rename, archive, export.

All of it happens in one thread with its own connection, so neither a search through half a million messages nor the
export of a long session delays the open session.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, assert_never

import msgspec

from oi_tui.app.engine.core.blocks import Action, Block, NoticeBlock, ProseBlock, SummaryBlock, ThoughtBlock, UserBlock
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.core.library_replies import (
    FormatsFound,
    PromptsFound,
    SessionEdited,
    SessionExported,
    SessionSeen,
    SessionsFound,
)
from oi_tui.app.engine.core.library_verbs import (
    EditSession,
    ExportSession,
    FindFormats,
    FindPrompts,
    FindSessions,
    PreviewSession,
)
from oi_tui.app.engine.core.outputs import Output, StreamOutput
from oi_tui.app.engine.core.protocol import Reply, failure_reply
from oi_tui.app.engine.core.session_records import PastPrompt
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.formats.export import write_session
from oi_tui.app.engine.hooks.calling import NO_PLUGINS, Hooks
from oi_tui.app.engine.hooks.session_files import session_formats, session_writers
from oi_tui.app.engine.log.store import Claims, Store
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.transcript.event_log import fold_events

_log = logging.getLogger(__name__)

LibraryVerb = FindSessions | PreviewSession | EditSession | ExportSession | FindPrompts | FindFormats

RECORDS = 2_000
"""Sessions that one answer lists; a search finds the others."""

HITS = 100

PREVIEW_BLOCKS, PREVIEW_TEXT, PREVIEW_OUTPUT = 40, 2_000, 600
"""Blocks of a preview, characters of each text in it, and of what a run printed."""

PROMPTS, PROMPTS_READ, PAGE = 200, 20_000, 500
"""Prompts of one answer, those that are looked at for it at most, and how many at a time."""

UPKEEP = 0.05
"""Seconds at a time for what can wait; a question that comes meanwhile is answered next."""


class Library:
    """Answers verbs about sessions, in order; of searches that wait only the newest is answered."""

    def __init__(self, open_store: Callable[[], Store], send: Send, claims: Claims, hooks: Hooks = NO_PLUGINS) -> None:
        """`open_store` is called in the thread, when something is asked for the first time; `hooks` write files."""
        self._hooks = hooks
        self._claims = claims
        self._open_store = open_store
        self._send = send
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="library")
        self._store: Store | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._newest: FindSessions | None = None
        self._newest_prompts: FindPrompts | None = None
        self._tidying = False
        self._incomplete: LibraryVerb | None = None
        """The search that is answered once more when all sessions can be looked through."""

    def follow(self, verb: LibraryVerb) -> None:
        """Answer this once the earlier requests are answered."""
        if isinstance(verb, FindSessions):
            self._newest = verb
        if isinstance(verb, FindPrompts):
            self._newest_prompts = verb
        self._begin(self._answer(verb))

    def tidy(self) -> None:
        """Do what can wait, bit by bit: look through sessions that are not yet, remove those long deleted."""
        if not self._tidying:
            self._tidying = True
            self._begin(self._run_upkeep())

    async def close(self) -> None:
        """End it; what is under way in the thread is waited for, so that no export is cut. Idempotent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._thread.submit(self._close_store)
        await asyncio.to_thread(self._thread.shutdown)

    # -- on the loop -----------------------------------------------------------------------------------

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, verb: LibraryVerb) -> None:
        try:
            reply = await asyncio.get_running_loop().run_in_executor(self._thread, self._do, verb)
        except OiTuiError as error:
            reply = failure_reply(error)
        except Exception as error:
            # Boundary: a defect in looking through old sessions must not take the open one with it.
            _log.exception("a question about sessions failed")
            reply = failure_reply(OiTuiError(f"oi-tui failed: {error!r}.", hint="See the log."))
        if reply is not None:
            await self._send(reply)
        if isinstance(reply, SessionsFound) and reply.behind:
            self._incomplete = verb
            self.tidy()

    async def _run_upkeep(self) -> None:
        loop, more = asyncio.get_running_loop(), True
        try:
            while more:
                more = await loop.run_in_executor(self._thread, lambda: self._get_store().tidy(UPKEEP))
        except OiTuiError as error:
            _log.warning("upkeep of the sessions stopped: %s", error)
        except Exception:
            # Boundary: a defect in looking through old sessions must not take the open one with it.
            _log.exception("upkeep of the sessions stopped")
        else:
            if self._incomplete is not None and self._incomplete is self._newest:
                self._begin(self._answer(self._incomplete))
        finally:
            self._incomplete, self._tidying = None, False

    # -- in the thread ---------------------------------------------------------------------------------

    def _get_store(self) -> Store:
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()

    def _do(self, verb: LibraryVerb) -> Reply | None:
        store = self._get_store()
        match verb:
            case FindSessions():
                return _find_sessions(store, verb) if verb is self._newest else None
            case PreviewSession():
                return _preview(store, verb.session_id)
            case EditSession():
                if verb.deleted:
                    self._claims.require_free(verb.session_id)
                return SessionEdited(
                    session=store.edit(
                        verb.session_id, title=verb.title, tags=verb.tags, archived=verb.archived, deleted=verb.deleted
                    )
                )
            case ExportSession():
                return _export(store, verb, self._hooks)
            case FindFormats():
                return FormatsFound(formats=session_formats(self._hooks))
            case FindPrompts():
                return _prompts(store, verb) if verb is self._newest_prompts else None
            case _:
                assert_never(verb)


def _find_sessions(store: Store, verb: FindSessions) -> SessionsFound:
    if not verb.query.strip():
        records = store.sessions(archived=verb.archived, limit=RECORDS + 1)
        return SessionsFound(archived=verb.archived, sessions=records[:RECORDS], cut=len(records) > RECORDS)
    hits = store.search(verb.query, archived=verb.archived, limit=HITS + 1)
    cut, behind = len(hits) > HITS, store.count_unindexed()  # after the search, which may have found its index damaged
    return SessionsFound(query=verb.query, archived=verb.archived, hits=hits[:HITS], cut=cut, behind=behind)


def _prompts(store: Store, verb: FindPrompts) -> PromptsFound:
    words = verb.query.casefold().split()
    found: dict[str, PastPrompt] = {}
    before: int | None = None
    for _ in range(0, PROMPTS_READ, PAGE):
        page = store.prompts(PAGE, before)
        for prompt in page:
            text = prompt.text.casefold()
            if all(word in text for word in words):
                found.setdefault(prompt.text.strip(), prompt)
        if len(page) < PAGE or len(found) >= PROMPTS:
            break
        before = page[-1].place
    return PromptsFound(query=verb.query, prompts=tuple(found.values())[:PROMPTS])


def _preview(store: Store, session_id: str) -> SessionSeen:
    transcript = fold_events(store.load(session_id))
    blocks = [block for block in transcript.blocks if not isinstance(block, NoticeBlock)]
    shown = tuple(_clip_block(block) for block in blocks[:PREVIEW_BLOCKS])
    return SessionSeen(session=store.record(session_id), blocks=shown, count=len(blocks))


def _clip_block(block: Block) -> Block:
    """Short enough to be sent and drawn at once."""
    match block:
        case UserBlock() | ProseBlock() | ThoughtBlock() | SummaryBlock():
            return msgspec.structs.replace(block, text=_cut(block.text, PREVIEW_TEXT))
        case Action():
            source = _cut(block.source, PREVIEW_TEXT)
            return msgspec.structs.replace(block, source=source, original=None, outputs=_preview_outputs(block.outputs))
        case NoticeBlock():
            return block


def _preview_outputs(outputs: Sequence[Output]) -> tuple[Output, ...]:
    """The beginning of the printed text; pictures and other forms only appear when the session is open."""
    for output in outputs:
        if isinstance(output, StreamOutput):
            return (StreamOutput(name=output.name, text=_cut(output.text, PREVIEW_OUTPUT)),)
    return ()


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]} …"


def _export(store: Store, verb: ExportSession, hooks: Hooks) -> SessionExported:
    """Write the file whole or not at all, and never over another."""
    path = Path(verb.path).expanduser()
    if not path.is_absolute():
        raise SettingsError(f"The path {verb.path} is not absolute.")
    record = store.record(verb.session_id)
    events, writers = store.load(verb.session_id), session_writers(hooks)
    data = write_session(events, verb.format, writers, images=verb.images, title=record.title)
    try:
        write_whole(path, data)
    except FileExistsError as error:
        raise SettingsError(f"{path} is there already.", hint="Choose another name.") from error
    except OSError as error:
        hint = "Is the disk full, or the folder read-only?"
        raise SettingsError(f"{path} cannot be written: {error.strerror}.", hint=hint) from error
    return SessionExported(session_id=verb.session_id, path=str(path))
