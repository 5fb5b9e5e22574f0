"""Models that answer in place of one that cannot, and answers from the cache."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from oi_tui.app.data_files import open_store
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import NoticeBlock, ProseBlock
from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerNote,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Delta,
    Model,
    Retrying,
    TextDelta,
    retry_now,
)
from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.core.settings import LoopSection, ModelSection
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.models.cached_model import AnswerCache, CachedModel, answers_file
from oi_tui.app.engine.models.model_source import Models
from oi_tui.app.engine.session.fallback_model import COOLING, FallbackModel
from oi_tui.app.engine.testing import FakeKernels, FakeModel, FakeModels
from support.front import engine
from support.kinds import narrow
from support.openai_server import OpenAIServer, Turn

REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="Hello", images=("data:image/png;base64,",)),))
DOWN = ModelError("unreachable", "first does not answer.")


class Chain:
    """A model with others behind it, of which each is opened when it is needed."""

    def __init__(self, first: FakeModel, *others: FakeModel | SettingsError) -> None:
        self.now = 0.0
        self.told: list[str] = []
        self.opened: list[str] = []
        self.others = {f"other{number}": model for number, model in enumerate(others)}
        self.model = FallbackModel(first, list(self.others), self._open, self._tell, lambda: self.now)

    async def _open(self, name: str) -> Model:
        self.opened.append(name)
        if isinstance(model := self.others[name], SettingsError):
            raise model
        return model

    def _tell(self, title: str, hint: str) -> None:
        self.told.append(title)


async def said(model: Model) -> str:
    return "".join([delta.text async for delta in model.stream(REQUEST) if isinstance(delta, TextDelta)])


async def test_L37_the_next_model_answers_and_that_is_said() -> None:
    chain = Chain(FakeModel([DOWN], name="first"), FakeModel([DOWN]), FakeModel("Hello.", takes_images=False))
    assert await said(chain.model) == "Hello."
    assert chain.told == [
        "first does not answer. Continuing with other0.",
        "first does not answer. Continuing with other1.",
    ]
    assert narrow(chain.others["other1"], FakeModel).requests[0].messages[0].images == ()


async def test_L37_the_chosen_model_is_asked_again_as_soon_as_it_may_work() -> None:
    first = FakeModel([DOWN], "Back.", name="first")
    chain = Chain(first, FakeModel("Hello."))
    assert await said(chain.model) == "Hello."
    assert await said(chain.model) == "Hello."
    chain.now = COOLING + 1
    assert await said(chain.model) == "Back."
    assert chain.opened == ["other0"]
    assert chain.model.name == "first"


async def test_L37_what_another_model_would_refuse_too_is_not_asked_of_it() -> None:
    chain = Chain(FakeModel([ModelError("bad_request", "No.")], name="first"), FakeModel("Hello."))
    with pytest.raises(ModelError, match="No"):
        await said(chain.model)
    assert chain.opened == []


async def test_L37_where_none_can_answer_the_last_reason_is_the_error() -> None:
    wrong = SettingsError("There is no such model.")
    chain = Chain(FakeModel([DOWN], name="first"), wrong, FakeModel([ModelError("server", "Broken.")]))
    with pytest.raises(ModelError, match="Broken"):
        await said(chain.model)
    assert chain.told[0] == "other0 could not be opened: There is no such model."
    with pytest.raises(ModelError):  # all of them failed lately: the one that may work soonest is asked
        await said(chain.model)


async def test_L37_one_that_cannot_be_opened_does_not_keep_those_behind_it_from_answering() -> None:
    slow = ModelError("rate_limited", "Slow down.")
    slow.wait = 10 * COOLING
    chain = Chain(FakeModel([slow], name="first"), SettingsError("No weights."), FakeModel("Hello.", "Hello again."))
    assert await said(chain.model) == "Hello."
    chain.now = COOLING + 1  # the second may be tried again, the first not yet
    assert await said(chain.model) == "Hello again."


async def test_L37_an_answer_that_breaks_is_kept_and_continued_by_the_next_model() -> None:
    broken: list[Delta | ModelError] = [
        TextDelta(text="The first half"),
        ModelError("cut", "Connection to first lost."),
    ]
    chain = Chain(FakeModel(broken, name="first"), FakeModel("and the second."))
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=chain.model)
    await session.run("Go")
    blocks = session.transcript.blocks
    assert [block.text for block in blocks if isinstance(block, ProseBlock)] == ["The first half", "and the second."]
    assert [block.title for block in blocks if isinstance(block, NoticeBlock)] == ["Connection to first lost."]
    assert session.transcript.ended == "done"
    second = narrow(chain.others["other0"], FakeModel).requests[0]
    assert second.messages[-1].role == "assistant"
    assert second.messages[-1].text == "The first half"


async def test_L37_a_wait_before_the_next_attempt_is_cut_short() -> None:
    with OpenAIServer() as server:
        server.script(Turn(status=503, retry_after="50"), "Hello.")
        models = Models(ModelSection(name="openai/x", api_base=server.url), environ={})
        model = await models.open("openai/x", server.url)
        told = list[Delta]()
        async with asyncio.timeout(30):
            async for delta in model.stream(REQUEST):
                told.append(delta)
                if isinstance(delta, Retrying):
                    asyncio.get_running_loop().call_soon(retry_now, model)
        await models.close()
    assert any(isinstance(delta, TextDelta) for delta in told)


async def test_L37_the_very_same_request_is_answered_from_the_cache_with_its_age(tmp_path: Path) -> None:
    answer: list[Delta] = [
        TextDelta(text="Hello."),
        AnswerUsage(input_tokens=5, output_tokens=2, cost=0.1),
        AnswerEnded(),
    ]
    inner = FakeModel(answer, [TextDelta(text="Anew."), AnswerEnded()])
    path = tmp_path / "answers.db"
    model = CachedModel(inner, AnswerCache(path, hours=1), b"salt")
    first = [delta async for delta in model.stream(REQUEST)]
    second = [delta async for delta in model.stream(REQUEST)]
    assert first == answer
    note, text, usage, end = second
    assert narrow(note, AnswerNote).title.startswith("This answer is from the cache, 0.")
    assert (text, end) == (answer[0], answer[2])
    assert narrow(usage, AnswerUsage).cost == 0.0
    assert len(inner.requests) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    for other in (
        CachedModel(inner, AnswerCache(path, hours=1), b"pepper"),
        CachedModel(inner, AnswerCache(path, hours=0), b"salt"),
    ):
        assert await said(other) == "Anew."


async def test_L37_an_answer_of_one_server_is_not_that_of_another_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    heard: list[str] = []
    for words in ("One.", "Another."):
        with OpenAIServer() as server:
            server.script(words)
            section = ModelSection(name="hosted_vllm/x", cache=1.0)
            models = Models(section, environ={"HOSTED_VLLM_API_BASE": server.url})
            model = await models.open("hosted_vllm/x")
            heard += [await said(model), await said(model)]
            await models.close()
            assert len(server.exchanges) == 1
    assert heard == ["One.", "One.", "Another.", "Another."]


def test_L37_answers_that_are_too_old_do_not_stay_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    cache = AnswerCache(path, hours=1)
    cache.keep(b"old", [TextDelta(text="the first answer")])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE answers SET at = at - 7200")
    cache.keep(b"new", [TextDelta(text="the second answer")])
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT request FROM answers").fetchall() == [(b"new",)]


async def test_L37_an_empty_answer_is_not_kept(tmp_path: Path) -> None:
    """Asking again, as its notice says, must ask the model."""
    inner = FakeModel(
        [AnswerUsage(input_tokens=1, output_tokens=0), AnswerEnded()], [TextDelta(text="Hello."), AnswerEnded()]
    )
    model = CachedModel(inner, AnswerCache(tmp_path / "answers.db", hours=1), b"")
    assert [await said(model), await said(model)] == ["", "Hello."]


def test_L40_deleting_a_session_removes_the_answers_kept_while_it_was_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    with closing(open_store()) as store:
        for name in ("one", "two", "three"):
            store.create(name, time.time(), "/")
        store.remove("three")  # without a cache there is nothing to do
        assert not answers_file().exists()
        cache = AnswerCache(answers_file(), hours=1)
        for request in (b"before", b"while"):
            cache.keep(request, [TextDelta(text=f"the answer {request.decode()}")])
        with closing(sqlite3.connect(answers_file())) as database, database:
            database.execute("UPDATE answers SET at = at - 600 WHERE request = ?", (b"before",))
        store.edit("one", deleted=True)
        assert cache.find(b"while") is None
        assert b"the answer while" not in answers_file().read_bytes()
        assert cache.find(b"before") is not None
        cache.keep(b"again", [TextDelta(text="x")])
        store.remove("two")
        assert cache.find(b"again") is None
        answers_file().write_bytes(b"no database" * 100)
        store.remove("one")
        assert store.sessions() == ()


async def test_L37_half_an_answer_is_not_kept_and_a_broken_cache_is_said(tmp_path: Path) -> None:
    inner = FakeModel([TextDelta(text="Hel"), ModelError("cut", "Lost.")], [TextDelta(text="Hello."), AnswerEnded()])
    model = CachedModel(inner, AnswerCache(tmp_path / "answers.db", hours=1), b"")
    with pytest.raises(ModelError):
        await said(model)
    assert await said(model) == "Hello."
    (tmp_path / "answers.db").write_bytes(b"no database" * 100)
    deltas = [delta async for delta in model.stream(REQUEST)]
    assert "cannot be used" in narrow(deltas[0], AnswerNote).title
    assert narrow(deltas[1], TextDelta).text == "Hello."


async def test_L37_a_name_with_an_address_is_asked_of_that_server(tmp_path: Path) -> None:
    models = FakeModels(FakeModel([DOWN], "Hello."))
    models.fallback = ("qwen3@http://127.0.0.1:1/v1",)
    async with engine(tmp_path, models.model, models=models, api_base="http://127.0.0.1:2/v1") as front:
        await front.client.send(Open())
        assert (await front.turn("Hi")).reason == "done"
    assert models.opened[-1][:2] == ("qwen3", "http://127.0.0.1:1/v1")
