"""Context that never overflows: what goes to a model when not all of a conversation fits."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import msgspec
import pytest

from oi_tui.app.engine.agent.context_plan import ContextPlan, plan_context
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import (
    Block,
    CallBlock,
    NoticeBlock,
    ProseBlock,
    SummaryBlock,
    ThoughtBlock,
    UserBlock,
)
from oi_tui.app.engine.core.chat_model import TextDelta
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.events import AnyEvent, SummaryEnded, SummaryStarted, TurnEnded, UsageReported
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.verbs import ChangeSummary, MarkContext
from oi_tui.app.engine.formats.lmc.envelope import blocks_of_envelope, envelope_bytes
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.models.refused_lengths import TOO_LONG, tokens_allowed
from oi_tui.app.engine.models.served_model import ServedModel
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, Happenings, stdout_output
from oi_tui.app.engine.text.markdown import transcript_markdown
from oi_tui.app.engine.text.plain import plain_transcript
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.outline import SessionOutline
from oi_tui.plugins.builtin.notebook_reading import blocks_of_notebook
from oi_tui.plugins.builtin.page_writing import page_bytes
from oi_tui.plugins.session_files import export_session
from support.counting_server import WINDOW, CountingServer, remembering
from support.kinds import of
from support.turns import play

Build = Callable[..., ServedModel]

TABLE = "\n".join(f"row {number}: {number * 37 % 101} units of cargo on quay {number % 7}" for number in range(60))
NOTE = "Note {}: the ferry brought {} boxes to the quay and left again before the tide turned in the evening."


@pytest.fixture
def client() -> str:
    """Our own."""
    return "lean"


@pytest.fixture
def server() -> Iterator[CountingServer]:
    with CountingServer(remembering("harbour")) as server:
        yield server


def make(model: ServedModel) -> Session:
    happenings: Happenings = [stdout_output(TABLE + "\n[end]\n"), RunResult(status="ok")]
    kernel = FakeKernel(lambda _source: happenings)
    settings = LoopSection(approve="auto")
    return Session(kernels=FakeKernels(python=kernel), settings=settings, model=model)


async def say(session: Session, text: str) -> list[AnyEvent]:
    return await play(session, session.run(text), limit=30)


def answer_of(session: Session) -> str:
    return of(ProseBlock, session.transcript.blocks)[-1].text


def summaries(session: Session) -> list[SummaryBlock]:
    return of(SummaryBlock, session.transcript.blocks)


@pytest.mark.parametrize("tools", ["on", "off"])
async def test_L18_L24_two_hundred_turns_fit_and_what_was_said_can_be_asked_for(
    server: CountingServer, model: Build, tools: str
) -> None:
    session = make(model(api_base=server.url, tools=tools, context_window=WINDOW))
    events: list[AnyEvent] = []
    for number in range(1, 200):
        text = NOTE.format(number, number * 7)
        match number:
            case 3:
                text += " The pier code is 4711."
            case 5:
                text += " The harbour code is 8262."
            case 7:
                text += " The lighthouse code is 9433."
            case _ if number % 5 == 0:
                text += " Now compute the table."
        events += await say(session, text)
        if number == 3:
            block = of(UserBlock, session.transcript.blocks)[-1]
            session.dialogue.window.change(MarkContext(block_id=block.id, mark="pinned"))
    assert len(summaries(session)) > 3
    assert "harbour code is 8262" in summaries(session)[-1].text
    assert "9433" not in summaries(session)[-1].text
    told: dict[str, str] = {}
    calls = len(of(CallBlock, session.transcript.blocks))
    for place in ("pier", "harbour", "lighthouse"):
        events += await say(session, f"What is the {place} code?")
        told[place] = answer_of(session)
    assert told == {"pier": "It is 4711.", "harbour": "It is 8262.", "lighthouse": "It is 9433."}
    assert [call.tool for call in of(CallBlock, session.transcript.blocks)[calls:]] == ["recall"]
    assert not server.refused
    assert max(server.counts) <= WINDOW
    assert any(report.aside for report in of(UsageReported, events))


@pytest.mark.parametrize("says", [True, False])
async def test_L24_a_refusal_is_learned_from_and_the_request_made_once_more(model: Build, says: bool) -> None:
    with CountingServer(remembering("harbour"), window=2_000, says=says) as server:
        session = make(model(api_base=server.url, tools="off"))
        events: list[AnyEvent] = []
        for number in range(1, 40):
            events += await say(session, NOTE.format(number, number) + " compute" * (number % 3 == 0))
    assert len(server.refused) == 1
    assert {end.reason for end in of(TurnEnded, events)} == {"done"}
    assert summaries(session)
    learned = session.transcript.context_window
    assert learned == 2_000 if says else learned is not None and learned < server.refused[0]


async def test_L24_what_cannot_be_made_shorter_is_refused_once_more_and_told(model: Build) -> None:
    with CountingServer(remembering("harbour"), window=50) as server:
        session = make(model(api_base=server.url, tools="off"))
        events = await say(session, "hello")
    assert len(server.refused) == 2
    assert of(TurnEnded, events)[-1].reason == "model_error"
    assert of(NoticeBlock, session.transcript.blocks)[-1].title.startswith("The conversation is longer than")


async def test_L18_where_no_summary_can_be_made_old_turns_are_left_out_visibly() -> None:
    answers = [f"Answer {number}. " + "word " * 100 for number in range(4)]
    failing = [ModelError("server", "The server failed with status 500.")]
    fake = FakeModel(*answers, failing, "Fine.")
    fake.context_window = 1_000
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=fake)
    for number in range(5):
        await say(session, f"prompt {number}")
    (summary,) = summaries(session)
    assert (summary.text, summary.used) == ("", True)
    notice = of(NoticeBlock, session.transcript.blocks)[-1]
    assert notice.title == "3 earlier turns are left out of what the model reads: no summary could be made."
    sent = fake.requests[-1].messages
    assert "Earlier messages are left out." in sent[1].text
    assert "Answer 0" not in "".join(message.text for message in sent)
    assert answer_of(session) == "Fine."


async def test_a_summary_can_be_changed_undone_and_used_again_and_the_original_stays() -> None:
    fake = FakeModel("One.", "Two.", "They greeted.", "Three.")
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=fake)
    events = await say(session, "hello")
    events += await say(session, "hi again")
    events += await play(session, session.dialogue.compact("greetings"))
    (summary,) = summaries(session)
    assert (summary.text, summary.turns, summary.focus) == ("They greeted.", 1, "greetings")
    assert "greetings" in fake.requests[2].messages[0].text

    async def sent() -> str:
        await say(session, "and now?")
        return "\n".join(message.text for message in fake.requests[-1].messages)

    first = await sent()
    assert "They greeted." in first
    assert "hello" not in first
    window = session.dialogue.window
    window.change(ChangeSummary(block_id=summary.id, text="Edited."))
    assert "Edited." in await sent()
    window.change(ChangeSummary(block_id=summary.id, text="Edited.", used=False))
    undone = await sent()
    assert "hello" in undone
    assert "Edited." not in undone
    assert [block.text for block in of(UserBlock, session.transcript.blocks)][:2] == ["hello", "hi again"]
    assert fold_events(events_of_blocks(session.transcript.blocks)).blocks == session.transcript.blocks


async def test_what_is_left_out_is_not_sent_nor_recalled_and_what_is_pinned_is_never_covered() -> None:
    fake = FakeModel("One.", "Two.", "Summary.", '```recall\n{"block": 3}\n```', "End.")
    session = Session(kernels=FakeKernels(), settings=LoopSection(approve="ask"), model=fake)
    for text in ("keep this", "forget this", "third"):
        await say(session, text)
        fake.answers[:] = fake.answers
    keep, forget, _ = of(UserBlock, session.transcript.blocks)
    window = session.dialogue.window
    window.change(MarkContext(block_id=keep.id, mark="pinned"))
    window.change(MarkContext(block_id=forget.id, mark="left out"))
    fake.answers[:] = [
        "x",
        "x",
        "x",
        "Summary.",
        f'```recall\n{{"block": {session.transcript.position(forget.id) + 1}}}\n```',
        "End.",
    ]
    await play(session, session.dialogue.compact(""))
    assert "forget this" not in fake.requests[-1].messages[1].text
    await say(session, "go on")
    sent = "\n".join(message.text for message in fake.requests[4].messages)
    assert "keep this" in sent
    assert "forget this" not in sent
    (recalled,) = of(CallBlock, session.transcript.blocks)
    assert recalled.state == "error"
    assert "left this out" in fake.requests[-1].messages[-1].text


async def test_of_a_cut_output_the_model_can_read_the_rest_without_a_question_and_without_secrets() -> None:
    secret = "sk-proj-" + "a1B2" * 10
    lines = "\n".join(f"line {number}" + (f" {secret}" if number == 700 else "") for number in range(1, 3_000))
    kernel = FakeKernel({"go": [stdout_output(lines), RunResult(status="ok")]})
    fake = FakeModel("```python\ngo\n```", '```recall\n{"block": 2, "from_line": 690}\n```', "Done.")
    settings = LoopSection(approve="auto", output_to_model=2_000)
    session = Session(kernels=FakeKernels(python=kernel), settings=settings, model=fake)
    await say(session, "run it")
    assert '; recall {"block": 2} shows it' in fake.requests[1].messages[-1].text
    assert "recall" in {tool.name for tool in fake.requests[1].tools}
    assert "recall" not in {tool.name for tool in fake.requests[0].tools}
    shown = fake.requests[2].messages[-1].text
    assert "line 700 [secret withheld" in shown
    assert secret not in shown
    assert '"from_line"' in shown


async def test_stopping_a_summary_changes_nothing() -> None:
    gate = asyncio.Event()
    fake = FakeModel("One.", "Two.", [gate, TextDelta(text="never")])
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=fake)
    await say(session, "hello")
    await say(session, "hi")

    def stop(event: AnyEvent) -> None:
        if isinstance(event, SummaryStarted):
            asyncio.get_running_loop().call_soon(watch)

    def watch() -> None:
        if len(fake.requests) == 3:
            session.interrupt()
        else:
            asyncio.get_running_loop().call_soon(watch)

    events = await play(session, session.dialogue.compact(""), stop)
    assert not summaries(session)
    assert of(SummaryEnded, events)
    assert not session.transcript.summarises
    assert of(NoticeBlock, session.transcript.blocks)[-1].title == "You stopped the summary: nothing has changed."


async def test_L24_a_resumed_session_that_is_too_long_goes_on_with_a_summary() -> None:
    long = Session(kernels=FakeKernels(), settings=LoopSection(), model=FakeModel("word " * 300))
    for number in range(12):
        await say(long, f"prompt {number}")
    past = fold_events(events_of_blocks(long.transcript.blocks))
    fake = FakeModel("They counted.")
    fake.context_window = 2_000
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=fake, transcript=past)
    await say(session, "go on")
    assert [block.text for block in summaries(session)] == ["They counted."]
    assert all(sum(len(message.text) for message in request.messages) < 8_000 for request in fake.requests)


async def test_a_summary_obeys_the_budget() -> None:
    fake = FakeModel("One.", "Two.", "Never.")
    session = Session(kernels=FakeKernels(), settings=LoopSection(max_tokens=150), model=fake)
    await say(session, "hello")
    await say(session, "hi")
    await play(session, session.dialogue.compact(""))
    assert len(fake.requests) == 2
    assert summaries(session)[-1].text == ""


async def test_context_tells_what_takes_the_room() -> None:
    fake = FakeModel("One. " * 400, "Two.")
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=fake)
    await say(session, "hello")
    await say(session, "hi")
    found = await session.dialogue.window.describe(fake)
    assert (found.window, found.reserve, found.counted) == (8_192, 2_048, 100)
    assert [part.name for part in found.parts] == ["instructions", "tools", "conversation"]
    assert found.rows[0].title.startswith("One.")
    assert found.rows[0].tokens >= max(row.tokens for row in found.rows)


class Sized(NamedTuple):
    tokens: int
    short_tokens: int
    is_prompt: bool = False
    is_pinned: bool = False


PROMPT, OUTPUT = Sized(10, 10, is_prompt=True), Sized(100, 20)
TURNS = [PROMPT, OUTPUT] * 10


def test_old_outputs_are_shortened_before_anything_is_covered() -> None:
    assert plan_context(TURNS, room=None) == ContextPlan(tokens=1_100)
    plan = plan_context(TURNS, room=1_100)
    assert plan.cover == 0
    assert plan.short == {1, 3, 5, 7, 9, 11}
    assert plan.tokens == 1_100 - 6 * 80


def test_what_was_shortened_stays_so() -> None:
    assert plan_context(TURNS, room=5_000, short=frozenset({1, 3})).short == {1, 3}


def test_as_few_turns_are_covered_as_have_to_be_and_never_the_newest_prompt() -> None:
    plan = plan_context(TURNS, room=300)
    assert plan.cover == 18
    covered = plan_context(TURNS, room=300, first=19, final=True)
    assert list(covered.indices(20)) == [18, 19]


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("the request exceeds the available context size, n_prompt_tokens: 5000, n_ctx: 4096", 4096),
        ("Your input exceeds the context window of this model: the limit is 32,768 tokens", 32_768),
        ("context length exceeded", 0),
    ],
)
def test_what_a_server_takes_is_read_off_its_refusal(said: str, tokens: int) -> None:
    assert TOO_LONG.search(said)
    assert tokens_allowed(said) == tokens


async def test_another_model_summarises_where_one_is_named_and_its_failure_is_told() -> None:
    fake, other = FakeModel("One.", "Two."), FakeModel("By the other.", name="fake/other")
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=fake)

    async def open_other() -> FakeModel:
        return other

    async def fail() -> FakeModel:
        raise ModelError("unknown_model", "No such model.")

    session.choices.aside = open_other
    await say(session, "hello")
    await say(session, "hi")
    await play(session, session.dialogue.compact(""))
    assert [(block.text, block.model) for block in summaries(session)] == [("By the other.", "fake/other")]
    session.choices.aside = fail
    await say(session, "more")
    await play(session, session.dialogue.compact(""))
    assert "No such model." in of(NoticeBlock, session.transcript.blocks)[-1].hint
    assert summaries(session)[-1].text == "By the other."


async def test_a_search_finds_what_was_said_and_neither_itself_nor_what_is_being_asked() -> None:
    search = '```recall\n{"search": "lighthouse code"}\n```'
    fake = FakeModel("Noted.", search, "It is 9433.", search, "Still 9433.")
    session = Session(kernels=FakeKernels(), settings=LoopSection(approve="ask"), model=fake)
    for text in ("The lighthouse code is 9433.", "What is the lighthouse code?", "And the lighthouse code now?"):
        await say(session, text)
    found = fake.requests[-1].messages[-1].text
    assert "Block 1: …The lighthouse code is 9433.…" in found
    assert "What is the lighthouse code?" in found
    assert "And the lighthouse code now?" not in found
    assert '"search"' not in found.partition("Output of recall")[2]


@pytest.mark.parametrize("verdict", ["deny", "ask"])
async def test_a_rule_holds_for_what_reads_the_conversation_too(verdict: Literal["deny", "ask"]) -> None:
    fake = FakeModel('```recall\n{"block": 1}\n```', "End.")
    session = Session(kernels=FakeKernels(), settings=LoopSection(approve="auto"), model=fake, can_ask=False)
    session.decisions.add_rule(verdict, "Tool(recall)")
    await say(session, "hello")
    assert [call.state for call in of(CallBlock, session.transcript.blocks)] == ["refused"]


def test_a_summary_is_in_every_export_and_one_from_a_file_is_not_used() -> None:
    blocks: list[Block] = [
        UserBlock(id="u1", text="hello", mark="pinned"),
        SummaryBlock(id="s1", text="They greeted <b>.", until="u1", turns=1, model="m"),
        UserBlock(id="u2", text="hi"),
    ]
    read, _ = blocks_of_envelope(msgspec.json.decode(envelope_bytes(blocks, SessionOutline())))
    summary = of(SummaryBlock, read)[0]
    assert (summary.text, summary.used) == ("They greeted <b>.", False)
    assert of(UserBlock, read)[0].mark == "pinned"
    for text in (plain_transcript(blocks), transcript_markdown(blocks), page_bytes(blocks, "").decode()):
        assert "ummary of 1 turn" in text
        assert "They greeted" in text
    assert b"greeted <b>" not in page_bytes(blocks, "")


def test_a_notebook_brings_back_summaries_and_thoughts_as_such_and_uses_no_summary() -> None:
    summary = SummaryBlock(id="s1", text="They greeted.", until="u1", turns=1)
    thought = ThoughtBlock(id="t1", text="A greeting.", state="complete", step=1)
    written = export_session(events_of_blocks([UserBlock(id="u1", text="hello"), thought, summary]), "ipynb")
    read, _ = blocks_of_notebook(msgspec.json.decode(written))
    assert [(block.text, block.used) for block in of(SummaryBlock, read)] == [("They greeted.", False)]
    assert [block.text for block in of(ThoughtBlock, read)] == ["A greeting."]
    assert not of(ProseBlock, read)
