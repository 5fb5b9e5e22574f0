"""Sessions for the tests of export and import: a written one, and the ways in which any may go."""

import base64
from typing import Literal

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallGrew,
    CallStarted,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputTailMoved,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    SessionOpened,
    StepStarted,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.core.outcomes import ExecutionStatus, Verdict
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamName, StreamOutput, Tail
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.transcript.transcript import Transcript

PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()
"""One red pixel."""

OPENED = SessionOpened(session_id="s1", created=1.0, cwd="/home/me/data", model="openai/x", approval="auto")


FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A session is a large thing to make up."""


def blocks_of(events: list[AnyEvent] | tuple[AnyEvent, ...]) -> list[Block]:
    """What the events fold to."""
    return list(transcript_of(events).blocks)


def transcript_of(events: list[AnyEvent] | tuple[AnyEvent, ...]) -> Transcript:
    """The fold itself."""
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def settled(events: list[AnyEvent]) -> list[Block]:
    """The blocks of a session that goes no further, as a file has them: a run without an end took no time."""
    transcript = transcript_of(events)
    transcript.close("record")
    return [
        msgspec.structs.replace(block, duration=0.0)
        if isinstance(block, Action) and block.state == "interrupted" and block.duration is None
        else block
        for block in transcript.blocks
    ]


def prompt(block_id: str, text: str, *files: str) -> list[AnyEvent]:
    """A turn begins."""
    return [TurnStarted(block_id=block_id, text=text, files=files)]


def prose(block_id: str, text: str) -> list[AnyEvent]:
    """Words of the model."""
    return [
        ProseStarted(block_id=block_id),
        ProseGrew(block_id=block_id, text=text),
        ProseFinished(block_id=block_id),
    ]


def code(
    block_id: str, source: str, language: str = "python", author: Literal["assistant", "user"] = "assistant"
) -> list[AnyEvent]:
    """Proposed."""
    return [
        CodeStarted(block_id=block_id, language=language, author=author),
        CodeGrew(block_id=block_id, text=source),
        CodeFinished(block_id=block_id, language=language, source=source),
    ]


def ran(
    block_id: str, source: str, *outputs: Output, status: ExecutionStatus = "ok", verdict: Verdict = "run"
) -> list[AnyEvent]:
    """Allowed and run."""
    return [
        DecisionMade(block_id=block_id, verdict=verdict, decider="person", source=source),
        ExecutionStarted(block_id=block_id, generation=1),
        *(OutputAdded(block_id=block_id, output=output) for output in outputs),
        ExecutionFinished(block_id=block_id, status=status, duration=0.25),
    ]


def out(text: str, name: StreamName = "stdout") -> StreamOutput:
    """Printed."""
    return StreamOutput(name=name, text=text)


def tour() -> list[AnyEvent]:
    """A session with one of everything that a notebook of Python can carry; its code can be run again."""
    figure = RichOutput(data={"image/png": PNG, "text/plain": "<Figure size 1x1 with 1 Axes>"}, display_id="fig")
    table = RichOutput(
        data={"text/html": "<table><tr><td onclick='x()'>1</td></tr></table>", "text/plain": "   a\n0  1"},
        is_result=True,
    )
    failed = ErrorOutput(name="NameError", value="name 'y' is not defined", traceback=("\x1b[31mTrace\x1b[0m", "y"))
    summing, removing = "x = sum([1, 2, 3])\nprint('sum', x)\nx", "import shutil; shutil.rmtree('/')"
    six = RichOutput(data={"text/plain": "6"}, is_result=True)
    return [
        OPENED,
        *prompt("u1", "Add the numbers.\n\n- *all* of them", "numbers.csv"),
        StepStarted(number=1),
        *prose("p1", "First the **sum**:"),
        *code("c1", summing),
        UsageReported(input_tokens=100, output_tokens=20, cost=0.01),
        *ran("c1", summing, out("sum 6\n"), six),
        StepStarted(number=2),
        *code("c2", "y + 1"),
        *ran("c2", "y + 1", out("careful\n", "stderr"), failed, status="error"),
        StepStarted(number=3),
        *code("c3", "y = 2"),
        *ran("c3", "y = 3", verdict="edit"),
        *code("c4", removing),
        DecisionMade(block_id="c4", verdict="skip", decider="person", source=removing, reason="no!"),
        UsageReported(input_tokens=150, output_tokens=30, cost=0.02, estimated=True),
        TurnEnded(reason="done"),
        NoticeAdded(block_id="n1", level="warning", title="The kernel was started anew", hint="Variables are gone."),
        *code("c5", "echo $((20 + 3))", "shell", "user"),
        ExecutionStarted(block_id="c5", generation=1),
        OutputAdded(block_id="c5", output=out("23\n")),
        ExecutionFinished(block_id="c5", status="ok", duration=0.1, exit_code=0),
        *prompt("u2", "", f"data:image/png;base64,{PNG}"),
        StepStarted(number=1),
        *code("c6", "for n in range(9): print(n)"),
        *ran("c6", "for n in range(9): print(n)", out("0\n1\n")),
        OutputTailMoved(
            block_id="c6", name="stdout", tail=Tail(text="7\n8\n", left_out_characters=10, left_out_lines=5)
        ),
        OutputDropped(block_id="c6", characters=12),
        StepStarted(number=2),
        *code("c7", "draw()"),
        *ran("c7", "draw()", figure, table, status="error"),
        StepStarted(number=3),
        *prose("p2", "Done: `6`.\n\n```\nnot closed"),
        TurnEnded(reason="done"),
    ]


TEXTS = st.text(max_size=30) | st.sampled_from(
    ["> quoted", "```\n", "%%bash\nls", "\x1b[31mred", "a\r\nb", "</script>", "<!--", "  \n", "\u202egnp", "é🙂\u2028x"]
)
_NAMES: st.SearchStrategy[StreamName] = st.sampled_from(("stdout", "stderr"))
_TAILS = st.builds(Tail, text=TEXTS, left_out_characters=st.integers(0, 10**12), left_out_lines=st.integers(0, 10**9))
_STREAMS = st.builds(StreamOutput, name=_NAMES, text=TEXTS)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
_DATA = st.fixed_dictionaries(
    {},
    optional={
        "text/plain": TEXTS,
        "text/html": TEXTS,
        "text/markdown": TEXTS,
        "text/latex": TEXTS,
        "image/png": st.just(PNG),
        "image/jpeg": st.just("/9j/"),
        "image/svg+xml": st.just("<svg xmlns='http://www.w3.org/2000/svg'/>"),
        "application/json": _JSON,
        "application/vnd.plotly.v1+json": _JSON,
    },
)
_RICH = st.builds(
    RichOutput,
    data=_DATA,
    metadata=st.dictionaries(TEXTS.filter(lambda key: key != "oi_tui"), _JSON, max_size=2),
    display_id=st.none() | TEXTS,
    is_result=st.booleans(),
)
_ERRORS = st.builds(ErrorOutput, name=TEXTS, value=TEXTS, traceback=st.lists(TEXTS, max_size=3).map(tuple))
OUTPUTS = _STREAMS | _RICH | _ERRORS
LANGUAGES = st.sampled_from(("python", "python", "shell", "ir", "bash"))


@st.composite
def sessions(draw: st.DrawFn) -> list[AnyEvent]:
    """Any way that a session may go."""
    events: list[AnyEvent] = [OPENED]
    number = 0

    def new_id() -> str:
        nonlocal number
        number += 1
        return draw(st.sampled_from((f"id{number}", f"Ω {number}", f"x{number}-{'y' * 70}")))

    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            events += _some_code(draw, new_id(), "user")
        events.append(TurnStarted(block_id=new_id(), text=draw(TEXTS), files=draw(st.just(()) | st.just(("a.csv",)))))
        for step in range(draw(st.integers(0, 3))):
            events.append(StepStarted(number=step + 1))
            for _ in range(draw(st.integers(0, 2))):
                events += draw(st.sampled_from((_some_code, _some_prose, _some_notice)))(draw, new_id())
            if draw(st.booleans()):
                tokens = st.integers(0, 10**6)
                cost = draw(st.none() | st.floats(0.01, 10))
                events.append(UsageReported(input_tokens=draw(tokens), output_tokens=draw(tokens), cost=cost))
        if draw(st.booleans()):
            events.append(TurnEnded(reason="done"))
    return events


def _some_prose(draw: st.DrawFn, block_id: str) -> list[AnyEvent]:
    events: list[AnyEvent] = [ProseStarted(block_id=block_id), ProseGrew(block_id=block_id, text=draw(TEXTS))]
    return [*events, *draw(st.sampled_from(([], [ProseFinished(block_id=block_id, complete=draw(st.booleans()))])))]


def _some_notice(draw: st.DrawFn, block_id: str) -> list[AnyEvent]:
    levels: tuple[Level, ...] = ("info", "warning", "error")
    level = draw(st.sampled_from(levels))
    return [NoticeAdded(block_id=block_id, level=level, title=draw(TEXTS), hint=draw(TEXTS), details=draw(TEXTS))]


VERDICTS: dict[str, Verdict] = {
    "approved": "run", "skip": "skip", "stop": "stop", "run": "run", "edit": "edit", "rule": "run"
}  # fmt: skip
"""What is decided where code has this fate."""


def _some_code(draw: st.DrawFn, block_id: str, author: Literal["assistant", "user"] = "assistant") -> list[AnyEvent]:
    source, language = draw(TEXTS), draw(LANGUAGES)
    call_id = draw(st.none() | st.just("call_1")) if author == "assistant" else None
    is_call = author == "assistant" and draw(st.booleans())
    events: list[AnyEvent] = [
        CallStarted(block_id=block_id, tool="clock", call_id=call_id)
        if is_call
        else CodeStarted(block_id=block_id, language=language, author=author, call_id=call_id)
    ]
    fate = draw(
        st.sampled_from(("open", "cut", "proposed", "approved", "skip", "stop", "run", "run", "run", "edit", "rule"))
    )
    if fate == "open":
        return [*events, (CallGrew if is_call else CodeGrew)(block_id=block_id, text=source)]
    events.append(
        CallFinished(block_id=block_id, tool="clock", source=source, complete=fate != "cut")
        if is_call
        else CodeFinished(block_id=block_id, language=language, source=source, complete=fate != "cut")
    )
    if fate in ("cut", "proposed"):
        return events
    ran_source = draw(TEXTS) if fate == "edit" else source
    reason = draw(TEXTS) if fate in ("skip", "rule") else ""
    verdict = VERDICTS[fate]
    events.append(DecisionMade(block_id=block_id, verdict=verdict, decider="person", source=ran_source, reason=reason))
    if fate in ("approved", "skip", "stop"):
        return events
    events.append(ExecutionStarted(block_id=block_id, generation=1))
    for output in draw(st.lists(OUTPUTS, max_size=4)):
        events.append(OutputAdded(block_id=block_id, output=output))
    if draw(st.booleans()):
        events.append(OutputTailMoved(block_id=block_id, name=draw(_NAMES), tail=draw(_TAILS)))
    if draw(st.booleans()):
        events.append(OutputDropped(block_id=block_id, characters=draw(st.integers(1, 1000))))
    if draw(st.booleans()):
        events.append(InputRequested(request_id="i", block_id=block_id, prompt=draw(TEXTS)))
    if draw(st.booleans()):
        return events
    statuses: tuple[ExecutionStatus, ...] = ("ok", "error", "interrupted", "died")
    status = draw(st.sampled_from(statuses))
    duration = draw(st.floats(0, 1000))
    exit_code = draw(st.none() | st.integers(0, 255))
    events.append(ExecutionFinished(block_id=block_id, status=status, duration=duration, exit_code=exit_code))
    return events
