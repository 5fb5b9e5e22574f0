"""Changes of sessions: asked for in their order, until the engine says that it is so, and how to undo them."""

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from oi_tui.app.engine.core.library_verbs import EditSession
from oi_tui.app.engine.core.session_records import SessionRecord

_EDITABLE = ("title", "tags", "archived", "deleted")


class SessionChange(NamedTuple):
    """A requested change: how to undo it, and the message afterwards."""

    edit: EditSession
    undo: EditSession | None
    done: str


class SessionChanges:
    """Requested changes of sessions. `send` asks the engine for a change."""

    def __init__(self, send: Callable[[EditSession], object]) -> None:
        self._send = send
        self._under_way: list[SessionChange] = []
        self._undo: list[SessionChange] = []

    @property
    def waiting(self) -> bool:
        """Whether the engine has not answered all of them."""
        return bool(self._under_way)

    def ask(self, edit: EditSession, undo: EditSession | None, done: str) -> None:
        """Change a session, unless it is being changed so already; `done` is what to say then."""
        if undo is not None:
            undo = self._as_it_will_be(undo)
            if undo == edit:
                return
        self._under_way.append(SessionChange(edit, undo, done))
        self._send(edit)

    def give_up(self) -> None:
        """The oldest one failed: the engine answers in order."""
        del self._under_way[:1]

    def settle(self, record: SessionRecord) -> str:
        """The session has changed; returns the message, "" if the request did not come from here."""
        change = next((change for change in self._under_way if change.edit.session_id == record.id), None)
        if change is None:
            return ""
        self._under_way.remove(change)
        if change.undo is None:
            return change.done
        self._undo.append(change)
        return f"{change.done} · u undo"

    def undo_last(self) -> bool:
        """Undo the last change, also one that is under way: the engine does one after the other. False without one."""
        for place in reversed(range(len(self._under_way))):
            change = self._under_way[place]
            if change.undo is not None:
                self._under_way[place] = change._replace(undo=None)
                self.ask(change.undo, None, f"Undone: {change.done}")
                return True
        if not self._undo:
            return False
        last = self._undo.pop()
        assert last.undo is not None
        self.ask(last.undo, None, f"Undone: {last.done}")
        return True

    def _as_it_will_be(self, undo: EditSession) -> EditSession:
        """How to undo a change behind those that are under way: what is shown of the session is older than they."""
        for change in self._under_way:
            if change.edit.session_id == undo.session_id:
                values = {name: getattr(change.edit, name) for name in _EDITABLE if getattr(undo, name) is not None}
                undo = replace(undo, **{name: value for name, value in values.items() if value is not None})
        return undo
