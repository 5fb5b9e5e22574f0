"""Answers of the engine that are no part of a session, as lines: context, instructions, sessions, downloads."""

import time
from collections.abc import Iterable, Iterator, Sequence

from oi_tui.app.engine.core.context_use import ContextUse
from oi_tui.app.engine.core.library_replies import SessionExported, SessionsFound
from oi_tui.app.engine.core.protocol import (
    ContextFound,
    FetchEnded,
    FetchProgressed,
    InstructionsFound,
    PromptsQueued,
    Reply,
)
from oi_tui.app.engine.core.session_records import SessionRecord
from oi_tui.app.engine.core.tool_replies import ChangesFound, FunctionDrafted, SkillsFound, ToolsFound
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import age_in_words, one_line, progress_size, quantity

LARGEST = 8
"""Blocks of the context that are named."""

DIFF_LINES = 200
"""Of one file's diff."""

MOST_SESSIONS = 20
"""Sessions that are named at once."""


def context_lines(use: ContextUse) -> Iterator[str]:
    """What the next request would consist of, the largest parts with their numbers."""
    total = sum(part.tokens for part in use.parts)
    room = f" of {use.window:,}" if use.window else ""
    yield f"The next request has about {total:,}{room} tokens."
    yield from (f"{one_line(part.name)}: {part.tokens:,} tokens." for part in use.parts if part.tokens)
    if use.rows:
        yield "The largest:"
    for row in use.rows[:LARGEST]:
        yield f"Block {row.number}, {one_line(row.title)}: {row.tokens:,} tokens, {row.state}."


def tool_lines(found: ToolsFound) -> Iterator[str]:
    """What the model may call beside code, a line for each."""
    if not found.tools:
        yield "The model has no tool but code."
    for one in found.tools:
        off = ", switched off" if one.off else ""
        origin = f", brought by {one_line(one.origin)}" if one.origin else ""
        yield f"{one_line(one.name)}{off}{origin}: {', '.join(one.effects)}. {one_line(one.description)[:200]}"


def skill_lines(found: SkillsFound) -> Iterator[str]:
    """Skills and kept functions, a line for each."""
    if found.problem:
        yield found.problem
    if not found.skills:
        yield "Nothing is kept, and there are no skills."
    for one in found.skills:
        state = one.wrong or ("" if one.agreed else "changed since you agreed to it")
        what = "Function" if one.kind == "function" else "Skill"
        yield f"{what} {one_line(one.name)}{f', {state}' if state else ''}: {one_line(one.summary)}"


def draft_lines(draft: FunctionDrafted) -> Iterator[str]:
    """What would be kept, and how to say yes."""
    yield draft.tested
    if draft.needs:
        yield f"It takes along: {', '.join(map(one_line, draft.needs))}."
    lines = safe_text(draft.changes or draft.text).splitlines()
    yield from lines[:DIFF_LINES]
    if len(lines) > DIFF_LINES:
        yield f"… {len(lines) - DIFF_LINES:,} more lines."
    yield f"To keep it: /keep {one_line(draft.name)} yes"


def change_lines(found: ChangesFound) -> Iterator[str]:
    """Changed files with their diffs, and what makes it so."""
    if found.why:
        yield found.why
    for file in found.files:
        yield f"{one_line(file.name)} {file.problem}." if file.problem else f"{one_line(file.name)}:"
        lines = safe_text(file.diff).splitlines()
        yield from lines[:DIFF_LINES]
        if len(lines) > DIFF_LINES:
            yield f"… {len(lines) - DIFF_LINES:,} more lines."
    if found.files and found.purpose != "diff":
        yield f"To do it: /{found.purpose} {found.scope} yes"


def instruction_lines(found: InstructionsFound) -> Iterator[str]:
    """What the model reads before the first prompt, part by part."""
    for part in found.parts:
        yield f"From {one_line(part.name)}:"
        yield from (line for line in part.text.strip().split("\n") if line.strip())
    yield from found.remarks


def session_lines(records: Sequence[SessionRecord], cut: bool) -> Iterator[str]:
    """Sessions with numbers, the newest first."""
    if not records:
        yield "There are no sessions."
    now = time.time()
    for number, record in enumerate(records[:MOST_SESSIONS], 1):
        title = one_line(record.title) or "no title"
        age = age_in_words(now - record.active).replace(" d ", " days ").replace(" h ", " hours ")
        yield f"{number}: {title}, {quantity(record.turns, 'turn')}, {age.replace(' min ', ' minutes ')}, {record.id}."
    if cut or len(records) > MOST_SESSIONS:
        yield "… there are more: /sessions WORDS finds some."
    if records:
        yield "To open one: /open and its number."


class Listings:
    """Says such answers, and remembers which sessions it named."""

    def __init__(self) -> None:
        self.sessions: tuple[str, ...] = ()
        """Ids of those that were listed last."""
        self._quarter = -1
        self._stage = ""

    def lines(self, reply: Reply) -> Iterable[str]:
        """What to say of an answer."""
        match reply:
            case FetchProgressed():
                return self._progress(reply)
            case FetchEnded(ready=True):
                return ["The model is ready."]
            case FetchEnded():
                return [f"Error: {reply.error} {reply.hint}" if reply.error else "The download was cancelled."]
            case ContextFound():
                return context_lines(reply.context)
            case InstructionsFound():
                return instruction_lines(reply)
            case ToolsFound():
                return tool_lines(reply)
            case ChangesFound():
                return change_lines(reply)
            case SkillsFound():
                return skill_lines(reply)
            case FunctionDrafted():
                return draft_lines(reply)
            case SessionsFound():
                records = reply.sessions or tuple({hit.session.id: hit.session for hit in reply.hits}.values())
                self.sessions = tuple(record.id for record in records[:MOST_SESSIONS])
                return session_lines(records, reply.cut)
            case SessionExported():
                return [f"Written: {reply.path}"]
            case PromptsQueued(prompts=[*_, _] as prompts):
                steers = " The model reads it at its next step." if reply.steers and reply.steers[-1] else ""
                return [f"{quantity(len(prompts), 'prompt waits', 'prompts wait')}.{steers}"]
            case _:
                return []

    def _progress(self, told: FetchProgressed) -> list[str]:
        """How far a download is, at each quarter."""
        if told.stage != self._stage:
            self._stage, self._quarter = told.stage, -1
        quarter = 4 * told.done_bytes // max(1, told.total_bytes)
        if quarter == self._quarter:
            return []
        self._quarter = quarter
        if told.stage != "downloading":
            return [f"The model: {told.stage}."] if quarter == 0 else []
        done, total = progress_size(told.done_bytes), progress_size(told.total_bytes)
        return [f"Downloading: {quarter * 25} percent, {done} of {total}."]
