"""The panel of sessions on the chat screen: what a person wants of past sessions, and which verbs that becomes."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from oi_tui.app.engine.core.blocks import NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.events import (
    NoticeAdded,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.library_replies import (
    FormatsFound,
    SessionEdited,
    SessionExported,
    SessionSeen,
    SessionsFound,
)
from oi_tui.app.engine.core.library_verbs import EditSession, ExportSession, FindSessions, PreviewSession
from oi_tui.app.engine.core.protocol import Batch, Failed
from oi_tui.app.engine.core.session_records import FileFormat, SearchHit, SessionRecord, SnippetPart
from oi_tui.app.engine.core.verbs import FindModels, Fork, Open, Submit
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.frontend.client import EngineClient
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.line_ask import LineAskScreen
from oi_tui.app.screens.save_as import SaveAsScreen
from oi_tui.app.screens.session_export import file_name
from oi_tui.app.screens.sessions_pane import SessionsPanel
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.sessions.panel import Panel
from oi_tui.widgets.sessions.preview import Preview
from oi_tui.widgets.sessions.session_rows import SessionRows
from oi_tui.widgets.timeline.view import Timeline
from support.front import engine
from support.kinds import Kind, narrow
from support.snapshot import Snap
from support.stage import Play, Stage


def record(id_: str, title: str, *, days: float = 0.0, **more: Any) -> SessionRecord:
    moment = time.time() - 86400 * days
    return SessionRecord(**{"id": id_, "created": moment, "active": moment, "cwd": "/data", "title": title, **more})


HERE = record("s1", "Monthly mean")
SHOPS = record("s2", "By shop", days=1, tags=("work",))
PHOTOS = record("s3", "Rename photos", days=60)
ALL = SessionsFound(sessions=(HERE, SHOPS, PHOTOS))


def panel(stage: Stage) -> Panel:
    return stage.app.chat.query_one(Panel)


def place(stage: Stage) -> SessionsPanel:
    return stage.app.chat.query_one(SessionsPanel)


def rows(stage: Stage) -> list[str]:
    listed = panel(stage).rows
    return [listed.render_line(y).text.strip("▌ ") for y in range(listed.size.height)] if listed.display else []


def words(stage: Stage, part: str) -> str:
    widget = panel(stage).query_one(f"#sessions-{part}")
    return str(widget.render()) if widget.display else ""


def asked(stage: Stage, kind: type[Kind]) -> list[Kind]:
    return [verb for verb in stage.engine.verbs if isinstance(verb, kind)]


async def open_panel(stage: Stage, found: SessionsFound = ALL) -> None:
    await stage.pilot.press("ctrl+b")
    await stage.until(lambda: FindSessions(archived=found.archived) in stage.engine.verbs)
    stage.engine.reply(found)
    await stage.until(lambda: panel(stage).rows.entry is not None or not found.sessions)


async def into_list(stage: Stage, title: str) -> None:
    """The cursor on the session of this title, with the keys of the list."""
    await stage.pilot.press("tab", "home")
    while narrow(panel(stage).record, SessionRecord).title != title:
        await stage.pilot.press("down")


async def test_a_resume_that_names_none_begins_with_the_list_of_sessions(play: Play) -> None:
    async with play((80, 24), picks=True) as stage:
        await stage.until(lambda: FindSessions() in stage.engine.verbs)
        stage.engine.reply(ALL)
        await stage.until(lambda: panel(stage).rows.entry is not None)
        await into_list(stage, "By shop")
        await stage.pilot.press("enter")
        await stage.until(lambda: Open(session_id="s2") in stage.engine.verbs)


async def converse(stage: Stage) -> None:
    """Two turns in the open session."""
    for number, text in ((1, "load the data"), (2, "plot it")):
        stage.engine.say(
            TurnStarted(block_id=f"u{number}", text=text, files=("data.csv",) if number == 1 else ()),
            ProseStarted(block_id=f"p{number}"),
            ProseGrew(block_id=f"p{number}", text=f"answer {number}"),
            ProseFinished(block_id=f"p{number}"),
            TurnEnded(reason="done"),
        )
    await stage.settle()


def opens(stage: Stage, session_id: str, *texts: str) -> None:
    """The engine has opened a session with these prompts."""
    events = [TurnStarted(block_id=f"u{number}", text=text) for number, text in enumerate(texts, 1)]
    ended = [TurnEnded(reason="done")] if events else []
    stage.engine.reply(Batch(events=(stage.opened(session_id="older"), *events, *ended), replay=True))
    opened = stage.opened(session_id=session_id, resumed=bool(texts))
    stage.engine.say(replace(opened, created=time.time()))


# -- opening and closing the panel


async def test_one_key_opens_the_panel_ready_to_be_typed_into_and_puts_it_away_again(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        assert panel(stage).query_one(Input).has_focus
        assert "Monthly mean" in rows(stage)[1]
        await stage.pilot.press("ctrl+b")
        assert not place(stage).display
        await stage.until(lambda: stage.prompt.has_focus)


async def test_escape_leads_back_one_step_at_a_time(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await stage.pilot.press(*"shop", "down", "escape")
        assert panel(stage).query_one(Input).value == ""
        assert place(stage).display
        await stage.pilot.press("escape")
        assert not place(stage).display


async def test_it_lies_over_a_narrow_screen_and_stands_beside_the_timeline_on_a_wide_one(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        await converse(stage)
        await open_panel(stage)
        timeline = stage.app.chat.query_one(Timeline)
        await stage.until(lambda: timeline.region.x == place(stage).region.right)
        await stage.pilot.resize_terminal(80, 24)
        await stage.until(lambda: timeline.size.width == 80)
        assert place(stage).region.x == 0


async def test_from_the_timeline_and_by_its_command_it_opens_as_well(play: Play) -> None:
    async with play() as stage:
        await converse(stage)
        await stage.pilot.press("tab", "ctrl+b")
        assert panel(stage).has_focus_within
        await stage.pilot.press("escape", *"/sessions", "enter")
        await stage.until(lambda: panel(stage).has_focus_within)


async def test_the_first_time_there_is_nothing_and_words_say_so(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage, SessionsFound())
        await stage.until(lambda: "No sessions yet" in words(stage, "empty"))
        await stage.pilot.press("enter", "down", "tab", "space")
        assert asked(stage, Open) == [Open(session_id=None)]


async def test_sessions_in_which_nothing_was_asked_are_not_in_the_way(play: Play) -> None:
    async with play() as stage:
        empty = record("s7", "", days=1)
        await open_panel(stage, SessionsFound(sessions=(record("s1", ""), empty, SHOPS)))
        assert any("● nothing asked yet" in row for row in rows(stage))
        assert sum("nothing asked" in row for row in rows(stage)) == 1
        assert words(stage, "count").strip() == "2"


# -- find yesterday's session by a word I remember


async def test_typing_filters_titles_at_once_and_finds_places_in_texts_a_moment_later(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await stage.pilot.press(*"shop")
        assert [row for row in rows(stage) if row][:1] == [next(row for row in rows(stage) if "By shop" in row)]
        assert not any("photos" in row for row in rows(stage))

        await stage.until(lambda: FindSessions(query="shop") in stage.engine.verbs)
        snippet = (SnippetPart(text="the "), SnippetPart(text="shop", matched=True), SnippetPart(text=" in Oslo"))
        hit = SearchHit(session=PHOTOS, kind="answer", snippet=snippet, block_id="b7")
        stage.engine.reply(SessionsFound(query="shop", behind=2))
        await stage.until(lambda: words(stage, "count").strip() == "1 found so far")
        stage.engine.reply(SessionsFound(query="shop", hits=(hit,)))
        await stage.until(lambda: any("answer the shop in Oslo" in row for row in rows(stage)))
        assert words(stage, "count").strip() == "2 found"
        assert any("Rename photos" in row for row in rows(stage))


async def test_the_answer_to_an_older_search_never_replaces_a_newer_one(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await stage.pilot.press(*"sh")
        await stage.until(lambda: FindSessions(query="sh") in stage.engine.verbs)
        await stage.pilot.press(*"op")
        await stage.until(lambda: FindSessions(query="shop") in stage.engine.verbs)

        def found(query: str, text: str) -> SessionsFound:
            hit = SearchHit(session=PHOTOS, kind="code", snippet=(SnippetPart(text=text),), block_id="b")
            return SessionsFound(query=query, hits=(hit,))

        stage.engine.reply(found("shop", "newer"))
        stage.engine.reply(found("sh", "older"))
        await stage.settle()
        assert any("newer" in row for row in rows(stage))
        assert not any("older" in row for row in rows(stage))


async def test_letters_in_a_row_ask_the_engine_once(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        field = panel(stage).query_one(Input)
        for end in range(1, 6):  # quicker than any pause
            field.value = "shops"[:end]
        await stage.until(lambda: any(verb.query for verb in asked(stage, FindSessions)))
        assert [verb.query for verb in asked(stage, FindSessions) if verb.query] == ["shops"]


async def test_a_list_that_a_search_overtook_is_asked_for_again(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("ctrl+b", *"shop")
        await stage.until(lambda: FindSessions(query="shop") in stage.engine.verbs)
        stage.engine.reply(SessionsFound(query="shop"))
        await stage.until(lambda: asked(stage, FindSessions)[-1] == FindSessions())
        stage.engine.reply(ALL)
        await stage.until(lambda: any("By shop" in row for row in rows(stage)))


async def test_nothing_found_says_which_words(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await stage.pilot.press(*"zz")
        await stage.until(lambda: FindSessions(query="zz") in stage.engine.verbs)
        assert words(stage, "empty") == "Searching…"
        stage.engine.reply(SessionsFound(query="zz"))
        await stage.until(lambda: words(stage, "empty") == "Nothing contains “zz”.")


async def test_what_was_found_is_opened_at_its_place(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        await open_panel(stage)
        await stage.pilot.press(*"plot")
        hit = SearchHit(session=PHOTOS, kind="prompt", snippet=(SnippetPart(text="plot", matched=True),), block_id="u2")
        await stage.until(lambda: FindSessions(query="plot") in stage.engine.verbs)
        stage.engine.reply(SessionsFound(query="plot", hits=(hit,)))
        await stage.until(lambda: any("prompt" in row for row in rows(stage)))
        await stage.pilot.press("enter")
        await stage.until(lambda: Open(session_id="s3") in stage.engine.verbs)
        opens(stage, "s3", "one", "plot", "three")
        timeline = stage.app.chat.query_one(Timeline)
        await stage.until(lambda: timeline.cursor == 1 and timeline.matches == "1 match")


# -- go on with it


async def test_enter_opens_a_session_and_the_prompt_waits_for_the_next_words(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("enter")
        await stage.until(lambda: Open(session_id="s2") in stage.engine.verbs)
        opens(stage, "s2", "by shop please")
        await stage.until(lambda: stage.prompt.has_focus)
        assert not place(stage).display
        await stage.until(lambda: "by shop please" in stage.seen)


async def test_on_a_wide_screen_the_panel_stays_and_marks_the_session_that_is_open_now(play: Play) -> None:
    async with play(size=(140, 40)) as stage:
        await open_panel(stage)
        assert any("● Monthly mean" in row for row in rows(stage))
        await into_list(stage, "By shop")
        await stage.pilot.press("enter")
        await stage.until(lambda: Open(session_id="s2") in stage.engine.verbs)
        opens(stage, "s2", "by shop please")
        await stage.until(lambda: any("● By shop" in row for row in rows(stage)))
        assert panel(stage).record == SHOPS
        assert stage.prompt.has_focus


async def test_what_runs_is_broken_off_only_after_a_yes(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u1", text="go"))
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("enter")
        await stage.screen(ConfirmScreen)
        await stage.pilot.press("n")
        await stage.settle()
        assert Open(session_id="s2") not in stage.engine.verbs
        await stage.pilot.press("enter")
        await stage.screen(ConfirmScreen)
        await stage.pilot.press("y")
        await stage.until(lambda: Open(session_id="s2") in stage.engine.verbs)


async def test_the_session_that_is_open_is_not_opened_again(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await stage.pilot.press("enter")
        await stage.until(lambda: not place(stage).display)
        assert asked(stage, Open) == [Open(session_id=None)]


async def test_a_new_session_begins_with_one_key(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await stage.pilot.press("tab", "n")
        await stage.until(lambda: asked(stage, Open) == [Open(session_id=None)] * 2)
        opens(stage, "s9")
        await stage.until(lambda: stage.prompt.has_focus)


async def test_a_double_click_opens_and_a_click_on_a_key_is_that_key(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        await open_panel(stage)
        await stage.pilot.click(SessionRows, offset=(6, 5), times=2)
        await stage.until(lambda: Open(session_id="s2") in stage.engine.verbs)
        panel(stage).rows.focus()
        await stage.settle()
        await stage.pilot.click("#sessions-keys", offset=(17, 0))  # space look
        await stage.until(lambda: PreviewSession(session_id="s2") in stage.engine.verbs)


# -- see what it was before I open it


async def test_space_looks_at_a_session_without_opening_it_and_the_look_follows_the_cursor(play: Play) -> None:
    async with play(size=(140, 40)) as stage:
        await converse(stage)
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("space")
        await stage.until(lambda: PreviewSession(session_id="s2") in stage.engine.verbs)
        blocks = (UserBlock(id="u", text="by shop please"), ProseBlock(id="p", text="Here it is.", state="complete"))
        stage.engine.reply(SessionSeen(session=SHOPS, blocks=blocks, count=9))
        preview = stage.app.chat.query_one(Preview)
        await stage.until(lambda: "Here it is." in stage.seen)
        assert "7 more blocks" in str(preview.query_one("#preview-more").render())
        assert not stage.app.chat.query_one("#pane").display

        await stage.pilot.press("down")
        await stage.until(lambda: PreviewSession(session_id="s3") in stage.engine.verbs)
        stage.engine.reply(
            SessionSeen(session=SHOPS, blocks=blocks, count=9)
        )  # late: of what is not looked at any more
        await stage.settle()
        assert "Here it is." not in stage.seen
        await stage.pilot.press("escape")
        assert not preview.display
        assert stage.app.chat.query_one("#pane").display
        assert panel(stage).has_focus_within
        assert [verb.session_id for verb in asked(stage, Open)] == [None]


async def test_a_long_look_is_scrolled_from_the_list(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("space")
        text = "\n\n".join(f"paragraph {number}" for number in range(60))
        await stage.until(lambda: PreviewSession(session_id="s2") in stage.engine.verbs)
        stage.engine.reply(
            SessionSeen(session=SHOPS, blocks=(ProseBlock(id="p", text=text, state="complete"),), count=1)
        )

        def seen(words: str) -> bool:
            return words in stage.seen

        await stage.until(lambda: seen("paragraph 0"))
        await stage.pilot.press("ctrl+d", "ctrl+d")
        await stage.until(lambda: not seen("paragraph 0"))
        await stage.pilot.press("ctrl+u", "ctrl+u")
        await stage.until(lambda: seen("paragraph 0"))


# -- give it a name, put it away, throw it away and regret it


async def test_a_session_gets_a_name_and_its_old_one_back(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("r")
        await stage.screen(LineAskScreen)
        await stage.pilot.press(*" Oslo", "enter")
        await stage.until(lambda: EditSession(session_id="s2", title="By shop Oslo") in stage.engine.verbs)
        stage.engine.reply(SessionEdited(session=record("s2", "By shop Oslo", days=1)))
        await stage.until(lambda: any("By shop Oslo" in row for row in rows(stage)))
        assert "u undo" in words(stage, "note")
        await stage.pilot.press("u")
        await stage.until(lambda: EditSession(session_id="s2", title="By shop") in stage.engine.verbs)


async def test_tags_are_words_and_the_filter_finds_them(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("number_sign")
        await stage.screen(LineAskScreen)
        await stage.pilot.press(*" #oslo work", "enter")
        await stage.until(lambda: EditSession(session_id="s2", tags=("oslo", "work")) in stage.engine.verbs)
        stage.engine.reply(SessionEdited(session=record("s2", "By shop", days=1, tags=("oslo", "work"))))
        await stage.pilot.press("slash", *"#oslo")
        await stage.until(lambda: any("#oslo" in row for row in rows(stage)))
        assert not any("Monthly" in row for row in rows(stage))


async def test_what_is_put_away_is_in_the_archive_and_is_taken_back_from_there(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("a")
        await stage.until(lambda: EditSession(session_id="s2", archived=True) in stage.engine.verbs)
        away = record("s2", "By shop", days=1, archived=True)
        stage.engine.reply(SessionEdited(session=away))
        await stage.until(lambda: not any("By shop" in row for row in rows(stage)))

        await stage.pilot.press("A")
        await stage.until(lambda: FindSessions(archived=True) in stage.engine.verbs)
        stage.engine.reply(ALL)  # late: of the others
        stage.engine.reply(SessionsFound(archived=True, sessions=(away,)))
        await stage.until(lambda: any("By shop" in row for row in rows(stage)))
        assert not any("Monthly" in row for row in rows(stage))
        await stage.pilot.press("a")
        await stage.until(lambda: EditSession(session_id="s2", archived=False) in stage.engine.verbs)


async def test_what_is_thrown_away_comes_back_as_long_as_the_panel_knows_of_it(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("d")
        await stage.until(lambda: EditSession(session_id="s2", deleted=True) in stage.engine.verbs)
        stage.engine.reply(SessionEdited(session=record("s2", "By shop", days=1, deleted=True)))
        await stage.until(lambda: "“By shop” was deleted · u undo" in words(stage, "note"))
        assert not any("By shop" in row for row in rows(stage))
        assert panel(stage).record == PHOTOS  # the next one, not the first
        await stage.pilot.press("u")
        await stage.until(lambda: EditSession(session_id="s2", deleted=False) in stage.engine.verbs)
        stage.engine.reply(SessionEdited(session=SHOPS))
        await stage.until(lambda: any("By shop" in row for row in rows(stage)))
        await stage.pilot.press("u")
        await stage.until(lambda: "nothing to undo" in words(stage, "note"))


async def test_what_is_thrown_away_comes_back_before_the_engine_has_answered(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("d", "d", "u")
        back = [EditSession(session_id="s2", deleted=deleted) for deleted in (True, False)]
        await stage.until(lambda: asked(stage, EditSession) == back)
        stage.engine.reply(SessionEdited(session=record("s2", "By shop", days=1, deleted=True)))
        stage.engine.reply(SessionEdited(session=SHOPS))
        await stage.until(lambda: words(stage, "note").startswith("Undone: "))
        assert any("By shop" in row for row in rows(stage))
        await stage.pilot.press("u")
        await stage.until(lambda: "nothing to undo" in words(stage, "note"))


async def test_two_changes_in_a_row_are_undone_one_after_the_other(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        for number in (1, 2):
            await stage.pilot.press("r")
            await stage.screen(LineAskScreen)
            await stage.pilot.press(str(number), "enter")
            await stage.until(partial(lambda count: len(asked(stage, EditSession)) == count, number))
        await stage.pilot.press("a")
        await stage.until(lambda: len(asked(stage, EditSession)) == 3)
        for title, archived in (("By shop1", False), ("By shop2", False), ("By shop2", True)):
            stage.engine.reply(SessionEdited(session=record("s2", title, days=1, archived=archived)))
        await stage.until(lambda: "rchived" in words(stage, "note"))
        await stage.pilot.press("u", "u", "u")
        undone = EditSession(session_id="s2")
        expected = [
            replace(undone, archived=False),
            replace(undone, title="By shop1"),
            replace(undone, title="By shop"),
        ]
        await stage.until(lambda: asked(stage, EditSession)[3:] == expected)


async def test_the_open_session_cannot_be_thrown_away(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "Monthly mean")
        await stage.pilot.press("d")
        await stage.until(lambda: "This session is open" in words(stage, "note"))
        assert asked(stage, EditSession) == []


async def test_a_change_that_failed_says_so_and_the_list_stays_true(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("d")
        await stage.until(lambda: asked(stage, EditSession))
        stage.engine.reply(Failed(title="The sessions cannot be written.", hint="The disk is full."))
        await stage.until(lambda: "The disk is full." in words(stage, "note"))
        assert any("By shop" in row for row in rows(stage))
        await stage.pilot.press("u")
        await stage.until(lambda: "nothing to undo" in words(stage, "note"))


async def test_a_list_that_cannot_be_read_says_so(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("ctrl+b")
        await stage.until(lambda: words(stage, "empty") == "Reading…")
        stage.engine.reply(Failed(title="The sessions cannot be read.", hint="The disk is gone."))
        await stage.until(lambda: words(stage, "note") == "✗ The sessions cannot be read. The disk is gone.")
        assert words(stage, "empty") != "Reading…"
        assert panel(stage).query_one(Input).has_focus


async def test_a_title_that_the_model_gave_appears_by_itself(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        stage.engine.reply(SessionEdited(session=record("s1", "Mean of the scores")))
        stage.engine.reply(SessionEdited(session=record("s8", "Begun elsewhere")))
        await stage.until(lambda: any("Mean of the scores" in row for row in rows(stage)))
        assert any("Begun elsewhere" in row for row in rows(stage))
        assert words(stage, "note") == ""


async def test_a_title_that_comes_before_the_panel_was_ever_opened_ends_nothing(play: Play) -> None:
    async with play() as stage:
        stage.engine.reply(SessionEdited(session=record("s1", "Mean of the scores")))
        await converse(stage)
        await open_panel(stage)
        assert any("Monthly mean" in row for row in rows(stage))


# -- take it out as a notebook


async def test_a_session_is_exported_to_a_file_that_does_not_exist_yet(play: Play) -> None:
    async with play() as stage:
        (stage.cwd / "by-shop.ipynb").write_text("mine")
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("e")
        await stage.screen(ChooseScreen)
        await stage.pilot.press("1")
        await stage.screen(SaveAsScreen)
        await stage.pilot.press("enter")
        await stage.until(lambda: "of this name already" in str(stage.app.screen.query_one("#save-text").render()))
        await stage.pilot.press(*"-2", "enter")
        wanted = ExportSession(session_id="s2", format="ipynb", path=str(stage.cwd / "by-shop-2.ipynb"))
        await stage.until(lambda: wanted in stage.engine.verbs)
        stage.engine.reply(SessionExported(session_id="s2", path=wanted.path))
        await stage.until(lambda: stage.told("by-shop-2.ipynb"))
        assert (stage.cwd / "by-shop.ipynb").read_text() == "mine"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("By shop: Oslo/Bergen", "by-shop-oslo-bergen"),
        ("../../etc/passwd", "etc-passwd"),
        ("\x1b[31m", "session"),
        ("日本", "日本"),
    ],
)
def test_a_title_becomes_a_file_name(title: str, name: str) -> None:
    assert file_name(title) == name
    assert Path(file_name(title)).name == name


# -- see the branches of a conversation and go back to the other one


async def test_forks_stand_under_the_session_that_they_come_from(play: Play) -> None:
    async with play() as stage:
        forks = (record("s4", "Median instead", parent_id="s1"), record("s5", "By month", parent_id="s4"))
        await open_panel(stage, SessionsFound(sessions=(HERE, *forks)))
        listed = [row for row in rows(stage) if any(fork.title in row for fork in forks)]
        assert [row.split(" ")[0] for row in listed] == ["└", "└"]
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: Open(session_id="s4") in stage.engine.verbs)


async def test_the_open_session_is_forked_after_its_last_block(play: Play) -> None:
    async with play() as stage:
        await converse(stage)
        await open_panel(stage)
        await stage.pilot.press("tab", "f")
        await stage.until(lambda: Fork(block_id="p2") in stage.engine.verbs)
        opens(stage, "s9", "load the data", "plot it")
        await stage.until(lambda: stage.prompt.has_focus)


async def test_another_session_is_opened_and_then_forked(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("f")
        await stage.until(lambda: Open(session_id="s2") in stage.engine.verbs)
        assert asked(stage, Fork) == []
        opens(stage, "s2", "by shop please")
        await stage.until(lambda: Fork(block_id="u1") in stage.engine.verbs)


async def test_a_session_that_cannot_be_opened_is_not_forked_later(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        await into_list(stage, "By shop")
        await stage.pilot.press("f")
        await stage.until(lambda: Open(session_id="s2") in stage.engine.verbs)
        stage.engine.reply(Failed(title="This session cannot be read."))
        await stage.settle()
        opens(stage, "s3", "other")
        await stage.settle()
        assert asked(stage, Fork) == []


async def test_what_follows_an_opening_waits_for_it_and_not_for_older_ones_in_its_log(play: Play) -> None:
    async with play() as stage:
        await converse(stage)
        await on_block(stage, 0)
        await stage.pilot.press("E")
        await stage.until(lambda: asked(stage, Fork))
        stage.engine.reply(Batch(events=(stage.opened(session_id="older"),), replay=True))
        await stage.settle()
        assert stage.prompt.text == ""
        opens(stage, "s9")
        await stage.until(lambda: stage.prompt.text == "load the data")


async def on_block(stage: Stage, index: int) -> None:
    timeline = stage.app.chat.query_one(Timeline)
    timeline.focus()
    await stage.until(lambda: timeline.cursor is not None)
    await stage.pilot.press("home", *["down"] * index)
    await stage.until(lambda: timeline.cursor == index)


async def test_fork_here_begins_a_branch_after_the_focused_block(play: Play) -> None:
    async with play() as stage:
        await converse(stage)
        await on_block(stage, 1)
        await stage.pilot.press("F")
        await stage.until(lambda: Fork(block_id="p1") in stage.engine.verbs)
        opens(stage, "s9", "load the data")
        await stage.until(lambda: stage.prompt.has_focus)


async def test_an_earlier_prompt_is_written_anew_on_a_branch_before_it(play: Play) -> None:
    async with play() as stage:
        await converse(stage)
        await on_block(stage, 3)  # the answer to the second prompt
        await stage.pilot.press("E")
        await stage.until(lambda: Fork(block_id="u2", place="before") in stage.engine.verbs)
        area = stage.prompt
        assert area.text == ""  # not before the branch is open
        opens(stage, "s9", "load the data")
        await stage.until(lambda: area.text == "plot it")
        assert asked(stage, Submit) == []


async def test_an_answer_is_asked_for_again_with_the_same_words_and_files(play: Play) -> None:
    async with play() as stage:
        await converse(stage)
        await on_block(stage, 1)
        await stage.pilot.press("R")
        await stage.screen(ChooseScreen)
        await stage.pilot.press("1")
        await stage.until(lambda: Fork(block_id="u1", place="before") in stage.engine.verbs)
        opens(stage, "s9")
        await stage.until(lambda: asked(stage, Submit) == [Submit(text="load the data", files=("data.csv",))])


async def test_another_model_is_chosen_before_the_prompt_is_sent_again(play: Play) -> None:
    async with play() as stage:
        await converse(stage)
        await on_block(stage, 2)
        await stage.pilot.press("R")
        await stage.screen(ChooseScreen)
        await stage.pilot.press("2")
        await stage.until(lambda: Fork(block_id="u2", place="before") in stage.engine.verbs)
        opens(stage, "s9", "load the data")
        await stage.until(lambda: asked(stage, FindModels) == [FindModels()])
        assert stage.prompt.text == "plot it"
        assert asked(stage, Submit) == []


async def test_a_branch_is_not_begun_by_a_no(play: Play) -> None:
    async with play() as stage:
        await converse(stage)
        await on_block(stage, 1)
        await stage.pilot.press("R")
        await stage.screen(ChooseScreen)
        await stage.pilot.press("escape")
        await stage.settle()
        stage.engine.say(TurnStarted(block_id="u3", text="go"))
        await stage.settle()
        await stage.pilot.press("F")
        await stage.screen(ConfirmScreen)
        await stage.pilot.press("n")
        await stage.settle()
        assert asked(stage, Fork) == []


async def test_a_notice_of_the_screen_is_no_place_for_the_engine(play: Play) -> None:
    async with play() as stage:
        stage.engine.reply(Failed(title="Something failed."))
        await stage.until(lambda: len(stage.app.chat.bridge.transcript.blocks) == 1)
        await on_block(stage, 0)
        await stage.pilot.press("F")
        await stage.until(lambda: stage.told("nothing to fork"))
        await stage.pilot.press("E")
        await stage.until(lambda: stage.told("no prompt before"))
        stage.engine.say(NoticeAdded(block_id="n1", level="info", title="ours"))
        await stage.settle()
        assert asked(stage, Fork) == []


# -- other things go on meanwhile


async def test_a_question_about_code_takes_the_keys_from_the_panel(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        await open_panel(stage)
        await stage.propose("x = 1")
        await stage.until(lambda: stage.app.chat.query_one("ApprovalPanel").has_focus_within)
        await stage.arm()
        await stage.pilot.press("ctrl+b")
        await stage.until(lambda: panel(stage).has_focus_within)
        await stage.pilot.press("ctrl+b")
        await stage.until(lambda: stage.app.chat.query_one("ApprovalPanel").has_focus_within)


async def test_the_keys_that_work_stand_in_one_line_of_at_most_eight(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        row = panel(stage).query_one(KeyRow)
        assert [label.key for label in row.labels] == ["enter", "↓", "esc"]
        await stage.pilot.press("down")
        await stage.until(lambda: len(row.labels) == 8)


async def test_when_the_engine_is_lost_the_panel_bears_it(play: Play) -> None:
    async with play() as stage:
        await open_panel(stage)
        stage.engine.die()
        await stage.until(lambda: stage.app.chat.bridge.stopped)
        await into_list(stage, "By shop")
        await stage.pilot.press("enter", "d", "space")
        await stage.settle()
        assert asked(stage, Open) == [Open(session_id=None)]


# -- how it looks


def pictured() -> SessionsFound:
    """Sessions at fixed distances from now, so that their ages read the same at any time of the day."""
    return SessionsFound(
        sessions=(
            record("s1", "Monthly mean of score", model="qwen-1.5b", turns=4),
            record("s4", "Monthly median", parent_id="s1", model="gpt-5", turns=2, tags=("stats",), cost=0.031),
        )
    )


@pytest.mark.parametrize(("name", "size"), [("narrow", (80, 24)), ("wide", (140, 40))])
@pytest.mark.parametrize("theme", ["harbour", "harbour-light"])
async def test_the_panel_looks_like_its_picture(
    play: Play, snap: Snap, name: str, size: tuple[int, int], theme: str
) -> None:
    async with play(size=size) as stage:
        await stage.app.run_action(f"use_theme('{theme}')")
        await converse(stage)
        await open_panel(stage, pictured())
        await stage.pilot.press("down")
        await stage.settle()
        await snap(stage.pilot, f"{name}-{theme}")


# -- with the real engine and store


async def test_a_conversation_is_asked_again_on_a_branch_and_its_old_answer_is_found_by_a_word(
    play: Play, tmp_path: Path
) -> None:
    model = FakeModel("The harbour sleeps.", "The lighthouse turns.", "spare", "spare")
    async with engine(tmp_path, model) as front:

        async def connect() -> EngineClient:
            return front.client

        async with play(size=(120, 30), connect=connect) as stage:

            def texts() -> list[str]:
                blocks = stage.app.chat.bridge.transcript.blocks
                return [getattr(block, "text", "") for block in blocks if not isinstance(block, NoticeBlock)]

            def answered(text: str) -> bool:
                return not stage.app.chat.bridge.busy and texts()[-1:] == [text]

            await stage.until(lambda: stage.app.chat.bridge.transcript.model)
            await stage.pilot.press(*"tell", "enter")
            await stage.until(lambda: answered("The harbour sleeps."))
            first = stage.app.chat.bridge.transcript.session_id

            await on_block(stage, 1)
            await stage.pilot.press("R")
            await stage.screen(ChooseScreen)
            await stage.pilot.press("1")
            await stage.until(lambda: answered("The lighthouse turns."))
            assert stage.app.chat.bridge.transcript.session_id != first
            assert texts() == ["tell", "The lighthouse turns."]

            await stage.pilot.press("ctrl+b")
            await stage.until(lambda: any(row.startswith("└ ●") for row in rows(stage)))
            await stage.pilot.press(*"harbour")
            await stage.until(lambda: any("answer The harbour sleeps." in row for row in rows(stage)))
            await stage.pilot.press("enter")
            await stage.until(lambda: stage.app.chat.bridge.transcript.session_id == first)
            assert texts() == ["tell", "The harbour sleeps."]
            await stage.until(lambda: stage.app.chat.query_one(Timeline).cursor == 1)


async def test_x6_formats_of_plugins_are_offered_like_ours_by_list_completion_and_command(play: Play) -> None:
    adoc = FileFormat(name="adoc", title="AsciiDoc \x1b[31m(.adoc)", suffix=".adoc")
    ours = FileFormat(name="md", title="Not ours", suffix=".md")
    async with play() as stage:
        await stage.propose("1")
        stage.engine.reply(FormatsFound(formats=(ours, adoc)))
        await stage.until(lambda: stage.app.chat.parts.sessions.formats[-1].name == "adoc")
        commands = stage.app.chat.desk.commander.commands
        for name in ("export", "exp"):
            row = commands.by_name(name)
            assert row is not None
            assert list(row.choices()) == ["ipynb", "md", "html", "lmc", "messages", "adoc"]
            assert row.choices()["md"] == "Markdown (.md)"
        stage.app.chat.parts.sessions.export_open("")
        asked = await stage.screen(ChooseScreen)
        await stage.until(lambda: "AsciiDoc" in stage.seen)
        assert "\x1b" not in stage.seen
        await stage.pilot.press("6")
        screen = await stage.screen(SaveAsScreen)
        assert not asked.is_attached
        assert screen.query_one(Input).value == "do-it.adoc"
        await stage.pilot.press("enter")
        verbs = await stage.engine.heard(1)
        assert isinstance(verbs[-1], ExportSession)
        assert verbs[-1].format == "adoc"
        stage.app.chat.parts.sessions.export_open("ad")
        await stage.screen(SaveAsScreen)
