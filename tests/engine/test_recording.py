"""Recordings: what is in them, what is not, what is made of damaged ones, and that the loop does it again."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import msgspec
import pytest

from oi_tui.app.engine.core.blocks import Block, CodeBlock
from oi_tui.app.engine.core.chat_model import TextDelta
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import ModelError, StoreError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    InputRequested,
    OutputAdded,
    OutputTailMoved,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    TurnEnded,
)
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.outputs import StreamOutput, Tail
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.verbs import Answer, Open, Submit
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.recording.form import (
    VERSION,
    Asked,
    Header,
    ModelBegan,
    ModelSaid,
    Recording,
    Told,
    read_recording,
)
from oi_tui.app.engine.log.recording.tape import Tape
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels, Script, asks, stdout_output
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import LocalClient
from support.front import Front
from support.resimulation import resimulate

SECRET = "sk-verysecretkey-0123456789"
CODE = "I will add.\n\n```python\n1+1\n```"


def header() -> Header:
    return Header(format="oi-tui/recording", version=VERSION, created=0.0, approve="ask")


async def recorded(
    path: Path, model: FakeModel, kernel: FakeKernel, *verdicts: Verdict, answer: str = ""
) -> Transcript:
    """One turn with these decisions, recorded; returns what the front end saw."""
    tape = Tape(path, header(), Redactor({"TOKEN": SECRET}), count().__next__)
    settings = Settings(model=ModelSection(name="fake/model", titles=False), loop=LoopSection(approve="ask"))
    client = LocalClient(
        lambda send: Engine(
            Services(
                setup=Configure(settings=settings, cwd="/work", api_key=SECRET),
                models=FakeModels(model),
                make_kernels=lambda ties: FakeKernels(python=kernel),
                send=send,
                log=Log(tape=tape),
            )
        )
    )
    front = Front(client)
    await client.send(Open())
    await client.send(Submit(text="add"))
    for verdict in verdicts:
        await front.decide(verdict)
    if answer:
        asked = await front.until_event(InputRequested)
        assert isinstance(asked, InputRequested)
        await client.send(Answer(request_id=asked.request_id, text=answer))
    await front.until(lambda _: any(isinstance(event, TurnEnded) for event in front.events))
    await client.close()
    return front.transcript


def comparable(blocks: Sequence[Block]) -> list[Block]:
    """Without what is another each time."""
    same = []
    for block in blocks:
        changes = {"id": ""} | ({"duration": None} if isinstance(block, CodeBlock) else {})
        same.append(msgspec.structs.replace(block, **changes))
    return same


async def test_what_the_front_end_saw_is_in_it_and_the_loop_makes_the_same_of_it_today(tmp_path: Path) -> None:
    seen = await recorded(tmp_path / "r", FakeModel(CODE, CODE, "It is 2."), FakeKernel(), "run", "skip")
    recording = read_recording(tmp_path / "r")
    assert fold_events(list(recording.events())).blocks == seen.blocks
    assert comparable(fold_events(await resimulate(recording)).blocks) == comparable(seen.blocks)


async def test_a_model_that_failed_fails_again(tmp_path: Path) -> None:
    failure = ModelError("server", "Out of order.", hint="Wait.")
    seen = await recorded(tmp_path / "r", FakeModel([failure]), FakeKernel())
    assert comparable(fold_events(await resimulate(read_recording(tmp_path / "r"))).blocks) == comparable(seen.blocks)


async def test_secrets_and_what_was_typed_for_running_code_are_not_in_it(tmp_path: Path) -> None:
    script: Script = {"1+1": [stdout_output(f"{SECRET}\n"), asks("Password: ", password=True), RunResult(status="ok")]}
    await recorded(tmp_path / "r", FakeModel(CODE, "Done."), FakeKernel(script), "run", answer="hunter2-typed")
    text = (tmp_path / "r").read_text(encoding="utf-8")
    assert SECRET not in text
    assert "hunter2-typed" not in text
    assert "[secret withheld: TOKEN]" in text
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("size", [1, 5])
async def test_a_secret_that_comes_in_pieces_is_in_no_form_in_it(size: int, tmp_path: Path) -> None:
    def pieces(text: str) -> list[str]:
        return [text[start : start + size] for start in range(0, len(text), size)]

    printing: list[AnyEvent] = []
    for number, text in enumerate(pieces(f"the token is {SECRET}, keep it\n")):
        printing += [ActiveLineChanged(block_id="", line=number + 1), stdout_output(text)]
    late = Tail(text=f"and {SECRET[:20]}"), Tail(text=f"and {SECRET} again")
    printing += [OutputTailMoved(block_id="", name="stderr", tail=tail) for tail in late]
    script: Script = {"1+1": [*printing, RunResult(status="ok")], f"'{SECRET}'": [RunResult(status="ok")]}
    said = (f"I found {SECRET} in it.\n\n```python\n1+1\n```", f"```python\n'{SECRET}'\n```", f"It is {SECRET}")
    model = FakeModel(*([TextDelta(text=text) for text in pieces(answer)] for answer in said))
    seen = await recorded(tmp_path / "r", model, FakeKernel(script), "run", "run")
    recording = read_recording(tmp_path / "r")
    told = fold_events(list(recording.events())).blocks
    done = comparable(fold_events(await resimulate(recording)).blocks)
    assert comparable(told) == done
    redacted = Redactor({"TOKEN": SECRET}).redact(msgspec.json.encode(comparable(seen.blocks)).decode()).text
    assert msgspec.json.encode(done).decode() == redacted
    kept = [piece for line in recording.lines for piece in pieces_of(line.what)]
    texts = "".join(kept)
    assert SECRET[:8] not in texts
    assert SECRET[-8:] not in texts
    assert texts.count("[secret withheld: TOKEN]") >= 8
    assert [line.at for line in recording.lines] == sorted(line.at for line in recording.lines)
    assert sum(isinstance(line.what, ModelSaid) for line in recording.lines) >= len("".join(said)) / size


def pieces_of(what: object) -> list[str]:
    """All texts of model and kernel one behind the other, then those that were told."""
    match what:
        case ModelSaid(delta=TextDelta(text=text)):
            return [text]
        case Told(events=[OutputTailMoved(tail=tail)]):
            return [tail.text]
        case Told(events=events):
            return [
                text
                for event in events
                for text in (getattr(event, "text", ""), getattr(getattr(event, "output", None), "text", ""))
            ]
        case _:
            return []


def test_what_was_written_is_not_lost_with_the_program(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "r", header(), Redactor(), count().__next__)
    tape.put(Asked(verb=Submit(text="add")))
    tape.put(ModelBegan())
    tape.put(ModelSaid(delta=TextDelta(text="Hel")))
    tape.put(ModelSaid(delta=TextDelta(text="lo.")))
    tape.end_answer()
    tape.append(ProseStarted(block_id="p"))
    tape.append(ProseGrew(block_id="p", text="Hello."))
    tape.put(Asked(verb=Submit(text="and now")))
    assert len(read_recording(tmp_path / "r").lines) == 1
    tape.append(ProseFinished(block_id="p"))
    tape.append(TurnEnded(reason="done"))
    assert len(read_recording(tmp_path / "r").lines) == 9
    tape.close()


def test_output_that_goes_on_after_its_run_is_one_text_with_it(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "r", header(), Redactor({"TOKEN": SECRET}), count().__next__)
    for text in (SECRET[:9], SECRET[9:]):
        tape.append(OutputAdded(block_id="c", output=StreamOutput(name="stdout", text=text)))
        tape.put(Asked(verb=Submit(text="next")))
    tape.close()
    assert SECRET[9:] not in (tmp_path / "r").read_text()


async def test_times_are_told_from_the_beginning_and_go_on(tmp_path: Path) -> None:
    await recorded(tmp_path / "r", FakeModel("Hello."), FakeKernel())
    times = [line.at for line in read_recording(tmp_path / "r").lines]
    assert times == sorted(times)
    assert times[0] < times[-1]


async def test_a_recording_is_never_written_over_another_file(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("dear diary")
    with pytest.raises(StoreError, match="cannot be recorded to"):
        Tape(tmp_path / "mine", header(), Redactor(), count().__next__)
    assert (tmp_path / "mine").read_text() == "dear diary"


async def good(tmp_path: Path) -> bytes:
    await recorded(tmp_path / "good", FakeModel(CODE, "Done."), FakeKernel(), "run")
    return (tmp_path / "good").read_bytes()


async def test_a_recording_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    data = await good(tmp_path)
    (tmp_path / "cut").write_bytes(data[:-20])
    whole, cut = read_recording(tmp_path / "good"), read_recording(tmp_path / "cut")
    assert cut.lines == whole.lines[:-1]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: b"", "is no recording"),
        (lambda data: b"\x89PNG\r\n", "is no recording"),
        (lambda data: b"[" * 100_000, "is no recording"),
        (lambda data: data.replace(b'"version":1', b'"version":99', 1), "newer oi-tui"),
        (lambda data: data.replace(b'"at"', b'"when"', 2), "line 2"),
        (lambda data: data.replace(b'"type":"Told"', b'"type":"Nonsense"', 1), "no line of a recording"),
    ],
)
async def test_what_is_no_recording_is_said_in_plain_words(tmp_path: Path, spoil: object, said: str) -> None:
    assert callable(spoil)
    (tmp_path / "bad").write_bytes(spoil(await good(tmp_path)))
    with pytest.raises(StoreError, match=said):
        read_recording(tmp_path / "bad")


async def test_a_loop_that_asks_more_than_then_is_noticed(tmp_path: Path) -> None:
    await recorded(tmp_path / "r", FakeModel(CODE, "Done."), FakeKernel(), "run")
    recording = read_recording(tmp_path / "r")
    shorter = msgspec.structs.replace(recording, lines=without_last_answer(recording))
    with pytest.raises(StoreError, match="asked once more"):
        await resimulate(shorter)


def without_last_answer(recording: Recording) -> tuple[object, ...]:
    last = max(n for n, line in enumerate(recording.lines) if type(line.what).__name__ == "ModelBegan")
    return tuple(
        line
        for number, line in enumerate(recording.lines)
        if number < last or not type(line.what).__name__.startswith("Model")
    )


def test_what_comes_when_the_engine_has_ended_is_not_recorded(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "r", header(), Redactor(), count().__next__)
    log = Log(tape=tape)
    log.close()
    before = (tmp_path / "r").read_bytes()
    log.ask(Submit(text="too late"))
    log.close()
    assert (tmp_path / "r").read_bytes() == before
