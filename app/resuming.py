"""Which session a command line means, and how it can be opened: stored, detached, or open in another oi-tui."""

import sys
from contextlib import closing
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.errors import SettingsError, StoreError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.files.engine_sockets import engine_sockets
from oi_tui.app.engine.files.paths import data_dir, private_dir
from oi_tui.app.engine.log.forking import fork_session
from oi_tui.app.engine.log.store import CLAIM_PATIENCE, Claims, SessionOpenElsewhere, Store, find_session
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.attaching import LiveSession, live_session
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.skeleton import SKELETON
from oi_tui.app.terminal.tty_prompt import ask_letter

RESUME_PATIENCE = 1.0
"""Seconds at most for sessions of an older version, in which words cannot be found before."""

LISTED = 10
"""Sessions that are listed where none was named."""

Elsewhere = Literal["new", "fork", "look", "take-over"]
"""What to do about a session that another oi-tui has open. Only one that was detached before can be taken over."""


class Opening(NamedTuple):
    """How the screen begins."""

    session_id: str | None = None
    """None for a new session."""
    live: LiveSession | None = None
    """It runs detached: the screen attaches to it."""
    take_over: bool = False
    past: tuple[AnyEvent, ...] | None = None
    """It is only looked at: what had happened so far."""


def find_opening(resume: str | None, cwd: str, elsewhere: Elsewhere | None) -> Opening:
    """The session that is meant, without `resume` the last one of the folder. Where it is open elsewhere: what
    `elsewhere` says; the person at the terminal is asked if it says nothing. StoreError if there is no such session, or
    nothing can be done about it."""
    with closing(Store(private_dir(data_dir()) / "sessions.db")) as store:
        session_id = _last(store, cwd) if resume is None else _find(store, resume)
        live = live_session(session_id) if engine_sockets() else None
        if live is not None and not live.attached:
            live.require_attachable()
            return Opening(session_id, live)
        try:
            Claims.for_database(store.path).require_free(session_id, 0 if live is not None else CLAIM_PATIENCE)
        except SessionOpenElsewhere as error:
            title = store.record(session_id).title
            match elsewhere or _ask(session_id, title, can_take_over=live is not None):
                case "new":
                    return Opening()
                case "fork":
                    return Opening(fork_session(store, session_id))
                case "look":
                    return Opening(session_id, past=store.load(session_id))
                case "take-over" if live is not None:
                    return Opening(session_id, live, take_over=True)
                case _:
                    raise _elsewhere(error, session_id) from None
        return Opening(session_id)


def newest_sessions() -> list[str]:
    """A line for each of the sessions used last: its id and its title."""
    with closing(Store(private_dir(data_dir()) / "sessions.db")) as store:
        found = [record for record in store.sessions(limit=LISTED) if record.title or record.turns]
    return [f"{record.id}  {one_line(record.title) or '(no title)'}" for record in found]


def stored_session(resume: str, elsewhere: Elsewhere | None) -> str | None:
    """The session that a task without a screen resumes, None for a new one; StoreError if it is open elsewhere and
    `elsewhere` is None."""
    with closing(Store(private_dir(data_dir()) / "sessions.db")) as store:
        session_id = _find(store, resume)
        try:
            Claims.for_database(store.path).require_free(session_id)
        except SessionOpenElsewhere as error:
            match elsewhere:
                case "new":
                    return None
                case "fork":
                    return fork_session(store, session_id)
                case _:
                    raise _elsewhere(error, session_id) from None
        return session_id


def _elsewhere(error: SessionOpenElsewhere, session_id: str) -> StoreError:
    hint = "Continue there. Or here: --if-open new, --if-open fork; oi-tui sessions show prints it."
    if live_session(session_id) is not None:
        hint = f"It runs detached: oi-tui attach {session_id}. Or here: --if-open new, --if-open fork."
    return StoreError(error.title, hint=hint)


def _ask(session_id: str, title: str, *, can_take_over: bool) -> Elsewhere | None:
    """What the person wants, None if nothing of this, or nobody is there."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    SKELETON.clear()
    choices: dict[str, tuple[Elsewhere | None, str]] = {
        "n": ("new", "new session"),
        "f": ("fork", "fork: continue a copy here"),
        "l": ("look", "look only (read-only)"),
    }
    if can_take_over:
        choices["t"] = ("take-over", "take over: the other terminal is detached")
    choices["q"] = (None, "quit (or esc)")
    name = f"“{one_line(title)[:40]}”" if title.strip() else f"Session {session_id}"
    echo(f"\n {name} is open in another oi-tui.\n")
    for letter, (_, words) in choices.items():
        echo(f" {letter}   {words}")
    return choices[ask_letter("".join(choices), default="q")][0]


def _last(store: Store, cwd: str) -> str:
    here = [record.id for record in store.sessions(cwd=cwd) if record.title]
    if not here:
        raise SettingsError(f"There is no session in {cwd} yet.", hint="`oi-tui sessions` lists all of them.")
    return here[0]


def _find(store: Store, text: str) -> str:
    try:
        return find_session(store, text)
    except StoreError:
        if not store.count_unindexed():
            raise
        store.tidy(RESUME_PATIENCE)
        return find_session(store, text)
