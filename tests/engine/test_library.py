"""Past sessions on the wire: lists, searches, previews, changes and exports, while another session goes on."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from oi_tui.app.engine.core.blocks import CodeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.library_replies import (
    PromptsFound,
    SessionEdited,
    SessionExported,
    SessionSeen,
    SessionsFound,
)
from oi_tui.app.engine.core.library_verbs import EditSession, ExportSession, FindPrompts, FindSessions, PreviewSession
from oi_tui.app.engine.core.protocol import DraftKept, Failed, Reply
from oi_tui.app.engine.core.verbs import AnyVerb, KeepDraft, Open
from oi_tui.app.engine.session.library import PREVIEW_TEXT
from oi_tui.app.engine.testing import FakeModel
from support.front import Front, engine

R = TypeVar("R", bound=Reply)

CODE = "Let me see.\n\n```python\nprint('Ångström')\n```"


async def ask(front: Front, verb: AnyVerb, kind: type[R]) -> R:
    """Send the verb and take the answer."""
    await front.client.send(verb)
    reply = await front.until(lambda reply: isinstance(reply, kind))
    assert isinstance(reply, kind)
    return reply


async def two_sessions(front: Front) -> tuple[str, str]:
    """One about greetings with code, then one about weather, which stays open."""
    await front.client.send(Open())
    await front.turn("say hello to everybody")
    first = front.transcript.session_id
    await front.client.send(Open())
    await front.turn("what is the weather")
    return first, front.transcript.session_id


async def test_the_list_has_the_last_one_first_with_what_just_happened(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(CODE, "Said.", "Rain.")) as front:
        first, second = await two_sessions(front)
        found = await ask(front, FindSessions(), SessionsFound)
        assert [record.id for record in found.sessions] == [second, first]
        assert [record.turns for record in found.sessions] == [1, 1]
        assert not found.cut


async def test_a_search_finds_what_was_said_a_moment_ago(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(CODE, "Said.", "Rain.")) as front:
        first, second = await two_sessions(front)
        found = await ask(front, FindSessions(query="angstr"), SessionsFound)
        assert {hit.session.id for hit in found.hits} == {first}
        found = await ask(front, FindSessions(query="rain"), SessionsFound)
        assert {hit.session.id for hit in found.hits} == {second}
        assert found.query == "rain"


async def test_of_searches_that_wait_only_the_newest_is_answered(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(CODE, "Said.", "Rain.")) as front:
        await two_sessions(front)
        for query in ("w", "we", "wea"):
            await front.client.send(FindSessions(query=query))
        await front.until(lambda reply: isinstance(reply, SessionsFound) and reply.query == "wea")
        answered = [reply.query for reply in front.replies if isinstance(reply, SessionsFound)]
        assert answered[-1] == "wea"
        assert answered.count("we") == 0


async def test_a_damaged_index_is_made_anew_at_once_and_the_search_is_answered_again(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(CODE, "Said.", "Rain.")) as front:
        first, second = await two_sessions(front)
        await ask(front, FindSessions(query="rain"), SessionsFound)
        with closing(sqlite3.connect(next(tmp_path.rglob("sessions.db")))) as db, db:
            db.execute("UPDATE search_data SET block = randomblob(length(block))")
        found = await ask(front, FindSessions(query="angstr"), SessionsFound)
        assert found.behind == 2
        again = await front.until(lambda reply: isinstance(reply, SessionsFound) and not reply.behind)
        assert isinstance(again, SessionsFound)
        assert {hit.session.id for hit in again.hits} == {first}
        found = await ask(front, FindSessions(query="rain"), SessionsFound)
        assert ({hit.session.id for hit in found.hits}, found.behind) == ({second}, 0)


async def test_a_preview_has_the_beginning_with_long_texts_cut(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("long " * 2_000, CODE, "Said.")) as front:
        await front.client.send(Open())
        await front.turn("tell me a lot")
        await front.turn("greet")
        seen = await ask(front, PreviewSession(session_id=front.transcript.session_id), SessionSeen)
        prompt, answer = seen.blocks[:2]
        assert isinstance(prompt, UserBlock)
        assert prompt.text == "tell me a lot"
        assert isinstance(answer, ProseBlock)
        assert len(answer.text) == PREVIEW_TEXT + 2
        assert any(isinstance(block, CodeBlock) and block.outputs for block in seen.blocks)
        assert seen.count == len(seen.blocks)


async def test_a_session_is_renamed_tagged_put_away_deleted_and_brought_back(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(CODE, "Said.", "Rain.")) as front:
        first, second = await two_sessions(front)
        edit = EditSession(session_id=first, title="Greetings", tags=("old", "fun"))
        edited = await ask(front, edit, SessionEdited)
        assert (edited.session.title, edited.session.tags) == ("Greetings", ("fun", "old"))
        await ask(front, EditSession(session_id=first, archived=True), SessionEdited)
        assert [r.id for r in (await ask(front, FindSessions(), SessionsFound)).sessions] == [second]
        assert [r.id for r in (await ask(front, FindSessions(archived=True), SessionsFound)).sessions] == [first]
        await ask(front, EditSession(session_id=first, archived=False, deleted=True), SessionEdited)
        assert [r.id for r in (await ask(front, FindSessions(), SessionsFound)).sessions] == [second]
        await ask(front, EditSession(session_id=first, deleted=False), SessionEdited)
        assert [r.id for r in (await ask(front, FindSessions(), SessionsFound)).sessions] == [second, first]


async def test_an_export_is_a_private_file_and_never_written_over_another(tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    async with engine(tmp_path, FakeModel(CODE, "Said.", "Rain.")) as front:
        first, _ = await two_sessions(front)
        export = ExportSession(session_id=first, format="md", path=str(target))
        exported = await ask(front, export, SessionExported)
        assert exported.path == str(target)
        assert "Ångström" in target.read_text(encoding="utf-8")
        assert target.stat().st_mode & 0o777 == 0o600
        before = target.read_bytes()
        failed = await ask(front, export, Failed)
        assert str(target) in failed.title
        assert target.read_bytes() == before


async def test_what_is_not_there_is_said_in_plain_words_and_the_session_goes_on(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.", "Two.")) as front:
        await front.client.send(Open())
        await front.turn("first")
        failed = await ask(front, PreviewSession(session_id="nowhere"), Failed)
        assert not failed.fatal
        assert "nowhere" in failed.title
        await front.turn("go on")


async def test_earlier_prompts_of_all_sessions_are_found_by_their_words_each_once(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.", "Two.", "Three.")) as front:
        await front.client.send(Open())
        await front.turn("Plot the MEAN score")
        await front.client.send(Open())
        await front.turn("what else")
        await front.turn("Plot the MEAN score")
        found = await ask(front, FindPrompts(), PromptsFound)
        assert [prompt.text for prompt in found.prompts] == ["Plot the MEAN score", "what else"]
        found = await ask(front, FindPrompts(query="score mean"), PromptsFound)
        assert [prompt.text for prompt in found.prompts] == ["Plot the MEAN score"]
        assert found.prompts[0].session_id == front.transcript.session_id


async def test_a_draft_is_told_at_the_next_start_in_the_same_folder_until_it_is_gone(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path, FakeModel()) as front:
        await front.client.send(Open())
        await front.client.send(KeepDraft(text="half a thought"))
    async with engine(tmp_path, FakeModel()) as front:
        kept = await ask(front, Open(), DraftKept)
        assert kept.text == "half a thought"
        await front.client.send(KeepDraft(text=""))
    async with engine(tmp_path, FakeModel("Hello.")) as front:
        await front.client.send(Open())
        await front.turn("hello")
        assert not any(isinstance(reply, DraftKept) for reply in front.replies)
