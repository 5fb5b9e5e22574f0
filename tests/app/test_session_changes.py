"""Changes of sessions: one after the other, undone one after the other, whatever the engine has answered by then."""

import pytest

from oi_tui.app.engine.core.library_verbs import EditSession
from oi_tui.app.engine.core.session_records import SessionRecord
from oi_tui.app.screens.session_changes import SessionChanges


@pytest.fixture
def sent() -> list[EditSession]:
    return []


@pytest.fixture
def changes(sent: list[EditSession]) -> SessionChanges:
    return SessionChanges(sent.append)


def titled(title: str) -> EditSession:
    return EditSession(session_id="s1", title=title)


RECORD = SessionRecord(id="s1", created=0.0, active=0.0, cwd="/", title="", model="m")


def test_a_change_is_said_when_the_engine_has_made_it_and_can_be_undone(
    changes: SessionChanges, sent: list[EditSession]
) -> None:
    changes.ask(titled("b"), titled("a"), "Renamed")
    before = changes.waiting
    assert changes.settle(RECORD) == "Renamed · u undo"
    assert (before, changes.waiting) == (True, False)
    assert changes.undo_last()
    assert sent == [titled("b"), titled("a")]
    assert changes.settle(RECORD) == "Undone: Renamed"
    assert not changes.undo_last()


def test_a_change_under_way_is_undone_without_waiting_for_it(changes: SessionChanges, sent: list[EditSession]) -> None:
    changes.ask(titled("b"), titled("a"), "Renamed")
    assert changes.undo_last()
    assert sent == [titled("b"), titled("a")]
    assert not changes.undo_last()
    assert [changes.settle(RECORD), changes.settle(RECORD), changes.settle(RECORD)] == [
        "Renamed",
        "Undone: Renamed",
        "",
    ]


def test_what_undoes_a_second_change_leads_back_to_the_first(changes: SessionChanges, sent: list[EditSession]) -> None:
    changes.ask(titled("b"), titled("a"), "Renamed")
    changes.ask(titled("c"), titled("a"), "Renamed again")
    assert changes.undo_last()
    assert sent[-1] == titled("b")


def test_a_change_that_is_under_way_is_not_asked_for_twice(changes: SessionChanges, sent: list[EditSession]) -> None:
    archived, back = (EditSession(session_id="s1", archived=value) for value in (True, False))
    changes.ask(archived, back, "Put away")
    changes.ask(archived, back, "Put away")
    assert sent == [archived]


def test_of_a_change_that_failed_nothing_is_said_or_undone(changes: SessionChanges) -> None:
    changes.ask(titled("b"), titled("a"), "Renamed")
    changes.give_up()
    assert not changes.waiting
    assert changes.settle(RECORD) == ""
    assert not changes.undo_last()
