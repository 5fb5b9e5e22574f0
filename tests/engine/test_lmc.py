"""The message language: events to chunks, chunks to messages, messages to events and back."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputsCleared,
    OutputUpdated,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput
from oi_tui.app.engine.formats.lmc import LmcWriter, events_from_messages, fold_chunks, static_messages
from oi_tui.app.engine.formats.lmc.mime_map import output_messages
from oi_tui.app.engine.text.mime import plain_text
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.transcript import Transcript
from support.kinds import narrow

Message = dict[str, Any]
TEXT = {"role": "computer", "type": "console", "format": "output"}


def chunks_of(events: list[AnyEvent]) -> list[Message]:
    writer = LmcWriter()
    return [chunk for event in events for chunk in writer.chunks(event)]


def transcript_of(events: list[AnyEvent]) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def prose(block_id: str, *parts: str) -> list[AnyEvent]:
    grown = [ProseGrew(block_id=block_id, text=part) for part in parts]
    return [ProseStarted(block_id=block_id), *grown, ProseFinished(block_id=block_id)]


def code(block_id: str, *parts: str, language: str = "python", source: str | None = None) -> list[AnyEvent]:
    return [
        CodeStarted(block_id=block_id, language="python"),
        *(CodeGrew(block_id=block_id, text=part) for part in parts),
        CodeFinished(block_id=block_id, language=language, source="".join(parts) if source is None else source),
    ]


def run(block_id: str, source: str, *outputs: Output, edited: bool = False) -> list[AnyEvent]:
    return [
        DecisionMade(block_id=block_id, verdict="edit" if edited else "run", decider="person", source=source),
        ExecutionStarted(block_id=block_id, generation=1),
        *(OutputAdded(block_id=block_id, output=output) for output in outputs),
        ExecutionFinished(block_id=block_id, status="ok", duration=0.1),
    ]


def stdout(text: str) -> StreamOutput:
    return StreamOutput(name="stdout", text=text)


ASK = TurnStarted(block_id="u", text="Add.")
END = TurnEnded(reason="done")


def test_L1_a_block_then_prose_has_one_start_and_one_end_of_code_console_and_message() -> None:
    asked = DecisionRequested(request_id="r", block_id="c", language="python", source="10+12", sha256="")
    started, *ran = run("c", "10+12", RichOutput(data={"text/plain": "22"}, is_result=True))[1:]
    line = ActiveLineChanged(block_id="c", line=1)
    events = [ASK, StepStarted(number=1), *code("c", "10+", "12"), *prose("p", "That ", "is it."), asked]
    chunks = chunks_of([*events, started, line, *ran, END])
    assert all("role" in chunk and "type" in chunk for chunk in chunks)
    for kind in ("code", "console"):
        of_kind = [chunk for chunk in chunks if chunk["type"] == kind]
        assert [chunk.get("start") for chunk in of_kind].count(True) == 1
        assert [chunk.get("end") for chunk in of_kind].count(True) == 1
    said = {"role": "assistant", "type": "message"}
    python = {"role": "assistant", "type": "code", "format": "python", "block": "c"}
    console = {"role": "computer", "type": "console", "block": "c"}
    assert chunks[3:] == [
        {**python, "start": True},
        {**python, "content": "10+"},
        {**python, "content": "12"},
        {**python, "end": True},
        {**said, "start": True},
        {**said, "content": "That "},
        {**said, "content": "is it."},
        {**said, "end": True},
        {
            "role": "computer",
            "type": "confirmation",
            "block": "c",
            "format": "execution",
            "content": {"type": "code", "format": "python", "content": "10+12"},
        },
        {**console, "start": True},
        {**console, "format": "active_line", "content": "1"},
        {**console, "format": "output", "content": "22"},
        {**console, "end": True},
        {"role": "server", "type": "status", "content": "executed", "block": "c", "status": "ok"},
        {"role": "server", "type": "status", "content": "complete", "reason": "done", "detail": ""},
    ]


def test_L1_a_refusal_is_told_with_its_reason_and_comes_back() -> None:
    refused = DecisionMade(block_id="c", verdict="skip", decider="person", source="x = 1", reason="too slow")
    events = [ASK, StepStarted(number=1), *code("c", "x = 1"), refused, END]
    confirmation, start, content, end, complete = chunks_of(events)[-5:]
    assert confirmation["type"] == "confirmation"
    keys = {"role": "computer", "type": "console", "format": "output", "refused": True, "block": "c"}
    assert (start, content, end) == (
        {**keys, "start": True},
        {**keys, "content": "too slow"},
        {**keys, "end": True},
    )
    assert complete["content"] == "complete"
    (block,) = (one for one in transcript_of(events).blocks if isinstance(one, CodeBlock))
    again = fold_events(events_from_messages(static_messages(transcript_of(events))))
    (back,) = (one for one in again.blocks if isinstance(one, CodeBlock))
    assert (back.state, back.refusal) == (block.state, block.refusal) == ("refused", "too slow")


def test_L1_a_confirmation_precedes_each_decision_whoever_makes_it() -> None:
    by_mode = DecisionMade(block_id="c", verdict="run", decider="mode", source="1")
    asked = DecisionRequested(request_id="r", block_id="c", language="python", source="1", sha256="")
    for events in ([*code("c", "1"), by_mode], [*code("c", "1"), asked, by_mode]):
        assert [chunk["type"] for chunk in chunks_of(events)].count("confirmation") == 1


def test_L1_a_question_of_code_its_exit_code_and_the_end_of_the_turn_are_told() -> None:
    asks = InputRequested(request_id="r", block_id="c", prompt="Name? ", password=True)
    begun = ExecutionStarted(block_id="c", generation=1)
    ended = ExecutionFinished(block_id="c", status="error", duration=0.1, exit_code=3)
    failed = TurnEnded(reason="model_error", detail="Invalid API key for HOST.")
    chunks = chunks_of([ASK, *code("c", "exit 3"), begun, asks, ended, failed])
    question, end, executed, complete = chunks[-4:]
    assert question == {
        "role": "computer",
        "type": "confirmation",
        "block": "c",
        "format": "input",
        "content": {"prompt": "Name? ", "password": True},
    }
    assert end["end"] is True
    assert (executed["status"], executed["exit_code"]) == ("error", 3)
    assert (complete["reason"], complete["detail"]) == ("model_error", "Invalid API key for HOST.")


def test_L1_of_markup_the_assistant_is_told_what_the_model_was_sent() -> None:
    table = RichOutput(data={"text/html": "<table><tr><td>1</td></tr></table>", "text/plain": "<IPython.HTML object>"})
    said = output_messages(table)[1]
    assert (said["recipient"], said["content"]) == ("assistant", plain_text(table))
    assert "IPython" not in said["content"]


SCENES: dict[str, list[AnyEvent]] = {
    "nothing": [],
    "no_output": [*code("c", "x = 1"), *run("c", "x = 1")],
    "refused": [*code("c", "x = 1"), DecisionMade(block_id="c", verdict="skip", decider="person", source="x = 1")],
    "never_finished": [CodeStarted(block_id="c", language="python"), CodeGrew(block_id="c", text="pri")],
    "streams": [*code("c", "x"), *run("c", "x", stdout("a"), stdout("b\n"), StreamOutput(name="stderr", text="!"))],
    "picture_first": [*code("c", "x"), *run("c", "x", RichOutput(data={"image/png": "iVBOR", "text/plain": "<>"}))],
    "picture_between": [
        *code("c", "x"),
        *run("c", "x", stdout("a"), RichOutput(data={"image/jpeg": "/9j/"}), stdout("b")),
    ],
    "frame": [
        *code("c", "x"),
        *run("c", "x", stdout("a"), RichOutput(data={"text/html": "<table>", "text/plain": "1 2"}), stdout("b")),
    ],
    "result_behind_text": [
        *code("c", "x"),
        *run("c", "x", stdout("a"), RichOutput(data={"text/plain": "22"}), stdout("b\n"), RichOutput(data={"a/b": 1})),
    ],
    "error": [
        *code("c", "x"),
        *run("c", "x", stdout("a"), ErrorOutput(name="NameError", value="x", traceback=("Traceback", "NameError: x"))),
    ],
    "habit_undone": [*code("c", "10+12exe", "cute", source="10+12"), *run("c", "10+12")],
    "language_undone": [*code("c", '{"language"', language="shell", source="ls"), *run("c", "ls", stdout("a"))],
    "edited": [*code("c", "x = 1"), *prose("p", "So."), *run("c", "x = 2", stdout("ok"), edited=True)],
    "two_blocks_then_two_runs": [
        *code("a", "1"),
        *prose("p", "and"),
        *code("b", "2"),
        *run("a", "1", stdout("one")),
        *run("b", "2", stdout("two")),
        *prose("q", "Done."),
    ],
    "first_refused_second_run": [*code("a", "1"), *code("b", "2"), *run("b", "2", stdout("two"))],
    "dropped": [
        *code("c", "x"),
        *run("c", "x", stdout("much"))[:-1],
        OutputDropped(block_id="c", characters=5),
        OutputDropped(block_id="c", characters=7),
        ExecutionFinished(block_id="c", status="ok", duration=0.1),
    ],
    "cleared": [
        *code("c", "x"),
        *run("c", "x", stdout("50%"), RichOutput(data={"image/png": "iVBOR"}))[:-1],
        OutputsCleared(block_id="c"),
        OutputAdded(block_id="c", output=stdout("100%")),
        ExecutionFinished(block_id="c", status="ok", duration=0.1),
    ],
    "cleared_at_the_end": [*code("c", "x"), *run("c", "x", stdout("50%")), OutputsCleared(block_id="c")],
    "updated_later": [
        *code("a", "1"),
        *run("a", "1", RichOutput(data={"text/plain": "0%"}, display_id="d"), stdout("b")),
        *code("b", "2"),
        ExecutionStarted(block_id="b", generation=1),
        OutputUpdated(block_id="b", display_id="d", output=RichOutput(data={"text/plain": "100%"}, display_id="d")),
        ExecutionFinished(block_id="b", status="ok", duration=0.1),
    ],
    "late_output_while_prose_streams": [
        *code("c", "x"),
        *run("c", "x", stdout("a")),
        ProseStarted(block_id="p"),
        OutputAdded(block_id="c", output=stdout("b")),
        ProseGrew(block_id="p", text="Hm."),
        OutputAdded(block_id="c", output=stdout("c\n")),
        ProseFinished(block_id="p"),
    ],
    "late_output_at_rest": [*code("c", "x"), *run("c", "x"), END, OutputAdded(block_id="c", output=stdout("b"))],
    "interrupted_while_running": [*code("c", "x"), *run("c", "x", stdout("a"))[:-1]],
    "files": [TurnStarted(block_id="v", text="See.", files=("a.PNG", "b.pdf", "data:image/png;base64,iVBOR"))],
    "only_a_file": [TurnStarted(block_id="v", text="", files=("a.png",))],
    "notice": [NoticeAdded(block_id="n", level="info", title="Hello"), *prose("p")],
}


@pytest.mark.parametrize("name", SCENES)
def test_folding_the_chunks_gives_the_static_messages(name: str) -> None:
    events = [ASK, *SCENES[name], END]
    assert fold_chunks(chunks_of(events)) == static_messages(transcript_of(events))


@pytest.mark.parametrize("name", SCENES)
def test_runs_of_chunks_are_closed_and_do_not_overlap(name: str) -> None:
    open_run: Message | None = None
    for chunk in chunks_of([ASK, *SCENES[name], END]):
        if chunk.get("start"):
            assert open_run is None
            open_run = {key: value for key, value in chunk.items() if key != "start"}
        elif chunk.get("end"):
            assert open_run is not None
            assert (open_run["role"], open_run["type"]) == (chunk["role"], chunk["type"])
            open_run = None
        elif (
            chunk["type"] not in ("confirmation", "status")
            and chunk.get("format") != "cleared"
            and not chunk.get("update")
        ):
            assert open_run is not None
            assert open_run["type"] == chunk["type"]
    assert open_run is None


@pytest.mark.parametrize("name", SCENES)
def test_the_messages_of_a_session_survive_import(name: str) -> None:
    static = static_messages(transcript_of([ASK, *SCENES[name], END]))
    assert static_messages(transcript_of(events_from_messages(static))) == static


def test_what_a_session_was_is_there_in_its_messages() -> None:
    events = [ASK, *SCENES["two_blocks_then_two_runs"], *SCENES["error"], *SCENES["frame"]]
    assert static_messages(transcript_of(events)) == [
        {"role": "user", "type": "message", "content": "Add."},
        {"role": "assistant", "type": "code", "format": "python", "content": "1"},
        {**TEXT, "content": "one"},
        {"role": "assistant", "type": "message", "content": "and"},
        {"role": "assistant", "type": "code", "format": "python", "content": "2"},
        {**TEXT, "content": "two"},
        {"role": "assistant", "type": "message", "content": "Done."},
        {"role": "assistant", "type": "code", "format": "python", "content": "x"},
        {**TEXT, "content": "a"},
        {**TEXT, "error": {"name": "NameError", "value": "x"}, "content": "Traceback\nNameError: x"},
        {"role": "assistant", "type": "code", "format": "python", "content": "x"},
        {**TEXT, "content": "a"},
        {"role": "computer", "type": "code", "format": "html", "recipient": "user", "content": "<table>"},
        {**TEXT, "recipient": "assistant", "content": "1 2"},
        {**TEXT, "content": "b"},
    ]


STATIC = [
    {"role": "user", "type": "message", "content": "Plot this data as an image and as HTML."},
    {"role": "user", "type": "image", "format": "path", "content": "path/to/image.png"},
    {"role": "user", "type": "file", "content": "/path/to/file.pdf"},
    {"role": "assistant", "type": "message", "content": "Processing your request."},
    {"role": "assistant", "type": "code", "format": "python", "content": "plot = ..."},
    {"role": "computer", "type": "image", "format": "base64.png", "content": "iVBOR"},
    {"role": "computer", "type": "code", "format": "html", "content": "<html>...</html>"},
    {"role": "computer", "type": "console", "format": "output", "content": "{HTML errors}"},
    {"role": "computer", "type": "image", "format": "path", "recipient": "assistant", "content": "/tmp/x.png"},
    {"role": "assistant", "type": "message", "content": "Done."},
]


def test_the_example_of_the_language_survives_import() -> None:
    assert static_messages(transcript_of(events_from_messages(STATIC))) == STATIC


def test_a_saved_conversation_of_open_interpreter_is_a_timeline() -> None:
    saved = [
        {"role": "user", "type": "message", "content": "hi"},
        {"role": "assistant", "type": "message", "content": "I run it."},
        {"role": "assistant", "type": "code", "format": "python", "content": "1/0"},
        {"role": "computer", "type": "console", "format": "active_line", "content": "1"},
        {"role": "computer", "type": "console", "format": "output", "content": "ZeroDivisionError"},
        {"role": "computer", "type": "image", "format": "base64", "content": "/9j/4AAQ"},
        {"role": "assistant", "type": "message", "content": "Oh."},
    ]
    transcript = transcript_of(events_from_messages(saved))
    kinds = [type(block).__name__ for block in transcript.blocks]
    assert kinds == ["UserBlock", "ProseBlock", "CodeBlock", "ProseBlock"]
    code = narrow(transcript.blocks[2], CodeBlock)
    assert code.state == "ok"
    assert code.outputs == (
        stdout("ZeroDivisionError"),
        RichOutput(data={"image/jpeg": "/9j/4AAQ"}),
    )
    assert not transcript.turn_open


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("hello", "Message 2 is no object"),
        ({"type": "message", "content": ""}, 'Message 2, key "role": missing'),
        ({"role": "user", "type": 1, "content": ""}, 'Message 2, key "type": int instead of text'),
        ({"role": "system", "type": "message", "content": ""}, 'Message 2, key "role"'),
        ({"role": "user", "type": "song", "content": ""}, 'Message 2, key "type"'),
        ({"role": "user", "type": "message", "content": None}, 'Message 2, key "content"'),
        ({"role": "user", "type": "image", "format": "html", "content": ""}, 'Message 2, key "format"'),
        ({"role": "assistant", "type": "code", "content": "1"}, 'Message 2, key "format": missing'),
        ({"role": "computer", "type": "console", "format": "x", "content": ""}, 'Message 2, key "format"'),
        ({"role": "computer", "type": "code", "format": "path", "content": ""}, 'Message 2, key "format"'),
        (
            {"role": "computer", "type": "code", "format": "html", "recipient": "me", "content": ""},
            'Message 2, key "recipient"',
        ),
    ],
)
def test_a_wrong_message_is_named_by_number_and_key(message: Any, words: str) -> None:
    with pytest.raises(StoreError) as caught:
        events_from_messages([{"role": "user", "type": "message", "content": "x"}, message])
    assert words in caught.value.title


def test_what_is_no_list_is_no_conversation() -> None:
    with pytest.raises(StoreError):
        events_from_messages({"messages": []})


def test_output_without_code_is_shown_as_a_notice() -> None:
    transcript = transcript_of(events_from_messages([{**TEXT, "content": "hm"}]))
    assert [narrow(block, NoticeBlock).details for block in transcript.blocks] == ["hm"]


WORDS = st.text(alphabet=st.sampled_from("ab\n{}é😀 "), min_size=1, max_size=12)
DATA = st.text(alphabet="abcXYZ0189+/=", min_size=1, max_size=12)
RECIPIENTS = st.sampled_from([{}, {"recipient": "user"}, {"recipient": "assistant"}])
SAID = st.builds(lambda text: {"role": "assistant", "type": "message", "content": text}, WORDS)
PATHS = st.sampled_from(["a.png", "/b/c.JPEG"]).map(
    lambda path: {"role": "user", "type": "image", "format": "path", "content": path}
)
FILES = PATHS | st.builds(
    lambda form, data: {"role": "user", "type": "image", "format": form, "content": data},
    st.sampled_from(["base64.png", "base64.jpeg"]),
    DATA,
)
DOCUMENTS = st.sampled_from(["x.pdf", "/missing"]).map(lambda path: {"role": "user", "type": "file", "content": path})
ASKED = st.builds(lambda text: {"role": "user", "type": "message", "content": text}, WORDS)
RICH = st.builds(
    lambda kind, form, recipient, data: {
        "role": "computer",
        "type": kind,
        "format": form,
        **recipient,
        "content": data,
    },
    st.just("image"),
    st.sampled_from(["base64.png", "base64.jpeg", "path"]),
    RECIPIENTS,
    DATA,
) | st.builds(
    lambda form, recipient, data: {"role": "computer", "type": "code", "format": form, **recipient, "content": data},
    st.sampled_from(["html", "javascript"]),
    RECIPIENTS,
    WORDS,
)
CONSOLES = st.builds(
    lambda extra, text: {**TEXT, **extra, "content": text},
    st.sampled_from(
        [
            {},
            {"stream": "stderr"},
            {"error": {"name": "E", "value": "v"}},
            {"recipient": "assistant"},
            {"recipient": "user"},
            {"display_id": "d"},
        ]
    ),
    WORDS,
)


def console_apart(outputs: list[Message]) -> bool:
    """No two neighbours that are one text, which is written as one message."""
    keys = [{**output, "content": ""} for output in outputs]
    return all(one != two or "display_id" in one for one, two in pairwise(keys))


RUNS = st.builds(
    lambda role, language, source, outputs: [
        {"role": role, "type": "code", "format": language, "content": source},
        *outputs,
    ],
    st.sampled_from(["assistant", "user"]),
    st.sampled_from(["python", "shell", "ir"]),
    WORDS,
    st.lists(RICH | CONSOLES, max_size=5).filter(console_apart) | st.just([{**TEXT, "content": ""}]),
)
CONVERSATIONS = st.lists((ASKED | FILES | DOCUMENTS | SAID).map(lambda message: [message]) | RUNS, max_size=8).map(
    lambda groups: [message for group in groups for message in group]
)


@given(CONVERSATIONS)
def test_every_kind_of_message_survives_the_way_to_events_and_back(conversation: list[Message]) -> None:
    events = events_from_messages(conversation)
    assert static_messages(transcript_of(events)) == conversation
    assert fold_chunks(chunks_of(events)) == conversation


OUTPUTS = st.one_of(
    st.builds(lambda name, text: StreamOutput(name=name, text=text), st.sampled_from(["stdout", "stderr"]), WORDS),
    st.builds(lambda text: RichOutput(data={"text/plain": text}), WORDS),
    st.builds(lambda data: RichOutput(data={"image/png": data, "text/plain": "<>"}), DATA),
    st.builds(lambda text: RichOutput(data={"text/html": text, "text/plain": "-"}), WORDS),
    st.builds(lambda text: RichOutput(data={"text/plain": text}, display_id="d"), WORDS),
    st.just(ErrorOutput(name="E", value="v", traceback=("one", "two"))),
)


@st.composite
def running(draw: st.DrawFn, block_id: str) -> list[AnyEvent]:
    """What may come between the start and the end of a run."""
    update = RichOutput(data={"text/plain": draw(WORDS)}, display_id="d")
    event = st.one_of(
        st.builds(lambda output: OutputAdded(block_id=block_id, output=output), OUTPUTS),
        st.just(OutputsCleared(block_id=block_id)),
        st.just(OutputUpdated(block_id=block_id, display_id="d", output=update)),
        st.just(OutputDropped(block_id=block_id, characters=3)),
        st.just(ActiveLineChanged(block_id=block_id, line=1)),
        st.just(ActiveLineChanged(block_id=block_id, line=None)),
    )
    return draw(st.lists(event, max_size=5))


@st.composite
def sessions(draw: st.DrawFn) -> list[AnyEvent]:
    """Turns of steps: first what the model says, then what runs of it."""
    events: list[AnyEvent] = []
    for step in range(draw(st.integers(1, 3))):
        events += [TurnStarted(block_id=f"u{step}", text=draw(WORDS))] if draw(st.booleans()) else []
        said = draw(st.lists(st.sampled_from("pc"), max_size=4))
        ids = [f"{kind}{step}{number}" for number, kind in enumerate(said)]
        for block_id in ids:
            events += prose(block_id, draw(WORDS)) if block_id[0] == "p" else code(block_id, "x = ", draw(WORDS))
        for block_id in ids:
            if block_id[0] == "c" and draw(st.booleans()):
                started = run(block_id, draw(WORDS), edited=True)
                events += [*started[:2], *draw(running(block_id)), *started[2:]]
        if draw(st.booleans()):
            events.append(END)
    return events


@given(sessions())
def test_folding_the_chunks_of_any_session_gives_its_messages(events: list[AnyEvent]) -> None:
    static = static_messages(transcript_of(events))
    assert fold_chunks(chunks_of(events)) == static
    assert static_messages(transcript_of(events_from_messages(static))) == static
