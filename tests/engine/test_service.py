"""One session served to one front end: verbs in, replies out, everything written down on the way."""

import asyncio
import re
import sqlite3
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.chat_model import AnswerEnded, TextDelta
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import KernelError, ModelError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    ExecutionStarted,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    ProseGrew,
    ProseStarted,
    SessionOpened,
    SettingsChanged,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.protocol import (
    Batch,
    Failed,
    FetchEnded,
    FetchProgressed,
    KernelsFound,
    LastBlocks,
    ModelsFound,
    PromptsQueued,
    Reply,
    SandboxFailed,
)
from oi_tui.app.engine.core.protocol_lines import decode_reply, encode_message
from oi_tui.app.engine.core.settings import ModelSection, Settings
from oi_tui.app.engine.core.values import TOUR, ApprovalMode
from oi_tui.app.engine.core.verbs import (
    CancelFetch,
    Clear,
    Decide,
    FetchModel,
    FindKernels,
    FindModels,
    Interrupt,
    Open,
    Restart,
    Retry,
    Run,
    SetApproval,
    Submit,
    UseKernel,
    UseModel,
)
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.sandbox.availability import Availability
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.job_queue import JobQueue
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels
from oi_tui.app.engine.transcript.transcript import Transcript
from support.front import Front, engine
from support.kinds import narrow, of

CODE = "```python\n1+1\n```"


async def test_a_prompt_gives_a_turn_and_the_folded_batches_equal_the_stored_events(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(CODE, "It is 2.")) as front:
        await front.client.send(Open())
        assert await front.turn("add") == TurnEnded(reason="done")
        session_id = front.transcript.session_id
    store = Store(tmp_path / "sessions.db")
    stored = Transcript()
    for event in store.load(session_id):
        stored.apply(event)
    assert stored == front.transcript
    assert store.sessions()[0].title == "add"
    store.close()


async def test_L5_a_resumed_session_sends_its_past_to_the_screen_and_to_the_model(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("I will remember.")) as front:
        await front.client.send(Open())
        await front.turn("the secret word is crunk")
        session_id = front.transcript.session_id
        before = front.transcript.blocks
    model = FakeModel("crunk")
    async with engine(tmp_path, model) as front:
        await front.client.send(Open(session_id=session_id))
        await front.until_event(SessionOpened)
        assert isinstance(front.replies[0], Batch)
        assert front.replies[0].replay
        assert front.transcript.blocks == before
        await front.turn("what is it?")
    assert "the secret word is crunk" in [message.text for message in model.requests[0].messages]


async def test_a_session_that_ran_code_says_on_resume_that_its_kernels_are_fresh(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(CODE, "2")) as front:
        await front.client.send(Open())
        await front.turn("add")
        session_id = front.transcript.session_id
    async with engine(tmp_path, FakeModel("x")) as front:
        await front.client.send(Open(session_id=session_id))
        await front.until(lambda _: _last_notice(front) != "")
        assert "fresh" in _last_notice(front)


def _last_notice(front: Front) -> str:
    last = front.transcript.blocks[-1] if front.transcript.blocks else None
    return last.title if isinstance(last, NoticeBlock) else ""


CRASHED = (
    SessionOpened(session_id="crashed", created=1.0, cwd="/work", model="other/model", approval="ask"),
    SettingsChanged(model="other/model", approval="ask", api_base="http://127.0.0.1:1/v1"),
    CodeStarted(block_id="own", language="python", author="user"),
    CodeFinished(block_id="own", language="python", source="input()"),
    ExecutionStarted(block_id="own", generation=1),
    InputRequested(request_id="i", block_id="own", prompt="? "),
    TurnStarted(block_id="u", text="go"),
    ProseStarted(block_id="p"),
    ProseGrew(block_id="p", text="half"),
)


async def test_what_was_open_when_the_engine_ended_is_settled_on_resume_and_nothing_asks_any_more(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "sessions.db")
    store.create("crashed", 1.0, "/work")
    store.append("crashed", CRASHED)
    store.close()
    async with engine(tmp_path, FakeModel("x"), name="") as front:
        await front.client.send(Open(session_id="crashed"))
        ended = await front.until_event(TurnEnded)
        assert ended.reason == "engine_lost"
        assert isinstance(front.replies[0], Batch)
        assert front.replies[0].replay
        await front.until_event(SessionOpened)
        assert not front.transcript.turn_open
        assert front.transcript.pending_input is None
        own, _, prose = front.transcript.blocks[:3]
        assert (narrow(own, CodeBlock).state, narrow(prose, ProseBlock).state) == ("interrupted", "cut")


async def test_V15_of_a_long_session_the_end_is_told_first_where_that_is_asked_for_and_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oi_tui.app.engine.log.store.store.LONG", len(CRASHED))
    monkeypatch.setattr("oi_tui.app.engine.log.store.store.ENDING", 4)
    store = Store(tmp_path / "sessions.db")
    store.create("crashed", 1.0, "/work")
    store.append("crashed", CRASHED)
    store.close()
    async with engine(tmp_path, FakeModel("x"), name="") as front:
        await front.client.send(Open(session_id="crashed", end_first=True))
        await front.until_event(SessionOpened)
        first, replay, *others = front.replies
        asked, prose = narrow(first, LastBlocks).blocks
        assert (asked.id, narrow(prose, ProseBlock).text, narrow(prose, ProseBlock).state) == ("u", "half", "cut")
        assert narrow(replay, Batch).replay
        assert of(LastBlocks, others) == []
        assert [block.id for block in front.transcript.blocks[:3]] == ["own", "u", "p"]


async def test_what_a_kill_cut_short_is_no_refusal_and_no_interrupt_of_the_user_to_the_model(tmp_path: Path) -> None:
    source = "1+1"
    happened: list[AnyEvent] = []
    for block_id in ("running", "approved", "asked"):
        happened += [
            CodeStarted(block_id=block_id, language="python"),
            CodeFinished(block_id=block_id, language="python", source=source),
        ]
    may = DecisionMade(block_id="running", verdict="run", decider="person", source=source)
    happened += [
        may,
        ExecutionStarted(block_id="running", generation=1),
        msgspec.structs.replace(may, block_id="approved"),
        DecisionRequested(request_id="r", block_id="asked", language="python", source=source, sha256=""),
    ]
    store = Store(tmp_path / "sessions.db")
    store.create("killed", 1.0, "/work")
    opened = SessionOpened(session_id="killed", created=1.0, cwd="/work", model="", approval="ask")
    store.append("killed", (opened, TurnStarted(block_id="u", text="go"), StepStarted(number=1), *happened))
    store.close()
    model = FakeModel("I see.")
    async with engine(tmp_path, model) as front:
        await front.client.send(Open(session_id="killed"))
        await front.until_event(SessionOpened)
        assert front.transcript.pending_decision is None
        await front.turn("go on")
    told = "\n".join(message.text for message in model.requests[0].messages if message.role != "system")
    for words in ("cut off", "approved, not started", "not decided"):
        assert f"[{words}: the program ended]" in told
    assert not re.search("refused|by the user|user stopped", told)


async def test_a_resumed_session_asks_the_same_server_as_before(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    store.create("crashed", 1.0, "/work")
    store.append("crashed", CRASHED)
    store.remember("model", "something/else")
    store.remember("api_base", "http://127.0.0.1:2/v1")
    store.close()
    models = FakeModels(FakeModel("x"))
    async with engine(tmp_path, models.model, models=models, name="") as front:
        await front.client.send(Open(session_id="crashed"))
        await front.until_event(SettingsChanged)
        await front.turn("hello")
    assert models.opened == [("other/model", "http://127.0.0.1:1/v1", "k3y")]


async def test_stopping_while_the_model_is_still_being_opened_stops_the_turn(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("never said"))
    models.opening = asyncio.Event()
    async with engine(tmp_path, models.model, models=models) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="go"))
        await front.until_event(TurnStarted)
        await front.client.send(Interrupt(turn=True))
        ended = await front.until_event(TurnEnded)
        assert ended.reason == "interrupted"
        models.opening.set()
    assert models.model.requests == []


async def test_a_prompt_is_answered_with_the_end_of_a_turn_even_where_the_disk_fails(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("Still here.")) as front:
        await front.client.send(Open())
        await front.until_event(SessionOpened)
        with sqlite3.connect(tmp_path / "sessions.db") as db:
            db.execute("DROP TABLE sessions")
        db.close()
        assert (await front.turn("hello")).reason == "done"


async def test_what_happens_is_written_down_although_nobody_reads_it(tmp_path: Path) -> None:
    never = asyncio.Event()

    async def send(reply: Reply) -> None:
        if isinstance(reply, Batch) and any(isinstance(event, TurnStarted) for event in reply.events):
            await never.wait()

    setup = Configure(settings=Settings(model=ModelSection(name="fake/model")), cwd="/work")
    store = Store(tmp_path / "sessions.db")
    models = FakeModels(FakeModel("The answer."))
    log = Log(store=store)
    served = Engine(Services(setup=setup, models=models, make_kernels=lambda ties: FakeKernels(), send=send, log=log))
    await served.handle(Open())
    await served.handle(Submit(text="go"))
    other = Store(tmp_path / "sessions.db")
    async with asyncio.timeout(10):
        while not any(  # noqa: ASYNC110 - what another connection wrote sets no event
            isinstance(event, TurnEnded) for event in other.load(other.sessions()[0].id)
        ):
            await asyncio.sleep(0.01)
    other.close()
    await served.close()


async def test_closing_in_the_middle_of_a_turn_saves_what_there_is_and_ends_everything(tmp_path: Path) -> None:
    models = FakeModels(FakeModel([TextDelta(text="half"), asyncio.Event()]))
    kernels = FakeKernels()
    async with engine(tmp_path, models.model, models=models, kernels=kernels) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="go"))
        await front.until_event(ProseGrew)
        session_id = front.transcript.session_id
    assert models.closed
    assert kernels.get("python").state == "dead"
    store = Store(tmp_path / "sessions.db")
    events = store.load(session_id)
    store.close()
    assert narrow(events[-2], ProseGrew).text == "half"
    assert events[-1] == TurnEnded(reason="interrupted", detail="The program was closed.")


async def test_prompts_sent_during_a_turn_are_answered_after_it(tmp_path: Path) -> None:
    model = FakeModel("one", "two")
    async with engine(tmp_path, model) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="first"))
        await front.client.send(Submit(text="second"))
        await front.until_event(TurnEnded)
        if len([e for e in front.events if isinstance(e, TurnEnded)]) < 2:
            await front.until_event(TurnEnded)
    users = [block.text for block in front.transcript.blocks if isinstance(block, UserBlock)]
    assert users == ["first", "second"]


async def test_stopping_the_turn_gives_queued_prompts_back_instead_of_sending_them(tmp_path: Path) -> None:
    model = FakeModel([TextDelta(text="half"), asyncio.Event()])
    async with engine(tmp_path, model) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="first"))
        await front.until_event(ProseGrew)
        await front.client.send(Submit(text="second"))
        await front.client.send(Interrupt(turn=True))
        await front.until_event(TurnEnded)
        notices = [block for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
        assert [notice.hint or notice.title for notice in notices] == ["second", "You stopped the turn."]
        waits = [reply.prompts for reply in front.replies if isinstance(reply, PromptsQueued)]
        assert waits == [("second",), ()]
    assert len(model.requests) == 1


async def test_a_prompt_that_waits_can_be_taken_back_as_long_as_it_waits() -> None:
    told: list[PromptsQueued] = []
    queue = JobQueue(told.append)
    for text in ("first", "again", "other", "again"):
        queue.add(Submit(text=text))
    assert (await queue.next_job(), told) == (
        Submit(text="first"),
        [PromptsQueued(prompts=("again", "other", "again"))],
    )
    queue.withdraw("again")
    queue.withdraw("first")
    assert told[1:] == [
        PromptsQueued(prompts=("again", "other"), withdrawn="again"),
        PromptsQueued(prompts=("again", "other")),
    ]
    assert [await queue.next_job() for _ in range(2)] == [Submit(text="again"), Submit(text="other")]
    assert (told[-1], bool(queue)) == (PromptsQueued(), False)


async def test_decisions_settings_restart_retry_and_clear_do_what_they_say(tmp_path: Path) -> None:
    kernel = FakeKernel()
    model = FakeModel(CODE, "Done.", "Again.")
    async with engine(tmp_path, model, kernels=FakeKernels(python=kernel), approve="ask") as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="add"))
        request = await front.until_event(DecisionRequested)
        assert isinstance(request, DecisionRequested)
        # Another mode leaves the question that is open to the person.
        for mode in get_args(ApprovalMode):
            await front.client.send(SetApproval(mode=mode))
            while front.transcript.approval != mode:
                await front.until_event(SettingsChanged)
            assert front.transcript.pending_decision == request
        await front.client.send(SetApproval(mode="auto"))
        await front.client.send(Decide(request_id=request.request_id, verdict="run"))
        await front.until_event(TurnEnded)
        assert kernel.ran == ["1+1"]
        await front.client.send(SetApproval(mode="never"))
        await front.until(lambda _: front.transcript.approval == "never")
        await front.client.send(Restart())
        await front.client.send(Retry())
        await front.until_event(TurnEnded)
        assert kernel.generation == 2
        await front.client.send(Run(language="py", source="x"))
        await front.client.send(Clear())
        await front.until(lambda _: front.transcript.blocks == [])
        assert kernel.ran == ["1+1", "x"]


async def test_a_model_that_cannot_be_opened_is_a_notice_and_another_can_be_used(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("hi"), fails=ModelError("no_key", "No key.", hint="Set it."))
    async with engine(tmp_path, models.model, models=models) as front:
        await front.client.send(Open())
        await front.until(lambda _: _last_notice(front) == "No key.")
        models.fails = None
        await front.client.send(UseModel(name="other", api_base="http://127.0.0.1:1/v1", api_key="s3cret"))
        await front.until(lambda _: front.transcript.model == "other")
        assert models.opened[-1] == ("other", "http://127.0.0.1:1/v1", "s3cret")
        assert (await front.turn("hello")).reason == "done"
    assert "s3cret" not in repr(front.replies)
    assert b"s3cret" not in (tmp_path / "sessions.db").read_bytes()


async def test_the_model_last_chosen_is_remembered_for_the_next_session(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("hi"), name="") as front:
        await front.client.send(Open())
        await front.client.send(UseModel(name="chosen"))
        await front.until(lambda _: front.transcript.model == "chosen")
        assert narrow(front.events[0], SessionOpened).model == ""
    async with engine(tmp_path, FakeModel("hi"), name="") as front:
        await front.client.send(Open())
        opened = await front.until_event(SessionOpened)
        assert opened.model == "chosen"


async def test_offers_and_a_download_that_is_cancelled_and_then_done(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("hi"))
    async with engine(tmp_path, models.model, models=models, name="") as front:
        await front.client.send(Open())
        await front.client.send(FindModels())
        found = await front.until(lambda r: isinstance(r, ModelsFound))
        offers = found.offers if isinstance(found, ModelsFound) else ()
        assert [offer.id for offer in offers] == ["fake/key", "tiny", TOUR]
        session_id = front.transcript.session_id
        await front.client.send(FetchModel(model_id="tiny"))
        progress = await front.until(lambda r: isinstance(r, FetchProgressed))
        assert progress == FetchProgressed(session_id=session_id, model_id="tiny", done_bytes=50, total_bytes=100)
        await front.client.send(CancelFetch())
        ended = await front.until(lambda r: isinstance(r, FetchEnded))
        assert ended == FetchEnded(session_id=session_id, model_id="tiny", ready=False)
        models.fetching.set()
        await front.client.send(FetchModel(model_id="tiny"))
        ended = await front.until(lambda r: isinstance(r, FetchEnded))
        assert ended == FetchEnded(session_id=session_id, model_id="tiny", ready=True)
        assert front.transcript.model == "local/tiny"


async def test_S20_where_there_can_be_no_sandbox_that_is_told_before_anything_is_to_run(tmp_path: Path) -> None:
    async def trial() -> Availability:
        return Availability(False, "There is no sandbox here.", "Install\nbubblewrap")

    async with engine(tmp_path, FakeModel("Hello."), trial=trial) as front:
        await front.client.send(Open())
        await front.until(lambda reply: isinstance(reply, SandboxFailed))
        (notice,) = [block for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
        assert (notice.level, notice.title) == ("error", "There is no sandbox here.")
        assert notice.hint.startswith("Install bubblewrap. Until then no code runs. To run without a sandbox: /sandbox")
        assert isinstance(await front.turn("hi"), TurnEnded)  # talking is possible


async def test_S15_what_a_sandbox_that_works_leaves_open_is_told_in_each_session(tmp_path: Path) -> None:
    async def trial() -> Availability:
        return Availability(True, gaps=("code can reach a thing",))

    async with engine(tmp_path, FakeModel("Hello."), trial=trial) as front:
        await front.client.send(Open())
        await front.until(lambda _: any(isinstance(block, NoticeBlock) for block in front.transcript.blocks))
        (notice,) = [block for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
        assert (notice.level, notice.hint) == ("warning", "Code can reach a thing.")
    assert not any(isinstance(reply, SandboxFailed) for reply in front.replies)


async def test_S20_a_sandbox_that_is_being_tried_keeps_nobody_waiting_and_is_no_concern_of_who_left(
    tmp_path: Path,
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def trial() -> Availability:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError("nothing comes of it")

    async with engine(tmp_path, FakeModel("Hello."), trial=trial) as front:
        await front.client.send(Open())
        assert isinstance(await front.turn("hi"), TurnEnded)
        assert begun.is_set()
    assert ended.is_set()


async def test_a_sandbox_that_works_is_not_spoken_of(tmp_path: Path) -> None:
    async def trial() -> Availability:
        return Availability(True)

    async with engine(tmp_path, FakeModel("Hello."), trial=trial) as front:
        await front.client.send(Open())
        await front.turn("hi")
    assert not any(isinstance(reply, SandboxFailed) for reply in front.replies)
    assert not any(isinstance(block, NoticeBlock) for block in front.transcript.blocks)


async def test_text_that_streams_arrives_in_merged_batches(tmp_path: Path) -> None:
    many = [TextDelta(text="x")] * 500
    async with engine(tmp_path, FakeModel([*many, AnswerEnded()])) as front:
        await front.client.send(Open())
        await front.turn("go")
    grew = [event for event in front.events if isinstance(event, ProseGrew)]
    assert "".join(event.text for event in grew) == "x" * 500
    assert len(grew) < 100


async def test_a_session_that_is_not_there_is_a_fatal_failure_in_plain_words(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("hi")) as front:
        await front.client.send(Open(session_id="nope"))
        failed = await front.until(lambda r: isinstance(r, Failed))
        assert failed == Failed(
            title="There is no session nope.",
            hint="`oi-tui sessions` lists those there are.",
            fatal=True,
            exit_code=5,
        )


@pytest.mark.parametrize("verb", [Submit(text="x"), FindModels(), Interrupt()])
async def test_a_verb_before_open_is_refused(tmp_path: Path, verb: Submit) -> None:
    async with engine(tmp_path, FakeModel("hi")) as front:
        await front.client.send(verb)
        failed = await front.until(lambda r: isinstance(r, Failed))
        assert isinstance(failed, Failed)
        assert failed.fatal


async def test_half_a_surrogate_pair_in_an_error_is_told_and_written_down_without_it(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel([ModelError("server", "out of order \ud800")])) as front:
        await front.client.send(Open())
        assert await front.turn("hello") == TurnEnded(reason="model_error", detail="out of order \ud800")
        session_id = front.transcript.session_id
    store = Store(tmp_path / "sessions.db")
    assert TurnEnded(reason="model_error", detail="out of order \ufffd") in store.load(session_id)
    store.close()


def test_half_a_surrogate_pair_passes_the_wire_as_a_replacement() -> None:
    line = encode_message(Batch(events=(TurnEnded(reason="model_error", detail="\udfff!"),)))
    assert decode_reply(line) == Batch(events=(TurnEnded(reason="model_error", detail="\ufffd!"),))


async def test_another_model_of_the_same_provider_is_asked_of_the_server_that_was_named(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("One."))
    async with engine(
        tmp_path, models.model, models=models, name="openai/a", api_base="http://127.0.0.1:9/v1"
    ) as front:
        await front.client.send(Open())
        await front.client.send(UseModel(name="openai/b"))
        await front.turn("hello")
        await front.client.send(UseModel(name="anthropic/c"))
        await front.turn("and you?")
    assert ("openai/b", "http://127.0.0.1:9/v1", "k3y") in models.opened
    assert models.opened[-1] == ("anthropic/c", None, None)


async def test_another_name_stays_on_the_server_that_is_in_use(tmp_path: Path) -> None:
    server = "http://127.0.0.1:9/v1"
    models = FakeModels(FakeModel("One."))
    async with engine(tmp_path, models.model, models=models, name="fake-1", api_base=server) as front:
        await front.client.send(Open())
        for name in ("fake-2", "openai/fake-3", "fake-4"):
            await front.client.send(UseModel(name=name))
        await front.turn("hello")
        assert (front.transcript.model, front.transcript.api_base) == ("fake-4", server)
        await front.client.send(UseModel(name="local/tiny"))
        await front.client.send(UseModel(name="openai/theirs", api_base=""))
        await front.turn("and you?")
    assert models.opened[-1] == ("openai/theirs", "", None)
    assert {opened[1:] for opened in models.opened if opened[0].startswith("local/")} <= {(None, None)}
    assert {opened[1:] for opened in models.opened if "fake" in opened[0]} == {(server, "k3y")}


async def test_a_server_and_a_key_chosen_while_it_ran_are_kept_for_the_next_name(tmp_path: Path) -> None:
    server = "http://127.0.0.1:9/v1"
    models = FakeModels(FakeModel("One.", "Two."))
    async with engine(tmp_path, models.model, models=models, api_base="http://127.0.0.1:1/v1") as front:
        await front.client.send(Open())
        await front.client.send(UseModel(name="mine", api_base=server, api_key="typed"))
        await front.client.send(UseModel(name="another"))
        await front.turn("hello")
        assert models.opened[-1:] == [("another", server, "typed")]
        await front.client.send(UseModel(name="keyless", api_base="http://127.0.0.1:2/v1"))
        await front.client.send(UseModel(name="too"))
        await front.turn("and you?")
        assert models.opened[-1:] == [("too", "http://127.0.0.1:2/v1", None)]


async def test_another_name_in_a_resumed_session_stays_on_its_server(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    store.create("crashed", 1.0, "/work")
    store.append("crashed", CRASHED)
    store.close()
    for session_id in ("crashed", None):  # the next start in another session begins with the name that was remembered
        models = FakeModels(FakeModel("One."))
        async with engine(tmp_path, models.model, models=models, name="") as front:
            await front.client.send(Open(session_id=session_id))
            await front.until_event(SettingsChanged)
            if session_id is not None:
                await front.client.send(UseModel(name="other/one"))
            await front.turn("hello")
        assert models.opened[-1] == ("other/one", "http://127.0.0.1:1/v1", "k3y")


async def test_R13_another_environment_is_told_with_what_the_kernel_runs_in_now(tmp_path: Path) -> None:
    kernel = FakeKernel()
    kernel.place = "Python 3.12.4 in .venv"
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.client.send(UseKernel(name=".venv"))
        changed = await front.until_event(KernelChanged)
        assert changed.detail == kernel.place


async def test_R13_that_code_would_run_on_another_machine_is_told_before_any_runs(tmp_path: Path) -> None:
    kernel = FakeKernel()
    kernel.place, kernel.elsewhere = "python3 on hub.example.org", True
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        changed = await front.until_event(KernelChanged)
        assert (changed.state, changed.detail, changed.elsewhere) == ("cold", kernel.place, True)
        kernel.place, kernel.elsewhere = "Python 3.11.7 of oi-tui", False
        await front.client.send(UseKernel(name="oi-tui"))
        changed = await front.until_event(KernelChanged)
        assert (changed.detail, changed.elsewhere) == (kernel.place, False)


class KernelsOutOfReach(FakeKernels):
    """There is no way to their server."""

    async def look_around(self) -> None:
        raise KernelError("hub.test cannot be reached.", hint="Is it running?")


async def test_R13_a_server_that_cannot_be_used_is_told_at_the_start(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(), kernels=KernelsOutOfReach()) as front:
        await front.client.send(Open())
        notice = await front.until_event(NoticeAdded)
        assert (notice.level, notice.title, notice.hint) == (
            "warning",
            "hub.test cannot be reached.",
            "Is it running?",
        )


async def test_R13_what_code_can_run_in_is_told_also_while_code_runs(tmp_path: Path) -> None:
    kernel = FakeKernel()
    kernel.blocked = True
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source="work()"))
        await front.until_event(ExecutionStarted)
        await front.client.send(FindKernels())
        here = await front.until(lambda reply: isinstance(reply, KernelsFound))
        assert isinstance(here, KernelsFound)
        assert here == KernelsFound(session_id=here.session_id, choices=await FakeKernels().choices())
        await front.client.send(FindKernels(server="cluster"))
        there = await front.until(lambda reply: isinstance(reply, KernelsFound))
        assert isinstance(there, KernelsFound)
        assert [choice.name for choice in there.choices] == ["cluster:fake"]
        assert there.server == "cluster"
